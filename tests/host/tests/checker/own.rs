//! Every system of the project passes, in both precisions.

use std::cell::RefCell;

use dst_core::fixed::{LinearFeedback, Quadratic as MatrixQuadratic};
use dst_core::methods::{
    Adam, Constant, Decrease, Exponential, GradientFlow, HeavyBall, Nesterov, Preconditioned,
    Projected,
};
use dst_core::qp::{Admm, Instance, Inversion, ProjectedMomentum, Qp, Shape, Tolerance};
use dst_core::system::{Derived, Pair, RateOf};
use dst_core::{
    Bar, Cost, Dims, Euler, Heun, Integrator, Map, Optimality, Plan, Point, Reading, Rk4, Scalar,
    Seed, SymplecticEuler, System, formula,
};
use dst_models::{
    BouncingBall, Countdown, Counted, Counts, Decay, Figure1, Logistic, Opaque, Pendulum, Poison,
    Poisoned, Quadratic, QuadraticInTime, Rosenbrock, Shrink, Suspension,
};
use dst_tests::{BOWL, FourthPowers, RandomSystem, Steps};
use nalgebra::{matrix, vector};

use super::{check, list};

/// Fails with the sentence of the mismatch; at most one in twenty derivatives may be undecided, of a smooth system one in a
/// hundred.
#[track_caller]
fn passes<S: Scalar, I: Integrator<S>>(
    name: &str,
    plan: Plan<S, I>,
    system: &dyn System<S>,
    (theta, x0): (&[f64], &[f64]),
    smooth: bool,
) {
    match check(plan, system, theta, x0) {
        Ok(checked) => {
            println!("{name}: {checked}");
            assert!(checked.points >= 3, "{name}: {checked}");
            let share = checked.compared / if smooth { 100 } else { 20 };
            assert!(checked.undecided <= share, "{name}: {checked}");
        }
        Err(wrong) => panic!("{name}: {wrong}"),
    }
}

fn s<S: Scalar>(value: f64) -> S {
    S::from_f64(value)
}

fn euler<S: Scalar>(h: f64) -> Plan<S, Euler<S>> {
    Euler::new(s(h)).until(s(-1.0))
}

fn map<S: Scalar>() -> Plan<S, Map> {
    Map.until(s(-1e30))
}

const X3: [f64; 3] = [1.0, -0.7, 0.4];

fn padded(x: &[f64], states: usize) -> Vec<f64> {
    let mut z = x.to_vec();
    z.resize(states, 0.0);
    z
}

fn flows<S: Scalar>() {
    let one: &[f64] = &[1.0];
    let plan = euler::<S>(0.05);
    passes(
        "countdown",
        plan,
        &Derived::<_, 1, 0>::new(Countdown),
        (&[], one),
        true,
    );
    let decay = Derived::<_, 1, 1>::new(Decay);
    passes("decay", plan, &decay, (&[0.7], one), true);
    passes(
        "shrink",
        map::<S>(),
        &Derived::<_, 1, 1>::new(Shrink),
        (&[0.9], one),
        true,
    );
    let ball = Derived::<_, 2, 1>::new(BouncingBall);
    passes("ball", plan, &ball, (&[8.0], &[1.0, 0.0]), true);
    let in_time = Derived::<_, 1, 1>::new(QuadraticInTime);
    passes("in time", plan, &in_time, (&[0.4], one), true);
    let figure = Derived::<_, 2, 1>::new(Figure1);
    for start in [[1.0, 0.9], [1e-3, 40.0], [0.0, 1.0]] {
        passes("Figure 1", plan, &figure, (&[0.3], &start), true);
    }
    let heun = Heun::new(s::<S>(0.05)).until(s(-1.0));
    passes("Figure 1, Heun", heun, &figure, (&[0.3], &[1.0, 0.9]), true);
    let steps = Derived::<_, 2, 2>::new(Steps {
        flow: Pendulum,
        h: 0.05,
    });
    passes(
        "pendulum, map",
        map::<S>(),
        &steps,
        (&[2.0, 0.3], &[1.2, 0.1]),
        true,
    );
    let pendulum = Derived::<_, 2, 2>::new(Pendulum);
    let rk4 = Rk4::new(s::<S>(0.05)).until(s(-1.0));
    let symplectic = SymplecticEuler::new(s::<S>(0.05)).until(s(-1.0));
    passes(
        "pendulum, RK4",
        rk4,
        &pendulum,
        (&[2.0, 0.3], &[1.2, 0.1]),
        true,
    );
    passes(
        "pendulum",
        symplectic,
        &pendulum,
        (&[2.0, 0.3], &[1.2, 0.0]),
        true,
    );
    let car = Suspension;
    passes(
        "suspension",
        plan,
        &car,
        (&[8.0, 2.0], &[1.0, 0.0, 0.0, 0.0]),
        true,
    );
    let cost = Cost {
        pullback: Some(1),
        pushforward: None,
    };
    passes("opaque", plan, &Opaque(cost), (&[], one), true);
    let counts = Counts::default();
    let counted = Counted {
        inner: Suspension,
        counts: &counts,
    };
    passes(
        "counted",
        plan,
        &counted,
        (&[8.0, 2.0], &[0.3, 0.1, -1.0, 2.0]),
        true,
    );
    let poisoned = Poisoned {
        inner: decay,
        poison: Poison::Rate,
        value: S::NAN,
        after: usize::MAX,
        calls: Default::default(),
    };
    passes("never poisoned", plan, &poisoned, (&[0.7], one), true);
}

