//! A program with a dense P and A, whose q, l and h are given at every solve.
//!
//! [`prepare`](Dense::prepare) factors P = L·D·Lᵀ and computes M = A·L⁻ᵀ and W = M·D⁻¹·Mᵀ, once. A solve takes w = −D⁻¹L⁻¹q,
//! s⁰ = M·w, the multipliers λ of the [`ActiveSet`], and u = L⁻ᵀ(w − D⁻¹Mᵀλ). M is stored column by column, because the product
//! that every solve needs runs along columns.

use super::active_rows::{ActiveRows, Entry};
use super::active_set::{ActiveSet, Bounds, Outcome, Status, Work};
use super::factor;
use super::step::clip;
use crate::error::{Argument, Error, exact, finite};
use crate::scalar::Scalar;
use crate::slices::{combine, copy, pieces, split, split_mut};

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
    pub(super) work: Work<'m, S>,
    pub(super) set: ActiveRows<'m>,
    pub(super) variables: &'m mut [S],
}

impl<'m, S: Scalar> DenseMemory<'m, S> {
    /// Numbers that n variables, m rows and a set of at most `capacity` rows need. min(n, m) + 1 rows are always enough.
    pub const fn numbers(variables: usize, rows: usize, capacity: usize) -> usize {
        Work::<S>::len(rows, capacity) + variables
    }

    /// Words that a set of at most `capacity` rows needs.
    pub const fn words(capacity: usize) -> usize {
        ActiveRows::len(capacity)
    }

    /// Cuts the memory; the first solve is cold.
    pub fn new(
        variables: usize,
        rows: usize,
        capacity: usize,
        numbers: &'m mut [S],
        words: &'m mut [u16],
    ) -> Result<Self, Error> {
        let mut memory = Self::keep(variables, rows, capacity, numbers, words)?;
        memory.reset();
        Ok(memory)
    }

    /// Cuts memory that an earlier solve has left; the next one starts from its set. Words that are no set are harmless.
    pub fn keep(
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
        Ok(Self {
            work: Work::new(rows, capacity, rest),
            set: ActiveRows::new(words),
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
            let pivot = factor::append(packed, inverse, k, row, diagonal, S::ZERO);
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
        // A soft row may be exceeded, so it is no bound to clip to.
        let hard = |j: usize| {
            let cap = caps.get(j).copied().unwrap_or(S::INFINITY);
            cap >= S::MAX && lifts.get(j).is_none_or(|&lift| lift <= S::ZERO)
        };
        let boxed = pieces(rows, n)
            .enumerate()
            .take_while(|row| unit(row) && hard(row.0))
            .count();
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

    /// Returns the program whose constants [`prepare`](Self::prepare) has written to `memory`, with its number of `boxed` rows.
    pub fn prepared(
        variables: usize,
        rows: usize,
        boxed: usize,
        caps: &'a [S],
        lifts: &'a [S],
        tolerance: S,
        memory: &'a [S],
    ) -> Result<Self, Error> {
        exact(
            Argument::Memory,
            Self::numbers(variables, rows),
            memory.len(),
        )?;
        let (factor, rest) = split(memory, factor::packed_len(variables));
        let (inverse, rest) = split(rest, variables);
        let (columns, rest) = split(rest, rows * variables);
        let (gram, scale) = split(rest, rows * rows);
        Ok(Self {
            factor,
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
        })
    }

    /// Rows with a multiplier in the last solve, and the multipliers: positive at an upper bound, negative at a lower one.
    pub fn multipliers<'r>(
        &'r self,
        memory: &'r DenseMemory<'_, S>,
    ) -> impl Iterator<Item = (usize, S)> + 'r {
        self.set.multipliers(&memory.work, &memory.set)
    }

    /// Solves with q, l and h, from the set of the last solve, in at most `budget` steps. [`DenseMemory::variables`] returns u.
    /// NaN, an infinite q, l = ∞ and h = −∞ are refused, and the set of the last solve stays as it is.
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
        // Written so that a NaN fails, and without an early exit, which would keep the compiler from comparing several at once.
        let below = bounds
            .lower
            .iter()
            .fold(true, |all, &b| all & (b < S::INFINITY));
        let above = bounds
            .upper
            .iter()
            .fold(true, |all, &b| all & (b > -S::INFINITY));
        if !(below & above) {
            return Err(Error::Invalid(Argument::Bounds));
        }
        let w = &mut *memory.variables;
        self.minimise(linear, w);
        self.products(w, memory.work.start);
        // A finite q may still overflow; nothing of it reaches the set.
        finite(Argument::Model, w)?;
        finite(Argument::Model, memory.work.start)?;
        if memory.set.is_empty() && is_inside(memory.work.start, bounds) {
            // Most warm solves end here.
            copy(memory.work.rows, memory.work.start);
            factor::backward(self.factor, w);
            self.clip(w, bounds);
            return Ok(Outcome {
                status: Status::Solved,
                steps: 0,
                operations: n * (n + m),
            });
        }
        let mut outcome = self.set.solve(
            &mut memory.work,
            &mut memory.set,
            0,
            bounds,
            budget,
            Some(&self.curvatures()),
        );
        self.finish(memory, linear, bounds, budget, &mut outcome);
        let w = &mut *memory.variables;
        factor::backward(self.factor, w);
        outcome.operations += n * (n + m);
        if !S::all_finite(w) {
            // Bounds near the largest number overflow.
            w.fill(S::ZERO);
            memory.set.clear();
            outcome.status = Status::Late;
        }
        self.clip(w, bounds);
        Ok(outcome)
    }
}

