//! Seeds are chosen after the run: further sweeps over one run give the bits of separate runs, at the documented cost, which is
//! counted in the system.

use std::collections::HashMap;

use dst_core::checkpoint::{Mark, Slots, Store, StoreFault, advances};
use dst_core::solve::{Borrowed, Cursor, Workspace};
use dst_core::system::Derived;
use dst_core::{
    Crossing, Error, Euler, HeapMemory, Heun, Integrator, Map, Mode, Plan, Problem, Progress,
    Reading, Rk4, Seeds, Status, SymplecticEuler, System, formula,
};
use dst_models::{Close, Counted, Counts, Figure1, Pendulum};
use dst_tests::{RandomSystem, Steps, bits_of, heap, until_done};

/// Quantity to differentiate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// T
    Stop(Crossing),
    /// Σ w_k·(J, f)
    Sum,
    /// 0.3·T and the sum.
    Both,
    /// T, through a window of this many steps.
    Window(usize),
}

/// Quantity and mode.
type Ask = (What, Mode);

fn weights(k: usize) -> Reading<f64> {
    Reading {
        criterion: 0.01 * (k % 3) as f64,
        loss: 1.0 / (1.0 + k as f64),
    }
}

/// N and the bits of the gradient.
type Bits = (usize, Vec<u64>);

/// Makes one sweep in small budgets.
fn sweep<I: Integrator<f64>, Y: System<f64>>(
    problem: Problem<'_, f64, Y, I>,
    memory: &mut (impl Workspace<f64> + ?Sized),
    (what, mode): Ask,
    budget: usize,
) -> Result<Bits, Error> {
    let stop = |crossing| Seeds::stop(crossing);
    let sum = Seeds::weighted(weights);
    macro_rules! go {
        ($seeds:expr) => {
            until_done(|| match mode {
                Mode::Tangent => problem.tangent(memory, $seeds, budget),
                _ => problem.adjoint(memory, $seeds, budget),
            })?
        };
    }
    match what {
        What::Stop(crossing) => go!(stop(crossing)),
        What::Sum => go!(sum),
        What::Both => go!(stop(Crossing::Interpolated).times(0.3) + sum),
        What::Window(steps) => go!(stop(Crossing::Interpolated).through(steps)),
    }
    problem.gradient(memory).map(bits_of)
}

const ADJOINT: Mode = Mode::Adjoint;
const TANGENT: Mode = Mode::Tangent;
const EXACT: What = What::Stop(Crossing::Interpolated);
const HERMITE: What = What::Stop(Crossing::Hermite);

/// Consecutive sweeps over one run: every kind after every other.
const SEQUENCE: [Ask; 19] = [
    (EXACT, ADJOINT),
    (What::Sum, ADJOINT),
    (What::Both, ADJOINT),
    (What::Window(3), ADJOINT),
    (EXACT, ADJOINT),
    (HERMITE, ADJOINT),
    (HERMITE, TANGENT),
    (What::Sum, TANGENT),
    (What::Both, TANGENT),
    (HERMITE, ADJOINT),
    (EXACT, TANGENT),
    (What::Window(2), ADJOINT),
    (What::Sum, ADJOINT),
    (What::Both, TANGENT),
    (What::Both, ADJOINT),
    (What::Stop(Crossing::Slope), ADJOINT),
    (What::Stop(Crossing::Slope), TANGENT),
    (What::Window(1), ADJOINT),
    (What::Stop(Crossing::Paper), ADJOINT),
];

/// Property of any problem.
trait Check {
    fn check<I: Integrator<f64>, Y: System<f64>>(
        &self,
        name: &str,
        plan: Plan<f64, I>,
        system: &Y,
        theta: &[f64],
        x0: &[f64],
    );
}

