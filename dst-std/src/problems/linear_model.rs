//! Linear models of two classes: f(w) = c·Σ loss(zᵢ·w) + (reg/2)‖w‖², a sum over the rows zᵢ of [`Margins`].
//!
//! One type serves every [`MarginLoss`]: [`SmoothSvm`](super::SmoothSvm) and [`Logistic`](super::Logistic). A single pass over
//! blocks of rows computes the margins and adds each row's part of f and ∇f while the row is still in cache. The tape
//! keeps the curvatures of the rows for the Hessian-vector products. Sums run in the order of [`Margins`]: same bits on
//! every machine.

use std::marker::PhantomData;

use dst_core::Objective;

use super::margins::{Margins, SignedBlock};

/// The loss of one example as a function of its margin, and its record on the tape.
pub trait MarginLoss: sealed::Rows {
    /// c, the factor of the sum.
    const SCALE: f64;
    /// The largest second derivative of c·loss.
    const CURVATURE: f64;
}

pub(super) mod sealed {
    use super::SignedBlock;

    /// The passes over one block of rows.
    pub trait Rows {
        /// Length of the tape of a block with this number of rows.
        fn tape_len(rows: usize) -> usize;

        /// Adds the losses of the rows to `sum` and the gradient of c·loss to `gathered`; writes the tape.
        fn evaluate(
            block: SignedBlock<'_>,
            wide: &[f64],
            sum: &mut f64,
            gathered: &mut [f64],
            tape: &mut [f64],
        );

        /// Rows with their curvatures, in order; rows without curvature may be left out.
        fn curvatures(tape: &[f64]) -> impl Iterator<Item = (usize, f64)>;
    }
}

/// A linear model of a data set with a regularisation.
#[derive(Clone, Debug)]
pub struct LinearModel<L> {
    margins: Margins,
    regularisation: f64,
    loss: PhantomData<L>,
}

impl<L: MarginLoss> LinearModel<L> {
    /// The model of these examples, with reg ≥ 0.
    pub fn new(margins: Margins, regularisation: f64) -> Self {
        Self {
            margins,
            regularisation,
            loss: PhantomData,
        }
    }

    /// The data.
    pub fn margins(&self) -> &Margins {
        &self.margins
    }

    /// A Lipschitz constant of ∇f: L = σ_max(Z)²·max (c·loss)″ + reg.
    pub fn lipschitz(&self) -> f64 {
        L::CURVATURE * self.margins.largest_square() + self.regularisation
    }

    /// The blocks of rows, each with its part of the tape.
    #[inline]
    fn taped<'a>(
        &'a self,
        mut tape: &'a [f64],
    ) -> impl Iterator<Item = (SignedBlock<'a>, &'a [f64])> {
        self.margins.iter().map(move |block| {
            let (now, later) = tape.split_at(L::tape_len(block.rows()));
            tape = later;
            (block, now)
        })
    }

    fn regularise(&self, v: &[f64], out: &mut [f64]) {
        for (out, v) in out.iter_mut().zip(v) {
            *out += self.regularisation * v;
        }
    }
}

impl<L: MarginLoss> Objective<f64> for LinearModel<L> {
    fn dim(&self) -> usize {
        self.margins.dim()
    }

    fn tape_len(&self) -> usize {
        let blocks = self.margins.iter();
        blocks.map(|block| L::tape_len(block.rows())).sum()
    }

    fn scratch_len(&self) -> usize {
        // Two wide vectors per product, and two products in one pass.
        4 * self.margins.wide_len()
    }

    fn value_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        mut tape: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        let (wide, gathered) = self.margins.wide_pair(scratch);
        self.margins.widen(x, wide);
        let mut sum = 0.0;
        for block in self.margins.iter() {
            let (now, later) = tape.split_at_mut(L::tape_len(block.rows()));
            tape = later;
            L::evaluate(block, wide, &mut sum, gathered, now);
        }
        let mut norm = 0.0;
        for (g, &x) in gradient.iter_mut().zip(x) {
            *g = self.regularisation * x;
            norm += x * x;
        }
        self.margins.fold(gathered, gradient);
        L::SCALE * sum + 0.5 * self.regularisation * norm
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
        for (block, tape) in self.taped(tape) {
            for (row, curvature) in L::curvatures(tape) {
                block.add_to(row, curvature * block.dot(row, wide), gathered);
            }
        }
        self.regularise(v, out);
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
            for (block, tape) in self.taped(tape) {
                for (row, curvature) in L::curvatures(tape) {
                    block.add_to(row, curvature * block.dot(row, wide1), gathered1);
                    block.add_to(row, curvature * block.dot(row, wide2), gathered2);
                }
            }
            self.regularise(vectors, out);
            let (out1, out2) = out.split_at_mut(dim);
            self.margins.fold(gathered1, out1);
            self.margins.fold(gathered2, out2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Logistic, SmoothSvm, differences};
    use super::*;
    use crate::data::read_libsvm;
    use crate::random::normals;

    #[test]
    fn derivatives_agree_with_differences() {
        differences::check_on_data(|margins| SmoothSvm::new(margins, 0.3));
        differences::check_on_data(|margins| Logistic::new(margins, 0.3));
    }

    /// Two products in one pass have the bits of two passes, whatever the loss.
    #[test]
    fn products_made_together_have_the_bits_of_single_ones() {
        fn check<L: MarginLoss>() {
            let text = "1 1:1 3:0.5\n-1 2:2\n1 3:1\n-1 1:0.25 2:1\n";
            let margins = Margins::new(read_libsvm(text.as_bytes(), "t").unwrap()).unwrap();
            let model = LinearModel::<L>::new(margins, 0.5);
            let dim = model.dim();
            let (mut tape, mut scratch) =
                (vec![0.0; model.tape_len()], vec![0.0; model.scratch_len()]);
            let (x, vectors) = (normals(1, dim), normals(2, 3 * dim));
            let mut gradient = vec![0.0; dim];
            model.value_gradient(&x, &mut gradient, &mut tape, &mut scratch);
            let (mut together, mut single) = (vec![0.0; 3 * dim], vec![0.0; 3 * dim]);
            model.add_hessian_vectors(&x, &vectors, &tape, &mut together, &mut scratch);
            for (v, out) in vectors.chunks(dim).zip(single.chunks_mut(dim)) {
                model.add_hessian_vector(&x, v, &tape, out, &mut scratch);
            }
            assert_eq!(together, single);
        }
        check::<super::super::SquaredHinge>();
        check::<super::super::LogisticLoss>();
    }
}
