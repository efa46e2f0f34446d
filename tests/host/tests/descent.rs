//! The descent on functions with known minima, on stopping times, at cliffs, and with any messages.

use dst_core::descent::{Coordinate, Cursor, Descent, Verdict, View, numbers_len};
use dst_core::methods::HeavyBall;
use dst_core::{Argument, Crossing, Error, Euler, Memory, formula};
use dst_models::Quadratic;
use proptest::prelude::*;

use Coordinate::{Between, Free, Log, Logit};

/// Value and gradient of a run, or nothing if it failed.
type Told<const P: usize> = Option<(f64, [f64; P])>;

/// Outcome of a descent.
#[derive(Debug)]
struct Descended<const P: usize> {
    theta: [f64; P],
    value: f64,
    runs: usize,
    gradients: usize,
    /// Runs until the value was at most the target.
    within: Option<usize>,
}

/// Descends; `lazy` tells the value first and the gradient only where it is wanted.
fn descend<const P: usize>(
    mut descent: Descent<f64, P>,
    lazy: bool,
    target: f64,
    run: impl Fn(&[f64; P]) -> Told<P>,
) -> Descended<P> {
    let (mut within, mut gradients) = (None, 0);
    while !descent.finished() {
        let verdict = match run(descent.theta()) {
            None => descent.tell_failed().unwrap(),
            Some((value, gradient)) => {
                let first = if lazy {
                    descent.tell_value(value).unwrap()
                } else {
                    Verdict::GradientWanted
                };
                if first == Verdict::GradientWanted {
                    gradients += 1;
                    descent.tell(value, &gradient).unwrap()
                } else {
                    first
                }
            }
        };
        assert_ne!(verdict, Verdict::Finished);
        if descent.best().is_some_and(|(_, best)| best <= target) {
            within.get_or_insert(descent.runs());
        }
    }
    let (&theta, value) = descent.best().unwrap();
    assert_eq!(&theta, descent.theta());
    Descended {
        theta,
        value,
        runs: descent.runs(),
        gradients,
        within,
    }
}

fn rosenbrock(a: f64, b: f64) -> (f64, [f64; 2]) {
    let valley = b - a * a;
    let value = 1.0 + (1.0 - a).powi(2) + 100.0 * valley.powi(2);
    let slope = -2.0 * (1.0 - a) - 400.0 * a * valley;
    (value, [slope, 200.0 * valley])
}

#[test]
fn smooth_functions_take_few_runs() {
    let bowl = |t: &[f64; 3]| {
        let k = [1.0, 30.0, 7.0];
        let value = 1.0 + (0..3).map(|i| 0.5 * k[i] * t[i] * t[i]).sum::<f64>();
        Some((value, std::array::from_fn(|i| k[i] * t[i])))
    };
    let valley = |t: &[f64; 2]| Some(rosenbrock(t[0], t[1]));
    let in_logarithms = |t: &[f64; 2]| {
        let (value, [a, b]) = rosenbrock(t[0].ln(), t[1].ln());
        Some((value, [a / t[0], b / t[1]]))
    };
    for lazy in [false, true] {
        let found = descend(
            Descent::new([3.0, -2.0, 1.0], [Free(1.0); 3]),
            lazy,
            1.001,
            bowl,
        );
        assert!(found.value < 1.0001 && found.runs <= 20, "{found:?}");
        let found = descend(
            Descent::new([-1.2, 1.0], [Free(1.0); 2]),
            lazy,
            1.01,
            valley,
        );
        assert!(found.value < 1.001 && found.runs <= 70, "{found:?}");
        assert!(found.gradients == found.runs || lazy, "{found:?}");
        let start = [0.2_f64.exp(), (-1.0_f64).exp()];
        let found = descend(Descent::new(start, [Log; 2]), lazy, 1.01, in_logarithms);
        assert!(found.value < 1.001 && found.runs <= 50, "{found:?}");
    }
}

