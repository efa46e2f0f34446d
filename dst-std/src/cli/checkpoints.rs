//! `dst checkpoints`: the cost of reversing a run with a given number of slots.

use std::io::{self, Write};

use dst_core::checkpoint::{Action, Mark, Schedule, beta, optimum, repetitions};
use serde::Serialize;

use super::arguments::{count, positive_count};
use super::common::Speech;
use super::{CommandError, output};

/// The largest number of forward steps that are carried out.
const MOST_STEPS: usize = 1_000_000_000;
/// Longer runs are predicted where possible: their marks could fill the memory, and counting them takes long.
const LONG_RUN: usize = 1 << 24;

/// Count the forward steps that reversing a run takes with a few checkpoint slots.
///
/// Carries out the online schedule of dst-core, which does not know when the run will stop, and compares it with the
/// optimum for a length known in advance.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  dst checkpoints --slots 3 --steps 10
  dst checkpoints --slots 20 --steps 1000000 --json")]
pub(super) struct Args {
    /// Checkpoint slots: states that can be kept at once, the first included.
    #[arg(long, value_name = "S", value_parser = positive_count, allow_hyphen_values = true)]
    slots: usize,
    /// Steps of the run until it stops.
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true)]
    steps: usize,
    #[command(flatten)]
    speech: Speech,
}

/// The cost of a reversal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct CheckpointReport {
    slots: usize,
    steps: usize,
    /// Forward steps carried out, those of the run included.
    forward_steps: usize,
    /// The least possible for a length known in advance.
    optimum: usize,
    /// The largest number of times that one step was carried out.
    max_repetitions: usize,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let progress = args.speech.interruptible()?;
    let carrying_out = progress.phase("carrying out the schedule");
    let report = measure(args.slots, args.steps)?;
    drop(carrying_out);
    output::print(args.speech.json, &report, |out| show(&report, out))
}

fn measure(slots: usize, steps: usize) -> Result<CheckpointReport, CommandError> {
    let optimum = optimum(steps, slots);
    within_reach(slots, steps, optimum)?;
    // Every state but the last has a slot of its own if there are that many; more are never used.
    let marks = slots.min(steps).max(1);
    let (forward_steps, max_repetitions) = match predict(slots, steps) {
        Some(known) if steps > LONG_RUN => known,
        _ => carry_out(marks, steps)?,
    };
    Ok(CheckpointReport {
        slots,
        steps,
        forward_steps,
        optimum,
        max_repetitions,
    })
}

fn within_reach(slots: usize, steps: usize, forward_steps: usize) -> Result<(), CommandError> {
    if forward_steps <= MOST_STEPS {
        return Ok(());
    }
    Err(CommandError::NoAnswer(format!(
        "reversing {steps} steps with {slots} slots takes {forward_steps} forward steps, more than {MOST_STEPS}; \
         raise --slots or lower --steps"
    )))
}

/// Predicts the counts of [`carry_out`] if no step is done more than twice; otherwise `None`.
///
/// There the online schedule is optimal at every length, which the tests check against the schedule itself.
fn predict(slots: usize, steps: usize) -> Option<(usize, usize)> {
    (steps <= beta(slots, 2)).then(|| {
        let repetitions = repetitions(steps, slots).max(steps.min(1));
        (optimum(steps, slots), repetitions)
    })
}

/// Runs and reverses, on step numbers alone. Returns the forward steps done and the most repetitions of one step.
fn carry_out(slots: usize, n: usize) -> Result<(usize, usize), CommandError> {
    let mut marks = vec![Mark::EMPTY; slots];
    let mut schedule = Schedule::new(slots);
    // The run: x_k is saved at the last moment, before step k + 1 overwrites it, as dst-core's forward run does.
    while schedule.next_save().saturating_add(1) < n {
        schedule.save(&mut marks);
    }
    let predicted = (
        schedule.forward_steps(&marks, n),
        schedule.max_repetitions(&marks, n),
    );
    within_reach(slots, n, predicted.0)?;
    if n > LONG_RUN {
        // The marks determine the reversal: the tests carry out what is predicted here.
        return Ok(predicted);
    }
    let mut reversal = schedule.reverse(&mut marks, n);
    let mut forward_steps = n;
    loop {
        match reversal.next_action(&mut marks) {
            Action::Advance { from, to } => forward_steps += to - from,
            Action::Pull { .. } | Action::Load { .. } | Action::Save { .. } => {}
            Action::Done => break,
        }
    }
    Ok((forward_steps, reversal.max_repetitions()))
}

fn show(report: &CheckpointReport, out: &mut dyn Write) -> io::Result<()> {
    let &CheckpointReport {
        slots,
        steps,
        forward_steps,
        optimum,
        max_repetitions,
    } = report;
    let ratio = |a: usize, b: usize| if b == 0 { 1.0 } else { a as f64 / b as f64 };
    writeln!(out, "reversing {steps} steps with {slots} checkpoint slots")?;
    writeln!(out, "  forward steps, online   {forward_steps:>12}")?;
    writeln!(
        out,
        "  optimum, N known        {optimum:>12}   online / optimum {:.4}",
        ratio(forward_steps, optimum)
    )?;
    writeln!(
        out,
        "  every state kept        {steps:>12}   online / N       {:.4}",
        ratio(forward_steps, steps)
    )?;
    writeln!(out, "  no step is done more than {max_repetitions} times")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_step_is_done_thrice_the_count_is_known_beforehand() {
        let mut predicted = 0;
        for slots in 1..=24usize {
            for steps in 0..=beta(slots, 2) {
                let marks = slots.min(steps).max(1);
                let known = predict(slots, steps).expect("up to beta(s, 2)");
                assert_eq!(
                    carry_out(marks, steps),
                    Ok(known),
                    "slots {slots}, steps {steps}"
                );
                predicted += 1;
            }
            assert_eq!(predict(slots, beta(slots, 2) + 1), None);
        }
        assert!(predicted > 2000, "{predicted}");
        // Everything that would not fit in memory is predicted: the limit on forward steps comes first.
        assert!(predict(LONG_RUN, MOST_STEPS).is_some());
    }

    #[test]
    fn the_schedule_predicts_its_cost() {
        for slots in 1..=9 {
            for steps in [0, 1, 2, 50, 333, 1000] {
                let mut marks = vec![Mark::EMPTY; slots];
                let mut schedule = Schedule::new(slots);
                while schedule.next_save().saturating_add(1) < steps {
                    schedule.save(&mut marks);
                }
                let predicted = (
                    schedule.forward_steps(&marks, steps),
                    schedule.max_repetitions(&marks, steps),
                );
                let done = carry_out(slots, steps).unwrap();
                assert_eq!(predicted, done, "slots {slots}, steps {steps}");
            }
        }
    }
}
