//! The gradient has the same bits for every number of slots and however the work is cut.

use dst_core::methods::HeavyBall;
use dst_core::{
    Crossing, Derived, Dual, Error, Euler, Formula, HeapMemory, Heun, Integrator, Plan, Progress,
    Rk4, Scalar, Status, Store, StoreFault, SymplecticEuler, System, Workspace,
};
use dst_models::Quadratic;

/// A nonlinear oscillator with its own clock, so that a run stops after exactly as many steps as asked:
/// states (q, v, clock, −1): position/velocity pairs for the symplectic method.
#[derive(Clone, Copy)]
struct Clocked;

impl<S: Scalar> Formula<S, 4, 2> for Clocked {
    fn rate<const K: usize>(
        &self,
        theta: &[Dual<S, K>; 2],
        x: &[Dual<S, K>; 4],
        t: Dual<S, K>,
    ) -> [Dual<S, K>; 4] {
        let [q, _, v, fall] = *x;
        let push = theta[0] * q + theta[1] * q * q * q + 0.1 * v + t * 1e-3;
        [-v, -fall, push, Dual::literal(0.0)]
    }
    fn criterion<const K: usize>(&self, x: &[Dual<S, K>; 4]) -> Dual<S, K> {
        // The clock decides; the oscillator is seen by the gradient.
        x[1] + x[0] * 1e-3
    }
}

/// Starts such that the clock, falling by one per unit of time, crosses zero at step n.
fn start(n: usize, h: f64) -> [f64; 4] {
    [0.9, (n as f64 - 0.5) * h, 0.2, -1.0]
}

fn bits<I: Integrator<f64>, Y: System<f64>>(
    plan: Plan<f64, I>,
    system: &Y,
    theta: &[f64],
    x0: &[f64],
    slots: usize,
    records: bool,
    budget: Option<usize>,
) -> (usize, Vec<u64>) {
    let mut memory = if records {
        HeapMemory::with_records(&plan, system, slots)
    } else {
        HeapMemory::new(&plan, system, slots)
    };
    let crossing = Crossing::Hermite;
    let mut run = plan.record(system, theta, x0, &mut memory).unwrap();
    let gradient = match budget {
        None => {
            run.complete().unwrap();
            run.adjoint(crossing, 1.0).unwrap().finish().unwrap()
        }
        Some(budget) => {
            while let Status::Running(_) = run.advance(budget).unwrap() {}
            let mut sweep = run.adjoint(crossing, 1.0).unwrap();
            let mut last = usize::MAX;
            while let Progress::Running { remaining } = sweep.advance(budget).unwrap() {
                assert!(
                    remaining <= last,
                    "progress goes back: {remaining} after {last}"
                );
                last = remaining;
            }
            sweep.finish().unwrap()
        }
    };
    let numbers = gradient
        .theta
        .iter()
        .chain(gradient.x0)
        .chain(gradient.state);
    (gradient.steps, numbers.map(|v| v.to_bits()).collect())
}

fn every_slot_count<I: Integrator<f64>>(make: impl Fn(f64) -> I) {
    let system = Derived::<_, 4, 2>::new(Clocked);
    let theta = [1.1, 0.3];
    for n in [1, 2, 3, 10, 100, 1000] {
        let h = 0.01;
        let plan = make(h).until(0.0);
        let x0 = start(n, h);
        let reference = bits(plan, &system, &theta, &x0, n + 1, true, None);
        assert!(
            reference.0.abs_diff(n) <= 1,
            "N = {}, wanted about {n}",
            reference.0
        );
        for s in 1..=n + 1 {
            assert_eq!(
                bits(plan, &system, &theta, &x0, s, s % 2 == 0, None),
                reference,
                "N = {n}, {s} slots"
            );
        }
        for (s, budget) in [(1, 1), (3, 1), (3, 7), (5, 64), (n + 1, 3)] {
            let cut = bits(plan, &system, &theta, &x0, s, false, Some(budget));
            assert_eq!(cut, reference, "N = {n}, {s} slots, budget {budget}");
        }
    }
}

