//! The last phase, for slow ticks: trained alone, on the slowest of a large pool.
//!
//! About 0.5 % of ticks reach the last phase. Training it does not affect the rest, and needs a large pool.

use dst_core::Error;

use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations};
use super::tuned::Tuned;
use super::tuning::{Training, TuningOptions, tune};
use crate::progress::Progress;

/// Ticks that are solved at once: the copy in the precision of the device stays small.
const PORTION: usize = 5000;

/// Trains the last phase alone, on the slowest of `ticks`; the score is on all of them. Where none reaches it, nothing changes.
pub(super) fn tune_tail_phase(
    program: &Program<f64>,
    knobset: &Knobset,
    theta: &[f64],
    ticks: &Pool<f64>,
    options: &TuningOptions,
    progress: &Progress,
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
    let mut work = options.work(&counts);
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
    let options = TuningOptions {
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
    let (mut begin, mut least) = (theta, f64::INFINITY);
    for start in &starts {
        let counts = count(start);
        work += options.work(&counts);
        let value = (options.key)(&Score::of(&counts, options.cap));
        if value < least {
            (begin, least) = (start, value);
        }
    }
    let training = tune(
        program,
        knobset,
        begin,
        [&slow_ticks, &slow_ticks],
        &options,
        progress,
    )?;
    // The others stop before the last phase: what they take has not changed.
    let last = count(&training.theta);
    work += options.work(&last);
    for (&i, count) in slow.iter().zip(last) {
        counts[i] = count;
    }
    Ok(Training {
        score: Score::of(&counts, options.cap),
        work: work + training.work,
        ..training
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::plants::safety_filter;

    /// Without a step of the training, all work is counting: all ticks, the slow ones at four starts, those at the best of them
    /// as both pools of the training, and at what it returns.
    #[test]
    fn work_is_all_that_was_computed() {
        let plant = safety_filter();
        let (program, ticks) = (&plant.program, plant.pool(11, 60));
        let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
        let options = TuningOptions {
            steps: 0,
            ..TuningOptions::default()
        };
        let knobs = |switches: &[usize]| {
            Knobset::each_stage(program, program.jacobi().unwrap(), &kinds, switches)
        };
        let counts = |knobs: &Knobset, theta: &[f64], ticks: &Pool<f64>| {
            let tuned: Tuned<f32> = knobs.tuned(program, theta).unwrap().cast();
            iterations(&program.cast(), &ticks.cast(), tuned.phases(), options.cap)
        };
        // Phases that are all alike, the last from the middle of the counts on.
        let one = knobs(&[]);
        let all = counts(&one, &one.start(1.5, 1.6), &ticks);
        let mut sorted = all.clone();
        sorted.sort_unstable();
        let middle = sorted[30];
        let slow: Vec<usize> = (0..60).filter(|&i| all[i] > middle).collect();
        assert!((1..60).contains(&slow.len()), "{}", slow.len());
        let knobs = knobs(&[middle as usize]);
        let theta = knobs.start(1.5, 1.6);
        let found = tune_tail_phase(
            program,
            &knobs,
            &theta,
            &ticks,
            &options,
            &Progress::hidden(),
        )
        .unwrap();
        let slow = ticks.subset(&slow);
        let of_slow = |theta: &[f64]| options.work(&counts(&knobs, theta, &slow));
        let mut expected = options.work(&all) + of_slow(&theta) + 3 * of_slow(&found.theta);
        for rho in [0.5, 1.0, 2.0] {
            let mut start = theta.clone();
            let last = start.len() / 2;
            start[last..].copy_from_slice(&knobs.start(rho, 1.7)[last..]);
            expected += of_slow(&start);
        }
        assert_eq!(found.work, expected);
    }
}
