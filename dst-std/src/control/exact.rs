//! Exact inputs of a tick: the active set in double precision, with the conditions of optimality checked.
//!
//! With the multipliers λ of the solver, the rows are computed once more as s = s⁰ − Wλ. The point is optimal if every row is within
//! its bounds, every multiplier has the sign of its side, and its row is at that bound; a multiplier at its cap may leave its row
//! beyond. The error of an input is |u − u\*| divided by half the width of its bounds, or by 1 + |u\*| if it lacks one.

use dst_core::mpc::{Controller, Tick};
use dst_core::qp::Status;

use super::active_program::ActiveProgram;

/// Steps that are always enough.
const STEPS: usize = 100_000;
/// Violation that counts as zero for the solver, in double precision.
const TOLERANCE: f64 = 1e-13;
/// Residual that counts as zero, relative to the terms of the row.
const RESIDUAL: f64 = 1e-8;

/// Exact solution of a tick.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactTick {
    /// Inputs of the first stage, block after block.
    pub inputs: Vec<f64>,
    /// Solved, or softened.
    pub status: Status,
}

/// Solver of a program in double precision.
pub struct ExactSession<'c, 'm> {
    program: &'c ActiveProgram<f64>,
    controller: Controller<'c, f64>,
    ticks: Vec<Tick<'m, f64>>,
}

/// Runs `work` with an exact solver. `None` if the program is refused.
pub fn exact_session<R>(
    program: &ActiveProgram<f64>,
    work: impl FnOnce(&mut ExactSession<'_, '_>) -> R,
) -> Option<R> {
    let controller = Controller {
        blocks: 1,
        ..program.controller(full_capacity(program), TOLERANCE)
    };
    let numbers = vec![0.0; Tick::numbers(&controller)];
    let words = vec![0; Tick::words(&controller)];
    let mut memory = vec![(numbers, words); program.blocks];
    let ticks: Result<Vec<_>, _> = memory
        .iter_mut()
        .map(|(numbers, words)| Tick::new(&controller, numbers, words))
        .collect();
    Some(work(&mut ExactSession {
        program,
        controller,
        ticks: ticks.ok()?,
    }))
}

/// Rows that a set of this program can hold at most: independent ones, those with a quadratic penalty, and one more.
pub fn full_capacity<S>(program: &ActiveProgram<S>) -> usize {
    let lifted = program.soft.len() * program.stages;
    let rows = program.kinds * program.stages;
    rows.min(program.inputs * program.stages + lifted) + 1
}

/// Largest error of inputs, in the unit of the accuracy.
pub fn input_error(program: &ActiveProgram<f64>, inputs: &[f32], exact: &[f64]) -> f64 {
    let bounds = program.lower.iter().zip(&program.upper);
    let bounds = bounds.take(program.inputs).cycle();
    let errors = inputs.iter().zip(exact).zip(bounds);
    let error = |((&u, &exact), (lower, upper)): ((&f32, &f64), (&f64, &f64))| {
        let half = 0.5 * (upper - lower);
        let unit = match half.is_finite() && half > 0.0 {
            true => half,
            false => 1.0 + exact.abs(),
        };
        (f64::from(u) - exact).abs() / unit
    };
    errors.map(error).fold(0.0, f64::max)
}

impl ExactSession<'_, '_> {
    /// Solves a tick; `None` if it has no solution, or none that passes the check.
    pub fn solve(&mut self, p: &[f32], extra: &[f32]) -> Option<ExactTick> {
        let wide = |v: &[f32]| -> Vec<f64> { v.iter().map(|&v| f64::from(v)).collect() };
        let (p, extra) = (wide(p), wide(extra));
        let controller = &self.controller;
        let width = controller.inputs * controller.stages();
        let mut exact = ExactTick {
            inputs: Vec::new(),
            status: Status::Solved,
        };
        let parts = p.chunks_exact(controller.parameters).zip(&mut self.ticks);
        for (block, (p, tick)) in parts.enumerate() {
            let extra = extra.get(block * width..(block + 1) * width);
            let extra = extra.unwrap_or_default();
            let start = free_rows(self.program, p, extra);
            let mut found = None;
            // The set of the last tick may lead astray by rounding; from a cold start nothing is left of it.
            for cold in [false, true] {
                if cold {
                    tick.reset();
                }
                let outcome = controller.tick(tick, p, extra, STEPS).ok()?;
                let known: Vec<(usize, f64)> = controller.multipliers(tick).collect();
                let rows = optimal_rows(self.program, &start, &known);
                if let Some(rows) = rows.filter(|_| outcome.status.is_solved()) {
                    let inputs = rows[..controller.inputs].to_vec();
                    found = Some((inputs, outcome.status == Status::Softened));
                    break;
                }
            }
            let Some((inputs, softened)) = found else {
                tick.reset();
                return None;
            };
            exact.inputs.extend(inputs);
            if softened {
                exact.status = Status::Softened;
            }
        }
        Some(exact)
    }

    /// Forgets the last tick.
    pub fn reset(&mut self) {
        self.ticks.iter_mut().for_each(Tick::reset);
    }
}

