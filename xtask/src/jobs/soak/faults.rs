//! A full disk, closed pipes, no terminal, tiny limits, sixteen runs in one directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Bed, Reference, contents, ended_well, wait, words};

/// Signals by which the system ends a program that meets a limit: of memory (SIGABRT), of the length of a file (SIGXFSZ).
const LIMITS: [i32; 2] = [6, 25];
/// Refusals of a training, and of a command that writes a set of files.
const REFUSALS: [&str; 2] = ["another training writes to --out", "in use by another dst"];
/// Runs in one directory.
const CROWD: usize = 16;

/// Tiny limits as commands of a shell.
const TINY: [&str; 7] = [
    "ulimit -v 40000;",
    "ulimit -v 120000;",
    "ulimit -v 400000;",
    "ulimit -f 0;",
    "ulimit -f 2;",
    // Less does not load the system's libraries.
    "ulimit -n 4;",
    "ulimit -n 6;",
];

/// Does everything to every writer; returns the number of runs.
pub(super) fn run(
    bed: &Bed,
    references: &[Reference],
    failures: &mut Vec<String>,
) -> Result<usize, String> {
    let mut count = 0;
    for reference in references {
        let writer = reference.writer;
        for before in TINY {
            let place = bed.place("limited")?;
            let mut command = bed.shell(before, writer, &place, "");
            check(bed, reference, &mut command, &place, before, failures)?;
            count += 1;
        }
        for (before, after) in [
            ("", "<&- >&- 2>&-"),
            ("", ">/dev/full"),
            ("", "2>/dev/full"),
        ] {
            let place = bed.place("closed")?;
            let mut command = bed.shell(before, writer, &place, after);
            check(bed, reference, &mut command, &place, after, failures)?;
            count += 1;
        }
        let place = bed.place("pipe")?;
        let mut command = bed.shell("", writer, &place, "");
        closed_pipe(bed, reference, &mut command, &place, failures)?;
        count += 1;
        count += crowd(bed, reference, failures)?;
    }
    match full_disk(bed)? {
        Some(disk) => {
            for reference in references {
                let place = disk.0.join(reference.writer.name);
                fs::create_dir_all(&place).map_err(|e| e.to_string())?;
                let mut command = bed.command(reference.writer, &place);
                check(bed, reference, &mut command, &place, "full disk", failures)?;
                let _ = fs::remove_dir_all(&place);
                count += 1;
            }
        }
        None => eprintln!("soak: no full disk, because only root may mount one"),
    }
    Ok(count)
}

/// Runs the command and judges how it ended and what it left.
fn check(
    bed: &Bed,
    reference: &Reference,
    command: &mut Command,
    place: &Path,
    how: &str,
    failures: &mut Vec<String>,
) -> Result<(), String> {
    let line = format!(
        "dst {} ({how})",
        bed.arguments(reference.writer, place).join(" ")
    );
    let output = match wait(command) {
        Ok(output) => output,
        Err(reason) => {
            failures.push(reason);
            return Ok(());
        }
    };
    let panics = String::from_utf8_lossy(&output.stderr).contains("panicked");
    if panics || !ended_well(output.status, &LIMITS) {
        failures.push(format!("{line}: {}", words(&output)));
    }
    let halves = reference.halves(place, &[])?;
    if !halves.is_empty() {
        failures.push(format!("{line}: half a file: {}", halves.join(", ")));
    }
    if output.status.success() && !reference.has_all(place)? {
        failures.push(format!("{line}: exit code 0 without its files"));
    }
    Ok(())
}

/// The reader of the output is gone before anything is written.
fn closed_pipe(
    bed: &Bed,
    reference: &Reference,
    command: &mut Command,
    place: &Path,
    failures: &mut Vec<String>,
) -> Result<(), String> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    drop(child.stdout.take());
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    if !output.status.success() || !reference.has_all(place)? {
        failures.push(format!(
            "dst {} (closed pipe): {}",
            bed.arguments(reference.writer, place).join(" "),
            words(&output)
        ));
    }
    Ok(())
}

/// Many runs at once in one directory. Those that cannot share it refuse, with a sentence that says so.
fn crowd(bed: &Bed, reference: &Reference, failures: &mut Vec<String>) -> Result<usize, String> {
    let place = bed.place("crowd")?;
    let runs: Vec<_> = (0..CROWD)
        .map(|_| bed.command(reference.writer, &place).spawn())
        .collect::<Result<_, _>>()
        .map_err(|e| e.to_string())?;
    let line = bed.arguments(reference.writer, &place).join(" ");
    let mut done = 0;
    for run in runs {
        let output = run.wait_with_output().map_err(|e| e.to_string())?;
        done += usize::from(output.status.success());
        let said = String::from_utf8_lossy(&output.stderr);
        let refused = output.status.code().is_some_and(|c| c == 1 || c == 2)
            && REFUSALS.iter().any(|sentence| said.contains(sentence));
        if !output.status.success() && !refused {
            failures.push(format!("dst {line} ({CROWD} at once): {}", words(&output)));
        }
    }
    // Short runs may follow one another; not all of them.
    if done == 0 || reference.writer.resumes && done == CROWD {
        failures.push(format!(
            "dst {line} ({CROWD} at once): {done} wrote their files"
        ));
    }
    if !reference.has_all(&place)? {
        let names: Vec<String> = contents(&place)?.into_iter().map(|f| f.0).collect();
        failures.push(format!(
            "dst {line} ({CROWD} at once): the files are not those of one run: {}",
            names.join(", ")
        ));
    }
    Ok(CROWD)
}

/// A file system with room for a few small files.
struct Disk(PathBuf);

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn full_disk(bed: &Bed) -> Result<Option<Disk>, String> {
    let place = bed.place("disk")?;
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
        .arg(&place)
        .stderr(Stdio::null())
        .status();
    Ok(mounted.is_ok_and(|s| s.success()).then_some(Disk(place)))
}
