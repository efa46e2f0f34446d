//! Phase one: the smallest sum of violations of the hard rows, and its multipliers as a Farkas certificate.
//!
//! If y has |y_j| ≤ 1 and g = Aᵀy, then every feasible u has gᵀu ≤ Σ(y⁺h − y⁻l). With the right-hand side below zero there is
//! no feasible point of norm up to −(right-hand side)/‖g‖.

use super::double::Double;
use super::newton;
use super::scaled::Scaled;

/// Weight of ½‖u‖², which makes the solution of phase one unique.
const WEIGHT: f64 = 1e-10;

/// Radius of a ball around zero without a feasible point; 0 if none is shown.
pub(super) fn radius(program: &Scaled) -> f64 {
    let n = program.n;
    let mut relaxed = program.clone();
    relaxed
        .rows
        .retain(|row| row.cap.is_infinite() && row.softness == 0.0);
    relaxed.rows.iter_mut().for_each(|row| row.cap = 1.0);
    relaxed.linear.fill(0.0);
    relaxed.hessian.fill(0.0);
    for i in 0..n {
        relaxed.hessian[i * n + i] = WEIGHT;
    }
    let interior = newton::solve(&relaxed);
    let mut y = vec![0.0; relaxed.rows.len()];
    for side in &interior.sides {
        y[side.row] += side.sigma * side.z;
    }
    let y: Vec<Double> = y.into_iter().map(Double::new).collect();
    relaxed.hessian.fill(0.0);
    let gradient = relaxed.gradient(&vec![Double::default(); n], &y);
    let norm = gradient
        .iter()
        .map(|g| g.value().powi(2))
        .sum::<f64>()
        .sqrt();
    let mut right = Double::default();
    for (row, y) in relaxed.rows.iter().zip(&y) {
        let bound = if y.hi > 0.0 { row.upper } else { row.lower };
        // A side without a bound has no multiplier; rounding may leave one on the wrong side.
        if y.hi != 0.0 {
            right = right.plus(y.times(bound));
        }
    }
    if right.hi < 0.0 {
        -right.hi / norm
    } else {
        0.0
    }
}
