//! Last digits of a dense program: u from the multipliers, corrected by the products of the rows with u itself.
//!
//! The search computes s⁰ − Wλ, which cancels digits that u still has. So a solved set is checked by the rows of u. If they
//! contradict it, the search goes on from there.

use super::active_set::{Bounds, Outcome, Status};
use super::dense::{Dense, DenseMemory};
use crate::scalar::Scalar;
use crate::slices::pieces;

/// Most passes of refinement.
const PASSES: usize = 3;
/// Most continuations of a search.
const CONTINUATIONS: usize = 32;
/// Violation, in machine epsilons of ‖u‖_P, from which on the search continues.
const VISIBLE: f64 = 1.0;
/// Violation, in machine epsilons of ‖u‖_P, that shows a wrong set.
const RESOLVED: f64 = 8.0;
/// The same in f64, where there are digits to spare.
const ENOUGH: f64 = 1e-13;

impl<S: Scalar> Dense<'_, S> {
    /// Takes w from the minimiser without rows to that of the set, for a solved program to the last digits. A search that was stuck
    /// is started once more.
    pub(super) fn finish(
        &self,
        memory: &mut DenseMemory<'_, S>,
        linear: &[S],
        bounds: Bounds<'_, S>,
        budget: usize,
        outcome: &mut Outcome,
    ) {
        self.apply(memory, outcome);
        self.polish(memory, linear, bounds, budget, outcome);
        if outcome.status == Status::Late && outcome.steps < budget {
            self.minimise(linear, memory.variables);
            self.products(memory.variables, memory.work.start);
            let (work, set) = (&mut memory.work, &mut memory.set);
            self.set
                .retry(work, set, bounds, outcome, budget, &self.curvatures());
            self.apply(memory, outcome);
            self.polish(memory, linear, bounds, budget, outcome);
        }
    }

    /// Refines a solved program, and continues the search as long as the rows of u contradict the set.
    fn polish(
        &self,
        memory: &mut DenseMemory<'_, S>,
        linear: &[S],
        bounds: Bounds<'_, S>,
        budget: usize,
        outcome: &mut Outcome,
    ) {
        let limit = |epsilons: f64| {
            let least = (S::from_f64(epsilons) * S::EPSILON).max(S::from_f64(ENOUGH));
            least.max(self.set.tolerance)
        };
        let mut left = CONTINUATIONS;
        while outcome.status.is_solved() {
            self.refine(memory, outcome);
            let energy = self.energy(memory.variables);
            let (work, set) = (&mut memory.work, &mut memory.set);
            let flaw = self.set.flaw(work, set, bounds, energy, limit(VISIBLE));
            let Some(flaw) = flaw.filter(|_| left > 0) else {
                let wrong = |limit| self.set.flaw(work, set, bounds, energy, limit).is_some();
                outcome.status = if flaw.is_some() && wrong(limit(RESOLVED)) {
                    Status::Late
                } else {
                    self.set.status(work, set, bounds, energy, limit(VISIBLE))
                };
                return;
            };
            let curvature = self.curvatures();
            let progress = self
                .set
                .proceed(work, set, bounds, flaw, outcome, budget, &curvature);
            left = if progress { left - 1 } else { 0 };
            self.minimise(linear, memory.variables);
            self.apply(memory, outcome);
        }
    }

    /// w ← w − D⁻¹Mᵀλ
    fn apply(&self, memory: &mut DenseMemory<'_, S>, outcome: &mut Outcome) {
        for (row, multiplier) in self.set.multipliers(&memory.work, &memory.set) {
            self.pull(memory.variables, row, multiplier);
            outcome.operations += self.inverse.len();
        }
    }

    /// Takes the rows of the set to their bounds by their products with w itself, and computes s. The factor has the errors of W,
    /// so one pass is not always enough.
    fn refine(&self, memory: &mut DenseMemory<'_, S>, outcome: &mut Outcome) {
        let (n, m) = (self.inverse.len(), self.set.scale.len());
        let w = &mut *memory.variables;
        for _ in 0..PASSES {
            let (free, settled) = self.set.correct(&mut memory.work, &memory.set, |row| {
                let columns = pieces(self.columns, m).zip(&*w);
                columns.fold(S::ZERO, |sum, (column, &w)| {
                    sum + column.get(row).copied().unwrap_or_default() * w
                })
            });
            for (row, change) in self.set.corrections(&memory.work, &memory.set) {
                self.pull(w, row, change);
            }
            outcome.operations += free * (2 * n + free);
            if settled {
                break;
            }
        }
        outcome.operations += n * m;
        self.products(w, memory.work.rows);
    }

    /// uᵀPu
    fn energy(&self, w: &[S]) -> S {
        let terms = w.iter().zip(self.inverse);
        terms.fold(S::ZERO, |sum, (&w, &inverse)| sum + w * w / inverse)
    }
}
