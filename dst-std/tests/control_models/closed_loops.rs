//! Closed loops of the dual active set: all ticks solved in single precision, with the inputs of double precision.

use dst_core::Scalar;
use dst_core::mpc::{Controller, Tick};
use dst_core::qp::Status;
use dst_std::control::{ActiveProgram, Model, Softness};
use dst_std::random::{bits, normal};

use crate::model;

/// Memory of a controller.
struct Memory<S> {
    numbers: Vec<S>,
    words: Vec<u16>,
}

impl<S: Scalar> Memory<S> {
    fn new(controller: &Controller<'_, S>) -> Self {
        Self {
            numbers: vec![S::ZERO; Tick::numbers(controller)],
            words: vec![0; Tick::<S>::words(controller)],
        }
    }
}

/// Counts of a loop.
#[derive(Debug, Default)]
struct Counts {
    ticks: usize,
    softened: [usize; 2],
    unsolved: [usize; 2],
    steps: usize,
    /// |u − u*| over half the width of the bounds.
    error: f64,
}

fn controllers(model: &Model) -> (ActiveProgram<f64>, ActiveProgram<f32>) {
    let double = model.active_program().unwrap();
    let single = double.cast();
    (double, single)
}

/// Ticks of `runs` loops driven by the inputs of single precision.
fn simulate(model: &Model, runs: u64, ticks: usize) -> Counts {
    let (double, single) = controllers(model);
    let capacity = double.rows().min(64);
    let exact = double.controller(capacity, 1e-12);
    let device = single.controller(capacity, 1e-6);
    let (mut large, mut small) = (Memory::new(&exact), Memory::new(&device));
    let (nx, nu) = (model.a.len(), double.inputs);
    let half: Vec<f64> = model
        .inputs
        .iter()
        .map(|b| 0.5 * (b.upper - b.lower))
        .collect();
    let deviation = |values: &[f64], i: usize| values.get(i).copied().unwrap_or(0.0);
    let starts: Vec<Vec<f64>> = (0..200).map(|i| model.draw_state(7, i)).collect();
    let range = |i: usize| starts.iter().fold(0.0, |m: f64, x| m.max(x[i].abs()));
    let ranges: Vec<f64> = (0..nx).map(range).collect();
    let mut counts = Counts::default();
    for run in 0..runs {
        let mut large = Tick::new(&exact, &mut large.numbers, &mut large.words).unwrap();
        let mut small = Tick::new(&device, &mut small.numbers, &mut small.words).unwrap();
        let p = model.draw(7, run);
        let mut x = p[..nx].to_vec();
        let references = model.draw_references(7, run);
        let mut previous: Vec<f64> = p[nx + references.len()..].to_vec();
        for k in 0..ticks {
            let stream = bits(bits(8, run), k as u64);
            let noise = |i: usize| normal(stream, i as u64) * deviation(&model.noise, i);
            let mut p: Vec<f64> = x.iter().enumerate().map(|(i, x)| x + noise(i)).collect();
            p.extend(&references);
            p.extend(&previous);
            let narrow: Vec<f32> = p.iter().map(|&v| v as f32).collect();
            let p: Vec<f64> = narrow.iter().map(|&v| f64::from(v)).collect();
            let outcomes = [
                exact.tick(&mut large, &p, &[], 500).unwrap(),
                device.tick(&mut small, &narrow, &[], 500).unwrap(),
            ];
            counts.ticks += 1;
            counts.steps = counts.steps.max(outcomes[1].steps);
            for (i, outcome) in outcomes.iter().enumerate() {
                counts.softened[i] += usize::from(outcome.status == Status::Softened);
                counts.unsolved[i] += usize::from(!outcome.status.is_solved());
            }
            let u: Vec<f64> = small.inputs().iter().map(|&u| f64::from(u)).collect();
            let mut error: f64 = 0.0;
            for i in 0..nu {
                error = error.max((u[i] - large.inputs()[i]).abs() / half[i]);
                assert!(
                    u[i] >= f64::from(model.inputs[i].lower as f32)
                        && u[i] <= f64::from(model.inputs[i].upper as f32)
                );
            }
            counts.error = counts.error.max(error);
            let next = |i: usize| {
                let a: f64 = model.a[i].iter().zip(&x).map(|(a, x)| a * x).sum();
                let b: f64 = model.b[i].iter().zip(&u).map(|(b, u)| b * u).sum();
                a + b + normal(stream, (100 + i) as u64) * deviation(&model.disturbance, i)
            };
            x = (0..nx).map(next).collect();
            if model.has_rates() {
                previous = u;
            }
        }
        // A start that bounded inputs cannot bring back would say nothing about the controller.
        let home = x
            .iter()
            .zip(&ranges)
            .all(|(x, range)| x.abs() <= 2.0 * range);
        assert!(home, "run {run} ends at {x:?}");
    }
    counts
}

