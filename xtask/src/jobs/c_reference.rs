//! What the C program of known answers must print, from dst-core in Rust.
//!
//! Models and settings are those of `tests/c/cases.h`; the models here have their derivatives from dual numbers, those
//! there by hand, so that the numbers agree to rounding, and no bit of code is shared above the engine.

use dst_core::adapt::{AdamOla, OlaConfig, Window, WindowedOla};
use dst_core::{
    Crossing, Derived, Euler, Formula, Gradient, HeapMemory, Heun, Integrator, Mode, Plan, Rk4,
    Scalar, SymplecticEuler, System, Weights,
};
use dst_models::{BouncingBall, Decay, Figure1, Quadratic};

/// A line: what it is about, its counts and its numbers.
struct Line {
    label: String,
    counts: Vec<usize>,
    numbers: Vec<f64>,
}

/// Compares the output of the program; returns the number of lines.
pub(crate) fn compare(output: &str) -> Result<usize, String> {
    let mut expected = lines::<f32>("f32");
    expected.extend(lines::<f64>("f64"));
    let printed: Vec<&str> = output.lines().filter(|l| l.starts_with("case ")).collect();
    if printed.len() != expected.len() {
        return Err(format!(
            "{} cases printed, {} expected",
            printed.len(),
            expected.len()
        ));
    }
    for (line, printed) in expected.iter().zip(&printed) {
        let tolerance = if line.label.starts_with("f32") {
            1e-5
        } else {
            1e-12
        };
        line.check(printed, tolerance)
            .map_err(|e| format!("{printed}\nRust says of {}: {e}", line.label))?;
    }
    Ok(expected.len())
}

impl Line {
    fn check(&self, printed: &str, tolerance: f64) -> Result<(), String> {
        let (label, values) = printed
            .strip_prefix("case ")
            .and_then(|rest| rest.split_once(": "))
            .ok_or("not a case")?;
        if label != self.label {
            return Err("another case".to_owned());
        }
        let mut values = values.split(' ');
        for count in &self.counts {
            let value = values.next().unwrap_or_default();
            if value != count.to_string() {
                return Err(format!("{count}, not {value}"));
            }
        }
        for number in &self.numbers {
            let bits = values.next().unwrap_or_default();
            let value = from_bits(bits).ok_or_else(|| format!("{bits} are not bits"))?;
            let both_nan = value.is_nan() && number.is_nan();
            let close = (value - number).abs() <= tolerance * value.abs().max(number.abs());
            if !(both_nan || close) {
                return Err(format!("{number:e}, not {value:e}"));
            }
        }
        match values.next() {
            None => Ok(()),
            Some(more) => Err(format!("nothing of {more}")),
        }
    }
}

/// Eight digits are an f32, sixteen an f64.
fn from_bits(digits: &str) -> Option<f64> {
    let bits = u64::from_str_radix(digits, 16).ok()?;
    match digits.len() {
        8 => u32::try_from(bits)
            .ok()
            .map(|b| f64::from(f32::from_bits(b))),
        16 => Some(f64::from_bits(bits)),
        _ => None,
    }
}

fn lines<S: Scalar>(suffix: &str) -> Vec<Line> {
    let s = S::from_f64;
    let mut all = Vec::new();
    grid::<S, _, _>(&mut all, "decay", Decay, [1.3], [2.0], (0.07, 1e-3));
    grid::<S, _, _>(&mut all, "figure1", Figure1, [0.7], [1.0; 2], (0.05, 1e-2));
    grid::<S, _, _>(
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
    adaptation::<S>(&mut all);
    for line in &mut all {
        line.label = format!("{suffix} {}", line.label);
    }
    all
}

/// Every integrator, crossing and mode.
fn grid<S: Scalar, F: Formula<S, D, 1> + Copy, const D: usize>(
    all: &mut Vec<Line>,
    model: &str,
    formula: F,
    theta: [f64; 1],
    x0: [f64; D],
    (h, epsilon): (f64, f64),
) {
    let (h, epsilon) = (S::from_f64(h), S::from_f64(epsilon));
    let (theta, x0) = (theta.map(S::from_f64), x0.map(S::from_f64));
    let mut each = |name: &str, solve: &dyn Fn(Crossing, Mode) -> Line| {
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
    all: &mut Vec<Line>,
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
) -> Line {
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
    let numbers = [&stop, [loss].as_slice(), theta, x0, state].concat();
    Line {
        label: String::new(),
        counts: vec![steps],
        numbers: numbers.iter().map(|v| v.to_f64()).collect(),
    }
}

/// Adam-OLA and the windowed adaptation.
fn adaptation<S: Scalar>(all: &mut Vec<Line>) {
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
            numbers: numbers.iter().chain(x).map(|v| v.to_f64()).collect(),
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
