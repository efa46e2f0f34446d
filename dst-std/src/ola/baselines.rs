//! Baselines of the online adaptations: first-order methods, each a rule that changes x by one gradient.
//!
//! Every iteration evaluates f and ∇f once, at the point where the rule takes its gradient (for Nesterov's methods the
//! extrapolated one).

use dst_core::Objective;

use super::rule::{NonFinite, Stepper};
use crate::first_order::{gradient_step, nesterov_step};

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const STABILITY: f64 = 1e-8;

/// An update rule. α is the learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Update {
    /// x ← x − αg
    GradientDescent,
    /// v ← βv + αg, x ← x − v
    HeavyBall { momentum: f64 },
    /// Nesterov's method with the FISTA sequence t ← (1 + √(1 + 4t²))/2.
    Nesterov,
    /// Nesterov's method for strongly convex f: constant extrapolation.
    NesterovStrong { extrapolation: f64 },
    /// s ← s + g², x ← x − αg/(√s + ε)
    Adagrad,
    /// Adam with β = (0.9, 0.999).
    Adam,
    /// Adam whose α follows the hypergradient: α ← α + rate·g_t·d_{t−1}.
    AdamHypergradient { rate: f64 },
}

/// A run of one update rule on an objective.
pub(super) struct Baseline<'o, O> {
    objective: &'o O,
    update: Update,
    alpha: f64,
    x: Vec<f64>,
    gradient: Vec<f64>,
    tape: Vec<f64>,
    scratch: Vec<f64>,
    /// Velocity, sum of squares, first moment, or the last point before extrapolation.
    first: Vec<f64>,
    /// Second moment.
    second: Vec<f64>,
    /// The last direction.
    direction: Vec<f64>,
    /// β₁^k and β₂^k; for FISTA, t first.
    powers: (f64, f64),
    f: f64,
    adaptations: usize,
    evaluations: usize,
}

impl<'o, O: Objective<f64>> Baseline<'o, O> {
    pub(super) fn new(update: Update, objective: &'o O, alpha: f64, x0: &[f64]) -> Self {
        let dim = objective.dim();
        let nesterov = matches!(update, Update::Nesterov | Update::NesterovStrong { .. });
        let mut new = Self {
            objective,
            update,
            alpha,
            x: x0.to_vec(),
            gradient: vec![0.0; dim],
            tape: vec![0.0; objective.tape_len()],
            scratch: vec![0.0; objective.scratch_len()],
            first: if nesterov {
                x0.to_vec()
            } else {
                vec![0.0; dim]
            },
            second: vec![0.0; dim],
            direction: vec![0.0; dim],
            powers: (1.0, 1.0),
            f: f64::NAN,
            adaptations: 0,
            evaluations: 0,
        };
        new.evaluate();
        new
    }

    fn evaluate(&mut self) {
        self.evaluations += 1;
        self.f = self.objective.value_gradient(
            &self.x,
            &mut self.gradient,
            &mut self.tape,
            &mut self.scratch,
        );
    }

    fn extrapolate(&mut self, momentum: f64) {
        let (last, point) = (&mut self.first, &mut self.x);
        nesterov_step(last, point, &self.gradient, self.alpha, momentum);
    }

    fn adam(&mut self) {
        self.powers = (self.powers.0 * BETA1, self.powers.1 * BETA2);
        let (correct1, correct2) = (1.0 - self.powers.0, 1.0 - self.powers.1);
        let moments = self.first.iter_mut().zip(&mut self.second);
        let points = self.x.iter_mut().zip(&mut self.direction);
        for (((m, v), (x, d)), &g) in moments.zip(points).zip(&self.gradient) {
            *m = BETA1 * *m + (1.0 - BETA1) * g;
            *v = BETA2 * *v + (1.0 - BETA2) * (g * g);
            *d = (*m / correct1) / ((*v / correct2).sqrt() + STABILITY);
            *x -= self.alpha * *d;
        }
    }
}

impl<O: Objective<f64>> Stepper for Baseline<'_, O> {
    fn step(&mut self) -> Result<(), NonFinite> {
        let alpha = self.alpha;
        match self.update {
            Update::GradientDescent => {
                gradient_step(&mut self.x, &self.gradient, alpha);
            }
            Update::HeavyBall { momentum } => {
                let state = self.x.iter_mut().zip(&mut self.first);
                for ((x, v), g) in state.zip(&self.gradient) {
                    *v = momentum * *v + alpha * g;
                    *x -= *v;
                }
            }
            Update::Nesterov => {
                let t = self.powers.0;
                let next = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
                self.powers.0 = next;
                self.extrapolate((t - 1.0) / next);
            }
            Update::NesterovStrong { extrapolation } => self.extrapolate(extrapolation),
            Update::Adagrad => {
                let state = self.x.iter_mut().zip(&mut self.first);
                for ((x, s), g) in state.zip(&self.gradient) {
                    *s += g * g;
                    *x -= alpha * g / (s.sqrt() + STABILITY);
                }
            }
            Update::Adam => self.adam(),
            Update::AdamHypergradient { rate } => {
                let directions = self.gradient.iter().zip(&self.direction);
                let slope: f64 = directions.map(|(g, d)| g * d).sum();
                self.alpha += rate * slope;
                self.adaptations += 1;
                self.adam();
            }
        }
        self.evaluate();
        let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
        if self.f.is_finite() && finite(&self.x) && finite(&self.gradient) {
            Ok(())
        } else {
            Err(NonFinite)
        }
    }
    fn value(&self) -> f64 {
        self.f
    }
    fn point(&self) -> &[f64] {
        &self.x
    }

    fn gradient_max(&self) -> f64 {
        self.gradient.iter().fold(0.0, |max, g| max.max(g.abs()))
    }
    fn alpha(&self) -> f64 {
        self.alpha
    }
    fn adaptations(&self) -> usize {
        self.adaptations
    }
    fn evaluations(&self) -> usize {
        self.evaluations
    }
}
