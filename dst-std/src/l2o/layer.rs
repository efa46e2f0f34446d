//! A recurrent layer on a tile, forward and transposed.
//!
//! The parts that do the work are functions of their own, compiled once for each instruction set and used for both layers: all in one
//! would take the compiler minutes.

use pulp::{NullaryFnOnce, Simd};

use super::gates::{Above, Kept, activate, deactivate};
use super::kernel::{Gates, Inputs, Rows, TILE, Transposed, add_outer, gates, pull_gates};
use super::scratch::{Cell, LayerTrace};
use crate::linalg::{Prefetch, Real};

/// A layer on a tile.
pub(super) struct Run<'a, T, S> {
    pub(super) simd: S,
    pub(super) cell: &'a Cell<T>,
    pub(super) inputs: Inputs<'a, T>,
    /// Room for what goes into the gates.
    pub(super) gates: &'a mut [Gates<T>; TILE],
    pub(super) trace: &'a mut LayerTrace<T>,
    pub(super) prefetch: Prefetch<'a, T>,
    pub(super) c: &'a Rows<T>,
    /// h and c after the step.
    pub(super) next: (&'a mut Rows<T>, &'a mut Rows<T>),
}

impl<T: Real, S: Simd> NullaryFnOnce for Run<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self {
            simd,
            cell,
            inputs,
            gates: before,
            trace: LayerTrace {
                gates: after,
                tanh_c,
            },
            prefetch,
            c,
            next: (h_next, c_next),
        } = self;
        gates(simd, &cell.bias, inputs, cell.sources(), before, prefetch);
        activate(before, after, c, c_next, tanh_c, h_next);
    }
}

/// The transpose of its nonlinearities.
pub(super) struct Deactivate<'a, T, S> {
    pub(super) simd: S,
    pub(super) kept: Kept<'a, T>,
    pub(super) above: Above<'a, T>,
    pub(super) h_bar: &'a Rows<T>,
    pub(super) c_bar: &'a Rows<T>,
    pub(super) gate_bars: &'a mut [Gates<T>; TILE],
    pub(super) bias_bar: &'a mut Gates<T>,
    pub(super) c_before_bar: &'a mut Rows<T>,
    /// True if that is overwritten instead of added to.
    pub(super) afresh: bool,
}

impl<T: Real, S: Simd> NullaryFnOnce for Deactivate<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        deactivate(
            self.simd,
            &self.kept,
            self.above,
            (self.h_bar, self.c_bar),
            self.gate_bars,
            self.bias_bar,
            (self.c_before_bar, self.afresh),
        );
    }
}

/// The transpose of its products: from the cotangents of its gates, those of its inputs, and what is added to those of its
/// hidden state, or replaces them (`afresh`).
pub(super) struct PullInputs<'a, T, S> {
    pub(super) simd: S,
    pub(super) gate_bars: &'a [Gates<T>; TILE],
    pub(super) transposed: &'a Transposed<T>,
    pub(super) bars: (&'a mut Rows<T>, &'a mut Rows<T>),
    pub(super) afresh: bool,
    pub(super) prefetch: Prefetch<'a, T>,
}

impl<T: Real, S: Simd> NullaryFnOnce for PullInputs<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        pull_gates(
            self.simd,
            self.gate_bars,
            self.transposed,
            self.bars,
            self.afresh,
            self.prefetch,
        );
    }
}

/// The same for its weights.
pub(super) struct PullWeights<'a, 'b, T, S> {
    pub(super) simd: S,
    /// One tile or two: what went into the layer, and the cotangents of its gates.
    pub(super) tiles: &'a [(Inputs<'a, T>, &'a [Gates<T>; TILE])],
    pub(super) bar: &'a mut Cell<T>,
    pub(super) prefetch: &'a mut Prefetch<'b, T>,
}

impl<T: Real, S: Simd> NullaryFnOnce for PullWeights<'_, '_, T, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Cell {
            weights: [input_bar, hidden_bar],
            inputs,
            ..
        } = self.bar;
        let (Some(&a), Some(&b)) = (self.tiles.first(), self.tiles.last()) else {
            return;
        };
        for (source, bar) in [&mut input_bar[..*inputs], hidden_bar]
            .into_iter()
            .enumerate()
        {
            let tiles = [a, b].map(|(inputs, bars)| (inputs[source], bars));
            add_outer(
                self.simd,
                &tiles[..self.tiles.len().min(2)],
                bar,
                self.prefetch,
            );
        }
    }
}