/// Formulas with every kind of dependence, and with kinks.
fn formulas<S: Scalar>() {
    let plan = euler::<S>(0.02);
    let tracking = formula!(
        |theta: 2, x: 2, t| [-x[1], theta[0] * (x[0] - t.sin()) + theta[1] * x[1] * t],
        |theta, x, t| (x[0] - t.sin()) * (x[0] - t.sin()) + theta[1] * x[1] * x[1] * (t + 1.0),
    );
    passes(
        "tracking",
        plan,
        &tracking,
        (&[4.0, 0.5], &[1.0, 0.3]),
        true,
    );
    let later = plan.from_time(s(100.0));
    passes("later", later, &tracking, (&[4.0, 0.5], &[1.0, 0.3]), true);
    // A kink exactly at x0, and one that the run crosses.
    let kinks = formula!(
        |theta: 1, x: 2, _t| [x[0].abs() * theta[0], x[1].max(x[0]) + x[1]],
        |x| x[0].abs() + x[1].abs(),
    );
    for start in [
        [0.0, 0.0],
        [1.0, 1.0],
        [0.0, 1.0],
        [0.5, -0.5],
        [1.0, 0.999_999],
    ] {
        let wrong = check(plan, &kinks, &[1.0], &start).err();
        assert_eq!(wrong, None, "{start:?}");
    }
    // Sizes of very different orders.
    let scales = formula!(
        |theta: 2, x: 3, _t| [theta[0] * x[0], theta[1] * x[1] * x[1], x[2] * 0.5 + x[0] * x[1]],
        |x| x[0] * x[0] + x[1] + x[2] * x[2],
    );
    passes(
        "scales",
        plan,
        &scales,
        (&[1e-4, 1e-6], &[1e-5, 1e4, 3.0]),
        true,
    );
    // Digits lost in a difference.
    let lost = formula!(
        |theta: 1, x: 2, _t| [(x[0] + 100.0) - 100.0, theta[0] * x[1]],
        |x| (x[0] * x[0] + 1.0) - x[1].cos(),
    );
    passes("lost digits", plan, &lost, (&[1.0], &[0.01, 0.02]), false);
}

fn bowl<S: Scalar>() -> Quadratic<S, 3> {
    Quadratic {
        lambda: BOWL.lambda.map(s),
        coupling: s(BOWL.coupling),
    }
}

