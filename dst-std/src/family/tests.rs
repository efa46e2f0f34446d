//! Descents on synthetic families with cliffs, where the answer is known.

use super::*;
use crate::Failure;
use crate::parallel;
use crate::progress::Interrupt;
use crate::random::{normal, uniform};

/// In two coordinates: a slope towards (0, 4), and a cliff at a = edge − b/10 of every instance, beyond which runs do not stop. As with
/// a step size a and a momentum b, the best point lies far along the edge.
struct Cliff;

impl Cliff {
    fn edge(instance: Instance) -> f64 {
        0.1 * uniform(instance.key, 0)
    }
}

impl Family for Cliff {
    fn parameters(&self) -> usize {
        2
    }

    fn run(&self, instance: Instance, u: &[f64], request: &Request<'_>) -> Result<Sample, Failure> {
        let noise = 0.1 * normal(instance.key, 1);
        let beyond = u[0] - (Self::edge(instance) - 0.1 * u[1]);
        // Faster with a and b, b up to 4; N = exp(value).
        let (mut value, mut gradient) = (8.0 + noise - 3.0 * u[0], vec![-3.0, 0.0]);
        let far = u[1] - 4.0;
        value += 0.5 * far.abs();
        gradient[1] = 0.5 * far.signum();
        if beyond > 0.0 {
            value += 3.0 + 20.0 * beyond;
            gradient[0] += 20.0;
            gradient[1] += 2.0;
        }
        if beyond > 1.0 {
            (value, gradient) = (f64::INFINITY, Vec::new());
        }
        let steps = value.min(12.0).exp() as usize;
        let stopped = beyond <= 0.0 && steps <= request.limit;
        let forward = steps.min(request.limit).min(100_000);
        let backward = if request.gradient { forward } else { 0 };
        Ok(Sample {
            value,
            steps: stopped.then_some(steps),
            gradient: if request.gradient {
                gradient
            } else {
                Vec::new()
            },
            work: Work { forward, backward },
        })
    }
}

fn descend(start: &[f64]) -> (Descent, Work) {
    let interrupt = Interrupt::never();
    let instances = Stream::Tuning.instances(1, 12);
    let mut evaluator = Evaluator::new(&Cliff, instances, Score::new(0.1), &interrupt);
    let first = evaluator.all(start, true).unwrap();
    let descent = TrustRegion::default()
        .descend(&mut evaluator, first, || ())
        .unwrap();
    (descent, evaluator.work)
}

/// Returns the largest a at which all instances of the tuning stop at b.
fn edge(b: f64) -> f64 {
    let instances = Stream::Tuning.instances(1, 12).into_iter();
    instances.map(Cliff::edge).fold(f64::INFINITY, f64::min) - 0.1 * b
}

/// True if this is close to the best point on the edge.
fn arrived(u: &[f64]) -> bool {
    (u[1] - 4.0).abs() < 0.25 && (u[0] - edge(u[1])).abs() < 0.15
}

#[test]
fn the_trust_region_goes_along_an_edge() {
    // Next to the edge, far from the best point on it: every step that the gradient alone would take fails.
    let (descent, _) = descend(&[edge(0.0) - 1e-3, 0.0]);
    let last = descent.points.last().unwrap();
    println!("{:?} after {} points", last.u, descent.points.len());
    assert!(arrived(&last.u), "{:?}", last.u);
    assert!(last.samples.iter().all(|s| s.steps.is_some()));
    assert!(descent.points.windows(2).all(|p| p[1].score < p[0].score));
}

#[test]
fn hops_arrive_from_everywhere() {
    for start in [[-2.0, -1.0], [edge(7.0) - 0.01, 7.0], [-4.0, 9.0]] {
        let interrupt = Interrupt::never();
        let instances = Stream::Tuning.instances(1, 12);
        let mut evaluator = Evaluator::new(&Cliff, instances, Score::new(0.1), &interrupt);
        let restarts = Restarts::default();
        let found = restarts.descend(&mut evaluator, &[start.to_vec()], 1, || ());
        let found = found.unwrap();
        let last = found[0].points.last().unwrap();
        println!("{start:?}: {:?}", last.u);
        assert!(arrived(&last.u), "{start:?}: {:?}", last.u);
    }
}

