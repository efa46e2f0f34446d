//! The network on one tile of coordinates: forward, and the transpose.

use pulp::Simd;

use super::architecture::{Weights, WeightsBar};
use super::gates::Above;
use super::kernel::{HIDDEN, TILE, WIDTH, add_scaled, dot, transpose};
use super::layer::{Deactivate, PullInputs, PullWeights, Run};
use super::scratch::{Memory, NetworkScratch, TileScratch};
use crate::linalg::{Prefetch, Real};

/// Storage of the values that a pass over all tiles computes, or reads back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Page(usize),
    Nowhere,
}

/// A network with its weights and its scratch.
pub(super) struct Network<'a, T> {
    weights: Weights<'a, T>,
    scratch: &'a mut NetworkScratch<T>,
    place: Place,
    /// True in the backward pass.
    back: bool,
}

impl<'a, T: Real> Network<'a, T> {
    /// For a forward pass at step t. Also returns a number that tells this evaluation from others.
    pub(super) fn forwards(
        weights: Weights<'a, T>,
        scratch: &'a mut NetworkScratch<T>,
        t: T,
    ) -> (Self, T) {
        // Whole numbers up to this are exact in single precision. A page does not live that long.
        let next = scratch.stamp + T::ONE;
        scratch.stamp = if next < T::from_f64(1e7) {
            next
        } else {
            T::ONE
        };
        let place = scratch.page(t).map_or(Place::Nowhere, Place::Page);
        if let Place::Page(page) = place {
            scratch.stamps[page] = scratch.stamp;
        }
        let stamp = scratch.stamp;
        (
            Self {
                weights,
                scratch,
                place,
                back: false,
            },
            stamp,
        )
    }

    /// For the transpose at step t of the evaluation with this number.
    pub(super) fn backwards(
        weights: Weights<'a, T>,
        scratch: &'a mut NetworkScratch<T>,
        t: T,
        stamp: T,
    ) -> Self {
        let page = scratch
            .page(t)
            .filter(|&page| scratch.stamps[page] == stamp);
        for (bar, from) in scratch.tile.bars.iter_mut().zip(&weights.cells) {
            bar.clear(from.input.len());
        }
        Self {
            weights,
            scratch,
            place: page.map_or(Place::Nowhere, Place::Page),
            back: true,
        }
    }

    /// Before the first tile: brings the copies of the weights up to date. They change once in many steps, and to compare is
    /// much less than to transpose. On the way back not even that, if they have not changed since the page was written.
    #[inline(always)]
    pub(super) fn follow(&mut self) {
        let NetworkScratch {
            tile,
            version,
            versions,
            ..
        } = &mut *self.scratch;
        let written = match self.place {
            Place::Page(page) => versions.get_mut(page),
            Place::Nowhere => None,
        };
        if self.back && written.as_deref() == Some(version) {
            return;
        }
        let TileScratch {
            cells, transposed, ..
        } = tile;
        for ((cell, to), from) in cells.iter_mut().zip(transposed).zip(&self.weights.cells) {
            if !cell.holds(from) {
                cell.copy(from);
                *version += 1;
                *to = [[[[T::ZERO; WIDTH]; 2]; HIDDEN]; 4];
                transpose(cell.sources(), to);
            }
        }
        if let Some(written) = written
            && !self.back
        {
            *written = *version;
        }
    }

