//! Expected output of the C program of known answers, from dst-core in Rust: the same lines, counts in decimal and numbers as
//! bits.
//!
//! Models and settings are those of `tests/c/cases.h`. Derivatives come from dual numbers here and are hand-written there, so the
//! numbers agree to rounding, and no code is shared above the engine. `cargo xtask test-c` compares them.

use dst_core::adapt::{AdamOla, OlaConfig, Window, WindowedOla};
use dst_core::solve::Gradient;
use dst_core::system::Derived;
use dst_core::{
    Crossing, Error, Euler, HeapMemory, Heun, Integrator, Map, Mode, Plan, Reading, Rk4, Scalar,
    Seeds, SymplecticEuler, System, formula,
};
use dst_models::{BouncingBall, Decay, Figure1, Quadratic};

/// Line of output: its case, counts and numbers.
struct Line<S> {
    label: String,
    counts: Vec<usize>,
    numbers: Vec<S>,
}

fn main() {
    print("f32", &lines(), |v: f32| format!("{:08x}", v.to_bits()));
    print("f64", &lines(), |v: f64| format!("{:016x}", v.to_bits()));
}

fn print<S: Scalar>(scalar: &str, lines: &[Line<S>], bits: fn(S) -> String) {
    for line in lines {
        let counts = line.counts.iter().map(usize::to_string);
        let numbers = line.numbers.iter().map(|&v| bits(v));
        let words: Vec<String> = counts.chain(numbers).collect();
        println!("case {scalar} {}: {}", line.label, words.join(" "));
    }
}

fn lines<S: Scalar>() -> Vec<Line<S>> {
    let s = S::from_f64;
    let mut all = Vec::new();
    let decay = Derived::<_, 1, 1>::new(Decay);
    let figure1 = Derived::<_, 2, 1>::new(Figure1);
    let ball = Derived::<_, 2, 1>::new(BouncingBall);
    let swing = formula!(
        |theta: 1, x: 2, _t| [-x[1], x[0] * 16.0 + theta[0] * x[1]],
        |x| x[0] * x[0],
    );
    let chase = formula!(
        |theta: 1, x: 1, _t| [theta[0] * x[0]],
        |_theta, x, t| x[0] - t * 0.5,
    );
    grid(&mut all, "decay", &decay, 1.3, &[2.0], (0.07, 1e-3));
    grid(&mut all, "figure1", &figure1, 0.7, &[1.0; 2], (0.05, 1e-2));
    grid(&mut all, "ball", &ball, 8.0, &[3.0, 0.0], (0.01, 0.0));
    grid(&mut all, "swing", &swing, 0.8, &[1.0, 0.0], (0.01, 0.04));
    grid(&mut all, "chase", &chase, 0.5, &[2.0], (0.05, 0.0));
    map_grids(&mut all);
    let plan = Euler::new(s(0.05)).until(s(1e-2)).at_most(10_000);
    let tenth = |_| Reading::loss(s(0.1));
    let falling = |k| Reading::loss(S::ONE / (S::ONE + S::from_count(k)));
    weighted(&mut all, "uniform", plan, S::TWO, tenth);
    weighted(&mut all, "falling", plan, S::TWO, falling);
    weighted(&mut all, "limit", plan.at_most(40), S::ZERO, tenth);
    adaptation(&mut all);
    all
}

/// Every integrator, crossing and mode.
fn grid<S: Scalar>(
    all: &mut Vec<Line<S>>,
    model: &str,
    system: &impl System<S>,
    theta: f64,
    x0: &[f64],
    (h, epsilon): (f64, f64),
) {
    let (h, epsilon) = (S::from_f64(h), S::from_f64(epsilon));
    let x0: Vec<S> = x0.iter().map(|&x| S::from_f64(x)).collect();
    let case = Case {
        model,
        system,
        theta: [S::from_f64(theta)],
        x0,
    };
    case.crossings(all, "euler", Euler::new(h).until(epsilon));
    case.crossings(all, "heun", Heun::new(h).until(epsilon));
    case.crossings(all, "rk4", Rk4::new(h).until(epsilon));
    if model == "ball" {
        let symplectic = SymplecticEuler::new(h).until(epsilon);
        case.crossings(all, "symplectic", symplectic);
    }
}

/// The same for iterations given as a map.
fn map_grids<S: Scalar>(all: &mut Vec<Line<S>>) {
    let s = S::from_f64;
    let relax = formula!(
        |theta: 1, x: 2, t| [
            theta[0] * x[0] + x[1] * 0.125 + t / 512.0,
            x[1] * 0.5 - x[0] * x[1] * 0.25
        ],
        |_theta, x, t| x[0] * x[0] + x[1] * x[1] - t / 64.0,
    );
    let spiral = formula!(
        |theta: 1, x: 2, _t| [
            theta[0] * ((4.0 * x[0] - 3.0 * x[1]) / 5.0),
            theta[0] * ((3.0 * x[0] + 4.0 * x[1]) / 5.0)
        ],
        |x| x[0] * x[0],
    );
    let case = Case {
        model: "relax",
        system: &relax,
        theta: [s(0.8)],
        x0: vec![S::ONE; 2],
    };
    case.crossings(all, "map", Map.until(S::ZERO));
    let case = Case {
        model: "spiral",
        system: &spiral,
        theta: [s(0.95)],
        x0: vec![S::ONE, S::ZERO],
    };
    let plan = Map.until(s(0.01)).at_most(200).staying_to_the_end();
    case.crossings(all, "map", plan);
}

