//! ADMM on a parametric program: settings counted at equal accuracy, and knobs tuned by the stopping time.
//!
//! The rows are [I; A]; those of I have no bounds and a small weight σ, as in OSQP. The stop test compares both residuals with a tolerance
//! that is calibrated per setting: the largest of a ladder for which all tuning instances are as accurate as asked for.

use dst_core::qp::{Phases, Shape, Solver, Tolerance};

use super::parametric::ParametricProgram;
use crate::control::baselines::{FixedSetting, grid};
use crate::control::{Knobset, Pool, Program, Tuned, TuningOptions, tune};
use crate::parallel::instances;
use crate::progress::Progress;

/// Weight of the rows without bounds, relative to the mean diagonal of P.
const SIGMA: f64 = 1e-6;
/// Tolerances of the ladder per decade, and its length.
const LADDER: (i32, i32) = (4, 48);
/// Errors this much below the accuracy end a run: the ladder needs no smaller ones.
const BEYOND: f64 = 1e-2;

/// The program as ADMM takes it, with the exact solutions.
pub(super) struct AdmmFamily<'a> {
    program: Program<f64>,
    pool: Pool<f64>,
    source: &'a ParametricProgram,
    /// u\* of every instance; none if it has no solution.
    exact: &'a [Option<Vec<f64>>],
    accuracy: f64,
    cap: u32,
}

/// Setting with its calibrated tolerance.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) tuned: Tuned<f64>,
    /// Factor on the unit tolerances; none if no tolerance of the ladder is accurate enough.
    pub(super) tolerance: Option<f64>,
}

/// Residual, relative to the unit tolerances, and error after each iteration.
type Trace = Vec<(f64, f64)>;

impl<'a> AdmmFamily<'a> {
    pub(super) fn new(
        source: &'a ParametricProgram,
        exact: &'a [Option<Vec<f64>>],
        accuracy: f64,
        cap: u32,
    ) -> Self {
        let (n, m) = (source.variables, source.rows);
        let shape = Shape {
            inputs: n,
            outputs: m,
            stages: 1,
            blocks: 1,
        };
        let columns = (0..n * m).map(|k| source.constraints[k % m * n + k / m]);
        let finite = source.lower.iter().chain(&source.upper);
        let finite: Vec<f64> = finite.copied().filter(|b| b.is_finite()).collect();
        // Residuals are compared with the size of the bounds and of q.
        let size = |values: &[f64]| {
            let sum: f64 = values.iter().map(|v| v.abs()).sum();
            (sum / values.len().max(1) as f64).max(1e-9)
        };
        let none = |value: f64| vec![value; n + m];
        let program = Program {
            shape,
            states: 0,
            hessian: source.hessian.clone(),
            outputs: columns.collect(),
            linear: Vec::new(),
            free: Vec::new(),
            lower: none(f64::NEG_INFINITY),
            upper: none(f64::INFINITY),
            tolerance: Tolerance {
                primal: size(&finite),
                dual: size(&source.linear),
                dual_relative: 0.0,
            },
        };
        let extended = |bounds: &[f64], none: f64| [&vec![none; n][..], bounds].concat();
        let pool = Pool::of_instances(
            shape,
            (0..source.len()).map(|i| {
                let instance = source.instance(i);
                [
                    instance.linear.to_vec(),
                    extended(instance.lower, f64::NEG_INFINITY),
                    extended(instance.upper, f64::INFINITY),
                ]
            }),
        );
        Self {
            program,
            pool,
            source,
            exact,
            accuracy,
            cap,
        }
    }

    /// Multiply-adds of an iteration.
    pub(super) fn operations(&self) -> usize {
        let (n, m) = (self.source.variables, self.source.rows);
        n * n + 3 * n * m + 8 * (n + m)
    }

    /// R of all rows: σ for those of I, this for those of A.
    fn weights(&self, of_rows: &[f64]) -> Vec<f64> {
        let n = self.source.variables;
        let trace: f64 = self.source.hessian.iter().step_by(n + 1).sum();
        let mut weights = vec![SIGMA * trace / n as f64; n];
        weights.extend(of_rows);
        weights
    }

    /// R = 1/diag(A·P⁻¹·Aᵀ), from 1/√ of that diagonal.
    fn jacobi(&self, scale: &[f64]) -> Vec<f64> {
        let rows: Vec<f64> = scale.iter().map(|s| s * s).collect();
        self.weights(&rows)
    }

