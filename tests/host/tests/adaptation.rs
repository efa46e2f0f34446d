//! Adam-OLA compared with a plain transcription of Algorithm 2, and the windowed adaptation compared with Adam-OLA.

use dst_core::adapt::{AdamOla, OlaConfig, OlaStatus, Window, WindowedOla};
use dst_core::{Error, HeapMemory, Objective};
use dst_models::{Close, CountedObjective, Counts, Logistic, Rosenbrock};
use dst_tests::BOWL;

/// Algorithm 2, line by line, without shared code: the α of every iteration.
fn algorithm_2<O: Objective<f64>>(
    c: OlaConfig<f64>,
    f: &O,
    x0: &[f64],
    iterations: usize,
) -> Vec<(f64, f64, f64)> {
    let d = x0.len();
    let evaluate = |x: &[f64]| {
        let (mut g, mut tape, mut scratch) = (
            vec![0.0; d],
            vec![0.0; f.tape_len()],
            vec![0.0; f.scratch_len()],
        );
        (f.value_gradient(x, &mut g, &mut tape, &mut scratch), g)
    };
    let (mut x, mut m, mut v) = (x0.to_vec(), vec![0.0; d], vec![0.0; d]);
    let (mut alpha, mut f_ref, mut updates) = (c.alpha, evaluate(x0).0, 0);
    let mut history = vec![];
    for k in 0..iterations {
        let (f_prev, g) = evaluate(&x);
        let mut direction = vec![0.0; d];
        for i in 0..d {
            m[i] = c.beta1 * m[i] + (1.0 - c.beta1) * g[i];
            v[i] = c.beta2 * v[i] + (1.0 - c.beta2) * g[i] * g[i];
            let m_hat = m[i] / (1.0 - c.beta1.powi(k as i32 + 1));
            let v_hat = v[i] / (1.0 - c.beta2.powi(k as i32 + 1));
            direction[i] = m_hat / (v_hat.sqrt() + c.stability);
            x[i] -= alpha * direction[i];
        }
        let (f_new, g_new) = evaluate(&x);
        if f_ref - f_new > c.descent * f64::from(updates) {
            let step = f_new - f_prev;
            if step != 0.0 {
                let s: f64 = g_new
                    .iter()
                    .zip(&direction)
                    .map(|(g, d)| g * d)
                    .sum::<f64>()
                    / step;
                alpha -= c.eta * s;
            }
            f_ref = f_new;
            updates += 1;
        }
        history.push((x[0], f_new, alpha));
    }
    history
}

fn follows_algorithm_2<O: Objective<f64>>(
    name: &str,
    config: OlaConfig<f64>,
    objective: O,
    x0: &[f64],
) {
    let counts = Counts::default();
    let counted = CountedObjective {
        inner: &objective,
        counts: &counts,
    };
    let mut memory = vec![0.0; AdamOla::memory_len(&counted)];
    let mut ola = AdamOla::new(config, counted, x0, &mut memory).unwrap();
    let history = algorithm_2(config, &objective, x0, 200);
    for (k, &(x, f, alpha)) in history.iter().enumerate() {
        if ola.advance(1).unwrap() == OlaStatus::Converged {
            break;
        }
        let ours = [ola.state()[0], ola.value(), ola.alpha()];
        Close {
            rtol: 1e-9,
            atol: 1e-12,
        }
        .assert(&format!("{name}, iteration {k}"), &ours, &[x, f, alpha]);
        assert_eq!(
            counts.rate.get(),
            k + 2,
            "one evaluation per iteration and one at the start"
        );
    }
    assert!(
        ola.adaptations() > 3,
        "{name}: {} adaptations",
        ola.adaptations()
    );
    assert_ne!(ola.alpha(), config.alpha);
}

const X3: [f64; 3] = [1.0, -0.7, 0.4];

#[test]
fn one_step_is_algorithm_2() {
    follows_algorithm_2("bowl", OlaConfig::new(0.01, 1e-3, 1e-3), BOWL, &X3);
    follows_algorithm_2(
        "Rosenbrock",
        OlaConfig::new(0.005, 1e-5, 1e-3),
        Rosenbrock { c: 10.0 },
        &[-0.5, 0.9],
    );
    follows_algorithm_2(
        "logistic",
        OlaConfig::new(0.01, 1e-4, 1e-4),
        Logistic::<f64, 3, 8>::sample(),
        &X3,
    );
}

