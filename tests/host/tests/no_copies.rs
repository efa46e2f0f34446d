//! With N + 1 slots no state is copied between rows and slots: x_{k+1} is written to its slot, and evaluated and read there in
//! every sweep. The test compares the addresses that the integrator and the system receive.

use std::cell::RefCell;

use dst_core::checkpoint::{Mark, Slots};
use dst_core::solve::{Borrowed, Cursor};
use dst_core::system::Derived;
use dst_core::{
    Bar, Cost, Crossing, Dims, Direction, Error, Euler, Heun, Integrator, Map, Mode, Plan, Point,
    Reading, Rk4, Scalar, Seed, Seeds, Status, SymplecticEuler, System,
};
use dst_models::Pendulum;
use dst_tests::{RandomSystem, Steps, until_done};

/// Addresses in order of use.
#[derive(Default)]
struct Log {
    /// x_k and x_{k+1} of every forward step, and the record.
    steps: RefCell<Vec<[usize; 3]>>,
    /// x_k of every backward step, and the record.
    pulls: RefCell<Vec<[usize; 2]>>,
}

fn address<S>(slice: &[S]) -> usize {
    slice.as_ptr() as usize
}

/// Integrator that records the addresses of its arguments.
#[derive(Clone, Copy)]
struct Watched<'l, I> {
    inner: I,
    log: &'l Log,
}

impl<S: Scalar, I: Integrator<S>> Integrator<S> for Watched<'_, I> {
    fn stages(&self) -> usize {
        self.inner.stages()
    }
    fn kind(&self) -> u8 {
        self.inner.kind()
    }
    fn is_map(&self) -> bool {
        self.inner.is_map()
    }
    fn step_size(&self) -> S {
        self.inner.step_size()
    }
    fn check(&self, dims: Dims) -> Result<(), Error> {
        self.inner.check(dims)
    }
    fn step<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        rate: &mut [S],
        record: &mut [S],
        next: &mut [S],
        scratch: &mut [S],
    ) -> bool {
        let seen = [address(at.x), address(next), address(record)];
        self.log.steps.borrow_mut().push(seen);
        self.inner.step(system, at, rate, record, next, scratch)
    }
    fn pull<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        reading: Reading<S>,
        lambda: &mut [S],
        theta_bar: &mut [S],
        temporaries: [&mut [S]; 3],
        scratch: &mut [S],
    ) {
        let seen = [address(at.x), address(record)];
        self.log.pulls.borrow_mut().push(seen);
        self.inner.pull(
            system,
            at,
            record,
            reading,
            lambda,
            theta_bar,
            temporaries,
            scratch,
        );
    }
    fn push<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        along: Direction<'_, S>,
        next: &mut [S],
        temporaries: [&mut [S]; 2],
        scratch: &mut [S],
    ) -> Reading<S> {
        let inner = self.inner;
        inner.push(system, at, record, along, next, temporaries, scratch)
    }
}

/// Map that records its own addresses, because its integrator is not called.
struct Noting<'l, Y> {
    inner: Y,
    log: &'l Log,
}

impl<Y: System<f64>> System<f64> for Noting<'_, Y> {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }
    fn rate(
        &self,
        at: Point<'_, f64>,
        next: &mut [f64],
        tape: &mut [f64],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        let seen = [address(at.x), address(next), address(tape)];
        self.log.steps.borrow_mut().push(seen);
        self.inner.rate(at, next, tape, scratch)
    }
    fn pullback(
        &self,
        at: Point<'_, f64>,
        tape: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        scratch: &mut [f64],
    ) {
        self.inner.pullback(at, tape, seed, bar, scratch);
    }
    fn cost(&self) -> Cost {
        Cost {
            pushforward: None,
            ..self.inner.cost()
        }
    }
}

