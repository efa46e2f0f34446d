//! Start of a search: the set of the last solve, without the rows whose multiplier has the wrong sign.

use super::Search;
use crate::qp::active_rows::Entry;
use crate::qp::active_set::ActiveSet;
use crate::scalar::Scalar;

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, S, EXACT> {
    /// Makes the set dual feasible: factors it without dependent rows, and takes rows out whose multiplier has the wrong sign.
    /// False if the deadline came first.
    pub(super) fn restore(&mut self, constants: &ActiveSet<'_, S>) -> bool {
        while self.free > 0 {
            if self.steps >= self.budget {
                return false;
            }
            while self.factored < self.free {
                if !self.append(constants) {
                    self.take_out(self.factored);
                }
            }
            self.solve();
            let (mut behind, mut changed) = (self.free, false);
            while let Some((place, saturates)) = self.last_off_limits(constants, behind) {
                // The factor of the rows before stays valid: cheaper than an update for each of them.
                self.factored = self.factored.min(place);
                if !saturates {
                    self.take_out(place);
                } else if !self.saturate(constants, place) {
                    return false;
                }
                (behind, changed) = (place, true);
            }
            if !changed {
                break;
            }
        }
        self.arrive();
        true
    }

    /// Last of the first rows of the set whose multiplier in `target` has the wrong sign, or is beyond its cap (true).
    fn last_off_limits(&self, constants: &ActiveSet<'_, S>, count: usize) -> Option<(usize, bool)> {
        let entries = self.set.free.get(..count)?;
        let values = self.work.target.get(..count)?;
        let rows = entries.iter().zip(values).enumerate().rev();
        for (place, (&entry, &value)) in rows {
            let entry = Entry(entry);
            let value = entry.outward(value);
            if value < S::ZERO && !entry.is_fixed() {
                return Some((place, false));
            }
            if !constants.caps.is_empty() && value > constants.cap(entry.row()) {
                return Some((place, true));
            }
        }
        None
    }
}
