//! A convex model of a family from gradient rows, and its minimum in a box.
//!
//! Every evaluated point gives one linear function per instance: its value and its gradient row. The model of an instance is the
//! largest of these functions, the model of the family the score of the instances' models. At the present point alone this is
//! the F(T + G·d) of a trust region. The functions from other points tell where the value rises again, in particular those
//! from points beyond an edge of stability: the minimum of the model then lies along the edge, not across it.
//!
//! Values are not convex in general. A function that would exceed the known value at the present point is lowered to it.

use super::evaluate::Evaluation;
use super::score::Score;

/// Rows longer than this multiple of their median norm are shortened to it: crossings that are nearly flat have gradients beyond
/// all bounds.
const CLIP: f64 = 3.0;
/// Slack below the present value per squared distance of the point where a function was found.
const SLACK: f64 = 0.05;
/// Smoothing temperatures of the maximum, in units of the values' range over the box, and the iterations at each.
const SMOOTHING: [f64; 4] = [0.3, 0.1, 0.03, 0.01];
const ITERATIONS: usize = 60;

/// One linear function: `value + slope·d`.
struct Piece {
    value: f64,
    slope: Vec<f64>,
}

/// The model around a point.
pub(super) struct Model {
    score: Score,
    /// τ of the score, held fixed.
    tau: f64,
    /// The pieces of every instance.
    instances: Vec<Vec<Piece>>,
    params: usize,
}

impl Model {
    /// Makes a model around `centre` with pieces from `others`, all with gradient rows.
    pub(super) fn new(score: Score, centre: &Evaluation, others: &[&Evaluation]) -> Self {
        let values = centre.values();
        let params = centre.u.len();
        let mut instances: Vec<Vec<Piece>> = values
            .iter()
            .zip(clipped(centre))
            .map(|(&value, row)| {
                let slope = row.unwrap_or_else(|| vec![0.0; params]);
                vec![Piece { value, slope }]
            })
            .collect();
        for other in others {
            let way: Vec<f64> = centre.u.iter().zip(&other.u).map(|(c, o)| c - o).collect();
            let distance = way.iter().fold(0.0, |max: f64, w| max.max(w.abs()));
            let slack = SLACK * distance * distance;
            for (i, row) in clipped(other).into_iter().enumerate() {
                let (Some(slope), Some(value)) = (row, other.samples.get(i)) else {
                    continue;
                };
                if let Some(instance) = instances.get_mut(i)
                    && value.value.is_finite()
                {
                    let at_centre = value.value + dot(&slope, &way);
                    let value = at_centre.min(values[i] - slack);
                    instance.push(Piece { value, slope });
                }
            }
        }
        Self {
            score,
            tau: score.temperature(&values),
            instances,
            params,
        }
    }

    /// Returns the model's score at d.
    pub(super) fn at(&self, d: &[f64]) -> f64 {
        let value = |pieces: &Vec<Piece>| {
            let values = pieces.iter().map(|p| p.value + dot(&p.slope, d));
            values.fold(f64::NEG_INFINITY, f64::max)
        };
        let values: Vec<f64> = self.instances.iter().map(value).collect();
        self.score.at(&values, self.tau)
    }

    /// Returns the minimum over |dᵢ| ≤ r, by accelerated projected gradients on a smoothed maximum.
    pub(super) fn minimise(&self, r: f64) -> Vec<f64> {
        // The range of the values over the box.
        let slopes = self.instances.iter().flatten().map(|p| &p.slope);
        let sums = slopes.map(|slope| r * slope.iter().map(|s| s.abs()).sum::<f64>());
        let range = sums.fold(0.0, f64::max);
        let mut best = vec![0.0; self.params];
        if range == 0.0 {
            return best;
        }
        let mut least = self.at(&best);
        let mut d = best.clone();
        for smoothing in SMOOTHING {
            self.descend(&mut d, r, smoothing * range);
            let value = self.at(&d);
            if value < least {
                (least, best) = (value, d.clone());
            }
        }
        best
    }