    /// Runs the network on a tile: two features for every coordinate, and what they remember. Writes what they remember after
    /// the step and returns the outputs.
    #[inline(always)]
    pub(super) fn forward<S: Simd>(
        &mut self,
        simd: S,
        tile: usize,
        features: &[[T; 2]; TILE],
        memory: &Memory<T>,
        next: &mut Memory<T>,
    ) -> [T; TILE] {
        let scratch = &mut *self.scratch;
        let (trace, next_trace) = match self.place {
            Place::Page(page) => {
                let (head, tail) = scratch.pages.split_at_mut(page * scratch.tiles + tile + 1);
                (&mut head[page * scratch.tiles + tile], tail.first())
            }
            Place::Nowhere => (&mut scratch.trace, None),
        };
        for (entry, features) in trace.entry.iter_mut().zip(features) {
            if let [first, second, bias] = self.weights.embedding {
                let [a, b] = *features;
                for j in 0..WIDTH {
                    entry[j] = T::elu(T::fused(a, first[j], T::fused(b, second[j], bias[j])));
                }
            } else {
                entry[..2].copy_from_slice(features);
            }
        }
        let [h0, c0, h1, c1] = memory;
        let [h0_next, c0_next, h1_next, c1_next] = next;
        let [first, second] = &mut trace.layers;
        let TileScratch {
            cells: [first_cell, second_cell],
            gates,
            ..
        } = &mut scratch.tile;
        simd.vectorize(Run {
            simd,
            cell: first_cell,
            inputs: [&trace.entry, h0],
            gates,
            trace: first,
            prefetch: second.prefetch(),
            c: c0,
            next: (h0_next, c0_next),
        });
        simd.vectorize(Run {
            simd,
            cell: second_cell,
            inputs: [h0_next, h1],
            gates,
            trace: second,
            prefetch: next_trace.map_or(Prefetch::NOTHING, |trace| trace.layers[0].prefetch()),
            c: c1,
            next: (h1_next, c1_next),
        });
        for (out, h) in trace.out.iter_mut().zip(h1_next) {
            *out = dot(simd, h, self.weights.out) + self.weights.out_bias[0];
        }
        trace.out
    }

    /// The outputs of a tile on the way back: from the page, or computed again.
    #[inline(always)]
    pub(super) fn recall<S: Simd>(
        &mut self,
        simd: S,
        tile: usize,
        features: &[[T; 2]; TILE],
        memory: &Memory<T>,
    ) -> [T; TILE] {
        match self.place {
            Place::Page(page) => self.scratch.pages[page * self.scratch.tiles + tile].out,
            Place::Nowhere => {
                let mut next = self.scratch.tile.memory;
                let out = self.forward(simd, tile, features, memory, &mut next);
                self.scratch.tile.memory = next;
                out
            }
        }
    }