/// Model with its parameter and starting point.
struct Case<'a, S, Y> {
    model: &'a str,
    system: &'a Y,
    theta: [S; 1],
    x0: Vec<S>,
}

impl<S: Scalar, Y: System<S>> Case<'_, S, Y> {
    fn crossings<I: Integrator<S>>(&self, all: &mut Vec<Line<S>>, name: &str, plan: Plan<S, I>) {
        let plan = if self.model == "swing" {
            plan.at_most(1000).staying_to_the_end()
        } else {
            plan
        };
        for crossing in Crossing::ALL {
            for mode in [Mode::Adjoint, Mode::Tangent] {
                let words = format!("{} {name} {crossing:?} {mode:?}", self.model);
                let seeds = Seeds::stop(crossing) + Seeds::weighted(|_| Reading::ZERO);
                all.push(self.line(&words, plan.mode(mode), seeds));
            }
        }
    }

    fn line<I, F>(&self, words: &str, plan: Plan<S, I>, seeds: Seeds<S, F>) -> Line<S>
    where
        I: Integrator<S>,
        F: Fn(usize) -> Reading<S> + Copy,
    {
        let mut memory = HeapMemory::new(&plan, self.system, 8);
        match self.solve(plan, seeds, &mut memory) {
            Ok((steps, numbers)) => Line {
                label: words.to_lowercase(),
                counts: vec![steps],
                numbers,
            },
            // The comparison with the output of C then fails.
            Err(error) => Line {
                label: error.to_string(),
                counts: vec![],
                numbers: vec![],
            },
        }
    }

    fn solve<I, F>(
        &self,
        plan: Plan<S, I>,
        seeds: Seeds<S, F>,
        memory: &mut HeapMemory<S>,
    ) -> Result<(usize, Vec<S>), Error>
    where
        I: Integrator<S>,
        F: Fn(usize) -> Reading<S> + Copy,
    {
        let problem = plan.on(self.system, &self.theta, &self.x0)?;
        problem.start(memory)?;
        problem.complete(memory)?;
        problem.differentiate(memory, seeds, usize::MAX)?;
        let Gradient {
            steps,
            stop,
            theta,
            x0,
            state,
            ..
        } = problem.gradient(memory)?;
        let stop = stop.map_or([S::NAN; 3], |s| [s.time, s.steps, s.epsilon_gradient]);
        Ok((steps, [stop.as_slice(), theta, x0, state].concat()))
    }
}

/// Weights on f, and the stopping time with a factor.
fn weighted<S: Scalar, F: Fn(usize) -> Reading<S> + Copy>(
    all: &mut Vec<Line<S>>,
    name: &str,
    plan: Plan<S, Euler<S>>,
    time_weight: S,
    weights: F,
) {
    let case = Case {
        model: "figure1",
        system: &Derived::<_, 2, 1>::new(Figure1),
        theta: [S::from_f64(0.7)],
        x0: vec![S::ONE; 2],
    };
    let seeds = Seeds::stop(Crossing::Interpolated).times(time_weight) + Seeds::weighted(weights);
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let words = format!("figure1 {name} {mode:?}");
        all.push(case.line(&words, plan.mode(mode), seeds));
    }
}

/// Adam-OLA and the windowed adaptation.
fn adaptation<S: Scalar>(all: &mut Vec<Line<S>>) {
    let s = S::from_f64;
    let bowl = Quadratic {
        lambda: [S::ONE, s(3.0), s(0.6)],
        coupling: s(0.2),
    };
    let x0 = [S::ONE, s(-0.7), s(0.4)];
    let mut add = |name: &str, counts: [usize; 2], numbers: [S; 3], x: &[S]| {
        all.push(Line {
            label: format!("bowl {name}"),
            counts: counts.to_vec(),
            numbers: numbers.iter().chain(x).copied().collect(),
        });
    };
    let mut memory = [S::ZERO; 15];
    let config = OlaConfig::new(s(0.01), s(1e-3), s(1e-3));
    if let Ok(mut ola) = AdamOla::new(config, bowl, &x0, &mut memory)
        && ola.advance(100).is_ok()
    {
        let counts = [ola.iterations(), ola.adaptations()];
        add(
            "ola",
            counts,
            [ola.value(), ola.alpha(), S::ZERO],
            ola.state(),
        );
    }
    let mut z = [S::ZERO; 9];
    let config = OlaConfig::new(s(0.01), s(1e-5), s(0.1));
    let Ok(mut ola) = WindowedOla::new(config, bowl, usize::MAX, &x0, &mut z) else {
        return;
    };
    let mut memory = HeapMemory::new(&Euler::new(S::ONE).until(S::ZERO), ola.method(), 3);
    for _ in 0..4 {
        let Ok(Window::Adapted { sensitivity, .. }) = ola.advance(1000, &mut memory) else {
            return;
        };
        let counts = [ola.iterations(), ola.adaptations()];
        add(
            "window",
            counts,
            [ola.value(), ola.alpha(), sensitivity],
            ola.state(),
        );
    }
}