#[test]
fn logarithms_make_scales_equal() {
    let optimum = [3e-6, 2e-3, 1.0, 5e2, 4e5, 1e6];
    let weights = [1.0, 20.0, 5.0, 1.0, 50.0, 3.0];
    let run = |t: &[f64; 6]| {
        let e: [f64; 6] = std::array::from_fn(|i| (t[i] / optimum[i]).ln());
        let value = 10.0
            + (0..6)
                .map(|i| weights[i] * (e[i].cosh() - 1.0))
                .sum::<f64>();
        Some((
            value,
            std::array::from_fn(|i| weights[i] * e[i].sinh() / t[i]),
        ))
    };
    let start = [1e-6, 1e-2, 3.0, 1e1, 1e6, 1e5];
    let found = descend(Descent::new(start, [Log; 6]), false, 10.1, run);
    assert!(found.value < 10.0001 && found.runs <= 40, "{found:?}");
    for (theta, optimum) in found.theta.iter().zip(optimum) {
        assert!((theta / optimum).ln().abs() < 0.01, "{found:?}");
    }
}

#[test]
fn an_optimum_at_a_bound_is_reached_exactly() {
    let run = |t: &[f64; 2]| {
        let away = [t[0] - 3.0, t[1] - 0.25];
        let value = 1.0 + away[0] * away[0] + 4.0 * away[1] * away[1] + away[0] * away[1];
        Some((value, [2.0 * away[0] + away[1], 8.0 * away[1] + away[0]]))
    };
    let coordinates = [Between(-1.0, 2.0), Between(0.0, 1.0)];
    let found = descend(Descent::new([0.0, 0.9], coordinates), false, 0.0, run);
    // On the edge t0 = 2 the minimum has 8·(t1 − ¼) = 1.
    assert_eq!(found.theta[0], 2.0);
    assert!(
        (found.theta[1] - 0.375).abs() < 0.01 && found.runs < 40,
        "{found:?}"
    );
}

/// Iterations of heavy ball on a quadratic with ten eigenvalues from 1 to κ, as a function of (α, β).
fn heavy_ball(kappa: f64) -> impl Fn(&[f64; 2]) -> Told<2> {
    let lambda = std::array::from_fn(|i| kappa.powf(i as f64 / 9.0));
    move |theta| {
        let method = HeavyBall::new(Quadratic::<f64, 10> {
            lambda,
            coupling: 0.0,
        });
        let x0: [f64; 20] = std::array::from_fn(|i| if i < 10 { 1.0 } else { 0.0 });
        let mut memory = Memory::<f64, 20, 2, 30>::new();
        let plan = Euler::new(1.0)
            .until(1e-8)
            .at_most(200_000)
            .crossing(Crossing::Interpolated);
        let s = plan.sensitivity(&method, theta, &x0, &mut memory).ok()?;
        Some((s.stop.time, [s.time_gradient()[0], s.time_gradient()[1]]))
    }
}

/// Fewest iterations on a grid of steps of 2 % in α and 3 % in 1 − β around Polyak's optimum.
fn fewest(kappa: f64) -> f64 {
    let root = kappa.sqrt();
    let (alpha, beta) = (
        4.0 / (root + 1.0).powi(2),
        ((root - 1.0) / (root + 1.0)).powi(2),
    );
    let run = heavy_ball(kappa);
    let grid = (-30..=10).flat_map(|i| (-10..=10).map(move |j| (i, j)));
    let values = grid.filter_map(|(i, j)| {
        let [a, b] = [0.02 * f64::from(i), 0.03 * f64::from(j)].map(f64::exp);
        run(&[alpha * a, 1.0 - (1.0 - beta) * b])
    });
    values.map(|(value, _)| value).fold(f64::INFINITY, f64::min)
}

