//! Gradients and Hessian-vector products from f alone, against known ones.

use dst_core::methods::Nesterov;
use dst_core::{Argument, Error, Euler, HeapMemory, Objective, objective};

/// Compares with a gradient and a product that are known.
fn check(
    name: &str,
    objective: &impl Objective<f64>,
    x: &[f64],
    v: &[f64],
    f: f64,
    gradient: &[f64],
    product: &[f64],
) {
    let n = objective.dim();
    let mut scratch = vec![f64::NAN; objective.scratch_len()];
    let (mut g, mut hv) = (vec![f64::NAN; n], vec![0.5; n]);
    let value = objective.value_gradient(x, &mut g, &mut [], &mut scratch);
    objective.add_hessian_vector(x, v, &[], &mut hv, &mut scratch);
    hv.iter_mut().for_each(|h| *h -= 0.5);
    let close = |what: &str, found: f64, expected: f64| {
        assert!(
            (found - expected).abs() <= 1e-10 * (1.0 + expected.abs()),
            "{name}, {what}: {found}, expected {expected}"
        );
    };
    close("f", value, f);
    for i in 0..n {
        close(&format!("gradient {i}"), g[i], gradient[i]);
        close(&format!("product {i}"), hv[i], product[i]);
    }
}

fn points(n: usize) -> (Vec<f64>, Vec<f64>) {
    (0..n)
        .map(|i| ((0.9 * i as f64).sin(), (0.4 + 1.7 * i as f64).cos()))
        .unzip()
}

#[test]
fn rosenbrock_in_fifty_variables() {
    let valley = objective!(|x: 50| {
        let mut sum = dst_core::system::Number::literal(0.0);
        for pair in x.windows(2) {
            sum += 100.0 * (pair[1] - pair[0] * pair[0]).powi(2) + (1.0 - pair[0]).powi(2);
        }
        sum
    });
    let (x, v) = points(50);
    let (mut f, mut g, mut hv) = (0.0, vec![0.0; 50], vec![0.0; 50]);
    for i in 0..49 {
        let (a, b) = (x[i], x[i + 1]);
        let r = b - a * a;
        f += 100.0 * r * r + (1.0 - a) * (1.0 - a);
        g[i] += -400.0 * a * r - 2.0 * (1.0 - a);
        g[i + 1] += 200.0 * r;
        hv[i] += (1200.0 * a * a - 400.0 * b + 2.0) * v[i] - 400.0 * a * v[i + 1];
        hv[i + 1] += -400.0 * a * v[i] + 200.0 * v[i + 1];
    }
    check("Rosenbrock", &valley, &x, &v, f, &g, &hv);
}

#[test]
fn logistic_regression_with_captured_data() {
    let data: [[f64; 3]; 8] =
        core::array::from_fn(|i| core::array::from_fn(|j| ((3 * i + 2 * j) as f64).sin()));
    let labels: [f64; 8] = core::array::from_fn(|i| if i % 3 == 0 { 1.0 } else { -1.0 });
    let loss = objective!(with z: [[f64; 3]; 8] = data, y: [f64; 8] = labels, ridge = 0.01; |x: 3| {
        let mut sum = 0.5 * ridge * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
        for (z, y) in z.iter().zip(y) {
            let margin = y * (z[0] * x[0] + z[1] * x[1] + z[2] * x[2]);
            sum += (-margin).softplus();
        }
        sum
    });
    let (x, v) = points(3);
    let (mut f, mut g, mut hv) = (0.0, vec![0.0; 3], vec![0.0; 3]);
    for j in 0..3 {
        f += 0.005 * x[j] * x[j];
        g[j] += 0.01 * x[j];
        hv[j] += 0.01 * v[j];
    }
    for (z, y) in data.iter().zip(labels) {
        let dot = |a: &[f64]| z.iter().zip(a).map(|(z, a)| z * a).sum::<f64>();
        let s = 1.0 / (1.0 + (y * dot(&x)).exp());
        f += (-y * dot(&x)).exp().ln_1p();
        for j in 0..3 {
            g[j] -= y * s * z[j];
            hv[j] += s * (1.0 - s) * dot(&v) * z[j];
        }
    }
    check("logistic", &loss, &x, &v, f, &g, &hv);
}

