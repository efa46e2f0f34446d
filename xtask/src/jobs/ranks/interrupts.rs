//! Interrupts: all ranks end within two seconds, and a training has written a checkpoint.

use std::path::Path;
use std::time::{Duration, Instant};

use super::processes::{end, first_of, none_left, ranks_at, signal};
use super::{Bed, Files, Job, PATIENCE, TRAINING, files, same};

/// Time in which a job has ended.
const END: Duration = Duration::from_secs(2);
/// A training that writes no checkpoint by itself before its end.
const LONG: &str = "--steps 200 --checkpoint-every 3600 --out OUT/net.safetensors";
/// Work without a checkpoint: a certificate of many runs.
const EXPORT: &str = "control export --model MODEL --late 1e-5 --quiet --out OUT/firmware";

/// Process that receives a signal.
#[derive(Clone, Copy)]
enum Receiver {
    Starter,
    FirstRank,
}

/// Interrupts a training twice and an export once; returns their number. `reference` has the files of the whole training.
pub(super) fn run(bed: &Bed, reference: &Files) -> Result<usize, String> {
    for (receiver, name) in [(Receiver::Starter, "-INT"), (Receiver::FirstRank, "-TERM")] {
        eprintln!("ranks: a training, {name}");
        let place = bed.place("interrupted")?;
        let line = format!("{TRAINING} {LONG}");
        // Its lock is there when it begins.
        interrupt(
            bed,
            (&line, &place),
            &place.join("net.lock"),
            (receiver, name),
        )?;
        let checkpoint = place.join("net.checkpoint");
        if !checkpoint.is_file() {
            return Err(format!("a training, {name}: no checkpoint"));
        }
        bed.done(&Job::Ranks([2, 1]), &format!("{line} --resume"), &place)?;
        same(reference, &files(&place)?, &format!("{name}, resumed"))?;
    }
    eprintln!("ranks: an export, -INT");
    let place = bed.place("export")?;
    let out = place.join("firmware");
    interrupt(bed, (EXPORT, &place), &out, (Receiver::Starter, "-INT"))?;
    // It was made for files that were never written.
    match out.exists() {
        true => Err("an interrupted export leaves its folder".to_owned()),
        false => Ok(3),
    }
}

/// Starts three ranks, sends a signal a moment after `begun` is there, and checks how they end.
fn interrupt(
    bed: &Bed,
    (line, place): (&str, &Path),
    begun: &Path,
    (receiver, name): (Receiver, &str),
) -> Result<(), String> {
    let how = format!("dst {line}, {name}");
    let mut command = bed.command(&Job::Ranks([3, 1]), line, place);
    let job = command.spawn().map_err(|e| e.to_string())?;
    let start = Instant::now();
    while !begun.exists() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    let receiver = match receiver {
        Receiver::Starter => Some(job.id()),
        Receiver::FirstRank => first_of(&ranks_at(bed, place)),
    };
    let sent = Instant::now();
    if let Some(pid) = receiver {
        signal(pid, name);
    }
    none_left(bed, place, &how)?;
    let took = sent.elapsed();
    if end(bed, place, job, &how)?.succeeded {
        return Err(format!("{how}: it ended before the signal"));
    }
    let seconds = took.as_secs_f64();
    eprintln!("ranks: all have ended after {seconds:.2} s");
    match took <= END {
        true => Ok(()),
        false => Err(format!("{how}: all have ended after {seconds:.1} s only")),
    }
}
