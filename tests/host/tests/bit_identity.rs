//! The gradient has the same bits for every number of slots and all budgets.

use std::collections::HashMap;

use dst_core::checkpoint::{Mark, Slots, Store, StoreFault};
use dst_core::methods::HeavyBall;
use dst_core::solve::{Borrowed, Cursor};
use dst_core::system::{Arithmetic, Derived, Number};
use dst_core::{
    Crossing, Error, Euler, Formula, HeapMemory, Heun, Integrator, Map, Memory, Mode, Plan,
    Problem, Progress, Reading, Rk4, Seeds, Status, SymplecticEuler, System,
};
use dst_models::Quadratic;
use dst_tests::{Steps, bits_of, heap, until_done};

/// Nonlinear oscillator with a clock state, so that a run stops after exactly the required number of steps. States (q, clock, v,
/// −1): pairs of position and velocity for the symplectic method.
#[derive(Clone, Copy)]
struct Clocked;

impl Formula<4, 2> for Clocked {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 2],
        x: &[Number<A>; 4],
        t: Number<A>,
    ) -> [Number<A>; 4] {
        let [q, _, v, fall] = *x;
        let push = theta[0] * q + theta[1] * q * q * q + 0.1 * v + t * 1e-3;
        [-v, -fall, push, Number::literal(0.0)]
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 2],
        x: &[Number<A>; 4],
        _: Number<A>,
    ) -> Number<A> {
        // The clock determines the stop; the oscillator contributes to the gradient.
        x[1] + x[0] * 1e-3
    }
}

/// Start at which the clock, falling by one per unit of time, crosses zero at step n.
fn start(n: usize, h: f64) -> [f64; 4] {
    [0.9, (n as f64 - 0.5) * h, 0.2, -1.0]
}

