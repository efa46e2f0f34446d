//! One training step: a batch of problems, runs cut into segments, an update of the weights after each.
//!
//! The loss of a segment is the mean over the batch of Σ f(x_k)/K over its steps, or of the logarithm of f ([`Loss`]), plus what
//! the [`Penalty`] adds. Each problem is a run of dst-core over the segment, with all its states kept, and one backward sweep
//! whose seeds are chosen when the values f(x_k) of the run are known. A penalty that is scaled against the loss takes a second
//! sweep over the same run. Problems are spread over the ranks and their threads, and their gradients added in the order of the
//! problems. What a step needs is made once: the step itself allocates nothing.

use std::sync::Mutex;

use dst_core::{Error, HeapMemory, Map, Progress, Reading, Seeds, Status, System};

use super::architecture::Architecture;
use super::loss::Loss;
use super::optimiser::{self, Feed, Optimiser};
use super::penalty::{Found, Penalty};
use super::scratch::{self, NetworkScratch};
use super::task::{Family, Task};
use crate::adam::Adam;
use crate::linalg::Real;
use crate::machine::Footprint;
use crate::parallel::{Piece, each, in_turn, piece, ranks};
use crate::progress::Interrupt;

/// Settings of a training step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// The network.
    pub model: Architecture,
    /// Treatment of the gradient that is fed to the network.
    pub feed: Feed,
    /// Loss to minimise.
    pub loss: Loss,
    /// Term added to the loss.
    pub penalty: Penalty,
    /// Size and scale of the problems.
    pub family: Family,
    /// Problems per training step.
    pub batch: usize,
    /// Segments of a run.
    pub segments: usize,
    /// Steps of a segment.
    pub steps: usize,
    /// Learning rate of the weights.
    pub rate: f64,
}

impl Recipe {
    /// The paper's sizes.
    pub const fn paper(model: Architecture) -> Self {
        Self {
            model,
            feed: Feed::Detached,
            loss: Loss::Mean,
            penalty: Penalty::None,
            family: Family::new(512, 256),
            batch: 64,
            segments: 5,
            steps: 20,
            rate: 3e-3,
        }
    }

    /// Steps of a run, K.
    pub const fn horizon(&self) -> usize {
        self.segments.saturating_mul(self.steps)
    }

    /// About the memory that a training takes in single precision.
    pub fn footprint(&self, threads: usize) -> Footprint {
        const NUMBER: f64 = size_of::<f32>() as f64;
        let Family { dim, samples, .. } = self.family;
        // The rest of the batch is that of the other ranks.
        let batch = ranks::most_own(self.batch);
        let [dim, samples, batch] = [dim, samples, batch].map(|n| n as f64);
        let state = optimiser::PER_VARIABLE as f64;
        // The gradient of a problem and that of its penalty.
        let weights = 2.0 * self.model.theta_len() as f64;
        // Those of the training, and those of the validation.
        let values = 2.0 * self.horizon() as f64;
        let member = dim * samples + state * dim + weights + values;
        let worker = self.steps as f64 * (state + scratch::PER_VARIABLE as f64) * dim;
        Footprint::of("this training")
            .with(
                "the problems and their gradients",
                [NUMBER, batch, member],
                "lower --batch, --dim or --samples",
            )
            .with(
                "the runs of the threads",
                [NUMBER, threads as f64, worker + dim * samples],
                "lower --segment-steps, --dim or --threads",
            )
    }
}

/// Result of a training step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// The loss of each segment, without penalty.
    pub losses: Vec<f64>,
    /// Mean f at the end of the runs.
    pub last: f64,
    /// Stops that the penalty saw and could differentiate.
    pub stops: usize,
    /// Stops without a derivative.
    pub flat: usize,
    /// Mean of the N that it saw; NaN without one.
    pub mean_stop: f64,
}

/// Problem of the batch, with the state of its run.
struct BatchMember<T> {
    task: Task<T>,
    /// inf f, if something counts from there.
    least: T,
    state: Vec<T>,
    /// f(x_0), f(x_1), … as far as the run is.
    values: Vec<T>,
    gradient: Vec<T>,
    penalty_gradient: Vec<T>,
    found: Found<T>,
    stopped: bool,
    outcome: Result<(), Error>,
}

/// Memory of one thread.
struct TrainingWorker<T> {
    memory: HeapMemory<T>,
    scratch: Box<NetworkScratch<T>>,
    /// x = 0, where runs begin.
    origin: Vec<T>,
}

