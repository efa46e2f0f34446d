//! Logistic regression over the rows of [`Margins`]: f(w) = Σ ln(1 + exp(−zᵢ·w)) + (reg/2)‖w‖², a sum.
//!
//! The tape keeps the curvature σ(1 − σ) of every row for the Hessian-vector products.

use dst_core::{Objective, Scalar};

use super::blocks::MOST_ROWS;
use super::margins::Margins;

/// Logistic regression on a data set.
#[derive(Clone, Debug)]
pub struct Logistic {
    margins: Margins,
    regularisation: f64,
}

impl Logistic {
    /// Over these examples, with reg ≥ 0.
    pub fn new(margins: Margins, regularisation: f64) -> Self {
        Self {
            margins,
            regularisation,
        }
    }

    /// The data.
    pub fn margins(&self) -> &Margins {
        &self.margins
    }

    /// A Lipschitz constant of ∇f: L = σ_max(Z)²/4 + reg.
    pub fn lipschitz(&self) -> f64 {
        0.25 * self.margins.largest_square() + self.regularisation
    }
}

/// ln(1 + e^{−m}), and σ(−m) = 1/(1 + eᵐ); neither overflows. Through dst-core's functions: same bits everywhere.
#[inline]
fn loss(margin: f64) -> (f64, f64) {
    let small = Scalar::exp(-margin.abs());
    let share = 1.0 / (1.0 + small);
    let log = Scalar::ln_1p(small);
    if margin >= 0.0 {
        (log, small * share)
    } else {
        (log - margin, share)
    }
}

impl Objective<f64> for Logistic {
    fn dim(&self) -> usize {
        self.margins.dim()
    }

    fn tape_len(&self) -> usize {
        self.margins.rows()
    }

    fn scratch_len(&self) -> usize {
        2 * self.margins.wide_len()
    }

    fn value_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        tape: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        let (wide, gathered) = self.margins.wide_pair(scratch);
        self.margins.widen(x, wide);
        let mut sum = 0.0;
        let mut curvatures = tape.iter_mut();
        for block in self.margins.iter() {
            let mut margins = [0.0; MOST_ROWS];
            block.multiply(wide, &mut margins);
            let rows = margins.iter().take(block.rows()).enumerate();
            for ((row, &margin), curvature) in rows.zip(&mut curvatures) {
                let (value, slope) = loss(margin);
                sum += value;
                *curvature = slope * (1.0 - slope);
                block.add_to(row, -slope, gathered);
            }
        }
        let mut norm = 0.0;
        for (g, &x) in gradient.iter_mut().zip(x) {
            *g = self.regularisation * x;
            norm += x * x;
        }
        self.margins.fold(gathered, gradient);
        sum + 0.5 * self.regularisation * norm
    }

    fn add_hessian_vector(
        &self,
        _: &[f64],
        v: &[f64],
        tape: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        let (wide, gathered) = self.margins.wide_pair(scratch);
        self.margins.widen(v, wide);
        let mut curvatures = tape.iter();
        for block in self.margins.iter() {
            for (row, &curvature) in (0..block.rows()).zip(&mut curvatures) {
                block.add_to(row, curvature * block.dot(row, wide), gathered);
            }
        }
        for (out, v) in out.iter_mut().zip(v) {
            *out += self.regularisation * v;
        }
        self.margins.fold(gathered, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::differences;
    use super::*;
    use crate::data::read_libsvm;

    /// At 0 every margin is 0: f = n·ln 2, and every row pulls with one half.
    #[test]
    fn known_values_and_no_overflow() {
        let text = "1 1:1\n-1 2:2\n";
        let margins = Margins::new(read_libsvm(text.as_bytes(), "t").unwrap()).unwrap();
        let problem = Logistic::new(margins, 0.0);
        let (mut g, mut tape, mut scratch) = ([f64::NAN; 3], [f64::NAN; 2], [f64::NAN; 6]);
        let f = problem.value_gradient(&[0.0; 3], &mut g, &mut tape, &mut scratch);
        assert!((f - 2.0 * f64::ln(2.0)).abs() < 1e-15, "{f}");
        assert_eq!((g, tape), ([-0.5, 1.0, 0.0], [0.25, 0.25]));
        for (margin, value, slope) in [(800.0, 0.0, 0.0), (-800.0, 800.0, 1.0)] {
            assert_eq!(loss(margin), (value, slope));
        }
        assert!(loss(f64::NAN).0.is_nan());
    }

    #[test]
    fn derivatives() {
        differences::check_on_data(|margins| Logistic::new(margins, 0.3));
    }
}
