//! A learned optimiser on one problem, as a [`System`] of dst-core: a [`Map`](dst_core::Map) from step to step.
//!
//! State: what the network remembers of the coordinates (h and c of both layers, in tiles), then x, then m and v for RNNprop, then
//! w = f(x_{k−1}). The criterion is J = w − f(x), the decrease of the last step, and the running loss is f. Start with
//! [`Optimiser::start`]. t counts the steps from the beginning of the run, so a segment that begins at step k is run with
//! `from_time(k)`.
//!
//! Where the gradient that is fed to the network is *detached*, ∂∇f/∂x is taken as zero, as the literature does for
//! speed; otherwise it is the Hessian-vector product of the objective.

use std::cell::RefCell;

use dst_core::{Bar, Cost, Dims, Objective, Point, Reading, Seed, System};
use pulp::{Arch, Simd, WithSimd};

use super::kernel::{TILE, WIDTH};
use super::model::{Model, WeightsBar};
use super::network::{Memory, Network, Workshop};
use crate::linalg::Real;

/// Numbers that the network remembers of a tile of coordinates.
const REMEMBERED: usize = 4 * TILE * WIDTH;

/// Constants of the models, as published.
const SCALE: f64 = 0.1;
const DECAY: f64 = 0.95;
const TINY: f64 = 1e-8;
/// DM is fed the gradient of the mean over a batch of 64.
const DM_BATCH: f64 = 64.0;

/// May the gradient that is fed to the network be differentiated?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feed {
    /// No: it counts as data.
    #[default]
    Detached,
    /// Yes, by a Hessian-vector product per backward step.
    Full,
}

/// A learned optimiser at work on one objective.
#[derive(Debug)]
pub struct Optimiser<'w, O, T> {
    model: Model,
    objective: O,
    feed: Feed,
    /// From this step on it rests: x⁺ = x.
    end: T,
    workshop: RefCell<&'w mut Workshop<T>>,
}

