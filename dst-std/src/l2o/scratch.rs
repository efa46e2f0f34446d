//! Scratch of a network, allocated once for many steps: aligned copies of the weights, buffers for a tile, and *pages*. On a page the
//! forward pass keeps the values that the transpose would otherwise compute again.

use super::architecture::CellParts;
use super::gates::Kept;
use super::kernel::{Gates, HIDDEN, Rows, Sources, TILE, Transposed, WIDTH, add_scaled};
use crate::linalg::{Prefetch, Real};

/// Recurrent state of the coordinates of a tile: h and c of the first layer, h and c of the second.
pub(super) type Memory<T> = [Rows<T>; 4];

/// Values of a layer on a tile, kept for the transpose.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct LayerTrace<T> {
    pub(super) gates: [Gates<T>; TILE],
    pub(super) tanh_c: Rows<T>,
}

/// Values of the network on a tile, kept for the transpose.
#[derive(Clone, Debug)]
pub(super) struct Trace<T> {
    /// Inputs of the first layer.
    pub(super) entry: Rows<T>,
    pub(super) layers: [LayerTrace<T>; 2],
    pub(super) out: [T; TILE],
}

impl<T: Real> Trace<T> {
    pub(super) fn new() -> Self {
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

/// Numbers that a page takes per variable.
pub(super) const PER_VARIABLE: usize = size_of::<Trace<f32>>() / size_of::<f32>() / TILE;

/// A layer's weights, or their cotangents, where no vector lies across two lines of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Cell<T> {
    /// Weights of its `inputs` inputs and of its hidden state.
    pub(super) weights: [[Gates<T>; HIDDEN]; 2],
    pub(super) inputs: usize,
    /// Both biases in one.
    pub(super) bias: Gates<T>,
}

impl<T: Real> Cell<T> {
    pub(super) fn new() -> Self {
        let none = [[T::ZERO; WIDTH]; 4];
        Self {
            weights: [[none; HIDDEN]; 2],
            inputs: 0,
            bias: none,
        }
    }

    #[inline(always)]
    pub(super) fn sources(&self) -> Sources<'_, T> {
        let [input, hidden] = &self.weights;
        [&input[..self.inputs], hidden]
    }

    /// True if these are its weights.
    #[inline(always)]
    pub(super) fn holds(&self, from: &CellParts<&[Gates<T>], &Gates<T>>) -> bool {
        let [input, hidden] = self.sources();
        self.inputs == from.input.len()
            && same(input, from.input)
            && same(hidden, from.hidden)
            && same(&[self.bias], &[sum_of_biases(from)])
    }

    pub(super) fn copy(&mut self, from: &CellParts<&[Gates<T>], &Gates<T>>) {
        self.inputs = from.input.len();
        let [input, hidden] = &mut self.weights;
        input[..self.inputs].copy_from_slice(from.input);
        hidden.copy_from_slice(from.hidden);
        self.bias = sum_of_biases(from);
    }

    pub(super) fn clear(&mut self, inputs: usize) {
        self.inputs = inputs;
        let [input, hidden] = &mut self.weights;
        for weights in [&mut input[..inputs], hidden] {
            weights.as_flattened_mut().as_flattened_mut().fill(T::ZERO);
        }
        self.bias.as_flattened_mut().fill(T::ZERO);
    }

    /// Adds cotangents to those of θ.
    #[inline(always)]
    pub(super) fn add_to(&self, bar: &mut CellParts<&mut [Gates<T>], &mut Gates<T>>) {
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

/// True if all entries are equal. Has no branch per entry, so that it vectorises.
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

/// Scratch of the steps of an optimiser, allocated once.
#[derive(Clone, Debug)]
pub struct NetworkScratch<T> {
    pub(super) tile: TileScratch<T>,
    /// For steps that leave nothing behind.
    pub(super) trace: Trace<T>,
    pub(super) tiles: usize,
    /// Tile by tile, page after page.
    pub(super) pages: Vec<Trace<T>>,
    /// The evaluation that wrote a page.
    pub(super) stamps: Vec<T>,
    pub(super) stamp: T,
    /// The weights that a page was written with, and those of the tile.
    pub(super) versions: Vec<usize>,
    pub(super) version: usize,
}

/// Buffers for one tile.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct TileScratch<T> {
    pub(super) cells: [Cell<T>; 2],
    pub(super) bars: [Cell<T>; 2],
    pub(super) transposed: [Transposed<T>; 2],
    /// h of the first layer after the step, what goes into the second.
    pub(super) between: [Rows<T>; 2],
    /// Inputs of the gates of a layer.
    pub(super) gates: [Gates<T>; TILE],
    pub(super) gate_bars: [[[Gates<T>; TILE]; 2]; 2],
    pub(super) inputs_bar: Rows<T>,
    pub(super) memory: Memory<T>,
}

impl<T: Real> NetworkScratch<T> {
    /// For problems of `dim` variables. With `pages`, that number of steps in a row needs no second forward pass on the way back;
    /// a page takes some 1400 bytes per variable in single precision.
    pub fn new(dim: usize, pages: usize) -> Box<Self> {
        let tiles = dim.div_ceil(TILE);
        let rows = [[T::ZERO; WIDTH]; TILE];
        let none = [[T::ZERO; WIDTH]; 4];
        let tile = TileScratch {
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
            tile,
            trace: Trace::new(),
            tiles,
            pages: vec![Trace::new(); pages * tiles],
            stamps: vec![T::ZERO; pages],
            stamp: T::ZERO,
            versions: vec![0; pages],
            version: 0,
        })
    }

    /// True if there is room for a problem of this size. Pages are made for one size, the rest for any.
    pub(super) fn fits(&self, dim: usize) -> bool {
        self.stamps.is_empty() || self.tiles == dim.div_ceil(TILE)
    }

    /// The page for step t, if there are any.
    pub(super) fn page(&self, t: T) -> Option<usize> {
        (t.to_f64() as usize).checked_rem(self.stamps.len())
    }
}

impl<T: Real> LayerTrace<T> {
    #[inline(always)]
    pub(super) fn prefetch(&self) -> Prefetch<'_, T> {
        let gates = self.gates.as_flattened().as_flattened();
        Prefetch::of([gates, self.tanh_c.as_flattened()])
    }

    #[inline(always)]
    pub(super) fn kept<'a>(&'a self, c: &'a Rows<T>) -> Kept<'a, T> {
        Kept {
            gates: &self.gates,
            c,
            tanh_c: &self.tanh_c,
        }
    }
}
