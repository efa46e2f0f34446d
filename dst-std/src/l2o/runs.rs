//! Forward runs of a network over many problems, by the engine: f(x_0), f(x_1), …

use std::sync::Mutex;

use dst_core::{Error, HeapMemory, Map, System};

use super::architecture::Architecture;
use super::optimiser::{Feed, Optimiser};
use super::scratch::NetworkScratch;
use super::task::{Family, Task};
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
    /// False if the flag was raised on the way: then values are missing.
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
