//! A learned optimiser on one problem, as a [`System`] of dst-core: a [`Map`](dst_core::Map) from step to step.
//!
//! State: what the network remembers of the coordinates (h and c of both layers, in tiles), then x, then m and v for RNNprop, then
//! w = f(x_{k−1}). The criterion is J = w − f(x), the decrease of the last step, and the loss is f. Start with
//! [`Optimiser::start`]. t counts the steps from the beginning of the run, so a segment that begins at step k is run with
//! `from_time(k)`.
//!
//! Where the gradient that is fed to the network is *detached*, ∂∇f/∂x is taken as zero, as the literature does for
//! speed; otherwise it is the Hessian-vector product of the objective. Detached, m and v count as data, too: the gradient by
//! those parts of the initial state is zero.

use std::cell::RefCell;

use dst_core::{Bar, Cost, Dims, Objective, Point, Reading, Seed, System};

use super::architecture::Architecture;
use super::features::Features;
use super::kernel::{TILE, WIDTH};
use super::network::Network;
use super::passes::{Backward, Finite, Forward, State};
use super::scratch::{Memory, NetworkScratch};
use crate::linalg::{Real, dispatch};

/// Numbers that the network remembers of a tile of coordinates.
const REMEMBERED: usize = 4 * TILE * WIDTH;
/// Numbers of a state per variable, at most: what is remembered, x, m and v.
pub(super) const PER_VARIABLE: usize = REMEMBERED / TILE + 3;

/// True if the gradient that is fed to the network is differentiated, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feed {
    /// No: it counts as data.
    #[default]
    Detached,
    /// Yes, by a Hessian-vector product per backward step.
    Full,
}

/// A learned optimiser at work on one objective.
pub struct Optimiser<'w, O, T> {
    model: Architecture,
    objective: O,
    feed: Feed,
    /// From this step on it rests: x⁺ = x.
    end: T,
    /// The transpose takes this step as given: x⁺ = x + a constant.
    given: T,
    scratch: RefCell<&'w mut NetworkScratch<T>>,
}

impl<'w, T: Real, O: Objective<T>> Optimiser<'w, O, T> {
    /// This model on this objective.
    ///
    /// # Panics
    /// If the scratch has pages for another number of variables.
    pub fn new(
        model: Architecture,
        objective: O,
        feed: Feed,
        scratch: &'w mut NetworkScratch<T>,
    ) -> Self {
        assert!(
            scratch.fits(objective.dim()),
            "a scratch for the variables of the objective"
        );
        Self {
            model,
            objective,
            feed,
            end: T::MAX,
            given: T::MAX,
            scratch: RefCell::new(scratch),
        }
    }

    /// Rests from this step on. A run that is to end there wants to know f at its last iterate, but not where the network would
    /// go from it.
    pub fn until(self, end: usize) -> Self {
        Self {
            end: T::from_count(end),
            ..self
        }
    }

    /// Takes the step from iterate `step` as given where it is transposed: x⁺ = x + a constant, whatever θ and the memories are.
    pub fn given(self, step: usize) -> Self {
        Self {
            given: T::from_count(step),
            ..self
        }
    }

    /// Vectors of the length of x in the state.
    const fn vectors(&self) -> usize {
        match self.model {
            Architecture::Dm => 1,
            Architecture::RnnProp => 3,
        }
    }

    /// Range of x in the state.
    pub fn x_range(&self) -> std::ops::Range<usize> {
        let remembered = self.remembered();
        remembered..remembered + self.objective.dim()
    }

    /// Numbers that the network remembers; the last tile is filled up.
    fn remembered(&self) -> usize {
        REMEMBERED * self.objective.dim().div_ceil(TILE)
    }

    /// The state at the beginning of a run: nothing remembered, and no decrease measured, so that it counts as large.
    pub fn start(&self, x0: &[T], state: &mut [T]) {
        state.fill(T::ZERO);
        state[self.x_range()].copy_from_slice(x0);
        if let Some(w) = state.last_mut() {
            *w = T::MAX;
        }
    }

    fn split<'s>(&self, state: &'s [T]) -> State<&'s [Memory<T>], &'s [T], T> {
        let dim = self.objective.dim();
        let (memories, rest) = state.split_at(self.remembered());
        let (x, rest) = rest.split_at(dim);
        let (m, rest) = rest.split_at(if self.vectors() > 1 { dim } else { 0 });
        let (v, w) = rest.split_at(m.len());
        State {
            memories: tiles(memories),
            x,
            m,
            v,
            w: w[0],
        }
    }

    fn split_mut<'s>(
        &self,
        state: &'s mut [T],
    ) -> State<&'s mut [Memory<T>], &'s mut [T], &'s mut T> {
        let dim = self.objective.dim();
        let (memories, rest) = state.split_at_mut(self.remembered());
        let (x, rest) = rest.split_at_mut(dim);
        let (m, rest) = rest.split_at_mut(if self.vectors() > 1 { dim } else { 0 });
        let (v, w) = rest.split_at_mut(m.len());
        State {
            memories: tiles_mut(memories),
            x,
            m,
            v,
            w: &mut w[0],
        }
    }
}

/// From the end, where x is: the network's memories have no cotangents at the last step. Whole lines at once, so that it vectorises.
fn all_zero<T: Real>(values: &[T]) -> bool {
    let zero = |line: &[T]| !line.iter().fold(false, |any, &v| any | (v != T::ZERO));
    values.rchunks(WIDTH).all(zero)
}

fn tiles<T>(numbers: &[T]) -> &[Memory<T>] {
    let rows = numbers.as_chunks::<WIDTH>().0;
    rows.as_chunks::<TILE>().0.as_chunks::<4>().0
}