/// The number of iterations jumps by several percent where an oscillation of the residual enters or leaves the tolerance, so that a single
/// descent ends at an edge of such a jump. The bounds are those that were found over all starts, not wishes.
#[test]
fn heavy_ball_from_many_starts() {
    let (mut ratios, mut runs) = (Vec::new(), 0);
    for kappa in [50.0, 1e2, 3e2, 1e3, 3e3, 1e4] {
        let least = fewest(kappa);
        for beta in [0.5, 0.8, 0.9, 0.95] {
            for share in [0.5, 1.0] {
                let start = Descent::new([share / kappa, beta], [Log, Logit(0.0, 1.0)]);
                let found = descend(start, false, 1.03 * least, heavy_ball(kappa));
                if (share, beta) == (1.0, 0.9) {
                    println!("κ = {kappa}: {least} on the grid, {found:?}");
                }
                ratios.push(found.value / least);
                runs += found.runs;
            }
        }
    }
    ratios.sort_by(f64::total_cmp);
    let (median, ninth, runs) = (ratios[24], ratios[43], runs / ratios.len());
    println!("median {median:.3}, ninth decile {ninth:.3}, {runs} runs");
    assert!(median < 1.06 && ninth < 1.45 && runs <= 115);
}

#[test]
fn cliffs_are_followed_to_the_constrained_optimum() {
    // A bowl around (2.5, 5), and hidden boundaries beyond which every run fails; the optimum is on each of them.
    let bowl = |t: &[f64; 2]| {
        let value = 10.0 - t[0] - 2.0 * t[1] + 0.2 * (t[0] * t[0] + t[1] * t[1]);
        (value, [0.4 * t[0] - 1.0, 0.4 * t[1] - 2.0])
    };
    type Wall = fn(&[f64; 2]) -> bool;
    let walls: [(&str, Wall, f64); 4] = [
        ("oblique", |t| t[0] + t[1] > 1.0, 7.975),
        (
            "circle",
            |t| t[0] * t[0] + t[1] * t[1] > 2.0,
            10.4 - 10_f64.sqrt(),
        ),
        ("axis", |t| t[1] > 1.0, 6.95),
        ("hyperbola", |t| t[0] * t[1] > 0.5 && t[0] > 0.0, 4.9022),
    ];
    for (name, wall, optimum) in walls {
        for start in [[0.0, 0.0], [-1.0, 0.5], [0.3, -1.0]] {
            let run = |t: &[f64; 2]| (!wall(t)).then(|| bowl(t));
            let found = descend(
                Descent::new(start, [Free(1.0); 2]),
                false,
                1.03 * optimum,
                run,
            );
            assert!(
                found.value < 1.01 * optimum && found.runs <= 170,
                "{name} {start:?}: {found:?}"
            );
            assert!(
                found.within.is_some_and(|n| n <= 100),
                "{name} {start:?}: {found:?}"
            );
        }
    }
    // Four parameters with a sum of at most 1; the projection of the centre on the boundary.
    let centre = [1.0, 2.0, -1.0, 0.5];
    let run = |t: &[f64; 4]| {
        let value = 5.0 + (0..4).map(|i| (t[i] - centre[i]).powi(2)).sum::<f64>();
        let gradient = std::array::from_fn(|i| 2.0 * (t[i] - centre[i]));
        (t.iter().sum::<f64>() <= 1.0).then_some((value, gradient))
    };
    let found = descend(
        Descent::new([0.0; 4], [Free(1.0); 4]),
        false,
        5.5625 * 1.03,
        run,
    );
    assert!(
        found.value < 5.5625 * 1.01 && found.runs <= 180,
        "{found:?}"
    );
}

