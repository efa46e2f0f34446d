//! The network on one tile of coordinates: forward, and the transpose.
//!
//! A [`Workshop`] holds what that needs besides the weights, made once for many steps: aligned copies of the weights, room for
//! a tile, and *pages*, on which the forward pass leaves what the transpose would otherwise compute again.

use pulp::{NullaryFnOnce, Simd};

use super::kernel::{
    Above, Gates, HIDDEN, Inputs, Kept, Rows, Sources, TILE, Transposed, WIDTH, activate,
    add_outer, add_scaled, deactivate, dot, gates, pull_gates, transpose,
};
use super::model::{CellParts, Weights, WeightsBar};
use crate::linalg::{Ahead, Real};

/// What the coordinates of a tile remember: h and c of the first layer, h and c of the second.
pub(super) type Memory<T> = [Rows<T>; 4];

/// What a layer leaves behind on a tile.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct LayerTrace<T> {
    gates: [Gates<T>; TILE],
    tanh_c: Rows<T>,
}

/// What the network leaves behind on a tile.
#[derive(Clone, Debug)]
pub(super) struct Trace<T> {
    /// What went into the first layer.
    entry: Rows<T>,
    layers: [LayerTrace<T>; 2],
    out: [T; TILE],
}

impl<T: Real> Trace<T> {
    fn new() -> Self {
        let rows = [[T::ZERO; WIDTH]; TILE];
        let layer = LayerTrace {
            gates: [[[T::ZERO; WIDTH]; 4]; TILE],
            tanh_c: rows,
        };
        Self {
            entry: rows,
            layers: [layer.clone(), layer],
            out: [T::ZERO; TILE],
        }
    }
}

/// A layer's weights, or their cotangents, where no vector lies across two lines of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Cell<T> {
    /// Of its inputs, of which there are `inputs`, and of its hidden state.
    weights: [[Gates<T>; HIDDEN]; 2],
    inputs: usize,
    /// Both biases in one.
    bias: Gates<T>,
}

impl<T: Real> Cell<T> {
    fn new() -> Self {
        let none = [[T::ZERO; WIDTH]; 4];
        Self {
            weights: [[none; HIDDEN]; 2],
            inputs: 0,
            bias: none,
        }
    }

    #[inline(always)]
    fn sources(&self) -> Sources<'_, T> {
        let [input, hidden] = &self.weights;
        [&input[..self.inputs], hidden]
    }

    /// Are these its weights?
    #[inline(always)]
    fn holds(&self, from: &CellParts<&[Gates<T>], &Gates<T>>) -> bool {
        let [input, hidden] = self.sources();
        self.inputs == from.input.len()
            && same(input, from.input)
            && same(hidden, from.hidden)
            && same(&[self.bias], &[sum_of_biases(from)])
    }

    fn copy(&mut self, from: &CellParts<&[Gates<T>], &Gates<T>>) {
        self.inputs = from.input.len();
        let [input, hidden] = &mut self.weights;
        input[..self.inputs].copy_from_slice(from.input);
        hidden.copy_from_slice(from.hidden);
        self.bias = sum_of_biases(from);
    }

    fn clear(&mut self, inputs: usize) {
        self.inputs = inputs;
        let [input, hidden] = &mut self.weights;
        for weights in [&mut input[..inputs], hidden] {
            weights.as_flattened_mut().as_flattened_mut().fill(T::ZERO);
        }
        self.bias.as_flattened_mut().fill(T::ZERO);
    }

    /// Adds cotangents to those of θ.
    #[inline(always)]
    fn add_to(&self, bar: &mut CellParts<&mut [Gates<T>], &mut Gates<T>>) {
        let [input, hidden] = self.sources();
        add_gates(bar.input, input);
        add_gates(bar.hidden, hidden);
        add_gates(std::slice::from_mut(bar.input_bias), &[self.bias]);
        add_gates(std::slice::from_mut(bar.hidden_bias), &[self.bias]);
    }
}

