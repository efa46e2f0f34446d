//! The logistic loss: loss(m) = ln(1 + e^{−m}) with c = 1.
//!
//! The tape keeps the curvature σ(1 − σ) of every row.

use dst_core::Scalar;

use super::blocks::MOST_ROWS;
use super::linear_model::sealed::Rows;
use super::linear_model::{LinearModel, MarginLoss};
use super::margins::SignedBlock;

/// ln(1 + e^{−m})
#[derive(Clone, Copy, Debug)]
pub enum LogisticLoss {}

/// Logistic regression: f(w) = Σ ln(1 + exp(−zᵢ·w)) + (reg/2)‖w‖².
pub type Logistic = LinearModel<LogisticLoss>;

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

impl MarginLoss for LogisticLoss {
    const SCALE: f64 = 1.0;
    const CURVATURE: f64 = 0.25;
}

impl Rows for LogisticLoss {
    #[inline]
    fn tape_len(rows: usize) -> usize {
        rows
    }

    #[inline]
    fn evaluate(
        block: SignedBlock<'_>,
        wide: &[f64],
        sum: &mut f64,
        gathered: &mut [f64],
        tape: &mut [f64],
    ) {
        let mut margins = [0.0; MOST_ROWS];
        block.multiply(wide, &mut margins);
        for (row, (&margin, curvature)) in margins.iter().zip(tape).enumerate() {
            let (value, slope) = loss(margin);
            *sum += value;
            *curvature = slope * (1.0 - slope);
            block.add_to(row, -slope, gathered);
        }
    }

    #[inline]
    fn curvatures(tape: &[f64]) -> impl Iterator<Item = (usize, f64)> {
        tape.iter().copied().enumerate()
    }
}

#[cfg(test)]
mod tests {
    use dst_core::Objective;

    use super::super::Margins;
    use super::*;
    use crate::data::read_libsvm;

    /// At 0 every margin is 0: f = n·ln 2, and every row pulls with one half.
    #[test]
    fn values_are_known_at_zero_and_never_overflow() {
        let text = "1 1:1\n-1 2:2\n";
        let margins = Margins::new(read_libsvm(text.as_bytes(), "t").unwrap()).unwrap();
        let problem = Logistic::new(margins, 0.0);
        let (mut g, mut tape, mut scratch) = ([f64::NAN; 3], [f64::NAN; 2], [f64::NAN; 12]);
        let f = problem.value_gradient(&[0.0; 3], &mut g, &mut tape, &mut scratch);
        assert!((f - 2.0 * f64::ln(2.0)).abs() < 1e-15, "{f}");
        assert_eq!((g, tape), ([-0.5, 1.0, 0.0], [0.25, 0.25]));
        for (margin, value, slope) in [(800.0, 0.0, 0.0), (-800.0, 800.0, 1.0)] {
            assert_eq!(loss(margin), (value, slope));
        }
        assert!(loss(f64::NAN).0.is_nan());
    }
}
