//! Known optima on quadratics with extreme eigenvalues μ and L, and Chebyshev's semi-iteration.
//!
//! The optima make the slowest mode as fast as possible, as the tolerance tends to zero. Before that, and from given starts, other
//! values can be faster.

use dst_core::Objective;

use super::config::Criterion;
use super::method::TunedMethod;
use super::runs::Runs;
use super::trial::Trial;
use crate::family::{Stream, Work};

impl TunedMethod {
    /// Returns the name and the values of the optimum on quadratics with these extreme eigenvalues, if one is known.
    pub fn optimum(self, (mu, l): (f64, f64)) -> Option<(&'static str, Vec<f64>)> {
        match self {
            Self::Gd => Some(("2/(L + μ)", vec![2.0 / (l + mu)])),
            Self::HeavyBall => {
                let (low, high) = (mu.sqrt(), l.sqrt());
                let root = (high - low) / (high + low);
                Some(("Polyak", vec![4.0 / (high + low).powi(2), root * root]))
            }
            Self::Nesterov => {
                let root = (3.0 * l / mu + 1.0).sqrt();
                let theta = vec![4.0 / (3.0 * l + mu), (root - 2.0) / (root + 2.0)];
                Some(("Nesterov", theta))
            }
            Self::Adam | Self::Preconditioned => None,
        }
    }
}

/// Runs Chebyshev's semi-iteration from every start of a stream.
pub(super) fn chebyshev(
    runs: &Runs<'_>,
    objective: &dyn Objective<f64>,
    criterion: Criterion,
    extremes: (f64, f64),
    stream: Stream,
    max_steps: usize,
) -> Vec<Trial> {
    let run = |(state, epsilon): &(Vec<f64>, f64)| {
        let x = state.get(..objective.dim()).unwrap_or(state);
        semi_iteration(objective, criterion, extremes, x, *epsilon, max_steps)
    };
    runs.starts(stream).iter().map(run).collect()
}

/// x₁ = x₀ − ∇f/θ, then steps d ← ρ⁺ρ·d − 2ρ⁺∇f/δ, with θ and δ the middle and the half width of the spectrum and
/// ρ⁺ = 1/(2θ/δ − ρ).
fn semi_iteration(
    objective: &dyn Objective<f64>,
    criterion: Criterion,
    (mu, l): (f64, f64),
    start: &[f64],
    epsilon: f64,
    max_steps: usize,
) -> Trial {
    let (middle, half) = (0.5 * (l + mu), 0.5 * (l - mu));
    let mut x = start.to_vec();
    let (mut gradient, mut tape) = (vec![0.0; x.len()], vec![0.0; objective.tape_len()]);
    let mut scratch = vec![0.0; objective.scratch_len()];
    let mut rho = half / middle;
    let mut d = vec![0.0; x.len()];
    let mut steps = 0;
    loop {
        let f = objective.value_gradient(&x, &mut gradient, &mut tape, &mut scratch);
        let j = criterion.optimality().value(f, &gradient);
        if j <= epsilon || steps == max_steps {
            let reached = j <= epsilon;
            return Trial {
                steps: reached.then_some(steps),
                criterion: j,
                score: libm::log1p(steps as f64),
                gradient: Vec::new(),
                work: Work {
                    forward: steps + 1,
                    backward: 0,
                },
            };
        }
        let (keep, pull) = if steps == 0 {
            (0.0, 1.0 / middle)
        } else {
            let next = 1.0 / (2.0 * middle / half - rho);
            let factors = (next * rho, 2.0 * next / half);
            rho = next;
            factors
        };
        for ((x, d), g) in x.iter_mut().zip(&mut d).zip(&gradient) {
            *d = keep * *d - pull * g;
            *x += *d;
        }
        steps += 1;
    }
}
