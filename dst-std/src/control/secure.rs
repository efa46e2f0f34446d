//! The last phase, for ticks that are slow: trained alone, on the slowest of many.
//!
//! One tick in two hundred reaches it, so the others do not mind what it does; and only a great many ticks hold enough of those that do.

use dst_core::Error;

use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations};
use super::tuned::Tuned;
use super::tuning::{Options, Progressed, Training, tune};

/// Ticks that are solved at once: the copy in the precision of the device stays small.
const PORTION: usize = 5000;

/// Trains the last phase alone, on the slowest of `ticks`; the score is on all of them. Where none reaches it, nothing changes.
pub fn secure(
    program: &Program<f64>,
    knobset: &Knobset,
    theta: &[f64],
    ticks: &Pool<f64>,
    options: &Options,
    interrupted: impl FnMut(Progressed) -> bool,
) -> Result<Training, Error> {
    let small = program.cast::<f32>();
    let Some(tuned) = knobset.tuned(program, theta) else {
        return Err(Error::Invalid(dst_core::Argument::Theta));
    };
    let tuned: Tuned<f32> = tuned.cast();
    let mut counts = Vec::with_capacity(ticks.len());
    for from in (0..ticks.len()).step_by(PORTION) {
        let range: Vec<usize> = (from..ticks.len().min(from + PORTION)).collect();
        let portion = ticks.subset(&range).cast();
        counts.extend(iterations(&small, &portion, tuned.phases(), options.cap));
    }
    let work = options.work(&counts);
    let last = knobset.switches.last().copied().unwrap_or(usize::MAX);
    let slow: Vec<usize> = (0..ticks.len())
        .filter(|&i| counts[i] as usize > last)
        .collect();
    if slow.is_empty() {
        return Ok(Training {
            theta: theta.to_vec(),
            score: Score::of(&counts, options.cap),
            history: Vec::new(),
            work,
        });
    }
    let options = Options {
        first: theta.len() - (knobset.knobs().per_phase() + 1),
        // They are few: small steps, and none of them more often than the others, lest it knows the worst by heart
        // and others, unseen, are worse.
        rate: options.rate / 2.0,
        hard: 0,
        // The slowest of all counts here.
        key: |score| score.max + score.mean,
        ..options.clone()
    };
    // Jacobi scaling is safer than what was learned from quick ticks, as a rule.
    let mut starts = vec![theta.to_vec()];
    for rho in [0.5, 1.0, 2.0] {
        let safe = knobset.start(rho, 1.7);
        let (head, tail) = (&theta[..options.first], &safe[options.first..]);
        starts.push([head, tail].concat());
    }
    let slow_ticks = ticks.subset(&slow);
    let small_slow = slow_ticks.cast::<f32>();
    let count = |theta: &[f64]| match knobset.tuned(program, theta) {
        Some(tuned) => iterations(&small, &small_slow, tuned.cast().phases(), options.cap),
        None => vec![options.cap + 1; slow.len()],
    };
    let value = |theta: &Vec<f64>| (options.key)(&Score::of(&count(theta), options.cap));
    let begin = starts
        .iter()
        .min_by(|a, b| value(a).total_cmp(&value(b)))
        .map_or(theta, Vec::as_slice);
    let training = tune(
        program,
        knobset,
        begin,
        [&slow_ticks, &slow_ticks],
        &options,
        interrupted,
    )?;
    // The others stop before the last phase: what they take has not changed.
    for (&i, count) in slow.iter().zip(count(&training.theta)) {
        counts[i] = count;
    }
    Ok(Training {
        score: Score::of(&counts, options.cap),
        work: work + training.work,
        ..training
    })
}
