//! G-OLA and N-OLA compared with plain transcriptions and known answers.

use dst_core::adapt::{GuardedConfig, GuardedOla, NewtonConfig, NewtonOla, OlaStatus};
use dst_core::{Argument, Error, Objective, Scalar};
use dst_models::{Close, CountedObjective, Counts, Logistic, Quadratic, Rosenbrock};
use dst_tests::BOWL;

const X3: [f64; 3] = [1.0, -0.7, 0.4];

/// f and ∇f.
fn evaluate<O: Objective<f64>>(f: &O, x: &[f64]) -> (f64, Vec<f64>) {
    let mut g = vec![0.0; x.len()];
    let (mut tape, mut scratch) = (vec![0.0; f.tape_len()], vec![0.0; f.scratch_len()]);
    (f.value_gradient(x, &mut g, &mut tape, &mut scratch), g)
}

/// G-OLA without shared code: (x₀, f, α) after every iteration.
fn g_ola<O: Objective<f64>>(
    f: &O,
    alpha: f64,
    x0: &[f64],
    iterations: usize,
) -> Vec<(f64, f64, f64)> {
    let d = x0.len();
    let (mut x, mut m, mut v) = (x0.to_vec(), vec![0.0; d], vec![0.0; d]);
    let (mut alpha, mut k, mut warm) = (alpha, 0, true);
    let mut history = vec![];
    while history.len() < iterations {
        let (f_k, g) = evaluate(f, &x);
        k += 1;
        let mut direction = vec![0.0; d];
        for i in 0..d {
            m[i] = 0.9 * m[i] + (1.0 - 0.9) * g[i];
            v[i] = 0.999 * v[i] + (1.0 - 0.999) * g[i] * g[i];
            let m_hat = m[i] / (1.0 - 0.9_f64.powi(k));
            let v_hat = v[i] / (1.0 - 0.999_f64.powi(k));
            direction[i] = m_hat / (v_hat.sqrt() + 1e-8);
        }
        // A warm-up step that raises f is undone and repeated with a tenth of α.
        let (f_next, g_next) = loop {
            let trial: Vec<f64> = x
                .iter()
                .zip(&direction)
                .map(|(x, d)| x - alpha * d)
                .collect();
            let (f_next, g_next) = evaluate(f, &trial);
            if warm && f_next > f_k {
                alpha /= 10.0;
                history.push((x[0], f_k, alpha));
                continue;
            }
            x = trial;
            break (f_next, g_next);
        };
        let slope: f64 = g_next.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let sigma = if f_next < f_k {
            alpha * slope / (f_next - f_k)
        } else {
            0.25
        };
        warm = warm && sigma < -0.5;
        alpha *= if warm {
            2.0
        } else {
            (-0.05 * sigma.clamp(-1.0, 0.25)).exp()
        };
        history.push((x[0], f_next, alpha.clamp(1e-12, 1e6)));
    }
    history
}

fn follows_the_formula<O: Objective<f64>>(name: &str, objective: O, x0: &[f64]) {
    for alpha in [1e-4, 0.03, 3.0] {
        let counts = Counts::default();
        let counted = CountedObjective {
            inner: &objective,
            counts: &counts,
        };
        let mut memory = vec![0.0; GuardedOla::memory_len(&counted)];
        let mut ola = GuardedOla::new(GuardedConfig::new(alpha), counted, x0, &mut memory).unwrap();
        let mut least = ola.value();
        for (k, (x, f, alpha)) in g_ola(&objective, alpha, x0, 100).into_iter().enumerate() {
            if ola.advance(1).unwrap() == OlaStatus::Converged {
                break;
            }
            let ours = [ola.state()[0], ola.value(), ola.alpha()];
            let close = Close {
                rtol: 1e-6,
                atol: 1e-9,
            };
            close.assert(&format!("{name}, iteration {k}"), &ours, &[x, f, alpha]);
            assert_eq!(counts.rate.get(), k + 2, "one evaluation per iteration");
            least = least.min(ola.value());
            let (best, f_best) = ola.best();
            assert_eq!(f_best, least, "{name}, iteration {k}: the best is kept");
            assert_eq!(evaluate(&objective, best).0, f_best);
        }
        assert_eq!(counts.pullback.get(), 0, "no Hessian-vector product");
    }
}

#[test]
fn g_ola_follows_its_formula() {
    follows_the_formula("bowl", BOWL, &X3);
    follows_the_formula("Rosenbrock", Rosenbrock { c: 10.0 }, &[-0.5, 0.9]);
    follows_the_formula("logistic", Logistic::<f64, 3, 8>::sample(), &X3);
}

/// Convergence from initial rates of any size, in both precisions.
#[test]
fn g_ola_and_n_ola_stay_finite() {
    fn check<S: Scalar>(tolerance: f64) {
        let bowl = Quadratic::<S, 3> {
            lambda: [1.0, 3.0, 0.6].map(S::from_f64),
            coupling: S::from_f64(0.2),
        };
        let x0 = X3.map(S::from_f64);
        for power in (-30..=30).step_by(3) {
            let alpha = S::from_f64(10_f64.powi(power));
            let mut memory = [S::ZERO; 24];
            let mut config = GuardedConfig::new(alpha);
            config.tolerance = S::from_f64(tolerance);
            let mut ola = GuardedOla::new(config, &bowl, &x0, &mut memory).unwrap();
            let status = ola.advance(3000).unwrap();
            assert_eq!(status, OlaStatus::Converged, "G-OLA from 1e{power}");
            let mut memory = [S::ZERO; 36];
            let mut config = NewtonConfig::new(alpha);
            config.tolerance = S::from_f64(tolerance);
            let mut ola = NewtonOla::new(config, &bowl, &x0, &mut memory).unwrap();
            let status = ola.advance(100).unwrap();
            assert_eq!(status, OlaStatus::Converged, "N-OLA from 1e{power}");
        }
    }
    check::<f64>(1e-4);
    check::<f32>(1e-3);
}

