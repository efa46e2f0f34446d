//! What the C program of known answers must print, from dst-core in Rust: the same lines, counts in decimal and numbers as bits.
//!
//! Models and settings are those of `tests/c/cases.h`; the models here have their derivatives from dual numbers, those
//! there by hand, so that the numbers agree to rounding, and no bit of code is shared above the engine. `cargo xtask test-c` compares.

use dst_core::adapt::{AdamOla, OlaConfig, Window, WindowedOla};
use dst_core::{
    Crossing, Derived, Euler, Formula, Gradient, HeapMemory, Heun, Integrator, Mode, Plan, Rk4,
    Scalar, SymplecticEuler, System, Weights,
};
use dst_models::{BouncingBall, Decay, Figure1, Quadratic};

/// A line: what it is about, its counts and its numbers.
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
    grid(&mut all, "decay", Decay, [1.3], [2.0], (0.07, 1e-3));
    grid(&mut all, "figure1", Figure1, [0.7], [1.0; 2], (0.05, 1e-2));
    grid(
        &mut all,
        "ball",
        BouncingBall,
        [8.0],
        [3.0, 0.0],
        (0.01, 0.0),
    );
    let plan = Euler::new(s(0.05)).until(s(1e-2)).at_most(10_000);
    let tenth = dst_core::Uniform(s(0.1));
    let falling = |k: usize| S::ONE / (S::ONE + S::from_count(k));
    loss(&mut all, "uniform", plan.running_loss(tenth, S::TWO));
    loss(&mut all, "falling", plan.running_loss(&falling, S::TWO));
    loss(
        &mut all,
        "limit",
        plan.at_most(40).running_loss(tenth, S::ZERO),
    );
    adaptation(&mut all);
    all
}

/// Every integrator, crossing and mode.
fn grid<S: Scalar, F: Formula<S, D, 1> + Copy, const D: usize>(
    all: &mut Vec<Line<S>>,
    model: &str,
    formula: F,
    theta: [f64; 1],
    x0: [f64; D],
    (h, epsilon): (f64, f64),
) {
    let (h, epsilon) = (S::from_f64(h), S::from_f64(epsilon));
    let (theta, x0) = (theta.map(S::from_f64), x0.map(S::from_f64));
    let mut each = |name: &str, solve: &dyn Fn(Crossing, Mode) -> Line<S>| {
        for crossing in Crossing::ALL {
            for mode in [Mode::Adjoint, Mode::Tangent] {
                let mut line = solve(crossing, mode);
                line.label = format!("{model} {name} {crossing:?} {mode:?}").to_lowercase();
                all.push(line);
            }
        }
    };
    let system = Derived::<_, D, 1>::new(formula);
    let system = &system;
    each("euler", &|c, m| {
        solve(
            Euler::new(h).until(epsilon).crossing(c).mode(m),
            system,
            &theta,
            &x0,
        )
    });
    each("heun", &|c, m| {
        solve(
            Heun::new(h).until(epsilon).crossing(c).mode(m),
            system,
            &theta,
            &x0,
        )
    });
    each("rk4", &|c, m| {
        solve(
            Rk4::new(h).until(epsilon).crossing(c).mode(m),
            system,
            &theta,
            &x0,
        )
    });
    if model == "ball" {
        let symplectic = SymplecticEuler::new(h).until(epsilon);
        each("symplectic", &|c, m| {
            solve(symplectic.crossing(c).mode(m), system, &theta, &x0)
        });
    }
}

fn loss<S: Scalar, W: Weights<S> + Copy>(
    all: &mut Vec<Line<S>>,
    name: &str,
    plan: Plan<S, Euler<S>, W>,
) {
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let flow = Derived::<_, 2, 1>::new(Figure1);
        let mut line = solve(plan.mode(mode), &flow, &[S::from_f64(0.7)], &[S::ONE; 2]);
        line.label = format!("figure1 {name} {mode:?}").to_lowercase();
        all.push(line);
    }
}

fn solve<S: Scalar, I: Integrator<S>, W: Weights<S> + Copy, Y: System<S>>(
    plan: Plan<S, I, W>,
    system: &Y,
    theta: &[S],
    x0: &[S],
) -> Line<S> {
    let mut memory = HeapMemory::new(&plan, system, 8);
    let Gradient {
        steps,
        stop,
        loss,
        theta,
        x0,
        state,
        ..
    } = match plan.gradient(system, theta, x0, &mut memory) {
        Ok(gradient) => gradient,
        // Compared with what C prints, it is found.
        Err(error) => {
            return Line {
                label: error.to_string(),
                counts: vec![],
                numbers: vec![],
            };
        }
    };
    let stop = stop.map_or([S::NAN; 3], |s| [s.time, s.steps, s.epsilon_gradient]);
    Line {
        label: String::new(),
        counts: vec![steps],
        numbers: [&stop, [loss].as_slice(), theta, x0, state].concat(),
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
