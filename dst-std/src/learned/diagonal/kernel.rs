//! The networks of all coordinates, forwards and backwards, vectorised and cut into pieces for threads.
//!
//! A block of coordinates goes through the network in stages, each a short loop over the block. A chain of operations from u to
//! p is so long that a processor cannot look ahead to the next coordinates; in a stage it can.

use dst_core::Point;
use pulp::{Simd, WithSimd};

use super::ROWS;
use crate::linalg::dispatch;
use crate::linalg::elementwise::{dot, one};
use crate::linalg::two_pass::{self, TwoPass, middle};
use crate::parallel::Share;

/// ln(e − 1): the softplus of it is one.
const UNIT: f64 = 0.541_324_854_612_918_1;

/// Some neighbouring coordinates: what is read.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    theta: [&'a [f64]; ROWS],
    x: &'a [f64],
    tau: f64,
    /// Number of the first coordinate.
    first: usize,
}

impl<'a> Part<'a> {
    pub(super) fn new(at: Point<'a, f64>) -> Self {
        let dim = at.x.len();
        Self {
            theta: std::array::from_fn(|row| &at.theta[row * dim..][..dim]),
            x: at.x,
            tau: at.t / (1.0 + at.t),
            first: 0,
        }
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        let theta = self.theta.map(|row| row.split_at(middle));
        let x = self.x.split_at(middle);
        let left = Self {
            theta: theta.map(|(left, _)| left),
            x: x.0,
            ..self
        };
        let right = Self {
            theta: theta.map(|(_, right)| right),
            x: x.1,
            first: self.first + middle,
            ..self
        };
        (left, right)
    }
}

/// Coordinates that are computed side by side, into arrays of their own: the compiler then knows that nothing it writes
/// overlaps what it reads, which it does not for this number of slices, and vectorises.
const LANES: usize = 32;

/// Coordinates in a block at the end of a part. The last one may not be full.
const FEW: usize = 8;

/// A block of coordinates: what is read.
struct Block<'a, const N: usize> {
    theta: [&'a [f64; N]; ROWS],
    x: [f64; N],
    g: [f64; N],
}

/// tanh u₁, tanh u₂ and s of a block.
struct Hidden<const N: usize> {
    z1: [f64; N],
    z2: [f64; N],
    s: [f64; N],
}

/// The entries of `v` from `first` on; there are enough of them.
#[inline(always)]
fn lanes<const N: usize>(v: &[f64], first: usize) -> &[f64; N] {
    v[first..].first_chunk().unwrap_or(&[0.0; N])
}

/// The entries of `v` from `first` on, which are fewer, with zeros behind them.
#[inline(always)]
fn padded<const N: usize>(v: &[f64], first: usize) -> [f64; N] {
    let mut padded = [0.0; N];
    let rest = &v[first..];
    padded[..rest.len()].copy_from_slice(rest);
    padded
}

impl Part<'_> {
    /// The block that begins at `first`.
    #[inline(always)]
    fn block<'a, const N: usize>(&'a self, g: &[f64], first: usize) -> Block<'a, N> {
        // Not `map`: whether that is inlined is a matter of luck.
        let mut theta = [&[0.0; N]; ROWS];
        for (to, row) in theta.iter_mut().zip(&self.theta) {
            *to = lanes(row, first);
        }
        Block {
            theta,
            x: *lanes(self.x, first),
            g: *lanes(g, first),
        }
    }

    /// The block that begins at `first` and is not full.
    #[inline(always)]
    fn last_block<'a>(
        &self,
        g: &[f64],
        first: usize,
        room: &'a mut [[f64; FEW]; ROWS],
    ) -> Block<'a, FEW> {
        for (to, row) in room.iter_mut().zip(&self.theta) {
            *to = padded(row, first);
        }
        let mut theta = [&[0.0; FEW]; ROWS];
        for (to, room) in theta.iter_mut().zip(&*room) {
            *to = room;
        }
        Block {
            theta,
            x: padded(self.x, first),
            g: padded(g, first),
        }
    }
}

/// Ends of the blocks of [`LANES`] and of [`FEW`] coordinates among `len`.
#[inline(always)]
fn ends(len: usize) -> (usize, usize) {
    (len / LANES * LANES, len / FEW * FEW)
}

impl<const N: usize> Block<'_, N> {
    #[inline(always)]
    fn network(&self, tau: f64) -> Hidden<N> {
        let Self { theta, x, g } = self;
        let [a1, b1, c1, e1, a2, b2, c2, e2, v1, v2] = *theta;
        let (mut z1, mut z2, mut s) = ([0.0; N], [0.0; N], [0.0; N]);
        for i in 0..N {
            let u = a1[i].mul_add(x[i], b1[i].mul_add(g[i], c1[i].mul_add(tau, e1[i])));
            z1[i] = one::tanh(u);
        }
        for i in 0..N {
            let u = a2[i].mul_add(x[i], b2[i].mul_add(g[i], c2[i].mul_add(tau, e2[i])));
            z2[i] = one::tanh(u);
        }
        for i in 0..N {
            s[i] = v1[i].mul_add(z1[i], v2[i].mul_add(z2[i], UNIT));
        }
        Hidden { z1, z2, s }
    }
}

