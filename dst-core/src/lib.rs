//! Differentiate **how long an iterative algorithm runs until it stops**, and make it stop sooner. No heap, no std, no
//! unsafe, no panic.
//!
//! An iteration x_{k+1} = x_k − h·A(θ, x_k, t_k) stops at the first N with J(x_N) ≤ ε. This crate runs it,
//! finds N, and computes the gradient of the stopping time with respect to θ, x0 and ε, by a backward sweep that recomputes
//! what it did not keep, or by forward tangents. The same code serves a Cortex-M0 and a desktop run with 10⁵ parameters.
//!
//! ```
//! use dst_core::{Euler, Integrator, Memory, formula};
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
//! # The layers
//!
//! ```text
//!  you write      formula!  Formula        Objective                 Dynamics + Criterion
//!                      │  dual numbers         │ methods::*                  │ Pair
//!                      └───────────────►   System: rate and J, pullback, pushforward
//!                                                │
//!  a plan         Euler Heun Rk4 SymplecticEuler Map ── .until(ε).at_most(n).crossing(…)  ──►  Plan
//!                                                │
//!  forward        Run::advance(budget) ─► Status::{Running, Reached, StepLimit}
//!                      │ x_k to a slot, when the Schedule says so (checkpoint::*)
//!                      ▼
//!  backward       Adjoint::advance(budget)  or  Tangent::advance(budget)
//!                      │ Crossing: from dJ to dT
//!                      ▼
//!  the answer     Sensitivity { time_gradient, steps_gradient, stop.condition, evaluations, … }
//! ```
//!
//! [`Plan::sensitivity`] goes through all of it in one call. A control loop takes the pieces: [`Plan::record`],
//! [`Run::advance`] with a budget of steps, [`Iterate::best`] when the deadline comes first, and [`Run::adjoint`] with a
//! budget of backward operations, spread over later ticks:
//!
//! ```
//! use dst_core::{Euler, Integrator, Memory, Progress, Status, formula};
//! # let flow = formula!(|theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0], |x| x[0] * x[0] + x[1] * x[1] * 16.0);
//! # fn actuate(_: &[f32]) {}
//! let (theta, x0) = ([0.5_f32], [1.0, 1.0]);
//! let mut memory = Memory::<f32, 2, 1, 6>::new();
//! let mut run = Euler::new(0.05).until(1e-4).record(&flow, &theta, &x0, &mut memory)?;
//! loop {
//!     match run.advance(20)? {
//!         Status::Running(now) => actuate(now.best), // deadline first
//!         Status::Reached(stop) | Status::StepLimit(stop) => {
//!             actuate(stop.state);
//!             break;
//!         }
//!     }
//! }
//! let mut tuner = run.adjoint()?;
//! while let Progress::Running { .. } = tuner.advance(8)? {} // at most 8 operations per tick
//! let gradient = tuner.finish()?;
//! assert!(gradient.theta[0] < 0.0);
//! # Ok::<(), dst_core::Error>(())
//! ```
//!
//! Two rooms stand on this engine: [`adapt`], learning rates adapted while an optimiser runs (Adam-OLA, G-OLA, N-OLA), and [`mpc`],
//! a model predictive controller whose solver is cut to a deadline.
//!
//! # What to know
//!
//! - **Units.** The paper writes ∂N/∂θ for a quantity with the unit of time. Here `time_gradient` is ∂T/∂θ and
//!   `steps_gradient` is that divided by h, always under these names.
//! - **Exactness.** [`Crossing::Interpolated`] is the exact gradient of the interpolated N\*: it agrees with finite
//!   differences. The others approximate the gradient of the continuous stopping time, with the orders stated in [`Crossing`].
//! - **Memory.** Everything is borrowed from a [`Memory`] or a [`Workspace`]; sizes come from `const fn`s. A checkpoint schedule
//!   that does not know N in advance stays within a few percent of the offline optimum (table in [`checkpoint`]).
//! - **Same bits.** Only IEEE arithmetic and `libm`, sums in a fixed order: the gradient does not depend on slots, budgets or target.
//! - **Between ticks nothing is borrowed** if you [`suspend`](Run::suspend): what remains is plain data and your memory.
//! - **A stop is a status, not an error.** [`Error`] is for what has no answer.
//! - **No panic** holds for builds without overflow checks, Cargo's default for release.
//! - **Not for**: adaptive step sizes (they are in `dst-std`), stochastic iterations, criteria without a derivative.
//!
//! # Features
//!
//! `libm` (default): elementary functions. `std`: `HeapMemory`. `nalgebra`: `fixed`, vectors and matrices of fixed size. `defmt`: `Format` on statuses and errors.
//! The engine itself needs none of them.

#![no_std]
// Tests may panic: that is how they fail.
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
mod adjoint;
pub mod checkpoint;
mod crossing;
mod dual;
mod engine;
mod error;
#[cfg(feature = "nalgebra")]
pub mod fixed;
mod formula;
mod gradient;
mod integrator;
mod loss;
pub mod methods;
pub mod mpc;
mod objective;
mod plan;
mod rows;
mod run;
mod scalar;
mod seeds;
mod sensitivity;
mod stop;
mod system;
mod tangent;
mod workspace;

pub use adjoint::{Adjoint, AdjointState};
pub use checkpoint::{Mark, Slots, Store, StoreFault, Vacant};
pub use crossing::{Condition, Crossing};
pub use dual::Dual;
pub use error::{Argument, Error};
pub use formula::{Derived, Formula};
pub use gradient::{Evaluations, Gradient, Progress, Sensitivity, StopTime};
pub use integrator::{
    Euler, EulerTableau, Heun, HeunTableau, Integrator, Map, Rk4, Rk4Tableau, RungeKutta,
    SymplecticEuler, Tableau,
};
pub use loss::{NoLoss, Uniform, Weights};
pub use objective::{Objective, Optimality};
pub use plan::{DEFAULT_MAX_STEPS, Mode, Plan};
pub use run::{NoRecording, Recorder, Recording, Run, RunState};
pub use scalar::Scalar;
pub use stop::{Iterate, Status};
pub use system::{
    Bar, Cost, Criterion, Dims, Direction, Dynamics, Pair, Point, RateOf, Reading, Seed, System,
};
pub use tangent::{Tangent, TangentState};
#[cfg(feature = "std")]
pub use workspace::HeapMemory;
pub use workspace::{Memory, Workspace, params_len, record_len, rows_len, slots_len};
