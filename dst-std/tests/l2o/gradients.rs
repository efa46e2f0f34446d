//! Gradients in double precision against central differences.

use std::cell::{Cell, RefCell};

use dst_core::{Crossing, HeapMemory, Map, Objective, Reading, Seeds, System};
use dst_std::l2o::{Architecture, Feed, NetworkScratch, Optimiser, Task};

use crate::{task, weights};

const STEPS: usize = 6;

/// Different at every step, x0 included.
fn weight(k: usize) -> f64 {
    1.0 / (1.0 + k as f64)
}

/// A gradient by θ and x0, and the number that it belongs to.
struct Answer {
    value: f64,
    theta: Vec<f64>,
    x0: Vec<f64>,
}

/// A starting point off zero, so that no two coordinates are alike.
fn start(dim: usize) -> Vec<f64> {
    (0..dim)
        .map(|i| 0.2 * (1.7 * i as f64 + 0.3).sin())
        .collect()
}

fn loss<O: Objective<f64>>(model: Architecture, objective: O, theta: &[f64], x0: &[f64]) -> f64 {
    let mut scratch = NetworkScratch::new(x0.len(), 0);
    let optimiser = Optimiser::new(model, objective, Feed::Detached, &mut scratch);
    let mut state = vec![0.0; optimiser.dims().states];
    optimiser.start(x0, &mut state);
    let plan = Map.until(-f64::MAX).at_most(STEPS);
    let mut memory = HeapMemory::new(&plan, &optimiser, 0);
    let problem = plan.on(&optimiser, theta, &state).unwrap();
    problem.start(&mut memory).unwrap();
    let mut sum = 0.0;
    let add = |k, seen: Reading<f64>| sum += weight(k) * seen.loss;
    problem.watch(&mut memory, usize::MAX, add).unwrap();
    sum
}

fn loss_gradient(
    model: Architecture,
    task: &Task<f64>,
    feed: Feed,
    theta: &[f64],
    x0: &[f64],
) -> Answer {
    let mut scratch = NetworkScratch::new(x0.len(), STEPS);
    let optimiser = Optimiser::new(model, task, feed, &mut scratch);
    let mut state = vec![0.0; optimiser.dims().states];
    optimiser.start(x0, &mut state);
    let plan = Map.until(-f64::MAX).at_most(STEPS);
    let mut memory = HeapMemory::with_records(&plan, &optimiser, STEPS);
    let problem = plan.on(&optimiser, theta, &state).unwrap();
    problem.start(&mut memory).unwrap();
    let mut value = 0.0;
    let add = |k, seen: Reading<f64>| value += weight(k) * seen.loss;
    problem.watch(&mut memory, usize::MAX, add).unwrap();
    let seeds = Seeds::weighted(|k| Reading::loss(weight(k)));
    problem.adjoint(&mut memory, seeds, usize::MAX).unwrap();
    let gradient = problem.gradient(&memory).unwrap();
    Answer {
        value,
        theta: gradient.theta.to_vec(),
        x0: gradient.x0[optimiser.x_range()].to_vec(),
    }
}

/// Central differences, extrapolated once.
pub(crate) fn slope(at: &[f64], place: usize, f: impl Fn(&[f64]) -> f64) -> f64 {
    let central = |d: f64| {
        let moved = |d: f64| {
            let mut at = at.to_vec();
            at[place] += d;
            f(&at)
        };
        (moved(d) - moved(-d)) / (2.0 * d)
    };
    let d = 1e-4;
    (4.0 * central(0.5 * d) - central(d)) / 3.0
}

/// Some weights of every tensor, the one with the largest gradient among them, and all of x0. Errors are relative to the largest
/// entry of the same tensor.
fn check(
    name: &str,
    model: Architecture,
    found: &Answer,
    theta: &[f64],
    x0: &[f64],
    f: impl Fn(&[f64], &[f64]) -> f64,
) {
    let mut worst = (0.0, "nothing");
    let mut compare = |what: &'static str, entry: f64, difference: f64, largest: f64| {
        let error = (entry - difference).abs() / largest;
        assert!(
            error <= 1e-6,
            "{name}: {what}: {entry:e} against {difference:e}, largest {largest:e}"
        );
        if error > worst.0 {
            worst = (error, what);
        }
    };
    for tensor in model.tensors() {
        let entries: Vec<usize> = (0..tensor.len()).map(|index| tensor.place(index)).collect();
        let size = |&place: &usize| found.theta[place].abs();
        let largest = entries
            .iter()
            .copied()
            .max_by(|a, b| size(a).total_cmp(&size(b)))
            .unwrap();
        let some = (1..4).map(|part| entries[part * (entries.len() - 1) / 4]);
        for place in some.chain([largest]) {
            let difference = slope(theta, place, |theta| f(theta, x0));
            compare(tensor.name, found.theta[place], difference, size(&largest));
        }
    }
    let largest = found.x0.iter().fold(0.0_f64, |most, g| most.max(g.abs()));
    for (place, &entry) in found.x0.iter().enumerate() {
        compare("x0", entry, slope(x0, place, |x0| f(theta, x0)), largest);
    }
    println!("{name}: {:.1e} ({})", worst.0, worst.1);
}