/// e^{−|s|} of a block.
#[inline(always)]
fn exponentials<const N: usize>(s: &[f64; N]) -> [f64; N] {
    let mut e = [0.0; N];
    for i in 0..N {
        e[i] = one::exp_of_minus_size(s[i]);
    }
    e
}

#[inline(always)]
fn store<const N: usize>(to: &mut [f64], from: &[f64; N]) {
    match to.first_chunk_mut() {
        Some(whole) => *whole = *from,
        None => to.copy_from_slice(&from[..to.len()]),
    }
}

/// to ← to + a·b
#[inline(always)]
fn add_products<const N: usize>(to: &mut [f64], a: &[f64; N], b: &[f64; N]) {
    if let Some(whole) = to.first_chunk_mut::<N>() {
        for i in 0..N {
            whole[i] += a[i] * b[i];
        }
    } else {
        for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
            *to += a * b;
        }
    }
}

/// A second pass over Q, and what the first one found.
#[derive(Clone, Copy)]
pub(super) struct SecondPass<'a> {
    pub(super) operator: &'a dyn TwoPass,
    pub(super) resolved: &'a [f64],
}

/// A ← p·g
pub(super) struct Forward<'a> {
    pub(super) part: Part<'a>,
    /// If it is there, it computes g first.
    pub(super) product: Option<SecondPass<'a>>,
    pub(super) g: &'a mut [f64],
    pub(super) rate: &'a mut [f64],
}

impl WithSimd for &mut Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let len = self.rate.len();
        let (large, small) = ends(len);
        for first in (0..large).step_by(LANES) {
            let block = self.part.block::<LANES>(self.g, first);
            let rate = rates(&block, self.part.tau);
            store(&mut self.rate[first..], &rate);
        }
        for first in (large..small).step_by(FEW) {
            let block = self.part.block::<FEW>(self.g, first);
            let rate = rates(&block, self.part.tau);
            store(&mut self.rate[first..], &rate);
        }
        if small < len {
            let mut room = [[0.0; FEW]; ROWS];
            let block = self.part.last_block(self.g, small, &mut room);
            let rate = rates(&block, self.part.tau);
            store(&mut self.rate[small..], &rate);
        }
    }
}

/// p·g of a block.
#[inline(always)]
fn rates<const N: usize>(block: &Block<'_, N>, tau: f64) -> [f64; N] {
    let Hidden { s, .. } = block.network(tau);
    let e = exponentials(&s);
    let mut rates = [0.0; N];
    for i in 0..N {
        rates[i] = one::softplus_from(s[i], e[i]) * block.g[i];
    }
    rates
}

impl Forward<'_> {
    /// Writes A and returns J and xᵀg.
    pub(super) fn run(mut self, share: Share) -> [f64; 2] {
        let Some(middle) = middle(self.rate.len()) else {
            if let Some(SecondPass { operator, resolved }) = self.product {
                operator.finish(self.part.first, self.part.x, resolved, self.g);
            }
            dispatch(&mut self);
            return [dot(self.g, self.g), dot(self.part.x, self.g)];
        };
        let part = self.part.split_at(middle);
        let (g, rate) = (self.g.split_at_mut(middle), self.rate.split_at_mut(middle));
        let product = self.product;
        let half = |part, g, rate| Forward {
            part,
            product,
            g,
            rate,
        };
        let (left, right) = (half(part.0, g.0, rate.0), half(part.1, g.1, rate.1));
        let (left, right) = share.join(|share| left.run(share), |share| right.run(share));
        [left[0] + right[0], left[1] + right[1]]
    }
}

/// A first pass over Q, and where the moments of all parts go.
pub(super) struct FirstPass<'a> {
    pub(super) operator: &'a dyn TwoPass,
    pub(super) moments: &'a mut [f64],
}

/// The transpose, up to the product with Q.
pub(super) struct Backward<'a> {
    pub(super) part: Part<'a>,
    pub(super) g: &'a [f64],
    /// w
    pub(super) seed: &'a [f64],
    /// 2j and l
    pub(super) seeds: (f64, f64),
    pub(super) theta_bar: [&'a mut [f64]; ROWS],
    /// The vector that Q is applied to.
    pub(super) g_bar: &'a mut [f64],
    pub(super) x_bar: &'a mut [f64],
}

