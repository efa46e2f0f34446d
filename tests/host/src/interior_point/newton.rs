//! Primal–dual interior-point method.
//!
//! A side σa·u ≤ σb has a multiplier z ≥ 0 and a slack t ≥ 0. With a quadratic penalty its bound moves by z/ρ, with a cap c
//! it has w = c − z ≥ 0 and a violation v ≥ 0:
//!
//! Pu + q + Σσaz = 0, σa·u − σb − z/ρ − v + t = 0, zt = μ, wv = μ.
//!
//! A Newton step eliminates all but u: (P + Σaaᵀ/κ)·du = …, κ = 1/ρ + v/w + t/z. κ is kept above a small number, which is a
//! proximal term of the multiplier; an equality has only this.

use super::factor::Cholesky;
use super::scaled::Scaled;
use crate::programs::dot;

/// Proximal term.
const DELTA: f64 = 1e-8;
const ITERATIONS: usize = 80;

/// Point inside the bounds.
pub(super) struct Interior {
    pub(super) u: Vec<f64>,
    pub(super) sides: Vec<Side>,
    /// Equalities and their multipliers.
    pub(super) equalities: Vec<(usize, f64)>,
}

pub(super) struct Side {
    pub(super) row: usize,
    pub(super) sigma: f64,
    bound: f64,
    softness: f64,
    pub(super) z: f64,
    pub(super) t: f64,
    /// (w, v), if the multiplier is capped.
    pub(super) capped: Option<(f64, f64)>,
}

/// Right-hand sides of a side, and its direction.
#[derive(Clone, Copy, Default)]
struct Step {
    balance: f64,
    zt: f64,
    wv: f64,
    dz: f64,
    dt: f64,
    dv: f64,
}

impl Side {
    fn kappa(&self) -> f64 {
        let capped = self.capped.map_or(0.0, |(w, v)| v / w);
        (self.softness + capped + self.t / self.z).max(DELTA)
    }
    fn violation(&self) -> f64 {
        self.capped.map_or(0.0, |(_, v)| v)
    }
    /// Right-hand side after the slack and the violation are eliminated.
    fn reduced(&self, step: &Step) -> f64 {
        let capped = self.capped.map_or(0.0, |(w, _)| step.wv / w);
        step.balance + capped - step.zt / self.z
    }
    fn direction(&self, step: &mut Step, product: f64) {
        step.dz = (self.sigma * product - self.reduced(step)) / self.kappa();
        step.dt = (step.zt - self.t * step.dz) / self.z;
        step.dv = self
            .capped
            .map_or(0.0, |(w, v)| (step.wv + v * step.dz) / w);
    }
    /// Σ of zt and wv after a step, and their number.
    fn gap(&self, step: &Step, length: f64) -> (f64, f64) {
        let zt = (self.z + length * step.dz) * (self.t + length * step.dt);
        match self.capped {
            None => (zt, 1.0),
            Some((w, v)) => (zt + (w - length * step.dz) * (v + length * step.dv), 2.0),
        }
    }
    /// Longest step that keeps all positive.
    fn reach(&self, step: &Step) -> f64 {
        let until = |x: f64, dx: f64| if dx < 0.0 { -x / dx } else { f64::INFINITY };
        let own = until(self.z, step.dz).min(until(self.t, step.dt));
        match self.capped {
            None => own,
            Some((w, v)) => own.min(until(w, -step.dz)).min(until(v, step.dv)),
        }
    }
}

/// Approaches the solution until the gap is small or no longer falls.
pub(super) fn solve(program: &Scaled) -> Interior {
    let mut point = start(program);
    for _ in 0..ITERATIONS {
        if !point.advance(program) {
            break;
        }
    }
    point
}

fn start(program: &Scaled) -> Interior {
    let size = program.linear.iter().fold(0.1_f64, |m, q| m.max(q.abs()));
    let (mut sides, mut equalities) = (Vec::new(), Vec::new());
    for (j, row) in program.rows.iter().enumerate() {
        if row.is_equality() {
            equalities.push((j, 0.0));
            continue;
        }
        for (sigma, bound) in [(1.0, row.upper), (-1.0, row.lower)] {
            if bound.is_finite() {
                let z = size.min(0.5 * row.cap);
                let capped = row.cap.is_finite().then_some((row.cap - z, 1.0));
                sides.push(Side {
                    row: j,
                    sigma,
                    bound,
                    softness: row.softness,
                    z,
                    t: bound.abs().max(1.0),
                    capped,
                });
            }
        }
    }
    Interior {
        u: vec![0.0; program.n],
        sides,
        equalities,
    }
}

