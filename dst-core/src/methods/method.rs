//! System built from an update written for one variable.
//!
//! Let c = c(θ, t) be the coefficients shared by all variables, zᵢ the state blocks and gᵢ the gradient of variable i; then A =
//! a(c, zᵢ, gᵢ). Its transpose turns a seed ā into z̄ᵢ, ḡᵢ and c̄: from K = B + 1 + C dual directions, or by the update's own
//! formula. Then x̄ += f̄·g + ∇²f·ḡ, with a single Hessian-vector product that already includes the seed of the criterion, and
//! θ̄ += (∂c/∂θ)ᵀc̄.

use crate::error::Error;
use crate::scalar::Scalar;
use crate::slices::{add_scaled, copy, dot, split, split_mut};
use crate::system::dual::Dual;
use crate::system::objective::{Objective, Optimality};
use crate::system::{Arithmetic, Number};
use crate::system::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};

/// Update of one variable, with `B` state blocks and `C` coefficients.
pub trait Update<S: Scalar, const B: usize, const C: usize> {
    /// True if the criterion uses the step of the first block instead of ∇f: for methods that end where ∇f does not vanish.
    const PROJECTED: bool = false;

    /// Number of parameters θ.
    fn params(&self) -> usize;

    /// Checks the numbers of the update for this many variables. Called once, when a run starts.
    fn check(&self, dim: usize) -> Result<(), Error> {
        let _ = dim;
        Ok(())
    }

    /// c(θ, t); `theta(j)` is parameter j.
    fn coefficients<A: Arithmetic<Scalar = S>>(
        &self,
        theta: impl Fn(usize) -> Number<A>,
        t: S,
    ) -> [Number<A>; C];

    /// The rate A of variable `i`.
    fn rate<A: Arithmetic<Scalar = S>>(
        &self,
        i: usize,
        coefficients: &[Number<A>; C],
        state: &[Number<A>; B],
        gradient: Number<A>,
    ) -> [Number<A>; B];

    /// The derivatives of Σ seed_b·A_b of variable `i`. By default from `K` = `B` + 1 + `C` dual directions of
    /// [`rate`](Self::rate); a formula written by hand takes about half as many instructions, and can be held against
    /// [`transpose_by_duals`].
    #[inline(always)]
    fn transpose<const K: usize>(
        &self,
        i: usize,
        coefficients: &[S; C],
        state: &[S; B],
        gradient: S,
        seed: &[S; B],
    ) -> Transposed<S, B, C> {
        transpose_by_duals::<S, Self, B, C, K>(self, i, coefficients, state, gradient, seed)
    }
}

/// Derivatives of an update, times a seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transposed<S, const B: usize, const C: usize> {
    /// With respect to the state blocks of the variable. A block without influence has −0, which no sum sees: the compiler
    /// leaves the addition out.
    pub state: [S; B],
    /// With respect to the gradient of the variable.
    pub gradient: S,
    /// With respect to the coefficients.
    pub coefficients: [S; C],
}

/// [`Update::transpose`] as its default computes it.
#[inline(always)]
pub fn transpose_by_duals<S, U, const B: usize, const C: usize, const K: usize>(
    update: &U,
    i: usize,
    coefficients: &[S; C],
    state: &[S; B],
    gradient: S,
    seed: &[S; B],
) -> Transposed<S, B, C>
where
    S: Scalar,
    U: Update<S, B, C> + ?Sized,
{
    const { assert!(K == B + 1 + C, "K must be B + 1 + C") };
    let variable = |value, direction| Number(Dual::<S, K>::variable(value, direction));
    let z = core::array::from_fn(|b| variable(at(state, b), b));
    let c = core::array::from_fn(|j| variable(at(coefficients, j), B + 1 + j));
    let rate = update.rate(i, &c, &z, variable(gradient, B));
    let mut slopes = [S::ZERO; K];
    for (a, &seed) in rate.iter().zip(seed) {
        add_scaled(&mut slopes, seed, &a.0.slope);
    }
    Transposed {
        state: core::array::from_fn(|b| at(&slopes, b)),
        gradient: at(&slopes, B),
        coefficients: core::array::from_fn(|j| at(&slopes, B + 1 + j)),
    }
}