/// Every integrator, with and without a tape.
fn every_integrator(check: &impl Check) {
    let pendulum = Derived::<_, 2, 2>::new(Pendulum);
    let (theta, x0) = ([2.0, 0.3], [1.2, 0.1]);
    let flow = |name: &str, h: f64| {
        let (p, t, x) = (&pendulum, &theta, &x0);
        check.check(&format!("Euler{name}"), Euler::new(h).until(0.3), p, t, x);
        check.check(&format!("Heun{name}"), Heun::new(h).until(0.3), p, t, x);
        check.check(&format!("RK4{name}"), Rk4::new(h).until(0.3), p, t, x);
        let symplectic = SymplecticEuler::new(h).until(0.3);
        check.check(&format!("symplectic{name}"), symplectic, p, t, x);
        let map = Derived::<_, 2, 2>::new(Steps { flow: Pendulum, h });
        check.check(&format!("map{name}"), Map.until(0.3), &map, t, x);
    };
    flow("", 0.05);
    // With its own tape.
    let numbers = [0.3, -0.8, 0.5, 0.9, -0.2, -0.6, 0.1];
    let taped = RandomSystem::new(4, 3, &numbers);
    let (theta, x0) = ([0.4, -0.2, 0.1], [1.0, -0.7, 0.4, 0.8]);
    check.check(
        "Euler, tape",
        Euler::new(0.1).until(0.05),
        &taped,
        &theta,
        &x0,
    );
    check.check(
        "Heun, tape",
        Heun::new(0.1).until(0.05),
        &taped,
        &theta,
        &x0,
    );
    check.check("RK4, tape", Rk4::new(0.1).until(0.05), &taped, &theta, &x0);
    let contracting = Contracting(RandomSystem::new(4, 3, &numbers));
    check.check("map, tape", Map.until(0.05), &contracting, &theta, &x0);
}

/// x⁺ = x − A/10, with the tape of another system.
struct Contracting(RandomSystem);

impl System<f64> for Contracting {
    fn dims(&self) -> dst_core::Dims {
        self.0.dims().with_scratch(4)
    }
    fn rate(
        &self,
        at: dst_core::Point<'_, f64>,
        next: &mut [f64],
        tape: &mut [f64],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        let reading = self.0.rate(at, next, tape, scratch);
        for (next, x) in next.iter_mut().zip(at.x) {
            *next = x - 0.1 * *next;
        }
        reading
    }
    fn pullback(
        &self,
        at: dst_core::Point<'_, f64>,
        tape: &[f64],
        seed: dst_core::Seed<'_, f64>,
        bar: dst_core::Bar<'_, f64>,
        scratch: &mut [f64],
    ) {
        for ((to, x), s) in scratch.iter_mut().zip(bar.x.iter_mut()).zip(seed.rate) {
            *x += s;
            *to = -0.1 * s;
        }
        let seed = dst_core::Seed {
            rate: scratch,
            ..seed
        };
        self.0.pullback(at, tape, seed, bar, &mut []);
    }
    fn pushforward(
        &self,
        at: dst_core::Point<'_, f64>,
        tape: &[f64],
        along: dst_core::Direction<'_, f64>,
        next: &mut [f64],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        let reading = self.0.pushforward(at, tape, along, next, scratch);
        for (next, dx) in next.iter_mut().zip(along.x) {
            *next = dx - 0.1 * *next;
        }
        reading
    }
    fn cost(&self) -> dst_core::Cost {
        self.0.cost()
    }
}

/// Memory after a complete forward run.
fn completed<I: Integrator<f64>, Y: System<f64>>(
    problem: Problem<'_, f64, Y, I>,
    plan: &Plan<f64, I>,
    system: &Y,
    slots: usize,
    records: bool,
) -> HeapMemory<f64> {
    let mut memory = heap(plan, system, slots, records);
    problem.start(&mut memory).unwrap();
    problem.complete(&mut memory).unwrap();
    memory
}

/// Compares every sweep of the sequence over one run with a separate run.
struct SeparateRuns;