impl Interior {
    /// Takes one step. Returns false when there is nothing more to gain.
    fn advance(&mut self, program: &Scaled) -> bool {
        let n = program.n;
        let lines = program.hessian.chunks(n).zip(&program.linear);
        let mut gradient: Vec<f64> = lines.map(|(row, q)| -dot(row, &self.u) - q).collect();
        let subtract = |gradient: &mut [f64], a: &[f64], l: f64| {
            gradient.iter_mut().zip(a).for_each(|(g, a)| *g -= l * a);
        };
        let mut matrix = program.hessian.clone();
        let mut weights = vec![0.0; program.rows.len()];
        let mut steps = vec![Step::default(); self.sides.len()];
        let (mut sum, mut count, mut residual) = (0.0, 0.0, 0.0_f64);
        for (side, step) in self.sides.iter().zip(&mut steps) {
            let a = &program.rows[side.row].a;
            step.balance = side.sigma * (side.bound - dot(a, &self.u))
                + side.z * side.softness
                + side.violation()
                - side.t;
            residual = residual.max(step.balance.abs());
            subtract(&mut gradient, a, side.sigma * side.z);
            weights[side.row] += 1.0 / side.kappa();
            let (gap, terms) = side.gap(&Step::default(), 0.0);
            (sum, count) = (sum + gap, count + terms);
        }
        let mut misses = Vec::new();
        for &(j, l) in &self.equalities {
            let row = &program.rows[j];
            let miss = row.upper - dot(&row.a, &self.u);
            residual = residual.max(miss.abs());
            misses.push(miss);
            subtract(&mut gradient, &row.a, l);
            weights[j] = 1.0 / DELTA;
        }
        residual = gradient.iter().fold(residual, |m, g| m.max(g.abs()));
        let mu = sum / f64::max(count, 1.0);
        if mu < 1e-13 && residual < 1e-10 {
            return false;
        }
        for (row, &weight) in program.rows.iter().zip(&weights) {
            add_outer(&mut matrix, &row.a, weight);
        }
        let Some(factor) = Cholesky::new(&matrix, n) else {
            return false;
        };
        let newton = |steps: &mut [Step]| {
            let mut du = gradient.clone();
            for (side, step) in self.sides.iter().zip(&*steps) {
                let pull = side.sigma * side.reduced(step) / side.kappa();
                subtract(&mut du, &program.rows[side.row].a, -pull);
            }
            for (&(j, _), miss) in self.equalities.iter().zip(&misses) {
                subtract(&mut du, &program.rows[j].a, -miss / DELTA);
            }
            factor.solve(&mut du);
            for (side, step) in self.sides.iter().zip(steps) {
                side.direction(step, dot(&program.rows[side.row].a, &du));
            }
            du
        };
        // Predictor: straight to the solution.
        for (side, step) in self.sides.iter().zip(&mut steps) {
            step.zt = -side.z * side.t;
            step.wv = side.capped.map_or(0.0, |(w, v)| -w * v);
        }
        newton(&mut steps);
        let length = self.reach(&steps).min(1.0);
        let pairs = self.sides.iter().zip(&steps);
        let after: f64 = pairs.map(|(side, step)| side.gap(step, length).0).sum();
        // Corrector: towards the centre, with the second-order terms of the predictor.
        let target = mu * (after / sum.max(1e-300)).clamp(0.0, 1.0).powi(3);
        for step in &mut steps {
            step.zt += target - step.dz * step.dt;
            step.wv += target + step.dz * step.dv;
        }
        let du = newton(&mut steps);
        let length = (0.995 * self.reach(&steps)).min(1.0);
        if !length.is_finite() || du.iter().any(|d| !d.is_finite()) {
            return false;
        }
        let moved = du.iter().map(|&d| length * d);
        self.u.iter_mut().zip(moved).for_each(|(u, d)| *u += d);
        for ((j, l), miss) in self.equalities.iter_mut().zip(&misses) {
            *l += length * (dot(&program.rows[*j].a, &du) - miss) / DELTA;
        }
        for (side, step) in self.sides.iter_mut().zip(&steps) {
            side.z += length * step.dz;
            side.t += length * step.dt;
            side.capped = side
                .capped
                .map(|(w, v)| (w - length * step.dz, v + length * step.dv));
        }
        length > 1e-10
    }

    fn reach(&self, steps: &[Step]) -> f64 {
        let pairs = self.sides.iter().zip(steps);
        pairs.fold(f64::INFINITY, |m, (side, step)| m.min(side.reach(step)))
    }
}

/// M ← M + weight·aaᵀ
fn add_outer(matrix: &mut [f64], a: &[f64], weight: f64) {
    for (row, ai) in matrix.chunks_mut(a.len()).zip(a) {
        let factor = weight * ai;
        if factor != 0.0 {
            row.iter_mut().zip(a).for_each(|(m, a)| *m += factor * a);
        }
    }
}
