//! One question to several systems, by turns.

use std::path::{Path, PathBuf};

use super::cases::{Case, Contestant, Question};
use crate::turns::{Answer, Side, median, read_gradient};

/// Paths of the programs, and the time that a case may take.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Python, with the others installed.
    pub python: PathBuf,
    /// The scripts.
    pub peers: PathBuf,
    /// The program `ours`.
    pub ours: PathBuf,
    /// Folder of the families of quadratic programs.
    pub programs: PathBuf,
    /// For gradients and complaints.
    pub folder: PathBuf,
    /// Seconds for the turns of one case, about.
    pub patience: f64,
}

/// Result of a case.
#[derive(Clone, Debug)]
pub struct Contest {
    /// The question.
    pub case: Case,
    /// N, if that was asked.
    pub steps: Option<usize>,
    /// One for each contestant.
    pub lines: Vec<Line>,
}

/// Result of one contestant.
#[derive(Clone, Debug)]
pub struct Line {
    /// Contestant.
    pub by: Contestant,
    /// Its numbers, or why there are none.
    pub result: Result<Measured, String>,
}

/// The numbers of one contestant.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Versions of the packages that were run.
    pub version: String,
    /// Seconds of every turn.
    pub seconds: Vec<f64>,
    /// The median over the turns of its time by ours.
    pub ratio: f64,
    /// The most memory, and that before the first run.
    pub memory_mb: (f64, f64),
    /// The relative difference of its answer from ours.
    pub difference: f64,
}

/// The fewest turns, and the most.
const TURNS: (f64, f64) = (3.0, 25.0);

impl Contest {
    /// Asks everybody. A contestant that fails has a line that says so; ours must not.
    pub fn hold(setup: &Setup, case: Case) -> Result<Self, String> {
        let file = |i: usize, kind: &str| setup.folder.join(format!("{i}.{kind}"));
        let mut sides: Vec<Result<Side, String>> = Vec::new();
        for (i, by) in case.by.iter().enumerate() {
            eprintln!("{}: {} gets ready", case.name, plain(by.name()));
            let gradient = file(i, "gradient");
            let _ = std::fs::remove_file(&gradient);
            let command = by.command(case.question, setup, &gradient);
            sides.push(Side::start(command, &file(i, "log")));
        }
        take_turns(&case.name, &mut sides, setup.patience);
        let ours = match sides.first() {
            Some(Ok(ours)) => (ours.answer.clone(), ours.seconds.clone()),
            Some(Err(reason)) => return Err(format!("{}: {reason}", case.name)),
            None => return Err(format!("{}: nobody is asked", case.name)),
        };
        let mut lines = Vec::new();
        for (i, (&by, side)) in case.by.iter().zip(sides).enumerate() {
            let result = side.and_then(|side| {
                let files = [file(0, "gradient"), file(i, "gradient")];
                let difference = difference(case.question, [&ours.0, &side.answer], &files)?;
                let ratios = side.seconds.iter().zip(&ours.1).map(|(a, b)| a / b);
                Ok(Measured {
                    version: side.answer.version.clone(),
                    ratio: median(ratios),
                    seconds: side.seconds.clone(),
                    difference,
                    memory_mb: (side.answer.before_mb, side.end()?.peak_mb),
                })
            });
            lines.push(Line { by, result });
        }
        let steps = ours.0.steps;
        Ok(Self { case, steps, lines })
    }

    /// Those whose answer is another one than ours.
    pub fn dissenters(&self) -> impl Iterator<Item = &Line> {
        let tolerance = self.case.question.tolerance();
        // Asked this way round, a NaN dissents.
        let agrees = move |m: &Measured| m.difference <= tolerance;
        self.lines
            .iter()
            .filter(move |line| line.result.as_ref().is_ok_and(|m| !agrees(m)))
    }
}

