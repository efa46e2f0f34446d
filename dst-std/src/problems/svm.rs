//! The smooth support vector machine: f(w) = ½ Σ max(0, 1 − zᵢ·w)² + (reg/2)‖w‖², a sum, with zᵢ the rows of [`Margins`].
//!
//! f is piecewise quadratic. One pass over blocks of rows does it all: the margins, and, for rows whose margin is below one, their
//! part of f and ∇f while they are still in cache. The tape keeps which rows those were, the bits of one number per block
//! (every `u32` is exact in double precision); a Hessian-vector product visits no others. Sums run in the order of
//! [`Margins`]: same bits on every machine.

use dst_core::Objective;

use super::blocks::MOST_ROWS;
use super::margins::Margins;

/// The smooth SVM of a data set.
#[derive(Clone, Debug)]
pub struct SmoothSvm {
    margins: Margins,
    regularisation: f64,
}

impl SmoothSvm {
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

    /// A Lipschitz constant of ∇f: L = σ_max(Z)² + reg.
    pub fn lipschitz(&self) -> f64 {
        self.margins.largest_square() + self.regularisation
    }
}

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

impl Objective<f64> for SmoothSvm {
    fn dim(&self) -> usize {
        self.margins.dim()
    }

    fn tape_len(&self) -> usize {
        self.margins.blocks()
    }

    fn scratch_len(&self) -> usize {
        // Two wide vectors for a product, and two products in one pass.
        4 * self.margins.wide_len()
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
        let mut squares = 0.0;
        for (block, word) in self.margins.iter().zip(tape) {
            // First the margins, several in flight, without a branch that depends on them: which rows are active is as good as
            // random, and a branch mispredicted at the end of a sum costs more than the sum.
            let mut slacks = [1.0; MOST_ROWS];
            block.multiply(wide, &mut slacks);
            let mut active = 0;
            for (slack, bit) in slacks.iter_mut().zip(&BITS) {
                *slack = 1.0 - *slack;
                // A NaN is not active, but comes from an x whose norm below is none either.
                active |= if *slack > 0.0 { *bit } else { 0 };
            }
            let active = active as u32;
            *word = f64::from(active);
            for row in set_bits(active) {
                let slack = slacks[row];
                squares += slack * slack;
                block.add_to(row, -slack, gathered);
            }
        }
        let mut norm = 0.0;
        for (g, &x) in gradient.iter_mut().zip(x) {
            *g = self.regularisation * x;
            norm += x * x;
        }
        self.margins.fold(gathered, gradient);
        0.5 * (squares + self.regularisation * norm)
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
        for (block, &word) in self.margins.iter().zip(tape) {
            for row in set_bits(word as u32) {
                block.add_to(row, block.dot(row, wide), gathered);
            }
        }
        for (out, v) in out.iter_mut().zip(v) {
            *out += self.regularisation * v;
        }
        self.margins.fold(gathered, out);
    }

    fn add_hessian_vectors(
        &self,
        x: &[f64],
        vectors: &[f64],
        tape: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        let dim = self.dim();
        let pairs = vectors.chunks(2 * dim).zip(out.chunks_mut(2 * dim));
        for (vectors, out) in pairs {
            if vectors.len() < 2 * dim {
                self.add_hessian_vector(x, vectors, tape, out, scratch);
                continue;
            }
            let (one, two) = scratch.split_at_mut(2 * self.margins.wide_len());
            let ((wide1, gathered1), (wide2, gathered2)) =
                (self.margins.wide_pair(one), self.margins.wide_pair(two));
            let (v1, v2) = vectors.split_at(dim);
            self.margins.widen(v1, wide1);
            self.margins.widen(v2, wide2);
            for (block, &word) in self.margins.iter().zip(tape) {
                for row in set_bits(word as u32) {
                    block.add_to(row, block.dot(row, wide1), gathered1);
                    block.add_to(row, block.dot(row, wide2), gathered2);
                }
            }
            for (out, v) in out.iter_mut().zip(vectors) {
                *out += self.regularisation * v;
            }
            let (out1, out2) = out.split_at_mut(dim);
            self.margins.fold(gathered1, out1);
            self.margins.fold(gathered2, out2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::differences;
    use super::*;
    use crate::data::read_libsvm;

    /// Rows (1, 0, −1) and −(0, 2, −1): margins of w = (2, 1, 0) are 2 and −2.
    #[test]
    fn known_values() {
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

    #[test]
    fn derivatives() {
        differences::check_on_data(|margins| SmoothSvm::new(margins, 0.3));
    }
}