impl<T: Real> TrainingWorker<T> {
    fn new(recipe: &Recipe, task: &Task<T>) -> Self {
        let mut scratch = NetworkScratch::new(recipe.family.dim, recipe.steps);
        let optimiser = Optimiser::new(recipe.model, task, recipe.feed, &mut scratch);
        // One slot for every state of a segment: each is written where it is kept.
        let slots = recipe.steps + 1;
        let memory = HeapMemory::with_records(&Map.until(-T::MAX), &optimiser, slots);
        Self {
            memory,
            scratch,
            origin: vec![T::ZERO; recipe.family.dim],
        }
    }
}

/// Trains the weights of a network.
pub struct Trainer<T> {
    recipe: Recipe,
    /// The weights.
    pub(super) theta: Vec<T>,
    /// The state of their optimiser.
    pub(super) adam: Adam<T>,
    /// Those of this rank.
    members: Vec<BatchMember<T>>,
    /// Number of the first of them in the batch.
    first: usize,
    workers: Mutex<Vec<TrainingWorker<T>>>,
    sums: Sums<T>,
    report: StepReport,
}

/// Sums over the problems of a segment, in their order.
struct Sums<T> {
    gradient: Vec<T>,
    /// Empty where the penalty is not scaled against the loss.
    penalty: Vec<T>,
    loss: T,
    stops: usize,
    flat: usize,
    /// Sum of the N.
    stop: usize,
    /// Sum of the last f.
    last: f64,
    failed: Option<Failed>,
}

piece!([T: Real] Sums<T> { gradient, penalty, loss, stops, flat, stop, last, failed });

/// Failure of the first problem that failed.
#[derive(Clone, Copy)]
struct Failed(Error);

impl Piece for Failed {
    fn put(&self, to: &mut Vec<u8>) {
        match self.0 {
            Error::NonFinite { step } => (1_u8, step),
            Error::NonFiniteGradient { step } => (2, step),
            _ => (0, 0),
        }
        .put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(Self(match <(u8, usize)>::take(from)? {
            (1, step) => Error::NonFinite { step },
            (2, step) => Error::NonFiniteGradient { step },
            // All others are those of a fault, and have no numbers.
            _ => Error::Order,
        }))
    }
}

impl<T: Real> Sums<T> {
    /// Zero, with as many entries of the penalty's gradient.
    fn clear(&mut self, penalty: usize) {
        self.gradient.fill(T::ZERO);
        self.penalty.clear();
        self.penalty.resize(penalty, T::ZERO);
        self.loss = T::ZERO;
        (self.stops, self.flat, self.stop) = (0, 0, 0);
        self.last = 0.0;
        self.failed = None;
    }

    /// Adds a problem after the segment that begins at step `first`.
    fn add(&mut self, member: &BatchMember<T>, loss: Loss, first: usize) {
        if self.failed.is_some() {
            return;
        }
        if let Err(error) = member.outcome {
            self.failed = Some(Failed(error));
            return;
        }
        add(&mut self.gradient, &member.gradient);
        for &value in &member.values[first + 1..] {
            self.loss += loss.of(value, member.least);
        }
        self.last += member.values.last().map_or(0.0, |f| f.to_f64());
        match member.found {
            Found::Nothing => {}
            Found::Flat => self.flat += 1,
            Found::Stop(term) => {
                self.stops += 1;
                self.stop += term.stop;
                // A penalty that is not scaled is a part of the gradient already.
                if !self.penalty.is_empty() {
                    add(&mut self.penalty, &member.penalty_gradient);
                }
            }
        }
    }
}

