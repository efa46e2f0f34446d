//! A training that may be killed at any moment.
//!
//! It keeps three files side by side: the best weights, the log, and a checkpoint with everything that the next step depends on. Each is
//! written completely or not at all. A training that was killed and opened again ends with the bits of one that was not. A lock file
//! beside them, gone at the end, keeps a second training away.
//!
//! ```
//! use std::time::Duration;
//! use dst_std::l2o::{Architecture, Family, Recipe, ResumableTraining, TrainError, TrainingFiles, TrainingPlan};
//! use dst_std::progress::Progress;
//!
//! # let folder = std::env::temp_dir().join(format!("dst-resumable-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! let recipe = Recipe {
//!     family: Family::new(8, 4), batch: 2, segments: 2, steps: 3,
//!     ..Recipe::paper(Architecture::RnnProp)
//! };
//! let plan = TrainingPlan { recipe, seed: 1, steps: 4, validate_every: 2, validation_problems: 2 };
//! let files = TrainingFiles::new(folder.join("small.safetensors"))?;
//!
//! let progress = Progress::hidden();
//! progress.interrupt().raise(); // a user who changes their mind at once
//! let mut training = ResumableTraining::open(plan, files.clone(), None, false)?;
//! assert_eq!(training.run(Duration::from_secs(120), &progress), Err(TrainError::Interrupted { done: 0 }));
//! drop(training); // and with it the lock of its files
//!
//! // Goes on from the checkpoint.
//! let mut training = ResumableTraining::open(plan, files, None, true)?;
//! training.run(Duration::from_secs(120), &Progress::hidden())?;
//! assert!(training.session().is_finished());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), TrainError>(())
//! ```

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::session::{HEADER, Session, TrainingPlan};
use crate::files::{
    Lock, PROBE, read_at_most, reason, remove_left, resolved, try_to_write, write_file,
};
use crate::parallel::ranks;
use crate::progress::Progress;

/// Files of a training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingFiles {
    weights: PathBuf,
    log: PathBuf,
    checkpoint: PathBuf,
    lock: PathBuf,
}

/// The most bytes of a checkpoint: a log of a million lines, and the weights several times.
const LARGEST_CHECKPOINT: u64 = 256 << 20;

/// Reason why a training did not end. Messages are one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrainError {
    /// The weights would have the name of the log, of the checkpoint or of the lock.
    SameName,
    /// Another training writes to these files.
    InUse,
    /// A file cannot be written.
    NotWritable(String),
    /// There is a checkpoint, and the training is not to be resumed.
    CheckpointExists,
    /// The checkpoint cannot be read.
    CheckpointUnreadable(String),
    /// The checkpoint belongs to another training, or is damaged.
    CheckpointRefused(String),
    /// The checkpoint belongs to a training that began from other weights.
    OtherStart,
    /// A step failed: numbers that are not finite.
    Step(String),
    /// A file could not be written on the way.
    Save(String),
    /// The user asked for an end; the checkpoint is written.
    Interrupted {
        /// Steps done.
        done: usize,
    },
}

impl fmt::Display for TrainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameName => f.write_str(
                "the weights must not end in .csv, .checkpoint or .lock, as the other files do",
            ),
            Self::InUse => f.write_str("another training writes to these files"),
            Self::CheckpointExists => f.write_str(
                "there is a checkpoint of an earlier training; resume it, or choose another file",
            ),
            Self::CheckpointUnreadable(why) => write!(f, "the checkpoint cannot be read: {why}"),
            Self::CheckpointRefused(reason) => write!(f, "the checkpoint {reason}"),
            Self::OtherStart => f.write_str(
                "the checkpoint belongs to a training that did not begin from these weights",
            ),
            Self::NotWritable(sentence) | Self::Step(sentence) | Self::Save(sentence) => {
                f.write_str(sentence)
            }
            Self::Interrupted { done } => write!(f, "interrupted after {done} steps"),
        }
    }
}

impl std::error::Error for TrainError {}

impl TrainingFiles {
    /// The weights at this path, with the log (.csv) and the checkpoint (.checkpoint) beside them. These are appended to the name,
    /// without `.safetensors`: a point in a name is part of it.
    pub fn new(weights: impl Into<PathBuf>) -> Result<Self, TrainError> {
        let weights = weights.into();
        let is = |kind: &str| {
            weights
                .extension()
                .is_some_and(|e| e.eq_ignore_ascii_case(kind))
        };
        if ["csv", "checkpoint", "lock"].into_iter().any(is) {
            return Err(TrainError::SameName);
        }
        let stem = match is("safetensors") {
            true => weights.with_extension(""),
            false => weights.clone(),
        };
        let with = |kind: &str| {
            let mut name = OsString::from(&stem);
            name.push(kind);
            PathBuf::from(name)
        };
        Ok(Self {
            log: with(".csv"),
            checkpoint: with(".checkpoint"),
            lock: with(".lock"),
            weights,
        })
    }

    /// Keeps other trainings away, also those that name the weights by another link. What a killed one left beside the files is
    /// removed.
    fn lock(&self) -> Result<Vec<Lock>, TrainError> {
        let mut paths = vec![resolved(&self.lock)];
        // A link may lead to a name that no training takes, such as one that ends in .csv.
        let behind_links = Self::new(resolved(&self.weights)).map(|files| resolved(&files.lock));
        paths.extend(behind_links.ok().filter(|path| *path != paths[0]));
        let locks = paths.iter().map(|path| {
            let lock = Lock::of_file(path).map_err(|error| {
                let (path, reason) = (path.display(), reason(&error));
                TrainError::NotWritable(format!("'{path}' cannot be written: {reason}"))
            })?;
            lock.ok_or(TrainError::InUse)
        });
        let locks = locks.collect::<Result<_, _>>()?;
        for path in [&self.weights, &self.log, &self.checkpoint] {
            remove_left(path);
        }
        // A check for writing may have been killed, too. One that is under way does not mind.
        remove_left(&self.weights.with_file_name(PROBE));
        Ok(locks)
    }

