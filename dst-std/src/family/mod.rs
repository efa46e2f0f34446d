//! Families: instances of one problem with common parameters, tuned by their stopping times.
//!
//! Instances are starts, plants with scatter, or data. A [`Family`] runs one of them and returns its value, a gradient row if asked, and the
//! work. Everything else is here: streams that never mix, scores with a tail, two descents, restarts, a certificate.
//!
//! ```text
//!  Family ─► Evaluator (threads, counted work) ─► TrustRegion ─┐
//!    ▲           ▲                                Stochastic ──┴─► Restarts ─► choose ─► test ─► certificate
//!  Stream ───────┘   Tuning                                        Tuning      Choosing  Testing
//! ```
//!
//! | file | content |
//! |---|---|
//! | `instance` | the trait, the request, the result of a run, counted work |
//! | `streams` | instances for tuning, choosing and testing |
//! | `score` | mean and soft maximum |
//! | `evaluate` | many instances at one point, on several threads with the same bits |
//! | `model`, `trust_region` | the model of gradient rows, and the descent by it |
//! | `batches`, `stochastic` | batches with the slowest mined, and the descent by Adam |
//! | `restarts` | a race of several starts, descents from the best, hops around the best point |
//! | [`certificate`] | a bound on the probability of a late run |
//!
//! A family in which x' = −e^u·k·x, with a rate k of its own for every instance, until x ≤ 0.01. Steps of e^u·k > 2 diverge:
//!
//! ```
//! use dst_std::Failure;
//! use dst_std::family::{Evaluator, Family, Instance, Request, Restarts, Sample, Score, Stream, Work, choose};
//! use dst_std::progress::Interrupt;
//! use dst_std::random::uniform;
//!
//! struct Decay;
//!
//! impl Family for Decay {
//!     fn parameters(&self) -> usize {
//!         1
//!     }
//!     fn run(&self, instance: Instance, u: &[f64], request: &Request<'_>) -> Result<Sample, Failure> {
//!         let k = 0.5 + uniform(instance.key, 0);
//!         // |x| is multiplied by q in every step.
//!         let q = (1.0 - k * u[0].exp()).abs();
//!         let steps = if q < 1.0 { 0.01_f64.ln() / q.ln() } else { 1e3 * q };
//!         let slope = -k * u[0].exp() * (1.0 - k * u[0].exp()).signum() / q;
//!         let gradient = vec![if q < 1.0 { -steps / q.ln() * slope } else { 1e3 * q * slope }];
//!         let forward = steps as usize + 1;
//!         let work = Work { forward, backward: if request.gradient { forward } else { 0 } };
//!         Ok(Sample { value: steps, steps: (q < 1.0).then_some(forward), gradient, work })
//!     }
//! }
//!
//! let interrupt = Interrupt::never();
//! let of = |stream: Stream, count| Evaluator::new(&Decay, stream.instances(1, count), Score::HALF, &interrupt);
//! let mut tuning = of(Stream::Tuning, 16);
//! let found = Restarts::default().descend(&mut tuning, &[vec![-3.0], vec![2.0]], 1, || ())?;
//! let candidates: Vec<Vec<f64>> = found.iter().flat_map(|d| d.points.iter().rev()).map(|p| p.u.clone()).collect();
//! let best = &candidates[choose(&mut of(Stream::Choosing, 32), &candidates, 4)?];
//! let tested = of(Stream::Testing, 100).all(best, false)?;
//! // The best step for all k from 0.5 to 1.5 is 1, with at most ln 0.01/ln 0.5 = 6.6 steps. Sixteen instances do not contain the
//! // extreme k, so the slowest of the tested ones takes somewhat more. It took 182 with the first start.
//! let slowest = tested.values().iter().fold(0.0, |most: f64, &steps| most.max(steps));
//! assert!(slowest < 8.0, "{slowest}");
//! # Ok::<(), dst_std::Failure>(())
//! ```

mod batches;
pub mod certificate;
mod choice;
mod evaluate;
mod instance;
mod model;
mod restarts;
mod score;
mod stochastic;
mod streams;
#[cfg(test)]
mod tests;
mod trust_region;

pub use batches::{Batches, slowest_first};
pub use choice::choose;
pub use evaluate::{Evaluation, Evaluator};
pub use instance::{Family, Request, Sample, Work};
pub use restarts::{Restarts, perturbed};
pub use score::Score;
pub use stochastic::Stochastic;
pub use streams::{Instance, Stream};
pub use trust_region::{Descent, End, TrustRegion};
