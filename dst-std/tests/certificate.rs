//! Exported controllers keep what they say: accuracy on fresh ticks, late runs within the certified bound.

use dst_core::qp::Status;
use dst_std::control::export::{Request, SolverChoice, export};
use dst_std::control::{
    Bench, BenchSizes, Device, Limits, Model, Requirement, RunResult, Runs, Scenario, Softness,
    Start, StateBound, cold_ticks, exact_session, solve_exactly, warm_loops,
};
use dst_std::parallel;
use dst_std::progress::Progress;

const TICKS: usize = 30;

/// A motor with a bounded voltage and a bounded speed.
fn motor() -> Model {
    Model::from_json(include_str!("../../tests/c/controllers/motor.json")).unwrap()
}

/// A plant with an eigenvalue of 1.2.
fn unstable() -> Model {
    Model::from_json(include_str!("models/unstable.json")).unwrap()
}

fn scenario(model: &Model) -> Scenario {
    Scenario::of_model("model", model).unwrap()
}

fn bench<'a>(scenario: &'a Scenario, progress: &'a Progress) -> Bench<'a> {
    Bench {
        scenario,
        seed: 5,
        ticks: TICKS,
        sizes: BenchSizes {
            runs: 100,
            cold: 300,
            few: 10,
            work: 1e8,
        },
        strict: true,
        progress,
    }
}

/// Runs of a stream that no export draws from.
fn fresh(scenario: &Scenario, device: &Device, count: usize, budget: u32) -> Vec<RunResult> {
    let progress = Progress::hidden();
    let runs = Runs {
        stream: 0x0dd5_7e11,
        count,
        ticks: TICKS,
        budget,
    };
    warm_loops(
        scenario,
        device,
        runs,
        &progress.task("fresh", count),
        &progress,
    )
    .unwrap()
}

fn late_share(runs: &[RunResult]) -> f64 {
    let late = |run: &&RunResult| run.len() < TICKS || run.iter().any(|t| !t.is_solved());
    runs.iter().filter(late).count() as f64 / runs.len() as f64
}

#[test]
fn late_runs_are_within_the_bound() {
    for model in [motor(), unstable()] {
        let scenario = scenario(&model);
        let request = Request {
            ticks: TICKS,
            late: 5e-3,
            solver: SolverChoice::ActiveSet,
            ..Request::default()
        };
        let made = export(&scenario, &request, &Progress::hidden()).unwrap();
        let summary = &made.summary;
        assert!(summary.late.bound <= 5e-3, "{:?}", summary.late);
        // 5e-3 at half of 5 % takes 736 runs.
        assert!(summary.late.runs >= 736);
        let runs = fresh(&scenario, &made.device, 10_000, summary.budget);
        let share = late_share(&runs);
        assert!(share <= summary.late.bound, "{share} {:?}", summary.late);
        // The certificate can fail: with one step per tick, more runs are late than it allows.
        let share = late_share(&fresh(&scenario, &made.device, 2000, 1));
        assert!(share > summary.late.bound, "{share} {:?}", summary.late);
        let errors = runs.iter().flatten().map(|t| t.error);
        let worst = errors.fold(0.0, f32::max);
        assert!(f64::from(worst) <= request.accuracy, "{worst}");
    }
}

#[test]
fn a_budget_that_fails_is_raised_with_fresh_runs() {
    let (scenario, progress) = (scenario(&motor()), Progress::hidden());
    let bench = bench(&scenario, &progress);
    let set = bench.calibrate_set(1e-3).unwrap();
    let mut device = Device::ActiveSet(set.device);
    let required = Requirement {
        late: 0.02,
        confidence: 0.9,
        quick: false,
    };
    let found = bench.certify(&mut device, 3, 1e-3, required).unwrap();
    assert!(found.attempt > 1 && found.budget > 3, "{found:?}");
    assert!(found.bound <= 0.02 && found.confidence == 0.9);
    // ln(δ·2^−j)/ln(1 − 0.02), rounded up.
    let delta = 0.1 * 0.5_f64.powi(found.attempt as i32);
    let needed = (delta.ln() / 0.98_f64.ln()).ceil() as usize;
    assert!(found.runs.abs_diff(needed) <= 1, "{found:?}");
    let share = late_share(&fresh(&scenario, &device, 2000, found.budget));
    assert!(share <= found.bound, "{share}");
}

