//! What one would do without the gradient of a stopping time, each tuned on the same pools.
//!
//! A base for R (all rows alike, Ruiz' equilibration, Jacobi) times ρ, with α; and rules that change ρ while the solver runs: OSQP's
//! residual balancing, and the bounded one of TinyMPC. A change of ρ costs a factorisation, which is not counted here.

use dst_core::Scalar;
use dst_core::mpc::{Phase, Solver};
use rayon::prelude::*;

use crate::control::{Knobset, Pool, Program, Score, Tuned, iterations};
use crate::format::short;

/// ρ·base and α, the same at every iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fixed {
    /// ρ
    pub(super) rho: f64,
    /// α
    pub(super) alpha: f64,
}

impl Fixed {
    pub(super) fn words(self) -> String {
        format!("ρ = {}, α = {}", short(self.rho), short(self.alpha))
    }
}

/// A rule that changes ρ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Balancing {
    /// ρ at first.
    pub(super) rho: f64,
    /// α
    pub(super) alpha: f64,
    /// Looked at every so many iterations.
    pub(super) interval: u32,
    /// Changed if it would by more than this factor.
    pub(super) threshold: f64,
    /// Never further from the first than this factor.
    pub(super) reach: f64,
}

/// A program in both precisions, with the bases of R.
pub(super) struct Bench<'a> {
    pub(super) program: &'a Program<f64>,
    pub(super) small: Program<f32>,
    pub(super) cap: u32,
}

/// Mean or ½ mean + ½ p99.
pub(super) type Key = fn(&Score) -> f64;

impl<'a> Bench<'a> {
    pub(super) fn new(program: &'a Program<f64>, cap: u32) -> Self {
        Self {
            program,
            small: program.cast(),
            cap,
        }
    }

    pub(super) fn tuned(&self, base: &[f64], setting: Fixed) -> Option<Tuned<f32>> {
        let weights: Vec<f64> = base.iter().map(|b| b * setting.rho).collect();
        let tuned = Tuned::constant(self.program, &weights, setting.alpha)?;
        Some(tuned.cast())
    }

    /// Counts of knobs by the gradient.
    pub(super) fn counts(&self, knobs: &Knobset, theta: &[f64], pool: &Pool<f32>) -> Vec<u32> {
        match knobs.tuned(self.program, theta) {
            Some(tuned) => iterations(&self.small, pool, tuned.cast().phases(), self.cap),
            None => vec![self.cap + 1; pool.len()],
        }
    }

    pub(super) fn fixed(&self, base: &[f64], setting: Fixed, pool: &Pool<f32>) -> Vec<u32> {
        match self.tuned(base, setting) {
            Some(tuned) => iterations(&self.small, pool, tuned.phases(), self.cap),
            None => vec![self.cap + 1; pool.len()],
        }
    }

    pub(super) fn balanced(&self, base: &[f64], rule: &Balancing, pool: &Pool<f32>) -> Vec<u32> {
        let each = |i: usize| self.balanced_one(base, rule, pool, i);
        (0..pool.len()).into_par_iter().map(each).collect()
    }

