//! Calls out of order give `Error::Order`; a memory of another problem gives `Error::Changed`. Neither changes anything: the
//! correct call continues with the same bits.

use dst_core::checkpoint::{Mark, Slots};
use dst_core::solve::{Borrowed, Cursor, Workspace};
use dst_core::system::Derived;
use dst_core::{
    Crossing, Error, Euler, HeapMemory, Heun, Integrator, Map, Memory, Mode, Plan, Problem,
    Progress, Reading, Rk4, Seeds, Status, SymplecticEuler, System, formula,
};
use dst_models::{Figure1, Pendulum};
use dst_tests::{bits_of, until_done};

const THETA: [f64; 1] = [0.3];
const X0: [f64; 2] = [1.0, 0.9];

fn flow() -> Derived<Figure1, 2, 1> {
    Derived::new(Figure1)
}

fn plan() -> Plan<f64, Euler<f64>> {
    Euler::new(0.05).until(1e-3)
}

fn stop() -> Seeds<f64> {
    Seeds::stop(Crossing::Slope)
}

/// All calls that are possible on a started memory.
fn every_call<I: Integrator<f64>, Y: System<f64>>(
    problem: Problem<'_, f64, Y, I>,
    memory: &mut (impl Workspace<f64> + ?Sized),
) -> [(&'static str, Result<(), Error>); 8] {
    let weighted = Seeds::weighted(|_| Reading::criterion(1.0));
    [
        ("advance", problem.advance(memory, 1).map(|_| ())),
        ("complete", problem.complete(memory).map(|_| ())),
        ("watch", problem.watch(memory, 0, |_, _| {}).map(|_| ())),
        ("iterate", problem.iterate(memory).map(|_| ())),
        ("adjoint", problem.adjoint(memory, stop(), 1).map(|_| ())),
        ("tangent", problem.tangent(memory, weighted, 1).map(|_| ())),
        (
            "either",
            problem.differentiate(memory, stop(), 1).map(|_| ()),
        ),
        ("gradient", problem.gradient(memory).map(|_| ())),
    ]
}

#[track_caller]
fn refused(calls: [(&'static str, Result<(), Error>); 8], error: Error, what: &str) {
    for (call, found) in calls {
        assert_eq!(found, Err(error), "{what}: {call}");
    }
}

#[test]
fn nothing_works_before_start() {
    let system = flow();
    let problem = plan().on(&system, &THETA, &X0).unwrap();
    let mut memory = Memory::<f64, 2, 1, 4>::new();
    refused(every_call(problem, &mut memory), Error::Order, "an array");
    let mut memory = HeapMemory::new(&plan(), &system, 4);
    refused(
        every_call(problem, &mut memory),
        Error::Order,
        "on the heap",
    );
    problem.start(&mut memory).unwrap();
    assert!(problem.complete(&mut memory).unwrap().is_reached());
}

#[test]
fn forward_is_over_when_the_sweep_begins() {
    let system = flow();
    let problem = plan().on(&system, &THETA, &X0).unwrap();
    for slots in [1, 4, 200] {
        for mode in [Mode::Adjoint, Mode::Tangent] {
            let mut memory = HeapMemory::new(&plan(), &system, slots);
            problem.start(&mut memory).unwrap();
            let early = problem.gradient(&memory).map(|_| ());
            assert_eq!(early, Err(Error::Order), "before the run");
            problem.advance(&mut memory, 7).unwrap();
            assert_eq!(problem.gradient(&memory).map(|_| ()), Err(Error::Order));
            problem.complete(&mut memory).unwrap();
            assert_eq!(problem.gradient(&memory).map(|_| ()), Err(Error::Order));
            let call = |memory: &mut HeapMemory<f64>, budget| match mode {
                Mode::Tangent => problem.tangent(memory, stop(), budget),
                _ => problem.adjoint(memory, stop(), budget),
            };
            // After any number of operations, and after the last one.
            let mut calls = 0;
            loop {
                let progress = call(&mut memory, 1).unwrap();
                let late = problem.advance(&mut memory, 1).map(|_| ());
                assert_eq!(late, Err(Error::Order), "{slots} slots, {mode:?}");
                let late = problem.complete(&mut memory).map(|_| ());
                assert_eq!(late, Err(Error::Order));
                let late = problem.watch(&mut memory, 1, |_, _| panic!()).map(|_| ());
                assert_eq!(late, Err(Error::Order));
                if progress == Progress::Done {
                    break;
                }
                calls += 1;
                // Neither the other mode nor a result.
                let other = match mode {
                    Mode::Tangent => problem.adjoint(&mut memory, stop(), 1),
                    _ => problem.tangent(&mut memory, stop(), 1),
                };
                assert_eq!(other, Err(Error::Order));
                assert_eq!(problem.gradient(&memory).map(|_| ()), Err(Error::Order));
            }
            assert!(calls > 10);
            let found = bits_of(problem.gradient(&memory).unwrap());
            // The rejected calls have changed nothing.
            let mut clean = HeapMemory::new(&plan(), &system, slots);
            problem.start(&mut clean).unwrap();
            problem.complete(&mut clean).unwrap();
            call(&mut clean, usize::MAX).unwrap();
            assert_eq!(found, bits_of(problem.gradient(&clean).unwrap()));
        }
    }
}

/// A start is always possible, and discards everything.
#[test]
fn a_start_is_possible_at_any_time() {
    let system = flow();
    let problem = plan().on(&system, &THETA, &X0).unwrap();
    let mut memory = HeapMemory::new(&plan(), &system, 4);
    let whole = |memory: &mut HeapMemory<f64>| {
        problem.start(memory).unwrap();
        problem.complete(memory).unwrap();
        problem.adjoint(memory, stop(), usize::MAX).unwrap();
        bits_of(problem.gradient(memory).unwrap())
    };
    let expected = whole(&mut memory);
    for operations in [0, 1, 30] {
        problem.start(&mut memory).unwrap();
        problem.advance(&mut memory, 40).unwrap();
        assert_eq!(whole(&mut memory), expected);
        for tangent in [false, true] {
            problem.start(&mut memory).unwrap();
            problem.complete(&mut memory).unwrap();
            let progress = if tangent {
                problem.tangent(&mut memory, stop(), operations)
            } else {
                problem.adjoint(&mut memory, stop(), operations)
            };
            assert!(matches!(progress, Ok(Progress::Running { .. })));
            assert_eq!(whole(&mut memory), expected);
        }
    }
}

/// A sweep that has begun keeps its mode, whatever the mode of the plan that continues it.
#[test]
fn the_mode_may_change_between_two_calls() {
    let system = flow();
    let with = |mode| plan().mode(mode).on(&system, &THETA, &X0).unwrap();
    let mut memory = HeapMemory::new(&plan(), &system, 4);
    with(Mode::Auto).start(&mut memory).unwrap();
    with(Mode::Auto).complete(&mut memory).unwrap();
    let adjoint = with(Mode::Adjoint);
    adjoint.differentiate(&mut memory, stop(), 3).unwrap();
    until_done(|| with(Mode::Tangent).differentiate(&mut memory, stop(), 3)).unwrap();
    let g = adjoint.gradient(&memory).unwrap();
    assert!(g.evaluations.pullback > 0 && g.evaluations.pushforward == 0);
}

/// Every difference between two problems, at every stage of a run.
#[test]
fn another_problem_is_rejected() {
    fn check<I: Integrator<f64>, Y: System<f64>>(
        what: &str,
        plan: Plan<f64, I>,
        system: &Y,
        theta: &[f64],
        x0: &[f64],
    ) {
        let own_system = flow();
        let own = self::plan().on(&own_system, &THETA, &X0).unwrap();
        let other = plan.on(system, theta, x0).unwrap();
        let mut expected = None;
        for disturbed in [false, true] {
            let mut memory = HeapMemory::new(&self::plan(), &own_system, 5);
            let disturb = |memory: &mut HeapMemory<f64>, when: &str| {
                if disturbed {
                    let what = format!("{what}, {when}");
                    refused(every_call(other, memory), Error::Changed, &what);
                }
            };
            own.start(&mut memory).unwrap();
            disturb(&mut memory, "started");
            while let Status::Running(_) = own.advance(&mut memory, 20).unwrap() {
                disturb(&mut memory, "running");
            }
            disturb(&mut memory, "stopped");
            let mut bits = vec![];
            for mode in [Mode::Adjoint, Mode::Tangent] {
                until_done(|| {
                    disturb(&mut memory, "sweeping");
                    match mode {
                        Mode::Tangent => own.tangent(&mut memory, stop(), 50),
                        _ => own.adjoint(&mut memory, stop(), 50),
                    }
                })
                .unwrap();
                disturb(&mut memory, "done");
                bits.push(bits_of(own.gradient(&memory).unwrap()));
            }
            let expected = expected.get_or_insert(bits.clone());
            assert_eq!(&bits, expected, "{what}");
        }
    }
    let (flow, at) = (flow(), (&THETA[..], &X0[..]));
    let euler = Euler::new(0.05);
    check(
        "h",
        Euler::new(0.05_f64.next_up()).until(1e-3),
        &flow,
        at.0,
        at.1,
    );
    check(
        "epsilon",
        euler.until(1e-3_f64.next_down()),
        &flow,
        at.0,
        at.1,
    );
    check("t0", plan().from_time(1e-300), &flow, at.0, at.1);
    check("the limit", plan().at_most(999_999), &flow, at.0, at.1);
    check("a stay", plan().staying(1), &flow, at.0, at.1);
    check("all", plan().staying_to_the_end(), &flow, at.0, at.1);
    check("stages", Heun::new(0.05).until(1e-3), &flow, at.0, at.1);
    check("four stages", Rk4::new(0.05).until(1e-3), &flow, at.0, at.1);
    let pendulum = Derived::<_, 2, 2>::new(Pendulum);
    check("parameters", plan(), &pendulum, &[2.0, 0.3], &X0);
    let one = formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0]);
    check("states", plan(), &one, &THETA, &X0[..1]);
    let three = formula!(|theta: 1, x: 3, _t| [theta[0] * x[0], x[1], x[2]], |x| x[0]);
    check("more states", plan(), &three, &THETA, &[1.0; 3]);
}

/// Cursor of one memory with the vectors of another: other slots, or any other length.
#[test]
fn another_memory_is_rejected() {
    let system = flow();
    let problem = plan().on(&system, &THETA, &X0).unwrap();
    // Rows, params, numbers in slots, slots.
    let own = [14, 2, 8, 4];
    let mut numbers = [const { [0.0; 64] }; 3];
    let mut marks = [Mark::EMPTY; 8];
    let mut cursor = Cursor::new();
    macro_rules! memory {
        ($lengths:expr) => {{
            let [rows, params, slots] = &mut numbers;
            Borrowed {
                rows: &mut rows[..$lengths[0]],
                params: &mut params[..$lengths[1]],
                slots: Slots::Memory(&mut slots[..$lengths[2]]),
                marks: &mut marks[..$lengths[3]],
                cursor: &mut cursor,
            }
        }};
    }
    let others = [
        [15, 2, 8, 4],
        [14, 3, 8, 4],
        [14, 2, 9, 4],
        [14, 2, 8, 3],
        [14, 2, 8, 1],
        [14, 2, 8, 0],
        [14, 2, 10, 5],
        // Too short for every call.
        [13, 2, 8, 4],
        [14, 1, 8, 4],
        [14, 2, 7, 4],
    ];
    problem.start(&mut memory!(own)).unwrap();
    let mut moments = 0;
    loop {
        for other in others {
            let what = format!("{other:?}");
            let calls = every_call(problem, &mut memory!(other));
            refused(calls, Error::Changed, &what);
        }
        moments += 1;
        let mut memory = memory!(own);
        match problem.advance(&mut memory, 40).map(|s| s.is_reached()) {
            Ok(false) => {}
            Ok(true) | Err(Error::Order) => {
                if problem.adjoint(&mut memory, stop(), 40).unwrap() == Progress::Done {
                    break;
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(moments > 5, "{moments}");
    let found = bits_of(problem.gradient(&memory!(own)).unwrap());
    let mut memory = HeapMemory::new(&plan(), &system, 9);
    problem.start(&mut memory).unwrap();
    problem.complete(&mut memory).unwrap();
    problem.adjoint(&mut memory, stop(), usize::MAX).unwrap();
    assert_eq!(found, bits_of(problem.gradient(&memory).unwrap()));
}

/// The same h and number of stages do not imply the same step.
#[test]
fn another_integrator_is_rejected() {
    let pendulum = Derived::<_, 2, 2>::new(Pendulum);
    let (theta, x0) = ([2.0, 0.3], [1.2, 0.1]);
    let mut memory = Memory::<f64, 2, 2, 4>::new();
    let euler = Euler::new(1.0).until(1e-9).at_most(5);
    let euler = euler.on(&pendulum, &theta, &x0).unwrap();
    let map = Map.until(1e-9).at_most(5);
    let map = map.on(&pendulum, &theta, &x0).unwrap();
    let symplectic = SymplecticEuler::new(1.0).until(1e-9).at_most(5);
    let symplectic = symplectic.on(&pendulum, &theta, &x0).unwrap();
    euler.start(&mut memory).unwrap();
    refused(every_call(map, &mut memory), Error::Changed, "Map");
    let calls = every_call(symplectic, &mut memory);
    refused(calls, Error::Changed, "symplectic Euler");
}

/// Tangents for θ alone cannot be continued as tangents for θ and x0.
#[test]
fn directions_do_not_change_during_a_sweep() {
    let system = flow();
    let all = plan().on(&system, &THETA, &X0).unwrap();
    let few = plan().theta_only().on(&system, &THETA, &X0).unwrap();
    let mut memory = HeapMemory::new(&plan(), &system, 4);
    let expected = {
        all.start(&mut memory).unwrap();
        all.complete(&mut memory).unwrap();
        all.tangent(&mut memory, stop(), usize::MAX).unwrap();
        bits_of(all.gradient(&memory).unwrap())
    };
    few.start(&mut memory).unwrap();
    if few.complete(&mut memory).is_ok() {
        few.tangent(&mut memory, stop(), 10).unwrap();
        // Either rejected or correct.
        match until_done(|| all.tangent(&mut memory, stop(), 10)) {
            Ok(()) => assert_eq!(bits_of(all.gradient(&memory).unwrap()), expected),
            Err(error) => assert_eq!(error, Error::Changed),
        }
    }
}