/// System of an [`Update`] on an objective; `K` must be `B + 1 + C`.
#[derive(Clone, Copy, Debug)]
pub struct Method<O, U, const B: usize, const C: usize, const K: usize> {
    /// f
    pub objective: O,
    /// Update of one variable.
    pub update: U,
    /// J
    pub criterion: Optimality,
}

impl<O, U, const B: usize, const C: usize, const K: usize> Method<O, U, B, C, K> {
    const DIRECTIONS: () = assert!(K == B + 1 + C, "K must be B + 1 + C");

    /// System on this objective, with the squared residual as criterion.
    pub const fn with_update(objective: O, update: U) -> Self {
        const { Self::DIRECTIONS };
        Self {
            objective,
            update,
            criterion: Optimality::ResidualSquared,
        }
    }

    /// The same system with another criterion.
    pub fn stop_on(self, criterion: Optimality) -> Self {
        Self { criterion, ..self }
    }
}

/// Block number `b` of a vector of blocks of length `dim`.
#[inline(always)]
fn block<S>(v: &[S], b: usize, dim: usize) -> &[S] {
    v.chunks_exact(dim.max(1)).nth(b).unwrap_or_default()
}

#[inline(always)]
fn at<S: Scalar>(v: &[S], i: usize) -> S {
    v.get(i).copied().unwrap_or(S::ZERO)
}

#[inline(always)]
fn add_at<S: Scalar>(v: &mut [S], i: usize, value: S) {
    if let Some(entry) = v.get_mut(i) {
        *entry += value;
    }
}

/// The tape: ∇f, then the projected step if the criterion uses it, then the tape of the objective.
struct Tape<T> {
    gradient: T,
    step: T,
    objective: T,
}

impl<O, U, const B: usize, const C: usize, const K: usize> Method<O, U, B, C, K> {
    fn step_len<S: Scalar>(&self, dim: usize) -> usize
    where
        U: Update<S, B, C>,
    {
        if U::PROJECTED { dim } else { 0 }
    }

    fn tape<'t, S: Scalar>(&self, tape: &'t [S], dim: usize) -> Tape<&'t [S]>
    where
        U: Update<S, B, C>,
    {
        let (gradient, rest) = split(tape, dim);
        let (step, objective) = split(rest, self.step_len(dim));
        Tape {
            gradient,
            step,
            objective,
        }
    }
}

/// The blocks of a vector, as long as the gradient. With the lengths equal, a loop over them checks nothing.
#[inline(always)]
fn blocks<S, const B: usize>(mut rest: &[S], dim: usize) -> Option<[&[S]; B]> {
    let mut blocks = [&[][..]; B];
    for block in &mut blocks {
        (*block, rest) = rest.split_at_checked(dim)?;
    }
    Some(blocks)
}

/// Mutable version of [`blocks`].
#[inline(always)]
fn blocks_mut<S, const B: usize>(mut rest: &mut [S], dim: usize) -> Option<[&mut [S]; B]> {
    let mut blocks = [const { None }; B];
    for block in &mut blocks {
        let (head, tail) = rest.split_at_mut_checked(dim)?;
        (*block, rest) = (Some(head), tail);
    }
    Some(blocks.map(Option::unwrap_or_default))
}

/// A step that is pulled back: its state and gradient, the seed of the rate, and that of the step where the criterion uses it.
struct Pulled<'a, S> {
    x: &'a [S],
    gradient: &'a [S],
    seed: &'a [S],
    step_bar: Option<&'a [S]>,
}

