//! Rosenbrock's valley: f(x) = Σ 100(x_{i+1} − xᵢ²)² + (1 − xᵢ)², curved and not convex; its minimum is 0 at (1, …, 1).

use dst_core::Objective;

/// Rosenbrock's function of two or more variables.
#[derive(Clone, Copy, Debug)]
pub struct Rosenbrock {
    /// Number of variables.
    pub dim: usize,
}

impl Objective<f64> for Rosenbrock {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value_gradient(&self, x: &[f64], gradient: &mut [f64], _: &mut [f64], _: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        let mut f = 0.0;
        for (x, g) in x.windows(2).zip(0..) {
            let (rise, rest) = (x[1] - x[0] * x[0], 1.0 - x[0]);
            f += 100.0 * rise * rise + rest * rest;
            gradient[g] += -400.0 * x[0] * rise - 2.0 * rest;
            gradient[g + 1] += 200.0 * rise;
        }
        f
    }

    fn add_hessian_vector(&self, x: &[f64], v: &[f64], _: &[f64], out: &mut [f64], _: &mut [f64]) {
        for (i, (x, v)) in x.windows(2).zip(v.windows(2)).enumerate() {
            let beside = -400.0 * x[0];
            let first = 1200.0 * x[0] * x[0] - 400.0 * x[1] + 2.0;
            out[i] += first * v[0] + beside * v[1];
            out[i + 1] += beside * v[0] + 200.0 * v[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::differences;
    use super::*;

    #[test]
    fn known_values() {
        let mut g = [f64::NAN; 2];
        let mut value = |x: [f64; 2]| {
            (
                Rosenbrock { dim: 2 }.value_gradient(&x, &mut g, &mut [], &mut []),
                g,
            )
        };
        assert_eq!(value([1.0, 1.0]), (0.0, [0.0, 0.0]));
        assert_eq!(value([0.0, 0.0]), (1.0, [-2.0, 0.0]));
        let (f, g) = value([-1.2, 1.0]);
        assert!((f - 24.2).abs() < 1e-12, "{f}");
        assert!(
            (g[0] + 215.6).abs() < 1e-10 && (g[1] + 88.0).abs() < 1e-10,
            "{g:?}"
        );
    }

    #[test]
    fn derivatives() {
        differences::check(&Rosenbrock { dim: 4 }, &[-1.2, 1.0, 0.3, 0.7]);
    }
}