    /// ADMM on one instance from z = y = 0 or from the last solution, until its residual is at most `stop` or it is far
    /// more accurate than asked for.
    fn trace(
        &self,
        i: usize,
        phases: Phases<'_, f64>,
        state: &mut [Vec<f64>; 2],
        stop: f64,
    ) -> Trace {
        let shape = self.program.shape;
        let mut found = Vec::new();
        let Some(exact) = &self.exact[i] else {
            return found;
        };
        let Ok(solver) = Solver::new(
            self.program.qp(),
            self.pool.instance(i),
            self.program.tolerance,
        ) else {
            return found;
        };
        let (mut rows, mut scratch) = (vec![0.0; shape.rows()], vec![0.0; shape.scratch()]);
        let [z, y] = state;
        for k in 0..self.cap {
            let phase = phases.at(shape, k as usize);
            let ratio = solver.iterate(phase, z, y, &mut rows, &mut scratch).ratio();
            let error = error_of(self.source, i, &rows[..shape.variables()], exact);
            found.push((ratio, error));
            let enough = error <= BEYOND * self.accuracy && ratio <= BEYOND * self.accuracy;
            if enough || ratio <= stop || !error.is_finite() {
                break;
            }
        }
        found
    }

    fn cold(&self) -> [Vec<f64>; 2] {
        [(); 2].map(|()| vec![0.0; self.program.shape.rows()])
    }

    fn traces(&self, tuned: &Tuned<f64>, chosen: &[usize], progress: &Progress) -> Vec<Trace> {
        instances(chosen.len(), |place| match progress.interrupted() {
            true => Trace::new(),
            false => self.trace(chosen[place], tuned.phases(), &mut self.cold(), 0.0),
        })
    }

    /// Calibrates a setting on these instances; returns it with its mean count, the cap for each unsolved instance.
    fn calibrated(
        &self,
        tuned: Tuned<f64>,
        chosen: &[usize],
        progress: &Progress,
    ) -> (Setting, f64) {
        let traces = self.traces(&tuned, chosen, progress);
        let ladder = (0..LADDER.1).map(|k| libm::pow(10.0, -f64::from(k) / f64::from(LADDER.0)));
        for tolerance in ladder {
            let stops: Vec<Option<usize>> = traces
                .iter()
                .map(|trace| {
                    let stop = trace.iter().position(|step| step.0 <= tolerance)?;
                    (trace[stop].1 <= self.accuracy).then_some(stop + 1)
                })
                .collect();
            if let Some(stops) = stops.into_iter().collect::<Option<Vec<usize>>>() {
                let mean = stops.iter().sum::<usize>() as f64 / stops.len().max(1) as f64;
                return (
                    Setting {
                        tuned,
                        tolerance: Some(tolerance),
                    },
                    mean,
                );
            }
        }
        // Not accurate everywhere: ordered by the instances that are.
        let solved = |trace: &&Trace| trace.iter().any(|step| step.1 <= self.accuracy);
        let missed = chosen.len() - traces.iter().filter(solved).count();
        let setting = Setting {
            tuned,
            tolerance: None,
        };
        (setting, f64::from(self.cap) * (1.0 + missed as f64))
    }

    /// The setting that OSQP starts with: ρ = 0.1, α = 1.6, without its adaptation of ρ.
    pub(super) fn osqp_defaults(&self, chosen: &[usize], progress: &Progress) -> Option<Setting> {
        let weights = self.weights(&vec![0.1; self.source.rows]);
        let tuned = Tuned::constant(&self.program, &weights, 1.6)?;
        Some(self.calibrated(tuned, chosen, progress).0)
    }

    /// Jacobi weights with the best (ρ, α) of a grid on the tuning instances; a few of them decide which three are tried on all.
    pub(super) fn best_of_grid(
        &self,
        scale: &[f64],
        chosen: &[usize],
        quick: bool,
        progress: &Progress,
    ) -> Option<(Setting, FixedSetting)> {
        let base = self.jacobi(scale);
        let alphas: &[f64] = if quick { &[1.6] } else { &[1.6, 1.8] };
        let settings = grid(-2.0, 13, alphas);
        let task = progress.task("grid", settings.len() + 3);
        let try_on = |setting: FixedSetting, chosen: &[usize]| {
            let weights = weights_scaled(&base, self.source.variables, setting.rho);
            let tuned = Tuned::constant(&self.program, &weights, setting.alpha)?;
            let found = self.calibrated(tuned, chosen, progress);
            task.advance(1);
            Some((setting, found))
        };
        let few = &chosen[..chosen.len().min(4)];
        let mut tried: Vec<_> = settings
            .into_iter()
            .filter_map(|s| try_on(s, few))
            .collect();
        tried.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let best = tried
            .into_iter()
            .take(3)
            .filter_map(|(s, _)| try_on(s, chosen));
        let best = best.min_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
        Some((best.1.0, best.0))
    }