impl<O, U, const B: usize, const C: usize, const K: usize> Method<O, U, B, C, K> {
    /// Adds the transposes of all variables to the bars of their states, writes those of their gradients, and returns c̄.
    #[inline(always)]
    fn pull_variables<S: Scalar>(
        &self,
        c: &[S; C],
        at_step: &Pulled<'_, S>,
        (x_bar, gradient_bar): (&mut [S], &mut [S]),
    ) -> [S; C]
    where
        U: Update<S, B, C>,
    {
        let mut c_bar = [S::ZERO; C];
        let &Pulled {
            x,
            gradient,
            seed,
            step_bar,
        } = at_step;
        let dim = gradient.len();
        let (Some(x), Some(seed), Some(mut x_bar), Some((gradient_bar, _))) = (
            blocks::<S, B>(x, dim),
            blocks::<S, B>(seed, dim),
            blocks_mut::<S, B>(x_bar, dim),
            gradient_bar.split_at_mut_checked(dim),
        ) else {
            return c_bar;
        };
        if let ([x], [seed], [x_bar], None) = (&x[..], &seed[..], &mut x_bar[..], step_bar) {
            // With a single block, by iterators: the loop checks nothing and is vectorised.
            let read = x.iter().zip(*seed).zip(gradient);
            let bars = x_bar.iter_mut().zip(gradient_bar);
            for (i, (((&x, &seed), &g), (x_bar, g_bar))) in read.zip(bars).enumerate() {
                let (z, a_bar) = ([x; B], [seed; B]);
                let of = self.update.transpose::<K>(i, c, &z, g, &a_bar);
                for bar in of.state {
                    *x_bar += bar;
                }
                *g_bar = of.gradient;
                for (c_bar, bar) in c_bar.iter_mut().zip(of.coefficients) {
                    *c_bar += bar;
                }
            }
            return c_bar;
        }
        // By index: zipped iterators of several blocks leave a check of it in the loop.
        for i in 0..dim {
            let mut a_bar = seed.map(|block| at(block, i));
            if let (Some(step_bar), Some(first)) = (step_bar, a_bar.first_mut()) {
                *first += at(step_bar, i);
            }
            let z = x.map(|block| at(block, i));
            let bars = self
                .update
                .transpose::<K>(i, c, &z, at(gradient, i), &a_bar);
            for (block, bar) in x_bar.iter_mut().zip(bars.state) {
                add_at(block, i, bar);
            }
            if let Some(bar) = gradient_bar.get_mut(i) {
                *bar = bars.gradient;
            }
            for (c_bar, bar) in c_bar.iter_mut().zip(bars.coefficients) {
                *c_bar += bar;
            }
        }
        c_bar
    }
}