/// On a quadratic function the model is exact: the new gradient is orthogonal to the step, and the steps that make the stopping
/// time stationary in all three parameters converge in a few iterations.
#[test]
fn n_ola_is_exact_on_a_quadratic() {
    let counts = Counts::default();
    let counted = CountedObjective {
        inner: &BOWL,
        counts: &counts,
    };
    let mut memory = vec![0.0; NewtonOla::memory_len(&counted)];
    let mut config = NewtonConfig::new(1e9);
    config.tolerance = 1e-12;
    let mut ola = NewtonOla::new(config, counted, &X3, &mut memory).unwrap();
    // The first trial, of length 1e9, is rejected.
    assert_eq!(ola.advance(1).unwrap(), OlaStatus::Running);
    assert_eq!((ola.adaptations(), ola.state()), (0, &X3[..]));
    for k in 1..10 {
        let (before, f) = (ola.state().to_vec(), ola.value());
        let status = ola.advance(1).unwrap();
        let step: Vec<f64> = ola
            .state()
            .iter()
            .zip(&before)
            .map(|(x, b)| x - b)
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let angle = dot(ola.gradient(), &step);
        let size = dot(&step, &step).sqrt();
        assert!(angle.abs() <= 1e-12 * size.max(1e-3), "step {k}: {angle:e}");
        assert!(ola.value() < f, "step {k}");
        assert_eq!((ola.adaptations(), counts.rate.get()), (k, k + 2));
        assert_eq!((ola.products(), counts.pullback.get()), (2 * k, 2 * k));
        if status == OlaStatus::Converged {
            assert!(k <= 5, "{k} steps for three variables");
            return;
        }
    }
    panic!("f = {:e}", ola.value());
}

/// f falls in every accepted step, even where it is not convex.
#[test]
fn n_ola_descends_on_rosenbrock() {
    let f = Rosenbrock { c: 100.0 };
    for alpha in [1e-3, 1.0] {
        let mut memory = [0.0; 24];
        let mut ola =
            NewtonOla::new(NewtonConfig::new(alpha), &f, &[-1.2, 1.0], &mut memory).unwrap();
        let mut last = ola.value();
        let mut status = OlaStatus::Running;
        while status == OlaStatus::Running && ola.iterations() < 500 {
            status = ola.advance(1).unwrap();
            assert!(
                ola.value() <= last * (1.0 + 1e-14),
                "{} after {last}",
                ola.value()
            );
            last = ola.value();
        }
        assert_eq!(status, OlaStatus::Converged, "from {alpha}: f = {last:e}");
        Close::relative(1e-3).assert("minimiser", ola.state(), &[1.0, 1.0]);
    }
}

/// A budget only pauses the run: the bits are the same.
#[test]
fn budgets_do_not_matter() {
    let run = |budget: usize| {
        let (mut guarded, mut newton) = ([0.0; 24], [0.0; 36]);
        let mut g = GuardedOla::new(GuardedConfig::new(0.3), BOWL, &X3, &mut guarded).unwrap();
        let mut n = NewtonOla::new(NewtonConfig::new(0.3), BOWL, &X3, &mut newton).unwrap();
        while g.advance(budget).unwrap() == OlaStatus::Running {}
        while n.advance(budget).unwrap() == OlaStatus::Running {}
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        (
            g.iterations(),
            bits(g.state()),
            n.iterations(),
            bits(n.state()),
        )
    };
    assert_eq!(run(1), run(7));
    assert_eq!(run(1), run(usize::MAX));
}

#[test]
fn misuse_is_an_error() {
    let mut memory = [0.0; 36];
    let short = GuardedOla::new(GuardedConfig::new(0.1), BOWL, &X3, &mut memory[..23]);
    assert!(matches!(
        short,
        Err(Error::Length {
            argument: Argument::Memory,
            needed: 24,
            given: 23
        })
    ));
    let short = NewtonOla::new(NewtonConfig::new(0.1), BOWL, &X3, &mut memory[..35]);
    assert!(matches!(
        short,
        Err(Error::Length {
            argument: Argument::Memory,
            needed: 36,
            given: 35
        })
    ));
    let wrong = NewtonOla::new(NewtonConfig::new(0.1), BOWL, &X3[..2], &mut memory);
    assert!(matches!(
        wrong,
        Err(Error::Length {
            argument: Argument::X0,
            ..
        })
    ));
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let invalid = Error::Invalid(Argument::Hyperparameter);
        let guarded = GuardedOla::new(GuardedConfig::new(alpha), BOWL, &X3, &mut memory);
        assert_eq!(guarded.err(), Some(invalid), "{alpha}");
        let newton = NewtonOla::new(NewtonConfig::new(alpha), BOWL, &X3, &mut memory);
        assert_eq!(newton.err(), Some(invalid), "{alpha}");
    }
    let nowhere = [f64::NAN; 3];
    let guarded = GuardedOla::new(GuardedConfig::new(0.1), BOWL, &nowhere, &mut memory);
    assert_eq!(guarded.err(), Some(Error::NonFinite { step: 0 }));
    let newton = NewtonOla::new(NewtonConfig::new(0.1), BOWL, &nowhere, &mut memory);
    assert_eq!(newton.err(), Some(Error::NonFinite { step: 0 }));
}