    /// The transpose, right after [`recall`](Self::recall): from the cotangents of the outputs and of what is remembered after the
    /// step, adds to those of θ and of what was remembered before it, or writes over the latter (`afresh`), and returns those of the
    /// features, if they are wanted.
    #[inline(always)]
    pub(super) fn backward<S: Simd>(
        &mut self,
        simd: S,
        tile: usize,
        (features, memories): (&[[T; 2]; TILE], &[Memory<T>]),
        (out_bar, next_bar): (&[T; TILE], &Memory<T>),
        (memory_bar, bar): (&mut Memory<T>, &mut WeightsBar<'_, T>),
        (afresh, wants_features): (bool, bool),
    ) -> [[T; 2]; TILE] {
        let scratch = &mut *self.scratch;
        // Tiles go in pairs, where what they leave behind is kept; the weights are left to the second one.
        let (traces, here, second_of_pair) = match self.place {
            Place::Page(page) => {
                let traces = &scratch.pages[page * scratch.tiles..][..scratch.tiles];
                (traces, tile, tile & 1)
            }
            Place::Nowhere => (std::slice::from_ref(&scratch.trace), 0, 0),
        };
        let trace = &traces[here];
        let [_, c0, _, c1] = &memories[tile];
        let [h0_next_bar, c0_next_bar, h1_next_bar, c1_next_bar] = next_bar;
        let [h0_bar, c0_bar, h1_bar, c1_bar] = memory_bar;
        let [first, second] = &trace.layers;
        for &out_bar in out_bar {
            bar.out_bias[0] += out_bar;
        }
        let TileScratch {
            bars: [first_bars, second_bars],
            transposed: [first_transposed, second_transposed],
            between,
            gate_bars,
            inputs_bar,
            ..
        } = &mut scratch.tile;
        let [first_gate_bars, second_gate_bars] = &mut gate_bars[second_of_pair];
        simd.vectorize(Deactivate {
            simd,
            kept: second.kept(c1),
            above: Above::Output {
                weights: self.weights.out,
                weights_bar: &mut *bar.out,
                bar: out_bar,
            },
            h_bar: h1_next_bar,
            c_bar: c1_next_bar,
            gate_bars: second_gate_bars,
            bias_bar: &mut second_bars.bias,
            c_before_bar: c1_bar,
            afresh,
        });
        simd.vectorize(PullInputs {
            simd,
            gate_bars: second_gate_bars,
            transposed: second_transposed,
            bars: (inputs_bar, h1_bar),
            afresh,
            prefetch: first.prefetch(),
        });
        simd.vectorize(Deactivate {
            simd,
            kept: first.kept(c0),
            above: Above::Layer {
                bar: inputs_bar,
                output: &mut between[second_of_pair],
            },
            h_bar: h0_next_bar,
            c_bar: c0_next_bar,
            gate_bars: first_gate_bars,
            bias_bar: &mut first_bars.bias,
            c_before_bar: c0_bar,
            afresh,
        });
        let next_trace = traces.get(here + 1);
        simd.vectorize(PullInputs {
            simd,
            gate_bars: first_gate_bars,
            transposed: first_transposed,
            bars: (inputs_bar, h0_bar),
            afresh,
            prefetch: next_trace.map_or(Prefetch::NOTHING, |trace| trace.layers[1].prefetch()),
        });
        let single = self.place == Place::Nowhere || tile + 1 == memories.len();
        if single || second_of_pair == 1 {
            let next = |by: usize| {
                let next = memories.get(tile + by).map_or(&[][..], |next| next);
                next.as_flattened().as_flattened()
            };
            let mut prefetch = Prefetch::of([next(1), next(2)]);
            let first_of_pair = [here, tile].map(|number| number - second_of_pair);
            let pair = |layer: usize| {
                [0, second_of_pair].map(|p| {
                    let [trace, tile] = first_of_pair.map(|number| number + p);
                    let [h0, _, h1, _] = &memories[tile];
                    let inputs = [[&traces[trace].entry, h0], [&between[p], h1]][layer];
                    (inputs, &gate_bars[p][layer])
                })
            };
            for (layer, bar) in [(1, second_bars), (0, first_bars)] {
                simd.vectorize(PullWeights {
                    simd,
                    tiles: &pair(layer)[..=second_of_pair],
                    bar,
                    prefetch: &mut prefetch,
                });
            }
        }
        let mut features_bar = [[T::ZERO; 2]; TILE];
        let embedding = (self.weights.embedding, &mut *bar.embedding);
        if let ([first, second, _], [first_bar, second_bar, bias_bar]) = embedding {
            let mut sums = [[T::ZERO; WIDTH]; 3];
            for r in 0..TILE {
                let entry = &trace.entry[r];
                let pre_bar = &mut inputs_bar[r];
                let [a, b] = features[r];
                for j in 0..WIDTH {
                    // The slope of ELU, from its value.
                    let slope = if entry[j] < T::ZERO {
                        entry[j] + T::ONE
                    } else {
                        T::ONE
                    };
                    pre_bar[j] *= slope;
                    sums[0][j] = T::fused(a, pre_bar[j], sums[0][j]);
                    sums[1][j] = T::fused(b, pre_bar[j], sums[1][j]);
                    sums[2][j] += pre_bar[j];
                }
                if wants_features {
                    features_bar[r] = [dot(simd, first, pre_bar), dot(simd, second, pre_bar)];
                }
            }
            for (to, sum) in [first_bar, second_bar, bias_bar].into_iter().zip(&sums) {
                add_scaled(to, T::ONE, sum);
            }
        } else {
            for (to, bar) in features_bar.iter_mut().zip(inputs_bar) {
                *to = [bar[0], bar[1]];
            }
        }
        features_bar
    }

    /// Adds the cotangents of the layers, gathered over all tiles, to those of θ.
    #[inline(always)]
    pub(super) fn finish(self, bar: &mut WeightsBar<'_, T>) {
        for (from, to) in self.scratch.tile.bars.iter().zip(&mut bar.cells) {
            from.add_to(to);
        }
    }
}