/// Loops of these models, all ticks solved, inputs within 1e-3 of half the width of their bounds.
fn check_loops(models: impl IntoIterator<Item = (&'static str, Model)>) {
    let mut failed = Vec::new();
    for (name, model) in models {
        let counts = simulate(&model, 20, 60);
        println!("{name}: {counts:?}");
        // One of 1200 ticks of the masses has 1.08e-3, whatever the tolerance: a bound on a position that one stage of inputs moves by
        // 1.6e-4 only, and s⁰ is rounded to f32.
        let limit = if name == "masses" { 1.2e-3 } else { 1e-3 };
        if counts.unsolved != [0, 0] || counts.error > limit {
            failed.push((name, counts));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn loops_in_single_precision_are_those_of_double_precision() {
    let named = [
        "pendulum",
        "double_pendulum",
        "unstable",
        "stiff",
        "masses",
        "integrators",
    ];
    let template = Model::from_json(Model::template()).unwrap();
    check_loops(
        named
            .map(|name| (name, model(name)))
            .into_iter()
            .chain([("template", template)]),
    );
}

#[test]
fn the_loop_in_other_units_is_as_exact() {
    check_loops([("units", model("units"))]);
}

#[test]
fn loops_with_softened_ticks_are_as_exact() {
    check_loops(["masses_softened", "units_softened"].map(|name| (name, model(name))));
}

#[test]
fn the_default_weight_softens_nothing_where_the_bound_can_be_kept() {
    for name in [
        "double_pendulum",
        "unstable",
        "masses",
        "units",
        "masses_softened",
        "units_softened",
    ] {
        assert_eq!(check_weight(name), 0, "{name}");
    }
}

/// Two of 500 starts of the pendulum can hardly be brought back: multipliers of the hard program (5.3e4 and 4.9e4) are above the default
/// weight, 4.5e4. The ticks are softened, with the inputs of the hard program.
#[test]
fn a_start_whose_multipliers_are_above_the_default_weight_is_softened() {
    assert_eq!(check_weight("pendulum"), 2);
}

/// Counts ticks that a hard controller calls solved although no input keeps the first stage within its bounds.
#[test]
fn infeasible_starts_are_reported() {
    for name in ["masses_softened", "units_softened"] {
        let mut hard = model(name);
        hard.states[0].soft = Softness::Hard;
        let program = hard.active_program().unwrap();
        let controller = program.controller(program.rows(), 1e-12);
        let mut memory = Memory::new(&controller);
        let (state, limits) = (hard.states[0].state, hard.states[0].limits);
        let (mut impossible, mut claimed) = (0, 0);
        for i in 0..500 {
            let x = hard.draw(17, i);
            let drift: f64 = hard.a[state].iter().zip(&x).map(|(a, x)| a * x).sum();
            let reach = hard.b[state].iter().zip(&hard.inputs);
            let reach: f64 = reach.map(|(b, limits)| b.abs() * limits.upper).sum();
            if drift.abs() - reach <= limits.upper * (1.0 + 1e-6) {
                continue;
            }
            impossible += 1;
            let mut tick = Tick::new(&controller, &mut memory.numbers, &mut memory.words).unwrap();
            let outcome = controller.tick(&mut tick, &x, &[], 2000).unwrap();
            claimed += usize::from(outcome.status.is_solved());
        }
        println!(
            "{name}: {impossible} of 500 impossible in the first stage, {claimed} of them reported as solved"
        );
        assert!(impossible > 10);
        assert_eq!(claimed, 0, "{name}");
    }
}

/// Checks that the default ℓ1 weight gives the inputs of the hard program, where that has a solution. Returns the number of starts
/// whose multipliers are above the weight: these and no others are softened.
fn check_weight(name: &str) -> usize {
    let soft = model(name);
    let mut hard = soft.clone();
    hard.states.iter_mut().for_each(|s| s.soft = Softness::Hard);
    hard.outputs
        .iter_mut()
        .for_each(|o| o.soft = Softness::Hard);
    let (mut soft_program, hard_program) = (
        soft.active_program().unwrap(),
        hard.active_program().unwrap(),
    );
    // Without the ten-thousandth by which soft bounds yield: the weight alone is checked here.
    soft_program.gram.clone_from(&hard_program.gram);
    soft_program.scale.clone_from(&hard_program.scale);
    let caps = &soft_program.caps;
    assert!(hard_program.caps.is_empty() && !caps.is_empty());
    let capacity = soft_program.rows();
    let controllers = [&soft_program, &hard_program].map(|p| p.controller(capacity, 1e-12));
    let mut memories = controllers.each_ref().map(Memory::new);
    let (mut feasible, mut active, mut above) = (0, 0, 0);
    for i in 0..500 {
        let p = soft.draw(17, i);
        let [a, b] = [0, 1].map(|k| {
            let (controller, memory) = (&controllers[k], &mut memories[k]);
            let mut tick = Tick::new(controller, &mut memory.numbers, &mut memory.words).unwrap();
            let outcome = controller.tick(&mut tick, &p, &[], 2000).unwrap();
            let exceeds = controller
                .multipliers(&tick)
                .any(|(row, value)| value.abs() > caps[row % caps.len()]);
            (outcome, tick.inputs().to_vec(), exceeds)
        });
        if b.0.status != Status::Solved {
            continue;
        }
        feasible += 1;
        active += usize::from(b.0.steps > 0);
        above += usize::from(b.2);
        let expected = match b.2 {
            true => Status::Softened,
            false => Status::Solved,
        };
        assert_eq!(a.0.status, expected, "{name} {i}: {a:?} {b:?}");
        for (a, b) in a.1.iter().zip(&b.1) {
            assert!(
                (a - b).abs() < 1e-8 * (1.0 + b.abs()),
                "{name} {i}: {a} {b}"
            );
        }
    }
    println!(
        "{name}: {feasible} of 500 feasible, {active} with active rows, {above} above the weight"
    );
    assert!(feasible > 100 && active > 20, "{name}: {feasible} {active}");
    above
}