#[test]
fn the_best_point_is_never_lost() {
    // Beyond the cliff in most directions: rejected steps leave the first point as it was.
    let start = [edge(4.0) - 1e-4, 4.0];
    let (descent, work) = descend(&start);
    let (first, last) = (&descent.points[0], descent.points.last().unwrap());
    assert!(last.score <= first.score);
    assert!(work.forward > 0 && work.backward > 0 && work.total() == work.forward + work.backward);
}

#[test]
fn the_same_bits_with_any_threads() {
    let found = |threads| {
        parallel::with(threads, || {
            let interrupt = Interrupt::never();
            let of = |stream: Stream| {
                Evaluator::new(&Cliff, stream.instances(3, 12), Score::HALF, &interrupt)
            };
            let mut tuning = of(Stream::Tuning);
            let starts = [vec![-2.0, 1.0], vec![-1.0, 6.0], vec![3.0, 3.0]];
            let descents = Restarts::default().descend(&mut tuning, &starts, 5, || ());
            let mut pool = of(Stream::Tuning);
            let adam = Stochastic::default().descend(&mut pool, &[-2.0, 1.0], || ());
            (descents, adam, tuning.work, pool.work)
        })
        .unwrap()
    };
    assert_eq!(found(1), found(2));
}

#[test]
fn adam_descends_with_a_ramp_and_keeps_the_best() {
    let interrupt = Interrupt::never();
    let instances = Stream::Tuning.instances(1, 40);
    let mut pool = Evaluator::new(&Cliff, instances, Score::new(0.2), &interrupt);
    let options = Stochastic {
        perturbation: 0.2,
        ease: 30.0,
        ..Stochastic::default()
    };
    let descent = options.descend(&mut pool, &[-3.0, -2.0], || ()).unwrap();
    let (first, last) = (&descent.points[0], descent.points.last().unwrap());
    assert!(
        last.score < first.score - 4.0,
        "{} {}",
        first.score,
        last.score
    );
    assert!(descent.points.windows(2).all(|p| p[1].score < p[0].score));
    assert_eq!((pool.ease, descent.end), (1.0, End::Rounds));
    assert!(first.u != [-3.0, -2.0]);
}

#[test]
fn restarts_find_the_best_of_several_basins_and_an_interrupt_keeps_it() {
    let interrupt = Interrupt::never();
    let instances = Stream::Tuning.instances(1, 8);
    let mut evaluator = Evaluator::new(&Cliff, instances, Score::MEAN, &interrupt);
    let starts = [vec![5.0, 0.0], vec![-2.0, 3.0], vec![-6.0, 0.0]];
    let raced = Restarts::default()
        .race(&mut evaluator, &starts, None)
        .unwrap();
    // Beyond the cliff is infinite, and last.
    assert_eq!(
        raced,
        [starts[1].clone(), starts[2].clone(), starts[0].clone()]
    );
    let mut rounds = 0;
    let tick = || {
        rounds += 1;
        if rounds == 5 {
            interrupt.raise();
        }
    };
    // This family does not poll the flag; the descent ends at the next run that does.
    let found = Restarts::default()
        .descend(&mut evaluator, &starts, 1, tick)
        .unwrap();
    assert!(
        found
            .windows(2)
            .all(|d| { d[0].points.last().unwrap().score <= d[1].points.last().unwrap().score })
    );
    let choosing = Stream::Choosing.instances(1, 8);
    let mut choosing = Evaluator::new(&Cliff, choosing, Score::MEAN, &interrupt);
    let candidates = [
        vec![5.0, 0.0],
        vec![-2.0, 3.0],
        vec![-0.5, 4.0],
        vec![-0.6, 4.0],
    ];
    assert_eq!(choose(&mut choosing, &candidates, 4), Ok(2));
    assert_eq!(choose(&mut choosing, &candidates, 2), Ok(1));
}
