//! Conditions of optimality, checked by their definition in `f64`, independently of the solver.

use super::parametric::ParametricProgram;

/// Distances from optimality, each relative to the size of the terms that are added in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KktResiduals {
    /// Largest violation of a bound.
    pub primal: f64,
    /// Largest entry of Pu + q + Aᵀλ.
    pub dual: f64,
    /// Largest distance from its bound of a row with a multiplier; infinite if a multiplier belongs to no bound.
    pub gap: f64,
}

impl KktResiduals {
    /// Residuals of u and λ for instance `i`.
    pub fn of(program: &ParametricProgram, i: usize, u: &[f64], multipliers: &[f64]) -> Self {
        let n = program.variables;
        let instance = program.instance(i);
        let mut found = Self {
            primal: 0.0,
            dual: 0.0,
            gap: 0.0,
        };
        let mut slopes: Vec<f64> = instance.linear.to_vec();
        let mut size = 1.0 + largest(instance.linear);
        for (slope, row) in slopes.iter_mut().zip(program.hessian.chunks_exact(n)) {
            let term = dot(row, u);
            *slope += term;
            size = size.max(term.abs());
        }
        let bounds = instance.lower.iter().zip(instance.upper);
        for ((row, (&lower, &upper)), &multiplier) in program
            .constraints
            .chunks_exact(n)
            .zip(bounds)
            .zip(multipliers)
        {
            for (slope, &a) in slopes.iter_mut().zip(row) {
                *slope += a * multiplier;
                size = size.max((a * multiplier).abs());
            }
            let value = dot(row, u);
            let scale = 1.0 + value.abs();
            found.primal = found.primal.max((value - upper).max(lower - value) / scale);
            if multiplier != 0.0 {
                let bound = if multiplier > 0.0 { upper } else { lower };
                found.gap = found.gap.max((value - bound).abs() / scale);
            }
        }
        // A NaN must not pass as a solution.
        found.dual = slopes.iter().fold(0.0, |m: f64, s| {
            if s.is_nan() {
                f64::INFINITY
            } else {
                m.max(s.abs())
            }
        }) / size;
        found
    }

    /// The largest of them.
    pub fn largest(&self) -> f64 {
        self.primal.max(self.dual).max(self.gap)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
}