/// Sizes below, at and beyond whole tiles.
const DIMS: [usize; 4] = [5, 32, 33, 40];

#[test]
fn of_a_running_loss() {
    for model in Architecture::ALL {
        let theta = weights(model, 11);
        for dim in DIMS {
            let (task, x0) = (task(dim, 7), start(dim));
            let found = loss_gradient(model, &task, Feed::Full, &theta, &x0);
            let f = |theta: &[f64], x0: &[f64]| loss(model, &task, theta, x0);
            assert_eq!(found.value, f(&theta, &x0));
            check(
                &format!("{} {dim}", model.name()),
                model,
                &found,
                &theta,
                &x0,
                f,
            );
        }
    }
}

/// An objective whose gradients are those of another run: what the network is fed with does not depend on x.
struct Frozen<'a> {
    task: &'a Task<f64>,
    gradients: &'a RefCell<Vec<Vec<f64>>>,
    next: Cell<usize>,
}

impl<'a> Frozen<'a> {
    fn new(task: &'a Task<f64>, gradients: &'a RefCell<Vec<Vec<f64>>>) -> Self {
        let next = Cell::new(0);
        Self {
            task,
            gradients,
            next,
        }
    }
}

impl Objective<f64> for Frozen<'_> {
    fn dim(&self) -> usize {
        self.task.dim()
    }
    fn tape_len(&self) -> usize {
        self.task.tape_len()
    }
    fn scratch_len(&self) -> usize {
        self.task.scratch_len()
    }
    fn value_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        tape: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        let value = self.task.value_gradient(x, gradient, tape, scratch);
        let (k, mut kept) = (
            self.next.replace(self.next.get() + 1),
            self.gradients.borrow_mut(),
        );
        if let Some(kept) = kept.get(k) {
            gradient.copy_from_slice(kept);
        } else {
            kept.push(gradient.to_vec());
        }
        value
    }
    fn add_hessian_vector(
        &self,
        x: &[f64],
        v: &[f64],
        tape: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        self.task.add_hessian_vector(x, v, tape, out, scratch);
    }
}

#[test]
fn of_a_running_loss_with_the_gradient_detached() {
    for model in Architecture::ALL {
        let theta = weights(model, 11);
        for dim in [5, 40] {
            let (task, x0) = (task(dim, 7), start(dim));
            let found = loss_gradient(model, &task, Feed::Detached, &theta, &x0);
            let kept = RefCell::new(Vec::new());
            let f = |theta: &[f64], x0: &[f64]| loss(model, Frozen::new(&task, &kept), theta, x0);
            assert_eq!(found.value, f(&theta, &x0));
            assert_eq!(kept.borrow().len(), STEPS + 1);
            check(
                &format!("{} {dim} detached", model.name()),
                model,
                &found,
                &theta,
                &x0,
                f,
            );
            // DM is fed so little of the gradient that differences cannot tell; those to PyTorch can.
            let full = loss_gradient(model, &task, Feed::Full, &theta, &x0);
            let part = crate::distance(&full.theta, &found.theta);
            assert!(
                part > if model == Architecture::Dm { 0.0 } else { 1e-5 },
                "{part:e}"
            );
        }
    }
}

/// f at the end with the last step taken as given: the network has no part in it, and x_N = x_{N−1} + a constant.
#[test]
fn with_the_last_step_given() {
    for model in Architecture::ALL {
        let theta = weights(model, 11);
        for dim in [5, 40] {
            let (task, x0) = (task(dim, 7), start(dim));
            let after = |steps: usize, theta: &[f64], x0: &[f64]| {
                let mut scratch = NetworkScratch::new(dim, 0);
                let optimiser = Optimiser::new(model, &task, Feed::Full, &mut scratch);
                let mut state = vec![0.0; optimiser.dims().states];
                optimiser.start(x0, &mut state);
                let plan = Map.until(-f64::MAX).at_most(steps);
                let mut memory = HeapMemory::new(&plan, &optimiser, 0);
                let problem = plan.on(&optimiser, theta, &state).unwrap();
                problem.start(&mut memory).unwrap();
                let end = problem.complete(&mut memory).unwrap().iterate();
                end.state[optimiser.x_range()].to_vec()
            };
            let [before, last] = [STEPS - 1, STEPS].map(|steps| after(steps, &theta, &x0));
            let step: Vec<f64> = last.iter().zip(&before).map(|(a, b)| a - b).collect();
            let f = |theta: &[f64], x0: &[f64]| {
                let x = after(STEPS - 1, theta, x0);
                let x: Vec<f64> = x.iter().zip(&step).map(|(x, step)| x + step).collect();
                let mut room =
                    [task.dim(), task.tape_len(), task.scratch_len()].map(|n| vec![0.0; n]);
                let [gradient, tape, scratch] = &mut room;
                task.value_gradient(&x, gradient, tape, scratch)
            };
            let mut scratch = NetworkScratch::new(dim, STEPS);
            let optimiser = Optimiser::new(model, &task, Feed::Full, &mut scratch);
            let optimiser = optimiser.given(STEPS - 1);
            let mut state = vec![0.0; optimiser.dims().states];
            optimiser.start(&x0, &mut state);
            let plan = Map.until(-f64::MAX).at_most(STEPS);
            let mut memory = HeapMemory::with_records(&plan, &optimiser, STEPS);
            let problem = plan.on(&optimiser, &theta, &state).unwrap();
            problem.start(&mut memory).unwrap();
            let value = problem.complete(&mut memory).unwrap().iterate().loss;
            let at_the_end = |k: usize| Reading::loss(f64::from(u8::from(k == STEPS)));
            let seeds = Seeds::weighted(at_the_end);
            problem.adjoint(&mut memory, seeds, usize::MAX).unwrap();
            let gradient = problem.gradient(&memory).unwrap();
            let found = Answer {
                value,
                theta: gradient.theta.to_vec(),
                x0: gradient.x0[optimiser.x_range()].to_vec(),
            };
            let error = (found.value - f(&theta, &x0)).abs();
            assert!(error < 1e-15, "{error:e}");
            let name = format!("{} {dim}, last step given", model.name());
            check(&name, model, &found, &theta, &x0, f);
        }
    }
}

