//! Program scaled by powers of two: rows of norm about 1, P with a diagonal of at most about 1.

use super::double::{Double, dot};
use crate::programs::Program;

#[derive(Clone)]
pub(super) struct Scaled {
    pub(super) n: usize,
    pub(super) hessian: Vec<f64>,
    pub(super) linear: Vec<f64>,
    pub(super) rows: Vec<Row>,
    /// Factor of the objective.
    pub(super) weight: f64,
}

#[derive(Clone)]
pub(super) struct Row {
    pub(super) a: Vec<f64>,
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) cap: f64,
    pub(super) softness: f64,
    /// Factor of the row.
    pub(super) factor: f64,
}

/// Nearest power of two to 1/x.
fn power(x: f64) -> f64 {
    2_f64.powi(-(x.log2().round() as i32))
}

impl Scaled {
    pub(super) fn new(program: &Program) -> Self {
        let n = program.variables();
        let largest = (0..n).fold(0.0_f64, |m, i| m.max(program.hessian[i * n + i]));
        let weight = power(largest);
        let rows = (0..program.count())
            .map(|j| {
                let a = program.row(j);
                let factor = power(a.iter().map(|a| a * a).sum::<f64>().sqrt());
                Row {
                    a: a.iter().map(|a| a * factor).collect(),
                    lower: program.lower[j] * factor,
                    upper: program.upper[j] * factor,
                    cap: program.caps[j] * weight / factor,
                    softness: program.softness[j] * factor * factor / weight,
                    factor,
                }
            })
            .collect();
        Self {
            n,
            hessian: program.hessian.iter().map(|p| p * weight).collect(),
            linear: program.linear.iter().map(|q| q * weight).collect(),
            rows,
            weight,
        }
    }

    /// Returns Pu + q + Aᵀλ.
    pub(super) fn gradient(&self, u: &[Double], lambda: &[Double]) -> Vec<Double> {
        let lines = self.hessian.chunks(self.n).zip(&self.linear);
        let mut sum: Vec<Double> = lines.map(|(row, &q)| dot(row, u).add(q)).collect();
        for (row, l) in self.rows.iter().zip(lambda) {
            if l.hi != 0.0 {
                for (sum, &a) in sum.iter_mut().zip(&row.a) {
                    if a != 0.0 {
                        *sum = sum.plus(l.times(a));
                    }
                }
            }
        }
        sum
    }

    /// Returns Au.
    pub(super) fn products(&self, u: &[Double]) -> Vec<Double> {
        self.rows.iter().map(|row| dot(&row.a, u)).collect()
    }
}

impl Row {
    /// True for a hard row with l = h.
    pub(super) fn is_equality(&self) -> bool {
        self.lower == self.upper && self.cap.is_infinite() && self.softness == 0.0
    }
}