/// Makes a run with this many slots beyond N, and two sweeps over it.
fn check<I: Integrator<f64>, Y: System<f64>>(
    name: &str,
    log: &Log,
    integrator: I,
    epsilon: f64,
    system: &Y,
    theta: &[f64],
    x0: &[f64],
) {
    let plan = Plan::new(
        Watched {
            inner: integrator,
            log,
        },
        epsilon,
    );
    let problem = plan.on(system, theta, x0).unwrap();
    let dims = system.dims();
    let mut rows = vec![0.0; dims.rows_len(integrator.stages())];
    let mut params = vec![0.0; dims.params_len()];
    let n = {
        let mut memory = Borrowed {
            rows: &mut rows,
            params: &mut params,
            slots: Slots::Memory(&mut []),
            marks: &mut [],
            cursor: &mut Cursor::new(),
        };
        problem.start(&mut memory).unwrap();
        problem.complete(&mut memory).unwrap().iterate().steps
    };
    assert!(n > 10, "{name}: N = {n}");
    let size = size_of::<f64>();
    for (spare, records) in [(1, false), (1, true), (5, true)] {
        let count = n + spare;
        // An empty record has no address.
        let kept = if records {
            dims.record_len(integrator.stages())
        } else {
            0
        };
        let stride = dims.states + kept;
        // NaN, so that a read before a write is detected.
        let mut slots = vec![f64::NAN; dims.slots_len(integrator.stages(), count, records)];
        let mut marks = vec![Mark::EMPTY; count];
        let first = address(&slots);
        let place = |k: usize| first + k * stride * size;
        for budget in [usize::MAX, 7, 1] {
            let what = format!("{name}, {count} slots, records {records}, budget {budget}");
            let mut memory = Borrowed {
                rows: &mut rows,
                params: &mut params,
                slots: Slots::Memory(&mut slots),
                marks: &mut marks,
                cursor: &mut Cursor::new(),
            };
            log.steps.borrow_mut().clear();
            problem.start(&mut memory).unwrap();
            while let Status::Running(now) = problem.advance(&mut memory, budget).unwrap() {
                assert_eq!(address(now.state), place(now.steps), "{what}: x_k");
            }
            let end = problem.iterate(&memory).unwrap();
            assert_eq!(end.steps, n);
            assert_eq!(address(end.state), place(n), "{what}: x_N");
            let steps = log.steps.borrow().clone();
            // A map is evaluated at x_N as well.
            assert_eq!(steps.len(), n + usize::from(integrator.is_map()), "{what}");
            for (k, [x, next, record]) in steps.into_iter().enumerate() {
                assert_eq!(x, place(k), "{what}: x_{k} is read where it is kept");
                if k < n || spare > 1 {
                    assert_eq!(next, place(k + 1), "{what}: x_{k} + 1 is written there");
                }
                if kept > 0 {
                    let beside = place(k) + dims.states * size;
                    assert_eq!(record, beside, "{what}: the record of x_{k}");
                }
            }
            for sweep in 0..3 {
                log.pulls.borrow_mut().clear();
                let seeds = Seeds::stop(Crossing::Interpolated);
                until_done(|| problem.adjoint(&mut memory, seeds, budget)).unwrap();
                let pulls = log.pulls.borrow().clone();
                assert_eq!(pulls.len(), n, "{what}");
                for (k, [x, record]) in (0..n).rev().zip(pulls) {
                    assert_eq!(x, place(k), "{what}: x_{k} in sweep {sweep}");
                    if kept > 0 {
                        assert_eq!(record, place(k) + dims.states * size, "{what}");
                    }
                }
                let found = problem.gradient(&memory).unwrap();
                assert_eq!(address(found.state), place(n), "{what}: x_N");
            }
        }
    }
}

#[test]
fn states_are_written_where_they_are_kept() {
    let log = &Log::default();
    let pendulum = &Derived::<_, 2, 2>::new(Pendulum);
    let (theta, x0) = (&[2.0, 0.3], &[1.2, 0.1]);
    check("Euler", log, Euler::new(0.05), 0.3, pendulum, theta, x0);
    check("Heun", log, Heun::new(0.05), 0.3, pendulum, theta, x0);
    check("RK4", log, Rk4::new(0.05), 0.3, pendulum, theta, x0);
    let symplectic = SymplecticEuler::new(0.05);
    check("symplectic", log, symplectic, 0.3, pendulum, theta, x0);
    let map = &Noting {
        inner: Derived::<_, 2, 2>::new(Steps {
            flow: Pendulum,
            h: 0.05,
        }),
        log,
    };
    check("map", log, Map, 0.3, map, theta, x0);
    // With a tape, records are not empty.
    let taped = &RandomSystem::new(4, 3, &[0.3, -0.8, 0.5, 0.9, -0.2, -0.6, 0.1]);
    let (theta, x0) = (&[0.4, -0.2, 0.1], &[1.0, -0.7, 0.4, 0.8]);
    check("Euler, tape", log, Euler::new(0.1), 0.05, taped, theta, x0);
    check("Heun, tape", log, Heun::new(0.1), 0.05, taped, theta, x0);
    check("RK4, tape", log, Rk4::new(0.1), 0.05, taped, theta, x0);
}

