//! The networks of all coordinates, forwards and backwards, vectorised and cut into pieces for threads.

use dst_core::Point;
use pulp::{Simd, WithSimd};

use super::ROWS;
use crate::linalg::dispatch;
use crate::linalg::elementwise::{dot, one};
use crate::parallel;

/// ln(e − 1): the softplus of it is one.
const UNIT: f64 = 0.541_324_854_612_918_1;

/// Coordinates in a piece of work for one thread, at the most.
pub(super) const PIECE: usize = 3072;

/// One coordinate, evaluated: tanh u₁, tanh u₂ and s.
#[inline(always)]
fn network(theta: [f64; ROWS], x: f64, g: f64, tau: f64) -> [f64; 3] {
    let [a1, b1, c1, e1, a2, b2, c2, e2, v1, v2] = theta;
    let z1 = one::tanh(a1.mul_add(x, b1.mul_add(g, c1.mul_add(tau, e1))));
    let z2 = one::tanh(a2.mul_add(x, b2.mul_add(g, c2.mul_add(tau, e2))));
    [z1, z2, v1.mul_add(z1, v2.mul_add(z2, UNIT))]
}

/// Some neighbouring coordinates: what is read.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    theta: [&'a [f64]; ROWS],
    x: &'a [f64],
    g: &'a [f64],
    tau: f64,
}

impl<'a> Part<'a> {
    pub(super) fn new(at: Point<'a, f64>, g: &'a [f64]) -> Self {
        let dim = at.x.len();
        Self {
            theta: std::array::from_fn(|row| &at.theta[row * dim..][..dim]),
            x: at.x,
            g,
            tau: at.t / (1.0 + at.t),
        }
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        let theta = self.theta.map(|row| row.split_at(middle));
        let (x, g) = (self.x.split_at(middle), self.g.split_at(middle));
        let half = |theta, x, g| Self {
            theta,
            x,
            g,
            ..self
        };
        (
            half(theta.map(|(left, _)| left), x.0, g.0),
            half(theta.map(|(_, right)| right), x.1, g.1),
        )
    }
}

/// The index at which to halve the coordinates; `None` if they are few enough.
fn middle(len: usize) -> Option<usize> {
    (len > PIECE).then(|| (len / 2).next_multiple_of(LANES))
}

/// Coordinates that are computed side by side, into arrays of their own: the compiler then knows that nothing it writes
/// overlaps what it reads, which it does not for this number of slices, and vectorises.
const LANES: usize = 32;
type Lanes = [f64; LANES];

/// Lanes of θ, x and g.
struct Block<'a> {
    theta: [&'a Lanes; ROWS],
    x: &'a Lanes,
    g: &'a Lanes,
}

/// Room for the last lanes of a part, which may not be full.
type Padding = [Lanes; ROWS + 3];
const NO_PADDING: Padding = [[0.0; LANES]; ROWS + 3];
const NO_LANES: &Lanes = &[0.0; LANES];

/// The lanes of `v` from `first` on: where they are, or copied with zeros behind them.
#[inline(always)]
fn lanes<'a>(v: &'a [f64], first: usize, padding: &'a mut Lanes) -> &'a Lanes {
    let rest = &v[first..];
    match rest.first_chunk() {
        Some(whole) => whole,
        None => {
            padding[..rest.len()].copy_from_slice(rest);
            padding
        }
    }
}

impl Part<'_> {
    /// The lanes from `first` on, and those of `w`.
    #[inline(always)]
    fn block<'a>(
        &'a self,
        w: &'a [f64],
        first: usize,
        padding: &'a mut Padding,
    ) -> (Block<'a>, &'a Lanes) {
        let [for_theta @ .., for_x, for_g, for_w] = padding;
        // Not `from_fn`: whether that is inlined is a matter of luck.
        let mut theta = [NO_LANES; ROWS];
        for ((to, row), padding) in theta.iter_mut().zip(&self.theta).zip(for_theta) {
            *to = lanes(row, first, padding);
        }
        let block = Block {
            theta,
            x: lanes(self.x, first, for_x),
            g: lanes(self.g, first, for_g),
        };
        (block, lanes(w, first, for_w))
    }
}

#[inline(always)]
fn store(to: &mut [f64], from: &Lanes) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

#[inline(always)]
fn add(to: &mut [f64], from: &Lanes) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// The parameters of one coordinate.
#[inline(always)]
fn column(theta: &[&Lanes; ROWS], i: usize) -> [f64; ROWS] {
    let [a1, b1, c1, e1, a2, b2, c2, e2, v1, v2] = theta;
    [
        a1[i], b1[i], c1[i], e1[i], a2[i], b2[i], c2[i], e2[i], v1[i], v2[i],
    ]
}

