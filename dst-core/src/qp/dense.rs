//! A program with a dense P and A, whose q, l and h are given at every solve.
//!
//! [`prepare`](Dense::prepare) factors P = L·D·Lᵀ and computes M = A·L⁻ᵀ and W = M·D⁻¹·Mᵀ, once. A solve takes w = −D⁻¹L⁻¹q,
//! s⁰ = M·w, the multipliers λ of the [`ActiveSet`], and u = L⁻ᵀ(w − D⁻¹Mᵀλ). M is stored column by column, because the product
//! that every solve needs runs along columns.

use super::active_set::{ActiveSet, Bounds, Outcome, Work};
use super::factor;
use super::set::Set;
use super::step::clip;
use crate::error::{Argument, Error, exact, finite};
use crate::scalar::Scalar;
use crate::slices::{combine, copy, pieces, split_mut};

/// Prepared program.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a, S> {
    /// L, row by row without its diagonal: row k has k entries.
    pub factor: &'a [S],
    /// 1/D
    pub inverse: &'a [S],
    /// M = A·L⁻ᵀ, column by column.
    pub columns: &'a [S],
    /// W and the rest of the constants.
    pub set: ActiveSet<'a, S>,
    /// Leading rows of A that are those of the identity: bounds on variables, which every solution satisfies exactly.
    pub boxed: usize,
}

/// Memory of a program between solves: numbers, and words for the set.
#[derive(Debug)]
pub struct DenseMemory<'m, S> {
    work: Work<'m, S>,
    set: Set<'m>,
    variables: &'m mut [S],
}

impl<'m, S: Scalar> DenseMemory<'m, S> {
    /// Numbers that n variables, m rows and a set of at most `capacity` rows need. min(n, m) + 1 rows are always enough.
    pub const fn numbers(variables: usize, rows: usize, capacity: usize) -> usize {
        Work::<S>::len(rows, capacity) + variables
    }

    /// Words that a set of at most `capacity` rows needs.
    pub const fn words(capacity: usize) -> usize {
        Set::len(capacity)
    }

    /// Cuts the memory; the first solve is cold.
    pub fn new(
        variables: usize,
        rows: usize,
        capacity: usize,
        numbers: &'m mut [S],
        words: &'m mut [u16],
    ) -> Result<Self, Error> {
        let needed = Self::numbers(variables, rows, capacity);
        exact(Argument::Memory, needed, numbers.len())?;
        exact(Argument::Memory, Self::words(capacity), words.len())?;
        let (variables, rest) = split_mut(numbers, variables);
        let mut set = Set::new(words);
        set.clear();
        Ok(Self {
            work: Work::new(rows, capacity, rest),
            set,
            variables,
        })
    }

    /// u of the last solve.
    pub fn variables(&self) -> &[S] {
        self.variables
    }

    /// Discards the set, so that the next solve starts cold.
    pub fn reset(&mut self) {
        self.set.clear();
    }
}

impl<'a, S: Scalar> Dense<'a, S> {
    /// Numbers that [`prepare`](Self::prepare) needs.
    pub const fn numbers(variables: usize, rows: usize) -> usize {
        factor::packed_len(variables) + variables + rows * (variables + rows + 1)
    }

