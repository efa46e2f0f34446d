//! `xtask-log PROGRAM FRAMES`: prints the log that a program with defmt wrote, a line for each frame: level and message.

use std::process::ExitCode;

use defmt_decoder::{DecodeError, Table};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, frames] = arguments.as_slice() else {
        eprintln!("usage: xtask-log PROGRAM FRAMES");
        return ExitCode::from(2);
    };
    match decode(program, frames) {
        Ok(log) => {
            print!("{log}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn decode(program: &str, frames: &str) -> Result<String, String> {
    let read = |path: &str| std::fs::read(path).map_err(|e| format!("{path}: {e}"));
    let table = Table::parse(&read(program)?)
        .map_err(|e| format!("{program}: {e}"))?
        .ok_or_else(|| format!("{program}: no .defmt section"))?;
    let mut decoder = table.new_stream_decoder();
    decoder.received(&read(frames)?);
    let mut text = String::new();
    loop {
        match decoder.decode() {
            Ok(frame) => {
                let level = frame.level().map_or("-", |level| level.as_str());
                text.push_str(&format!("{level:<5} {}\n", frame.display_message()));
            }
            Err(DecodeError::UnexpectedEof) => return Ok(text),
            Err(DecodeError::Malformed) => return Err(format!("{frames}: a malformed frame")),
        }
    }
}
