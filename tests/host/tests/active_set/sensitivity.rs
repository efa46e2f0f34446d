//! Solutions that rounding of the data alone moves by about the error: no solver of that precision can do better.

use dst_core::Scalar;
use dst_tests::interior_point::{Reference, Verdict, decide};
use dst_tests::programs::{Draw, Program};

use super::adapter::distance;

/// 1/ρ that is added to all rows, for rows of norm 1; far below the errors of f32, and used for nothing else.
const SOFTNESS: f64 = 1e-9;

/// True if a change of q and of the active bounds by one machine epsilon of S moves the exact solution by a sixteenth of the
/// error. Then the vertex itself is ill-conditioned, which the condition of P does not limit.
pub(crate) fn is_sensitive<S: Scalar>(program: &Program, exact: &Reference, error: f64) -> bool {
    let epsilon = S::EPSILON.to_f64();
    let mut draw = Draw::new(program.seed);
    (0..8).any(|_| {
        let mut moved = program.clone();
        for q in &mut moved.linear {
            *q += epsilon * draw.sign() * q.abs();
        }
        for (j, &multiplier) in exact.multipliers.iter().enumerate() {
            // Rows that depend on each other contradict each other once they are moved. So all rows give way a little.
            moved.softness[j] += SOFTNESS * program.row(j).iter().map(|a| a * a).sum::<f64>();
            if multiplier != 0.0 {
                let terms = program.row(j).iter().zip(&exact.u);
                let size: f64 = terms.map(|(a, u)| (a * u).abs()).sum();
                let shift = epsilon * size * draw.sign();
                moved.lower[j] += shift;
                moved.upper[j] += shift;
            }
        }
        match decide(&moved) {
            Verdict::Solution(other) => distance(&other.u, &exact.u) > error / 16.0,
            _ => false,
        }
    })
}
