//! Runs of several methods on one problem, side by side.
//!
//! Most of what a step reads are the data of the problem. All methods make a step before any of them makes the next, so that one
//! pass over the data gives f and ∇f to all. Each has the bits of its run alone.

use std::sync::Mutex;

use dst_core::{Objective, Point, System};

use super::architecture::Architecture;
use super::optimiser::{Feed, Optimiser};
use super::scratch::NetworkScratch;
use super::task::{Family, Points, Task};
use crate::adam::Adam;
use crate::first_order::{gradient_step, nesterov_step};
use crate::linalg::Real;
use crate::parallel::instances;
use crate::progress::{Counter, Interrupt};

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
        let name = match self {
            Self::Gd(_) => "GD",
            Self::Nag(_) => "NAG",
            Self::Adam(_) => "Adam",
        };
        match self.step_size() {
            StepSize::OverL => format!("{name} 1/L"),
            StepSize::Fixed(number) => format!("{name} {number}"),
        }
    }

    fn step_size(self) -> StepSize {
        let (Self::Gd(step) | Self::Nag(step) | Self::Adam(step)) = self;
        step
    }
}

/// A method that makes a run from x = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ComparedMethod<'a, T = f32> {
    /// GD, NAG or Adam.
    Classical(Classical),
    /// A network with these weights.
    Learned(Architecture, &'a [T]),
}

impl<T: Real> ComparedMethod<'_, T> {
    /// Points at which it needs the gradient in a step: NAG reports f at another one than that of its gradient.
    fn points(&self) -> usize {
        match self {
            Self::Classical(Classical::Nag(_)) => 2,
            _ => 1,
        }
    }

    fn is_over_l(&self) -> bool {
        matches!(self, Self::Classical(method) if method.step_size() == StepSize::OverL)
    }
}

/// Memory of a method over its run.
enum Run<T> {
    /// Moments, and the step size.
    Classical(Adam<T>, T),
    Network {
        scratch: Box<NetworkScratch<T>>,
        state: Vec<T>,
        next: Vec<T>,
        /// False once it has left the numbers.
        alive: bool,
    },
}

/// Memory of one thread.
struct Worker<T> {
    task: Task<T>,
    points: Points<T>,
    runs: Vec<Run<T>>,
}

impl<T: Real> Worker<T> {
    fn new(family: Family, methods: &[ComparedMethod<'_, T>]) -> Self {
        let task = Task::new(family);
        let run = |method: &ComparedMethod<'_, T>| match *method {
            ComparedMethod::Classical(_) => Run::Classical(Adam::new(family.dim), T::ZERO),
            ComparedMethod::Learned(model, _) => {
                let mut scratch = NetworkScratch::new(family.dim, 0);
                let optimiser = Optimiser::new(model, &task, Feed::Detached, &mut scratch);
                let state = vec![T::ZERO; optimiser.dims().states];
                Run::Network {
                    next: state.clone(),
                    state,
                    scratch,
                    alive: true,
                }
            }
        };
        let runs = methods.iter().map(run).collect();
        let count = methods.iter().map(ComparedMethod::points).sum();
        Self {
            points: Points::new(&task, count),
            runs,
            task,
        }
    }

