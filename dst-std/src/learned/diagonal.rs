//! A learned diagonal preconditioner: for every coordinate a small network of its own, 3 → 2 → 1, ten parameters.
//!
//! With g = Qx and τ = t/(1 + t), coordinate by coordinate:
//!
//! u_j = a_j·x + b_j·g + c_j·τ + e_j (j = 1, 2),  s = ln(e − 1) + v₁·tanh u₁ + v₂·tanh u₂,  p = ln(1 + eˢ),  A = p·g,
//!
//! so θ = 0 gives p = 1, plain gradient flow. θ is stored by rows a₁ b₁ c₁ e₁ a₂ b₂ c₂ e₂ v₁ v₂, each as long as x. J = ‖Qx‖², f = ½xᵀQx.
//!
//! For a cotangent w of A, with q = w·g·σ(s) and r_j = q·v_j·(1 − tanh²u_j):
//! ā_j = r_j·x, b̄_j = r_j·g, c̄_j = r_j·τ, ē_j = r_j, v̄_j = q·tanh u_j, x̄ = r₁a₁ + r₂a₂ + Q(w·p + r₁b₁ + r₂b₂ + 2j·g) + l·g,
//! where j and l are the seeds of J and f. One product with Q in either direction: g is kept on the tape. The rest is
//! computed again, which is cheaper than to keep it.

use dst_core::{Bar, Cost, Dims, Point, Reading, Seed, System};
use pulp::{Arch, Simd, WithSimd};

use crate::data::random::normals;
use crate::linalg::elementwise::{dot, one};
use crate::linalg::{Operator, threads};
use crate::problems::quadratic::stream;

/// Parameters of one coordinate.
pub const ROWS: usize = 10;

/// ln(e − 1): the softplus of it is one.
const UNIT: f64 = 0.541_324_854_612_918_1;

/// Coordinates in a piece of work for one thread, at the most.
const PIECE: usize = 3072;

/// Gradient flow on ½xᵀQx, preconditioned by the networks.
#[derive(Clone, Debug)]
pub struct Diagonal<Q> {
    /// Q
    pub operator: Q,
}

/// Random parameters: standard deviation 0.5 inside the networks, 0.3 at their output.
pub fn parameters(dim: usize, seed: u64) -> Vec<f64> {
    let mut theta = normals(stream::of(seed, stream::PARAMETERS), ROWS * dim);
    for (i, theta) in theta.iter_mut().enumerate() {
        *theta *= if i < 8 * dim { 0.5 } else { 0.3 };
    }
    theta
}

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
struct Part<'a> {
    theta: [&'a [f64]; ROWS],
    x: &'a [f64],
    g: &'a [f64],
    tau: f64,
}