#[test]
fn a_pid_loop_beats_fixed_steps_in_fewer_runs() {
    let motor = formula!(
        |theta: 3, x: 3, _t| [x[1], (theta[2] + 0.5) * x[1] - theta[0] * x[0] - theta[1] * x[2], -x[0]],
        |x| x[0] * x[0],
    );
    let plan = Euler::new(0.01)
        .until(4e-4)
        .at_most(2000)
        .staying_to_the_end();
    let run = |theta: &[f64; 3]| {
        let mut memory = Memory::<f64, 3, 3, 20>::new();
        let s = plan
            .sensitivity(&motor, theta, &[1.0, 0.0, 0.0], &mut memory)
            .ok()?;
        Some((s.stop.time, std::array::from_fn(|i| s.time_gradient()[i])))
    };
    // Two hundred steps of length 0.05 ended at 3.67 s.
    for coordinates in [[Log; 3], [Free(1.0); 3]] {
        let found = descend(
            Descent::new([2.0, 0.8, 1.5], coordinates).at_most(60),
            false,
            3.67,
            run,
        );
        assert!(found.within.is_some_and(|n| n <= 30), "{found:?}");
    }
}

#[test]
fn a_start_without_a_value_is_searched_around() {
    let run = |t: &[f64; 2]| {
        let value = 1.0 + t[0] * t[0] + t[1] * t[1];
        (t[0] < 1.0).then_some((value, [2.0 * t[0], 2.0 * t[1]]))
    };
    let found = descend(Descent::new([1.5, 0.5], [Free(1.0); 2]), false, 1.01, run);
    assert!(found.value < 1.0001, "{found:?}");
    // Nothing anywhere: the end comes, without a best point.
    let mut descent = Descent::new([1.0_f32; 3], [Free(1.0); 3]);
    while !descent.finished() {
        assert_eq!(descent.tell_failed(), Ok(Verdict::Failed));
    }
    assert!(descent.best().is_none() && descent.runs() <= 24 && descent.theta() == &[1.0; 3]);
    assert_eq!(descent.tell(1.0, &[0.0; 3]), Ok(Verdict::Finished));
}

#[test]
fn invalid_arguments_are_named() {
    let tell = |theta: f64, coordinate| Descent::new([theta], [coordinate]).tell(1.0, &[1.0]);
    for (theta, coordinate) in [
        (0.0, Log),
        (-1.0, Log),
        (2.0, Between(0.0, 1.0)),
        (0.0, Logit(0.0, 1.0)),
    ] {
        assert_eq!(
            tell(theta, coordinate),
            Err(Error::Invalid(Argument::Start))
        );
    }
    for coordinate in [
        Free(0.0),
        Free(f64::NAN),
        Between(1.0, 1.0),
        Logit(2.0, 1.0),
        Between(0.0, f64::INFINITY),
    ] {
        assert_eq!(tell(1.0, coordinate), Err(Error::Invalid(Argument::Bounds)));
    }
    assert_eq!(tell(f64::NAN, Log), Err(Error::Invalid(Argument::Theta)));
    let mut descent = Descent::new([1.0, 1.0], [Log; 2]);
    let length = Error::Length {
        argument: Argument::Gradient,
        needed: 2,
        given: 1,
    };
    assert_eq!(descent.tell(1.0, &[1.0]), Err(length));
    assert_eq!(descent.runs(), 0);
    for radius in [-1.0, f64::NAN, f64::INFINITY] {
        let mut descent = Descent::new([1.0], [Log]).radius(radius);
        assert_eq!(descent.tell_failed(), Err(Error::Invalid(Argument::Radius)));
        let mut descent = Descent::new([1.0], [Log]).least_radius(radius);
        assert_eq!(
            descent.tell_value(1.0),
            Err(Error::Invalid(Argument::Radius))
        );
    }
}

