//! The gradient has the same bits for every number of slots and however the work is cut.

use core::cell::Cell;

use dst_core::methods::HeavyBall;
use dst_core::{
    Crossing, Derived, Dual, Error, Euler, Formula, HeapMemory, Heun, Integrator, Map, Plan,
    Progress, Rk4, Scalar, Slots, Status, Store, StoreFault, SymplecticEuler, System, Vacant,
    Workspace,
};
use dst_models::Quadratic;
use dst_tests::Steps;

/// A nonlinear oscillator with its own clock, so that a run stops after exactly as many steps as asked:
/// states (q, clock, v, −1): position/velocity pairs for the symplectic method.
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
    let plan = plan.crossing(Crossing::Hermite);
    let mut run = plan.record(system, theta, x0, &mut memory).unwrap();
    let gradient = match budget {
        None => {
            run.complete().unwrap();
            run.adjoint().unwrap().finish().unwrap()
        }
        Some(budget) => {
            while let Status::Running(_) = run.advance(budget).unwrap() {}
            let mut sweep = run.adjoint().unwrap();
            let mut last = usize::MAX;
            while let Progress::Running { remaining } = sweep.advance(budget).unwrap() {
                assert!(
                    remaining > 0 && remaining <= last,
                    "{remaining} steps left after {last}"
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

/// The oscillator as one map per step.
fn mapped(h: f64) -> Derived<Steps<Clocked>, 4, 2> {
    Derived::new(Steps { flow: Clocked, h })
}

fn every_slot_count<I: Integrator<f64>>(make: impl Fn(f64) -> I) {
    every_slot_count_of(&Derived::<_, 4, 2>::new(Clocked), make);
}

fn every_slot_count_of<I: Integrator<f64>>(system: &impl System<f64>, make: impl Fn(f64) -> I) {
    let theta = [1.1, 0.3];
    for n in [1, 2, 3, 10, 100, 1000] {
        let h = 0.01;
        let plan = make(h).until(0.0);
        let x0 = start(n, h);
        let reference = bits(plan, system, &theta, &x0, n + 1, true, None);
        assert!(
            reference.0.abs_diff(n) <= 1,
            "N = {}, wanted about {n}",
            reference.0
        );
        for s in 1..=n + 1 {
            assert_eq!(
                bits(plan, system, &theta, &x0, s, s % 2 == 0, None),
                reference,
                "N = {n}, {s} slots"
            );
        }
        for (s, budget) in [(1, 1), (3, 1), (3, 7), (5, 64), (n + 1, 3)] {
            let cut = bits(plan, system, &theta, &x0, s, false, Some(budget));
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
fn map() {
    every_slot_count_of(&mapped(0.01), |_| Map);
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
    let (plan, theta, x0) = (
        Euler::new(0.01).until(0.0).crossing(Crossing::Hermite),
        [1.1, 0.3],
        start(60, 0.01),
    );
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
        let g = run.adjoint()?.finish()?;
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

/// Suspended after every call: the same bits, from plain data and memory that nobody holds in between.
#[test]
fn suspended_and_resumed_at_every_call() {
    fn check<I: Integrator<f64>>(integrator: I) {
        check_of(&Derived::<_, 4, 2>::new(Clocked), integrator);
    }
    fn check_of<I: Integrator<f64>>(system: &impl System<f64>, integrator: I) {
        let (theta, x0) = ([1.1, 0.3], start(60, 0.01));
        let plan = integrator.until(0.0).crossing(Crossing::Hermite);
        let reference = bits(plan, system, &theta, &x0, 61, true, None);
        for (slots, records, budget) in [
            (1, false, 1),
            (2, true, 3),
            (3, false, 7),
            (7, true, 1),
            (30, true, 8),
            (70, true, 16),
        ] {
            let mut memory = if records {
                HeapMemory::with_records(&plan, system, slots)
            } else {
                HeapMemory::new(&plan, system, slots)
            };
            let mut state = plan
                .record(system, &theta, &x0, &mut memory)
                .unwrap()
                .suspend();
            let mut sweep = loop {
                let mut run = plan
                    .resume(state, system, &theta, &x0, &mut memory)
                    .unwrap();
                if run.advance(budget).unwrap().is_reached() {
                    break run.adjoint().unwrap().suspend();
                }
                state = run.suspend();
            };
            let found = loop {
                let mut adjoint = plan
                    .resume_adjoint(sweep, system, &theta, &x0, &mut memory)
                    .unwrap();
                if adjoint.advance(budget).unwrap() == Progress::Done {
                    let g = adjoint.finish().unwrap();
                    let numbers = g.theta.iter().chain(g.x0).chain(g.state);
                    break (g.steps, numbers.map(|v| v.to_bits()).collect::<Vec<_>>());
                }
                sweep = adjoint.suspend();
            };
            assert_eq!(
                found, reference,
                "{slots} slots, records {records}, budget {budget}"
            );
            // The tangent, the same way, against itself in one go.
            let mut whole = plan.record(system, &theta, &x0, &mut memory).unwrap();
            whole.complete().unwrap();
            let whole = whole.tangent().unwrap().finish().unwrap();
            let whole: Vec<f64> = whole.theta.iter().chain(whole.x0).copied().collect();
            let mut run = plan.record(system, &theta, &x0, &mut memory).unwrap();
            run.complete().unwrap();
            let mut state = run.tangent().unwrap().suspend();
            let cut: Vec<f64> = loop {
                let mut tangent = plan
                    .resume_tangent(state, system, &theta, &x0, &mut memory)
                    .unwrap();
                if tangent.advance(budget).unwrap() == Progress::Done {
                    let g = tangent.finish().unwrap();
                    break g.theta.iter().chain(g.x0).copied().collect();
                }
                state = tangent.suspend();
            };
            assert_eq!(cut, whole);
        }
    }
    check(Euler::new(0.01));
    check(Heun::new(0.01));
    check(Rk4::new(0.01));
    check(SymplecticEuler::new(0.01));
    check_of(&mapped(0.01), Map);
}

/// A store that fails once: the adjoint tries again and loses nothing, the tangent says so for good.
#[test]
fn one_fault_never_gives_a_wrong_gradient() {
    fn check<I: Integrator<f64>>(name: &str, system: &impl System<f64>, integrator: I) {
        let plan = integrator.until(0.0);
        for (tangent, lends) in [(false, false), (false, true), (true, false)] {
            let clean = with_a_fault(plan, system, usize::MAX, tangent, lends).unwrap();
            let (mut retried, mut refused) = (0, 0);
            for fail_at in 1..400 {
                match with_a_fault(plan, system, fail_at, tangent, lends) {
                    Ok(found) => {
                        assert_eq!(
                            found, clean,
                            "{name}: fault at access {fail_at}, tangent {tangent}, lends {lends}"
                        );
                        retried += 1;
                    }
                    Err(Error::Store { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(retried > 0 && refused > 0, "{name}: {retried} {refused}");
        }
    }
    let flow = Derived::<_, 4, 2>::new(Clocked);
    check("Euler", &flow, Euler::new(0.01));
    check("Heun", &flow, Heun::new(0.01));
    check("symplectic", &flow, SymplecticEuler::new(0.01));
    check("map", &mapped(0.01), Map);
}

/// The gradient of twenty steps, over a store that fails at one access and a caller that goes on.
fn with_a_fault<I: Integrator<f64>>(
    plan: Plan<f64, I>,
    system: &impl System<f64>,
    fail_at: usize,
    tangent: bool,
    lends: bool,
) -> Result<Vec<f64>, Error> {
    let (theta, x0) = ([1.1, 0.3], start(20, 0.01));
    let dims = system.dims();
    let mut rows = vec![0.0; dst_core::rows_len(dims, I::STAGES)];
    let mut params = vec![0.0; dst_core::params_len(dims)];
    let mut slots = vec![0.0; dst_core::slots_len(dims, I::STAGES, 4, lends)];
    let mut marks = [dst_core::Mark::EMPTY; 4];
    let mut store = Glitch {
        slots: Slots::new(&mut slots),
        lends,
        accesses: Cell::new(0),
        fail_at,
    };
    let lent = Workspace {
        rows: &mut rows,
        params: &mut params,
        marks: &mut marks,
        store: &mut store,
    };
    let mut run = plan.record(system, &theta, &x0, lent)?;
    run.complete()?;
    let gradient = if tangent {
        let mut tangent = run.tangent()?;
        let _ = tangent.advance(usize::MAX);
        tangent.finish()?
    } else {
        let mut sweep = run.adjoint()?;
        let _ = sweep.advance(usize::MAX);
        sweep.finish()?
    };
    Ok(gradient.theta.iter().chain(gradient.x0).copied().collect())
}

/// Fails at one access, then works again.
struct Glitch<'m> {
    slots: Slots<'m, f64>,
    lends: bool,
    accesses: Cell<usize>,
    fail_at: usize,
}

impl Glitch<'_> {
    fn access(&self) -> Result<(), StoreFault> {
        self.accesses.set(self.accesses.get() + 1);
        if self.accesses.get() == self.fail_at {
            Err(StoreFault)
        } else {
            Ok(())
        }
    }
}

impl Store<f64> for Glitch<'_> {
    fn prepare(&mut self, slots: usize, state: usize, record: usize) -> Result<bool, Error> {
        self.slots.prepare(slots, state, record)
    }
    fn save(&mut self, slot: usize, state: &[f64], record: &[f64]) -> Result<(), StoreFault> {
        self.access()?;
        self.slots.save(slot, state, record)
    }
    fn load(
        &mut self,
        slot: usize,
        state: &mut [f64],
        record: &mut [f64],
    ) -> Result<(), StoreFault> {
        self.access()?;
        self.slots.load(slot, state, record)
    }
    fn lend(&self, slot: usize) -> Option<(&[f64], &[f64])> {
        if !self.lends {
            return None;
        }
        self.access().ok()?;
        self.slots.lend(slot)
    }
}

/// Counts the states that are copied into it.
struct Counting<'m> {
    slots: Slots<'m, f64>,
    /// What it says is vacant: all that is, or too little.
    honest: bool,
    saved: &'m Cell<usize>,
}

impl Store<f64> for Counting<'_> {
    fn prepare(&mut self, slots: usize, state: usize, record: usize) -> Result<bool, Error> {
        self.slots.prepare(slots, state, record)
    }
    fn save(&mut self, slot: usize, state: &[f64], record: &[f64]) -> Result<(), StoreFault> {
        self.saved.set(self.saved.get() + 1);
        self.slots.save(slot, state, record)
    }
    fn load(
        &mut self,
        slot: usize,
        state: &mut [f64],
        record: &mut [f64],
    ) -> Result<(), StoreFault> {
        self.slots.load(slot, state, record)
    }
    fn lend(&self, slot: usize) -> Option<(&[f64], &[f64])> {
        self.slots.lend(slot)
    }
    fn vacate(&mut self, from: usize) -> Option<Vacant<'_, f64>> {
        if self.honest {
            self.slots.vacate(from)
        } else {
            Some(Vacant::new(&mut [], 4, 0))
        }
    }
}

#[test]
fn a_map_writes_its_states_where_they_are_kept() {
    let (theta, x0) = ([1.1, 0.3], start(60, 0.01));
    let system = mapped(0.01);
    let plan = Map.until(0.0).crossing(Crossing::Hermite);
    let reference = bits(plan, &system, &theta, &x0, 1, false, None);
    let n = reference.0;
    let dims = System::<f64>::dims(&system);
    let count_of = |honest: bool, slots: usize, budget: usize| {
        let saved = Cell::new(0);
        let mut rows = vec![0.0; dst_core::rows_len(dims, 1)];
        let mut params = vec![0.0; dst_core::params_len(dims)];
        let mut marks = vec![dst_core::Mark::EMPTY; slots];
        // What is not written is not read.
        let mut kept = vec![f64::NAN; dst_core::slots_len(dims, 1, slots, true)];
        let lent = Workspace {
            rows: &mut rows,
            params: &mut params,
            marks: &mut marks,
            store: Counting {
                slots: Slots::new(&mut kept),
                honest,
                saved: &saved,
            },
        };
        let mut run = plan.record(&system, &theta, &x0, lent).unwrap();
        while let Status::Running(_) = run.advance(budget).unwrap() {}
        let forward = saved.get();
        let g = run.adjoint().unwrap().finish().unwrap();
        let numbers = g.theta.iter().chain(g.x0).chain(g.state);
        let found = (g.steps, numbers.map(|v| v.to_bits()).collect::<Vec<_>>());
        assert_eq!(found, reference, "{slots} slots, budget {budget}");
        forward
    };
    let count = |slots: usize, budget: usize| count_of(true, slots, budget);
    // A store that has less than it said is not relied on.
    assert_eq!(count_of(false, n + 2, usize::MAX), n - 1);
    for budget in [20, 61, usize::MAX] {
        assert_eq!(count(n + 2, budget), 0, "budget {budget}");
    }
    // Where slots end, and where a call makes a few steps only, they are copied.
    assert_eq!(count(n, usize::MAX), 2);
    assert_eq!(count(n + 2, 1), n - 1);
    // Beyond the slots some states are given up for others.
    let copied = count(20, usize::MAX);
    assert!(copied > 0 && copied < n - 1, "{copied}");
}
