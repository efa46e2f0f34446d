//! Forward-mode sensitivities for few parameters: no checkpoints, no recomputation.
//!
//! One direction per parameter (and per entry of x0) is carried along the trajectory by the exact tangent of the step. The slots
//! hold directions instead of checkpoints, one each; with fewer slots than directions the trajectory is repeated for each group.
//! The run has already stopped, so N and the seeds of the crossing are known, and each direction yields one number.

use core::mem::swap;
use core::ops::Range;

use super::Progress;
use super::adjoint::{Sweeper, next_stage};
use super::crossing::{Seeds, SlopeBy, Weights};
use super::memory::{Kept, NONE, Stage, Workspace};
use super::plan::Problem;
use crate::checkpoint::Slots;
use crate::error::{Argument, Error};
use crate::integrator::Integrator;
use crate::scalar::Scalar;
use crate::slices::{all_finite, clear, copy, split};
use crate::system::{Direction, Reading, System};

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Problem<'_, S, Y, I> {
    /// Differentiates like [`differentiate`](Self::differentiate), but always by tangents. An operation is one step with one
    /// group of directions.
    #[inline]
    pub fn tangent<M: Workspace<S> + ?Sized, W: Weights<S>>(
        &self,
        memory: &mut M,
        seeds: Seeds<S, W>,
        budget: usize,
    ) -> Result<Progress, Error> {
        if self.system.cost().pushforward.is_none() {
            return Err(Error::NoPushforward);
        }
        if seeds.has_window() {
            return Err(Error::Invalid(Argument::Window));
        }
        let mut work = self.enter(memory.view_mut())?;
        self.open(
            &mut work,
            Stage::Tangent,
            seeds.crossing(),
            seeds.time_weight(),
        )?;
        let (mut sweeper, stage) = Sweeper::new(*self, work)?;
        let progress = sweeper.go_along(seeds, budget);
        *stage = next_stage(Stage::Tangent, progress);
        progress
    }
}

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Sweeper<'_, '_, S, Y, I> {
    fn go_along<W: Weights<S>>(
        &mut self,
        seeds: Seeds<S, W>,
        budget: usize,
    ) -> Result<Progress, Error> {
        let mut left = budget;
        if !self.sweep.seeded {
            while !self.is_ready(seeds.crossing()) {
                if left == 0 {
                    return Ok(self.ahead());
                }
                self.operate(&seeds, &mut left)?;
            }
            self.resolve(&seeds, SlopeBy::Pushforward)?;
            self.sweep.seeded = true;
            clear(self.theta_bar);
            clear(self.theta_spare);
            clear(self.lambda);
            self.start_group(0)?;
        }
        while self.sweep.to < self.problem.directions() {
            let Some(fewer) = left.checked_sub(1) else {
                return Ok(self.ahead());
            };
            left = fewer;
            self.push(&seeds)?;
        }
        if all_finite(self.theta_bar) && all_finite(self.lambda) {
            Ok(Progress::Done)
        } else {
            Err(Error::NonFiniteGradient { step: self.end })
        }
    }

    /// Operations still to do.
    fn ahead(&self) -> Progress {
        let directions = self.problem.directions();
        let (first, step) = if self.sweep.seeded {
            (self.sweep.to, self.sweep.step)
        } else {
            (0, 0)
        };
        let groups = directions
            .saturating_sub(first)
            .div_ceil(self.marks.len().max(1));
        let per_group = self.end.saturating_add(1);
        Progress::Running {
            remaining: groups.saturating_mul(per_group).saturating_sub(step),
        }
    }

    /// Directions of the current group.
    fn group(&self) -> Range<usize> {
        let first = self.sweep.to;
        let behind = first.saturating_add(self.marks.len());
        first..self.problem.directions().min(behind)
    }

    /// Returns to x0 with unit directions, starting with number `first`. After the last group the trajectory stays where it is.
    fn start_group(&mut self, first: usize) -> Result<(), Error> {
        self.sweep.to = first;
        if first >= self.problem.directions() {
            return Ok(());
        }
        self.sweep.step = 0;
        self.sweep.here = NONE;
        self.sweep.kept = Kept::Nothing;
        self.sweep.at_hand = false;
        copy(self.here, self.problem.x0);
        for (slot, direction) in self.group().enumerate() {
            let state = direction.checked_sub(self.theta_bar.len());
            clear(self.temporary);
            if let Some(entry) = state.and_then(|i| self.temporary.get_mut(i)) {
                *entry = S::ONE;
            }
            self.save(slot)?;
        }
        Ok(())
    }

    /// Saves the direction in the temporary row.
    fn save(&mut self, slot: usize) -> Result<(), Error> {
        let saved = self.slots.save(self.shape, slot, self.temporary, &mut []);
        saved.map_err(|_| Error::Store { slot })
    }

    /// Makes one step with one group; at the end of the group, starts the next one.
    fn push<W: Weights<S>>(&mut self, seeds: &Seeds<S, W>) -> Result<(), Error> {
        let at_end = self.sweep.step >= self.end;
        self.push_group(seeds, at_end)?;
        if !at_end {
            swap(&mut self.here, &mut self.next);
            let [_, _, here, next] = &mut self.sweep.roles;
            swap(here, next);
            self.sweep.step += 1;
            return Ok(());
        }
        self.start_group(self.sweep.to.saturating_add(self.marks.len()))?;
        if self.sweep.to >= self.problem.directions() {
            // x_N is available again, with its record and rate.
            let [last, rate, here, next] = &mut self.sweep.roles;
            swap(last, here);
            swap(&mut self.last, &mut self.here);
            if self.problem.plan.integrator.is_map() {
                swap(rate, next);
                swap(&mut self.rate, &mut self.next);
            } else {
                copy(self.rate, self.spare);
            }
            self.sweep.flipped = !self.sweep.flipped;
            swap(&mut self.record_last, &mut self.record_here);
            self.sweep.last = NONE;
            self.sweep.at_hand = true;
        }
        Ok(())
    }

    /// Carries every direction of the group over the step from x_k and adds the contributions of the readings at x_k.
    fn push_group<W: Weights<S>>(
        &mut self,
        seeds: &Seeds<S, W>,
        at_end: bool,
    ) -> Result<(), Error> {
        let problem = self.problem;
        let step = self.sweep.step;
        self.evaluate(!at_end)?;
        self.sweep.count.rate += if at_end {
            1
        } else {
            self.problem.plan.integrator.stages()
        };
        let mut readings = Reading::criterion(self.seed_at(step));
        if W::ANY {
            let weights = seeds.weights().at(step);
            readings.criterion += weights.criterion;
            readings.loss = weights.loss;
        }
        for (slot, direction) in self.group().enumerate() {
            if let Slots::Store(store) = &mut self.slots {
                let loaded = store.load(slot, self.last);
                loaded.map_err(|_| Error::Store { slot })?;
            }
            let dx = match &self.slots {
                Slots::Memory(memory) => self.shape.read(memory, slot).unwrap_or_default().0,
                Slots::Store(_) => &*self.last,
            };
            if let Some(entry) = self.theta_spare.get_mut(direction) {
                *entry = S::ONE;
            }
            let at = problem.at(self.here, step);
            let along = Direction {
                theta: self.theta_spare,
                x: dx,
                t: S::ZERO,
            };
            let reading = if at_end {
                self.sweep.count.pushforward += 1;
                let (tape, _) = split(self.record_here, problem.system.dims().tape);
                problem
                    .system
                    .pushforward(at, tape, along, self.temporary, self.scratch)
            } else {
                self.sweep.count.pushforward += self.problem.plan.integrator.stages();
                let temporaries = [&mut *self.rate, &mut *self.spare];
                problem.plan.integrator.push(
                    problem.system,
                    at,
                    self.record_here,
                    along,
                    self.temporary,
                    temporaries,
                    self.scratch,
                )
            };
            if let Some(entry) = self.theta_spare.get_mut(direction) {
                *entry = S::ZERO;
            }
            let mut sums = self.theta_bar.iter_mut().chain(self.lambda.iter_mut());
            if let Some(sum) = sums.nth(direction) {
                // A direction that does not affect J may be infinite: zero seeds add nothing.
                if readings.criterion != S::ZERO {
                    *sum += readings.criterion * reading.criterion;
                }
                if readings.loss != S::ZERO {
                    *sum += readings.loss * reading.loss;
                }
            }
            if !at_end {
                self.save(slot)?;
            }
        }
        Ok(())
    }
}
