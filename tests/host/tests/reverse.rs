//! Pullbacks by the trace, by dual numbers and by hand agree; a trace that does not fit is an error that names its length.

use dst_core::fixed::LinearFeedback;
use dst_core::system::{Arithmetic, Derived, Number};
use dst_core::{
    Argument, Bar, Direction, Error, Euler, Formula, HeapMemory, Mode, Point, Seed, System, formula,
};
use dst_models::airframe::{self, Airframe, TRACE, TRACED};
use dst_models::{BouncingBall, Countdown, Decay, Figure1, Pendulum, QuadraticInTime, Shrink};
use proptest::prelude::*;

/// θ̄, x̄ and, if there is no seed on A, t̄.
fn pullback(
    system: &impl System<f64>,
    at: Point<'_, f64>,
    rate_seed: &[f64],
    readings: [f64; 2],
) -> Vec<f64> {
    let dims = system.dims();
    let mut scratch = vec![f64::NAN; dims.scratch];
    let (mut theta, mut x, mut t) = (vec![0.25; dims.params], vec![0.25; dims.states], 0.25);
    let [criterion, loss] = readings;
    let seed = Seed {
        rate: rate_seed,
        criterion,
        loss,
    };
    let no_rate = rate_seed.iter().all(|&a| a == 0.0);
    let bar = Bar {
        theta: &mut theta,
        x: &mut x,
        t: no_rate.then_some(&mut t),
    };
    system.pullback(at, &[], seed, bar, &mut scratch);
    [theta, x, vec![t]].concat()
}

/// The same by one pushforward per direction.
fn by_pushforward(
    system: &impl System<f64>,
    at: Point<'_, f64>,
    rate_seed: &[f64],
    [criterion, loss]: [f64; 2],
) -> Vec<f64> {
    let (p, d) = (at.theta.len(), at.x.len());
    let mut rate = vec![0.0; d];
    let entry = |i: usize| {
        let mut along = vec![0.0; p + d];
        let t = if i == p + d { 1.0 } else { 0.0 };
        if let Some(entry) = along.get_mut(i) {
            *entry = 1.0;
        }
        let direction = Direction {
            theta: &along[..p],
            x: &along[p..],
            t,
        };
        let found = system.pushforward(at, &[], direction, &mut rate, &mut []);
        // A zero seed leaves its term out: it may be infinite.
        let term = |seed: f64, slope: f64| if seed == 0.0 { 0.0 } else { seed * slope };
        let sum: f64 = rate.iter().zip(rate_seed).map(|(&a, &s)| term(s, a)).sum();
        0.25 + sum + term(criterion, found.criterion) + term(loss, found.loss)
    };
    let with_time = rate_seed.iter().all(|&a| a == 0.0);
    let mut all: Vec<f64> = (0..p + d + 1).map(entry).collect();
    if !with_time {
        all[p + d] = 0.25;
    }
    all
}

