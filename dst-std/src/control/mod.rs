//! Model predictive control: from a plant to a tuned controller.
//!
//! A [`Model`] is the engineer's description: A, B, Q, R, bounds, a horizon. Its [`ActiveProgram`] is the condensed quadratic program
//! of the dual active set, its [`Program`] that of ADMM, both solved by [`dst_core::mpc`]. [`export`] does the rest of the way to the
//! device: it simulates the closed loop of a [`Scenario`], calibrates the stop test to an accuracy ([`Bench`]), compares solvers, and
//! certifies the budget of a tick on fresh runs ([`Certificate`]).
//!
//! ADMM is differentiable. A [`Pool`] holds instances of its program, one per tick. [`tune`] changes the knobs until the instances
//! stop sooner, in the mean and in the tail. [`closed_loops`] simulates the [`Tuned`] controller, and [`baselines`] holds the settings
//! to compare it with.
//!
//! ```text
//! Model ─► ActiveProgram ─► Controller ─────────────────────────────┬─► export: calibrated, certified; Rust constants, C header
//!      └─► Program ─► Pool ─► tune: Adam on dN/dθ ─► AdmmController ─┘
//! ```
//!
//! A complete controller for your own plant (the same in C: `tests/c/own_controller.c`):
//!
//! ```
//! use dst_core::mpc::AdmmTick;
//! use dst_std::control::{Limits, Model, StateBound, TuningOptions, SWITCHES, recipe};
//! use dst_std::progress::Progress;
//!
//! // A motor: x⁺ = Ax + Bu, position and speed. |u| ≤ 1, |speed| ≤ 0.6.
//! let model = Model {
//!     a: vec![vec![1.0, 0.05], vec![0.0, 0.9]],
//!     b: vec![vec![0.002], vec![0.08]],
//!     q: vec![20.0, 1.0].into(),
//!     r: vec![0.1].into(),
//!     inputs: vec![Limits::between(-1.0, 1.0)],
//!     states: vec![StateBound::from((1, -0.6, 0.6))],
//!     start: vec![1.0, 0.6].into(), // ticks start anywhere within
//!     horizon: 12,
//!     primal_tolerance: Some(1e-3),
//!     dual_tolerance: Some(1e-2),
//!     ..Model::default()
//! };
//! let program = model.program()?;
//! // Ticks to tune on, and further ones to choose by. More of both than here, and more steps.
//! let (pool, fresh) = (model.ticks(&program, 1, 60), model.ticks(&program, 2, 200));
//! let options = TuningOptions { steps: 40, batch: 8, hard: 3, ..TuningOptions::default() };
//! let kinds = [1, 1]; // one kind of input, one kind of bounded state
//! let (knobs, training) = recipe(&program, &kinds, &SWITCHES, [&pool, &fresh], &options, &Progress::hidden())?;
//! println!("{:.1} iterations on average, {} at most", training.score.mean, training.score.max);
//!
//! // In single precision, as on the device: at most 200 iterations per tick, whatever happens.
//! let tuned = knobs.tuned(&program, &training.theta).ok_or("no inverse")?.cast::<f32>();
//! let program = program.cast::<f32>();
//! let controller = tuned.controller(&program);
//! let mut memory = vec![0.0; AdmmTick::<f32>::len(controller.shape)];
//! let mut tick = AdmmTick::new(controller.shape, &mut memory)?;
//! let mut x = [1.0_f32, 0.0];
//! for _ in 0..100 {
//!     let outcome = controller.tick(&mut tick, &x, &[], 200)?;
//!     assert!(outcome.solved);
//!     let u = tick.inputs()[0]; // measure x, apply u
//!     x = [x[0] + 0.05 * x[1] + 0.002 * u, 0.9 * x[1] + 0.08 * u];
//!     assert!(x[1].abs() < 0.602);
//! }
//! assert!(x[0].abs() < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod active_program;
mod admm_program;
pub mod baselines;
mod calibrate;
mod certify;
mod closed_loop;
mod condense;
mod contenders;
mod controller_source;
mod cost;
mod device;
mod distance;
mod exact;
pub mod export;
mod gradient;
mod gradient_free;
mod knobset;
mod matrix;
mod model;
pub mod plants;
mod pool;
mod program;
mod recipe;
mod recorded;
mod riccati;
mod scenario;
mod score;
mod simulate;
mod source;
mod statement;
mod stored;
mod streams;
mod tail_phase;
mod tally;
mod tuned;
mod tuning;

pub use active_program::{ActiveProgram, RollOutData};
pub use calibrate::{Bench, BenchSizes, CalibratedSet, Measured};
pub use certify::{Certificate, CertificateFile, Requirement};
pub use closed_loop::{LoopTrace, closed_loops};
pub use contenders::{Contender, RoundSizes, TuningLoss};
pub use controller_source::controller_source;
pub use cost::{COSTS, Costs};
pub use device::{ActiveDevice, AdmmDevice, Device, InputMap, Session, TickOutcome};
pub use distance::{distance, tune_by_distance};
pub use exact::{ExactSession, ExactTick, exact_session, full_capacity, input_error};
pub use gradient::{Differentiated, differentiate, unrolled};
pub use gradient_free::{Searched, tune_without_gradient};
pub use knobset::Knobset;
pub use model::{
    Limits, Model, ModelError, Names, OutputBound, Penalty, Reference, Softness, Start, StateBound,
    Terminal, Weight,
};
pub use pool::Pool;
pub use program::Program;
pub(crate) use program::cast;
pub use recipe::{CHOICE, SWITCHES, Sizes, initial_theta, recipe};
pub use recorded::{RecordedTick, Recording};
pub use scenario::{Run, Scenario};
pub use score::{Score, iterations, solve, solve_exactly};
pub use simulate::{
    Recorded, RunResult, Runs, TickResult, TickStatistics, cold_ticks, record, warm_loops,
};
#[cfg(feature = "cli")]
pub(crate) use source::{exported_files, identifier};
pub use streams::Stream;
pub use tuned::Tuned;
pub use tuning::{HistoryPoint, Training, TuningOptions, objective, tune};