impl Check for SeparateRuns {
    fn check<I: Integrator<f64>, Y: System<f64>>(
        &self,
        name: &str,
        plan: Plan<f64, I>,
        system: &Y,
        theta: &[f64],
        x0: &[f64],
    ) {
        let problem = plan.on(system, theta, x0).unwrap();
        let apart: HashMap<String, Bits> = SEQUENCE
            .into_iter()
            .map(|ask| {
                let mut memory = completed(problem, &plan, system, 5, false);
                let found = sweep(problem, &mut memory, ask, usize::MAX).unwrap();
                (format!("{ask:?}"), found)
            })
            .collect();
        let n = apart[&format!("{:?}", SEQUENCE[0])].0;
        assert!((9..120).contains(&n), "{name}: N = {n}");
        for slots in [1, 2, 3, 7, n, n + 1, n + 5] {
            for (records, budget) in [(false, usize::MAX), (true, usize::MAX), (true, 1)] {
                let mut memory = completed(problem, &plan, system, slots, records);
                for (i, ask) in SEQUENCE.into_iter().enumerate() {
                    let what = format!("{name}, {slots} slots, {records}, number {i}: {ask:?}");
                    let found = sweep(problem, &mut memory, ask, budget).unwrap();
                    assert_eq!(found, apart[&format!("{ask:?}")], "{what}");
                }
            }
        }
    }
}

#[test]
fn one_run_gives_the_gradients_of_many() {
    every_integrator(&SeparateRuns);
}

/// Rate evaluations of the last sweep, counted in the system and by the engine.
fn rates<I: Integrator<f64>, Y: System<f64>>(
    problem: Problem<'_, f64, Y, I>,
    counts: &Counts,
    memory: &mut HeapMemory<f64>,
    ask: Ask,
    stages: usize,
) -> usize {
    let before = counts.rate.get();
    let (n, _) = sweep(problem, memory, ask, usize::MAX).unwrap();
    let rates = counts.rate.get() - before;
    let own = problem.gradient(memory).unwrap().evaluations.rate;
    assert_eq!(own - (n * stages + 1), rates, "the engine's own count");
    rates
}

struct Costs;

impl Check for Costs {
    fn check<I: Integrator<f64>, Y: System<f64>>(
        &self,
        name: &str,
        plan: Plan<f64, I>,
        system: &Y,
        theta: &[f64],
        x0: &[f64],
    ) {
        let counts = Counts::default();
        let system = &Counted {
            inner: system,
            counts: &counts,
        };
        let problem = plan.on(system, theta, x0).unwrap();
        let run = |slots, records| {
            let mut memory = heap(&plan, system, slots, records);
            problem.start(&mut memory).unwrap();
            let steps = problem.complete(&mut memory).unwrap().iterate().steps;
            (memory, steps)
        };
        let (_, n) = run(1, false);
        // If there is a record, a step whose record was not kept is evaluated again.
        let stages = plan.integrator().stages();
        let has_record = system.dims().record_len(stages) > 0;
        let again = if has_record { stages } else { 0 };
        for slots in [n + 1, n + 7] {
            // States and records.
            let (mut memory, _) = run(slots, true);
            for ask in [EXACT, What::Sum, What::Both, What::Window(4), What::Both] {
                let rates = rates(problem, &counts, &mut memory, (ask, ADJOINT), stages);
                assert_eq!(rates, 0, "{name}, all kept, {ask:?}");
            }
            let rates = rates(problem, &counts, &mut memory, (HERMITE, ADJOINT), stages);
            assert_eq!(rates, 1, "{name}: one evaluation at x_(N-1)");
        }
        // States alone: in the first sweep the record of the last step is available.
        let (mut memory, _) = run(n + 1, false);
        let first = rates(problem, &counts, &mut memory, (EXACT, ADJOINT), stages);
        assert_eq!(first, (n - 1) * again, "{name}, the first sweep");
        for ask in [EXACT, What::Sum, What::Both] {
            let rates = rates(problem, &counts, &mut memory, (ask, ADJOINT), stages);
            assert_eq!(rates, n * again, "{name}, states kept, {ask:?}");
        }
        let window = rates(
            problem,
            &counts,
            &mut memory,
            (What::Window(4), ADJOINT),
            stages,
        );
        assert_eq!(window, 4 * again, "{name}, a window");
        // Few slots: exactly the optimal number of steps.
        for slots in [1, 2, 3, 7] {
            let (mut memory, _) = run(slots, false);
            sweep(problem, &mut memory, (EXACT, ADJOINT), usize::MAX).unwrap();
            for ask in [EXACT, What::Sum, What::Both] {
                let rates = rates(problem, &counts, &mut memory, (ask, ADJOINT), stages);
                let expected = advances(n, slots) * stages + n * again;
                assert_eq!(rates, expected, "{name}, {slots} slots, {ask:?}, N = {n}");
            }
        }
    }
}