    fn balanced_one(&self, base: &[f64], rule: &Balancing, pool: &Pool<f32>, i: usize) -> u32 {
        let (program, shape) = (&self.small, self.small.shape);
        let instance = pool.instance(i);
        let Ok(solver) = Solver::new(program.qp(), instance, program.tolerance) else {
            return self.cap + 1;
        };
        let rows = shape.blocks * shape.rows();
        let (mut z, mut y, mut gu) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows]);
        let mut scratch = vec![0.0; shape.scratch()];
        let mut rho = rule.rho;
        let Some(mut tuned) = self.tuned(
            base,
            Fixed {
                rho,
                alpha: rule.alpha,
            },
        ) else {
            return self.cap + 1;
        };
        let eps = [
            f64::from(program.tolerance.primal),
            f64::from(program.tolerance.dual_of(&instance)),
        ];
        for k in 0..self.cap {
            let phase: Phase<'_, f32> = tuned.phases().at(shape, 0);
            let residual = solver.iterate(phase, &mut z, &mut y, &mut gu, &mut scratch);
            if residual.ratio() <= 1.0 {
                return k + 1;
            }
            if (k + 1) % rule.interval != 0 {
                continue;
            }
            let primal = f64::from(residual.primal) * eps[0] / largest(&gu).max(largest(&z));
            let dual = f64::from(residual.dual) * eps[1] / self.dual_size(&gu, instance.linear);
            let wanted = rho * (primal / dual).sqrt();
            if !wanted.is_finite() {
                continue;
            }
            let next = wanted.clamp(rule.rho / rule.reach, rule.rho * rule.reach);
            if next > rho * rule.threshold || next < rho / rule.threshold {
                let setting = Fixed {
                    rho: next,
                    alpha: rule.alpha,
                };
                if let Some(changed) = self.tuned(base, setting) {
                    (rho, tuned) = (next, changed);
                }
            }
        }
        self.cap + 1
    }

    /// max(‖Hu‖, ‖Gᵀy‖, ‖g‖)
    fn dual_size(&self, gu: &[f32], g: &[f32]) -> f64 {
        let shape = self.small.shape;
        let (n, m) = (shape.variables(), shape.rows());
        let mut size = largest(g);
        for (b, gu) in gu.chunks_exact(m).enumerate() {
            for (row, g) in self.small.hessian.chunks_exact(n).zip(&g[b * n..]) {
                let sum: f32 = row.iter().zip(gu).map(|(h, u)| h * u).sum();
                // Gᵀy is −(Hu + g), up to the residual.
                size = size
                    .max(f64::from(sum.abs()))
                    .max(f64::from((sum + g).abs()));
            }
        }
        size.max(1e-12)
    }
}

fn largest<S: Scalar>(values: &[S]) -> f64 {
    values
        .iter()
        .fold(0.0, |m, v| f64::max(m, v.to_f64().abs()))
}

/// The best of these settings, pool after pool: all on the first, the better ones on the next, the best few on all others.
pub(super) fn best<T: Copy + Sync>(
    settings: &[T],
    pools: &[Pool<f32>],
    cap: u32,
    key: Key,
    counts: impl Fn(&T, &Pool<f32>) -> Vec<u32>,
) -> Option<(T, Score)> {
    let mut left: Vec<T> = settings.to_vec();
    let mut result = None;
    for (round, pool) in pools.iter().enumerate() {
        let mut scored: Vec<(T, Score)> = left
            .iter()
            .map(|s| (*s, Score::of(&counts(s, pool), cap)))
            .collect();
        scored.sort_by(|a, b| key(&a.1).total_cmp(&key(&b.1)));
        let keep = if round == 0 {
            left.len().div_ceil(5)
        } else {
            3
        };
        left = scored.iter().take(keep.max(3)).map(|s| s.0).collect();
        result = scored.first().copied();
    }
    result
}

/// ρ from 10^`from` in `count` steps of a quarter of a decade, with every α.
pub(super) fn grid(from: f64, count: usize, alphas: &[f64]) -> Vec<Fixed> {
    let rho = |k: usize| libm::pow(10.0, from + k as f64 / 4.0);
    (0..count)
        .flat_map(|k| {
            alphas
                .iter()
                .map(move |&alpha| Fixed { rho: rho(k), alpha })
        })
        .collect()
}

/// Ruiz' equilibration of [[H, Gᵀ], [G, 0]]: the weights that its row scaling amounts to.
pub(super) fn ruiz(program: &Program<f64>) -> Vec<f64> {
    let (n, g) = (program.shape.variables(), program.constraint_rows());
    let m = g.len();
    let (mut d, mut e) = (vec![1.0; n], vec![1.0; m]);
    for _ in 0..10 {
        let column = |j: usize| {
            let from_h = (0..n).map(|i| (d[i] * program.hessian[i * n + j] * d[j]).abs());
            let from_g = (0..m).map(|i| (e[i] * g[i][j] * d[j]).abs());
            from_h.chain(from_g).fold(0.0, f64::max)
        };
        let row = |i: usize| {
            let entries = (0..n).map(|j| (e[i] * g[i][j] * d[j]).abs());
            entries.fold(0.0, f64::max)
        };
        let columns: Vec<f64> = (0..n).map(column).collect();
        let rows: Vec<f64> = (0..m).map(row).collect();
        d.iter_mut().zip(&columns).for_each(|(d, c)| *d /= c.sqrt());
        e.iter_mut().zip(&rows).for_each(|(e, r)| *e /= r.sqrt());
    }
    // Relative to the first row, so that ρ keeps its size.
    e.iter().map(|v| v * v / (e[0] * e[0])).collect()
}