fn methods<S: Scalar>() {
    let (plan, one) = (euler::<S>(0.02), euler::<S>(1.0));
    let rosenbrock = Rosenbrock { c: s::<S>(5.0) };
    let logistic = Logistic::<S, 3, 8>::sample();
    let point: &[f64] = &[-0.3, 0.8];
    let scheduled = GradientFlow::new(rosenbrock, Exponential { start: s(0.2) });
    passes(
        "schedule",
        plan.from_time(s(0.2)),
        &scheduled,
        (&[1.1, 0.05], point),
        true,
    );
    let flow = GradientFlow::new(logistic, Constant);
    passes("gradient flow", plan, &flow, (&[0.7], &X3), true);
    for optimality in [
        Optimality::Value,
        Optimality::ResidualSquared,
        Optimality::ResidualMax,
    ] {
        let name = |method: &str| format!("{method}, {optimality:?}");
        // The largest entry of a residual changes with x.
        let smooth = optimality != Optimality::ResidualMax;
        let preconditioned = Preconditioned::new(logistic).stop_on(optimality);
        passes(
            &name("preconditioned"),
            one,
            &preconditioned,
            (&[0.5, 0.8, 0.3], &X3),
            smooth,
        );
        let heavy_ball = HeavyBall::new(bowl()).stop_on(optimality);
        passes(
            &name("heavy ball"),
            one,
            &heavy_ball,
            (&[0.2, 0.6], &padded(&X3, 6)),
            smooth,
        );
        let nesterov = Nesterov::new(logistic).stop_on(optimality);
        let twice = [X3, X3].concat();
        passes(
            &name("Nesterov"),
            one,
            &nesterov,
            (&[0.4, 0.5], &twice),
            smooth,
        );
        let adam = Adam::new(rosenbrock).stop_on(optimality);
        let start = padded(&[-0.5, 0.9], 6);
        passes(
            &name("Adam"),
            one,
            &adam,
            (&[0.02, 0.85, 0.97], &start),
            false,
        );
        let (lower, upper) = (list::<S>(&[0.4, -2.0, -2.0]), list::<S>(&[2.0, 2.0]));
        let projected = Projected::new(bowl(), &lower, &upper).stop_on(optimality);
        passes(&name("projected"), one, &projected, (&[0.2], &X3), smooth);
    }
    // At its bound from the start: a kink at x0.
    let (lower, upper) = (list::<S>(&[1.0, -0.7, -2.0]), list::<S>(&[2.0, 2.0]));
    let projected = Projected::new(bowl(), &lower, &upper);
    assert_eq!(check(one, &projected, &[0.2], &X3).err(), None);
    let mut x0 = X3.to_vec();
    x0.push(2.0);
    let decrease = Decrease::new(GradientFlow::new(bowl(), Constant), s(0.5));
    passes("decrease", map::<S>(), &decrease, (&[0.2], &x0), true);
}

#[test]
fn models_and_formulas() {
    flows::<f64>();
    flows::<f32>();
    formulas::<f64>();
    formulas::<f32>();
}

#[test]
fn all_methods() {
    methods::<f64>();
    methods::<f32>();
}

fn matrices<S: Scalar>() {
    let feedback = LinearFeedback {
        a: matrix![0.0, 1.0, 0.0; -1.0, 0.2, 0.5; 0.3, 0.0, -0.1].map(s::<S>),
        b: matrix![0.0, 0.1; 1.0, 0.0; 0.2, 0.7].map(s::<S>),
    };
    let gains = [0.5, 0.1, 1.2, -0.3, 0.4, 0.9];
    passes("feedback", euler::<S>(0.02), &feedback, (&gains, &X3), true);
    let quadratic = MatrixQuadratic {
        q: matrix![2.0, 0.3; 0.3, 1.0].map(s::<S>),
        b: vector![0.5, -1.0].map(s::<S>),
    };
    let heavy_ball = HeavyBall::new(quadratic);
    passes(
        "matrix",
        euler::<S>(1.0),
        &heavy_ball,
        (&[0.2, 0.5], &padded(&X3, 4)),
        true,
    );
}

#[test]
fn systems_of_matrices() {
    matrices::<f64>();
    matrices::<f32>();
}

#[test]
fn pairs_and_random_systems() {
    let pair = Pair {
        dynamics: RateOf(HeavyBall::new(BOWL)),
        criterion: FourthPowers,
    };
    passes(
        "pair",
        euler::<f64>(1.0),
        &pair,
        (&[0.2, 0.6], &padded(&X3, 6)),
        true,
    );
    for (states, params) in [(1, 1), (5, 2), (7, 11), (40, 50), (70, 3), (3, 70)] {
        let numbers: Vec<f64> = (0..37).map(|i| (1.3 * f64::from(i)).sin()).collect();
        let system = RandomSystem::new(states, params, &numbers);
        let theta: Vec<f64> = (0..params).map(|i| 0.5 + 0.01 * i as f64).collect();
        let x0: Vec<f64> = (0..states).map(|i| (0.7 * i as f64).cos()).collect();
        let name = format!("{states} states, {params} parameters");
        passes(&name, euler::<f64>(0.05), &system, (&theta, &x0), true);
    }
}

