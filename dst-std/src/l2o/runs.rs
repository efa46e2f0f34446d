//! Forward runs over many problems: f(x_0), f(x_1), … of learned and classical methods.

use std::sync::Mutex;

use dst_core::{Error, HeapMemory, Map, Objective, System};

use super::architecture::Architecture;
use super::optimiser::{Feed, Optimiser};
use super::scratch::NetworkScratch;
use super::task::{Family, Task};
use crate::adam::Adam;
use crate::first_order::{gradient_step, nesterov_step};
use crate::linalg::Real;
use crate::parallel::instances;
use crate::progress::Interrupt;

/// Fills `values`, run after run, each of `len` numbers. `run` writes those of the run with this number, on any rank.
fn of_runs<T: Real>(values: &mut [T], len: usize, run: impl Fn(usize, &mut [T]) + Sync) {
    let one = |index: usize| {
        let mut values = vec![T::ZERO; len];
        run(index, &mut values);
        values
    };
    let found = instances(values.len() / len, one);
    for (values, found) in values.chunks_exact_mut(len).zip(&found) {
        values.copy_from_slice(found);
    }
}

/// Runs of a network, with memory for one run per thread.
pub(super) struct Runner<T> {
    model: Architecture,
    family: Family,
    steps: usize,
    workers: Mutex<Vec<RunWorker<T>>>,
}

struct RunWorker<T> {
    task: Task<T>,
    scratch: Box<NetworkScratch<T>>,
    memory: HeapMemory<T>,
    state: Vec<T>,
}

impl<T: Real> RunWorker<T> {
    fn new(model: Architecture, family: Family) -> Self {
        let task = Task::new(family);
        let mut scratch = NetworkScratch::new(family.dim, 0);
        let optimiser = Optimiser::new(model, &task, Feed::Detached, &mut scratch);
        let memory = HeapMemory::new(&Map.until(-T::MAX), &optimiser, 0);
        let state = vec![T::ZERO; optimiser.dims().states];
        Self {
            task,
            scratch,
            memory,
            state,
        }
    }
}

impl<T: Real> Runner<T> {
    /// A runner of `steps` steps on problems of this family, from x = 0.
    pub(super) fn new(model: Architecture, family: Family, steps: usize) -> Self {
        Self {
            model,
            family,
            steps,
            workers: Mutex::new(Vec::new()),
        }
    }

    /// The values of f along the runs on the first problems of a set, one run behind the other in `values`, each of `steps` + 1
    /// numbers. A run that leaves the numbers is filled up with infinity.
    pub(super) fn learned(&self, theta: &[T], set: u64, values: &mut [T]) {
        self.learned_unless(theta, set, values, None);
    }

    /// The same. False if the flag was raised on the way: then values are missing.
    pub(super) fn learned_unless(
        &self,
        theta: &[T],
        set: u64,
        values: &mut [T],
        interrupt: Option<&Interrupt>,
    ) -> bool {
        let ended = || interrupt.is_some_and(Interrupt::raised);
        of_runs(values, self.steps + 1, |index, values| {
            if ended() {
                return;
            }
            let mut worker = self.take();
            worker.task.draw(set, index);
            if self.run(theta, &mut worker, values).is_err() {
                let known = values.iter().position(|f| !f.is_finite());
                values[known.unwrap_or(0)..].fill(T::INFINITY);
            }
            self.give(worker);
        });
        !ended()
    }

    /// Takes a free worker, or makes one: there will be as many as threads.
    fn take(&self) -> RunWorker<T> {
        let worker = self.workers.lock().expect("no thread panics").pop();
        worker.unwrap_or_else(|| RunWorker::new(self.model, self.family))
    }

    fn give(&self, worker: RunWorker<T>) {
        self.workers.lock().expect("no thread panics").push(worker);
    }

    fn run(&self, theta: &[T], worker: &mut RunWorker<T>, values: &mut [T]) -> Result<(), Error> {
        values.fill(T::INFINITY);
        let RunWorker {
            task,
            scratch,
            memory,
            state,
        } = worker;
        let optimiser = Optimiser::new(self.model, &*task, Feed::Detached, scratch);
        let x0 = vec![T::ZERO; self.family.dim];
        optimiser.start(&x0, state);
        let plan = Map.until(-T::MAX).at_most(self.steps);
        let problem = plan.on(&optimiser, theta, state)?;
        problem.start(memory)?;
        problem.watch(memory, usize::MAX, |k, seen| values[k] = seen.loss)?;
        Ok(())
    }
}

/// The step size of a classical method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepSize {
    /// 1/L, with L the curvature at x = 0.
    OverL,
    /// This number.
    Fixed(f64),
}

/// A classical method, from x = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Classical {
    /// Gradient descent.
    Gd(StepSize),
    /// Nesterov's accelerated gradient with the growing momentum (k − 1)/(k + 2).
    Nag(StepSize),
    /// Adam with (0.9, 0.999, 1e-8).
    Adam(StepSize),
}

impl Classical {
    /// Name and step size.
    pub fn title(self) -> String {
        let (name, Self::Gd(step) | Self::Nag(step) | Self::Adam(step)) = (
            match self {
                Self::Gd(_) => "GD",
                Self::Nag(_) => "NAG",
                Self::Adam(_) => "Adam",
            },
            self,
        );
        match step {
            StepSize::OverL => format!("{name} 1/L"),
            StepSize::Fixed(number) => format!("{name} {number}"),
        }
    }

    /// The values of f along the runs on the first problems of a set, as [`Runner::learned`] writes them.
    pub(super) fn run<T: Real>(self, family: Family, set: u64, len: usize, values: &mut [T]) {
        let tasks = Mutex::new(Vec::new());
        of_runs(values, len, |index, values| {
            let task = tasks.lock().expect("no thread panics").pop();
            let mut task = task.unwrap_or_else(|| Task::new(family));
            task.draw(set, index);
            self.on(&task, values);
            tasks.lock().expect("no thread panics").push(task);
        });
    }

    /// Writes f(x_0), f(x_1), …
    fn on<T: Real>(self, task: &Task<T>, values: &mut [T]) {
        let dim = task.dim();
        let (Self::Gd(step) | Self::Nag(step) | Self::Adam(step)) = self;
        let alpha = T::from_f64(match step {
            StepSize::OverL => 1.0 / task.curvature_at_zero(),
            StepSize::Fixed(number) => number,
        });
        let zeros = || vec![T::ZERO; dim];
        let (mut x, mut y, mut g) = (zeros(), zeros(), zeros());
        let mut adam = Adam::new(dim);
        let mut tape = vec![T::ZERO; task.tape_len()];
        let mut scratch = vec![T::ZERO; task.scratch_len()];
        let mut f = |at: &[T], g: &mut [T]| task.value_gradient(at, g, &mut tape, &mut scratch);
        for (k, value) in values.iter_mut().enumerate() {
            *value = f(&x, &mut g);
            match self {
                Self::Gd(_) => gradient_step(&mut x, &g, alpha),
                Self::Nag(_) => {
                    // x is reported; the gradient is taken at y.
                    f(&y, &mut g);
                    let beta = T::from_f64(k as f64 / (k as f64 + 3.0));
                    nesterov_step(&mut x, &mut y, &g, alpha, beta);
                }
                Self::Adam(_) => adam.update(&mut x, &g, alpha.to_f64()),
            }
        }
    }
}