fn agree(name: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let finite = expected.iter().filter(|v| v.is_finite());
    let size = finite.fold(1.0, |m: f64, v| m.max(v.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!(
            // Where a slope is infinite, duals give NaN in every direction (0·∞); the trace leaves out what does not contribute.
            (f - e).abs() <= 1e-12 * size || !e.is_finite(),
            "{name}, entry {i}: {f}, expected {e}\n{found:?}\n{expected:?}"
        );
    }
}

/// K = 1 and K = 4 by dual numbers; K = 64 would cost 65 evaluations, so the trace is used.
fn all_ways<F, const D: usize, const P: usize>(formula: F, theta: [f64; P], x: [f64; D], t: f64)
where
    F: Formula<D, P> + Copy,
{
    let name = std::any::type_name::<F>();
    let one = Derived::<F, D, P, 1> { formula };
    let four = Derived::<F, D, P> { formula };
    let traced = Derived::<F, D, P, 64, 500> { formula };
    assert!(Derived::<F, D, P, 64, 500>::REVERSE && !Derived::<F, D, P, 4, 0>::REVERSE);
    let at = Point {
        theta: &theta,
        x: &x,
        t,
    };
    let seeds = [
        ([0.7; D], [0.0, 0.0]),
        ([-1.3; D], [0.4, -2.0]),
        ([0.0; D], [1.0, 0.5]),
    ];
    for (rate_seed, readings) in seeds {
        let expected = by_pushforward(&four, at, &rate_seed, readings);
        agree(name, &pullback(&one, at, &rate_seed, readings), &expected);
        agree(name, &pullback(&four, at, &rate_seed, readings), &expected);
        agree(
            name,
            &pullback(&traced, at, &rate_seed, readings),
            &expected,
        );
    }
}

#[test]
fn every_model_by_trace_and_by_duals() {
    all_ways(Countdown, [], [0.7], 0.3);
    all_ways(Decay, [0.8], [0.7], 0.3);
    all_ways(Shrink, [0.8], [0.7], 0.0);
    all_ways(BouncingBall, [8.0], [1.0, 0.4], 0.1);
    all_ways(QuadraticInTime, [0.5], [1.5], 0.9);
    all_ways(Figure1, [0.2], [1.0, -0.8], 0.0);
    all_ways(Pendulum, [0.4, 2.0], [0.9, -0.3], 0.2);
    let (theta, x) = (airframe::THETA.map(f64::from), airframe::X.map(f64::from));
    all_ways(Airframe, theta, x, 0.0);
    let needed = TRACED.trace_len(&theta, &x, 0.0);
    assert!(needed <= TRACE && TRACE < needed + 10, "{needed}");
}

#[test]
fn against_a_pullback_by_hand() {
    use nalgebra::matrix;
    let by_hand = LinearFeedback {
        a: matrix![0.1, 1.0, 0.3; -0.5, 0.2, 0.7; 0.0, -1.1, 0.4],
        b: matrix![0.5, 0.0; 0.3, 1.0; -0.2, 0.9],
    };
    let rows = |m: &nalgebra::SMatrix<f64, 3, 3>| -> [[f64; 3]; 3] { m.transpose().into() };
    let formula = formula!(
        with a: [[f64; 3]; 3] = rows(&by_hand.a), b: [[f64; 2]; 3] = by_hand.b.transpose().into();
        |theta: 6, x: 3, _t| {
            let input = |i: usize| theta[i] * x[0] + theta[2 + i] * x[1] + theta[4 + i] * x[2];
            let u = [input(0), input(1)];
            core::array::from_fn(|i| {
                b[i][0] * u[0] + b[i][1] * u[1] - a[i][0] * x[0] - a[i][1] * x[1] - a[i][2] * x[2]
            })
        },
        |x| x[0] * x[0] + x[1] * x[1] + x[2] * x[2],
    );
    let traced = Derived::<_, 3, 6, 64, 200> {
        formula: formula.formula,
    };
    let theta = [0.3, -0.2, 0.8, 0.1, -0.6, 0.9];
    let at = Point {
        theta: &theta,
        x: &[0.4, -1.2, 0.7],
        t: 0.0,
    };
    let (seed, readings) = ([1.0, -0.5, 0.3], [0.8, 0.1]);
    let expected = pullback(&by_hand, at, &seed, readings);
    agree("trace", &pullback(&traced, at, &seed, readings), &expected);
    agree("duals", &pullback(&formula, at, &seed, readings), &expected);
}

/// One instruction of a random formula, on a stack of numbers.
#[derive(Clone, Copy, Debug)]
enum Op {
    X(usize),
    Theta(usize),
    T,
    Literal(f64),
    Unary(u8),
    Binary(u8),
}

/// Random formula with 4 states and 3 parameters: a program per output.
#[derive(Clone, Copy, Debug)]
struct Random<'p> {
    programs: &'p [Vec<Op>; 6],
}

impl Random<'_> {
    fn evaluate<A: Arithmetic>(
        program: &[Op],
        theta: &[Number<A>],
        x: &[Number<A>],
        t: Number<A>,
    ) -> Number<A> {
        let mut stack: Vec<Number<A>> = Vec::new();
        for &op in program {
            let top = stack.last().copied().unwrap_or(x[0]);
            let value = match op {
                Op::X(i) => x[i % 4],
                Op::Theta(i) => theta[i % 3],
                Op::T => t,
                Op::Literal(v) => Number::literal(v),
                Op::Unary(kind) => {
                    stack.pop();
                    match kind % 24 {
                        0 => -top,
                        1 => top.sin(),
                        2 => top.cos(),
                        3 => top.tanh(),
                        4 => top.exp().min(1e3),
                        5 => (top * top + 0.1).ln(),
                        6 => (top * top + 0.1).sqrt(),
                        7 => top.atan(),
                        8 => top.abs(),
                        9 => top.powi(3) * 0.1,
                        10 => 1.0 / (top * top + 1.0),
                        11 => top.clamp(-1.0, 1.5),
                        12 => top.max(0.3),
                        13 => 2.0 - top / 3.0,
                        14 => top.sigmoid(),
                        15 => top.softplus(),
                        16 => (top * 0.1).sinh() + (top * 0.1).cosh(),
                        17 => (top * top + 0.5).powf(0.7),
                        18 => (top * top + 0.5).log10() + (top * top + 0.5).log2(),
                        19 => top.tanh().asin() + top.tanh().acos(),
                        20 => top.asinh() + (top * top + 1.5).acosh(),
                        21 => (top.abs() + 0.1).cbrt() + (top.tanh() * 0.9).atanh(),
                        22 => (top * 0.2).exp_m1() + (top * 0.2).exp2() + top.abs().ln_1p(),
                        _ => {
                            top.signum() * top
                                + top.rem_euclid(7.0)
                                + top.floor()
                                + top.round()
                                + top.ceil()
                        }
                    }
                }
                Op::Binary(kind) => {
                    let b = stack.pop().unwrap_or(x[1]);
                    let a = stack.pop().unwrap_or(theta[0]);
                    match kind % 9 {
                        0 => a + b,
                        1 => a - b,
                        2 => a * b * 0.5,
                        3 => a / (b * b + 1.0),
                        4 => a.max(b),
                        5 => a.min(b),
                        6 => a.atan2(b * b + 0.2),
                        7 => a.hypot(b * b + 0.1),
                        _ => (a * a + 0.2).pow(b.tanh()),
                    }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(x[0])
    }
}

impl Formula<4, 3> for Random<'_> {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 3],
        x: &[Number<A>; 4],
        t: Number<A>,
    ) -> [Number<A>; 4] {
        core::array::from_fn(|i| Self::evaluate(&self.programs[i], theta, x, t))
    }
    fn criterion<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 3],
        x: &[Number<A>; 4],
        t: Number<A>,
    ) -> Number<A> {
        Self::evaluate(&self.programs[4], theta, x, t)
    }
    fn loss<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 3],
        x: &[Number<A>; 4],
        t: Number<A>,
        criterion: Number<A>,
    ) -> Number<A> {
        Self::evaluate(&self.programs[5], theta, x, t) + criterion
    }
}