#[test]
fn euler() {
    every_slot_count(Euler::new);
}

#[test]
fn heun() {
    every_slot_count(Heun::new);
}

#[test]
fn rk4() {
    every_slot_count(Rk4::new);
}

#[test]
fn symplectic() {
    every_slot_count(SymplecticEuler::new);
}

#[test]
fn a_taped_system_with_every_slot_count_and_with_records() {
    let system = HeavyBall::new(Quadratic {
        lambda: [1.0, 3.0, 0.6],
        coupling: 0.2,
    });
    let plan = Euler::new(1.0).until(1e-9);
    let (theta, x0) = ([0.2, 0.6], [1.0, -0.7, 0.4, 0.0, 0.0, 0.0]);
    let reference = bits(plan, &system, &theta, &x0, 1, false, None);
    for slots in 1..=reference.0 + 1 {
        for records in [false, true] {
            assert_eq!(
                bits(plan, &system, &theta, &x0, slots, records, Some(5)),
                reference,
                "{slots} slots"
            );
        }
    }
}

/// A store of its own making: states in a map, as flash pages might be; fails on demand.
struct Pages {
    pages: std::collections::HashMap<usize, Vec<f64>>,
    accesses: usize,
    fail_at: usize,
}

impl Store<f64> for Pages {
    fn prepare(&mut self, _: usize, _: usize, _: usize) -> Result<bool, Error> {
        self.pages.clear();
        Ok(false)
    }
    fn save(&mut self, slot: usize, state: &[f64], _: &[f64]) -> Result<(), StoreFault> {
        self.accesses += 1;
        self.pages.insert(slot, state.to_vec());
        if self.accesses >= self.fail_at {
            Err(StoreFault)
        } else {
            Ok(())
        }
    }
    fn load(&mut self, slot: usize, state: &mut [f64], _: &mut [f64]) -> Result<(), StoreFault> {
        self.accesses += 1;
        state.copy_from_slice(self.pages.get(&slot).ok_or(StoreFault)?);
        if self.accesses >= self.fail_at {
            Err(StoreFault)
        } else {
            Ok(())
        }
    }
}

#[test]
fn any_store_gives_the_same_bits_and_its_failures_are_reported() {
    let system = Derived::<_, 4, 2>::new(Clocked);
    let (plan, theta, x0) = (Euler::new(0.01).until(0.0), [1.1, 0.3], start(60, 0.01));
    let reference = bits(plan, &system, &theta, &x0, 4, false, None);
    let attempt = |fail_at: usize| {
        let dims = System::<f64>::dims(&system);
        let mut rows = vec![0.0; dst_core::rows_len(dims, 1)];
        let mut params = vec![0.0; dst_core::params_len(dims)];
        let mut marks = [dst_core::Mark::EMPTY; 4];
        let mut store = Pages {
            pages: Default::default(),
            accesses: 0,
            fail_at,
        };
        let lent = Workspace {
            rows: &mut rows,
            params: &mut params,
            marks: &mut marks,
            store: &mut store,
        };
        let mut run = plan.record(&system, &theta, &x0, lent)?;
        run.complete()?;
        let g = run.adjoint(Crossing::Hermite, 1.0)?.finish()?;
        let numbers = g.theta.iter().chain(g.x0).chain(g.state);
        let found = (g.steps, numbers.map(|v| v.to_bits()).collect::<Vec<_>>());
        Ok::<_, Error>((found, store.accesses))
    };
    let (found, accesses) = attempt(usize::MAX).unwrap();
    assert_eq!(found, reference);
    for fail_at in 1..=accesses {
        assert!(
            matches!(attempt(fail_at), Err(Error::Store { .. })),
            "access {fail_at}"
        );
    }
}
