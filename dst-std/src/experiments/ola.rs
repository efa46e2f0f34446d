//! Online learning-rate adaptation on the smooth SVM (Figures 4 and 5 of the paper).

mod baselines;
mod optimiser;
mod run;

pub use run::{Limits, Method, Run};