impl<T: Real> Trainer<T> {
    /// A trainer for this recipe, from these weights.
    ///
    /// # Panics
    /// If θ does not have the length of the model.
    pub fn new(recipe: Recipe, theta: Vec<T>) -> Self {
        assert_eq!(
            theta.len(),
            recipe.model.theta_len(),
            "weights of the model"
        );
        let task = Task::new(recipe.family);
        let worker = || TrainingWorker::new(&recipe, &task);
        let workers: Vec<TrainingWorker<T>> = (0..rayon::current_num_threads())
            .map(|_| worker())
            .collect();
        let scratch = &mut NetworkScratch::new(recipe.family.dim, 0);
        let states = Optimiser::new(recipe.model, &task, recipe.feed, scratch)
            .dims()
            .states;
        let own = ranks::own(recipe.batch);
        let member = || BatchMember {
            task: task.clone(),
            least: T::ZERO,
            state: vec![T::ZERO; states],
            values: Vec::with_capacity(recipe.horizon() + 1),
            gradient: vec![T::ZERO; theta.len()],
            penalty_gradient: vec![T::ZERO; theta.len()],
            found: Found::Nothing,
            stopped: false,
            outcome: Ok(()),
        };
        Self {
            recipe,
            adam: Adam::new(theta.len()),
            members: own.clone().map(|_| member()).collect(),
            first: own.start,
            workers: Mutex::new(workers),
            sums: Sums {
                gradient: vec![T::ZERO; theta.len()],
                penalty: Vec::with_capacity(theta.len()),
                loss: T::ZERO,
                stops: 0,
                flat: 0,
                stop: 0,
                last: 0.0,
                failed: None,
            },
            report: StepReport {
                losses: Vec::with_capacity(recipe.segments),
                ..StepReport::default()
            },
            theta,
        }
    }

    /// The weights.
    pub fn theta(&self) -> &[T] {
        &self.theta
    }

    /// Draws the problems of the next step: set number `set`.
    pub fn draw(&mut self, set: u64) {
        self.draw_unless(set, None);
    }

    /// The same. If the flag is raised on the way, problems are missing.
    pub(super) fn draw_unless(&mut self, set: u64, interrupt: Option<&Interrupt>) {
        let Recipe {
            family,
            loss,
            penalty,
            ..
        } = self.recipe;
        let from_infimum = loss.counts_from_infimum() || penalty.warm_up().is_some();
        let first = self.first;
        each(&mut self.members, &|index, member| {
            let index = first + index;
            if interrupt.is_some_and(Interrupt::raised) {
                return;
            }
            member.task.draw(set, index);
            if from_infimum {
                member.least = T::from_f64(family.infimum(set, index));
            }
        });
    }

    /// One training step on the problems drawn; `number` counts the steps, for penalties that begin later. On an error (a
    /// number that is not finite) the weights are those of the last segment that went well.
    pub fn step(&mut self, number: usize) -> Result<&StepReport, Error> {
        self.step_unless(number, None)?;
        Ok(&self.report)
    }

    /// The same step. False if the flag was raised on the way: then the weights and the state of their optimiser are somewhere between
    /// this step and the next.
    pub(super) fn step_unless(
        &mut self,
        number: usize,
        interrupt: Option<&Interrupt>,
    ) -> Result<bool, Error> {
        let recipe = self.recipe;
        let ended = || interrupt.is_some_and(Interrupt::raised);
        let penalty = match recipe.penalty {
            penalty if penalty.warm_up().is_some_and(|from| number < from) => Penalty::None,
            penalty => penalty,
        };
        let scaled = penalty.warm_up().is_some();
        self.report.losses.clear();
        (self.report.stops, self.report.flat) = (0, 0);
        let mut stop_sum = 0;
        for segment in 0..recipe.segments {
            let job = Job {
                recipe,
                penalty,
                theta: &self.theta,
                first: segment * recipe.steps,
            };
            each(&mut self.members, &|_, member| {
                let worker = self.workers.lock().expect("no thread panics").pop();
                // There are as many as threads, unless it was made where there were fewer.
                let mut worker =
                    worker.unwrap_or_else(|| TrainingWorker::new(&recipe, &member.task));
                member.outcome = job.one(member, &mut worker, &ended);
                self.workers.lock().expect("no thread panics").push(worker);
            });
            if ended() {
                return Ok(false);
            }
            let (members, first) = (&self.members, job.first);
            self.sums.clear(if scaled { self.theta.len() } else { 0 });
            let whole = in_turn(&mut self.sums, |sums| {
                members
                    .iter()
                    .for_each(|member| sums.add(member, recipe.loss, first));
            });
            if !whole {
                return Ok(false);
            }
            let sums = &mut self.sums;
            if let Some(Failed(error)) = sums.failed {
                return Err(error);
            }
            self.report.stops += sums.stops;
            self.report.flat += sums.flat;
            stop_sum += sums.stop;
            if scaled {
                let (loss, stop) = (norm(&sums.gradient), norm(&sums.penalty));
                if stop > 0.0 && stop.is_finite() {
                    let scale = T::from_f64(loss / stop);
                    for (sum, &bar) in sums.gradient.iter_mut().zip(&sums.penalty) {
                        *sum += scale * bar;
                    }
                }
            }
            let share = job.share();
            self.report.losses.push((share * sums.loss).to_f64());
            self.report.last = sums.last / recipe.batch as f64;
            let theta = &mut self.theta;
            self.adam.update(theta, &sums.gradient, recipe.rate);
        }
        self.report.mean_stop = stop_sum as f64 / self.report.stops as f64;
        Ok(true)
    }