#[inline(always)]
fn sum_of_biases<T: Real>(from: &CellParts<&[Gates<T>], &Gates<T>>) -> Gates<T> {
    let mut sum = *from.input_bias;
    add_gates(std::slice::from_mut(&mut sum), &[*from.hidden_bias]);
    sum
}

/// Are all entries equal? Without a branch per entry, so that it vectorises.
#[inline(always)]
fn same<T: Real>(a: &[Gates<T>], b: &[Gates<T>]) -> bool {
    a.iter().zip(b).all(|(a, b)| {
        let (a, b) = (a.as_flattened(), b.as_flattened());
        !a.iter()
            .zip(b)
            .fold(false, |differ, (a, b)| differ | (a != b))
    })
}

#[inline(always)]
fn add_gates<T: Real>(to: &mut [Gates<T>], from: &[Gates<T>]) {
    for (to, from) in to.iter_mut().zip(from) {
        for g in 0..4 {
            add_scaled(&mut to[g], T::ONE, &from[g]);
        }
    }
}

/// What the steps of an optimiser need besides the weights, made once.
#[derive(Clone, Debug)]
pub struct Workshop<T> {
    bench: Bench<T>,
    /// For steps that leave nothing behind.
    trace: Trace<T>,
    tiles: usize,
    /// Tile by tile, page after page.
    pages: Vec<Trace<T>>,
    /// Which evaluation wrote a page.
    stamps: Vec<T>,
    stamp: T,
}

/// Where a tile is worked on.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Bench<T> {
    cells: [Cell<T>; 2],
    bars: [Cell<T>; 2],
    transposed: [Transposed<T>; 2],
    /// h of the first layer after the step, what goes into the second.
    between: [Rows<T>; 2],
    /// What goes into the gates of a layer.
    gates: [Gates<T>; TILE],
    gate_bars: [[[Gates<T>; TILE]; 2]; 2],
    inputs_bar: Rows<T>,
    memory: Memory<T>,
}

impl<T: Real> Workshop<T> {
    /// For problems of `dim` variables. With `pages`, so many steps in a row need no second forward pass on the way back;
    /// a page takes some 1600 bytes per variable in single precision.
    pub fn new(dim: usize, pages: usize) -> Box<Self> {
        let tiles = dim.div_ceil(TILE);
        let rows = [[T::ZERO; WIDTH]; TILE];
        let none = [[T::ZERO; WIDTH]; 4];
        let bench = Bench {
            cells: [Cell::new(), Cell::new()],
            bars: [Cell::new(), Cell::new()],
            transposed: [[[[[T::ZERO; WIDTH]; 2]; HIDDEN]; 4]; 2],
            between: [rows; 2],
            gates: [none; TILE],
            gate_bars: [[[none; TILE]; 2]; 2],
            inputs_bar: rows,
            memory: [rows; 4],
        };
        Box::new(Self {
            bench,
            trace: Trace::new(),
            tiles,
            pages: vec![Trace::new(); pages * tiles],
            stamps: vec![T::ZERO; pages],
            stamp: T::ZERO,
        })
    }

    /// The page for step t, if there are any.
    fn page(&self, t: T) -> Option<usize> {
        (t.to_f64() as usize).checked_rem(self.stamps.len())
    }
}

/// Where a pass over all tiles leaves, or finds, what the network computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Page(usize),
    Nowhere,
}

/// The network at work: weights and workshop.
pub(super) struct Network<'a, T> {
    weights: Weights<'a, T>,
    shop: &'a mut Workshop<T>,
    place: Place,
}

impl<'a, T: Real> Network<'a, T> {
    /// For a forward pass at step t. Also returns a number that tells this evaluation from others.
    pub(super) fn forwards(weights: Weights<'a, T>, shop: &'a mut Workshop<T>, t: T) -> (Self, T) {
        // Whole numbers up to this are exact in single precision. A page does not live that long.
        let next = shop.stamp + T::ONE;
        shop.stamp = if next < T::from_f64(1e7) {
            next
        } else {
            T::ONE
        };
        let place = shop.page(t).map_or(Place::Nowhere, Place::Page);
        if let Place::Page(page) = place {
            shop.stamps[page] = shop.stamp;
        }
        let stamp = shop.stamp;
        (
            Self {
                weights,
                shop,
                place,
            },
            stamp,
        )
    }

