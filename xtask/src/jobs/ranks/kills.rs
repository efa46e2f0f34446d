//! Ranks killed at random moments; the training goes on with another number of ranks, and ends with the same bits.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use super::processes::{Ended, end, ranks_at, signal};
use super::{Bed, Files, Job, TRAINING, files, same, wait, words};

/// A training that takes a second on its ranks, with a checkpoint after every step.
const LONG: &str = "--steps 200 --checkpoint-every 0";

/// Random numbers that are the same in every test: a failure can be repeated, apart from the timing.
struct Random(u64);

impl Random {
    /// Between 0 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.next() * count as f64) as usize).min(count - 1)
    }
}

fn line(resume: bool) -> String {
    let resume = if resume { " --resume" } else { "" };
    format!("{TRAINING} {LONG} --out OUT/net.safetensors{resume}")
}

/// Files of the training without a kill.
pub(super) fn reference(bed: &Bed) -> Result<Files, String> {
    let place = bed.place("whole")?;
    bed.done(&Job::Without(2), &line(false), &place)?;
    files(&place)
}

/// Kills this many jobs; returns a note.
pub(super) fn run(bed: &Bed, reference: &Files, rounds: u32) -> Result<String, String> {
    let start = Instant::now();
    bed.done(&Job::Ranks([2, 1]), &line(false), &bed.place("timed")?)?;
    let duration = start.elapsed();
    let mut random = Random(1);
    let (mut at_work, mut stuck) = (0, 0);
    for round in 0..rounds {
        let moment = duration.mul_f64(1.1 * random.next());
        let ended = one(bed, reference, &mut random, moment)?;
        at_work += usize::from(!ended.succeeded);
        stuck += usize::from(ended.stuck);
        if round % 5 == 4 {
            eprintln!("ranks: {} of {rounds} kills", round + 1);
        }
    }
    let note = match stuck {
        0 => String::new(),
        stuck => format!(" (mpirun itself stuck after {stuck})"),
    };
    Ok(format!(
        "{at_work} of {rounds} killed at work and resumed{note}"
    ))
}

/// Starts a job, kills one of its ranks, and resumes it.
fn one(
    bed: &Bed,
    reference: &Files,
    random: &mut Random,
    moment: Duration,
) -> Result<Ended, String> {
    let place = bed.place("killed")?;
    let ranks = 2 + random.below(3);
    let job: Child = bed
        .command(&Job::Ranks([ranks, 1]), &line(false), &place)
        .spawn()
        .map_err(|e| e.to_string())?;
    std::thread::sleep(moment);
    let mut victims = ranks_at(bed, &place);
    let (name, victim) = match victims.is_empty() {
        // Before it has ranks there is only the starter.
        true => ("mpirun", job.id()),
        false => ("a rank", victims.swap_remove(random.below(victims.len()))),
    };
    // It may have ended by itself.
    signal(victim, "-KILL");
    let how = format!(
        "{ranks} ranks, {name} killed after {:.3} s",
        moment.as_secs_f64()
    );
    let ended = end(bed, &place, job, &how)?;
    let resumed = Job::Ranks([1 + random.below(4), 1]);
    let output = wait(&mut bed.command(&resumed, &line(true), &place))?;
    if !output.status.success() {
        let with = resumed.words();
        return Err(format!("{how}, resumed with {with}: {}", words(&output)));
    }
    same(reference, &files(&place)?, &format!("{how}, resumed"))?;
    let _ = fs::remove_dir_all(&place);
    Ok(ended)
}