impl WithSimd for &mut Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let part = self.part;
        let len = self.g_bar.len();
        let (large, small) = ends(len);
        for first in (0..large).step_by(LANES) {
            let w = lanes::<LANES>(self.seed, first);
            self.block(first, &part.block(self.g, first), w);
        }
        for first in (large..small).step_by(FEW) {
            let w = lanes::<FEW>(self.seed, first);
            self.block(first, &part.block(self.g, first), w);
        }
        if small < len {
            let mut room = [[0.0; FEW]; ROWS];
            let block = part.last_block(self.g, small, &mut room);
            let w = padded(self.seed, small);
            self.block(small, &block, &w);
        }
    }
}

impl Backward<'_> {
    /// The block that begins at `first`, with its seeds.
    #[inline(always)]
    fn block<const N: usize>(&mut self, first: usize, block: &Block<'_, N>, w: &[f64; N]) {
        let w = *w;
        let (tau, (j2, l)) = (self.part.tau, self.seeds);
        let Hidden { z1, z2, s } = block.network(tau);
        let &Block { theta, x, g } = block;
        let [a1, b1, _, _, a2, b2, _, _, v1, v2] = theta;
        let e = exponentials(&s);
        let (mut p, mut q) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            p[i] = one::softplus_from(s[i], e[i]);
            q[i] = w[i] * g[i] * one::sigmoid_from(s[i], e[i]);
        }
        let (mut r1, mut r2) = ([0.0; N], [0.0; N]);
        let (mut g_out, mut x_out) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            r1[i] = q[i] * v1[i] * z1[i].mul_add(-z1[i], 1.0);
            r2[i] = q[i] * v2[i] * z2[i].mul_add(-z2[i], 1.0);
            x_out[i] = r1[i].mul_add(a1[i], r2[i].mul_add(a2[i], l * g[i]));
            let through_u = r1[i].mul_add(b1[i], r2[i].mul_add(b2[i], j2 * g[i]));
            g_out[i] = w[i].mul_add(p[i], through_u);
        }
        store(&mut self.g_bar[first..], &g_out);
        let ones = [1.0; N];
        add_products(&mut self.x_bar[first..], &x_out, &ones);
        let [a1, b1, c1, e1, a2, b2, c2, e2, v1, v2] = &mut self.theta_bar;
        for (r, [a, b, c, e]) in [(r1, [a1, b1, c1, e1]), (r2, [a2, b2, c2, e2])] {
            add_products(&mut a[first..], &r, &x);
            add_products(&mut b[first..], &r, &g);
            add_products(&mut c[first..], &r, &[tau; N]);
            add_products(&mut e[first..], &r, &ones);
        }
        add_products(&mut v1[first..], &q, &z1);
        add_products(&mut v2[first..], &q, &z2);
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        let part = self.part.split_at(middle);
        let (g, seed) = (self.g.split_at(middle), self.seed.split_at(middle));
        let g_bar = self.g_bar.split_at_mut(middle);
        let x_bar = self.x_bar.split_at_mut(middle);
        let mut right_rows = [const { None }; ROWS];
        let mut rows = right_rows.iter_mut();
        let left_rows = self.theta_bar.map(|row| {
            let (left, right) = row.split_at_mut(middle);
            if let Some(slot) = rows.next() {
                *slot = Some(right);
            }
            left
        });
        let left = Backward {
            part: part.0,
            g: g.0,
            seed: seed.0,
            seeds: self.seeds,
            theta_bar: left_rows,
            g_bar: g_bar.0,
            x_bar: x_bar.0,
        };
        let right = Backward {
            part: part.1,
            g: g.1,
            seed: seed.1,
            seeds: self.seeds,
            theta_bar: right_rows.map(Option::unwrap_or_default),
            g_bar: g_bar.1,
            x_bar: x_bar.1,
        };
        (left, right)
    }

    /// Adds to the bars of θ and x and writes the vector that Q is applied to. With an operator in two passes, makes the first pass over
    /// it too.
    pub(super) fn run(mut self, share: Share, first_pass: Option<FirstPass<'_>>) {
        let len = self.g_bar.len();
        let Some(middle) = middle(len) else {
            dispatch(&mut self);
            if let Some(FirstPass { operator, moments }) = first_pass {
                operator.measure(self.part.first, self.g_bar, moments);
            }
            return;
        };
        let (left, right) = self.split_at(middle);
        match first_pass {
            None => {
                share.join(
                    |share| left.run(share, None),
                    |share| right.run(share, None),
                );
            }
            Some(FirstPass { operator, moments }) => {
                let halves = two_pass::halves(moments, len, middle);
                let pass = |moments| Some(FirstPass { operator, moments });
                let passes = (pass(halves.0), pass(halves.1));
                share.join(
                    |share| left.run(share, passes.0),
                    |share| right.run(share, passes.1),
                );
                let (left, right) = two_pass::halves(moments, len, middle);
                two_pass::add(left, right, operator.moments_len());
            }
        }
    }
}
