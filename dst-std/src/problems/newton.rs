//! The minimum of a convex objective to double precision; gaps f − f* are measured from it.
//!
//! Newton's method; each step by conjugate gradients on Hessian-vector products, so a singular Hessian is no obstacle as long
//! as the gradient is in its range, then halved until f falls enough. On a piecewise quadratic function it ends with the
//! right piece.

use dst_core::Objective;

/// A minimum and its accuracy.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// The minimiser, or one of them.
    pub x: Vec<f64>,
    /// f at x.
    pub f: f64,
    /// max |∇f| at x.
    pub gradient_max: f64,
    /// Newton steps taken.
    pub steps: usize,
}

const MOST_STEPS: usize = 200;
const MOST_HALVINGS: i32 = 40;

/// Minimises until max |∇f| ≤ `tolerance`, or until f falls no more.
pub fn minimise<O: Objective<f64>>(objective: &O, x0: &[f64], tolerance: f64) -> Minimum {
    let dim = objective.dim();
    let mut x = x0.to_vec();
    let (mut gradient, mut scratch) = (vec![0.0; dim], vec![0.0; objective.scratch_len()]);
    let mut tape = vec![0.0; objective.tape_len()];
    let mut f = objective.value_gradient(&x, &mut gradient, &mut tape, &mut scratch);
    let (mut trial, mut trial_gradient, mut trial_tape) =
        (x.clone(), gradient.clone(), tape.clone());
    let mut steps = 0;
    while steps < MOST_STEPS && max(&gradient) > tolerance {
        let step = newton_step(objective, &x, &gradient, &tape, &mut scratch);
        let slope = dot(&gradient, &step);
        let mut accepted = false;
        for halving in 0..MOST_HALVINGS {
            let length = 0.5_f64.powi(halving);
            for ((trial, x), step) in trial.iter_mut().zip(&x).zip(&step) {
                *trial = x + length * step;
            }
            let value = objective.value_gradient(
                &trial,
                &mut trial_gradient,
                &mut trial_tape,
                &mut scratch,
            );
            // At the end f is flat to rounding, and the gradient alone can tell that a step is good.
            let falls = value <= f + 1e-4 * length * slope;
            let flat = value <= f + 4.0 * f64::EPSILON * f.abs();
            if falls || (flat && max(&trial_gradient) < max(&gradient)) {
                f = value;
                accepted = true;
                break;
            }
        }
        if !accepted {
            break;
        }
        std::mem::swap(&mut x, &mut trial);
        std::mem::swap(&mut gradient, &mut trial_gradient);
        std::mem::swap(&mut tape, &mut trial_tape);
        steps += 1;
    }
    Minimum {
        f,
        gradient_max: max(&gradient),
        x,
        steps,
    }
}

/// Solves (∇²f + μ)·s = −∇f by conjugate gradients. The small μ keeps the rounding errors of ∇f, which have parts outside the range
/// of a singular Hessian, from growing without bound.
fn newton_step<O: Objective<f64>>(
    objective: &O,
    x: &[f64],
    gradient: &[f64],
    tape: &[f64],
    scratch: &mut [f64],
) -> Vec<f64> {
    let mut step = vec![0.0; x.len()];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut direction = residual.clone();
    let mut product = vec![0.0; x.len()];
    let mut square = dot(&residual, &residual);
    let enough = 1e-24 * square;
    let mut damping = None;
    // In exact arithmetic `dim` rounds suffice.
    for _ in 0..x.len().saturating_mul(3) {
        product.fill(0.0);
        objective.add_hessian_vector(x, &direction, tape, &mut product, scratch);
        let size = dot(&direction, &direction);
        let damping = *damping.get_or_insert(1e-10 * dot(&direction, &product) / size);
        add_scaled(&mut product, damping, &direction);
        let curvature = dot(&direction, &product);
        // Not above zero, or not a number: no further progress along this direction.
        if !(square > enough && curvature > 0.0) {
            break;
        }
        let length = square / curvature;
        add_scaled(&mut step, length, &direction);
        add_scaled(&mut residual, -length, &product);
        let before = square;
        square = dot(&residual, &residual);
        for (direction, residual) in direction.iter_mut().zip(&residual) {
            *direction = residual + square / before * *direction;
        }
    }
    // No curvature at all: the gradient's direction is the best guess.
    if step.iter().all(|&s| s == 0.0) {
        return gradient.iter().map(|g| -g).collect();
    }
    step
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

fn max(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |max, v| max.max(v.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Shape, synthetic};
    use crate::problems::{Logistic, Margins, SmoothSvm};

    #[test]
    fn finds_the_point_where_the_gradient_is_zero() {
        let margins = Margins::new(synthetic(Shape::A1A, 7001)).unwrap();
        let x0 = vec![0.0; margins.dim()];
        let svm = minimise(&SmoothSvm::new(margins.clone(), 0.01), &x0, 1e-9);
        assert!(svm.gradient_max <= 1e-9, "{} steps", svm.steps);
        let logistic = minimise(&Logistic::new(margins, 1.0), &x0, 1e-9);
        assert!(logistic.gradient_max <= 1e-9, "{} steps", logistic.steps);
    }

    /// Two features that always come together: f is least, 0, on a whole line.
    #[test]
    fn a_minimum_that_is_not_one_point() {
        let examples = crate::data::read_libsvm(&b"1 1:1 2:1\n-1"[..], "t").unwrap();
        let svm = SmoothSvm::new(Margins::new(examples).unwrap(), 0.0);
        let minimum = minimise(&svm, &[0.0, 0.0, 0.0], 1e-12);
        assert!(
            minimum.f < 1e-20 && minimum.gradient_max <= 1e-12,
            "{minimum:?}"
        );
    }
}
