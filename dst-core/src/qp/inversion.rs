//! Inversion K = (H + GᵀRG)⁻¹ in place, one pivot at a time.
//!
//! Gauss–Jordan elimination without row exchanges, which a positive definite matrix does not need. A pivot takes n²
//! multiply-adds, as many as the product with K in one iteration. A control loop can therefore do a few per tick, and adapt its
//! weights without missing a deadline.

use super::program::Qp;
use crate::scalar::Scalar;
use crate::slices::{copy, pieces, pieces_mut, split, split_mut};

/// Inversion in progress: plain data; the caller keeps the matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Inversion {
    size: usize,
    pivots: usize,
    failed: bool,
}

impl Inversion {
    /// Inversion of an n × n matrix.
    pub const fn new(size: usize) -> Self {
        Self {
            size,
            pivots: 0,
            failed: false,
        }
    }

    /// Number of pivots still to do.
    pub const fn remaining(&self) -> usize {
        self.size - self.pivots
    }

    /// True if a pivot was not positive; there is then no inverse.
    pub const fn failed(&self) -> bool {
        self.failed
    }

    /// Makes at most `budget` pivots; returns true when `matrix` holds the inverse. `row` has n entries. See
    /// [`failed`](Self::failed).
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

    /// Makes all pivots in one call.
    pub fn complete<S: Scalar>(mut self, matrix: &mut [S], row: &mut [S]) -> bool {
        self.advance(matrix, row, self.size)
    }

    /// Computes K and 1/R of every phase from the parameters, in one call; returns false if H + GᵀRG is not positive definite.
    /// `hessian` is H; `row` has one entry per variable of a block; `inverses` has [`Shape::prepared_entries`](super::Shape::prepared_entries)
    /// per phase.
    pub fn of_phases<S: Scalar>(
        qp: &Qp<'_, S>,
        hessian: &[S],
        params: &[S],
        inverses: &mut [S],
        row: &mut [S],
    ) -> bool {
        let shape = qp.shape;
        let phases = params.len().checked_div(shape.phase_params());
        // A slice for K alone would leave phases without an inverse.
        if phases.is_none_or(|phases| phases * shape.prepared_entries() != inverses.len()) {
            return false;
        }
        pieces(params, shape.phase_params())
            .zip(pieces_mut(inverses, shape.prepared_entries()))
            .all(|(params, prepared)| {
                let inverse = prepare(qp, hessian, params, prepared);
                Self::new(shape.variables()).complete(inverse, row)
            })
    }
}

/// Writes the data of one phase before the inversion: H + GᵀRG, which is returned, and 1/R.
pub(crate) fn prepare<'m, S: Scalar>(
    qp: &Qp<'_, S>,
    hessian: &[S],
    params: &[S],
    prepared: &'m mut [S],
) -> &'m mut [S] {
    let (weights, _) = split(params, qp.shape.rows());
    let (matrix, reciprocals) = split_mut(prepared, qp.shape.inverse_entries());
    for (to, &weight) in reciprocals.iter_mut().zip(weights) {
        *to = S::ONE / weight;
    }
    qp.normal_matrix(hessian, weights, matrix);
    matrix
}

fn pivot<S: Scalar>(matrix: &mut [S], row: &mut [S], n: usize, k: usize) -> bool {
    let Some(source) = pieces(matrix, n).nth(k) else {
        return false;
    };
    copy(row, source);
    let Some(head) = row.get_mut(k) else {
        return false;
    };
    // A NaN or an overflow is not a valid pivot either.
    if !(*head > S::ZERO && head.is_finite()) {
        return false;
    }
    let inverse = S::ONE / *head;
    // Column k becomes that of the inverse.
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