    /// Checks that all files can be written, and that no checkpoint and no table of somebody else would be lost. In an MPI job the first
    /// rank writes, and checks: what lies in the folders of other machines is of no concern.
    pub fn check(&self, resume: bool) -> Result<(), TrainError> {
        if !ranks::is_first() {
            return Ok(());
        }
        for path in [&self.weights, &self.log, &self.checkpoint] {
            try_to_write(path).map_err(TrainError::NotWritable)?;
        }
        if is_foreign(&self.log) {
            return Err(TrainError::NotWritable(format!(
                "'{}' is no log of a training, and would be written over; choose another name",
                self.log.display()
            )));
        }
        match !resume && self.checkpoint.exists() {
            true => Err(TrainError::CheckpointExists),
            false => Ok(()),
        }
    }

    /// The best weights.
    pub fn weights(&self) -> &Path {
        &self.weights
    }

    /// One line per step.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// All that the next step depends on.
    pub fn checkpoint(&self) -> &Path {
        &self.checkpoint
    }
}

/// A [`Session`] with its files.
pub struct ResumableTraining {
    session: Session,
    files: TrainingFiles,
    plan: TrainingPlan,
    /// Held as long as the training.
    _locks: Vec<Lock>,
}

impl ResumableTraining {
    /// Opens a training that begins from `start`, or from random weights. With `resume`, it goes on from the checkpoint. Without
    /// a checkpoint the training was killed before it wrote its first, and begins anew.
    ///
    /// # Panics
    /// If `start` does not have the length of the network.
    pub fn open(
        plan: TrainingPlan,
        files: TrainingFiles,
        start: Option<&[f32]>,
        resume: bool,
    ) -> Result<Self, TrainError> {
        files.check(resume)?;
        let locks = files.lock()?;
        // A training that has just ended may have left a checkpoint.
        files.check(resume)?;
        let found = if resume {
            resumed(plan, &files.checkpoint)?
        } else {
            None
        };
        let session = found.unwrap_or_else(|| match start {
            Some(theta) => Session::from_weights(plan, theta.to_vec()),
            None => Session::new(plan),
        });
        if start.is_some_and(|theta| session.start() != Session::start_of(theta)) {
            return Err(TrainError::OtherStart);
        }
        Ok(Self {
            session,
            files,
            plan,
            _locks: locks,
        })
    }

    /// The training so far.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Trains to the end, with a checkpoint every `period`, at an interrupt, and at the end.
    pub fn run(&mut self, period: Duration, progress: &Progress) -> Result<(), TrainError> {
        self.run_keeping(period, progress, |_| {})
    }

    /// The same. `keep` receives the content of a checkpoint several times a second: a process that has to end in the middle of a
    /// step has it to write.
    pub fn run_keeping(
        &mut self,
        period: Duration,
        progress: &Progress,
        mut keep: impl FnMut(Vec<u8>),
    ) -> Result<(), TrainError> {
        /// The time between two of them.
        const OFTEN: Duration = Duration::from_millis(250);
        let mut kept: Option<Instant> = None;
        let task = progress.task("training", self.plan.steps);
        task.skip(self.session.done());
        let mut saved = Instant::now();
        while !self.session.is_finished() {
            if kept.is_none_or(|kept| kept.elapsed() >= OFTEN) {
                keep(self.session.checkpoint().map_err(TrainError::Save)?);
                kept = Some(Instant::now());
            }
            let step = match self.session.step_until(progress.interrupt()) {
                Ok(Some(step)) => step,
                Ok(None) => {
                    self.save()?;
                    return Err(TrainError::Interrupted {
                        done: self.session.done(),
                    });
                }
                Err(mut sentence) => {
                    // The step has moved the weights before it failed: only a checkpoint before it can be gone on from.
                    let saved = self.session.has_chosen().then(|| self.save_best());
                    if let Some(Err(other)) = saved {
                        sentence = format!("{sentence}; {other}");
                    }
                    return Err(TrainError::Step(sentence));
                }
            };
            task.say(format!("training, loss {:.3e}", step.loss));
            task.advance(1);
            if saved.elapsed() >= period {
                self.save()?;
                saved = Instant::now();
            }
        }
        self.save()
    }

    fn save_best(&self) -> Result<(), String> {
        let best = self.session.best().to_bytes()?;
        write_file(&self.files.weights, &best)
            .and_then(|()| write_file(&self.files.log, self.session.log().as_bytes()))
    }

    fn save(&self) -> Result<(), TrainError> {
        let bytes = self.session.checkpoint().map_err(TrainError::Save)?;
        write_file(&self.files.checkpoint, &bytes)
            .and_then(|()| self.save_best())
            .map_err(TrainError::Save)
    }
}

/// True for a file with content that does not begin as a log does.
fn is_foreign(log: &Path) -> bool {
    if !fs::metadata(log).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return false;
    }
    let mut start = [0; HEADER.len()];
    let read = File::open(log).and_then(|mut file| file.read_exact(&mut start));
    read.is_err() || start != HEADER.as_bytes()
}

/// The session of a checkpoint, if there is one.
fn resumed(plan: TrainingPlan, checkpoint: &Path) -> Result<Option<Session>, TrainError> {
    let bytes = match read_at_most(checkpoint, LARGEST_CHECKPOINT) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(TrainError::CheckpointUnreadable(reason(&error))),
    };
    Session::resume(plan, &bytes)
        .map(Some)
        .map_err(TrainError::CheckpointRefused)
}
