//! The network on one tile of coordinates: forward, and the transpose.
//!
//! The transpose begins with the forward pass again: gates that were kept would have to come from memory, which takes longer.

use pulp::Simd;

use super::kernel::{
    Gates, HIDDEN, Row, Rows, TILE, Transposed, WIDTH, activate, add_outer, add_scaled, deactivate,
    dot, gates, pull_gates, transpose,
};
use super::model::{CellParts, Weights, WeightsBar};
use crate::linalg::Real;

/// What a coordinate remembers: h and c of the first layer, h and c of the second.
pub(super) type Memory<T> = [Row<T>; 4];

/// A layer at work on a tile.
#[repr(align(64))]
struct Layer<T> {
    /// What is known before: h and c.
    h: Rows<T>,
    c: Rows<T>,
    /// What comes out of it.
    gates: [Gates<T>; TILE],
    c_next: Rows<T>,
    tanh_c: Rows<T>,
    h_next: Rows<T>,
    /// Cotangents of h′ and c′, then of c.
    h_bar: Rows<T>,
    c_bar: Rows<T>,
}

impl<T: Real> Layer<T> {
    fn new() -> Self {
        let rows = [[T::ZERO; WIDTH]; TILE];
        Self {
            h: rows,
            c: rows,
            gates: [[[T::ZERO; WIDTH]; 4]; TILE],
            c_next: rows,
            tanh_c: rows,
            h_next: rows,
            h_bar: rows,
            c_bar: rows,
        }
    }

    #[inline(always)]
    fn forward<S: Simd>(
        &mut self,
        simd: S,
        weights: &CellParts<&[Gates<T>], &Gates<T>>,
        bias: &Gates<T>,
        input: &Rows<T>,
    ) {
        let (input, hidden) = ((input, weights.input), (&self.h, weights.hidden));
        gates(simd, bias, input, hidden, &mut self.gates);
        for r in 0..TILE {
            activate(
                &mut self.gates[r],
                &self.c[r],
                &mut self.c_next[r],
                &mut self.tanh_c[r],
                &mut self.h_next[r],
            );
        }
    }

    /// From the cotangents of h′ and c′ those of the input, of h (written to `h`, which is not needed any more) and of c.
    #[inline(always)]
    fn backward<S: Simd>(
        &mut self,
        simd: S,
        transposed: &Transposed<T>,
        input: &Rows<T>,
        input_bar: &mut Rows<T>,
        bar: &mut CellParts<&mut [Gates<T>], &mut Gates<T>>,
    ) {
        for r in 0..TILE {
            deactivate(
                &mut self.gates[r],
                &self.c[r],
                &self.tanh_c[r],
                &self.h_bar[r],
                &mut self.c_bar[r],
            );
        }
        add_outer(simd, input, &self.gates, bar.input);
        add_outer(simd, &self.h, &self.gates, bar.hidden);
        let mut sum = [[T::ZERO; WIDTH]; 4];
        for gate_bars in &self.gates {
            for g in 0..4 {
                add_scaled(&mut sum[g], T::ONE, &gate_bars[g]);
            }
        }
        for g in 0..4 {
            add_scaled(&mut bar.input_bias[g], T::ONE, &sum[g]);
            add_scaled(&mut bar.hidden_bias[g], T::ONE, &sum[g]);
        }
        pull_gates(simd, &self.gates, transposed, input_bar, &mut self.h);
    }
}

/// The network with room for one tile.
#[repr(align(64))]
pub(super) struct Network<'a, T> {
    weights: Weights<'a, T>,
    /// Both biases of a layer in one.
    biases: [Gates<T>; 2],
    /// What goes into the first layer, and its cotangent.
    entry: Rows<T>,
    entry_bar: Rows<T>,
    middle_bar: Rows<T>,
    layers: [Layer<T>; 2],
}

/// The weights once more, for the way back.
#[repr(align(64))]
pub(super) struct Back<T>([Transposed<T>; 2]);

impl<T: Real> Back<T> {
    pub(super) fn new(weights: &Weights<'_, T>) -> Self {
        let mut back = Self([[[[[T::ZERO; WIDTH]; 2]; HIDDEN]; 4]; 2]);
        for (to, cell) in back.0.iter_mut().zip(&weights.cells) {
            transpose(cell.input, cell.hidden, to);
        }
        back
    }
}

impl<'a, T: Real> Network<'a, T> {
    pub(super) fn new(weights: Weights<'a, T>) -> Self {
        let mut biases = [[[T::ZERO; WIDTH]; 4]; 2];
        for (to, cell) in biases.iter_mut().zip(&weights.cells) {
            for g in 0..4 {
                for j in 0..WIDTH {
                    to[g][j] = cell.input_bias[g][j] + cell.hidden_bias[g][j];
                }
            }
        }
        let rows = [[T::ZERO; WIDTH]; TILE];
        Self {
            weights,
            biases,
            entry: rows,
            entry_bar: rows,
            middle_bar: rows,
            layers: [Layer::new(), Layer::new()],
        }
    }

