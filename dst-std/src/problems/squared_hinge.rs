//! The squared hinge: loss(m) = max(0, 1 − m)² with c = ½, piecewise quadratic.
//!
//! Rows whose margin is below one are active; the others contribute nothing. The tape keeps the active rows of a block as the bits
//! of one number (every `u32` is exact in double precision), and a Hessian-vector product visits no others.

use super::blocks::MOST_ROWS;
use super::linear_model::sealed::Rows;
use super::linear_model::{LinearModel, MarginLoss};
use super::margins::SignedBlock;

/// ½ max(0, 1 − m)²
#[derive(Clone, Copy, Debug)]
pub enum SquaredHinge {}

/// The smooth support vector machine: f(w) = ½ Σ max(0, 1 − zᵢ·w)² + (reg/2)‖w‖².
pub type SmoothSvm = LinearModel<SquaredHinge>;

/// 1, 2, 4, …: as wide as the numbers they are masked by, so that the comparison is made for several rows at once.
const BITS: [u64; MOST_ROWS] = {
    let (mut bits, mut i) = ([1; MOST_ROWS], 0);
    while i < MOST_ROWS {
        bits[i] = 1 << i;
        i += 1;
    }
    bits
};

/// The numbers of the bits that are set, in order.
#[inline]
fn set_bits(mut word: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        bit
    })
}

impl MarginLoss for SquaredHinge {
    const SCALE: f64 = 0.5;
    const CURVATURE: f64 = 1.0;
}

impl Rows for SquaredHinge {
    #[inline]
    fn tape_len(_: usize) -> usize {
        1
    }

    #[inline]
    fn evaluate(
        block: SignedBlock<'_>,
        wide: &[f64],
        sum: &mut f64,
        gathered: &mut [f64],
        tape: &mut [f64],
    ) {
        // First the margins, several in flight, without a branch that depends on them: which rows are active is as good as
        // random, and a branch mispredicted at the end of a sum costs more than the sum.
        let mut slacks = [1.0; MOST_ROWS];
        block.multiply(wide, &mut slacks);
        let mut active = 0;
        for (slack, bit) in slacks.iter_mut().zip(&BITS) {
            *slack = 1.0 - *slack;
            // A NaN is not active, but it comes from an x whose norm is not finite either.
            active |= if *slack > 0.0 { *bit } else { 0 };
        }
        let active = active as u32;
        tape[0] = f64::from(active);
        for row in set_bits(active) {
            let slack = slacks[row];
            *sum += slack * slack;
            block.add_to(row, -slack, gathered);
        }
    }

    #[inline]
    fn curvatures(tape: &[f64]) -> impl Iterator<Item = (usize, f64)> {
        set_bits(tape[0] as u32).map(|row| (row, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use dst_core::Objective;

    use super::super::Margins;
    use super::*;
    use crate::data::read_libsvm;

    /// Rows (1, 0, −1) and −(0, 2, −1): margins of w = (2, 1, 0) are 2 and −2.
    #[test]
    fn a_model_of_two_rows_has_the_values_computed_by_hand() {
        let text = "1 1:1\n-1 2:2\n";
        let margins = Margins::new(read_libsvm(text.as_bytes(), "t").unwrap()).unwrap();
        let svm = SmoothSvm::new(margins, 0.5);
        let (mut g, mut tape, mut scratch) = ([f64::NAN; 3], [f64::NAN], [f64::NAN; 12]);
        let f = svm.value_gradient(&[2.0, 1.0, 0.0], &mut g, &mut tape, &mut scratch);
        // Only the second row is active, with slack 3.
        assert_eq!(f, 0.5 * 9.0 + 0.25 * 5.0);
        assert_eq!(g, [1.0, 6.0 + 0.5, -3.0]);
        assert_eq!(tape, [2.0]);
        let mut out = [0.0; 3];
        svm.add_hessian_vector(&[], &[1.0, 1.0, 0.0], &tape, &mut out, &mut scratch);
        assert_eq!(out, [0.5, 4.5, -2.0]);
    }
}