#[test]
fn a_further_sweep_recomputes_only_missing_states() {
    every_integrator(&Costs);
}

/// Number of steps, counted for every length up to 200 and some beyond.
#[test]
fn recomputed_steps_are_the_optimum() {
    let counts = Counts::default();
    let system = Counted {
        inner: formula!(|_theta: 0, x: 1, _t| [1.0 + x[0] * 0.0], |x| x[0]),
        counts: &counts,
    };
    let plan = Euler::new(1.0).until(0.0);
    for n in (1..=60).chain([100, 200, 1000, 1001]) {
        let x0 = [n as f64 - 0.5];
        let problem = plan.on(&system, &[], &x0).unwrap();
        for slots in [1, 2, 3, 7, 20] {
            let mut memory = HeapMemory::new(&plan, &system, slots);
            problem.start(&mut memory).unwrap();
            problem.complete(&mut memory).unwrap();
            let first = sweep(problem, &mut memory, (EXACT, ADJOINT), usize::MAX).unwrap();
            for ask in [EXACT, What::Sum, EXACT] {
                let rates = rates(problem, &counts, &mut memory, (ask, ADJOINT), 1);
                let expected = if n <= slots { 0 } else { advances(n, slots) };
                assert_eq!(rates, expected, "N = {n}, {slots} slots");
            }
            let again = sweep(problem, &mut memory, (EXACT, ADJOINT), usize::MAX).unwrap();
            assert_eq!(again, first);
        }
    }
}

/// The same over a store, with states saved and loaded.
struct OverAStore;

#[derive(Default)]
struct Pages(HashMap<usize, Vec<f64>>);

impl Store<f64> for Pages {
    fn save(&mut self, slot: usize, state: &[f64]) -> Result<(), StoreFault> {
        self.0.insert(slot, state.to_vec());
        Ok(())
    }
    fn load(&mut self, slot: usize, state: &mut [f64]) -> Result<(), StoreFault> {
        state.copy_from_slice(self.0.get(&slot).ok_or(StoreFault)?);
        Ok(())
    }
}

impl Check for OverAStore {
    fn check<I: Integrator<f64>, Y: System<f64>>(
        &self,
        name: &str,
        plan: Plan<f64, I>,
        system: &Y,
        theta: &[f64],
        x0: &[f64],
    ) {
        let dims = system.dims();
        // The whole run, and its first few steps.
        for limit in [1, 2, 3, 4, usize::MAX] {
            let plan = plan.at_most(limit);
            let problem = plan.on(system, theta, x0).unwrap();
            for slots in [1, 2, 3, 7, 120] {
                let mut rows = vec![0.0; dims.rows_len(plan.integrator().stages())];
                let mut params = vec![0.0; dims.params_len()];
                let mut marks = vec![Mark::EMPTY; slots];
                let mut store = Pages::default();
                let mut memory = Borrowed {
                    rows: &mut rows,
                    params: &mut params,
                    slots: Slots::Store(&mut store),
                    marks: &mut marks,
                    cursor: &mut Cursor::new(),
                };
                problem.start(&mut memory).unwrap();
                let reached = problem.complete(&mut memory).unwrap().is_reached();
                let needs_stop = |what| what != What::Sum;
                for ask in SEQUENCE {
                    if needs_stop(ask.0) && !reached {
                        continue;
                    }
                    let what = format!("{name}, {slots} slots, limit {limit}, {ask:?}");
                    let mut apart = completed(problem, &plan, system, 5, false);
                    let apart = sweep(problem, &mut apart, ask, usize::MAX).unwrap();
                    let found = sweep(problem, &mut memory, ask, usize::MAX);
                    assert_eq!(found, Ok(apart), "{what}");
                }
            }
        }
    }
}

#[test]
fn a_store_can_be_swept_again() {
    every_integrator(&OverAStore);
}