/// The crossing with the most requirements.
fn stop() -> Seeds<f64> {
    Seeds::stop(Crossing::Hermite)
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
    let mut memory = heap(&plan, system, slots, records);
    let problem = plan.on(system, theta, x0).unwrap();
    problem.start(&mut memory).unwrap();
    match budget {
        None => {
            problem.complete(&mut memory).unwrap();
            problem.adjoint(&mut memory, stop(), usize::MAX).unwrap();
        }
        Some(budget) => {
            while let Status::Running(_) = problem.advance(&mut memory, budget).unwrap() {}
            let mut last = usize::MAX;
            while let Progress::Running { remaining } =
                problem.adjoint(&mut memory, stop(), budget).unwrap()
            {
                assert!(
                    remaining > 0 && remaining <= last,
                    "{remaining} steps left after {last}"
                );
                last = remaining;
            }
        }
    }
    bits_of(problem.gradient(&memory).unwrap())
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
        let plan = Plan::new(make(h), 0.0);
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

/// User-defined store: states in a map, like flash pages. Fails at one access, or from one access on.
#[derive(Default)]
struct Pages {
    pages: HashMap<usize, Vec<f64>>,
    accesses: usize,
    fail_at: usize,
    for_good: bool,
    tears: bool,
}

impl Pages {
    fn failing(fail_at: usize, for_good: bool) -> Self {
        Self {
            fail_at,
            for_good,
            ..Self::default()
        }
    }

    fn access(&mut self) -> Result<(), StoreFault> {
        self.accesses += 1;
        let broken = self.for_good && self.accesses > self.fail_at;
        if self.accesses == self.fail_at || broken {
            Err(StoreFault)
        } else {
            Ok(())
        }
    }
}

impl Store<f64> for Pages {
    fn save(&mut self, slot: usize, state: &[f64]) -> Result<(), StoreFault> {
        let done = self.access();
        // A failed write leaves the old content, or a page that cannot be read.
        if done.is_err() && self.tears {
            self.pages.remove(&slot);
        }
        done?;
        self.pages.insert(slot, state.to_vec());
        Ok(())
    }
    fn load(&mut self, slot: usize, state: &mut [f64]) -> Result<(), StoreFault> {
        self.access()?;
        state.copy_from_slice(self.pages.get(&slot).ok_or(StoreFault)?);
        Ok(())
    }
}

/// Starts a run over a store and returns the result of `then` for the problem and its memory.
fn over_a_store<I: Integrator<f64>, Y: System<f64>, T>(
    plan: Plan<f64, I>,
    system: &Y,
    slots: usize,
    store: &mut Pages,
    then: impl FnOnce(Problem<'_, f64, Y, I>, &mut Borrowed<'_, f64>) -> T,
) -> T {
    let (theta, x0) = ([1.1, 0.3], start(20, 0.01));
    let dims = system.dims();
    let mut rows = vec![0.0; dims.rows_len(plan.integrator().stages())];
    let mut params = vec![0.0; dims.params_len()];
    let mut marks = vec![Mark::EMPTY; slots];
    let mut memory = Borrowed {
        rows: &mut rows,
        params: &mut params,
        slots: Slots::Store(store),
        marks: &mut marks,
        cursor: &mut Cursor::new(),
    };
    let problem = plan.on(system, &theta, &x0).unwrap();
    problem.start(&mut memory).unwrap();
    then(problem, &mut memory)
}

/// Makes one sweep of this kind.
fn sweep<I: Integrator<f64>, Y: System<f64>>(
    problem: Problem<'_, f64, Y, I>,
    memory: &mut Borrowed<'_, f64>,
    mode: Mode,
) -> Result<(usize, Vec<u64>), Error> {
    match mode {
        Mode::Tangent => problem.tangent(memory, stop(), usize::MAX)?,
        _ => problem.adjoint(memory, stop(), usize::MAX)?,
    };
    problem.gradient(memory).map(bits_of)
}

#[test]
fn any_store_gives_the_same_bits_and_its_failures_are_reported() {
    fn check<I: Integrator<f64>>(system: &impl System<f64>, integrator: I) {
        let plan = Plan::new(integrator, 0.0);
        let (theta, x0) = ([1.1, 0.3], start(20, 0.01));
        let reference = bits(plan, system, &theta, &x0, 4, false, None);
        for slots in [1, 2, 4, 7, 30] {
            let attempt = |fail_at: usize| {
                let mut store = Pages::failing(fail_at, true);
                let found = over_a_store(plan, system, slots, &mut store, |problem, memory| {
                    problem.complete(memory)?;
                    sweep(problem, memory, Mode::Adjoint)
                });
                (found, store.accesses)
            };
            let (found, accesses) = attempt(usize::MAX);
            assert_eq!(found.as_ref(), Ok(&reference), "{slots} slots");
            for fail_at in 1..=accesses {
                let (found, _) = attempt(fail_at);
                assert!(
                    matches!(found, Err(Error::Store { .. })),
                    "{slots} slots, access {fail_at}: {found:?}"
                );
            }
        }
    }
    let flow = Derived::<_, 4, 2>::new(Clocked);
    check(&flow, Euler::new(0.01));
    check(&flow, Rk4::new(0.01));
    check(&mapped(0.01), Map);
}

/// A store that fails once. In the forward run this ends the run; in a sweep it ends that sweep, and the next sweeps of any kind
/// are correct.
#[test]
fn one_fault_never_gives_a_wrong_gradient() {
    fn check<I: Integrator<f64>>(name: &str, system: &impl System<f64>, integrator: I) {
        check_of(name, system, integrator, false);
        check_of(name, system, integrator, true);
    }
    fn check_of<I: Integrator<f64>>(
        name: &str,
        system: &impl System<f64>,
        integrator: I,
        tears: bool,
    ) {
        let plan = Plan::new(integrator, 0.0);
        let kinds = [Mode::Adjoint, Mode::Tangent];
        for slots in [1, 4, 30] {
            let clean = kinds.map(|kind| {
                let mut store = Pages::failing(usize::MAX, false);
                over_a_store(plan, system, slots, &mut store, |problem, memory| {
                    problem.complete(memory).unwrap();
                    sweep(problem, memory, kind).unwrap()
                })
            });
            for (first, kind) in kinds.into_iter().enumerate() {
                let (mut forward, mut backward) = (0, 0);
                for fail_at in 1.. {
                    let what =
                        format!("{name}, {slots} slots, {kind:?}, access {fail_at}, tears {tears}");
                    let mut store = Pages::failing(fail_at, false);
                    store.tears = tears;
                    over_a_store(plan, system, slots, &mut store, |problem, memory| {
                        if let Err(error) = problem.complete(memory).map(|_| ()) {
                            forward += 1;
                            assert!(matches!(error, Error::Store { .. }), "{what}");
                            let again = problem.advance(memory, 1).map(|_| ());
                            assert_eq!(again, Err(error), "{what}: an error is final");
                            assert_eq!(sweep(problem, memory, kind), Err(error), "{what}");
                            return;
                        }
                        // Exactly one of them fails.
                        let mut faults = 0;
                        for next in [first, 0, 1, 1, 0, 0] {
                            match sweep(problem, memory, kinds[next]) {
                                Ok(found) => assert_eq!(found, clean[next], "{what}"),
                                Err(error) => {
                                    faults += 1;
                                    assert!(matches!(error, Error::Store { .. }), "{what}");
                                    let none = problem.gradient(memory).map(|_| ());
                                    assert_eq!(none, Err(Error::Order), "{what}");
                                }
                            }
                        }
                        assert!(faults <= 1, "{what}");
                        backward += faults;
                    });
                    if store.accesses < fail_at {
                        break;
                    }
                }
                assert!(forward > 0, "{name}, {slots} slots");
                assert!(backward > 0, "{name}, {slots} slots");
            }
        }
    }
    let flow = Derived::<_, 4, 2>::new(Clocked);
    check("Euler", &flow, Euler::new(0.01));
    check("Heun", &flow, Heun::new(0.01));
    check("RK4", &flow, Rk4::new(0.01));
    check("symplectic", &flow, SymplecticEuler::new(0.01));
    check("map", &mapped(0.01), Map);
}

/// A run without a step also has a gradient: that of weights at x_0, before and after a fault.
#[test]
fn a_fault_before_the_first_step() {
    let flow = Derived::<_, 4, 2>::new(Clocked);
    let seeds = Seeds::weighted(|_| Reading::criterion(2.0));
    for fail_at in 1..=3 {
        let mut store = Pages::failing(fail_at, false);
        let plan = Plan::new(Euler::new(0.01), 0.0);
        over_a_store(plan, &flow, 2, &mut store, |problem, memory| {
            problem.advance(memory, 0).unwrap();
            for _ in 0..3 {
                let _ = problem.tangent(memory, seeds, usize::MAX);
                match until_done(|| problem.adjoint(memory, seeds, 1)) {
                    Ok(()) => {
                        let found = problem.gradient(memory).unwrap();
                        assert_eq!((found.steps, found.x0), (0, &[0.002, 2.0, 0.0, 0.0][..]));
                    }
                    Err(error) => assert!(matches!(error, Error::Store { .. }), "{error}"),
                }
            }
        });
    }
}

/// (slots, records, budget)
const CUTS: [(usize, bool, usize); 6] = [
    (1, false, 1),
    (2, true, 3),
    (3, false, 7),
    (7, true, 1),
    (30, true, 8),
    (70, true, 16),
];

/// Moves the memory to another address and leaves zeros at the old one.
fn moved<I: Integrator<f64>>(
    memory: &mut HeapMemory<f64>,
    plan: &Plan<f64, I>,
    system: &impl System<f64>,
    (slots, records, _): (usize, bool, usize),
) {
    let relocated = memory.clone();
    *memory = heap(plan, system, slots, records);
    *memory = relocated;
}

/// Completes a run from any state and returns its result.
fn rest<I: Integrator<f64>, Y: System<f64>>(
    problem: Problem<'_, f64, Y, I>,
    mut memory: HeapMemory<f64>,
    mode: Mode,
) -> (usize, Vec<u64>) {
    if !matches!(problem.complete(&mut memory), Err(Error::Order)) {
        assert!(problem.iterate(&memory).unwrap().steps > 0);
    }
    until_done(|| match mode {
        Mode::Tangent => problem.tangent(&mut memory, stop(), usize::MAX),
        _ => problem.adjoint(&mut memory, stop(), usize::MAX),
    })
    .unwrap();
    bits_of(problem.gradient(&memory).unwrap())
}

/// Between any two calls the memory may be moved, and a clone of it is an independent run.
#[test]
fn a_moved_memory_continues() {
    fn check<I: Integrator<f64>>(integrator: I) {
        check_of(&Derived::<_, 4, 2>::new(Clocked), integrator);
    }
    fn check_of<I: Integrator<f64>>(system: &impl System<f64>, integrator: I) {
        let (theta, x0) = ([1.1, 0.3], start(60, 0.01));
        let plan = Plan::new(integrator, 0.0);
        let adjoint = bits(plan, system, &theta, &x0, 61, true, None);
        let problem = plan.on(system, &theta, &x0).unwrap();
        let mut memory = heap(&plan, system, 6, false);
        problem.start(&mut memory).unwrap();
        let tangent = rest(problem, memory, Mode::Tangent);
        for (mode, reference) in [(Mode::Adjoint, adjoint), (Mode::Tangent, tangent)] {
            for cut in CUTS {
                let (slots, records, budget) = cut;
                let what = format!("{mode:?}, {slots} slots, records {records}, budget {budget}");
                let mut memory = heap(&plan, system, slots, records);
                problem.start(&mut memory).unwrap();
                // The clones finish first: they must have no effect on this run.
                loop {
                    moved(&mut memory, &plan, system, cut);
                    assert_eq!(rest(problem, memory.clone(), mode), reference, "{what}");
                    let problem = plan.on(system, &theta, &x0).unwrap();
                    if problem.advance(&mut memory, budget).unwrap().is_reached() {
                        break;
                    }
                }
                until_done(|| {
                    moved(&mut memory, &plan, system, cut);
                    assert_eq!(rest(problem, memory.clone(), mode), reference, "{what}");
                    let problem = plan.on(system, &theta, &x0).unwrap();
                    match mode {
                        Mode::Tangent => problem.tangent(&mut memory, stop(), budget),
                        _ => problem.adjoint(&mut memory, stop(), budget),
                    }
                })
                .unwrap();
                moved(&mut memory, &plan, system, cut);
                let found = bits_of(problem.gradient(&memory).unwrap());
                assert_eq!(found, reference, "{what}");
            }
        }
    }
    check(Euler::new(0.01));
    check(Heun::new(0.01));
    check(Rk4::new(0.01));
    check(SymplecticEuler::new(0.01));
    check_of(&mapped(0.01), Map);
}

/// The same for storage of fixed size, which is moved as one value.
#[test]
fn an_array_of_memory_is_moved_as_a_value() {
    type Fixed = Memory<f64, 4, 2, 5>;
    fn relocated(memory: Box<Fixed>) -> Box<Fixed> {
        let other = Box::new((*memory).clone());
        drop(memory);
        other
    }
    let system = Derived::<_, 4, 2>::new(Clocked);
    let (theta, x0) = ([1.1, 0.3], start(60, 0.01));
    let plan = Rk4::new(0.01).until(0.0);
    let reference = bits(plan, &system, &theta, &x0, 61, true, None);
    let problem = plan.on(&system, &theta, &x0).unwrap();
    let mut memory = Box::new(Fixed::new());
    problem.start(&mut *memory).unwrap();
    while let Status::Running(_) = problem.advance(&mut *memory, 4).unwrap() {
        memory = relocated(memory);
    }
    while let Progress::Running { .. } = problem.adjoint(&mut *memory, stop(), 3).unwrap() {
        memory = relocated(memory);
    }
    let memory = relocated(memory);
    assert_eq!(bits_of(problem.gradient(&*memory).unwrap()), reference);
}

/// Two clones diverge: one stops and is differentiated, the other is started on another problem.
#[test]
fn clones_are_independent() {
    let system = Derived::<_, 4, 2>::new(Clocked);
    let (theta, x0, y0) = ([1.1, 0.3], start(60, 0.01), start(33, 0.01));
    let plan = Heun::new(0.01).until(0.0);
    let (one, other) = (
        plan.on(&system, &theta, &x0).unwrap(),
        plan.on(&system, &theta, &y0).unwrap(),
    );
    let expected = [x0, y0].map(|x0| bits(plan, &system, &theta, &x0, 9, false, None));
    let mut a = heap(&plan, &system, 4, false);
    one.start(&mut a).unwrap();
    one.advance(&mut a, 17).unwrap();
    let mut b = a.clone();
    other.start(&mut b).unwrap();
    // Alternately.
    let mut calls = 0;
    while let Status::Running(_) = one.advance(&mut a, 3).unwrap() {
        let _ = other.advance(&mut b, 2).unwrap();
        calls += 1;
    }
    while let Status::Running(_) = other.advance(&mut b, 2).unwrap() {}
    until_done(|| {
        other.adjoint(&mut b, stop(), 5)?;
        one.adjoint(&mut a, stop(), 2)
    })
    .unwrap();
    assert!(calls > 5);
    until_done(|| other.adjoint(&mut b, stop(), 5)).unwrap();
    let found = [one.gradient(&a), other.gradient(&b)].map(|g| bits_of(g.unwrap()));
    assert_eq!(found, expected);
}