    /// Knobs of all rows and α, tuned by the stopping time from a setting of the grid.
    pub(super) fn tuned(
        &self,
        scale: &[f64],
        from: (&Setting, FixedSetting),
        chosen: &[usize],
        (steps, seed): (usize, u64),
        progress: &Progress,
    ) -> Option<Setting> {
        let (start, setting) = from;
        let (n, m) = (self.source.variables, self.source.rows);
        // One knob per row of A; the rows of I keep σ.
        let mut basis = vec![0.0; (n + m) * m];
        for j in 0..m {
            basis[(n + j) * m + j] = 1.0;
        }
        let knobs = Knobset {
            base: self.jacobi(scale),
            basis,
            switches: Vec::new(),
        };
        let tolerance = start.tolerance?;
        let unit = self.program.tolerance;
        let program = Program {
            tolerance: Tolerance {
                primal: unit.primal * tolerance,
                dual: unit.dual * tolerance,
                dual_relative: 0.0,
            },
            ..self.program.clone()
        };
        let solvable: Vec<usize> = chosen
            .iter()
            .copied()
            .filter(|&i| self.exact[i].is_some())
            .collect();
        let pool = self.pool.subset(&solvable);
        let options = TuningOptions {
            steps,
            batch: 6,
            hard: 2,
            cap: self.cap,
            double: true,
            seed,
            ..TuningOptions::default()
        };
        let theta = knobs.start(setting.rho, setting.alpha);
        let found = tune(&program, &knobs, &theta, [&pool, &pool], &options, progress).ok()?;
        let tuned = knobs.tuned(&self.program, &found.theta)?;
        Some(self.calibrated(tuned, chosen, progress).0)
    }

    /// Iterations and error of each of these instances, one after the other; more than the cap if not solved.
    pub(super) fn counts(
        &self,
        setting: &Setting,
        chosen: &[usize],
        warm: bool,
        progress: &Progress,
    ) -> Vec<(u32, f64)> {
        let stop = |trace: &Trace| {
            let place = setting
                .tolerance
                .and_then(|t| trace.iter().position(|step| step.0 <= t));
            match place {
                Some(place) => (place as u32 + 1, trace[place].1),
                None => (self.cap + 1, trace.last().map_or(f64::NAN, |step| step.1)),
            }
        };
        if !warm {
            let traces = self.traces(&setting.tuned, chosen, progress);
            return traces.iter().map(stop).collect();
        }
        let mut state = self.cold();
        // A warm start is the iterate at the stop, not a better one.
        let tolerance = setting.tolerance.unwrap_or(0.0);
        chosen
            .iter()
            .filter(|_| !progress.interrupted())
            .map(|&i| stop(&self.trace(i, setting.tuned.phases(), &mut state, tolerance)))
            .collect()
    }

    /// Weights, K and the tolerances of a setting, for the exported module.
    pub(super) fn constants(&self, setting: &Setting) -> (Shape, Vec<f64>, [f64; 2]) {
        let unit = self.program.tolerance;
        let factor = setting.tolerance.unwrap_or(f64::NAN);
        (
            self.program.shape,
            self.program.outputs.clone(),
            [unit.primal * factor, unit.dual * factor],
        )
    }
}

/// σ stays; the weights of the rows of A are multiplied by ρ.
fn weights_scaled(base: &[f64], variables: usize, rho: f64) -> Vec<f64> {
    let factor = |i: usize| if i < variables { 1.0 } else { rho };
    base.iter()
        .enumerate()
        .map(|(i, w)| w * factor(i))
        .collect()
}

/// Largest error of a variable: |u − u\*| divided by half the width of its bounds, or by 1 + |u\*| if it has none.
pub(super) fn error_of(program: &ParametricProgram, i: usize, u: &[f64], exact: &[f64]) -> f64 {
    let n = program.variables;
    let instance = program.instance(i);
    let mut units: Vec<f64> = exact.iter().map(|u| 1.0 + u.abs()).collect();
    let bounds = instance.lower.iter().zip(instance.upper);
    for (row, (lower, upper)) in program.constraints.chunks_exact(n).zip(bounds) {
        let mut entries = row.iter().enumerate().filter(|(_, a)| **a != 0.0);
        if let (Some((j, a)), None) = (entries.next(), entries.next()) {
            let half = 0.5 * (upper - lower) / a.abs();
            if half > 0.0 && half.is_finite() {
                units[j] = half;
            }
        }
    }
    u.iter()
        .zip(exact)
        .zip(units)
        .fold(0.0, |worst: f64, ((u, exact), unit)| {
            let error = (u - exact).abs() / unit;
            if error.is_nan() {
                f64::INFINITY
            } else {
                worst.max(error)
            }
        })
}
