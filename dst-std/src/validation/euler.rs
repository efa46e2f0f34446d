//! Euler's method for long states: the engine's own, but its loops are divided among threads.
//!
//! The engine has no threads. If one thread made every step alone, half of the state would travel from the other thread's cache and back
//! in each.

use dst_core::{Bar, Direction, Euler, Integrator, Point, Reading, Seed, System};

use crate::linalg::wide;
use crate::parallel::Share;

/// Euler's method. Results have the bits of [`Euler`].
#[derive(Clone, Copy, Debug)]
pub(super) struct WideEuler(pub(super) Euler<f64>);

impl Integrator<f64> for WideEuler {
    fn stages(&self) -> usize {
        self.0.stages()
    }

    fn kind(&self) -> u8 {
        Integrator::<f64>::kind(&self.0)
    }

    fn step_size(&self) -> f64 {
        self.0.step_size()
    }

    fn step<Y: System<f64> + ?Sized>(
        &self,
        _: &Y,
        at: Point<'_, f64>,
        rate: &mut [f64],
        _: &mut [f64],
        next: &mut [f64],
        _: &mut [f64],
    ) -> bool {
        wide::descend(Share::all(), next, at.x, self.step_size(), rate)
    }

    fn keep(&self, slot: &mut [f64], values: &[f64]) -> bool {
        // A slot without room for a record is empty.
        let len = slot.len().min(values.len());
        wide::copy(Share::all(), &mut slot[..len], &values[..len]);
        true
    }

    fn in_place(&self) -> bool {
        Integrator::<f64>::in_place(&self.0)
    }

    fn step_in_place(&self, x: &mut [f64], rate: &[f64]) {
        wide::descend_in_place(Share::all(), x, self.step_size(), rate);
    }

    fn pull<Y: System<f64> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, f64>,
        record: &[f64],
        reading: Reading<f64>,
        lambda: &mut [f64],
        theta_bar: &mut [f64],
        [rate_bar, _, _]: [&mut [f64]; 3],
        scratch: &mut [f64],
    ) {
        wide::scale(Share::all(), rate_bar, -self.step_size(), lambda);
        let seed = Seed::new(rate_bar, reading);
        system.pullback(at, record, seed, Bar::new(theta_bar, lambda), scratch);
    }

    fn push<Y: System<f64> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, f64>,
        record: &[f64],
        along: Direction<'_, f64>,
        next: &mut [f64],
        temporaries: [&mut [f64]; 2],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        self.0
            .push(system, at, record, along, next, temporaries, scratch)
    }
}

#[cfg(test)]
mod tests {
    use dst_core::{Crossing, Error, HeapMemory, Plan};

    use super::*;
    use crate::linalg::two_pass::PIECE;
    use crate::parallel;
    use crate::validation::{Basis, Instance, InstanceSpec};

    fn instance(dim: usize) -> Instance {
        let spec = InstanceSpec {
            dim,
            basis: Basis::Reflections(3),
            dense: false,
            seed: 2,
        };
        spec.build().unwrap()
    }

    /// Bits of T and its gradients.
    fn bits<I: Integrator<f64>>(integrator: I, instance: &Instance) -> Vec<u64> {
        let Instance { system, theta, x0 } = instance;
        let plan = Plan::new(integrator, 10.0).crossing(Crossing::Slope);
        let mut memory = HeapMemory::new(&plan, system, 3);
        let found = plan.sensitivity(system, theta, x0, &mut memory).unwrap();
        let numbers = [
            &[found.stop.time],
            found.time_gradient(),
            found.time_gradient_x0(),
        ];
        numbers.concat().iter().map(|v| v.to_bits()).collect()
    }

    #[test]
    fn the_bits_are_those_of_the_engines_own() {
        for dim in [50, 2 * PIECE + 57] {
            let instance = instance(dim);
            let own = bits(Euler::new(0.1), &instance);
            for threads in [1, 2, 3] {
                let wide = || bits(WideEuler(Euler::new(0.1)), &instance);
                assert!(
                    own == parallel::with(threads, wide).unwrap(),
                    "dim {dim}, {threads} threads"
                );
            }
        }
    }

    /// A value that is not finite is seen wherever it stands.
    #[test]
    fn what_is_not_finite_is_refused_in_every_part() {
        let instance = instance(2 * PIECE + 57);
        let euler = WideEuler(Euler::new(0.1));
        for place in [0, PIECE, 2 * PIECE + 56] {
            let mut theta = instance.theta.clone();
            theta[place] = f64::NAN;
            let plan = Plan::new(euler, 10.0);
            let mut memory = HeapMemory::new(&plan, &instance.system, 3);
            let problem = plan.on(&instance.system, &theta, &instance.x0);
            let refused = problem.and_then(|problem| {
                problem.start(&mut memory)?;
                problem.complete(&mut memory).map(|_| ())
            });
            let refused = refused.unwrap_err();
            let seen = matches!(refused, Error::NonFinite { .. } | Error::Invalid(_));
            assert!(seen, "{place}: {refused}");
        }
    }
}