/// Turns until the patience is used up; a side that breaks down is out.
fn take_turns(name: &str, sides: &mut [Result<Side, String>], patience: f64) {
    let mut turns = 1;
    let mut turn = 0;
    while turn < turns {
        let mut took = 0.0;
        for side in sides.iter_mut() {
            if let Ok(ready) = side {
                match ready.turn() {
                    Ok(seconds) => took += seconds,
                    Err(reason) => *side = Err(reason),
                }
            }
        }
        if turn == 0 {
            turns = (patience / took).clamp(TURNS.0, TURNS.1) as usize;
            eprintln!("{name}: {turns} turns of {took:.2} s");
        }
        turn += 1;
    }
}

/// The relative difference between two answers, the largest of those that there are; infinite where a count differs.
fn difference(
    question: Question,
    [ours, theirs]: [&Answer; 2],
    files: &[PathBuf; 2],
) -> Result<f64, String> {
    if ours.steps.is_some() && ours.steps != theirs.steps {
        return Ok(f64::INFINITY);
    }
    let mut largest: f64 = 0.0;
    for (a, b) in [(ours.time, theirs.time), (ours.value, theirs.value)] {
        match (a, b) {
            (Some(a), Some(b)) => largest = worse(largest, ((b - a) / a).abs()),
            (None, None) => {}
            _ => return Err("the answers are not of one kind".to_owned()),
        }
    }
    if !question.has_gradient() {
        return Ok(largest);
    }
    let [a, b] = files.each_ref().map(|file| read_gradient(Path::new(file)));
    let (a, b) = (a?, b?);
    if a.len() != b.len() {
        return Err(format!(
            "the gradients have {} and {} entries",
            a.len(),
            b.len()
        ));
    }
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let apart = norm(&mut a.iter().zip(&b).map(|(a, b)| a - b));
    Ok(worse(largest, apart / norm(&mut a.iter().copied())))
}

/// The larger one; a NaN is the worst.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Without the marks of bold type.
pub(super) fn plain(name: &str) -> String {
    name.replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(steps: usize, value: f64) -> Answer {
        Answer {
            steps: Some(steps),
            value: Some(value),
            ..Answer::default()
        }
    }

    #[test]
    fn answers_are_compared() {
        let ola = Question::Ola { data: "a1a" };
        let l2o = Question::L2o { batch: 4, dim: 64 };
        let none = [PathBuf::new(), PathBuf::new()];
        let loss = answer(7, 2.0);
        assert_eq!(difference(l2o, [&loss, &loss], &none), Ok(0.0));
        let apart = |a: &Answer, b: &Answer| difference(ola, [a, b], &none);
        assert_eq!(apart(&answer(7, 2.0), &answer(7, 2.0)), Ok(0.0));
        assert_eq!(apart(&answer(7, 2.0), &answer(7, 3.0)), Ok(0.5));
        assert_eq!(apart(&answer(7, 2.0), &answer(8, 2.0)), Ok(f64::INFINITY));
        assert!(
            apart(&answer(7, 2.0), &answer(7, f64::NAN))
                .unwrap()
                .is_nan()
        );
        let silent = Answer {
            steps: Some(7),
            ..Answer::default()
        };
        assert!(apart(&answer(7, 2.0), &silent).is_err());
    }

    #[test]
    fn gradients_are_compared_number_by_number() {
        let folder = std::env::temp_dir();
        let files = ["ours", "theirs"]
            .map(|name| folder.join(format!("dst-contest-{}-{name}", std::process::id())));
        let write = |file: &PathBuf, numbers: &[f64]| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
            std::fs::write(file, bytes).unwrap();
        };
        let question = Question::Event {
            dim: 2,
            basis: "haar",
        };
        let time = Answer {
            time: Some(1.0),
            ..Answer::default()
        };
        write(&files[0], &[3.0, 4.0]);
        write(&files[1], &[3.0, 4.5]);
        assert_eq!(difference(question, [&time, &time], &files), Ok(0.1));
        write(&files[1], &[3.0]);
        assert!(difference(question, [&time, &time], &files).is_err());
        for file in files {
            let _ = std::fs::remove_file(file);
        }
    }
}