    /// For the transpose at step t of the evaluation with this number.
    pub(super) fn backwards(
        weights: Weights<'a, T>,
        shop: &'a mut Workshop<T>,
        t: T,
        stamp: T,
    ) -> Self {
        let page = shop.page(t).filter(|&page| shop.stamps[page] == stamp);
        for (bar, from) in shop.bench.bars.iter_mut().zip(&weights.cells) {
            bar.clear(from.input.len());
        }
        Self {
            weights,
            shop,
            place: page.map_or(Place::Nowhere, Place::Page),
        }
    }

    /// Before the first tile: brings the copies of the weights up to date. They change once in many steps, and to compare is
    /// much less than to transpose.
    #[inline(always)]
    pub(super) fn follow(&mut self) {
        let Bench {
            cells, transposed, ..
        } = &mut self.shop.bench;
        for ((cell, to), from) in cells.iter_mut().zip(transposed).zip(&self.weights.cells) {
            if !cell.holds(from) {
                cell.copy(from);
                *to = [[[[T::ZERO; WIDTH]; 2]; HIDDEN]; 4];
                transpose(cell.sources(), to);
            }
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
        let shop = &mut *self.shop;
        let (trace, next_trace) = match self.place {
            Place::Page(page) => {
                let (head, tail) = shop.pages.split_at_mut(page * shop.tiles + tile + 1);
                (&mut head[page * shop.tiles + tile], tail.first())
            }
            Place::Nowhere => (&mut shop.trace, None),
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
        let Bench {
            cells: [first_cell, second_cell],
            gates,
            ..
        } = &mut shop.bench;
        simd.vectorize(Run {
            simd,
            cell: first_cell,
            inputs: [&trace.entry, h0],
            gates,
            trace: first,
            ahead: second.ahead(),
            c: c0,
            next: (h0_next, c0_next),
        });
        simd.vectorize(Run {
            simd,
            cell: second_cell,
            inputs: [h0_next, h1],
            gates,
            trace: second,
            ahead: next_trace.map_or(Ahead::NOTHING, |trace| trace.layers[0].ahead()),
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
            Place::Page(page) => self.shop.pages[page * self.shop.tiles + tile].out,
            Place::Nowhere => {
                let mut next = self.shop.bench.memory;
                let out = self.forward(simd, tile, features, memory, &mut next);
                self.shop.bench.memory = next;
                out
            }
        }
    }

    /// The transpose, right after [`recall`](Self::recall): from the cotangents of the outputs and of what is remembered after the
    /// step, adds to those of what was remembered before it and of θ, and returns those of the features, if they are wanted.
    #[inline(always)]
    pub(super) fn backward<S: Simd>(
        &mut self,
        simd: S,
        tile: usize,
        (features, memories): (&[[T; 2]; TILE], &[Memory<T>]),
        (out_bar, next_bar): (&[T; TILE], &Memory<T>),
        (memory_bar, bar): (&mut Memory<T>, &mut WeightsBar<'_, T>),
        wants_features: bool,
    ) -> [[T; 2]; TILE] {
        let shop = &mut *self.shop;
        // Tiles go in pairs, where what they leave behind is kept; the weights are left to the second one.
        let (traces, second_of_pair) = match self.place {
            Place::Page(page) => (&shop.pages[page * shop.tiles..][..shop.tiles], tile & 1),
            Place::Nowhere => (std::slice::from_ref(&shop.trace), 0),
        };
        let here = tile.min(traces.len() - 1);
        let trace = &traces[here];
        let [_, c0, _, c1] = &memories[tile];
        let [h0_next_bar, c0_next_bar, h1_next_bar, c1_next_bar] = next_bar;
        let [h0_bar, c0_bar, h1_bar, c1_bar] = memory_bar;
        let [first, second] = &trace.layers;
        for &out_bar in out_bar {
            bar.out_bias[0] += out_bar;
        }
        let Bench {
            bars: [first_bars, second_bars],
            transposed: [first_transposed, second_transposed],
            between,
            gate_bars,
            inputs_bar,
            ..
        } = &mut shop.bench;
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
        });
        simd.vectorize(PullInputs {
            simd,
            gate_bars: second_gate_bars,
            transposed: second_transposed,
            bars: (inputs_bar, h1_bar),
            ahead: first.ahead(),
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
        });
        let next_trace = traces.get(here + 1);
        simd.vectorize(PullInputs {
            simd,
            gate_bars: first_gate_bars,
            transposed: first_transposed,
            bars: (inputs_bar, h0_bar),
            ahead: next_trace.map_or(Ahead::NOTHING, |trace| trace.layers[1].ahead()),
        });
        let single = self.place == Place::Nowhere || tile + 1 == memories.len();
        if single || second_of_pair == 1 {
            let next = |by: usize| {
                let next = memories.get(tile + by).map_or(&[][..], |next| next);
                next.as_flattened().as_flattened()
            };
            let mut ahead = Ahead::of([next(1), next(2)]);
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
                    ahead: &mut ahead,
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
        for (from, to) in self.shop.bench.bars.iter().zip(&mut bar.cells) {
            from.add_to(to);
        }
    }
}

// The parts that do the work are functions of their own, compiled once for each instruction set and used for both layers:
// all in one would take the compiler minutes.

/// A layer on a tile.
struct Run<'a, T, S> {
    simd: S,
    cell: &'a Cell<T>,
    inputs: Inputs<'a, T>,
    /// Room for what goes into the gates.
    gates: &'a mut [Gates<T>; TILE],
    trace: &'a mut LayerTrace<T>,
    ahead: Ahead<'a, T>,
    c: &'a Rows<T>,
    /// h and c after the step.
    next: (&'a mut Rows<T>, &'a mut Rows<T>),
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
            ahead,
            c,
            next: (h_next, c_next),
        } = self;
        gates(simd, &cell.bias, inputs, cell.sources(), before, ahead);
        activate(before, after, c, c_next, tanh_c, h_next);
    }
}