impl<'w, T: Real, O: Objective<T>> Optimiser<'w, O, T> {
    /// This model on this objective.
    pub fn new(model: Model, objective: O, feed: Feed, workshop: &'w mut Workshop<T>) -> Self {
        Self {
            model,
            objective,
            feed,
            end: T::MAX,
            workshop: RefCell::new(workshop),
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

    /// Vectors of the length of x in the state.
    const fn vectors(&self) -> usize {
        match self.model {
            Model::Dm => 1,
            Model::RnnProp => 3,
        }
    }

    /// Where x is in the state.
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

/// A state, or its cotangent, taken apart.
struct State<M, V, W> {
    memories: M,
    x: V,
    m: V,
    v: V,
    w: W,
}

/// From the gradient to what the network is fed with, for one coordinate.
#[derive(Clone, Copy)]
struct Features<T> {
    model: Model,
    /// 1 − βᵗ
    correction: T,
}

/// One coordinate of RNNprop.
struct Moments<T> {
    m: T,
    v: T,
    /// √(v/(1 − βᵗ))
    root: T,
    features: [T; 2],
}

impl<T: Real> Features<T> {
    fn new(model: Model, t: T) -> Self {
        // t is a whole number; β to its power by squaring, so that no rounding of t matters.
        let mut power = 1.0;
        let (mut base, mut left) = (DECAY, t.to_f64() as u64 + 1);
        while left > 0 {
            if left & 1 == 1 {
                power *= base;
            }
            base *= base;
            left >>= 1;
        }
        Self {
            model,
            correction: T::from_f64(1.0 - power),
        }
    }

    #[inline(always)]
    fn moments(self, g: T, m: T, v: T) -> Moments<T> {
        let (keep, take) = (T::from_f64(DECAY), T::from_f64(1.0 - DECAY));
        let m = keep * m + take * g;
        let v = keep * v + take * g * g;
        let root = T::root(v / self.correction);
        let size = root + T::from_f64(TINY);
        let features = [g / size, m / self.correction / size];
        Moments {
            m,
            v,
            root,
            features,
        }
    }

    /// From the cotangents of the features and of m and v after the step, those of g and of m and v before.
    #[inline(always)]
    fn pull(
        self,
        g: T,
        at: &Moments<T>,
        [a_bar, b_bar]: [T; 2],
        [m_next, v_next]: [T; 2],
    ) -> [T; 3] {
        let (keep, take) = (T::from_f64(DECAY), T::from_f64(1.0 - DECAY));
        let size = at.root + T::from_f64(TINY);
        let [a, b] = at.features;
        let size_bar = -(a_bar * a + b_bar * b) / size;
        // At v = 0 the root has no slope; nor has it influence.
        let slope = if at.root > T::ZERO {
            T::HALF / (at.root * self.correction)
        } else {
            T::ZERO
        };
        let m_bar = m_next + b_bar / (self.correction * size);
        let v_bar = v_next + size_bar * slope;
        let g_bar = a_bar / size + take * m_bar + T::TWO * take * g * v_bar;
        [g_bar, keep * m_bar, keep * v_bar]
    }

    /// The features of up to [`TILE`] coordinates, and m and v after the step.
    #[inline(always)]
    fn of(self, (g, x, m, v): (&[T], &[T], &[T], &[T])) -> ([[T; 2]; TILE], [T; TILE], [T; TILE]) {
        let mut features = [[T::ZERO; 2]; TILE];
        let (mut m_next, mut v_next) = ([T::ZERO; TILE], [T::ZERO; TILE]);
        match self.model {
            Model::Dm => {
                let share = T::from_f64(1.0 / DM_BATCH);
                for ((to, &g), &x) in features.iter_mut().zip(g).zip(x) {
                    *to = [share * g, x];
                }
            }
            Model::RnnProp => {
                for (r, ((&g, &m), &v)) in g.iter().zip(m).zip(v).enumerate().take(TILE) {
                    let moments = self.moments(g, m, v);
                    (m_next[r], v_next[r]) = (moments.m, moments.v);
                    features[r] = moments.features;
                }
            }
        }
        (features, m_next, v_next)
    }
}

/// The step of x from the output of the network, and its derivative.
#[inline(always)]
fn step<T: Real>(model: Model, out: T) -> (T, T) {
    let scale = T::from_f64(SCALE);
    match model {
        Model::Dm => {
            let value = T::elu(out);
            let slope = if out < T::ZERO {
                value + T::ONE
            } else {
                T::ONE
            };
            (scale * value, scale * slope)
        }
        Model::RnnProp => {
            let value = T::fast_tanh(out);
            (-scale * value, -scale * (T::ONE - value * value))
        }
    }
}

/// The part of `v` that belongs to a tile; nothing, where there is no such vector.
#[inline(always)]
fn tile<T>(v: &[T], first: usize) -> &[T] {
    let rest = v.get(first..).unwrap_or_default();
    &rest[..rest.len().min(TILE)]
}

#[inline(always)]
fn tile_mut<T>(v: &mut [T], first: usize) -> &mut [T] {
    let rest = v.get_mut(first..).unwrap_or_default();
    let len = rest.len().min(TILE);
    &mut rest[..len]
}

/// The network over all coordinates, forward.
struct Forward<'a, T> {
    features: Features<T>,
    network: Network<'a, T>,
    g: &'a [T],
    at: State<&'a [Memory<T>], &'a [T], T>,
    next: State<&'a mut [Memory<T>], &'a mut [T], &'a mut T>,
}

impl<T: Real> WithSimd for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            features,
            mut network,
            g,
            at,
            next,
        } = self;
        network.follow();
        for (number, first) in (0..g.len()).step_by(TILE).enumerate() {
            let (m, v) = (tile(at.m, first), tile(at.v, first));
            let x = tile(at.x, first);
            let (inputs, m_next, v_next) = features.of((tile(g, first), x, m, v));
            tile_mut(next.m, first).copy_from_slice(&m_next[..m.len()]);
            tile_mut(next.v, first).copy_from_slice(&v_next[..v.len()]);
            let (memory, memory_next) = (&at.memories[number], &mut next.memories[number]);
            let out = network.forward(simd, number, &inputs, memory, memory_next);
            for ((to, &x), &out) in tile_mut(next.x, first).iter_mut().zip(x).zip(&out) {
                *to = x + step(features.model, out).0;
            }
        }
    }
}

/// Are all of these finite?
struct Finite<'a, T>(&'a [T]);

impl<T: Real> WithSimd for Finite<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        T::all_finite(self.0)
    }
}