impl<S: Scalar> Dense<'_, S> {
    /// w = −D⁻¹L⁻¹q, the minimiser without rows.
    pub(super) fn minimise(&self, linear: &[S], w: &mut [S]) {
        copy(w, linear);
        factor::forward(self.factor, w);
        for (w, &inverse) in w.iter_mut().zip(self.inverse) {
            *w = -*w * inverse;
        }
    }

    /// Takes bounded variables to their bounds exactly: rounding may leave them beyond.
    fn clip(&self, w: &mut [S], bounds: Bounds<'_, S>) {
        let limits = bounds.lower.iter().zip(bounds.upper);
        for (w, (&lower, &upper)) in w.iter_mut().zip(limits).take(self.boxed) {
            *w = clip(*w, lower, upper);
        }
    }

    /// s = M·w
    pub(super) fn products(&self, w: &[S], s: &mut [S]) {
        s.fill(S::ZERO);
        combine(s, w, pieces(self.columns, self.set.scale.len()));
    }

    /// [`curvature`](Self::curvature) for the search.
    pub(super) fn curvatures(&self) -> impl Fn(&[u16], &[S], &mut [S]) -> S + '_ {
        |entries, y, product| self.curvature(entries, y, product)
    }

    /// Writes Wy and returns yᵀWy = Σ_k (Σ_i y_i·M_ik)²/D_k + Σ_i y_i²/ρ_i.
    fn curvature(&self, entries: &[u16], y: &[S], product: &mut [S]) -> S {
        let rows = || entries.iter().map(|&entry| Entry(entry).row());
        let mut sum = S::ZERO;
        for ((row, &y), to) in rows().zip(y).zip(product.iter_mut()) {
            *to = y * self.set.lift(row);
            sum += y * *to;
        }
        for (column, &inverse) in pieces(self.columns, self.set.scale.len()).zip(self.inverse) {
            let at = |row: usize| column.get(row).copied().unwrap_or_default();
            let part = rows()
                .zip(y)
                .fold(S::ZERO, |sum, (row, &y)| sum + y * at(row));
            for (to, row) in product.iter_mut().zip(rows()) {
                *to += part * inverse * at(row);
            }
            sum += part * part * inverse;
        }
        sum
    }

    /// w ← w − D⁻¹·M_rowᵀ·multiplier
    pub(super) fn pull(&self, w: &mut [S], row: usize, multiplier: S) {
        let columns = pieces(self.columns, self.set.scale.len()).zip(self.inverse);
        for (w, (column, &inverse)) in w.iter_mut().zip(columns) {
            let entry = column.get(row).copied().unwrap_or_default();
            *w -= entry * multiplier * inverse;
        }
    }
}

/// True if s⁰ is within all bounds, which are then in order.
fn is_inside<S: Scalar>(start: &[S], bounds: Bounds<'_, S>) -> bool {
    let Bounds { lower, upper } = bounds;
    pieces(start, lower.len()).all(|stage| {
        // Without an early exit, so that several are compared at once. Written so that a NaN fails.
        let rows = stage.iter().zip(lower.iter().zip(upper));
        rows.fold(true, |inside, (s, (l, u))| inside & (l <= s) & (s <= u))
    })
}

/// Side of a square matrix with this number of entries, rounded down.
#[cfg(feature = "libm")]
fn side(entries: usize) -> usize {
    entries.isqrt()
}