/// A window of one step is the one-step algorithm: the same α at every adaptation.
#[test]
fn a_window_of_one_step_is_adam_ola() {
    let config = OlaConfig::new(0.01, 1e-3, 1e-3);
    let (mut z, x0) = ([0.0; 9], X3);
    let mut windowed = WindowedOla::new(config, BOWL, 1, &x0, &mut z).unwrap();
    let mut memory = vec![0.0; 15];
    let mut ola = AdamOla::new(config, BOWL, &x0, &mut memory).unwrap();
    let plan = dst_core::Euler::new(1.0).until(0.0);
    let mut room = HeapMemory::new(&plan, windowed.method(), 4);
    // Until f can no longer fall by the growing threshold.
    while let Window::Adapted { steps, .. } = windowed.advance(1000, &mut room).unwrap() {
        ola.advance(steps).unwrap();
        assert_eq!(
            (windowed.iterations(), windowed.adaptations()),
            (ola.iterations(), ola.adaptations())
        );
        Close::relative(1e-9).assert("alpha", &[windowed.alpha()], &[ola.alpha()]);
        Close {
            rtol: 1e-9,
            atol: 1e-12,
        }
        .assert("x", windowed.state(), ola.state());
        Close::relative(1e-9).assert("f", &[windowed.value()], &[ola.value()]);
    }
    assert!(windowed.adaptations() > 10, "{}", windowed.adaptations());
}

/// Over a long window the sensitivity is that of the whole window: compared with differences of its stopping time.
#[test]
fn a_long_window_sees_every_step() {
    // The threshold grows with the number of adaptations: a large descent gives a long window after the first.
    let config = OlaConfig {
        eta: 0.0,
        ..OlaConfig::new(0.01, 0.0, 0.4)
    };
    let last_window = |alpha: f64| {
        let mut z = [0.0; 9];
        let mut ola =
            WindowedOla::new(OlaConfig { alpha, ..config }, BOWL, usize::MAX, &X3, &mut z).unwrap();
        let plan = dst_core::Euler::new(1.0).until(0.0);
        let mut room = HeapMemory::new(&plan, ola.method(), 3);
        // Three windows: thresholds 0, 0.4, 0.8.
        let mut windows = vec![];
        for _ in 0..3 {
            windows.push(ola.advance(10_000, &mut room).unwrap());
        }
        (windows, ola.alpha())
    };
    let (windows, alpha) = last_window(0.01);
    assert_eq!(alpha, 0.01, "eta = 0 does not change alpha");
    let Window::Adapted { steps, sensitivity } = windows[1] else {
        panic!("{windows:?}")
    };
    assert!(steps > 10, "{windows:?}");
    // Truncation to a single step gives a different result: the window matters.
    let mut z = [0.0; 9];
    let mut short = WindowedOla::new(config, BOWL, 1, &X3, &mut z).unwrap();
    let plan = dst_core::Euler::new(1.0).until(0.0);
    let mut room = HeapMemory::new(&plan, short.method(), 3);
    short.advance(10_000, &mut room).unwrap();
    let Window::Adapted {
        sensitivity: one,
        steps: same,
    } = short.advance(10_000, &mut room).unwrap()
    else {
        panic!()
    };
    assert_eq!(steps, same);
    assert!(
        sensitivity < 2.0 * one && one < 0.0,
        "{sensitivity} over {steps} steps, {one} over one"
    );
    // N is about a constant divided by α for small steps, so dN/dα ≈ −N/α over the whole window.
    let expected = -(steps as f64) / 0.01;
    assert!(
        (sensitivity / expected - 1.0).abs() < 0.25,
        "{sensitivity} against about {expected}"
    );
}

#[test]
fn an_open_window_continues() {
    let config = OlaConfig::new(0.01, 1e-6, 0.4);
    let mut z = [0.0; 9];
    let mut ola = WindowedOla::new(config, BOWL, 100, &X3, &mut z).unwrap();
    let plan = dst_core::Euler::new(1.0).until(0.0);
    let mut room = HeapMemory::new(&plan, ola.method(), 3);
    ola.advance(10, &mut room).unwrap();
    let mut open = 0;
    loop {
        match ola.advance(4, &mut room).unwrap() {
            Window::Open { steps } => {
                assert_eq!(steps, 4);
                open += 1;
            }
            Window::Adapted { .. } => break,
            Window::Flat { .. } => panic!("not flat"),
        }
    }
    assert!(open > 1 && ola.adaptations() == 2, "{open}");
}

#[test]
fn divergence_is_reported_not_hidden() {
    // A huge adaptation rate makes α overflow.
    let config = OlaConfig::new(0.1, 1e300, 0.0);
    let mut memory = vec![0.0; 15];
    let mut ola = AdamOla::new(config, BOWL, &X3, &mut memory).unwrap();
    let result = ola.advance(1000);
    assert!(
        matches!(result, Err(Error::NonFinite { step }) if step == ola.iterations()),
        "{result:?}"
    );
}
