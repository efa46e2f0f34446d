//! A whole training: steps, validation, checkpoints.
//!
//! Everything that the next step depends on is in the checkpoint, and problems are numbered, not drawn from a running
//! generator: a training that was killed and resumed ends with the bits of one that was not.

use std::fmt::Write;

use super::penalty::Penalty;
use super::runs::Runner;
use super::training::{Recipe, Trainer};
use super::weights::{Notes, Trained, bytes_of, file_of, numbers_of, open};
use crate::adam::Adam;
use crate::linalg::Arithmetic;
use crate::parallel::instances;
use crate::progress::Interrupt;

/// Sets of problems: number `step` of seed s trains, others validate and test. No set serves two purposes.
const SETS_PER_SEED: u64 = 100_000;
const VALIDATION: u64 = 90_000;
/// The problems of the test.
pub(super) const TEST: u64 = 95_000;
/// Those on which classical methods are tuned.
pub(super) const TUNING: u64 = 92_000;
/// Initial weights come from this stream and the ones after it.
const INITIAL: u64 = 2000;

/// A training to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingPlan {
    /// Settings of a step.
    pub recipe: Recipe,
    /// The seed of weights and problems.
    pub seed: u64,
    /// Training steps.
    pub steps: usize,
    /// Steps between two validations.
    pub validate_every: usize,
    /// Problems of a validation.
    pub validation_problems: usize,
}