/// The transpose of its nonlinearities.
struct Deactivate<'a, T, S> {
    simd: S,
    kept: Kept<'a, T>,
    above: Above<'a, T>,
    h_bar: &'a Rows<T>,
    c_bar: &'a Rows<T>,
    gate_bars: &'a mut [Gates<T>; TILE],
    bias_bar: &'a mut Gates<T>,
    c_before_bar: &'a mut Rows<T>,
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
            self.c_before_bar,
        );
    }
}

/// The transpose of its products: from the cotangents of its gates, those of its inputs, and what is added to those of its
/// hidden state.
struct PullInputs<'a, T, S> {
    simd: S,
    gate_bars: &'a [Gates<T>; TILE],
    transposed: &'a Transposed<T>,
    bars: (&'a mut Rows<T>, &'a mut Rows<T>),
    ahead: Ahead<'a, T>,
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
            self.ahead,
        );
    }
}

/// The same for its weights.
struct PullWeights<'a, 'b, T, S> {
    simd: S,
    /// One tile or two: what went into the layer, and the cotangents of its gates.
    tiles: &'a [(Inputs<'a, T>, &'a [Gates<T>; TILE])],
    bar: &'a mut Cell<T>,
    ahead: &'a mut Ahead<'b, T>,
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
                self.ahead,
            );
        }
    }
}

impl<T: Real> LayerTrace<T> {
    #[inline(always)]
    fn ahead(&self) -> Ahead<'_, T> {
        let gates = self.gates.as_flattened().as_flattened();
        Ahead::of([gates, self.tanh_c.as_flattened()])
    }

    #[inline(always)]
    fn kept<'a>(&'a self, c: &'a Rows<T>) -> Kept<'a, T> {
        Kept {
            gates: &self.gates,
            c,
            tanh_c: &self.tanh_c,
        }
    }
}
