//! Families of instances.

mod evaluate;
mod instance;
mod model;
mod restarts;
mod score;
mod streams;
mod trust_region;

pub use evaluate::{Evaluation, Evaluator};
pub use instance::{Family, Request, Sample, Work};
pub use restarts::{Restarts, perturbed};
pub use score::Score;
pub use streams::{Instance, Stream};
pub use trust_region::{Descent, End, TrustRegion};