    /// Brings all methods to x = 0 on the problem at hand.
    fn start(&mut self, methods: &[ComparedMethod<'_, T>]) {
        let Self { task, points, runs } = self;
        points.clear();
        let over_l = match methods.iter().any(ComparedMethod::is_over_l) {
            true => T::from_f64(1.0 / task.curvature_at_zero()),
            false => T::ZERO,
        };
        let origin = vec![T::ZERO; task.dim()];
        for (run, method) in runs.iter_mut().zip(methods) {
            match (run, *method) {
                (Run::Classical(adam, alpha), ComparedMethod::Classical(method)) => {
                    *adam = Adam::new(origin.len());
                    *alpha = match method.step_size() {
                        StepSize::OverL => over_l,
                        StepSize::Fixed(number) => T::from_f64(number),
                    };
                }
                (
                    Run::Network {
                        scratch,
                        state,
                        alive,
                        ..
                    },
                    ComparedMethod::Learned(model, _),
                ) => {
                    let optimiser = Optimiser::new(model, &*task, Feed::Detached, scratch);
                    optimiser.start(&origin, state);
                    *alive = true;
                }
                _ => {}
            }
        }
    }

    /// Writes f(x_k) and makes step k, for all methods. `last` leaves out what comes after f.
    fn step(
        &mut self,
        methods: &[ComparedMethod<'_, T>],
        k: usize,
        last: bool,
        values: &mut [Vec<T>],
    ) {
        let Self { task, points, runs } = self;
        task.values_gradients(points);
        let mut number = 0;
        for ((run, method), values) in runs.iter_mut().zip(methods).zip(values) {
            let (x, f, g) = points.point(number);
            match (run, *method) {
                (Run::Classical(adam, alpha), ComparedMethod::Classical(method)) => {
                    values[k] = f;
                    match method {
                        Classical::Gd(_) => gradient_step(x, g, *alpha),
                        Classical::Adam(_) => adam.update(x, g, alpha.to_f64()),
                        Classical::Nag(_) => {
                            // x is reported; the gradient is taken at y.
                            let [(x, ..), (y, _, g)] = points.pair(number);
                            let beta = T::from_f64(k as f64 / (k as f64 + 3.0));
                            nesterov_step(x, y, g, *alpha, beta);
                        }
                    }
                }
                (
                    Run::Network {
                        scratch,
                        state,
                        next,
                        alive,
                    },
                    ComparedMethod::Learned(model, theta),
                ) => {
                    *alive &= f.is_finite();
                    if *alive {
                        values[k] = f;
                    }
                    if *alive && !last {
                        let optimiser = Optimiser::new(model, &*task, Feed::Detached, scratch);
                        let at = Point {
                            theta,
                            x: state,
                            t: T::from_count(k),
                        };
                        optimiser.step(at, (f, g), next);
                        *alive = optimiser.all_finite(next);
                        x.copy_from_slice(&next[optimiser.x_range()]);
                        std::mem::swap(state, next);
                    }
                    if !*alive {
                        x.fill(T::ZERO);
                    }
                }
                _ => {}
            }
            number += method.points();
        }
    }
}

/// Values of f along the runs of all methods on the first problems of a set: for each method one run behind the other, each of
/// `steps` + 1 numbers. A run of a network that leaves the numbers is filled up with infinity. `None` if the flag was raised on the
/// way. Counts the problems that are done by this rank.
pub(super) fn runs<T: Real>(
    (family, set, problems, steps): (Family, u64, usize, usize),
    methods: &[ComparedMethod<'_, T>],
    task: &Counter,
    interrupt: &Interrupt,
) -> Option<Vec<Vec<T>>> {
    let workers = Mutex::new(Vec::new());
    let one = |index: usize| {
        let mut values = vec![vec![T::INFINITY; steps + 1]; methods.len()];
        if interrupt.raised() {
            return values;
        }
        let worker = workers.lock().expect("no thread panics").pop();
        let mut worker = worker.unwrap_or_else(|| Worker::new(family, methods));
        worker.task.draw(set, index);
        worker.start(methods);
        for k in 0..=steps {
            if interrupt.raised() {
                return values;
            }
            worker.step(methods, k, k == steps, &mut values);
        }
        workers.lock().expect("no thread panics").push(worker);
        task.advance(1);
        values
    };
    let of_problems: Vec<Vec<Vec<T>>> = instances(problems, one);
    if interrupt.raised() {
        return None;
    }
    let of_method = |method: usize| {
        of_problems
            .iter()
            .flat_map(move |of| of[method].iter().copied())
    };
    Some(
        (0..methods.len())
            .map(|method| of_method(method).collect())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::runs::Runner;
    use super::*;
    use crate::progress::Progress;

    const FAMILY: Family = Family::new(40, 20);
    const PROBLEMS: usize = 3;
    const STEPS: usize = 30;

    fn values<T: Real>(methods: &[ComparedMethod<'_, T>]) -> Vec<Vec<T>> {
        let progress = Progress::hidden();
        let task = progress.task("runs", PROBLEMS);
        let runs = runs(
            (FAMILY, 5, PROBLEMS, STEPS),
            methods,
            &task,
            progress.interrupt(),
        );
        assert_eq!(task.done(), PROBLEMS);
        runs.unwrap()
    }

    fn weights<T: Real>(model: Architecture, size: f64) -> Vec<T> {
        model.initial(11, |tensor| size * tensor.spread)
    }

    fn check<T: Real>() {
        // The third one leaves the numbers.
        let networks = [
            (
                Architecture::RnnProp,
                weights::<T>(Architecture::RnnProp, 1.0),
            ),
            (Architecture::Dm, weights(Architecture::Dm, 1.0)),
            (Architecture::Dm, weights(Architecture::Dm, T::MAX.to_f64())),
        ];
        let learned = |i: usize| ComparedMethod::Learned(networks[i].0, &networks[i].1);
        let classical = [
            Classical::Gd(StepSize::OverL),
            Classical::Nag(StepSize::OverL),
            Classical::Adam(StepSize::Fixed(0.1)),
        ]
        .map(ComparedMethod::Classical);
        let [gd, nag, adam] = classical;
        let methods = [gd, learned(0), nag, learned(2), learned(1), adam];
        let together = values(&methods);
        for (method, together) in methods.iter().zip(&together) {
            let alone = &values(&[*method])[0];
            assert!(alone == together, "{method:?}");
        }
        // And by the engine.
        for (i, place) in [(0, 1), (1, 4), (2, 3)] {
            let (model, theta) = &networks[i];
            let mut engine = vec![T::ZERO; PROBLEMS * (STEPS + 1)];
            Runner::new(*model, FAMILY, STEPS).learned_unless(theta, 5, &mut engine, None);
            assert!(engine == together[place], "network {i}");
            assert_eq!(engine.iter().all(|f| f.is_finite()), i < 2, "network {i}");
        }
        // Runs that move.
        for together in &together {
            assert!(together[0] != together[1], "{:?}", &together[..3]);
        }
    }

    #[test]
    fn runs_side_by_side_have_the_bits_of_each_alone() {
        check::<f32>();
        check::<f64>();
    }

    #[test]
    fn a_raised_flag_ends_the_runs() {
        let progress = Progress::hidden();
        progress.interrupt().raise();
        let task = progress.task("runs", PROBLEMS);
        let methods = [ComparedMethod::<f32>::Classical(Classical::Gd(
            StepSize::OverL,
        ))];
        let found = runs(
            (FAMILY, 5, PROBLEMS, STEPS),
            &methods,
            &task,
            progress.interrupt(),
        );
        assert!(found.is_none() && task.done() == 0);
    }
}