    /// The report on the last whole step.
    pub(super) fn report(&self) -> &StepReport {
        &self.report
    }

    /// The gradient of the last segment's loss, with the penalty.
    pub fn gradient(&self) -> &[T] {
        &self.sums.gradient
    }
}

fn add<T: Real>(sum: &mut [T], term: &[T]) {
    for (sum, &term) in sum.iter_mut().zip(term) {
        *sum += term;
    }
}

fn norm<T: Real>(v: &[T]) -> f64 {
    v.iter()
        .map(|v| v.to_f64() * v.to_f64())
        .sum::<f64>()
        .sqrt()
}

/// A segment of all runs.
#[derive(Clone, Copy)]
struct Job<'a, T> {
    recipe: Recipe,
    penalty: Penalty,
    theta: &'a [T],
    /// The first step of the segment.
    first: usize,
}

impl<T: Real> Job<'_, T> {
    /// The weight of a value of f in the loss.
    fn share(&self) -> T {
        T::from_f64(1.0 / (self.recipe.horizon() * self.recipe.batch) as f64)
    }

    /// Runs a problem and differentiates. Once `ended` is true it returns at the next step; nothing that it leaves behind counts.
    fn one(
        self,
        member: &mut BatchMember<T>,
        worker: &mut TrainingWorker<T>,
        ended: &impl Fn() -> bool,
    ) -> Result<(), Error> {
        let Self {
            recipe,
            penalty,
            theta,
            first,
        } = self;
        let scratch = &mut worker.scratch;
        let optimiser = Optimiser::new(recipe.model, &member.task, recipe.feed, scratch)
            .until(first + recipe.steps);
        if first == 0 {
            optimiser.start(&worker.origin, &mut member.state);
            member.values.clear();
            member.stopped = false;
        }
        let plan = Map
            .until(-T::MAX)
            .at_most(recipe.steps)
            .from_time(T::from_count(first))
            .theta_only();
        let problem = plan.on(&optimiser, theta, &member.state)?;
        let memory = &mut worker.memory;
        problem.start(memory)?;
        loop {
            let status = problem.watch(memory, 1, |k, seen| {
                // A segment begins where the one before it ended.
                if k > 0 || first == 0 {
                    member.values.push(seen.loss);
                }
            })?;
            match status {
                _ if ended() => return Ok(()),
                Status::Running(_) => {}
                _ => break,
            }
        }
        member.found = if member.stopped {
            Found::Nothing
        } else {
            penalty.find(&member.values, first, member.least)
        };
        member.stopped |= member.found != Found::Nothing;
        let (share, mean) = (self.share(), T::ONE / T::from_count(recipe.batch));
        let literal = match (penalty, member.found) {
            (Penalty::Literal { weight }, Found::Stop(term)) => {
                Some((term, mean * T::from_f64(weight)))
            }
            _ => None,
        };
        let (values, least) = (&member.values[first..], member.least);
        let weight = |k| {
            let weight = match k {
                0 => T::ZERO,
                _ => share * recipe.loss.slope(values[k], least),
            };
            let stop = literal.map_or(T::ZERO, |(term, scale)| scale * term.at(first + k));
            Reading::loss(weight + stop)
        };
        while problem.adjoint(memory, Seeds::weighted(weight), 1)? != Progress::Done {
            if ended() {
                return Ok(());
            }
        }
        let mut found = problem.gradient(memory)?;
        member.gradient.copy_from_slice(found.theta);
        if let (Some(_), Found::Stop(term)) = (penalty.warm_up(), member.found) {
            let optimiser = match penalty {
                Penalty::Carried { .. } => optimiser.given(term.stop - 1),
                _ => optimiser,
            };
            let problem = plan.on(&optimiser, theta, &member.state)?;
            // Over the same run: what was kept of it does not depend on what is taken as given.
            let seeds = Seeds::weighted(|k| Reading::loss(mean * term.at(first + k)));
            problem.adjoint(memory, seeds, usize::MAX)?;
            found = problem.gradient(memory)?;
            member.penalty_gradient.copy_from_slice(found.theta);
        }
        member.state.copy_from_slice(found.state);
        Ok(())
    }
}
