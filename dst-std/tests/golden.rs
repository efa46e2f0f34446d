//! The bits of what `tune` and `control` find through the engine, as it gave them before it was redrawn. `DST_WRITE_GOLDEN=1` writes
//! `golden.txt` anew.
//!
//! The gradients of `control` are exempt from having the same bits: ADMM becomes a map.

#[path = "../../tests/host/tests/golden/book.rs"]
mod book;

use std::path::Path;

use book::{Book, Line, Value, instruction_set};
use dst_std::control::plants::{quadrotor, safety_filter};
use dst_std::control::{Differentiated, Knobset, differentiate, unrolled};
use dst_std::progress::Progress;
use dst_std::tune::{
    Criterion, ProblemKind, ScoredValues, TunedMethod, TuningConfig, TuningProblem, tune,
};

/// The tolerance between instruction sets, in double precision.
const LOOSE: [f64; 2] = [1e-9, 1e-3];

/// Hyperparameters, and the iterations of every run with them.
fn setting(name: &str, setting: &ScoredValues) -> Line {
    let counts = |steps: &[Option<usize>]| {
        let words = steps
            .iter()
            .map(|n| n.map_or("-".into(), |n| n.to_string()));
        Value::Word(words.collect::<Vec<_>>().join(","))
    };
    let of = |counts: &dst_std::tune::Counts| [counts.mean, counts.residual];
    Line::new(name)
        .numbers("theta", &setting.theta)
        .with("training", counts(&setting.training.steps))
        .with("held-out", counts(&setting.held_out.steps))
        .numbers("training-mean", &of(&setting.training))
        .numbers("held-out-mean", &of(&setting.held_out))
        .work("gradients", [setting.work.gradients])
        .work("products", [setting.work.products])
}

/// Some rounds of tuning on the built-in quadratic. The way there tells of every gradient on it.
fn tuning(book: &mut Book) {
    let problem = TuningProblem::built_in(ProblemKind::Quadratic, 0.0, 1).unwrap();
    let progress = Progress::hidden();
    for method in TunedMethod::ALL {
        for (criterion, max_steps) in [
            (Criterion::GradientMax, 2000),
            (Criterion::ValueGap, 2000),
            // A limit that comes before some stops: those are extrapolated.
            (Criterion::GradientNorm, 150),
        ] {
            let config = TuningConfig {
                criterion,
                max_steps,
                tolerance: 1e-2,
                starts: 3,
                held_out: 3,
                rounds: 5,
                ..TuningConfig::new(method)
            };
            let set = instruction_set();
            let name = format!("{set}/tune/{}/{}", method.name(), criterion.name());
            let outcome = match tune(&config, &problem, &progress) {
                Ok(outcome) => outcome,
                Err(_) => {
                    book.add(Line::new(name).word("error", &"no-answer"));
                    continue;
                }
            };
            book.add(setting(&format!("{name}/before"), &outcome.before));
            book.add(setting(&format!("{name}/tuned"), &outcome.tuned));
            let means: Vec<f64> = outcome.rounds.iter().map(|round| round.training).collect();
            book.add(
                Line::new(format!("{name}/rounds"))
                    .word("rounds", &outcome.rounds.len())
                    .numbers("training", &means)
                    .with("end", Value::Word(format!("{:?}", outcome.end))),
            );
        }
    }
}

/// N* of ticks and its gradient: reached, extrapolated and over a fixed horizon.
fn controllers(book: &mut Book) {
    for plant in [safety_filter(), quadrotor().unwrap()] {
        let (program, pool) = (&plant.program, plant.pool(11, 4));
        let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
        let base = program.jacobi().unwrap();
        let knobs = Knobset::levels_and_slopes(program, base, &kinds, &[6, 14]);
        let tuned = knobs.tuned(program, &knobs.start(1.5, 1.6)).unwrap();
        for i in 0..pool.len() {
            for (what, found) in [
                (
                    "stop",
                    differentiate(program, &pool, i, tuned.phases(), 500),
                ),
                (
                    "cap-40",
                    differentiate(program, &pool, i, tuned.phases(), 40),
                ),
                ("cap-2", differentiate(program, &pool, i, tuned.phases(), 2)),
                ("unrolled", unrolled(program, &pool, i, tuned.phases(), 20)),
            ] {
                let Differentiated {
                    iterations,
                    gradient,
                    work,
                } = found.unwrap();
                let mut pulled = vec![0.0; knobs.knobs().len()];
                knobs.knobs().pull(&tuned.params, &gradient, &mut pulled);
                let (set, plant) = (instruction_set(), plant.name);
                let line = Line::new(format!("{set}/exempt/control/{plant}/{i}/{what}"))
                    .numbers("N", &[iterations])
                    .numbers("gradient", &pulled)
                    .work("work", [work]);
                book.add(line);
            }
        }
    }
}

#[test]
fn the_bits_of_tuning_and_control() {
    let mut book = Book::default();
    tuning(&mut book);
    controllers(&mut book);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.txt");
    book.check(&path, &format!("{}/", instruction_set()), LOOSE);
}