#[test]
fn borrowed_memory_gives_the_same_bits() {
    let coordinates = [Log, Logit(0.0, 1.0)];
    let run = heavy_ball(100.0);
    let mut fixed = Descent::new([0.01, 0.9], coordinates).at_most(40);
    let mut cursor = Cursor::new().at_most(40);
    let mut numbers = vec![f64::NAN; numbers_len(2)];
    View::new(&mut cursor, &coordinates, &mut numbers)
        .unwrap()
        .start(&[0.01, 0.9])
        .unwrap();
    while !fixed.finished() {
        // Every call finds its place from the cursor and the numbers alone.
        let mut view = View::new(&mut cursor, &coordinates, &mut numbers).unwrap();
        assert_eq!(view.theta(), fixed.theta());
        let (a, b) = match run(fixed.theta()) {
            Some((value, gradient)) => (fixed.tell(value, &gradient), view.tell(value, &gradient)),
            None => (fixed.tell_failed(), view.tell_failed()),
        };
        assert_eq!(a, b);
    }
    assert!(cursor.finished() && cursor.runs() == fixed.runs());
}

/// Anything that a program may tell.
#[derive(Clone, Debug)]
enum Message {
    Both(f64, Vec<f64>),
    Value(f64),
    Failed,
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -10.0..10.0_f64,
        1 => prop::num::f64::ANY,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 0.0, 5e-324, 1e30, -1e30]),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        4 => (number(), prop::collection::vec(number(), 4)).prop_map(|(v, g)| Message::Both(v, g)),
        1 => number().prop_map(Message::Value),
        1 => Just(Message::Failed),
    ]
}

/// Tells the messages over and over until the descent ends, in either precision.
macro_rules! never_lost {
    ($S:ty, $messages:expr, $limit:expr) => {{
        let coordinates = [Log, Between(-1.0, 2.0), Logit(0.0, 1.0), Free(1e-3)];
        let mut descent = Descent::<$S, 4>::new([1.0, 2.0, 0.5, 0.0], coordinates).at_most($limit);
        let mut least: Option<($S, [$S; 4])> = None;
        let mut tells = 0;
        for message in $messages.iter().cycle() {
            if descent.finished() {
                break;
            }
            tells += 1;
            prop_assert!(tells <= 2 * $limit + 2, "no end");
            let theta = *descent.theta();
            prop_assert!(theta.iter().all(|t| t.is_finite()), "{theta:?}");
            prop_assert!(
                theta[0] > 0.0
                    && (-1.0..=2.0).contains(&theta[1])
                    && (0.0..=1.0).contains(&theta[2])
            );
            let before = descent.best().map(|(theta, value)| (value, *theta));
            let verdict = match message {
                Message::Failed => descent.tell_failed(),
                Message::Value(v) => match descent.tell_value(*v as $S) {
                    // A gradient that is not there.
                    Ok(Verdict::GradientWanted) => descent.tell_failed(),
                    other => other,
                },
                Message::Both(v, g) => {
                    let (v, g): ($S, Vec<$S>) = (*v as $S, g.iter().map(|g| *g as $S).collect());
                    let verdict = descent.tell(v, &g);
                    if verdict != Ok(Verdict::Failed) && least.is_none_or(|(least, _)| v < least) {
                        least = Some((v, theta));
                        prop_assert_eq!(verdict, Ok(Verdict::Accepted));
                    }
                    // In logarithms a slope is g·θ, which overflows for a large θ as well.
                    let largest = theta.iter().fold(2e35, |most: $S, t| most.max(t.abs()));
                    prop_assert!(
                        verdict != Ok(Verdict::Failed)
                            || !v.is_finite()
                            || g.iter().any(|g| !(*g * largest).is_finite()),
                        "{verdict:?} at {theta:?}: {v}, {g:?}"
                    );
                    verdict
                }
            };
            let after = descent.best().map(|(theta, value)| (value, *theta));
            prop_assert_eq!(after, least);
            prop_assert_eq!(before != after, verdict == Ok(Verdict::Accepted));
        }
        prop_assert!(least.is_none_or(|(_, best)| &best == descent.theta()));
    }};
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever the messages, the best is the least value with a gradient, θ is finite and within its bounds, and there is an end.
    #[test]
    fn the_best_is_never_lost(messages in prop::collection::vec(message(), 1..40), limit in 1_usize..200) {
        never_lost!(f64, messages, limit);
        never_lost!(f32, messages, limit);
    }
}