/// The transpose.
struct Backward<'a, T> {
    features: Features<T>,
    network: Network<'a, T>,
    g: &'a [T],
    at: State<&'a [Memory<T>], &'a [T], T>,
    next_bar: State<&'a [Memory<T>], &'a [T], T>,
    bar: State<&'a mut [Memory<T>], &'a mut [T], &'a mut T>,
    /// Is what is in `bar` of the memories to be forgotten?
    afresh: bool,
    theta_bar: WeightsBar<'a, T>,
    /// Where the cotangent of the gradient goes; empty if it is detached.
    g_bar: &'a mut [T],
}

impl<T: Real> WithSimd for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            features,
            mut network,
            g,
            at,
            next_bar,
            bar,
            afresh,
            mut theta_bar,
            g_bar,
        } = self;
        network.follow();
        for (number, first) in (0..g.len()).step_by(TILE).enumerate() {
            let (g, x) = (tile(g, first), tile(at.x, first));
            let (m, v) = (tile(at.m, first), tile(at.v, first));
            let (inputs, _, _) = features.of((g, x, m, v));
            let memory = &at.memories[number];
            if afresh {
                let memory_bar = bar.memories[number].as_flattened_mut();
                memory_bar.as_flattened_mut().fill(T::ZERO);
            }
            let out = network.recall(simd, number, &inputs, memory);
            let x_next_bar = tile(next_bar.x, first);
            let mut out_bar = [T::ZERO; TILE];
            for ((to, &out), &bar) in out_bar.iter_mut().zip(&out).zip(x_next_bar) {
                *to = bar * step(features.model, out).1;
            }
            let features_bar = network.backward(
                simd,
                number,
                (&inputs, at.memories),
                (&out_bar, &next_bar.memories[number]),
                (&mut bar.memories[number], &mut theta_bar),
                !g_bar.is_empty(),
            );
            let x_bar = tile_mut(bar.x, first);
            for (to, &bar) in x_bar.iter_mut().zip(x_next_bar) {
                *to += bar;
            }
            let g_bar = tile_mut(g_bar, first);
            match features.model {
                Model::Dm => {
                    for (to, bar) in x_bar.iter_mut().zip(&features_bar) {
                        *to += bar[1];
                    }
                    for (to, bar) in g_bar.iter_mut().zip(&features_bar) {
                        *to = T::from_f64(1.0 / DM_BATCH) * bar[0];
                    }
                }
                Model::RnnProp => {
                    let bars = tile_mut(bar.m, first)
                        .iter_mut()
                        .zip(tile_mut(bar.v, first));
                    let next_bars = tile(next_bar.m, first).iter().zip(tile(next_bar.v, first));
                    let bars = g_bar.iter_mut().zip(bars).zip(next_bars);
                    for (r, ((g_bar, (m_bar, v_bar)), (&m_next, &v_next))) in bars.enumerate() {
                        let moments = features.moments(g[r], m[r], v[r]);
                        let pulled =
                            features.pull(g[r], &moments, features_bar[r], [m_next, v_next]);
                        *g_bar = pulled[0];
                        *m_bar += pulled[1];
                        *v_bar += pulled[2];
                    }
                }
            }
        }
        network.finish(&mut theta_bar);
    }
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
        let next = self.split_mut(next);
        *next.w = f;
        let mut workshop = self.workshop.borrow_mut();
        let weights = self.model.weights_of(at.theta);
        let (network, number) = Network::forwards(weights, &mut workshop, at.t);
        stamp[0] = number;
        Arch::new().dispatch(Forward {
            features: Features::new(self.model, at.t),
            network,
            g,
            at: here,
            next,
        });
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

    fn all_finite(&self, values: &[T]) -> bool {
        Arch::new().dispatch(Finite(values))
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(3),
            pushforward: None,
        }
    }
}

impl<T: Real, O: Objective<T>> Optimiser<'_, O, T> {
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
        if rests || all_zero(seed.rate) {
            if afresh {
                bar[..self.remembered()].fill(T::ZERO);
            }
            if rests {
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
        let mut workshop = self.workshop.borrow_mut();
        let weights = self.model.weights_of(at.theta);
        Arch::new().dispatch(Backward {
            features: Features::new(self.model, at.t),
            network: Network::backwards(weights, &mut workshop, at.t, stamp[0]),
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