/// A ← p·g
pub(super) struct Forward<'a> {
    pub(super) part: Part<'a>,
    pub(super) rate: &'a mut [f64],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { part, rate } = self;
        let mut padding = NO_PADDING;
        for first in (0..rate.len()).step_by(LANES) {
            let (Block { theta, x, g }, _) = part.block(part.g, first, &mut padding);
            let mut out = [0.0; LANES];
            for i in 0..LANES {
                let [_, _, s] = network(column(&theta, i), x[i], g[i], part.tau);
                out[i] = one::softplus(s) * g[i];
            }
            store(&mut rate[first..], &out);
        }
    }
}

impl Forward<'_> {
    /// Writes A and returns J and xᵀg.
    pub(super) fn run(self) -> [f64; 2] {
        let Self { part, rate } = self;
        let Some(middle) = middle(rate.len()) else {
            dispatch(Forward { part, rate });
            return [dot(part.g, part.g), dot(part.x, part.g)];
        };
        let (left, right) = part.split_at(middle);
        let (left_rate, right_rate) = rate.split_at_mut(middle);
        let half = |part, rate| move || Forward { part, rate }.run();
        let (left, right) = parallel::join(half(left, left_rate), half(right, right_rate));
        [left[0] + right[0], left[1] + right[1]]
    }
}

/// The transpose, up to the product with Q.
pub(super) struct Backward<'a> {
    pub(super) part: Part<'a>,
    /// w
    pub(super) seed: &'a [f64],
    /// 2j and l
    pub(super) seeds: (f64, f64),
    pub(super) theta_bar: [&'a mut [f64]; ROWS],
    /// The vectors that Q is applied to.
    pub(super) g_bar: &'a mut [f64],
    pub(super) x_bar: &'a mut [f64],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self {
            part,
            seed,
            seeds: (j2, l),
            mut theta_bar,
            g_bar,
            x_bar,
        } = self;
        let mut padding = NO_PADDING;
        for first in (0..g_bar.len()).step_by(LANES) {
            let (Block { theta, x, g }, w) = part.block(seed, first, &mut padding);
            let (mut theta_out, mut x_out, mut g_out) =
                ([[0.0; LANES]; ROWS], [0.0; LANES], [0.0; LANES]);
            for i in 0..LANES {
                let (x, g, w) = (x[i], g[i], w[i]);
                let theta = column(&theta, i);
                let [z1, z2, s] = network(theta, x, g, part.tau);
                let (p, slope) = one::softplus_and_slope(s);
                let [a1, b1, _, _, a2, b2, _, _, v1, v2] = theta;
                let q = w * g * slope;
                let r1 = q * v1 * z1.mul_add(-z1, 1.0);
                let r2 = q * v2 * z2.mul_add(-z2, 1.0);
                theta_out[0][i] = r1 * x;
                theta_out[1][i] = r1 * g;
                theta_out[2][i] = r1 * part.tau;
                theta_out[3][i] = r1;
                theta_out[4][i] = r2 * x;
                theta_out[5][i] = r2 * g;
                theta_out[6][i] = r2 * part.tau;
                theta_out[7][i] = r2;
                theta_out[8][i] = q * z1;
                theta_out[9][i] = q * z2;
                x_out[i] = r1.mul_add(a1, r2.mul_add(a2, l * g));
                g_out[i] = w.mul_add(p, r1.mul_add(b1, r2.mul_add(b2, j2 * g)));
            }
            store(&mut g_bar[first..], &g_out);
            add(&mut x_bar[first..], &x_out);
            for (bar, out) in theta_bar.iter_mut().zip(&theta_out) {
                add(&mut bar[first..], out);
            }
        }
    }
}

impl Backward<'_> {
    pub(super) fn run(self) {
        let Some(middle) = middle(self.g_bar.len()) else {
            dispatch(self);
            return;
        };
        let Self {
            part,
            seed,
            seeds,
            theta_bar,
            g_bar,
            x_bar,
        } = self;
        let part = part.split_at(middle);
        let seed = seed.split_at(middle);
        let (g_bar, x_bar) = (g_bar.split_at_mut(middle), x_bar.split_at_mut(middle));
        let mut right_rows = [const { None }; ROWS];
        let mut rows = right_rows.iter_mut();
        let left_rows = theta_bar.map(|row| {
            let (left, right) = row.split_at_mut(middle);
            if let Some(slot) = rows.next() {
                *slot = Some(right);
            }
            left
        });
        let right_rows = right_rows.map(Option::unwrap_or_default);
        let left = Backward {
            part: part.0,
            seed: seed.0,
            seeds,
            theta_bar: left_rows,
            g_bar: g_bar.0,
            x_bar: x_bar.0,
        };
        let right = Backward {
            part: part.1,
            seed: seed.1,
            seeds,
            theta_bar: right_rows,
            g_bar: g_bar.1,
            x_bar: x_bar.1,
        };
        parallel::join(|| left.run(), || right.run());
    }
}
