//! Online adaptation: an independent transcription of Algorithm 2, and the windowed adaptation compared with it.

use dst_core::adapt::{AdamOla, OlaConfig, Window, WindowedOla};
use dst_core::solve::Workspace;
use dst_core::{Argument, Error, Memory, Objective, Scalar};

use super::outcome::Outcome;
use super::setup::lit;
use crate::{Quadratic, Rosenbrock};

fn config<S: Scalar>() -> OlaConfig<S> {
    let [alpha, eta, descent] = lit([0.01, 1e-3, 1e-3]);
    OlaConfig::new(alpha, eta, descent)
}

fn bowl<S: Scalar>() -> Quadratic<S, 2> {
    Quadratic {
        lambda: lit([1.0, 3.0]),
        coupling: S::from_f64(0.2),
    }
}

/// Algorithm 2 in double precision, line by line: (x₁, f, α) after this many iterations.
fn algorithm_2(c: OlaConfig<f64>, x0: [f64; 2], iterations: usize) -> [f64; 3] {
    let objective = Rosenbrock { c: 10.0 };
    let evaluate = |x: &[f64; 2]| {
        let mut g = [0.0; 2];
        let f = objective.value_gradient(x, &mut g, &mut [], &mut []);
        (f, g)
    };
    let (mut x, mut m, mut v) = (x0, [0.0; 2], [0.0; 2]);
    let (mut alpha, mut f_ref, mut updates) = (c.alpha, evaluate(&x0).0, 0.0);
    let (mut p1, mut p2) = (1.0, 1.0);
    for _ in 0..iterations {
        let (f_prev, g) = evaluate(&x);
        let mut d = [0.0; 2];
        p1 *= c.beta1;
        p2 *= c.beta2;
        for i in 0..2 {
            m[i] = c.beta1 * m[i] + (1.0 - c.beta1) * g[i];
            v[i] = c.beta2 * v[i] + (1.0 - c.beta2) * g[i] * g[i];
            d[i] = m[i] / (1.0 - p1) / (Scalar::sqrt(v[i] / (1.0 - p2)) + c.stability);
            x[i] -= alpha * d[i];
        }
        let (f, g) = evaluate(&x);
        if f_ref - f > c.descent * updates {
            if f != f_prev {
                alpha -= c.eta * (g[0] * d[0] + g[1] * d[1]) / (f - f_prev);
            }
            f_ref = f;
            updates += 1.0;
        }
    }
    [x[0], evaluate(&x).0, alpha]
}

pub(super) fn adam_ola_is_algorithm_2<S: Scalar>(out: &mut Outcome) {
    let (x0, steps) = ([-0.5, 0.9], 40);
    let [alpha, eta, descent] = [0.005, 1e-5, 1e-3];
    let [x, f, adapted] = algorithm_2(OlaConfig::new(alpha, eta, descent), x0, steps);
    let config = OlaConfig::new(S::from_f64(alpha), S::from_f64(eta), S::from_f64(descent));
    let objective: &dyn Objective<S> = &Rosenbrock {
        c: S::from_f64(10.0),
    };
    let (x0, mut memory) = (lit(x0), [S::ZERO; 10]);
    let made = AdamOla::new(config, objective, &x0, &mut memory);
    let Some(mut ola) = out.value("made", made) else {
        return;
    };
    let status = ola.advance(steps);
    out.value("advanced", status);
    out.count(ola.adaptations());
    out.holds("adapted", ola.adaptations() > 3);
    let tolerance = [1e-3, 1e-9];
    out.near("x", ola.state()[0], x, tolerance);
    out.near("f", ola.value(), f, tolerance);
    out.near("alpha", ola.alpha(), adapted, tolerance);
}

/// Adam on two variables: six states and three parameters.
type Room<S> = Memory<S, 6, 3, 4>;

pub(super) fn window_of_one_step_is_adam_ola<S: Scalar>(out: &mut Outcome) {
    let x0 = lit([1.0, -0.7]);
    let (mut z, mut memory, mut room) = ([S::ZERO; 6], [S::ZERO; 10], Room::new());
    let mut room = room.view_mut();
    let bowl: &dyn Objective<S> = &bowl();
    let windowed = WindowedOla::new(config(), bowl, 1, &x0, &mut z);
    let ola = AdamOla::new(config(), bowl, &x0, &mut memory);
    let (Ok(mut windowed), Ok(mut ola)) = (windowed, ola) else {
        return out.holds("made", false);
    };
    for _ in 0..8 {
        let window = windowed.advance(200, &mut room);
        let Ok(Window::Adapted { steps, sensitivity }) = window else {
            return out.holds("adapted", false);
        };
        out.number(sensitivity);
        let status = ola.advance(steps);
        out.value("advanced", status);
        out.near(
            "alpha",
            windowed.alpha(),
            ola.alpha().to_f64(),
            [1e-3, 1e-9],
        );
        out.near("f", windowed.value(), ola.value().to_f64(), [1e-3, 1e-9]);
    }
}

/// For small steps N is about a constant divided by α, so dN/dα ≈ −N/α over the whole window.
pub(super) fn long_window<S: Scalar>(out: &mut Outcome) {
    let x0 = lit([1.0, -0.7]);
    let (mut z, mut room) = ([S::ZERO; 6], Room::new());
    let mut room = room.view_mut();
    let [alpha, descent] = lit([0.01, 0.4]);
    let slow = OlaConfig::new(alpha, S::ZERO, descent);
    let bowl: &dyn Objective<S> = &bowl();
    let Ok(mut ola) = WindowedOla::new(slow, bowl, usize::MAX, &x0, &mut z) else {
        return out.holds("made", false);
    };
    let first = ola.advance(200, &mut room);
    let second = ola.advance(500, &mut room);
    let (Ok(Window::Adapted { .. }), Ok(Window::Adapted { steps, sensitivity })) = (first, second)
    else {
        return out.holds("adapted twice", false);
    };
    out.count(steps);
    out.holds("a long window", steps > 10);
    out.near("dN/dalpha", sensitivity, -(steps as f64) / 0.01, [0.3; 2]);
    out.holds("eta = 0", ola.alpha() == alpha);
    // A window left open continues.
    let open = ola.advance(2, &mut room);
    out.holds("open", open == Ok(Window::Open { steps: 2 }));
    out.numbers(ola.state());
}

pub(super) fn bad_arguments<S: Scalar>(out: &mut Outcome) {
    let (x0, mut memory) = (lit::<S, 2>([1.0, 1.0]), [S::ZERO; 10]);
    let bowl: &dyn Objective<S> = &bowl();
    let length = |argument, needed, given| Error::Length {
        argument,
        needed,
        given,
    };
    let short = AdamOla::new(config(), bowl, &x0[..1], &mut memory).map(|_| ());
    out.error("x0", short, length(Argument::X0, 2, 1));
    let small = AdamOla::new(config(), bowl, &x0, &mut memory[..9]).map(|_| ());
    out.error("memory", small, length(Argument::Memory, 10, 9));
    let mut bad = config();
    bad.eta = S::NAN;
    let bad = AdamOla::new(bad, bowl, &x0, &mut memory).map(|_| ());
    out.error("eta", bad, Error::Invalid(Argument::Hyperparameter));
    let hot = AdamOla::new(config(), bowl, &[S::NAN, S::ONE], &mut memory).map(|_| ());
    out.error("NaN", hot, Error::NonFinite { step: 0 });
    let short = WindowedOla::new(config(), bowl, 1, &x0, &mut memory[..5]).map(|_| ());
    out.error("z", short, length(Argument::Memory, 6, 5));
}
