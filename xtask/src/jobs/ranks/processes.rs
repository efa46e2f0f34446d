//! Processes of a job: found, sent a signal, and waited for.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::{Bed, finished};

/// Time in which a job has ended after one of its processes was killed.
const KILLED: Duration = Duration::from_secs(20);

/// Time after which a starter whose ranks have ended is killed. Open MPI 4.1.4 with PMIx 4.2.2 waits for itself after some killed ranks
/// (5 of 124), also those of a program in C that only waits at barriers: in `PMIx_server_finalize`, for a lock in memory that is freed
/// already.
const STUCK: Duration = Duration::from_secs(10);

/// The ranks that write to this folder, whoever started them.
pub(super) fn ranks_at(bed: &Bed, place: &Path) -> Vec<u32> {
    let (program, place) = (bed.with.to_string_lossy(), place.to_string_lossy());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| {
            // Of a process that has ended and is not yet waited for it is empty.
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.starts_with(&*program) && line.contains(&*place)
        })
        .collect()
}

/// The first rank among these processes.
pub(super) fn first_of(ranks: &[u32]) -> Option<u32> {
    let is_first = |pid: &u32| {
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = variables.split(|&byte| byte == 0);
        variables.any(|variable| variable == b"OMPI_COMM_WORLD_RANK=0")
    };
    ranks.iter().copied().find(is_first)
}

/// Sends a signal to a process, which may have ended by itself.
pub(super) fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill")
        .args([name, &pid.to_string()])
        .stderr(std::process::Stdio::null())
        .status();
}

/// A job that has ended.
pub(super) struct Ended {
    /// True if all of its ranks have done their work.
    pub(super) succeeded: bool,
    /// True if `mpirun` did not end after its ranks, and was killed.
    pub(super) stuck: bool,
}

/// Waits until no rank writes to this folder, then for the end of their starter. Ranks of a killed starter end by themselves, a moment
/// later.
pub(super) fn end(bed: &Bed, place: &Path, mut job: Child, how: &str) -> Result<Ended, String> {
    none_left(bed, place, how)?;
    let start = Instant::now();
    let mut stuck = false;
    while job.try_wait().map_err(|e| e.to_string())?.is_none() {
        stuck = start.elapsed() > STUCK && ranks_at(bed, place).is_empty();
        if stuck {
            eprintln!("ranks: {how}: mpirun does not end after its ranks, and is killed");
            job.kill().map_err(|e| e.to_string())?;
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = finished(job, KILLED).map_err(|e| format!("{how}: {e}"))?;
    Ok(Ended {
        succeeded: output.status.success(),
        stuck,
    })
}

/// Waits until no rank writes to this folder.
pub(super) fn none_left(bed: &Bed, place: &Path, how: &str) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let left = ranks_at(bed, place);
        if left.is_empty() {
            return Ok(());
        }
        if start.elapsed() > KILLED {
            return Err(format!("{how}: ranks are left: {left:?}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