    /// Runs the network on up to [`TILE`] coordinates: two features and a memory each. The others are taken as zero.
    #[inline(always)]
    pub(super) fn forward<S: Simd>(
        &mut self,
        simd: S,
        features: &[[T; 2]; TILE],
        memories: &[Memory<T>],
    ) -> [T; TILE] {
        for r in 0..TILE {
            if let [first, second, bias] = self.weights.embedding {
                let [a, b] = features[r];
                for j in 0..WIDTH {
                    self.entry[r][j] = T::elu(a * first[j] + b * second[j] + bias[j]);
                }
            } else {
                self.entry[r][..2].copy_from_slice(&features[r]);
            }
        }
        let [first, second] = &mut self.layers;
        for (r, [h0, c0, h1, c1]) in memories.iter().enumerate() {
            (first.h[r % TILE], first.c[r % TILE]) = (*h0, *c0);
            (second.h[r % TILE], second.c[r % TILE]) = (*h1, *c1);
        }
        for layer in [&mut *first, &mut *second] {
            for r in memories.len()..TILE {
                layer.h[r] = [T::ZERO; WIDTH];
                layer.c[r] = [T::ZERO; WIDTH];
            }
        }
        first.forward(simd, &self.weights.cells[0], &self.biases[0], &self.entry);
        second.forward(simd, &self.weights.cells[1], &self.biases[1], &first.h_next);
        let mut out = [T::ZERO; TILE];
        for r in 0..TILE {
            out[r] = dot(simd, &second.h_next[r], self.weights.out) + self.weights.out_bias[0];
        }
        out
    }

    /// The memories after [`forward`](Self::forward).
    #[inline(always)]
    pub(super) fn remember(&self, memories: &mut [Memory<T>]) {
        let [first, second] = &self.layers;
        for (r, [h0, c0, h1, c1]) in memories.iter_mut().enumerate() {
            (*h0, *c0) = (first.h_next[r % TILE], first.c_next[r % TILE]);
            (*h1, *c1) = (second.h_next[r % TILE], second.c_next[r % TILE]);
        }
    }

    /// The transpose, right after [`forward`](Self::forward): from the cotangents of the outputs and of the memories after the
    /// step, adds to those of the memories before it and of θ, and returns those of the features if they are wanted.
    #[inline(always)]
    pub(super) fn backward<S: Simd>(
        &mut self,
        simd: S,
        back: &Back<T>,
        features: &[[T; 2]; TILE],
        out_bar: &[T; TILE],
        next_bar: &[Memory<T>],
        wants_features: bool,
        (memory_bar, bar): (&mut [Memory<T>], &mut WeightsBar<'_, T>),
    ) -> [[T; 2]; TILE] {
        let [first, second] = &mut self.layers;
        let [first_back, second_back] = &back.0;
        let [first_bar, second_bar] = &mut bar.cells;
        for (r, [h0, c0, h1, c1]) in next_bar.iter().enumerate() {
            (first.h_bar[r % TILE], first.c_bar[r % TILE]) = (*h0, *c0);
            (second.h_bar[r % TILE], second.c_bar[r % TILE]) = (*h1, *c1);
        }
        for layer in [&mut *first, &mut *second] {
            for r in next_bar.len()..TILE {
                layer.h_bar[r] = [T::ZERO; WIDTH];
                layer.c_bar[r] = [T::ZERO; WIDTH];
            }
        }
        for r in 0..TILE {
            add_scaled(&mut second.h_bar[r], out_bar[r], self.weights.out);
            add_scaled(bar.out, out_bar[r], &second.h_next[r]);
            bar.out_bias[0] += out_bar[r];
        }
        second.backward(simd, second_back, &first.h_next, &mut self.middle_bar, second_bar);
        for r in 0..TILE {
            add_scaled(&mut first.h_bar[r], T::ONE, &self.middle_bar[r]);
        }
        first.backward(simd, first_back, &self.entry, &mut self.entry_bar, first_bar);
        for (r, [h0, c0, h1, c1]) in memory_bar.iter_mut().enumerate() {
            add_scaled(h0, T::ONE, &first.h[r % TILE]);
            add_scaled(c0, T::ONE, &first.c_bar[r % TILE]);
            add_scaled(h1, T::ONE, &second.h[r % TILE]);
            add_scaled(c1, T::ONE, &second.c_bar[r % TILE]);
        }
        let mut features_bar = [[T::ZERO; 2]; TILE];
        let embedding = (self.weights.embedding, &mut *bar.embedding);
        if let ([first, second, _], [first_bar, second_bar, bias_bar]) = embedding {
            for r in 0..TILE {
                let (value, pre_bar) = (&self.entry[r], &mut self.entry_bar[r]);
                for j in 0..WIDTH {
                    // The slope of ELU, from its value.
                    let slope = if value[j] < T::ZERO { value[j] + T::ONE } else { T::ONE };
                    pre_bar[j] *= slope;
                }
                add_scaled(first_bar, features[r][0], pre_bar);
                add_scaled(second_bar, features[r][1], pre_bar);
                add_scaled(bias_bar, T::ONE, pre_bar);
                if wants_features {
                    features_bar[r] = [dot(simd, first, pre_bar), dot(simd, second, pre_bar)];
                }
            }
        } else {
            for r in 0..TILE {
                features_bar[r] = [self.entry_bar[r][0], self.entry_bar[r][1]];
            }
        }
        features_bar
    }
}