/// N by the decrease of f, read off by interpolation.
fn stop(
    model: Architecture,
    task: &Task<f64>,
    epsilon: f64,
    theta: &[f64],
    x0: &[f64],
) -> (usize, Answer) {
    let mut scratch = NetworkScratch::new(x0.len(), STEPS);
    let optimiser = Optimiser::new(model, task, Feed::Full, &mut scratch);
    let mut state = vec![0.0; optimiser.dims().states];
    optimiser.start(x0, &mut state);
    let plan = Map.until(epsilon).crossing(Crossing::Interpolated);
    let mut memory = HeapMemory::with_records(&plan, &optimiser, STEPS);
    let found = plan
        .sensitivity(&optimiser, theta, &state, &mut memory)
        .unwrap();
    let answer = Answer {
        value: found.stop.steps,
        theta: found.steps_gradient().to_vec(),
        x0: found.steps_gradient_x0()[optimiser.x_range()].to_vec(),
    };
    (found.steps, answer)
}

/// An ε at which the run stops late: between the smallest decrease of the first steps and all before it.
fn late(model: Architecture, task: &Task<f64>, theta: &[f64], x0: &[f64]) -> (usize, f64) {
    let mut scratch = NetworkScratch::new(x0.len(), 0);
    let optimiser = Optimiser::new(model, task, Feed::Full, &mut scratch);
    let mut state = vec![0.0; optimiser.dims().states];
    optimiser.start(x0, &mut state);
    let plan = Map.until(-f64::MAX);
    let mut memory = HeapMemory::new(&plan, &optimiser, 0);
    let problem = plan.on(&optimiser, theta, &state).unwrap();
    problem.start(&mut memory).unwrap();
    let mut falls = Vec::new();
    let keep = |_, seen: Reading<f64>| falls.push(seen.criterion);
    problem.watch(&mut memory, STEPS, keep).unwrap();
    // Before the first step there is none.
    falls.remove(0);
    let records = (1..STEPS).filter(|&k| falls[..k].iter().all(|&fall| fall > falls[k]));
    let k = records
        .max()
        .expect("some decrease is smaller than those before it");
    let before = falls[..k]
        .iter()
        .fold(f64::INFINITY, |least, &fall| least.min(fall));
    (k + 1, 0.5 * (before + falls[k]))
}

#[test]
fn of_a_stopping_time() {
    for model in Architecture::ALL {
        let theta = weights(model, 11);
        for dim in [5, 40] {
            let (task, x0) = (task(dim, 7), start(dim));
            let (steps, epsilon) = late(model, &task, &theta, &x0);
            let (n, found) = stop(model, &task, epsilon, &theta, &x0);
            assert_eq!(n, steps);
            let f = |theta: &[f64], x0: &[f64]| {
                let (n, found) = stop(model, &task, epsilon, theta, x0);
                assert_eq!(n, steps, "N changes within the differences");
                found.value
            };
            check(
                &format!("{} {dim}: N = {n}", model.name()),
                model,
                &found,
                &theta,
                &x0,
                f,
            );
        }
    }
}

/// The weights of a row that no unit has: they must stay zero for ever.
#[test]
fn what_fills_up_rows_has_no_gradient() {
    for model in Architecture::ALL {
        let (task, x0, theta) = (task(40, 7), start(40), weights(model, 11));
        let found = loss_gradient(model, &task, Feed::Full, &theta, &x0);
        let mut filling = vec![true; theta.len()];
        for tensor in model.tensors() {
            for index in 0..tensor.len() {
                filling[tensor.place(index)] = false;
            }
        }
        let count = filling.iter().filter(|&&filling| filling).count();
        assert_eq!(count, theta.len() - model.weights());
        for (place, (&gradient, _)) in found
            .theta
            .iter()
            .zip(&filling)
            .enumerate()
            .filter(|(_, (_, f))| **f)
        {
            assert_eq!(gradient, 0.0, "{} {place}", model.name());
        }
    }
}