/// Runs of one, two and three steps, with every sweep of the sequence.
#[test]
fn short_runs_can_be_swept_again() {
    let decay = formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0], |x| x[0] * x[0]);
    for epsilon in [0.95, 0.85, 0.75, 0.7] {
        let plan = Rk4::new(0.1).until(epsilon);
        SeparateShort.check("RK4", plan, &decay, &[1.0], &[1.0]);
        let plan = Euler::new(0.1).until(epsilon);
        SeparateShort.check("Euler", plan, &decay, &[1.0], &[1.0]);
        let shrink = formula!(|theta: 1, x: 1, _t| [x[0] - 0.1 * theta[0] * x[0]], |x| x[0], |x| x[0] * x[0]);
        let plan = Map.until(epsilon);
        SeparateShort.check("map", plan, &shrink, &[1.0], &[1.0]);
    }
}

struct SeparateShort;

impl Check for SeparateShort {
    fn check<I: Integrator<f64>, Y: System<f64>>(
        &self,
        name: &str,
        plan: Plan<f64, I>,
        system: &Y,
        theta: &[f64],
        x0: &[f64],
    ) {
        let problem = plan.on(system, theta, x0).unwrap();
        for slots in 1..=6 {
            let mut memory = completed(problem, &plan, system, slots, slots % 2 == 0);
            for ask in SEQUENCE {
                let mut apart = completed(problem, &plan, system, 1, false);
                let apart = sweep(problem, &mut apart, ask, usize::MAX).unwrap();
                let found = sweep(problem, &mut memory, ask, 2).unwrap();
                assert_eq!(found, apart, "{name}, {slots} slots, {ask:?}");
            }
        }
    }
}

/// A run with a stay is swept from its entry and from its end, alternately. There are more directions than steps to the entry.
#[test]
fn from_the_entry_and_from_the_end() {
    struct Staying;
    impl Check for Staying {
        fn check<I: Integrator<f64>, Y: System<f64>>(
            &self,
            name: &str,
            plan: Plan<f64, I>,
            system: &Y,
            theta: &[f64],
            x0: &[f64],
        ) {
            let mut memory = HeapMemory::new(&plan, system, 1);
            let problem = plan.on(system, theta, x0).unwrap();
            problem.start(&mut memory).unwrap();
            let n = problem.complete(&mut memory).unwrap().iterate().steps;
            for (limit, start) in [(n + 3, 0), (n + 12, 0)] {
                let plan = plan.at_most(limit).staying_to_the_end();
                let problem = plan.on(system, theta, x0).unwrap();
                for slots in [1, 2, 7, limit, limit + 1, limit + 9] {
                    let mut memory = heap(&plan, system, slots, slots % 2 == 1);
                    problem.start(&mut memory).unwrap();
                    let status = problem.complete(&mut memory).unwrap();
                    if !matches!(status, Status::Reached(i) if i.exits == 0) {
                        // J leaves the band again, so there is nothing to compare with the first passage.
                        continue;
                    }
                    let sequence = SEQUENCE.into_iter().skip(start);
                    for (i, ask) in sequence.enumerate() {
                        let mut apart = completed(problem, &plan, system, 5, false);
                        let apart = sweep(problem, &mut apart, ask, usize::MAX).unwrap();
                        let found = sweep(problem, &mut memory, ask, usize::MAX).unwrap();
                        let what = format!("{name}, {slots} slots, number {i}, {ask:?}");
                        assert_eq!(found, apart, "{what}");
                        let end = if ask.0 == What::Sum { limit } else { n };
                        assert_eq!(found.0, end, "{what}");
                    }
                }
            }
        }
    }
    every_integrator(&Staying);
    // Three steps to the entry, ten directions.
    let wide = formula!(
        |theta: 5, x: 5, _t| [
            theta[0] * x[0],
            theta[1] * x[1] + x[0] * 0.1,
            theta[2] * x[2] + x[1] * x[1] * 0.1,
            theta[3] * x[3],
            theta[4] * x[4]
        ],
        |x| x[0] * x[0] + x[1] + x[2],
        |x| x[3] * x[3] + x[4] + x[2] * x[1],
    );
    let plan = Euler::new(0.1).until(1.7);
    Staying.check(
        "wide",
        plan,
        &wide,
        &[1.0, 1.1, 0.9, 1.2, 0.8],
        &[1.0, 0.8, 0.6, 0.7, 0.5],
    );
}