impl<'a> Part<'a> {
    fn new(at: Point<'a, f64>, g: &'a [f64]) -> Self {
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

/// Where to halve so many coordinates; `None` if they are few enough.
fn middle(len: usize) -> Option<usize> {
    (len > PIECE).then(|| (len / 2).next_multiple_of(LANES))
}

/// Coordinates that are computed side by side, into arrays of their own: the compiler then knows that nothing it writes
/// overlaps what it reads, which it does not of so many slices, and vectorises.
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
        let mut rows = self.theta.iter().zip(for_theta);
        let theta = std::array::from_fn(|_| {
            let (row, padding) = rows.next().expect("as many paddings as rows");
            lanes(row, first, padding)
        });
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
struct Forward<'a> {
    part: Part<'a>,
    rate: &'a mut [f64],
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
    fn run(self) -> [f64; 2] {
        let Self { part, rate } = self;
        let Some(middle) = middle(rate.len()) else {
            Arch::new().dispatch(Forward { part, rate });
            return [dot(part.g, part.g), dot(part.x, part.g)];
        };
        let (left, right) = part.split_at(middle);
        let (left_rate, right_rate) = rate.split_at_mut(middle);
        let half = |part, rate| move || Forward { part, rate }.run();
        let (left, right) = threads::join(half(left, left_rate), half(right, right_rate));
        [left[0] + right[0], left[1] + right[1]]
    }
}

/// The transpose, up to the product with Q.
struct Backward<'a> {
    part: Part<'a>,
    /// w
    seed: &'a [f64],
    /// 2j and l
    seeds: (f64, f64),
    theta_bar: [&'a mut [f64]; ROWS],
    /// What Q is to be applied to.
    g_bar: &'a mut [f64],
    x_bar: &'a mut [f64],
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
    fn run(self) {
        let Some(middle) = middle(self.g_bar.len()) else {
            Arch::new().dispatch(self);
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
        threads::join(|| left.run(), || right.run());
    }
}

impl<Q: Operator> System<f64> for Diagonal<Q> {
    fn dims(&self) -> Dims {
        let dim = self.operator.dim();
        Dims::new(dim, ROWS * dim)
            .with_tape(dim)
            .with_scratch(2 * dim + self.operator.scratch_len())
    }

    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        tape: &mut [f64],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        let dim = self.operator.dim();
        self.operator.apply(at.x, tape, &mut scratch[2 * dim..]);
        let part = Part::new(at, tape);
        let [criterion, product] = Forward { part, rate }.run();
        Reading {
            criterion,
            loss: 0.5 * product,
        }
    }

    fn pullback(
        &self,
        at: Point<'_, f64>,
        tape: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        scratch: &mut [f64],
    ) {
        let dim = self.operator.dim();
        let (g_bar, rest) = scratch.split_at_mut(dim);
        let (product, operator_scratch) = rest.split_at_mut(dim);
        let seeds = (2.0 * seed.criterion, seed.loss);
        let mut rows = bar.theta.chunks_exact_mut(dim.max(1));
        Backward {
            part: Part::new(at, tape),
            seed: seed.rate,
            seeds,
            theta_bar: std::array::from_fn(|_| rows.next().unwrap_or_default()),
            g_bar,
            x_bar: bar.x,
        }
        .run();
        self.operator.apply(g_bar, product, operator_scratch);
        for (x, &p) in bar.x.iter_mut().zip(product.iter()) {
            *x += p;
        }
    }

    /// As much arithmetic as the rate and half, but the same single product with Q.
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(1),
            pushforward: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Q = diag(1, 2, 3, …)
    struct Scale(usize);

    impl Operator for Scale {
        fn dim(&self) -> usize {
            self.0
        }
        fn apply(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
            for (i, (out, x)) in out.iter_mut().zip(x).enumerate() {
                *out = (1 + i % 9) as f64 * x;
            }
        }
    }

    /// w·A + j·J + l·f by plain arithmetic, coordinate by coordinate.
    fn plain(dim: usize, theta: &[f64], x: &[f64], t: f64, (w, j, l): (&[f64], f64, f64)) -> f64 {
        let tau = t / (1.0 + t);
        (0..dim)
            .map(|i| {
                let [a1, b1, c1, e1, a2, b2, c2, e2, v1, v2]: [f64; ROWS] =
                    std::array::from_fn(|row| theta[row * dim + i]);
                let g = (1 + i % 9) as f64 * x[i];
                let u = |a: f64, b: f64, c: f64, e: f64| (a * x[i] + b * g + c * tau + e).tanh();
                let s = (1f64.exp() - 1.0).ln() + v1 * u(a1, b1, c1, e1) + v2 * u(a2, b2, c2, e2);
                w[i] * s.exp().ln_1p() * g + j * g * g + l * 0.5 * x[i] * g
            })
            .sum()
    }

    #[test]
    fn rate_and_pullback_are_those_of_plain_arithmetic() {
        // One lane, full lanes, one more, one piece, several.
        for dim in [1, 2, 31, 32, 33, PIECE + 1, 2 * PIECE + 57] {
            let system = Diagonal {
                operator: Scale(dim),
            };
            let dims = system.dims();
            let (theta, x, w) = (parameters(dim, 4), normals(5, dim), normals(6, dim));
            let (t, j, l) = (0.7, 0.3, -0.8);
            let at = Point {
                theta: &theta,
                x: &x,
                t,
            };
            let (mut rate, mut tape) = (vec![f64::NAN; dim], vec![f64::NAN; dims.tape]);
            let mut scratch = vec![f64::NAN; dims.scratch];
            let reading = system.rate(at, &mut rate, &mut tape, &mut scratch);
            let ours = dot(&w, &rate) + j * reading.criterion + l * reading.loss;
            let seeds = (&w[..], j, l);
            let exact = plain(dim, &theta, &x, t, seeds);
            let size = dim as f64;
            assert!(
                (ours - exact).abs() < 1e-12 * size,
                "dim {dim}: {ours} {exact}"
            );

            let (mut theta_bar, mut x_bar) = (vec![1.0; theta.len()], vec![1.0; dim]);
            let seed = Seed {
                rate: &w,
                criterion: j,
                loss: l,
            };
            let bar = Bar {
                theta: &mut theta_bar,
                x: &mut x_bar,
            };
            system.pullback(at, &tape, seed, bar, &mut scratch);
            let (d_theta, d_x) = (normals(7, theta.len()), normals(8, dim));
            // What was there is added to.
            let added =
                |bar: &[f64], d: &[f64]| bar.iter().zip(d).map(|(b, d)| (b - 1.0) * d).sum::<f64>();
            let h = 1e-6;
            let moved = |v: &[f64], d: &[f64], h: f64| -> Vec<f64> {
                v.iter().zip(d).map(|(v, d)| v + h * d).collect()
            };
            let at = |h: f64| plain(dim, &moved(&theta, &d_theta, h), &x, t, seeds);
            let (numeric, found) = ((at(h) - at(-h)) / (2.0 * h), added(&theta_bar, &d_theta));
            assert!(
                (numeric - found).abs() < 1e-7 * size,
                "θ, dim {dim}: {found} {numeric}"
            );
            let at = |h: f64| plain(dim, &theta, &moved(&x, &d_x, h), t, seeds);
            let (numeric, found) = ((at(h) - at(-h)) / (2.0 * h), added(&x_bar, &d_x));
            assert!(
                (numeric - found).abs() < 1e-7 * size,
                "x, dim {dim}: {found} {numeric}"
            );
        }
    }

    #[test]
    fn no_parameters_are_plain_gradient_flow() {
        let system = Diagonal { operator: Scale(5) };
        let (x, theta) = (normals(5, 5), vec![0.0; 50]);
        let (mut rate, mut tape, mut scratch) = (vec![0.0; 5], vec![0.0; 5], vec![0.0; 10]);
        let at = Point {
            theta: &theta,
            x: &x,
            t: 3.0,
        };
        system.rate(at, &mut rate, &mut tape, &mut scratch);
        for (rate, g) in rate.iter().zip(&tape) {
            assert!((rate - g).abs() < 1e-15 * g.abs().max(1.0), "{rate} {g}");
        }
    }
}
