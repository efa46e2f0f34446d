//! The two networks, and where their weights lie.
//!
//! θ is a list of rows of [`WIDTH`] numbers, 30 units and two zeros, in the order and form in which the kernels read them.
//! Files and people see the tensors of PyTorch: [`Architecture::tensors`] names them and says where each entry is.

use super::kernel::{Gates, HIDDEN, Row, WIDTH};
use crate::linalg::Real;
use crate::random::uniform;

/// A learned optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Architecture {
    /// L2O-DM: the gradient and x go into two LSTM layers; x ← x + 0.1·ELU(out).
    Dm,
    /// L2O-RNNprop: gradient and momentum, both divided by their size, go through a linear layer with ELU into two LSTM
    /// layers; x ← x − 0.1·tanh(out).
    RnnProp,
}

/// A tensor of PyTorch, and where its entries are in θ.
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// As `state_dict` calls it.
    pub name: &'static str,
    /// Its first extent.
    pub rows: usize,
    /// Its second extent; 0 for a vector.
    pub columns: usize,
    /// 1/√fan: PyTorch draws the initial entries from ±this.
    pub spread: f64,
    first: usize,
    form: Form,
}

/// Layout of a tensor in rows.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Entry (unit, input) in row `input`.
    ByInput,
    /// Entry (gate·30 + unit, input) in row `4·input + gate`.
    ByInputAndGate,
    /// Entry (0, unit) in one row.
    Flat,
}

impl Tensor {
    /// The extents as PyTorch has them.
    pub fn shape(&self) -> Vec<usize> {
        if self.columns == 0 {
            vec![self.rows]
        } else {
            vec![self.rows, self.columns]
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.rows * self.columns.max(1)
    }

    /// Never: every tensor has entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Position in θ of entry `index`, counted row by row.
    pub fn place(&self, index: usize) -> usize {
        let columns = self.columns.max(1);
        let (row, column) = (index / columns, index % columns);
        let (line, unit) = match self.form {
            Form::ByInput => (column, row),
            Form::ByInputAndGate => (4 * column + row / HIDDEN, row % HIDDEN),
            Form::Flat => (0, row.max(column)),
        };
        (self.first + line) * WIDTH + unit
    }
}

/// Rows of θ for a layer with this many inputs.
const fn cell_rows(inputs: usize) -> usize {
    4 * (inputs + HIDDEN + 2)
}

impl Architecture {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Dm, Self::RnnProp];

    /// One word, as the command line knows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::RnnProp => "rnnprop",
        }
    }

    /// As the paper calls it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Dm => "L2O-DM",
            Self::RnnProp => "L2O-RNNprop",
        }
    }

    /// True if there is a linear layer in front.
    const fn embeds(self) -> bool {
        matches!(self, Self::RnnProp)
    }

    /// Inputs of the first LSTM layer.
    pub(super) const fn inputs(self) -> usize {
        if self.embeds() { HIDDEN } else { 2 }
    }

    /// Length of θ, with the zeros that fill up rows.
    pub const fn theta_len(self) -> usize {
        let embedding = if self.embeds() { 3 } else { 0 };
        (embedding + cell_rows(self.inputs()) + cell_rows(HIDDEN) + 2) * WIDTH
    }

    /// Number of weights, without those zeros: what PyTorch counts.
    pub fn weights(self) -> usize {
        self.tensors().iter().map(Tensor::len).sum()
    }

    /// All tensors, in the order of PyTorch's `state_dict`.
    pub fn tensors(self) -> Vec<Tensor> {
        let (mut tensors, mut first) = (Vec::new(), 0);
        let mut add = |name, rows, columns, spread: usize, form, lines: usize| {
            tensors.push(Tensor {
                name,
                rows,
                columns,
                spread: 1.0 / (spread as f64).sqrt(),
                first,
                form,
            });
            first += lines;
        };
        if self.embeds() {
            add("inp.weight", HIDDEN, 2, 2, Form::ByInput, 2);
            add("inp.bias", HIDDEN, 0, 2, Form::ByInput, 1);
        }
        for (inputs, names) in [(self.inputs(), LAYER_0), (HIDDEN, LAYER_1)] {
            let [input, hidden, input_bias, hidden_bias] = names;
            let form = Form::ByInputAndGate;
            add(input, 4 * HIDDEN, inputs, HIDDEN, form, 4 * inputs);
            add(hidden, 4 * HIDDEN, HIDDEN, HIDDEN, form, 4 * HIDDEN);
            add(input_bias, 4 * HIDDEN, 0, HIDDEN, form, 4);
            add(hidden_bias, 4 * HIDDEN, 0, HIDDEN, form, 4);
        }
        add("out.weight", 1, HIDDEN, HIDDEN, Form::Flat, 1);
        add("out.bias", 1, 0, HIDDEN, Form::Flat, 1);
        tensors
    }
}