/// With fewer slots the first states are in them, and all others alternate between two rows (three for a map).
#[test]
fn beyond_the_slots_states_alternate_between_rows() {
    let log = &Log::default();
    let pendulum = Derived::<_, 2, 2>::new(Pendulum);
    let map = Noting {
        inner: Derived::<_, 2, 2>::new(Steps {
            flow: Pendulum,
            h: 0.05,
        }),
        log,
    };
    fn places<I: Integrator<f64>>(
        log: &Log,
        integrator: I,
        system: &impl System<f64>,
        slots: usize,
    ) -> Vec<usize> {
        let plan = Plan::new(
            Watched {
                inner: integrator,
                log,
            },
            0.3,
        );
        let problem = plan.on(system, &[2.0, 0.3], &[1.2, 0.1]).unwrap();
        let mut memory = dst_core::HeapMemory::new(&plan, system, slots);
        log.steps.borrow_mut().clear();
        problem.start(&mut memory).unwrap();
        problem.complete(&mut memory).unwrap();
        let steps = log.steps.borrow();
        let places: Vec<usize> = steps.iter().map(|[x, ..]| *x).collect();
        // Each step reads the state that the previous one wrote.
        let chained = steps.windows(2).all(|pair| pair[0][1] == pair[1][0]);
        assert!(chained, "{slots} slots");
        places
    }
    let distinct = |places: &[usize]| {
        let mut places = places.to_vec();
        places.sort_unstable();
        places.dedup();
        places.len()
    };
    for slots in [0, 1, 2, 5, 30] {
        for (turns, places) in [
            (2, places(log, Euler::new(0.05), &pendulum, slots)),
            (2, places(log, Rk4::new(0.05), &pendulum, slots)),
            (2, places(log, SymplecticEuler::new(0.05), &pendulum, slots)),
            (3, places(log, Map, &map, slots)),
        ] {
            let (kept, others) = places.split_at(slots);
            assert_eq!(distinct(kept), slots, "{slots} slots");
            assert_eq!(distinct(others), turns, "{slots} slots");
            let by_turns = others.iter().zip(others.iter().skip(turns));
            assert!(by_turns.clone().count() > 20);
            assert!(by_turns.into_iter().all(|(a, b)| a == b), "{slots} slots");
        }
    }
}

/// The best iterate is the only state that is copied, and only when J rises.
#[test]
fn the_best_iterate_is_copied_when_j_rises() {
    let spiral = dst_core::formula!(
        |theta: 1, x: 2, _t| [theta[0] * x[0] - x[1], theta[0] * x[1] + x[0]],
        |x| x[0] * x[0],
    );
    let plan = Euler::new(0.3).until(-1.0).at_most(60).mode(Mode::Adjoint);
    let problem = plan.on(&spiral, &[0.1], &[1.0, 0.5]).unwrap();
    let mut memory = dst_core::HeapMemory::new(&plan, &spiral, 61);
    problem.start(&mut memory).unwrap();
    let (mut copies, mut rises) = (vec![], 0);
    loop {
        let status = problem.advance(&mut memory, 1).unwrap();
        let now = status.iterate();
        let is_best = now.best_criterion == now.criterion;
        rises += usize::from(!is_best);
        assert_eq!(address(now.best) == address(now.state), is_best);
        if !is_best {
            copies.push(address(now.best));
        }
        if let Status::StepLimit(_) = status {
            break;
        }
    }
    assert!(rises > 10 && rises < 60);
    copies.dedup();
    assert_eq!(copies.len(), 1, "always in the same row");
}
