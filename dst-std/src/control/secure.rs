//! The last phase, for ticks that are slow: trained alone, on the slowest of many.
//!
//! One tick in a thousand reaches it, so the others do not mind what it does; and only a great many ticks hold enough of those that do.

use dst_core::Error;

use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations};
use super::tuned::Tuned;
use super::tuning::{Options, Progressed, Training, tune};

/// Ticks that are solved at once: the copy in the precision of the device stays small.
const PORTION: usize = 5000;

/// Trains the last phase alone, on the slowest of `ticks`. Where none reaches it, nothing changes.
pub fn secure(
    program: &Program<f64>,
    knobset: &Knobset,
    theta: &[f64],
    ticks: &Pool<f64>,
    options: &Options,
    interrupted: impl FnMut(Progressed) -> bool,
) -> Result<Training, Error> {
    let nothing = |work| Training {
        theta: theta.to_vec(),
        score: Score::of(&[], options.cap),
        history: Vec::new(),
        work,
    };
    let (Some(&last), Some(tuned)) = (knobset.switches.last(), knobset.tuned(program, theta))
    else {
        return Ok(nothing(0));
    };
    let (small, tuned): (Program<f32>, Tuned<f32>) = (program.cast(), tuned.cast());
    let (mut slow, mut work) = (Vec::new(), 0);
    for from in (0..ticks.len()).step_by(PORTION) {
        let range = from..ticks.len().min(from + PORTION);
        let portion = ticks.subset(&range.clone().collect::<Vec<_>>());
        let counts = iterations(&small, &portion.cast(), tuned.phases(), options.cap);
        work += options.work(&counts);
        slow.extend(range.zip(counts).filter(|s| s.1 as usize > last));
    }
    if slow.is_empty() {
        return Ok(nothing(work));
    }
    let slow = ticks.subset(&slow.iter().map(|s| s.0).collect::<Vec<_>>());
    let options = Options {
        first: theta.len() - (knobset.knobs().per_phase() + 1),
        // Few ticks, of which the worst counts: small steps, and not many, lest it knows them by heart.
        steps: options.steps / 2,
        rate: options.rate / 2.0,
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
    let small_slow = slow.cast::<f32>();
    let value = |theta: &Vec<f64>| {
        let Some(tuned) = knobset.tuned(program, theta) else {
            return f64::INFINITY;
        };
        let tuned: Tuned<f32> = tuned.cast();
        let counts = iterations(&small, &small_slow, tuned.phases(), options.cap);
        (options.key)(&Score::of(&counts, options.cap))
    };
    let begin = starts
        .iter()
        .min_by(|a, b| value(a).total_cmp(&value(b)))
        .map_or(theta, Vec::as_slice);
    let training = tune(
        program,
        knobset,
        begin,
        [&slow, &slow],
        &options,
        interrupted,
    )?;
    Ok(Training {
        work: work + training.work,
        ..training
    })
}