/// Weights need no stop: the run may be at any step, and its sum ends there.
#[test]
fn weights_alone_need_no_stop() {
    let flow = Derived::<_, 2, 1>::new(Figure1);
    let (theta, x0) = ([0.3], [1.0, 0.9]);
    let plan = Heun::new(0.05).until(1e-3);
    for k in [1, 2, 9, 40] {
        let problem = plan.on(&flow, &theta, &x0).unwrap();
        let limited = plan.at_most(k).on(&flow, &theta, &x0).unwrap();
        for mode in [ADJOINT, TANGENT] {
            let mut memory = heap(&plan, &flow, 3, false);
            problem.start(&mut memory).unwrap();
            assert!(matches!(
                problem.advance(&mut memory, k),
                Ok(Status::Running(_))
            ));
            let found = sweep(problem, &mut memory, (What::Sum, mode), 7).unwrap();
            let refused = sweep(problem, &mut memory, (EXACT, mode), 7);
            assert_eq!(refused, Err(Error::NotStopped { steps: k }));
            let mut memory = heap(&plan, &flow, 50, true);
            limited.start(&mut memory).unwrap();
            limited.complete(&mut memory).unwrap();
            let expected = sweep(limited, &mut memory, (What::Sum, mode), 7).unwrap();
            assert_eq!(found, expected, "{k} steps, {mode:?}");
        }
    }
}

/// The stopping time is a weighted sum of J: Definition 3 of the paper, by weights.
#[test]
fn a_stopping_time_is_weights_on_j() {
    let flow = Derived::<_, 2, 1>::new(Figure1);
    let (theta, x0) = ([0.3], [1.0, 0.9]);
    let plan = Euler::new(0.05).until(1e-3);
    let problem = plan.on(&flow, &theta, &x0).unwrap();
    let mut memory = heap(&plan, &flow, 4, false);
    problem.start(&mut memory).unwrap();
    let end = problem.complete(&mut memory).unwrap().iterate();
    let (n, fall) = (end.steps, end.previous - end.criterion);
    let alpha = (end.previous - 1e-3) / fall;
    let scale = 0.05 / fall;
    for (crossing, at_end, before) in [
        (Crossing::Paper, scale, 0.0),
        (Crossing::Interpolated, alpha * scale, (1.0 - alpha) * scale),
    ] {
        for mode in [ADJOINT, TANGENT] {
            let weights = move |k: usize| {
                Reading::criterion(match n - k {
                    0 => at_end,
                    1 => before,
                    _ => 0.0,
                })
            };
            let numbers = |memory: &HeapMemory<f64>| {
                let g = problem.gradient(memory).unwrap();
                [g.theta, g.x0].concat()
            };
            let seeds = Seeds::weighted(weights);
            until_done(|| match mode {
                Mode::Tangent => problem.tangent(&mut memory, seeds, 99),
                _ => problem.adjoint(&mut memory, seeds, 99),
            })
            .unwrap();
            assert!(problem.gradient(&memory).unwrap().stop.is_none());
            let by_weights = numbers(&memory);
            sweep(problem, &mut memory, (What::Stop(crossing), mode), 99).unwrap();
            Close::relative(1e-12).assert(crossing.name(), &by_weights, &numbers(&memory));
        }
    }
}

/// A window applies in every mode of the plan.
#[test]
fn a_window_is_not_lost() {
    let flow = Derived::<_, 2, 1>::new(Figure1);
    let plan = Euler::new(0.05).until(1e-3).theta_only();
    let problem = plan.on(&flow, &[0.3], &[1.0, 0.9]).unwrap();
    let mut memory = completed(problem, &plan, &flow, 1, false);
    assert!(problem.tangent_is_cheaper(&memory));
    let seeds = Seeds::stop(Crossing::Interpolated).through(3);
    problem.adjoint(&mut memory, seeds, usize::MAX).unwrap();
    let expected = problem.gradient(&memory).unwrap().theta.to_vec();
    let done = problem.differentiate(&mut memory, seeds, usize::MAX);
    assert_eq!(done, Ok(Progress::Done));
    let found = problem.gradient(&memory).unwrap().theta;
    Close::relative(1e-12).assert("by the window", found, &expected);
}