    /// Descends the smoothed model from d.
    fn descend(&self, d: &mut Vec<f64>, r: f64, smoothing: f64) {
        let mut gradient = vec![0.0; self.params];
        let (mut y, mut momentum) = (d.clone(), 1.0_f64);
        let mut now = self.smooth(d, smoothing, None);
        // The step length, in units of the box.
        let mut step = r * r / smoothing;
        for _ in 0..ITERATIONS {
            let at = self.smooth(&y, smoothing, Some(&mut gradient));
            let mut next;
            let mut value;
            let mut halvings = 0;
            loop {
                next = y.clone();
                for (next, g) in next.iter_mut().zip(&gradient) {
                    *next = (*next - step * g).clamp(-r, r);
                }
                value = self.smooth(&next, smoothing, None);
                let moved = next.iter().zip(&y).map(|(n, y)| n - y);
                let (mut linear, mut square) = (0.0, 0.0);
                for (m, g) in moved.zip(&gradient) {
                    linear += m * g;
                    square += m * m;
                }
                if value <= at + linear + square / (2.0 * step) || halvings == 30 {
                    break;
                }
                step *= 0.5;
                halvings += 1;
            }
            if value > now {
                // The momentum overshot: once more from here without it.
                if momentum == 1.0 {
                    break;
                }
                (y, momentum) = (d.clone(), 1.0);
                continue;
            }
            let after = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let factor = (momentum - 1.0) / after;
            y = next
                .iter()
                .zip(&*d)
                .map(|(n, d)| (n + factor * (n - d)).clamp(-r, r))
                .collect();
            momentum = after;
            let gain = now - value;
            (*d, now) = (next, value);
            step *= 1.3;
            if gain < 1e-9 * smoothing {
                break;
            }
        }
    }

    /// Returns the smoothed model at d, and its gradient.
    fn smooth(&self, d: &[f64], smoothing: f64, gradient: Option<&mut Vec<f64>>) -> f64 {
        let soft = |pieces: &Vec<Piece>| {
            let at: Vec<f64> = pieces.iter().map(|p| p.value + dot(&p.slope, d)).collect();
            let largest = at.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shares: Vec<f64> = at
                .iter()
                .map(|a| libm::exp((a - largest) / smoothing))
                .collect();
            let sum: f64 = shares.iter().sum();
            (largest + smoothing * libm::log(sum), shares, sum)
        };
        let softs: Vec<(f64, Vec<f64>, f64)> = self.instances.iter().map(soft).collect();
        let values: Vec<f64> = softs.iter().map(|s| s.0).collect();
        if let Some(gradient) = gradient {
            gradient.fill(0.0);
            let mut weights = vec![0.0; values.len()];
            self.score.weights_at(&values, self.tau, &mut weights);
            for ((pieces, (_, shares, sum)), weight) in
                self.instances.iter().zip(&softs).zip(weights)
            {
                for (piece, share) in pieces.iter().zip(shares) {
                    let factor = weight * share / sum;
                    for (g, s) in gradient.iter_mut().zip(&piece.slope) {
                        *g += factor * s;
                    }
                }
            }
        }
        self.score.at(&values, self.tau)
    }
}

/// Returns the gradient rows of an evaluation, shortened to [`CLIP`] times their median norm; none where there is no gradient.
pub(super) fn clipped(evaluation: &Evaluation) -> Vec<Option<Vec<f64>>> {
    let norm = |row: &[f64]| dot(row, row).sqrt();
    let mut norms: Vec<f64> = evaluation
        .samples
        .iter()
        .map(|s| norm(&s.gradient))
        .filter(|norm| norm.is_finite() && *norm > 0.0)
        .collect();
    norms.sort_by(f64::total_cmp);
    let Some(&median) = norms.get(norms.len() / 2) else {
        return vec![None; evaluation.samples.len()];
    };
    let row = |gradient: &Vec<f64>| {
        let length = norm(gradient);
        if !(length.is_finite() && length > 0.0) {
            return None;
        }
        let factor = (CLIP * median / length).min(1.0);
        Some(gradient.iter().map(|g| factor * g).collect())
    };
    evaluation
        .samples
        .iter()
        .map(|s| row(&s.gradient))
        .collect()
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
