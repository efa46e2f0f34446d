//! Adaptation of the knobs on the device, with bounded work per tick.
//!
//! The tuner keeps the program of one tick. Beside the control loop, it solves it again, a few iterations per tick;
//! differentiates its stopping time, a few backward steps per tick; moves θ against the gradient, no knob by more than η;
//! computes the new K, a few pivots per tick; and replaces the old ones, all at once. The controller never waits, and between two
//! calls everything is plain data.

use super::AdmmController;
use crate::checkpoint::{Mark, Slots};
use crate::error::{Argument, Error, exact};
use crate::integrator::Map;
use crate::qp::{Admm, Instance, Inversion, Knobs, Phases, Qp, Tolerance, dims, prepare};
use crate::scalar::Scalar;
use crate::slices::{copy, pieces, pieces_mut, split_mut};
use crate::solve::{Borrowed, Crossing, Cursor, Progress, Seeds, Status};

/// Stage of a tuner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TunerStage {
    /// Waits for a program.
    Idle,
    /// Solves the program.
    Solving,
    /// Differentiates its stopping time.
    Differentiating,
    /// Inverts the matrices of the new weights.
    Inverting,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Idle,
    Begun,
    Solving,
    Differentiating,
    Inverting(usize, Inversion),
}

/// Adapts the knobs of a controller.
#[derive(Debug)]
pub struct Tuner<'a, 'm, S> {
    qp: Qp<'a, S>,
    hessian: &'a [S],
    knobs: Knobs<'a, S>,
    switches: &'a [usize],
    tolerance: Tolerance<S>,
    /// η
    rate: S,
    cap: usize,
    stage: Stage,
    adaptations: usize,
    last: S,
    theta: &'m mut [S],
    velocity: &'m mut [S],
    gradient: &'m mut [S],
    params: [&'m mut [S]; 2],
    inverses: [&'m mut [S]; 2],
    linear: &'m mut [S],
    lower: &'m mut [S],
    upper: &'m mut [S],
    start: &'m mut [S],
    rows: &'m mut [S],
    param_rows: &'m mut [S],
    slots: &'m mut [S],
    marks: &'m mut [Mark],
    cursor: Cursor<S>,
}

impl<'a, 'm, S: Scalar> Tuner<'a, 'm, S> {
    /// Length of the memory for these knobs and this many checkpoint slots.
    pub fn len(qp: &Qp<'_, S>, knobs: &Knobs<'_, S>, slots: usize) -> usize {
        let shape = qp.shape;
        let dims = dims(shape, knobs.phases);
        3 * knobs.len()
            + 2 * (dims.params + knobs.phases * shape.prepared_entries())
            + shape.blocks * (shape.variables() + 2 * shape.rows())
            + dims.states
            + dims.rows_len(1)
            + dims.params_len()
            + dims.slots_len(1, slots, false)
    }

    /// Starts at θ. `memory` has [`len`](Self::len) numbers, `marks` one entry per checkpoint slot, and `hessian` is H. Computes
    /// the first K in one call, before the control loop starts.
    pub fn new(
        controller: &AdmmController<'a, S>,
        hessian: &'a [S],
        knobs: Knobs<'a, S>,
        theta: &[S],
        memory: &'m mut [S],
        marks: &'m mut [Mark],
    ) -> Result<Self, Error> {
        let qp = Qp::new(controller.shape, controller.outputs)?;
        let shape = qp.shape;
        exact(Argument::Theta, knobs.len(), theta.len())?;
        exact(Argument::Model, shape.rows(), knobs.base.len())?;
        exact(Argument::Model, shape.inverse_entries(), hessian.len())?;
        exact(Argument::Model, controller.switches.len() + 1, knobs.phases)?;
        exact(
            Argument::Memory,
            Self::len(&qp, &knobs, marks.len()),
            memory.len(),
        )?;
        let dims = dims(shape, knobs.phases);
        let (n, m) = (
            shape.blocks * shape.variables(),
            shape.blocks * shape.rows(),
        );
        let entries = knobs.phases * shape.prepared_entries();
        let (own_theta, rest) = split_mut(memory, theta.len());
        let (velocity, rest) = split_mut(rest, theta.len());
        let (gradient, rest) = split_mut(rest, theta.len());
        let (params, rest) = split_mut(rest, dims.params);
        let (next_params, rest) = split_mut(rest, dims.params);
        let (inverses, rest) = split_mut(rest, entries);
        let (next_inverses, rest) = split_mut(rest, entries);
        let (linear, rest) = split_mut(rest, n);
        let (lower, rest) = split_mut(rest, m);
        let (upper, rest) = split_mut(rest, m);
        let (start, rest) = split_mut(rest, dims.states);
        let (rows, rest) = split_mut(rest, dims.rows_len(1));
        let (param_rows, slots) = split_mut(rest, dims.params_len());
        copy(own_theta, theta);
        velocity.fill(S::ZERO);
        knobs.params(theta, params);
        if !Inversion::of_phases(&qp, hessian, params, inverses, linear) {
            return Err(Error::Invalid(Argument::Model));
        }
        Ok(Self {
            qp,
            hessian,
            knobs,
            switches: controller.switches,
            tolerance: controller.tolerance,
            rate: S::from_f64(0.02),
            cap: 500,
            stage: Stage::Idle,
            adaptations: 0,
            last: S::NAN,
            theta: own_theta,
            velocity,
            gradient,
            params: [params, next_params],
            inverses: [inverses, next_inverses],
            linear,
            lower,
            upper,
            start,
            rows,
            param_rows,
            slots,
            marks,
            cursor: Cursor::new(),
        })
    }

    /// Sets the largest move of any knob per adaptation; the default is 0.02.
    pub fn rate(self, rate: S) -> Self {
        Self { rate, ..self }
    }

    /// Sets the number of iterations after which a program is dropped; the default is 500.
    pub fn cap(self, cap: usize) -> Self {
        Self { cap, ..self }
    }

    /// Current stage.
    pub fn stage(&self) -> TunerStage {
        match self.stage {
            Stage::Idle => TunerStage::Idle,
            Stage::Begun | Stage::Solving => TunerStage::Solving,
            Stage::Differentiating => TunerStage::Differentiating,
            Stage::Inverting(..) => TunerStage::Inverting,
        }
    }

    /// Current θ.
    pub fn theta(&self) -> &[S] {
        self.theta
    }

    /// Number of moves of θ.
    pub fn adaptations(&self) -> usize {
        self.adaptations
    }

    /// N\* of the last differentiated program, in iterations; NaN before the first.
    pub fn iterations(&self) -> S {
        self.last
    }

    /// Parameters to use for control now.
    pub fn phases(&self) -> Phases<'_, S> {
        let ([params, _], [inverses, _]) = (&self.params, &self.inverses);
        Phases {
            params,
            inverses,
            switches: self.switches,
        }
    }

    /// Accepts a program if it has none; `start` is z and y before the first iteration, or empty for zeros.
    pub fn observe(&mut self, instance: Instance<'_, S>, start: &[S]) -> Result<bool, Error> {
        if !matches!(self.stage, Stage::Idle) {
            return Ok(false);
        }
        instance.check(self.qp.shape)?;
        if !start.is_empty() {
            exact(Argument::X0, self.start.len(), start.len())?;
        }
        copy(self.linear, instance.linear);
        copy(self.lower, instance.lower);
        copy(self.upper, instance.upper);
        self.start.fill(S::ZERO);
        copy(self.start, start);
        self.stage = Stage::Begun;
        Ok(true)
    }

    /// Makes at most `budget` operations: iterations, backward steps or pivots, each about as long as an iteration of the
    /// controller or its transpose. The operation before the first pivot of a phase also assembles H + GᵀRG, which costs at most
    /// one pivot per output of the horizon. A program that cannot be differentiated is dropped.
    pub fn advance(&mut self, budget: usize) -> Result<TunerStage, Error> {
        let result = match self.stage {
            Stage::Idle => Ok(()),
            Stage::Begun | Stage::Solving | Stage::Differentiating => self.differentiate(budget),
            Stage::Inverting(phase, inversion) => {
                self.invert(phase, inversion, budget);
                Ok(())
            }
        };
        if let Err(error) = result {
            self.stage = Stage::Idle;
            let expected = matches!(
                error,
                Error::StoppedAtStart
                    | Error::NotStopped { .. }
                    | Error::FlatCrossing { .. }
                    | Error::NonFinite { .. }
                    | Error::NonFiniteGradient { .. }
            );
            if !expected {
                return Err(error);
            }
        }
        Ok(self.stage())
    }

    fn differentiate(&mut self, budget: usize) -> Result<(), Error> {
        let ([params, next], [inverses, _]) = (&mut self.params, &self.inverses);
        let instance = Instance {
            linear: self.linear,
            lower: self.lower,
            upper: self.upper,
        };
        let system = Admm::new(self.qp, instance, self.tolerance, inverses, self.switches)?;
        let problem = Map
            .until(S::ZERO)
            .at_most(self.cap.saturating_sub(1))
            .on(&system, params, self.start)?;
        let mut memory = Borrowed {
            rows: self.rows,
            params: self.param_rows,
            slots: Slots::Memory(self.slots),
            marks: self.marks,
            cursor: &mut self.cursor,
        };
        if let Stage::Begun = self.stage {
            problem.start(&mut memory)?;
            self.stage = Stage::Solving;
        }
        if let Stage::Solving = self.stage {
            match problem.advance(&mut memory, budget)? {
                Status::Running(_) => {}
                Status::Reached(_) => self.stage = Stage::Differentiating,
                Status::StepLimit(i) | Status::NeverSettled(i) => {
                    return Err(Error::NotStopped { steps: i.steps });
                }
            }
            return Ok(());
        }
        let seeds = Seeds::stop(Crossing::Interpolated);
        if let Progress::Running { .. } = problem.adjoint(&mut memory, seeds, budget)? {
            return Ok(());
        }
        let found = problem.gradient(&memory)?;
        if let Some(stop) = found.stop {
            self.last = stop.steps + S::ONE;
        }
        self.knobs.pull(params, found.theta, self.gradient);
        let keep = S::from_f64(0.9);
        let mut largest = S::ZERO;
        for (v, &g) in self.velocity.iter_mut().zip(self.gradient.iter()) {
            *v = keep * *v + (S::ONE - keep) * g;
            largest = largest.max(v.abs());
        }
        // The new θ overwrites the gradient until its inverses are available.
        copy(self.gradient, self.theta);
        if largest > S::ZERO {
            for (theta, &v) in self.gradient.iter_mut().zip(self.velocity.iter()) {
                *theta -= self.rate * v / largest;
            }
        }
        self.knobs.params(self.gradient, next);
        self.prepare(0);
        Ok(())
    }

    /// Writes H + GᵀRG of a phase in place of its inverse.
    fn prepare(&mut self, phase: usize) {
        let shape = self.qp.shape;
        let ([_, next], [_, inverses]) = (&self.params, &mut self.inverses);
        let params = pieces(next, shape.phase_params()).nth(phase);
        let target = pieces_mut(inverses, shape.prepared_entries()).nth(phase);
        self.stage = match (params, target) {
            (Some(params), Some(target)) => {
                prepare(&self.qp, self.hessian, params, target);
                Stage::Inverting(phase, Inversion::new(shape.variables()))
            }
            // All phases are done: the new parameters replace the old ones.
            _ => {
                core::mem::swap(&mut self.theta, &mut self.gradient);
                self.adaptations = self.adaptations.saturating_add(1);
                let ([old, new], [old_k, new_k]) = (&mut self.params, &mut self.inverses);
                core::mem::swap(old, new);
                core::mem::swap(old_k, new_k);
                Stage::Idle
            }
        };
    }

    fn invert(&mut self, phase: usize, mut inversion: Inversion, budget: usize) {
        let [_, inverses] = &mut self.inverses;
        let shape = self.qp.shape;
        let Some(prepared) = pieces_mut(inverses, shape.prepared_entries()).nth(phase) else {
            self.stage = Stage::Idle;
            return;
        };
        let (target, _) = split_mut(prepared, shape.inverse_entries());
        // No program is in progress: its memory serves as the row.
        if inversion.advance(target, self.linear, budget) {
            self.prepare(phase + 1);
        } else if inversion.failed() {
            // Not positive definite: keep the current parameters.
            self.stage = Stage::Idle;
        } else {
            self.stage = Stage::Inverting(phase, inversion);
        }
    }
}
