//! Pages, slots and a scratch that was used before must not change a bit. And single against double precision.

use dst_core::{HeapMemory, Map, Reading, Seeds, System};
use dst_std::l2o::{Architecture, Feed, NetworkScratch, Optimiser};
use dst_std::linalg::Real;

use crate::{distance, task, weights};

const STEPS: usize = 6;

/// The time at which the runs begin.
const FROM: usize = 20;

/// Gradients by θ and x0, the state at the end, and the loss.
fn gradient<T: Real>(
    case: (Architecture, Feed, usize, usize),
    scratch: &mut NetworkScratch<T>,
    memory: (usize, bool),
) -> [Vec<f64>; 4] {
    gradient_of(case, usize::MAX, 11, scratch, memory)
}

/// The same of an optimiser that rests from a step on, with these weights.
fn gradient_of<T: Real>(
    (model, feed, dim, steps): (Architecture, Feed, usize, usize),
    end: usize,
    stream: u64,
    scratch: &mut NetworkScratch<T>,
    (slots, records): (usize, bool),
) -> [Vec<f64>; 4] {
    let (task, theta) = (task::<T>(dim, 7), weights::<T>(model, stream));
    let optimiser = Optimiser::new(model, &task, feed, scratch).until(end);
    let mut state = vec![T::ZERO; optimiser.dims().states];
    optimiser.start(&vec![T::ZERO; dim], &mut state);
    let plan = Map
        .until(-T::MAX)
        .at_most(steps)
        .from_time(T::from_count(FROM));
    let weight = |k: usize| T::from_f64(1.0 / (k + 1) as f64);
    let mut memory = if records {
        HeapMemory::with_records(&plan, &optimiser, slots)
    } else {
        HeapMemory::new(&plan, &optimiser, slots)
    };
    let problem = plan.on(&optimiser, &theta, &state).unwrap();
    problem.start(&mut memory).unwrap();
    let mut loss = T::ZERO;
    let add = |k, seen: Reading<T>| loss += weight(k) * seen.loss;
    problem.watch(&mut memory, usize::MAX, add).unwrap();
    let seeds = Seeds::weighted(|k| Reading::loss(weight(k)));
    problem.adjoint(&mut memory, seeds, usize::MAX).unwrap();
    let found = problem.gradient(&memory).unwrap();
    let x0 = &found.x0[optimiser.x_range()];
    [found.theta, x0, found.state, &[loss]].map(|v| v.iter().map(|v| v.to_f64()).collect())
}

fn pages<T: Real>(feed: Feed) {
    for model in Architecture::ALL {
        for dim in [5, 70] {
            let case = (model, feed, dim, STEPS);
            let reference = gradient(case, &mut NetworkScratch::<T>::new(dim, 0), (STEPS, true));
            assert!(reference[0].iter().any(|&g| g != 0.0));
            for (pages, slots, records) in [
                (STEPS, STEPS, true),
                (STEPS + 1, STEPS, false),
                (20, 2, true),
                (1, STEPS, true),
                (2, 3, false),
                (STEPS, 1, false),
                (0, 1, false),
                (0, 2, true),
            ] {
                let mut scratch = NetworkScratch::<T>::new(dim, pages);
                // The second time the pages are full of the first.
                for _ in 0..2 {
                    let found = gradient(case, &mut scratch, (slots, records));
                    assert!(
                        found == reference,
                        "{} {feed:?} {dim}: {pages} pages, {slots} slots, records {records}",
                        model.name()
                    );
                }
            }
        }
    }
}

#[test]
fn pages_in_double_precision() {
    pages::<f64>(Feed::Full);
}

#[test]
fn pages_in_single_precision() {
    pages::<f32>(Feed::Detached);
}

#[test]
fn a_scratch_may_be_used_for_anything_before() {
    let dim = 40;
    let mut used = NetworkScratch::<f32>::new(dim, 3);
    for model in [
        Architecture::RnnProp,
        Architecture::Dm,
        Architecture::RnnProp,
        Architecture::Dm,
    ] {
        for feed in [Feed::Detached, Feed::Full] {
            let case = (model, feed, dim, STEPS);
            let fresh = gradient(case, &mut NetworkScratch::<f32>::new(dim, 3), (STEPS, true));
            assert!(
                gradient(case, &mut used, (STEPS, true)) == fresh,
                "{case:?}"
            );
        }
    }
}

#[test]
fn a_scratch_follows_the_weights() {
    let mut scratch = NetworkScratch::<f32>::new(40, STEPS);
    for stream in [11, 12, 11, 13] {
        let case = (Architecture::RnnProp, Feed::Detached, 40, STEPS);
        let kept = (STEPS, true);
        let fresh = &mut NetworkScratch::<f32>::new(40, STEPS);
        assert!(
            gradient_of(case, usize::MAX, stream, &mut scratch, kept)
                == gradient_of(case, usize::MAX, stream, fresh, kept),
            "{stream}"
        );
    }
}

#[test]
fn at_rest_nothing_moves() {
    for model in Architecture::ALL {
        for feed in [Feed::Detached, Feed::Full] {
            let run = |steps: usize, end: usize| {
                let scratch = &mut NetworkScratch::<f64>::new(40, STEPS);
                gradient_of((model, feed, 40, steps), end, 11, scratch, (STEPS, true))
            };
            // To rest where the run ends changes nothing but the work.
            assert!(run(STEPS, FROM + STEPS) == run(STEPS, usize::MAX));
            // At rest f stays what it is, and so the loss and its gradients grow by the weights of the steps at rest; here from one
            // weight to three. The state, but for f(x_{k−1}) at its end, does not move.
            let [awake, once, rested] =
                [(0, FROM), (1, FROM), (2, FROM)].map(|(n, end)| run(n, end));
            let weight = |n: usize| (0..=n).map(|k| 1.0 / (k + 1) as f64).sum::<f64>();
            for (n, found) in [(1, &once), (2, &rested)] {
                assert!(
                    found[0].iter().all(|&g| g == 0.0),
                    "θ has no influence at rest"
                );
                for (what, i) in [("x0", 1), ("loss", 3)] {
                    for (a, b) in awake[i].iter().zip(&found[i]) {
                        let expected = a * weight(n);
                        assert!(
                            (b - expected).abs() <= 1e-14 * expected.abs(),
                            "{what} {n}: {b} {expected}"
                        );
                    }
                }
                let (a, b) = (&awake[2], &found[2]);
                assert_eq!(a[..a.len() - 1], b[..b.len() - 1]);
            }
        }
    }
}

#[test]
fn single_against_double_precision() {
    for model in Architecture::ALL {
        for feed in [Feed::Detached, Feed::Full] {
            for (dim, steps) in [(5, 6), (40, 6), (40, 20)] {
                let case = (model, feed, dim, steps);
                let single = gradient(
                    case,
                    &mut NetworkScratch::<f32>::new(dim, steps),
                    (steps, true),
                );
                let double = gradient(
                    case,
                    &mut NetworkScratch::<f64>::new(dim, steps),
                    (steps, true),
                );
                let [theta, x0, state, loss] =
                    [0, 1, 2, 3].map(|i| distance(&single[i], &double[i]));
                println!(
                    "{} {feed:?} {dim} {steps}: theta {theta:.1e}, x0 {x0:.1e}, state {state:.1e}, loss {loss:.1e}",
                    model.name()
                );
                assert!(theta <= 1e-4 && x0 <= 1e-4, "{case:?}: {theta:e} {x0:e}");
                assert!(
                    state <= 1e-4 && loss <= 1e-5,
                    "{case:?}: {state:e} {loss:e}"
                );
            }
        }
    }
}
