//! Search that continues from a solved set, because the rows of u contradict it.

use super::pricing::Worst;
use super::{Curvature, Search};
use crate::qp::active_rows::ActiveRows;
use crate::qp::active_set::{ActiveSet, Bounds, Outcome, Status, Work};
use crate::qp::refinement::Flaw;
use crate::scalar::Scalar;
use crate::slices::copy;

impl<S: Scalar> ActiveSet<'_, S> {
    /// Continues a solve from its set, its factor and its refined multipliers: mends the flaw, then goes on as usual. `outcome` is
    /// that of the whole solve. False if the flaw stays, because it is rounding.
    #[expect(
        clippy::too_many_arguments,
        reason = "one caller; what a solve has, and the flaw"
    )]
    pub(in crate::qp) fn proceed(
        &self,
        work: &mut Work<'_, S>,
        set: &mut ActiveRows<'_>,
        bounds: Bounds<'_, S>,
        flaw: Flaw,
        outcome: &mut Outcome,
        budget: usize,
        curvature: Curvature<'_, S>,
    ) -> bool {
        let (free, saturated) = set.counts();
        if free + saturated == 0 {
            // s⁰ and s were the same, and not copied.
            copy(work.start, work.rows);
        }
        let mut search = self.search::<true>(work, set, bounds, budget, Some(curvature));
        search.factored = search.free;
        search.fresh = false;
        search.plain = false;
        search.stale = false;
        search.steps = outcome.steps;
        search.operations = outcome.operations;
        let (status, mended) = search.mend(self, flaw);
        *outcome = search.end(status);
        mended
    }
}

impl<S: Scalar> ActiveSet<'_, S> {
    /// Solves once more from s⁰ in `work.start` and no set, with the other rule for the row that enters. Its path avoids sets that
    /// the first one was stuck in.
    pub(in crate::qp) fn retry(
        &self,
        work: &mut Work<'_, S>,
        set: &mut ActiveRows<'_>,
        bounds: Bounds<'_, S>,
        outcome: &mut Outcome,
        budget: usize,
        curvature: Curvature<'_, S>,
    ) {
        set.clear();
        let mut search = self.search::<true>(work, set, bounds, budget, Some(curvature));
        search.priced = true;
        search.steps = outcome.steps;
        search.operations = outcome.operations;
        *outcome = search.run_from(self, 0);
    }
}

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, S, EXACT> {
    /// Changes the set so that the flaw is gone, and continues. False if the flaw stays.
    fn mend(&mut self, constants: &ActiveSet<'_, S>, flaw: Flaw) -> (Status, bool) {
        (_, self.square) = self.sizes(constants);
        self.narrow = true;
        let (returning, entry) = match flaw {
            // s⁰ − Wλ may still show the row beyond its bound. So it is not consulted.
            Flaw::Inward(place) => {
                self.take_out(place);
                return (self.settle(constants), true);
            }
            Flaw::BeyondCap(place) => {
                let mended = self.saturate(constants, place);
                return (self.settle(constants), mended);
            }
            Flaw::Returning(place) => (Some(place), self.saturated_entry(place)),
            Flaw::Violated(entry) => (None, entry),
        };
        if self.steps >= self.budget || self.free >= self.work.bounds.len() {
            return (Status::Late, true);
        }
        self.worst = Worst {
            found: true,
            returning,
            entry,
            bound: self.bound(entry),
            ..Worst::default()
        };
        self.enter(constants);
        match self.climb(constants) {
            None => (self.rounds(constants), true),
            Some(Ok(status) | Err(status)) => (status, false),
        }
    }

    /// Makes the set dual feasible.
    pub(super) fn settle(&mut self, constants: &ActiveSet<'_, S>) -> Status {
        if self.restore(constants) {
            self.solved(constants)
        } else {
            self.discard(constants);
            Status::Late
        }
    }
}