#[test]
fn a_chain_of_springs() {
    let chain = objective!(|x: 12| {
        let stretch = |i: usize| (1.0 + (x[i + 1] - x[i]).powi(2)).sqrt() - 1.0;
        (0..11).map(|i| stretch(i).powi(2)).sum::<dst_core::system::Number<_>>() + x[0] * x[0]
    });
    let (x, v) = points(12);
    let (mut f, mut g, mut hv) = (x[0] * x[0], vec![0.0; 12], vec![0.0; 12]);
    g[0] = 2.0 * x[0];
    hv[0] = 2.0 * v[0];
    for i in 0..11 {
        let (e, w) = (x[i + 1] - x[i], v[i + 1] - v[i]);
        let root = (1.0 + e * e).sqrt();
        f += (root - 1.0) * (root - 1.0);
        let slope = 2.0 * e * (1.0 - 1.0 / root);
        let curvature = 2.0 * (1.0 - 1.0 / (root * root * root));
        g[i + 1] += slope;
        g[i] -= slope;
        hv[i + 1] += curvature * w;
        hv[i] -= curvature * w;
    }
    check("chain", &chain, &x, &v, f, &g, &hv);
}

#[test]
fn beale() {
    let beale = objective!(|x: 2| {
        let term = |c: f64, n: i32| (c - x[0] + x[0] * x[1].powi(n)).powi(2);
        term(1.5, 1) + term(2.25, 2) + term(2.625, 3)
    });
    let (x, v) = ([1.3, -0.4_f64], [0.7, -1.1]);
    let (mut f, mut g, mut hv) = (0.0, [0.0; 2], [0.0; 2]);
    for (c, n) in [(1.5, 1), (2.25, 2), (2.625, 3)] {
        let (a, b) = (x[0], x[1]);
        let m = f64::from(n);
        let (r, ra, rb) = (
            c - a + a * b.powi(n),
            b.powi(n) - 1.0,
            m * a * b.powi(n - 1),
        );
        let (rab, rbb) = (
            m * b.powi(n - 1),
            if n > 1 {
                m * (m - 1.0) * a * b.powi(n - 2)
            } else {
                0.0
            },
        );
        f += r * r;
        g[0] += 2.0 * r * ra;
        g[1] += 2.0 * r * rb;
        hv[0] += 2.0 * (ra * ra * v[0] + (ra * rb + r * rab) * v[1]);
        hv[1] += 2.0 * ((ra * rb + r * rab) * v[0] + (rb * rb + r * rbb) * v[1]);
    }
    check("Beale", &beale, &x, &v, f, &g, &hv);
}

#[test]
fn himmelblau() {
    objective!(
        struct Himmelblau { a: f64, b: f64 }
        |x: 2| (x[0] * x[0] + x[1] - a).square() + (x[0] + x[1] * x[1] - b).square()
    );
    let function = Himmelblau { a: 11.0, b: 7.0 }.objective();
    let (x, v) = ([0.6, -1.4], [0.3, 0.8]);
    let (p, q) = (x[0] * x[0] + x[1] - 11.0, x[0] + x[1] * x[1] - 7.0);
    let g = [4.0 * x[0] * p + 2.0 * q, 2.0 * p + 4.0 * x[1] * q];
    let mixed = 4.0 * (x[0] + x[1]);
    let hv = [
        (4.0 * p + 8.0 * x[0] * x[0] + 2.0) * v[0] + mixed * v[1],
        mixed * v[0] + (2.0 + 4.0 * q + 8.0 * x[1] * x[1]) * v[1],
    ];
    check("Himmelblau", &function, &x, &v, p * p + q * q, &g, &hv);
}

/// A trace that does not fit ends a run with an error that names the length, at its first step.
#[test]
fn a_short_trace_is_named() {
    let sum = objective!(|x: 4| x[0] * x[1] + x[2] * x[3] + x[0] * x[3] + x[1] * x[1] + x[2] * x[2] + x[0] * x[0]);
    let needed = sum.trace_len(&[1.0; 4]);
    let system = Nesterov::new(sum.with_trace::<3>());
    let plan = Euler::new(1.0).until(1e-8);
    let mut memory = HeapMemory::new(&plan, &system, 5);
    let error = plan
        .sensitivity(&system, &[0.1, 0.5], &[1.0; 8], &mut memory)
        .unwrap_err();
    let expected = Error::Length {
        argument: Argument::Trace,
        needed,
        given: 3,
    };
    assert_eq!(error, expected);
}