/// A training under way.
pub struct Session {
    plan: TrainingPlan,
    /// Initial weights: random, or a digest of others.
    start: String,
    trainer: Trainer<f32>,
    done: usize,
    best: Vec<f32>,
    best_validation: f64,
    best_step: usize,
    log: String,
    validator: Runner<f32>,
    values: Vec<f32>,
    /// inf f of the problems of the validation.
    least: Vec<f32>,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionStep {
    /// Steps done.
    pub step: usize,
    /// The sum of the losses of the segments.
    pub loss: f64,
    /// The loss of the validation after this step; NaN if there was none.
    pub validation: f64,
}

/// First line of every log.
pub(super) const HEADER: &str = "step,loss,f_at_end,stops,flat_stops,mean_stop,validation\n";

/// The vectors of a checkpoint.
const VECTORS: [&str; 4] = ["theta", "first", "second", "best"];
/// The remark that tells whether the vectors and the other remarks are as they were written.
const DIGEST: &str = "digest";
/// The remark on what a training began from, and what it says of random weights.
const START: &str = "start";
const RANDOM: &str = "random";
const ARITHMETIC: &str = "arithmetic";

/// FNV-1a over vectors and remarks: any byte that changes alone changes it.
fn digest<'a>(vectors: impl IntoIterator<Item = &'a [u8]>, notes: &'a Notes) -> String {
    let remarks = notes
        .iter()
        .flat_map(|(key, value)| [key.as_bytes(), value.as_bytes()]);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for piece in vectors.into_iter().chain(remarks) {
        // The length tells the end of a piece from the beginning of the next.
        for &byte in piece.len().to_le_bytes().iter().chain(piece) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

/// The remark of a training in portable arithmetic, which goes on in that arithmetic only.
fn arithmetic() -> Option<(String, String)> {
    let portable = Arithmetic::current() == Arithmetic::Portable;
    portable.then(|| (ARITHMETIC.to_owned(), "portable".to_owned()))
}

impl Session {
    /// From random weights.
    pub fn new(plan: TrainingPlan) -> Self {
        let stream = INITIAL.wrapping_add(plan.seed);
        let theta = plan.recipe.model.initial(stream, |tensor| tensor.spread);
        Self {
            start: RANDOM.to_owned(),
            ..Self::from_weights(plan, theta)
        }
    }

    /// Digest of the weights that a training begins from.
    pub fn start_of(theta: &[f32]) -> String {
        let bytes = bytes_of(theta.iter().copied());
        digest([bytes.as_slice()], &Notes::new())
    }

    /// Digest of the initial weights, by [`start_of`](Self::start_of), or "random".
    pub fn start(&self) -> &str {
        &self.start
    }

    /// From given weights.
    ///
    /// # Panics
    /// If θ does not have the length of the model.
    pub fn from_weights(plan: TrainingPlan, theta: Vec<f32>) -> Self {
        let TrainingPlan { recipe, .. } = plan;
        let least = |index| {
            let wanted = recipe.loss.counts_from_infimum();
            let least = wanted.then(|| recipe.family.infimum(VALIDATION, index));
            least.unwrap_or(0.0) as f32
        };
        Self {
            plan,
            start: Self::start_of(&theta),
            best: theta.clone(),
            trainer: Trainer::new(recipe, theta),
            done: 0,
            best_validation: f64::INFINITY,
            best_step: 0,
            log: HEADER.to_owned(),
            validator: Runner::new(recipe.model, recipe.family, recipe.horizon()),
            values: vec![0.0; plan.validation_problems * (recipe.horizon() + 1)],
            least: instances(plan.validation_problems, least),
        }
    }

    /// Steps done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// True if all steps are done.
    pub fn is_finished(&self) -> bool {
        self.done >= self.plan.steps
    }

    /// True if a validation has chosen weights.
    pub fn has_chosen(&self) -> bool {
        self.best_step > 0
    }

    /// One step, and a validation if it is time. On an error (numbers that are not finite) the best weights so far remain.
    pub fn step(&mut self) -> Result<SessionStep, String> {
        self.step_unless(None).map(Option::unwrap_or_default)
    }

    /// The same step; `None` if the flag was raised on the way. Then the training is where it was before.
    pub fn step_until(&mut self, interrupt: &Interrupt) -> Result<Option<SessionStep>, String> {
        let before = (self.trainer.theta.clone(), self.trainer.adam.clone());
        let lines = self.log.len();
        let step = self.step_unless(Some(interrupt))?;
        if step.is_none() {
            (self.trainer.theta, self.trainer.adam) = before;
            self.log.truncate(lines);
        }
        Ok(step)
    }

    fn step_unless(
        &mut self,
        interrupt: Option<&Interrupt>,
    ) -> Result<Option<SessionStep>, String> {
        let set = self
            .plan
            .seed
            .wrapping_mul(SETS_PER_SEED)
            .wrapping_add(self.done as u64);
        self.trainer.draw_unless(set, interrupt);
        let whole = self.trainer.step_unless(self.done, interrupt);
        let whole = whole.map_err(|error| {
            format!(
                "training step {} has no finite gradient ({error})",
                self.done + 1
            )
        })?;
        if !whole {
            return Ok(None);
        }
        let report = self.trainer.report();
        let loss = report.losses.iter().sum();
        let _ = write!(
            self.log,
            "{},{:e},{:e},{},{},{:.3}",
            self.done + 1,
            loss,
            report.last,
            report.stops,
            report.flat,
            report.mean_stop
        );
        let mut validation = f64::NAN;
        let done = self.done + 1;
        if done.is_multiple_of(self.plan.validate_every) || done >= self.plan.steps {
            let Some(found) = self.validate(interrupt) else {
                return Ok(None);
            };
            validation = found;
            if validation < self.best_validation {
                self.best_validation = validation;
                self.best_step = done;
                self.best.copy_from_slice(&self.trainer.theta);
            }
            let _ = writeln!(self.log, ",{validation:e}");
        } else {
            self.log.push_str(",\n");
        }
        self.done = done;
        Ok(Some(SessionStep {
            step: done,
            loss,
            validation,
        }))
    }

    /// The mean of the loss over the steps of fresh runs.
    fn validate(&mut self, interrupt: Option<&Interrupt>) -> Option<f64> {
        let (theta, values) = (&self.trainer.theta, &mut self.values);
        let whole = self
            .validator
            .learned_unless(theta, VALIDATION, values, interrupt);
        if !whole {
            return None;
        }
        let Recipe { loss, .. } = self.plan.recipe;
        let run = self.plan.recipe.horizon() + 1;
        let runs = self.values.chunks_exact(run).zip(&self.least);
        let of_run = |(values, &least): (&[f32], &f32)| -> f64 {
            let losses = values[1..].iter().map(|&f| loss.of(f, least));
            losses.map(f64::from).sum()
        };
        let sum: f64 = runs.map(of_run).sum();
        Some(sum / (self.plan.validation_problems * (run - 1)).max(1) as f64)
    }

    /// The best weights by validation, and how they came about.
    pub fn best(&self) -> Trained {
        let mut notes = self.notes();
        notes.insert("best_step".to_owned(), self.best_step.to_string());
        notes.insert(
            "validation".to_owned(),
            format!("{:e}", self.best_validation),
        );
        Trained {
            model: self.plan.recipe.model,
            theta: self.best.clone(),
            notes,
        }
    }

    /// One line per step, as CSV.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Notes that identify the training.
    fn notes(&self) -> Notes {
        let TrainingPlan { recipe, seed, .. } = self.plan;
        let penalty = match recipe.penalty {
            Penalty::None => "none".to_owned(),
            Penalty::Literal { weight } => format!("literal {weight}"),
            Penalty::Guarded { from } => format!("guarded from {from}"),
            Penalty::Carried { from } => format!("carried from {from}"),
            Penalty::Target { level, from } => format!("target {level} from {from}"),
        };
        [
            ("model", recipe.model.name().to_owned()),
            ("loss", recipe.loss.name().to_owned()),
            ("penalty", penalty),
            ("feed", format!("{:?}", recipe.feed)),
            ("dim", recipe.family.dim.to_string()),
            ("samples", recipe.family.samples.to_string()),
            ("spread", recipe.family.spread.to_string()),
            ("batch", recipe.batch.to_string()),
            ("segments", recipe.segments.to_string()),
            ("steps_per_segment", recipe.steps.to_string()),
            ("rate", recipe.rate.to_string()),
            ("seed", seed.to_string()),
            (START, self.start.clone()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .chain(arithmetic())
        .collect()
    }

    /// These notes, and what else the result depends on.
    fn identity(&self) -> Notes {
        let mut notes = self.notes();
        let numbers = [
            ("validate_every", self.plan.validate_every),
            ("validation_problems", self.plan.validation_problems),
        ];
        notes.extend(numbers.map(|(key, value)| (key.to_owned(), value.to_string())));
        notes
    }

    /// Everything that the rest of the training depends on, as the content of a file.
    pub fn checkpoint(&self) -> Result<Vec<u8>, String> {
        let adam = &self.trainer.adam;
        let vectors = [&self.trainer.theta, &adam.first, &adam.second, &self.best];
        let tensors: Vec<_> = VECTORS
            .into_iter()
            .zip(vectors)
            .map(|(name, v)| (name.to_owned(), vec![v.len()], bytes_of(v.iter().copied())))
            .collect();
        let mut notes = self.identity();
        let numbers = [
            ("done", self.done.to_string()),
            ("updates", adam.updates.to_string()),
            ("best_step", self.best_step.to_string()),
            (
                "best_validation",
                format!("{:x}", self.best_validation.to_bits()),
            ),
            ("log", self.log.clone()),
        ];
        notes.extend(numbers.map(|(key, value)| (key.to_owned(), value)));
        let digest = digest(tensors.iter().map(|(_, _, bytes)| bytes.as_slice()), &notes);
        notes.insert(DIGEST.to_owned(), digest);
        file_of(&tensors, &notes)
    }

    /// Goes on from the content of such a file. The error is a sentence without a subject.
    pub fn resume(plan: TrainingPlan, bytes: &[u8]) -> Result<Self, String> {
        let (file, mut notes) = open(bytes)?;
        let there = notes.remove(DIGEST).ok_or("is no checkpoint of dst")?;
        let tensors = VECTORS.map(|name| file.tensor(name).map_or(&[][..], |view| view.data()));
        // A fuzzer does not guess a digest; an attacker computes it.
        if !cfg!(fuzzing) && there != digest(tensors, &notes) {
            return Err("is damaged: its digest is that of another content".to_owned());
        }
        let mut session = Self::new(plan);
        if let Some(start) = notes.get(START) {
            session.start.clone_from(start);
        }
        if session.notes().get(ARITHMETIC) != notes.get(ARITHMETIC) {
            return Err(match arithmetic() {
                None => "belongs to a training with --portable; give that option again".to_owned(),
                Some(_) => {
                    "belongs to a training without --portable; leave that option out".to_owned()
                }
            });
        }
        for (key, value) in session.identity() {
            let there = notes.get(&key);
            // A guarded training may go on from a plain one that has not reached its first penalty.
            let same = there == Some(&value)
                || (key == "penalty" && session.may_follow(there, notes.get("done")));
            if !same {
                let there = there.map_or("nothing", String::as_str);
                return Err(format!(
                    "belongs to another training: {key} is {there}, not {value}"
                ));
            }
        }
        let number = |key: &str| -> Result<u64, String> {
            let radix = if key == "best_validation" { 16 } else { 10 };
            let text = notes.get(key).map(String::as_str).unwrap_or_default();
            u64::from_str_radix(text, radix).map_err(|_| format!("has no number '{key}'"))
        };
        let vector = |name: &str, to: &mut [f32]| -> Result<(), String> {
            let view = file
                .tensor(name)
                .map_err(|_| format!("has no vector '{name}'"))?;
            let numbers = numbers_of(view.data());
            if numbers.len() != to.len() || numbers.iter().any(|v| !v.is_finite()) {
                return Err(format!(
                    "has a vector '{name}' of the wrong length or not finite"
                ));
            }
            to.copy_from_slice(&numbers);
            Ok(())
        };
        vector("theta", &mut session.trainer.theta)?;
        vector("best", &mut session.best)?;
        let mut adam = Adam::new(session.best.len());
        vector("first", &mut adam.first)?;
        vector("second", &mut adam.second)?;
        adam.updates = number("updates")?;
        session.trainer.adam = adam;
        session.done = number("done")? as usize;
        session.best_step = number("best_step")? as usize;
        session.best_validation = f64::from_bits(number("best_validation")?);
        session.log = notes
            .get("log")
            .cloned()
            .unwrap_or_else(|| HEADER.to_owned());
        Ok(session)
    }

    fn may_follow(&self, penalty: Option<&String>, done: Option<&String>) -> bool {
        let done: Option<usize> = done.and_then(|done| done.parse().ok());
        self.plan.recipe.penalty.warm_up().is_some_and(|from| {
            penalty.is_some_and(|penalty| penalty == "none")
                && done.is_some_and(|done| done <= from)
        })
    }
}
