//! The smooth support vector machine: f(w) = ½ Σ max(0, 1 − zᵢ·w)² + (reg/2)‖w‖², a sum, with zᵢ the rows of [`Margins`].
//!
//! f is piecewise quadratic. One pass over the rows does it all: the margin of a row, and, if it is below one, its part
//! of f and ∇f while the row is still in cache. The tape keeps which rows those were, 32 to a number; a
//! Hessian-vector product visits no others. Sums run in the order of the rows: same bits on every machine.

use dst_core::Objective;

use super::margins::Margins;

/// Rows per number on the tape; every `u32` is exact in double precision.
const WORD: usize = 32;

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

    /// Calls `visit` with the numbers of the active rows, in order.
    #[inline]
    fn for_active(tape: &[f64], mut visit: impl FnMut(usize)) {
        for (word, &bits) in tape.iter().enumerate() {
            let mut bits = bits as u32;
            while bits != 0 {
                visit(word * WORD + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }
}

impl Objective<f64> for SmoothSvm {
    fn dim(&self) -> usize {
        self.margins.dim()
    }

    fn tape_len(&self) -> usize {
        self.margins.rows().div_ceil(WORD)
    }

    fn value_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        tape: &mut [f64],
        _: &mut [f64],
    ) -> f64 {
        gradient.fill(0.0);
        let mut squares = 0.0;
        let mut rows = self.margins.iter();
        for word in tape {
            let mut active = 0_u32;
            for (bit, row) in rows.by_ref().take(WORD).enumerate() {
                let slack = 1.0 - row.dot(x);
                // Asked this way round, a NaN is active, so that it is seen.
                if slack <= 0.0 {
                    continue;
                }
                active |= 1 << bit;
                squares += slack * slack;
                row.add_to(-slack, gradient);
            }
            *word = f64::from(active);
        }
        let mut norm = 0.0;
        for (g, &x) in gradient.iter_mut().zip(x) {
            *g += self.regularisation * x;
            norm += x * x;
        }
        0.5 * (squares + self.regularisation * norm)
    }

    fn add_hessian_vector(
        &self,
        _: &[f64],
        v: &[f64],
        tape: &[f64],
        out: &mut [f64],
        _: &mut [f64],
    ) {
        for (out, v) in out.iter_mut().zip(v) {
            *out += self.regularisation * v;
        }
        Self::for_active(tape, |i| {
            let row = self.margins.row(i);
            row.add_to(row.dot(v), out);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::differences;
    use super::*;
    use crate::data::{Shape, normals, read_libsvm, synthetic};

    /// Rows (1, 0, −1) and −(0, 2, −1): margins of w = (2, 1, 0) are 2 and −2.
    #[test]
    fn known_values() {
        let text = "1 1:1\n-1 2:2\n";
        let margins = Margins::new(read_libsvm(text.as_bytes(), "t").unwrap()).unwrap();
        let svm = SmoothSvm::new(margins, 0.5);
        let (mut g, mut tape) = ([f64::NAN; 3], [f64::NAN]);
        let f = svm.value_gradient(&[2.0, 1.0, 0.0], &mut g, &mut tape, &mut []);
        // Only the second row is active, with slack 3.
        assert_eq!(f, 0.5 * 9.0 + 0.25 * 5.0);
        assert_eq!(g, [1.0, 6.0 + 0.5, -3.0]);
        assert_eq!(tape, [2.0]);
        let mut out = [0.0; 3];
        svm.add_hessian_vector(&[], &[1.0, 1.0, 0.0], &tape, &mut out, &mut []);
        assert_eq!(out, [0.5, 4.5, -2.0]);
    }

    #[test]
    fn derivatives() {
        let shape = Shape {
            rows: 77,
            features: 20,
            groups: 4,
        };
        for (seed, values) in [(3, false), (4, true)] {
            let mut examples = synthetic(shape, seed);
            if values {
                // A last row whose entries are not ones.
                examples.rows.push(3, -0.5).unwrap();
                examples.rows.finish_row();
                examples.labels.push(-1.0);
            }
            let problem = SmoothSvm::new(Margins::new(examples).unwrap(), 0.3);
            let x = normals(seed, problem.dim());
            differences::check(&problem, &x);
        }
    }
}
