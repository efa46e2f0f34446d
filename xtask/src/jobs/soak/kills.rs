//! Kills at random moments.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::{Bed, Reference, contents, wait, words};

/// Random numbers that are the same in every soak: a failure can be repeated, apart from the timing.
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
}

/// Kills the writers in turn; returns the number that was at work then.
pub(super) fn run(
    bed: &Bed,
    references: &[Reference],
    rounds: u32,
    failures: &mut Vec<String>,
) -> Result<u32, String> {
    let mut random = Random(1);
    let mut killed = 0;
    for round in 0..rounds {
        let reference = &references[round as usize % references.len()];
        let name = reference.writer.name;
        let place = bed.place("killed")?;
        // Every other time there are files of an earlier run, which must not be lost.
        let full = random.next() < 0.5 && !reference.writer.resumes;
        if full {
            copy(&reference.place, &place)?;
            age(&place)?;
        }
        let old = contents(&place)?;
        let mut command = bed.command(reference.writer, &place);
        let mut child = command
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        let moment = 1.2 * random.next() * reference.duration.as_secs_f64();
        std::thread::sleep(Duration::from_secs_f64(moment));
        child.kill().map_err(|e| e.to_string())?;
        let status = child.wait().map_err(|e| e.to_string())?;
        killed += u32::from(!status.success());
        let line = bed.arguments(reference.writer, &place).join(" ");
        let halves = reference.halves(&place, &old)?;
        if !halves.is_empty() {
            failures.push(format!(
                "dst {line}, killed after {moment:.3} s: half a file: {}",
                halves.join(", ")
            ));
        }
        for (file, _) in &old {
            if !place.join(file).is_file() {
                failures.push(format!(
                    "dst {line}, killed after {moment:.3} s: {file} is lost"
                ));
            }
        }
        if reference.writer.resumes {
            resume(bed, reference, &place, moment, failures)?;
        }
        if round % 20 == 19 {
            eprintln!("soak: {} of {rounds} kills, last {name}", round + 1);
        }
    }
    Ok(killed)
}

/// The training goes on and ends with the bits of one that was not killed.
fn resume(
    bed: &Bed,
    reference: &Reference,
    place: &Path,
    moment: f64,
    failures: &mut Vec<String>,
) -> Result<(), String> {
    let mut command = bed.command(reference.writer, place);
    let output = wait(command.arg("--resume"))?;
    let line = bed.arguments(reference.writer, place).join(" ");
    let after = format!("dst {line} --resume, killed after {moment:.3} s");
    if !output.status.success() {
        failures.push(format!("{after}: {}", words(&output)));
    } else if !reference.has_all(place)? {
        failures.push(format!("{after}: ends with other bits"));
    }
    let entries = fs::read_dir(place).map_err(|e| e.to_string())?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".tmp") {
            failures.push(format!("{after}: leaves {name}"));
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    for (name, content) in contents(from)? {
        fs::write(to.join(name), content).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Makes every file one of an earlier run: other content.
fn age(place: &Path) -> Result<(), String> {
    for (name, mut content) in contents(place)? {
        content.splice(0..0, *b"earlier ");
        fs::write(place.join(name), content).map_err(|e| e.to_string())?;
    }
    Ok(())
}
