//! Derivatives against central differences, for the tests of this folder.

use dst_core::Objective;

use super::Margins;
use crate::data::{Shape, synthetic};
use crate::random::normals;

/// Checks a problem on two data sets: all entries one, and not all.
pub(super) fn check_on_data<P: Objective<f64>>(problem: impl Fn(Margins) -> P) {
    let shape = Shape {
        rows: 77,
        features: 20,
        groups: 4,
    };
    for (seed, values) in [(3, false), (4, true)] {
        let mut examples = synthetic(shape, seed);
        if values {
            // A last row whose entries are not ones.
            examples.rows.push(3, -0.5).unwrap();
            examples.rows.finish_row();
            examples.labels.push(-1.0);
        }
        let problem = problem(Margins::new(examples).unwrap());
        check(&problem, &normals(seed, problem.dim()));
    }
}

/// Checks ∇f·v and ∇²f·v along random directions at `x`.
pub(super) fn check(objective: &impl Objective<f64>, x: &[f64]) {
    let dim = objective.dim();
    let evaluate = |x: &[f64]| {
        let (mut g, mut tape) = (vec![0.0; dim], vec![0.0; objective.tape_len()]);
        // Longer than asked for, and not clean: both are allowed.
        let mut scratch = vec![f64::NAN; objective.scratch_len() + 3];
        let f = objective.value_gradient(x, &mut g, &mut tape, &mut scratch);
        (f, g, tape, scratch)
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (_, gradient, tape, mut scratch) = evaluate(x);
    for seed in 0..5 {
        let v = normals(seed, dim);
        let along = |h: f64| {
            let moved: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x + h * v).collect();
            evaluate(&moved)
        };
        let h = 1e-5;
        let (up, down) = (along(h), along(-h));
        let slope = dot(&gradient, &v);
        let quotient = (up.0 - down.0) / (2.0 * h);
        let error = (slope - quotient).abs() / (1.0 + slope.abs());
        assert!(error < 1e-7, "gradient: {slope} against {quotient}");
        let mut product = vec![1.0; dim];
        objective.add_hessian_vector(x, &v, &tape, &mut product, &mut scratch);
        for ((product, up), down) in product.iter().zip(&up.1).zip(&down.1) {
            let quotient = 1.0 + (up - down) / (2.0 * h);
            let error = (product - quotient).abs() / (1.0 + product.abs());
            assert!(error < 1e-6, "Hessian: {product} against {quotient}");
        }
    }
    // Three products at once are three products.
    let vectors = normals(9, 3 * dim);
    let (mut together, mut single) = (vec![0.5; 3 * dim], vec![0.5; 3 * dim]);
    objective.add_hessian_vectors(x, &vectors, &tape, &mut together, &mut scratch);
    for (v, out) in vectors.chunks(dim).zip(single.chunks_mut(dim)) {
        objective.add_hessian_vector(x, v, &tape, out, &mut scratch);
    }
    assert_eq!(together, single);
}