#[test]
fn the_accuracy_is_met_on_fresh_ticks_by_both_solvers() {
    let (scenario, progress) = (scenario(&motor()), Progress::hidden());
    let bench = bench(&scenario, &progress);
    for accuracy in [1e-2, 1e-4] {
        let set = bench.calibrate_set(accuracy).unwrap();
        let (grid, _) = bench.jacobi_grid(accuracy).unwrap();
        let devices = [
            Device::ActiveSet(set.device),
            Device::Admm(grid.device.unwrap()),
        ];
        for device in devices {
            let cold = Runs {
                stream: 0xc01d,
                count: 500,
                ticks: TICKS,
                budget: 1000,
            };
            let cold = cold_ticks(&scenario, &device, cold, &progress).unwrap();
            let loops = fresh(&scenario, &device, 100, 1000);
            let all = loops.iter().flatten().chain(&cold);
            let worst = all.map(|t| t.error).fold(0.0, f32::max);
            assert!(
                f64::from(worst) <= accuracy,
                "{}: {worst} {accuracy}",
                device.solver()
            );
            // Not by solving everything exactly: ADMM stops early.
            let early =
                matches!(device, Device::ActiveSet(_)) || f64::from(worst) > 1e-3 * accuracy;
            assert!(early, "{worst} {accuracy}");
        }
    }
    let refused = bench.calibrate_set(1e-9).unwrap_err().to_string();
    assert!(refused.contains("the smallest possible is"), "{refused}");
}

#[test]
fn a_model_that_is_never_solved_is_refused() {
    let mut model = motor();
    model.states = vec![StateBound {
        state: 1,
        limits: Limits::between(-0.6, 0.6),
        soft: Softness::Hard,
    }];
    model.start = Start::Box {
        lower: vec![-1.0, 5.0],
        upper: vec![1.0, 6.0],
    };
    let (scenario, progress) = (scenario(&model), Progress::hidden());
    let refused = bench(&scenario, &progress).calibrate_set(1e-3);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("can be solved"), "{text}");
    assert!(text.contains("state 1 5 to 6"), "{text}");
}

/// The active set in double precision against ADMM with tight tolerances, an independent solver.
#[test]
fn exact_inputs_are_those_of_another_solver() {
    let model = motor();
    let scenario = scenario(&model);
    let program = model.program().unwrap();
    let pool = model.ticks(&program, 3, 40);
    let base = program.jacobi().unwrap();
    let knobs = dst_std::control::Knobset::each_stage(&program, base, &[1, 1], &[]);
    let tuned = knobs.tuned(&program, &knobs.start(1.0, 1.6)).unwrap();
    exact_session(&scenario.active, |exact| {
        let mut compared = 0;
        for i in 0..40 {
            exact.reset();
            let (p, _) = scenario.cold(3, i as u64);
            let found = exact.solve(&p, &[]).unwrap();
            if found.status == Status::Softened {
                continue;
            }
            // The pool has the same tick before it is rounded.
            let u = solve_exactly(&program, &pool, i, tuned.phases(), 1e-9).unwrap();
            assert!(
                (u[0] - found.inputs[0]).abs() < 1e-5,
                "{i}: {u:?} {found:?}"
            );
            compared += 1;
        }
        assert!(compared > 20, "{compared}");
    })
    .unwrap();
}

#[test]
fn threads_change_nothing() {
    let scenario = scenario(&unstable());
    let request = Request {
        ticks: TICKS,
        quick: true,
        ..Request::default()
    };
    let run = || export(&scenario, &request, &Progress::hidden()).unwrap();
    let [one, two] = [1, 2].map(|threads| parallel::with(threads, run).unwrap());
    assert_eq!(one.summary, two.summary);
    assert_eq!(one.files, two.files);
}
