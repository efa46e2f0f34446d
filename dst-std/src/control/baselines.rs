//! Baselines: settings of ADMM that need no gradient of the stopping time.
//!
//! [`FixedSetting`] takes R = ρ·base with a constant α, where the base is all ones, Ruiz equilibration ([`ruiz`]) or Jacobi scaling.
//! [`Balancing`] changes ρ while the solver runs: the residual balancing of OSQP, or the bounded rule of TinyMPC. Its
//! refactorisations are not counted.

use dst_core::Scalar;
use dst_core::qp::{Phase, Solver};

use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations};
use super::tuned::Tuned;
use crate::format::short;
use crate::parallel::instances;

/// R = ρ·base and α, the same at every iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedSetting {
    /// ρ
    pub rho: f64,
    /// α
    pub alpha: f64,
}

impl FixedSetting {
    /// The setting in words.
    pub fn words(self) -> String {
        format!("ρ = {}, α = {}", short(self.rho), short(self.alpha))
    }
}

/// Rule that changes ρ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balancing {
    /// ρ at the first iteration.
    pub rho: f64,
    /// α
    pub alpha: f64,
    /// Iterations between two checks.
    pub interval: u32,
    /// Least factor by which ρ changes.
    pub threshold: f64,
    /// Largest factor between ρ and its first value.
    pub reach: f64,
}

/// A program in both precisions, on which settings are counted.
pub struct Baselines<'a> {
    /// In double precision.
    pub program: &'a Program<f64>,
    /// In the precision of the device.
    pub small: Program<f32>,
    /// Iterations allowed.
    pub cap: u32,
}

/// Value of a score that a search minimises.
pub type Key = fn(&Score) -> f64;

impl<'a> Baselines<'a> {
    /// For this program, with at most `cap` iterations per tick.
    pub fn new(program: &'a Program<f64>, cap: u32) -> Self {
        Self {
            program,
            small: program.cast(),
            cap,
        }
    }

    /// Parameters of a fixed setting; `None` if K does not exist.
    pub fn tuned(&self, base: &[f64], setting: FixedSetting) -> Option<Tuned<f32>> {
        let weights: Vec<f64> = base.iter().map(|b| b * setting.rho).collect();
        let tuned = Tuned::constant(self.program, &weights, setting.alpha)?;
        Some(tuned.cast())
    }

    /// Iterations of every tick with tuned knobs.
    pub fn counts(&self, knobs: &Knobset, theta: &[f64], pool: &Pool<f32>) -> Vec<u32> {
        match knobs.tuned(self.program, theta) {
            Some(tuned) => iterations(&self.small, pool, tuned.cast().phases(), self.cap),
            None => vec![self.cap + 1; pool.len()],
        }
    }

    /// Iterations of every tick with a fixed setting.
    pub fn fixed(&self, base: &[f64], setting: FixedSetting, pool: &Pool<f32>) -> Vec<u32> {
        match self.tuned(base, setting) {
            Some(tuned) => iterations(&self.small, pool, tuned.phases(), self.cap),
            None => vec![self.cap + 1; pool.len()],
        }
    }

    /// Iterations of every tick with a rule that changes ρ.
    pub fn balanced(&self, base: &[f64], rule: &Balancing, pool: &Pool<f32>) -> Vec<u32> {
        let each = |i: usize| self.balanced_one(base, rule, pool, i);
        instances(pool.len(), each)
    }

    fn balanced_one(&self, base: &[f64], rule: &Balancing, pool: &Pool<f32>, i: usize) -> u32 {
        let (program, shape) = (&self.small, self.small.shape);
        let instance = pool.instance(i);
        let Ok(solver) = Solver::new(program.qp(), instance, program.tolerance) else {
            return self.cap + 1;
        };
        let rows = shape.blocks * shape.rows();
        let mut z = pool.start_vector(i);
        let mut y = z.split_off(rows);
        let mut gu = vec![0.0; rows];
        let mut scratch = vec![0.0; shape.scratch()];
        let mut rho = rule.rho;
        let Some(mut tuned) = self.tuned(
            base,
            FixedSetting {
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
                let setting = FixedSetting {
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

/// The best of these settings by successive elimination: all on the first pool, the best fifth on the next, the best three on
/// all others.
pub fn best_setting<T: Copy + Sync>(
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
pub fn grid(from: f64, count: usize, alphas: &[f64]) -> Vec<FixedSetting> {
    let rho = |k: usize| libm::pow(10.0, from + k as f64 / 4.0);
    (0..count)
        .flat_map(|k| {
            alphas
                .iter()
                .map(move |&alpha| FixedSetting { rho: rho(k), alpha })
        })
        .collect()
}

/// Ruiz' equilibration of [[H, Gᵀ], [G, 0]]: the weights that its row scaling amounts to.
pub fn ruiz(program: &Program<f64>) -> Vec<f64> {
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