fn programs() -> impl Strategy<Value = [Vec<Op>; 6]> {
    let op = prop_oneof![
        3 => (0_usize..4).prop_map(Op::X),
        2 => (0_usize..3).prop_map(Op::Theta),
        1 => Just(Op::T),
        1 => (-2.0..2.0_f64).prop_map(Op::Literal),
        4 => any::<u8>().prop_map(Op::Unary),
        4 => any::<u8>().prop_map(Op::Binary),
    ];
    prop::array::uniform6(prop::collection::vec(op, 1..25))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_formulas(
        programs in programs(),
        theta in prop::array::uniform3(-1.5..1.5_f64),
        x in prop::array::uniform4(-1.5..1.5_f64),
        t in 0.0..2.0_f64,
    ) {
        // The trace carries no cotangent that is zero; a formula that overflows has no derivative to compare.
        let formula = Random { programs: &programs };
        let plain = Derived::<_, 4, 3>::new(formula);
        let mut rate = [0.0; 4];
        let reading = plain.rate(Point { theta: &theta, x: &x, t }, &mut rate, &mut [], &mut []);
        prop_assume!(rate.iter().chain([&reading.criterion, &reading.loss]).all(|v| v.abs() < 1e6));
        // Where a slope is infinite, duals give NaN even if its seed is zero.
        let slopes = pullback(&plain, Point { theta: &theta, x: &x, t }, &[1.0; 4], [1.0, 1.0]);
        prop_assume!(slopes.iter().all(|v| v.is_finite()));
        all_ways(formula, theta, x, t);
    }
}

/// A formula whose trace is longer for x > 1.
fn branching() -> Derived<impl Formula<2, 14> + Copy, 2, 14> {
    formula!(
        |theta: 14, x: 2, _t| {
            let mut sum = theta[0] * x[0];
            if x[0] > 1.0 {
                for &theta in theta {
                    sum += theta * x[1];
                }
            }
            [sum, x[1]]
        },
        |x| x[0] * x[0],
    )
}

#[test]
fn a_trace_that_does_not_fit_names_its_length() {
    let (theta, x0) = ([0.1; 14], [2.0, 0.5]);
    let flow = branching();
    let needed = flow.trace_len(&theta, &x0, 0.0);
    assert!(needed > flow.trace_len(&theta, &[0.5, 0.5], 0.0));
    let plan = Euler::new(0.05).until(0.5).mode(Mode::Adjoint);
    let short = flow.with_trace::<10>();
    let mut memory = HeapMemory::new(&plan, &short, 10);
    let error = plan
        .sensitivity(&short, &theta, &x0, &mut memory)
        .unwrap_err();
    let expected = Error::Length {
        argument: Argument::Trace,
        needed,
        given: 10,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains(&needed.to_string()), "{error}");

    let long = flow.with_trace::<40>();
    let mut memory = HeapMemory::new(&plan, &long, 10);
    let traced = plan.sensitivity(&long, &theta, &x0, &mut memory).unwrap();
    let traced = traced.steps_gradient().to_vec();
    let mut memory = HeapMemory::new(&plan, &flow, 10);
    let dual = plan.sensitivity(&flow, &theta, &x0, &mut memory).unwrap();
    agree("gradient of N", &traced, dual.steps_gradient());
}

/// The choice: dual numbers for few inputs, the trace for many, and never a trace without memory.
#[test]
fn the_cheaper_way_is_chosen() {
    fn reverse<const D: usize, const P: usize, const TRACE: usize>() -> bool {
        Derived::<(), D, P, 4, TRACE>::REVERSE
    }
    assert!(!reverse::<2, 2, 100>() && !reverse::<8, 4, 100>());
    assert!(reverse::<12, 8, 100>() && !reverse::<12, 8, 0>());
}