/// s⁰: the rows of a block without bounds.
fn free_rows(program: &ActiveProgram<f64>, p: &[f64], extra: &[f64]) -> Vec<f64> {
    let m = program.kinds * program.stages;
    let Some(data) = &program.roll_out else {
        let mut rows = vec![0.0; m];
        for (column, p) in program.response.chunks_exact(m).zip(p) {
            for (row, entry) in rows.iter_mut().zip(column) {
                *row += entry * p;
            }
        }
        return rows;
    };
    let (nx, nu) = (program.parameters, program.inputs);
    let product = |matrix: &[f64], x: &[f64]| -> Vec<f64> {
        let rows = matrix.chunks_exact(x.len().max(1));
        rows.map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum())
            .collect()
    };
    let (mut x, mut rows) = (p.to_vec(), Vec::with_capacity(m));
    for k in 0..program.stages {
        let mut u = vec![0.0; nu];
        let extra = extra.get(k * nu..(k + 1) * nu).unwrap_or_default();
        let parts = [(&data.feed, extra), (&data.feedback, &*x)];
        for (matrix, from) in parts {
            if !from.is_empty() {
                for (u, v) in u.iter_mut().zip(product(matrix, from)) {
                    *u -= v;
                }
            }
        }
        let push = product(&data.b, &u);
        x = product(&data.a, &x);
        x.iter_mut().zip(push).for_each(|(x, v)| *x += v);
        debug_assert_eq!(x.len(), nx);
        rows.extend(&u);
        if data.outputs.is_empty() && program.kinds > nu {
            rows.extend(&x);
        }
        rows.extend(product(&data.outputs, &x));
    }
    rows
}

/// s = s⁰ − Wλ, if it is optimal.
fn optimal_rows(
    program: &ActiveProgram<f64>,
    start: &[f64],
    known: &[(usize, f64)],
) -> Option<Vec<f64>> {
    let m = start.len();
    let mut rows = start.to_vec();
    let mut sizes: Vec<f64> = start.iter().map(|s| s.abs()).collect();
    let mut multipliers = vec![0.0; m];
    for &(row, value) in known {
        multipliers[row] = value;
        let gram = &program.gram[row * m..(row + 1) * m];
        for ((s, size), w) in rows.iter_mut().zip(&mut sizes).zip(gram) {
            *s -= w * value;
            *size += (w * value).abs();
        }
    }
    let optimal = |j: usize| {
        let kind = j % program.kinds;
        let (lower, upper) = (program.lower[kind], program.upper[kind]);
        let cap = program.caps.get(kind).copied().unwrap_or(f64::INFINITY);
        let (s, value) = (rows[j], multipliers[j]);
        let side = if value > 0.0 { upper } else { lower };
        let size = sizes[j] + if side.is_finite() { side.abs() } else { 0.0 };
        let rounding = RESIDUAL * size;
        let capped = value.abs() >= cap * (1.0 - RESIDUAL);
        let above = s > upper + rounding;
        let below = s < lower - rounding;
        if value.abs() > cap * (1.0 + RESIDUAL) || !s.is_finite() {
            return false;
        }
        match (above, below) {
            // Only a multiplier at its cap, on that side, leaves a row beyond its bound.
            (true, _) => capped && value > 0.0,
            (_, true) => capped && value < 0.0,
            _ => value == 0.0 || (s - side).abs() <= rounding,
        }
    };
    (0..m).all(optimal).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::plants::{axis_model, safety_filter};

    /// A wrong multiplier, a missing one and one of the wrong sign are found.
    #[test]
    fn the_check_refuses_what_is_not_optimal() {
        let program = axis_model().active_program().unwrap();
        let p = [0.9, 0.8];
        let start = free_rows(&program, &p, &[]);
        let known = exact_session(&program, |exact| {
            let controller = exact.controller;
            let tick = &mut exact.ticks[0];
            assert!(controller.tick(tick, &p, &[], STEPS).is_ok());
            controller.multipliers(tick).collect::<Vec<_>>()
        });
        let known = known.unwrap();
        assert!(known.len() > 1, "{known:?}");
        let rows = optimal_rows(&program, &start, &known).unwrap();
        assert!(rows.iter().all(|u| u.abs() <= 3.0 + 1e-9));
        assert_eq!(optimal_rows(&program, &start, &known[1..]), None);
        assert_eq!(optimal_rows(&program, &start, &[]), None);
        for factor in [-1.0, 0.999, 1.001] {
            let mut wrong = known.clone();
            wrong[0].1 *= factor;
            assert_eq!(optimal_rows(&program, &start, &wrong), None, "{factor}");
        }
        // A row that no bound holds.
        let mut extra = known.clone();
        let free = (0..start.len()).find(|j| known.iter().all(|(row, _)| row != j));
        extra.push((free.unwrap(), 1e-3));
        assert_eq!(optimal_rows(&program, &start, &extra), None);
    }

    #[test]
    fn errors_are_in_half_widths() {
        let program = safety_filter().active;
        let exact = [1.0, 0.0, 0.0, 0.0];
        let found = input_error(&program, &[1.3, 0.0, -0.6, 0.0], &exact);
        assert!((found - 0.2).abs() < 1e-6, "{found}");
        let mut free = program;
        free.upper[0] = f64::INFINITY;
        let found = input_error(&free, &[1.3, 0.0, 0.0, 0.0], &exact);
        assert!((found - 0.15).abs() < 1e-6, "{found}");
    }
}
