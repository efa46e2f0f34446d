//! K = (H + GᵀRG)⁻¹ in place, a pivot at a time.
//!
//! Gauss–Jordan without exchange of rows, which a positive definite matrix does not need. A pivot is n² multiply-adds, as much as
//! the product with K in one iteration: a control loop can afford a few per tick, and so adapts its weights without ever
//! missing a deadline.

use super::qp::Qp;
use crate::scalar::Scalar;
use crate::slices::{copy, pieces, pieces_mut, split};

/// An inversion under way: plain data, the matrix stays with the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Inversion {
    size: usize,
    pivots: usize,
    failed: bool,
}

impl Inversion {
    /// Of an n × n matrix.
    pub const fn new(size: usize) -> Self {
        Self {
            size,
            pivots: 0,
            failed: false,
        }
    }

    /// Pivots still to be done.
    pub const fn remaining(&self) -> usize {
        self.size - self.pivots
    }

    /// Did it meet a pivot that is not positive? Then there is no inverse to wait for.
    pub const fn failed(&self) -> bool {
        self.failed
    }

    /// At most `budget` pivots; true when `matrix` holds the inverse. `row` has n entries. See [`failed`](Self::failed).
    pub fn advance<S: Scalar>(&mut self, matrix: &mut [S], row: &mut [S], budget: usize) -> bool {
        for _ in 0..budget.min(self.remaining()) {
            self.failed = self.failed || !pivot(matrix, row, self.size, self.pivots);
            if self.failed {
                return false;
            }
            self.pivots += 1;
        }
        self.remaining() == 0
    }

    /// All of it at once.
    pub fn complete<S: Scalar>(mut self, matrix: &mut [S], row: &mut [S]) -> bool {
        self.advance(matrix, row, self.size)
    }

    /// K of every phase from the parameters, all at once: false if H + GᵀRG is not positive definite. `hessian` is H, `row` has as
    /// many entries as a block has variables.
    pub fn of_phases<S: Scalar>(
        qp: &Qp<'_, S>,
        hessian: &[S],
        params: &[S],
        inverses: &mut [S],
        row: &mut [S],
    ) -> bool {
        let entries = qp.shape.inverse_entries();
        let phases = pieces(params, qp.shape.phase_params());
        phases
            .zip(pieces_mut(inverses, entries))
            .all(|(params, inverse)| {
                let (weights, _) = split(params, qp.shape.rows());
                qp.normal_matrix(hessian, weights, inverse);
                Self::new(qp.shape.variables()).complete(inverse, row)
            })
    }
}

fn pivot<S: Scalar>(matrix: &mut [S], row: &mut [S], n: usize, k: usize) -> bool {
    let Some(source) = pieces(matrix, n).nth(k) else {
        return false;
    };
    copy(row, source);
    let Some(head) = row.get_mut(k) else {
        return false;
    };
    // A NaN is no pivot either, nor is what overflowed.
    if !(*head > S::ZERO && head.is_finite()) {
        return false;
    }
    let inverse = S::ONE / *head;
    // The column k of what is left below becomes that of the inverse.
    *head = S::ONE;
    for (i, target) in pieces_mut(matrix, n).enumerate() {
        if i == k {
            for (t, &r) in target.iter_mut().zip(row.iter()) {
                *t = inverse * r;
            }
        } else if let Some(entry) = target.get_mut(k) {
            let factor = *entry * inverse;
            *entry = S::ZERO;
            for (t, &r) in target.iter_mut().zip(row.iter()) {
                *t -= factor * r;
            }
        }
    }
    true
}
