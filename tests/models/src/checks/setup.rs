//! Shared by the checks: small memory, literals in any precision, and a gradient copied out of its memory.

use dst_core::solve::{Borrowed, Workspace};
use dst_core::{Crossing, Error, Integrator, Memory, Plan, Scalar, System};

use super::outcome::Outcome;

/// Memory for six states, three parameters and six slots: 1.4 KiB in double precision.
pub(super) type Room<S> = Memory<S, 6, 3, 6>;

/// List of literals.
pub(super) fn lit<S: Scalar, const N: usize>(values: [f64; N]) -> [S; N] {
    values.map(S::from_f64)
}

/// Memory with fewer slots. Every check passes this type: one copy of the engine.
pub(super) fn with_slots<S: Scalar>(room: &mut Room<S>, slots: usize) -> Borrowed<'_, S> {
    let all = room.view_mut();
    let (marks, _) = all.marks.split_at_mut(slots.min(6));
    Borrowed { marks, ..all }
}

/// Gradient of the stopping time.
#[derive(Clone, Copy, Debug)]
pub(super) struct FixedGradient<S> {
    pub(super) steps: usize,
    pub(super) time: S,
    pub(super) star: S,
    pub(super) theta: [S; 3],
    pub(super) x0: [S; 6],
    pub(super) epsilon: S,
}

impl<S: Scalar> FixedGradient<S> {
    /// Records all fields as bits.
    pub(super) fn record(&self, out: &mut Outcome) {
        out.count(self.steps);
        out.number(self.time);
        out.numbers(&self.theta);
        out.numbers(&self.x0);
        out.number(self.epsilon);
    }
}

/// Whole computation; one copy per scalar and integrator.
#[inline(never)]
pub(super) fn gradient_in<S: Scalar, I: Integrator<S>>(
    plan: Plan<S, I>,
    system: &dyn System<S>,
    theta: &[S],
    x0: &[S],
    mut memory: Borrowed<'_, S>,
) -> Result<FixedGradient<S>, Error> {
    let s = plan.sensitivity(system, theta, x0, &mut memory)?;
    let mut answer = FixedGradient {
        steps: s.steps,
        time: s.stop.time,
        star: s.stop.steps,
        theta: [S::ZERO; 3],
        x0: [S::ZERO; 6],
        epsilon: s.time_gradient_epsilon(),
    };
    for (to, &from) in answer.theta.iter_mut().zip(s.time_gradient()) {
        *to = from;
    }
    for (to, &from) in answer.x0.iter_mut().zip(s.time_gradient_x0()) {
        *to = from;
    }
    Ok(answer)
}

/// Whole computation in its own memory.
pub(super) fn gradient<S: Scalar, I: Integrator<S>>(
    plan: Plan<S, I>,
    system: &dyn System<S>,
    theta: &[S],
    x0: &[S],
    slots: usize,
) -> Result<FixedGradient<S>, Error> {
    let mut room = Room::new();
    gradient_in(plan, system, theta, x0, with_slots(&mut room, slots))
}

/// Records the gradient; a failure if there is none.
pub(super) fn recorded<S: Scalar, I: Integrator<S>>(
    out: &mut Outcome,
    plan: Plan<S, I>,
    system: &dyn System<S>,
    theta: &[S],
    x0: &[S],
) -> Option<FixedGradient<S>> {
    let result = gradient(plan, system, theta, x0, 4);
    let answer = out.value("there is a gradient", result)?;
    answer.record(out);
    Some(answer)
}

/// Plan with the crossing whose gradient is exact for the discrete iteration.
pub(super) fn exact<S: Scalar, I: Integrator<S>>(integrator: I, epsilon: f64) -> Plan<S, I> {
    Plan::new(integrator, S::from_f64(epsilon)).crossing(Crossing::Interpolated)
}
