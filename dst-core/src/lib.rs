//! Differentiates **the number of steps an iterative algorithm takes until it stops**, so that it can be tuned to stop sooner. No
//! heap, no std, no unsafe, no panic.
//!
//! An iteration x_{k+1} = x_k − h·A(θ, x_k, t_k) stops at the first N with J(x_N) ≤ ε. This crate runs the iteration, finds N,
//! and computes the gradient of the stopping time with respect to θ, x0 and ε, either by a backward sweep over checkpoints or by
//! forward tangents. The same code serves a Cortex-M0 and a desktop run with 10⁵ parameters.
//!
//! ```
//! use dst_core::{Euler, Memory, formula};
//!
//! // A = diag(1, θ)·∇f with f = ½x₁² + 2x₂²; stop when ‖∇f‖² ≤ 1e-4. No derivatives written.
//! let flow = formula!(
//!     |theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0],
//!     |x| x[0] * x[0] + x[1] * x[1] * 16.0,
//! );
//! let mut memory = Memory::<f64, 2, 1, 8>::new(); // 2 states, 1 parameter, 8 checkpoint slots
//! let s = Euler::new(0.05)
//!     .until(1e-4)
//!     .at_most(10_000)
//!     .sensitivity(&flow, &[0.2], &[1.0, 1.0], &mut memory)?;
//! println!("stops after {} steps; raising θ by 0.01 changes that by {:+.1}", s.steps, 0.01 * s.steps_gradient()[0]);
//! assert!(s.steps == 147 && s.steps_gradient()[0] < -700.0);
//! # Ok::<(), dst_core::Error>(())
//! ```
//!
//! The [`guide`] explains it in chapters: what a stopping-time gradient is, your own loop, settling, when it helps, traps.
//!
//! # Four types
//!
//! | | | |
//! |---|---|---|
//! | [`Plan`] | the run to make | `Euler::new(h).until(ε).at_most(n)` |
//! | [`Problem`] | the plan with its data | `plan.on(&system, &theta, &x0)?` checks every argument |
//! | [`Memory`] | storage and progress | vectors, checkpoint slots and a cursor: step, J, best iterate, schedule |
//! | [`Seeds`] | the quantity to differentiate | `Seeds::stop(crossing)`, `Seeds::weighted(\|k\| …)`, or their sum; chosen after the run |
//!
//! [`Plan::sensitivity`] does all of this in one call. A control loop spreads it over its ticks and keeps only the memory in
//! between:
//!
//! ```
//! use dst_core::{Crossing, Euler, Memory, Progress, Seeds, Status, formula};
//! # let flow = formula!(|theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0], |x| x[0] * x[0] + x[1] * x[1] * 16.0);
//! # fn actuate(_: &[f32]) {}
//! let (theta, x0) = ([0.5_f32], [1.0, 1.0]);
//! let mut memory = Memory::<f32, 2, 1, 6>::new();
//! let problem = Euler::new(0.05).until(1e-4).on(&flow, &theta, &x0)?;
//! problem.start(&mut memory)?;
//! while let Status::Running(now) = problem.advance(&mut memory, 20)? {
//!     actuate(now.best); // called at every deadline before the stop
//! }
//! let seeds = Seeds::stop(Crossing::Interpolated);
//! while let Progress::Running { .. } = problem.differentiate(&mut memory, seeds, 8)? {} // at most 8 operations per tick
//! assert!(problem.gradient(&memory)?.theta[0] < 0.0);
//! # Ok::<(), dst_core::Error>(())
//! ```
//!
//! # The files
//!
//! ```text
//! error  scalar  slices
//! system/      traits that a user implements: System (mod), objective, pair, fixed; what derives them: number, arithmetic, dual, trace,
//!              formula, value
//! integrator/  one step, its transpose and its tangent: runge_kutta (Euler, Heun, RK4), symplectic, map
//! solve/       plan (Plan, Problem) → memory (with cursor) → forward → crossing (with seeds) → adjoint, tangent → answer
//! checkpoint/  choice of the states to keep: binomial, schedule, reversal; their storage: store
//! methods/     systems over an objective: gradient flow, preconditioned, momentum, Adam, projected, decrease
//! adapt/       learning rates adapted while an optimiser runs: Adam-OLA, G-OLA, N-OLA
//! descent/     descent on a stopping time, ask and tell: coordinate, metric (BFGS), region, steps
//! qp/          quadratic programs: dual active set, ADMM
//! mpc/         model predictive controllers on qp/, with a deadline
//! ```
//!
//! # The names
//!
//! Main types: [`Plan`] [`Problem`] [`Memory`] `HeapMemory` [`Seeds`] [`Crossing`] [`Mode`] [`Status`] [`Progress`] [`Sensitivity`]
//! [`Error`] [`Argument`] [`Scalar`].
//! Integrators: [`Euler`] [`Heun`] [`Rk4`] [`SymplecticEuler`] [`Map`] [`Integrator`].
//! Systems: [`System`] [`Point`] [`Reading`] [`Seed`] [`Bar`] [`Direction`] [`Dims`] [`Cost`] [`Formula`] [`formula!`] [`Objective`]
//! [`objective!`] [`Optimality`].
//! Modules: [`adapt`] [`checkpoint`] [`descent`] `fixed` [`methods`] [`mpc`] [`qp`] [`solve`] [`system`].
//!
//! # Good to know
//!
//! - **First passage.** `until(ε)` stops at the first J ≤ ε, whatever J does later. If J may oscillate, require it to
//!   [stay below ε](Plan::staying_to_the_end): T is then the settling time.
//! - **Units.** The paper writes ∂N/∂θ for a quantity with the unit of time. Here `time_gradient` is ∂T/∂θ and
//!   `steps_gradient` is that divided by h, always under these names.
//! - **Exactness.** [`Crossing::Interpolated`] is the exact gradient of the interpolated N\*: it agrees with finite
//!   differences. The others approximate the gradient of the continuous stopping time, with the orders stated in [`Crossing`].
//! - **J from differences.** A criterion formed by cancellation, such as x − 1e8 for x near 1e8, has already lost its digits, and
//!   so has its gradient. [`solve::Condition::rounding`] does not detect this; shift the state instead.
//! - **Memory.** `const fn`s of [`Dims`] give the sizes. The checkpoint schedule does not know N in advance, and stays within a
//!   few percent of the offline optimum (table in [`checkpoint`]).
//! - **Same bits.** Only IEEE arithmetic and `libm`, with sums in a fixed order: slots, budgets and target do not change the gradient.
//! - **A memory may be moved or cloned** between two calls, and the run continues with the same bits. A changed h, ε, t0, limit or
//!   length is rejected ([`Error::Changed`]). A changed θ, x0 or system is not detected, and the gradient is then wrong.
//! - **A stop is a status, not an error.** An [`Error`] means that there is no result.
//! - **No panic** holds for builds without overflow checks, Cargo's default for release.
//! - **Not for**: adaptive step sizes (see `dst-std`), stochastic iterations, criteria without a derivative.
//!
//! # Features
//!
//! `libm` (default): elementary functions. `std`: `HeapMemory`. `nalgebra`: `fixed`, vectors and matrices of fixed size.
//! `defmt`: `Format` on statuses and errors. The engine itself needs none of them.

#![no_std]
// Tests fail by panicking.
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

#[cfg(test)]
extern crate std;

#[cfg(feature = "libm")]
pub mod adapt;
pub mod checkpoint;
pub mod descent;
mod error;
#[cfg(any(doc, doctest))]
pub mod guide;
mod integrator;
pub mod methods;
pub mod mpc;
pub mod qp;
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
mod scalar;
mod slices;
pub mod solve;
pub mod system;

pub use error::{Argument, Error};
pub use integrator::{Euler, Heun, Integrator, Map, Rk4, SymplecticEuler};
pub use scalar::Scalar;
#[cfg(feature = "std")]
pub use solve::HeapMemory;
pub use solve::{Crossing, Memory, Mode, Plan, Problem, Progress, Seeds, Sensitivity, Status};
#[cfg(feature = "nalgebra")]
pub use system::fixed;
pub use system::{
    Bar, Cost, Dims, Direction, Formula, Objective, Optimality, Point, Reading, Seed, System,
};