impl Architecture {
    /// Random weights from a stream of random numbers, each uniform within ± `spread` of its tensor; PyTorch takes
    /// [`Tensor::spread`].
    pub fn initial<T: Real>(self, stream: u64, spread: impl Fn(&Tensor) -> f64) -> Vec<T> {
        let (mut theta, mut taken) = (vec![T::ZERO; self.theta_len()], 0);
        for tensor in self.tensors() {
            for index in 0..tensor.len() {
                let number = 2.0 * uniform(stream, taken) - 1.0;
                theta[tensor.place(index)] = T::from_f64(spread(&tensor) * number);
                taken += 1;
            }
        }
        theta
    }
}

const LAYER_0: [&str; 4] = [
    "rnn.weight_ih_l0",
    "rnn.weight_hh_l0",
    "rnn.bias_ih_l0",
    "rnn.bias_hh_l0",
];
const LAYER_1: [&str; 4] = [
    "rnn.weight_ih_l1",
    "rnn.weight_hh_l1",
    "rnn.bias_ih_l1",
    "rnn.bias_hh_l1",
];

/// θ, or its cotangent, taken apart.
pub(super) struct Parts<Rows, Quads, Quad, Line> {
    /// Weights and bias of the linear layer in front; empty if there is none.
    pub(super) embedding: Rows,
    pub(super) cells: [CellParts<Quads, Quad>; 2],
    pub(super) out: Line,
    /// The bias is the first entry.
    pub(super) out_bias: Line,
}

/// A layer.
pub(super) struct CellParts<Quads, Quad> {
    pub(super) input: Quads,
    pub(super) hidden: Quads,
    pub(super) input_bias: Quad,
    pub(super) hidden_bias: Quad,
}

/// θ, to be read.
pub(super) type Weights<'a, T> = Parts<&'a [Row<T>], &'a [Gates<T>], &'a Gates<T>, &'a Row<T>>;
/// Its cotangent, to be added to.
pub(super) type WeightsBar<'a, T> =
    Parts<&'a mut [Row<T>], &'a mut [Gates<T>], &'a mut Gates<T>, &'a mut Row<T>>;

macro_rules! take_apart {
    ($name:ident, $theta:ty, $parts:ty, $chunks:ident, $split:ident, $split_last:ident) => {
        /// Takes θ apart.
        pub(super) fn $name<T>(self, theta: $theta) -> $parts {
            const RIGHT: &str = "θ has the length that the model declares";
            let rows = theta.$chunks::<WIDTH>().0;
            let (embedding, rows) = rows.$split(if self.embeds() { 3 } else { 0 });
            let (first, rows) = rows.$split(cell_rows(self.inputs()));
            let (second, rows) = rows.$split(cell_rows(HIDDEN));
            let cells = [(first, self.inputs()), (second, HIDDEN)].map(|(rows, inputs)| {
                let quads = rows.$chunks::<4>().0;
                let (input, quads) = quads.$split(inputs);
                let (hidden, quads) = quads.$split(HIDDEN);
                let (hidden_bias, quads) = quads.$split_last().expect(RIGHT);
                let (input_bias, _) = quads.$split_last().expect(RIGHT);
                CellParts {
                    input,
                    hidden,
                    input_bias,
                    hidden_bias,
                }
            });
            let (out_bias, rows) = rows.$split_last().expect(RIGHT);
            let (out, _) = rows.$split_last().expect(RIGHT);
            Parts {
                embedding,
                cells,
                out,
                out_bias,
            }
        }
    };
}

impl Architecture {
    take_apart!(
        weights_of,
        &[T],
        Weights<'_, T>,
        as_chunks,
        split_at,
        split_last
    );
    take_apart!(
        weights_bar_of,
        &mut [T],
        WeightsBar<'_, T>,
        as_chunks_mut,
        split_at_mut,
        split_last_mut
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers_of_parameters() {
        assert_eq!(Architecture::Dm.weights(), 11_551);
        assert_eq!(Architecture::RnnProp.weights(), 15_001);
    }

    #[test]
    fn every_weight_has_a_place_of_its_own() {
        for model in Architecture::ALL {
            let mut taken = vec![false; model.theta_len()];
            for tensor in model.tensors() {
                for index in 0..tensor.len() {
                    let place = tensor.place(index);
                    assert!(!taken[place], "{} {index}", tensor.name);
                    assert!(place % WIDTH < HIDDEN);
                    taken[place] = true;
                }
            }
        }
    }
}
