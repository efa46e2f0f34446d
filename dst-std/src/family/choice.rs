//! The choice between candidates on instances that had no part in finding them.

use super::evaluate::{Evaluation, Evaluator};
use super::instance::Family;
use super::trust_region::TrustRegion;
use crate::Failure;

/// Returns the place of the candidate with the lowest score among the first `most`. A candidate much slower than the best so far is not
/// run to its end. An interrupt ends the choice with the best so far. A single candidate is not run.
pub fn choose<F: Family + ?Sized>(
    choosing: &mut Evaluator<'_, F>,
    candidates: &[Vec<f64>],
    most: usize,
) -> Result<usize, Failure> {
    let mut best: Option<(Evaluation, usize)> = None;
    let count = candidates.len().min(most);
    if count < 2 {
        return Ok(0);
    }
    let limit = choosing.limit;
    for (i, u) in candidates.iter().take(count).enumerate() {
        if let Some((best, _)) = &best {
            choosing.limit = TrustRegion::default().limit_after(best, limit);
        }
        let evaluation = choosing.all(u, false);
        choosing.limit = limit;
        match evaluation {
            Ok(now) if best.as_ref().is_none_or(|b| now.score < b.0.score) => best = Some((now, i)),
            Ok(_) => {}
            Err(Failure::Interrupted) => break,
            Err(other) => return Err(other),
        }
    }
    Ok(best.map_or(0, |best| best.1))
}