fn tiles_mut<T>(numbers: &mut [T]) -> &mut [Memory<T>] {
    let rows = numbers.as_chunks_mut::<WIDTH>().0;
    rows.as_chunks_mut::<TILE>().0.as_chunks_mut::<4>().0
}

impl<T: Real, O: Objective<T>> System<T> for Optimiser<'_, O, T> {
    fn dims(&self) -> Dims {
        let dim = self.objective.dim();
        let states = self.remembered() + self.vectors() * dim + 1;
        let full = if self.feed == Feed::Full { dim } else { 0 };
        // The tape: the number of the evaluation, ∇f, and that of the objective.
        Dims::new(states, self.model.theta_len())
            .with_tape(1 + dim + self.objective.tape_len())
            .with_scratch(full + self.objective.scratch_len())
    }

    fn rate(
        &self,
        at: Point<'_, T>,
        next: &mut [T],
        tape: &mut [T],
        scratch: &mut [T],
    ) -> Reading<T> {
        let here = self.split(at.x);
        let (stamp, tape) = tape.split_at_mut(1);
        let (g, tape) = tape.split_at_mut(self.objective.dim());
        let f = self.objective.value_gradient(here.x, g, tape, scratch);
        let criterion = here.w - f;
        let reading = Reading { criterion, loss: f };
        if at.t >= self.end {
            next.copy_from_slice(at.x);
            *self.split_mut(next).w = f;
            return reading;
        }
        stamp[0] = self.step(at, (f, g), next);
        reading
    }

    fn pullback(
        &self,
        at: Point<'_, T>,
        tape: &[T],
        seed: Seed<'_, T>,
        bar: Bar<'_, T>,
        scratch: &mut [T],
    ) {
        self.transpose(at, tape, seed, bar, scratch, false);
    }

    fn pullback_afresh(
        &self,
        at: Point<'_, T>,
        tape: &[T],
        seed: Seed<'_, T>,
        bar: Bar<'_, T>,
        scratch: &mut [T],
    ) {
        self.transpose(at, tape, seed, bar, scratch, true);
    }

    /// All but the memories, which are nine tenths of a state: x depends on all of them, so it shows at once what is wrong with one.
    /// A cotangent of theirs reaches that of θ one step further back, and the engine looks at that in the end.
    fn all_finite(&self, values: &[T]) -> bool {
        dispatch(Finite(&values[self.remembered()..]))
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(3),
            pushforward: None,
        }
    }
}

impl<T: Real, O: Objective<T>> Optimiser<'_, O, T> {
    /// The step from a state where f and its gradient are known. Returns the number of the evaluation.
    pub(super) fn step(&self, at: Point<'_, T>, (f, g): (T, &[T]), next: &mut [T]) -> T {
        let next = self.split_mut(next);
        *next.w = f;
        let mut buffers = self.scratch.borrow_mut();
        let weights = self.model.weights_of(at.theta);
        let (network, number) = Network::forwards(weights, &mut buffers, at.t);
        dispatch(Forward {
            features: Features::new(self.model, at.t),
            network,
            g,
            at: self.split(at.x),
            next,
        });
        number
    }

    /// The transpose; `afresh`, if the cotangent of the state is written over instead of being added to.
    fn transpose(
        &self,
        at: Point<'_, T>,
        tape: &[T],
        seed: Seed<'_, T>,
        bar: Bar<'_, T>,
        scratch: &mut [T],
        afresh: bool,
    ) {
        let Bar {
            theta: theta_bar,
            x: bar,
            ..
        } = bar;
        let (stamp, tape) = tape.split_at(1);
        let (g, tape) = tape.split_at(self.objective.dim());
        let here = self.split(at.x);
        let next_bar = self.split(seed.rate);
        if afresh {
            // The memories later, tile by tile.
            bar[self.remembered()..].fill(T::ZERO);
        }
        // J = w − f, and w′ = f.
        let f_bar = seed.loss - seed.criterion + next_bar.w;
        let x = here.x;
        let x_bar = self.split_mut(&mut *bar);
        *x_bar.w += seed.criterion;
        if f_bar != T::ZERO {
            for (to, &g) in x_bar.x.iter_mut().zip(g) {
                *to += f_bar * g;
            }
        }
        let rests = at.t >= self.end;
        let given = at.t == self.given;
        if rests || given || all_zero(seed.rate) {
            if afresh {
                bar[..self.remembered()].fill(T::ZERO);
            }
            if given {
                let x = self.x_range();
                for (to, &bar) in bar[x.clone()].iter_mut().zip(&seed.rate[x]) {
                    *to += bar;
                }
            } else if rests {
                // All but w, which f has replaced.
                let kept = seed.rate.len().saturating_sub(1);
                for (to, &bar) in bar.iter_mut().zip(&seed.rate[..kept]) {
                    *to += bar;
                }
            }
            return;
        }
        let full = if self.feed == Feed::Full { g.len() } else { 0 };
        let (g_bar, scratch) = scratch.split_at_mut(full);
        let mut buffers = self.scratch.borrow_mut();
        let weights = self.model.weights_of(at.theta);
        dispatch(Backward {
            features: Features::new(self.model, at.t),
            network: Network::backwards(weights, &mut buffers, at.t, stamp[0]),
            g,
            at: here,
            next_bar,
            bar: x_bar,
            afresh,
            theta_bar: self.model.weights_bar_of(theta_bar),
            g_bar: &mut *g_bar,
        });
        if full > 0 {
            let x_bar = self.split_mut(bar).x;
            self.objective
                .add_hessian_vector(x, g_bar, tape, x_bar, scratch);
        }
    }
}