    /// Prepares a program: P is n × n and positive definite, A is m × n, both row by row. `lifts` is 1/ρ of each row with a
    /// quadratic penalty, or empty; `caps` the weight of each row with an ℓ1 penalty, or empty. `memory` has
    /// [`numbers`](Self::numbers) entries. A matrix P that is not positive definite is an error.
    #[cfg(feature = "libm")]
    pub fn prepare(
        hessian: &[S],
        rows: &[S],
        caps: &'a [S],
        lifts: &'a [S],
        tolerance: S,
        memory: &'a mut [S],
    ) -> Result<Self, Error> {
        let n = side(hessian.len());
        exact(Argument::Model, n * n, hessian.len())?;
        let m = rows.len().checked_div(n).unwrap_or(0);
        exact(Argument::Model, m * n, rows.len())?;
        exact(Argument::Memory, Self::numbers(n, m), memory.len())?;
        finite(Argument::Model, hessian)?;
        finite(Argument::Model, rows)?;
        let (packed, rest) = split_mut(memory, factor::packed_len(n));
        let (inverse, rest) = split_mut(rest, n);
        let (columns, rest) = split_mut(rest, m * n);
        let (gram, scale) = split_mut(rest, m * m);
        for (k, row) in pieces(hessian, n).enumerate() {
            let diagonal = row.get(k).copied().unwrap_or_default();
            let pivot = factor::append(packed, inverse, k, row.iter().copied(), diagonal, S::ZERO);
            // Written so that a NaN fails.
            if !(pivot > S::ZERO && pivot.is_finite()) {
                return Err(Error::Invalid(Argument::Model));
            }
        }
        // Column k of M is column k of A less those before it: L·Mᵀ = Aᵀ.
        for k in 0..n {
            let (done, rest) = split_mut(columns, k * m);
            let (column, _) = split_mut(rest, m);
            for (to, row) in column.iter_mut().zip(pieces(rows, n)) {
                *to = row.get(k).copied().unwrap_or_default();
            }
            for (&l, before) in factor::row(packed, k).iter().zip(pieces(done, m)) {
                crate::slices::add_scaled(column, -l, before);
            }
        }
        gram.fill(S::ZERO);
        for (column, &inverse) in pieces(columns, m).zip(inverse.iter()) {
            for (row, &a) in crate::slices::pieces_mut(gram, m).zip(column) {
                crate::slices::add_scaled(row, a * inverse, column);
            }
        }
        for (j, (row, scale)) in crate::slices::pieces_mut(gram, m)
            .zip(scale.iter_mut())
            .enumerate()
        {
            if let Some(entry) = row.get_mut(j) {
                *entry += lifts.get(j).copied().unwrap_or_default();
                *scale = if *entry > S::ZERO {
                    S::ONE / entry.sqrt()
                } else {
                    S::ONE
                };
            }
        }
        finite(Argument::Model, gram)?;
        finite(Argument::Model, scale)?;
        let unit = |(i, row): &(usize, &[S])| {
            let expected = |j: usize| if j == *i { S::ONE } else { S::ZERO };
            row.iter().enumerate().all(|(j, &a)| a == expected(j))
        };
        let boxed = pieces(rows, n).enumerate().take_while(unit).count();
        let prepared = Self {
            factor: packed,
            inverse,
            columns,
            set: ActiveSet {
                gram,
                scale,
                caps,
                lifts,
                tolerance,
            },
            boxed,
        };
        Ok(prepared)
    }

    /// Rows with a multiplier in the last solve, and the multipliers: positive at an upper bound, negative at a lower one.
    pub fn multipliers<'r>(
        &'r self,
        memory: &'r DenseMemory<'_, S>,
    ) -> impl Iterator<Item = (usize, S)> + 'r {
        self.set.multipliers(&memory.work, &memory.set)
    }

    /// Solves with q, l and h, from the set of the last solve, in at most `budget` steps. [`DenseMemory::variables`] returns u.
    /// NaN and an infinite q are refused, and the memory stays as it is.
    pub fn solve(
        &self,
        memory: &mut DenseMemory<'_, S>,
        linear: &[S],
        bounds: Bounds<'_, S>,
        budget: usize,
    ) -> Result<Outcome, Error> {
        let (n, m) = (self.inverse.len(), self.set.scale.len());
        exact(Argument::Model, n, linear.len())?;
        exact(Argument::Model, n * m, self.columns.len())?;
        exact(Argument::Model, factor::packed_len(n), self.factor.len())?;
        exact(Argument::Memory, n, memory.variables.len())?;
        exact(Argument::Memory, m, memory.work.rows.len())?;
        self.set.check(bounds)?;
        finite(Argument::Model, linear)?;
        // Without an early exit, which would keep the compiler from comparing several at once.
        let nan = |values: &[S]| values.iter().fold(false, |nan, b| nan | b.is_nan());
        if nan(bounds.lower) | nan(bounds.upper) {
            return Err(Error::Invalid(Argument::Bounds));
        }
        let w = &mut *memory.variables;
        copy(w, linear);
        factor::forward(self.factor, w);
        for (w, &inverse) in w.iter_mut().zip(self.inverse) {
            *w = -*w * inverse;
        }
        memory.work.start.fill(S::ZERO);
        combine(memory.work.start, w, pieces(self.columns, m));
        let mut outcome = self
            .set
            .solve(&mut memory.work, &mut memory.set, bounds, budget);
        for (row, multiplier) in self.set.multipliers(&memory.work, &memory.set) {
            let columns = pieces(self.columns, m).zip(self.inverse);
            for (w, (column, &inverse)) in w.iter_mut().zip(columns) {
                let entry = column.get(row).copied().unwrap_or_default();
                *w -= entry * multiplier * inverse;
            }
            outcome.operations += n;
        }
        factor::backward(self.factor, w);
        outcome.operations += n * (n + m);
        let limits = bounds.lower.iter().zip(bounds.upper);
        for (w, (&lower, &upper)) in w.iter_mut().zip(limits).take(self.boxed) {
            *w = clip(*w, lower, upper);
        }
        Ok(outcome)
    }
}

/// Side of a square matrix with this number of entries, rounded down.
#[cfg(feature = "libm")]
fn side(entries: usize) -> usize {
    entries.isqrt()
}
