//! Diagonally preconditioned gradient flow: Aᵢ = θᵢ·∇f(x)ᵢ, one parameter per variable.

use crate::error::Error;
use crate::scalar::Scalar;
use crate::slices::{add_scaled, dot, split, split_mut};
use crate::system::objective::{Objective, Optimality};
use crate::system::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};

/// Gradient descent with one step size per variable.
#[derive(Clone, Copy, Debug)]
pub struct Preconditioned<O> {
    /// f
    pub objective: O,
    /// J
    pub criterion: Optimality,
}

impl<O> Preconditioned<O> {
    /// Method on this objective, with the squared gradient norm as criterion.
    pub const fn new(objective: O) -> Self {
        Self {
            objective,
            criterion: Optimality::ResidualSquared,
        }
    }

    /// The same method with another criterion.
    pub fn stop_on(self, criterion: Optimality) -> Self {
        Self { criterion, ..self }
    }
}

impl<S: Scalar, O: Objective<S>> System<S> for Preconditioned<O> {
    fn dims(&self) -> Dims {
        let dim = self.objective.dim();
        Dims::new(dim, dim)
            .with_tape(dim + self.objective.tape_len())
            .with_scratch(dim + self.objective.scratch_len())
    }

    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let (gradient, objective_tape) = split_mut(tape, at.x.len());
        let f = self
            .objective
            .value_gradient(at.x, gradient, objective_tape, scratch);
        for ((rate, &theta), &g) in rate.iter_mut().zip(at.theta).zip(gradient.iter()) {
            *rate = theta * g;
        }
        Reading {
            criterion: self.criterion.value(f, gradient),
            loss: f,
        }
    }

    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        let (gradient, objective_tape) = split(tape, at.x.len());
        let (gradient_bar, objective_scratch) = split_mut(scratch, at.x.len());
        for ((bar, &theta), &a) in gradient_bar.iter_mut().zip(at.theta).zip(seed.rate) {
            *bar = theta * a;
        }
        for ((bar, &g), &a) in bar.theta.iter_mut().zip(gradient).zip(seed.rate) {
            *bar += g * a;
        }
        let mut f_bar = seed.loss;
        if seed.criterion != S::ZERO {
            f_bar += self.criterion.pull(gradient, seed.criterion, gradient_bar);
        }
        if f_bar != S::ZERO {
            add_scaled(bar.x, f_bar, gradient);
        }
        self.objective.add_hessian_vector(
            at.x,
            gradient_bar,
            objective_tape,
            bar.x,
            objective_scratch,
        );
    }

    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let (gradient, objective_tape) = split(tape, at.x.len());
        let (dg, objective_scratch) = split_mut(scratch, at.x.len());
        dg.fill(S::ZERO);
        self.objective
            .add_hessian_vector(at.x, along.x, objective_tape, dg, objective_scratch);
        let products = at
            .theta
            .iter()
            .zip(along.theta)
            .zip(gradient.iter().zip(dg.iter()));
        for (rate, ((&theta, &d_theta), (&g, &dg))) in rate.iter_mut().zip(products) {
            *rate = d_theta * g + theta * dg;
        }
        let df = dot(gradient, along.x);
        Reading {
            criterion: self.criterion.push(gradient, df, dg),
            loss: df,
        }
    }

    fn fault(&self, at: Point<'_, S>) -> Option<Error> {
        self.objective.fault(at.x)
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: Some(2),
        }
    }
}