impl<S, O, U, const B: usize, const C: usize, const K: usize> System<S> for Method<O, U, B, C, K>
where
    S: Scalar,
    O: Objective<S>,
    U: Update<S, B, C>,
{
    fn dims(&self) -> Dims {
        let dim = self.objective.dim();
        let tape = dim + self.step_len(dim) + self.objective.tape_len();
        Dims::new(B * dim, self.update.params())
            .with_tape(tape)
            .with_scratch(2 * dim + self.objective.scratch_len())
    }

    fn check(&self, _: bool) -> Result<(), Error> {
        self.update.check(self.objective.dim())
    }

    fn rate(
        &self,
        p: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let dim = self.objective.dim();
        let (gradient, rest) = split_mut(tape, dim);
        let (step, objective_tape) = split_mut(rest, self.step_len(dim));
        let f =
            self.objective
                .value_gradient(block(p.x, 0, dim), gradient, objective_tape, scratch);
        let c = self
            .update
            .coefficients(|j| Number::plain(at(p.theta, j)), p.t);
        let blocks: [&[S]; B] = core::array::from_fn(|b| block(p.x, b, dim));
        for (i, &g) in gradient.iter().enumerate() {
            let z = blocks.map(|block| Number::plain(at(block, i)));
            let a = self.update.rate(i, &c, &z, Number::plain(g));
            for (b, a) in a.into_iter().enumerate() {
                if let Some(entry) = rate.get_mut(b * dim + i) {
                    *entry = a.value();
                }
            }
        }
        let residual = if U::PROJECTED {
            copy(step, rate);
            &*step
        } else {
            &*gradient
        };
        Reading {
            criterion: self.criterion.value(f, residual),
            loss: f,
        }
    }

    fn pullback(
        &self,
        p: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        let dim = self.objective.dim();
        let Tape {
            gradient,
            step,
            objective,
        } = self.tape(tape, dim);
        let (gradient_bar, rest) = split_mut(scratch, dim);
        let (step_bar, objective_scratch) = split_mut(rest, dim);
        let criterion = seed.criterion != S::ZERO;
        let mut f_bar = seed.loss;
        if U::PROJECTED && criterion {
            step_bar.fill(S::ZERO);
            f_bar += self.criterion.pull(step, seed.criterion, step_bar);
        }
        let c = self
            .update
            .coefficients(|j| Number::plain(at(p.theta, j)), p.t)
            .map(Number::value);
        let step_bar = (U::PROJECTED && criterion).then_some(&*step_bar);
        let c_bar = self.pull_variables(
            &c,
            &Pulled {
                x: p.x,
                gradient,
                seed: seed.rate,
                step_bar,
            },
            (&mut *bar.x, &mut *gradient_bar),
        );
        if criterion && !U::PROJECTED {
            f_bar += self.criterion.pull(gradient, seed.criterion, gradient_bar);
        }
        for (j, theta_bar) in bar.theta.iter_mut().enumerate() {
            let variable = |k| {
                Number(Dual::<S, 1>::variable(
                    at(p.theta, k),
                    if k == j { 0 } else { 1 },
                ))
            };
            for (c_bar, c) in c_bar.iter().zip(self.update.coefficients(variable, p.t)) {
                let [slope] = c.0.slope;
                *theta_bar += *c_bar * slope;
            }
        }
        let (x_bar, _) = split_mut(bar.x, dim);
        if f_bar != S::ZERO {
            add_scaled(x_bar, f_bar, gradient);
        }
        self.objective.add_hessian_vector(
            block(p.x, 0, dim),
            gradient_bar,
            objective,
            x_bar,
            objective_scratch,
        );
    }

    fn pushforward(
        &self,
        p: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let dim = self.objective.dim();
        let Tape {
            gradient,
            step,
            objective,
        } = self.tape(tape, dim);
        let (dg, rest) = split_mut(scratch, dim);
        let (_, objective_scratch) = split_mut(rest, dim);
        let dx = block(along.x, 0, dim);
        dg.fill(S::ZERO);
        self.objective
            .add_hessian_vector(block(p.x, 0, dim), dx, objective, dg, objective_scratch);
        let dual = |value: S, slope: S| {
            Number(Dual {
                value,
                slope: [slope],
            })
        };
        let theta = |j| dual(at(p.theta, j), at(along.theta, j));
        let c = self.update.coefficients(theta, p.t);
        for (i, (&g, &dg)) in gradient.iter().zip(dg.iter()).enumerate() {
            let z = core::array::from_fn(|b| dual(at(p.x, b * dim + i), at(along.x, b * dim + i)));
            let a = self.update.rate(i, &c, &z, dual(g, dg));
            for (b, a) in a.into_iter().enumerate() {
                let [slope] = a.0.slope;
                if let Some(entry) = rate.get_mut(b * dim + i) {
                    *entry = slope;
                }
            }
        }
        let df = dot(gradient, dx);
        let (residual, d_residual) = if U::PROJECTED {
            (step, block(rate, 0, dim))
        } else {
            (gradient, &*dg)
        };
        Reading {
            criterion: self.criterion.push(residual, df, d_residual),
            loss: df,
        }
    }

    fn fault(&self, p: Point<'_, S>) -> Option<Error> {
        self.objective.fault(block(p.x, 0, self.objective.dim()))
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: Some(2),
        }
    }
}
