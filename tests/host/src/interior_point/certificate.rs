//! Bound of the error of a pair (u, λ) by strong convexity.
//!
//! (u, λ) solves exactly a program whose q differs by r = Pu + q + Aᵀλ and whose bounds differ by e_j. Monotonicity of the
//! KKT conditions gives, for x = u − u*: ‖x‖²_P ≤ ‖r‖_{P⁻¹}·‖x‖_P + Σe_j·|λ_j − λ*_j|. The differences of the multipliers are
//! assumed to be at most ten times the largest of λ, plus ten; e_j is near 1e-30.

use super::double::Double;
use super::factor::Cholesky;
use super::scaled::{Row, Scaled};

/// Returns a bound of ‖u − u*‖, or infinity.
pub(super) fn error_bound(program: &Scaled, u: &[Double], lambda: &[Double]) -> f64 {
    let Some(factor) = Cholesky::new(&program.hessian, program.n) else {
        return f64::INFINITY;
    };
    // ‖P⁻¹‖ is at most its Frobenius norm.
    let inverse: f64 = factor.inverse().iter().map(|x| x * x).sum();
    let inverse = inverse.sqrt();
    let gradient = program.gradient(u, lambda);
    let square: f64 = gradient.iter().map(|g| g.value().powi(2)).sum();
    let largest = lambda.iter().fold(1.0_f64, |m, l| m.max(l.hi.abs()));
    let rows = program
        .products(u)
        .into_iter()
        .zip(lambda)
        .zip(&program.rows);
    let misses: f64 = rows.map(|((s, l), row)| row.miss(s, *l)).sum();
    if square.is_nan() || misses.is_nan() {
        return f64::INFINITY;
    }
    let in_norm = (square * inverse).sqrt() + (misses * 10.0 * (1.0 + largest)).sqrt();
    in_norm * inverse.sqrt()
}

impl Row {
    /// Distance of s = a·u from the values that fit λ.
    fn miss(&self, s: Double, lambda: Double) -> f64 {
        let above = |bound: f64| s.minus(lambda.times(self.softness)).beyond(bound);
        let size = lambda.hi.abs();
        if size > self.cap {
            return f64::INFINITY;
        }
        if lambda.hi == 0.0 {
            let (above, below) = (s.beyond(self.upper), -s.beyond(self.lower));
            above.max(below).max(0.0)
        } else if lambda.hi > 0.0 {
            let e = above(self.upper);
            if size == self.cap {
                (-e).max(0.0)
            } else {
                e.abs()
            }
        } else {
            let e = above(self.lower);
            if size == self.cap {
                e.max(0.0)
            } else {
                e.abs()
            }
        }
    }
}
