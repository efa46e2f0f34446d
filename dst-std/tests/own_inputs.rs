//! Closed loops fed by their own inputs, in single precision: a state that lies on its bound makes no tick infeasible and stays there.
//!
//! The controllers are those of an export: bounds on outputs are soft, bounds on inputs hard.

use dst_core::qp::Status;
use dst_std::control::export::{Exported, Request, SolverChoice, export};
use dst_std::control::plants::{quadrotor, safety_filter};
use dst_std::control::{Model, Scenario, Stream};
use dst_std::progress::Progress;

const RUNS: u64 = 20;
const TICKS: usize = 60;
/// Part of its bound by which a state may exceed it.
const ALLOWED: f64 = 1e-3;

/// Counts of all ticks.
#[derive(Debug, Default)]
struct Counts {
    ticks: usize,
    softened: usize,
    late: usize,
    infeasible: usize,
    /// Ticks whose state is within 1e-3 of a bound, or beyond it.
    at_bound: usize,
    /// Largest |state| over its bound, after the first tick.
    state: f64,
    /// Largest |input| over its bound.
    input: f64,
}

/// Largest |state| over its bound; 0 without bounds.
type Part = dyn Fn(&[f32]) -> f64;

fn simulate(scenario: &Scenario, made: &Exported, part_of_bound: &Part) -> Counts {
    let mut counts = Counts::default();
    let bounds = &scenario.active.upper[..scenario.active.inputs];
    for number in 0..RUNS {
        made.device
            .session(|session| {
                let mut run = scenario.run(Stream::TestLoops.of(1), number);
                for tick in 0..=TICKS {
                    let (p, extra) = scenario.measure(&mut run, TICKS);
                    if tick > 0 {
                        let part = part_of_bound(&p);
                        counts.state = counts.state.max(part);
                        counts.at_bound += usize::from(part > 1.0 - ALLOWED);
                    }
                    if tick == TICKS {
                        break;
                    }
                    let outcome = session.tick(&p, &extra, made.summary.budget);
                    counts.ticks += 1;
                    match outcome.status {
                        Status::Solved => {}
                        Status::Softened => counts.softened += 1,
                        Status::Late => counts.late += 1,
                        Status::Infeasible => counts.infeasible += 1,
                    }
                    for (&u, bound) in session.inputs().iter().zip(bounds.iter().cycle()) {
                        counts.input = counts.input.max(f64::from(u.abs()) / bound);
                    }
                    scenario.advance(&mut run, session.inputs());
                }
            })
            .unwrap();
    }
    counts
}

fn check(scenario: &Scenario, part_of_bound: &Part) -> Counts {
    let request = Request {
        solver: SolverChoice::ActiveSet,
        ticks: TICKS,
        quick: true,
        ..Request::default()
    };
    let made = export(scenario, &request, &Progress::hidden()).unwrap();
    let counts = simulate(scenario, &made, part_of_bound);
    println!("{}: {counts:?}", scenario.name);
    assert_eq!(counts.ticks, RUNS as usize * TICKS);
    assert_eq!((counts.infeasible, counts.late), (0, 0), "{counts:?}");
    assert!(counts.state <= 1.0 + ALLOWED, "{counts:?}");
    assert!(counts.input <= 1.0 && counts.input > 0.99, "{counts:?}");
    counts
}

#[test]
fn the_safety_filter_keeps_its_states_within_their_bounds() {
    let largest = |x: &[f32]| x.iter().fold(0.0, |m: f32, x| m.max(x.abs())).into();
    let counts = check(&Scenario::of_plant(&safety_filter()), &largest);
    // The nominal inputs lead out of the box, so states do lie on their bounds.
    assert!(counts.at_bound > 300, "{counts:?}");
}

/// Its only bounds are those of the inputs.
#[test]
fn the_quadrotor_keeps_its_inputs_within_their_bounds() {
    check(&Scenario::of_plant(&quadrotor().unwrap()), &|_| 0.0);
}

/// The default softness of a model file has a small quadratic part.
#[test]
fn a_motor_keeps_its_speed_within_its_bound() {
    let motor = include_str!("../../tests/c/controllers/motor.json");
    let motor = Model::from_json(motor).unwrap();
    let scenario = Scenario::of_model("motor", &motor).unwrap();
    let counts = check(&scenario, &|x| f64::from(x[1].abs()) / 0.6);
    assert!(counts.at_bound > 20, "{counts:?}");
}
