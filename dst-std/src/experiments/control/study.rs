//! One plant: every solver calibrated to the same accuracy, then scored on the same fresh runs.

use super::{
    Certified, ControlConfig, Failure, Findings, Operations, Scored, SolverRow, TickSummary, Trace,
};
use crate::control::{
    Bench, Contender, Device, Requirement, Runs, Scenario, Stream, TickResult, TickStatistics,
    TuningLoss, TuningOptions, cold_ticks, warm_loops,
};
use crate::family::certificate::bound;
use crate::progress::{Counter, Progress};

/// Parts of a study, for the progress bar.
pub(super) const PARTS: usize = 7;

/// Iterations of ADMM that count as never.
const CAP: u32 = 500;

/// Everything about one plant.
pub(super) fn study(
    plant: &'static str,
    scenario: &Scenario,
    config: &ControlConfig,
    task: &Counter,
    progress: &Progress,
) -> Result<Findings, Failure> {
    let done = || {
        task.advance(1);
        progress.check()
    };
    let bench = Bench {
        scenario,
        seed: config.seed,
        ticks: config.ticks,
        sizes: config.bench_sizes(),
        strict: true,
        progress,
    };
    let accuracy = config.accuracy;
    let set = bench.calibrate_set(accuracy)?;
    done()?;
    let (grid, rho) = bench.jacobi_grid(accuracy)?;
    done()?;
    let mut contenders = Vec::new();
    let losses = [
        TuningLoss::StoppingTime,
        TuningLoss::Lah,
        TuningLoss::Unrolled(config.horizon),
    ];
    for loss in losses {
        let mut sizes = config.round_sizes();
        if let Some(first) = contenders.first() {
            sizes.steps = steps_for(first, config);
        }
        contenders.push(match &grid.device {
            Some(start) => bench.admm_tuned_by(loss, (start, rho), accuracy, sizes)?,
            None => Contender {
                name: loss.name(),
                ..grid.clone()
            },
        });
        done()?;
    }
    contenders.push(grid);
    contenders.push(bench.osqp_defaults(accuracy)?);
    let mut active = Device::ActiveSet(set.device.clone());
    let mut rows = vec![row(
        &bench,
        config,
        ("active set", 0),
        Some((&active, bench.most_steps())),
    )?];
    let mut traces = vec![trace(
        scenario,
        config,
        ("active set", &active),
        bench.most_steps(),
    )];
    for contender in &contenders {
        let device = contender.device.clone().map(Device::Admm);
        let named = (contender.name, contender.work);
        rows.push(row(
            &bench,
            config,
            named,
            device.as_ref().map(|d| (d, CAP)),
        )?);
        if let (Some(device), 1) = (&device, traces.len()) {
            traces.push(trace(scenario, config, (contender.name, device), CAP));
        }
    }
    done()?;
    let required = Requirement {
        late: config.late,
        confidence: config.confidence,
        quick: config.quick,
    };
    let budget = budget(set.measured.ticks());
    let found = bench.certify(&mut active, budget, accuracy, required)?;
    done()?;
    Ok(Findings {
        plant,
        rows,
        certificate: Certified {
            budget: found.budget,
            runs: found.runs,
            late_runs: found.late_runs,
            inaccurate_runs: found.inaccurate_runs,
            bound: found.bound,
        },
        traces,
    })
}

/// Steps of Adam with which a loss of a fixed number of iterations takes as many as the tuning by the stopping time took, or more.
fn steps_for(stopping_time: &Contender, config: &ControlConfig) -> usize {
    // An iteration counts once forwards and twice backwards. LAH's phases end after 48 iterations on average.
    let step = 3 * TuningOptions::default().batch * config.horizon.min(48);
    config
        .steps
        .max(stopping_time.work.div_ceil(step * config.rounds.max(1)))
}

/// Budget by calibration ticks: the largest count, a quarter of it and two more.
fn budget<'a>(ticks: impl Iterator<Item = &'a TickResult>) -> u32 {
    let worst = ticks.map(|t| t.outcome.count).max().unwrap_or(0);
    worst + worst / 4 + 2
}

/// Scores a controller on the test runs, which nothing else has seen.
fn row(
    bench: &Bench<'_>,
    config: &ControlConfig,
    (name, training): (&'static str, usize),
    device: Option<(&Device, u32)>,
) -> Result<SolverRow, Failure> {
    let Some((device, cap)) = device else {
        return Ok(SolverRow {
            name,
            training,
            scored: None,
        });
    };
    // As many runs as the calibration of ADMM can afford.
    let few = Bench {
        sizes: crate::control::BenchSizes {
            runs: bench.sizes.few,
            cold: 10 * bench.sizes.few,
            ..bench.sizes
        },
        ..*bench
    };
    let budget = budget(few.calibration(device, cap)?.ticks()).min(cap);
    let of = |stream: Stream, count: usize| Runs {
        stream: stream.of(config.seed),
        count,
        ticks: config.ticks,
        budget: cap,
    };
    let hidden = Progress::hidden().task("scores", config.runs);
    let test = of(Stream::TestLoops, config.runs);
    let loops = warm_loops(bench.scenario, device, test, &hidden, bench.progress)?;
    let test = of(Stream::Test, config.cold);
    let cold = cold_ticks(bench.scenario, device, test, bench.progress)?;
    let late = |tick: &TickResult| !tick.is_solved() || tick.outcome.count > budget;
    let late_runs = loops.iter().filter(|run| run.iter().any(late)).count();
    let late_bound = bound(loops.len(), late_runs, config.confidence)
        .ok_or_else(|| Failure::NoAnswer("the confidence must be between 0 and 1".to_owned()))?;
    let all: Vec<&TickResult> = loops.iter().flatten().collect();
    Ok(SolverRow {
        name,
        training,
        scored: Some(Scored {
            input_error: TickStatistics::of(all.iter().copied().chain(&cold)).errors,
            looped: summary(&all),
            cold: summary(&cold.iter().collect::<Vec<_>>()),
            budget,
            late_runs,
            late_bound,
        }),
    })
}

fn summary(ticks: &[&TickResult]) -> TickSummary {
    let found = TickStatistics::of(ticks.iter().copied());
    let each: Vec<(u32, usize)> = ticks
        .iter()
        .map(|t| (t.outcome.count, t.outcome.operations))
        .collect();
    TickSummary {
        counts: found.counts,
        operations: Operations {
            mean: found.mean_operations,
            p99: found.p99_operations,
            max: each.iter().map(|e| e.1).max().unwrap_or(0) as f64,
        },
        each,
    }
}

/// The first test run under a controller.
fn trace(
    scenario: &Scenario,
    config: &ControlConfig,
    (name, device): (&'static str, &Device),
    cap: u32,
) -> Trace {
    let mut trace = Trace {
        name,
        state: Vec::new(),
        input: Vec::new(),
        counts: Vec::new(),
    };
    device.session(|session| {
        let mut run = scenario.run(Stream::TestLoops.of(config.seed), 0);
        for _ in 0..config.ticks {
            let (p, extra) = scenario.measure(&mut run, config.ticks);
            let outcome = session.tick(&p, &extra, cap);
            trace.state.push(f64::from(p[0]));
            trace.input.push(f64::from(session.inputs()[0]));
            trace.counts.push(outcome.count);
            scenario.advance(&mut run, session.inputs());
        }
    });
    trace
}