/// Program with bounded outputs: two inputs over three stages.
struct Program<S> {
    shape: Shape,
    hessian: Vec<S>,
    outputs: Vec<S>,
    linear: Vec<S>,
    lower: Vec<S>,
    upper: Vec<S>,
}

impl<S: Scalar> Program<S> {
    fn new(outputs: usize) -> Self {
        let shape = Shape {
            inputs: 1,
            outputs,
            stages: 3,
            blocks: 1,
        };
        let rows = shape.rows();
        let bound = |sign: f64| list::<S>(&vec![sign * 0.8; rows]);
        let entries = shape.output_entries();
        Self {
            shape,
            hessian: list(&[2.0, 0.2, 0.1, 0.2, 2.3, 0.2, 0.1, 0.2, 2.6]),
            outputs: list(
                &(0..entries)
                    .map(|i| 0.3 + 0.1 * i as f64)
                    .collect::<Vec<_>>(),
            ),
            linear: list(&[-3.0, 1.0, 0.5]),
            lower: bound(-1.0),
            upper: bound(1.0),
        }
    }

    fn instance(&self) -> Instance<'_, S> {
        Instance {
            linear: &self.linear,
            lower: &self.lower,
            upper: &self.upper,
        }
    }
}

fn tolerance<S: Scalar>() -> Tolerance<S> {
    Tolerance {
        primal: s(1e-4),
        dual: s(1e-4),
        dual_relative: S::ZERO,
    }
}

/// ADMM whose K follows θ: the engine computes K once per run, the differences need it for every θ.
struct WithInverse<'p, S> {
    program: &'p Program<S>,
    inverses: RefCell<Vec<S>>,
}

const SWITCHES: [usize; 1] = [3];

impl<S: Scalar> WithInverse<'_, S> {
    fn with<T>(&self, theta: &[S], call: impl FnOnce(&Admm<'_, S>) -> T) -> T {
        let Program { shape, .. } = *self.program;
        let qp = Qp::new(shape, &self.program.outputs).unwrap();
        let mut inverses = self.inverses.borrow_mut();
        inverses.resize(2 * shape.prepared_entries(), S::ZERO);
        let mut row = vec![S::ZERO; shape.variables()];
        let hessian = &self.program.hessian;
        assert!(Inversion::of_phases(
            &qp,
            hessian,
            theta,
            &mut inverses,
            &mut row
        ));
        let instance = self.program.instance();
        call(&Admm::new(qp, instance, tolerance(), &inverses, &SWITCHES).unwrap())
    }

    fn params(&self) -> Vec<S> {
        let per_phase = self.program.shape.phase_params();
        (0..2 * per_phase)
            .map(|i| s(1.0 + 0.07 * i as f64))
            .collect()
    }
}

impl<S: Scalar> System<S> for WithInverse<'_, S> {
    fn dims(&self) -> Dims {
        self.with(&self.params(), |admm| admm.dims())
    }
    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        self.with(at.theta, |admm| admm.rate(at, rate, tape, scratch))
    }
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        self.with(at.theta, |admm| admm.pullback(at, tape, seed, bar, scratch));
    }
}

fn controllers<S: Scalar>() {
    let program = Program::<S>::new(1);
    let admm = WithInverse {
        program: &program,
        inverses: RefCell::default(),
    };
    let theta: Vec<f64> = admm.params().iter().map(|p| p.to_f64()).collect();
    let states = program.shape.states();
    let start: Vec<f64> = (0..states).map(|i| 0.3 * (1.1 * i as f64).sin()).collect();
    for x0 in [vec![0.0; states], start] {
        let checked = check(map::<S>(), &admm, &theta, &x0);
        println!("ADMM: {checked:?}");
        assert!(checked.is_ok_and(|checked| checked.undecided * 4 < checked.compared));
    }
    let inputs = Program::<S>::new(0);
    let system = ProjectedMomentum::new(
        inputs.shape,
        &inputs.hessian,
        inputs.instance(),
        tolerance(),
    );
    let system = system.unwrap();
    for x0 in [[0.0; 6], [0.1, -0.2, 0.3, 0.05, 0.1, -0.4]] {
        let checked = check(map::<S>(), &system, &[0.2, 0.5], &x0);
        println!("projected momentum: {checked:?}");
        assert!(checked.is_ok_and(|checked| checked.undecided * 4 < checked.compared));
    }
}

#[test]
fn solvers_of_controllers() {
    controllers::<f64>();
    controllers::<f32>();
}
