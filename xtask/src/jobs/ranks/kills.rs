//! Ranks killed at random moments; the training goes on with another number of ranks, and ends with the same bits.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use super::{Bed, Files, Job, TRAINING, files, same, wait, words};

/// A training that takes a second on its ranks.
const LONG: &str = "--steps 200";
/// Time in which a job has ended after a signal.
const END: Duration = Duration::from_secs(2);

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

/// Signal to a job.
#[derive(Clone, Copy)]
enum Signal {
    Kill,
    /// Ctrl-C, at `mpirun` or at the first rank.
    Interrupt,
}

fn line(resume: bool) -> String {
    let resume = if resume { " --resume" } else { "" };
    format!("{TRAINING} {LONG} --out OUT/net.safetensors{resume}")
}

/// Kills this many jobs, and interrupts two; returns a note.
pub(super) fn run(bed: &Bed, rounds: u32) -> Result<String, String> {
    let place = bed.place("whole")?;
    bed.done(&Job::Without(2), &line(false), &place)?;
    let reference = files(&place)?;
    let start = Instant::now();
    bed.done(&Job::Ranks([2, 1]), &line(false), &bed.place("timed")?)?;
    let duration = start.elapsed();
    let mut random = Random(1);
    let mut at_work = 0;
    for round in 0..rounds {
        let moment = duration.mul_f64(1.1 * random.next());
        at_work += usize::from(one(bed, &reference, &mut random, moment, Signal::Kill)?);
        if round % 5 == 4 {
            eprintln!("ranks: {} of {rounds} kills", round + 1);
        }
    }
    for _ in 0..2 {
        let moment = duration.mul_f64(0.6);
        if !one(bed, &reference, &mut random, moment, Signal::Interrupt)? {
            return Err("the training ended before it could be interrupted".to_owned());
        }
    }
    Ok(format!("{at_work} of {rounds} killed at work and resumed"))
}

/// Starts a job, ends it, and resumes it. True if it was at work.
fn one(
    bed: &Bed,
    reference: &Files,
    random: &mut Random,
    moment: Duration,
    signal: Signal,
) -> Result<bool, String> {
    let place = bed.place("killed")?;
    let ranks = 2 + random.below(3);
    let mut command = bed.command(&Job::Ranks([ranks, 1]), &line(false), &place);
    let mut job = command.spawn().map_err(|e| e.to_string())?;
    std::thread::sleep(moment);
    let mut victims = ranks_of(&job);
    let victim = match signal {
        // Before it has ranks there is only the starter.
        Signal::Kill if victims.is_empty() => job.id(),
        Signal::Kill => victims.swap_remove(random.below(victims.len())),
        Signal::Interrupt => job.id(),
    };
    let name = match signal {
        Signal::Kill => "-KILL",
        Signal::Interrupt => "-INT",
    };
    let sent = Instant::now();
    // It may have ended by itself.
    let _ = std::process::Command::new("kill")
        .args([name, &victim.to_string()])
        .status();
    let succeeded = ended(&mut job)?;
    let (end, at_work) = (sent.elapsed(), !succeeded);
    let how = format!("{ranks} ranks, {name} after {:.3} s", moment.as_secs_f64());
    if at_work && matches!(signal, Signal::Interrupt) {
        if end > END {
            return Err(format!("{how}: no end after {:.1} s", end.as_secs_f64()));
        }
        if !place.join("net.checkpoint").is_file() {
            return Err(format!("{how}: no checkpoint"));
        }
    }
    // Ranks of a killed starter end by themselves, a moment later.
    let left = Instant::now();
    while victims.iter().any(|&pid| is_alive(pid)) {
        if left.elapsed() > super::PATIENCE {
            return Err(format!("{how}: ranks are left"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let resumed = Job::Ranks([1 + random.below(4), 1]);
    let output = wait(&mut bed.command(&resumed, &line(true), &place))?;
    if !output.status.success() {
        let with = resumed.words();
        return Err(format!("{how}, resumed with {with}: {}", words(&output)));
    }
    same(reference, &files(&place)?, &format!("{how}, resumed"))?;
    let _ = fs::remove_dir_all(&place);
    Ok(at_work)
}

/// Time after which a starter without ranks is ended. That of Open MPI 4.1 may wait for itself when its last rank has gone.
const LEFT_OVER: Duration = Duration::from_secs(10);

/// True if the job succeeded.
fn ended(job: &mut Child) -> Result<bool, String> {
    let start = Instant::now();
    while start.elapsed() < super::PATIENCE {
        if let Some(status) = job.try_wait().map_err(|e| e.to_string())? {
            return Ok(status.success());
        }
        if start.elapsed() > LEFT_OVER && !ranks_of(job).into_iter().any(is_alive) {
            eprintln!("ranks: mpirun does not end after its ranks, and is killed");
            job.kill().map_err(|e| e.to_string())?;
            return job.wait().map(|_| false).map_err(|e| e.to_string());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = job.kill();
    let _ = job.wait();
    Err("the job does not end after one of its ranks was killed".to_owned())
}

fn is_alive(pid: u32) -> bool {
    // A process that has ended and is not yet waited for has no memory.
    fs::read_to_string(format!("/proc/{pid}/statm")).is_ok_and(|text| !text.starts_with("0 "))
}

/// The processes that `mpirun` has started.
fn ranks_of(job: &Child) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in brackets, may contain anything.
        let rest = text.rsplit_once(')')?.1;
        rest.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    numbers
        .filter(|pid| parent(pid) == Some(job.id()))
        .collect()
}
