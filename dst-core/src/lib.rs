//! Differentiate how long an iterative algorithm runs until it stops: no heap, no std, no panic.
#![no_std]

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
mod objective;
mod plan;
mod run;
mod scalar;
mod sensitivity;
mod stop;
mod system;
mod tangent;
mod workspace;

pub use adjoint::Adjoint;
pub use checkpoint::{Mark, Slots, Store, StoreFault};
pub use crossing::{Condition, Crossing};
pub use dual::Dual;
pub use error::{Argument, Error};
pub use formula::{Derived, Formula};
pub use gradient::{Evaluations, Gradient, Progress, Sensitivity, StopTime};
pub use integrator::{
    Euler, EulerTableau, Heun, HeunTableau, Integrator, Rk4, Rk4Tableau, RungeKutta,
    SymplecticEuler, Tableau, Temporaries,
};
pub use loss::{NoLoss, Uniform, Weights};
pub use objective::{Objective, Optimality};
pub use plan::{DEFAULT_MAX_STEPS, Mode, Plan};
pub use run::{NoRecording, Recorder, Recording, Run};
pub use scalar::Scalar;
pub use stop::{Iterate, Status};
pub use system::{
    Bar, Cost, Criterion, Dims, Direction, Dynamics, Pair, Point, Reading, Seed, System,
};
pub use tangent::Tangent;
#[cfg(feature = "std")]
pub use workspace::HeapMemory;
pub use workspace::{Memory, Workspace, params_len, record_len, rows_len, slots_len};
