//! The problems that optimisers are trained on: logistic regression on random data, dense, in either precision.
//!
//! f(x) = (1/n)·Σ ln(1 + e^{zᵢ}) − yᵢzᵢ with z = Wx and labels y ∈ {0, 1}: the mean cross entropy. W has independent normal
//! entries; the labels come from a sparse x*, some of them flipped. With fewer examples than variables the data can be
//! separated, and inf f = 0 is not attained; with many more there is a minimum.
//!
//! One pass over W gives f and ∇f: row i is still in the cache when its residual σ(zᵢ) − yᵢ is known.

use dst_core::Objective;
use pulp::{Simd, WithSimd};

use crate::linalg::{Real, dispatch, largest_eigenvalue};
use crate::problems::minimise;
use crate::random::{fill_normals_from, normal, uniform};

/// Size and scale of problems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Family {
    /// Variables, d.
    pub dim: usize,
    /// Examples, n.
    pub samples: usize,
    /// Standard deviation of the entries of W. As the steps of a network are bounded, this is how far a step can reach.
    pub spread: f64,
}

/// Streams of random numbers from which the problems of set `j` are made: the convention of the reference scripts.
const STREAM: u64 = 5000;
const SPARSE_STREAM: u64 = 505_001;
/// Probability that a coordinate of x* is not zero, and that a label is flipped.
const DENSITY: f64 = 0.1;
const FLIPPED: f64 = 0.05;

/// Rows that go through the pass together.
const ROWS: usize = 8;
/// Rows of W are filled up with zeros to a multiple of this: whole vectors of any instruction set.
const PAD: usize = 16;
/// Addresses that differ by multiples of this share their places in the first-level cache.
const PAGE: usize = 4096;

/// A σ(s) below this counts as zero. Products with numbers that have left the normal range take a processor a hundred times as long,
/// and on large problems most examples come to that.
const NEGLIGIBLE: f64 = 1e-30;

/// One problem.
#[derive(Clone, Debug)]
pub struct Task<T> {
    family: Family,
    stride: usize,
    /// W, row by row, filled up with zeros to whole vectors and to a multiple of [`ROWS`].
    data: Vec<T>,
    labels: Vec<T>,
    /// x*
    truth: Vec<f64>,
}

impl<T: Real> Task<T> {
    /// Room for a problem of this family.
    pub fn new(family: Family) -> Self {
        let wide = family.dim.next_multiple_of(PAD);
        // Rows that lie a multiple of a page apart would fight for the same places of the first-level cache.
        let stride = if (wide * size_of::<T>()).is_multiple_of(PAGE) {
            wide + PAD
        } else {
            wide
        };
        Self {
            family,
            stride,
            data: vec![T::ZERO; stride * family.samples.next_multiple_of(ROWS)],
            labels: vec![T::ZERO; family.samples],
            truth: vec![0.0; family.dim],
        }
    }

    /// Becomes problem number `index` of set `set`. Allocates nothing.
    pub fn draw(&mut self, set: u64, index: usize) {
        let Family {
            dim,
            samples,
            spread,
        } = self.family;
        // Sets are numbered by products that may have wrapped around.
        let stream = |first: u64| first.wrapping_add(set.wrapping_mul(3));
        for (l, truth) in self.truth.iter_mut().enumerate() {
            let at = (index * dim + l) as u64;
            let there = uniform(stream(STREAM + 1), at) < DENSITY;
            *truth = if there {
                normal(stream(SPARSE_STREAM), at)
            } else {
                0.0
            };
        }
        let rows = self.data.chunks_exact_mut(self.stride.max(1));
        for (i, (row, label)) in rows.zip(&mut self.labels).enumerate() {
            let at = index * samples + i;
            let mut z = 0.0;
            let mut numbers = [0.0; 512];
            let pieces = row[..dim].chunks_mut(numbers.len());
            for ((piece, row), truth) in pieces.enumerate().zip(self.truth.chunks(512)) {
                let numbers = &mut numbers[..row.len()];
                fill_normals_from(stream(STREAM), (at * dim + piece * 512) as u64, numbers);
                for ((to, &w), &truth) in row.iter_mut().zip(&*numbers).zip(truth) {
                    *to = T::from_f64(spread * w);
                    z += w * truth;
                }
            }
            let flipped = uniform(stream(STREAM + 2), at as u64) < FLIPPED;
            *label = if (z >= 0.0) == flipped {
                T::ZERO
            } else {
                T::ONE
            };
        }
    }

    /// λ_max of the Hessian at x = 0, which is WᵀW/(4n): the step size of the classical methods is its reciprocal.
    pub fn curvature_at_zero(&self) -> f64 {
        let tape = vec![T::HALF; self.family.samples];
        let mut scratch = vec![T::ZERO; self.scratch_len()];
        let (mut single, mut product) = (
            vec![T::ZERO; self.family.dim],
            vec![T::ZERO; self.family.dim],
        );
        largest_eigenvalue(self.family.dim, |v, out| {
            for (to, &v) in single.iter_mut().zip(v) {
                *to = T::from_f64(v);
            }
            product.fill(T::ZERO);
            self.add_hessian_vector(&[], &single, &tape, &mut product, &mut scratch);
            for (to, from) in out.iter_mut().zip(&product) {
                *to = from.to_f64();
            }
        })
    }
}

impl Family {
    /// A family with this many variables and examples, and entries of standard deviation 1.
    pub const fn new(dim: usize, samples: usize) -> Self {
        Self {
            dim,
            samples,
            spread: 1.0,
        }
    }

    /// inf f of a problem of a set. Fewer random examples than variables can always be separated.
    pub(super) fn infimum(self, set: u64, index: usize) -> f64 {
        if self.samples <= self.dim {
            return 0.0;
        }
        let mut task = Task::new(self);
        task.draw(set, index);
        minimise(&task, &vec![0.0; self.dim], 1e-6).f
    }
}

/// Turns z of some rows, the first of which has this number, into what multiplies the rows in the second half of a pass. (A
/// closure would not be compiled for the instruction set at hand.)
trait Weigh<T> {
    fn weigh(&mut self, first: usize, z: [T; ROWS]) -> [T; ROWS];
}

/// For the gradient: residuals (σ(z) − y)/n. Keeps σ(s) and sums up n·f, where s = z for y = 0 and −z for y = 1: f = softplus(s) and
/// |σ(z) − y| = σ(s), without the differences that would leave nothing of a small f.
struct Residuals<'a, T> {
    labels: &'a [T],
    slopes: &'a mut [T],
    share: T,
    sum: T,
}

impl<T: Real> Weigh<T> for Residuals<'_, T> {
    #[inline(always)]
    fn weigh(&mut self, first: usize, z: [T; ROWS]) -> [T; ROWS] {
        let mut signs = [T::ONE; ROWS];
        for (sign, &y) in signs.iter_mut().zip(&self.labels[first..]) {
            *sign = T::ONE - T::TWO * y;
        }
        let (mut values, mut slopes) = ([T::ZERO; ROWS], [T::ZERO; ROWS]);
        for i in 0..ROWS {
            (values[i], slopes[i]) = T::softplus_and_slope(signs[i] * z[i]);
        }
        let mut weights = [T::ZERO; ROWS];
        for (i, slope) in self.slopes[first..].iter_mut().enumerate().take(ROWS) {
            self.sum += values[i];
            *slope = if slopes[i] > T::from_f64(NEGLIGIBLE) {
                slopes[i]
            } else {
                T::ZERO
            };
            weights[i] = self.share * signs[i] * *slope;
        }
        weights
    }
}

/// For a product with the Hessian: σ(1 − σ)·z/n.
struct Curvatures<'a, T> {
    slopes: &'a [T],
    share: T,
}

impl<T: Real> Weigh<T> for Curvatures<'_, T> {
    #[inline(always)]
    fn weigh(&mut self, first: usize, z: [T; ROWS]) -> [T; ROWS] {
        let mut weights = [T::ZERO; ROWS];
        for ((weight, z), &slope) in weights.iter_mut().zip(z).zip(&self.slopes[first..]) {
            *weight = self.share * slope * (T::ONE - slope) * z;
        }
        weights
    }
}

/// to ← Wᵀ·weigh(W·x)
struct Pass<'a, T, F> {
    data: &'a [T],
    x: &'a [T],
    to: &'a mut [T],
    weigh: &'a mut F,
}

impl<T: Real, F: Weigh<T>> WithSimd for Pass<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { data, x, to, weigh } = self;
        let stride = x.len();
        let (x, to) = (T::vectors::<S>(x), T::vectors_mut::<S>(to));
        for (block, data) in data.chunks_exact((ROWS * stride).max(1)).enumerate() {
            let mut rows = [x; ROWS];
            for (row, data) in rows.iter_mut().zip(data.chunks_exact(stride)) {
                *row = &T::vectors::<S>(data)[..x.len()];
            }
            let mut sums = [T::splat(simd, T::ZERO); ROWS];
            for k in 0..x.len() {
                for i in 0..ROWS {
                    sums[i] = T::mul_add(simd, rows[i][k], x[k], sums[i]);
                }
            }
            let mut z = [T::ZERO; ROWS];
            for i in 0..ROWS {
                z[i] = T::sum(simd, sums[i]);
            }
            let weights = weigh.weigh(block * ROWS, z);
            let mut factors = [T::splat(simd, T::ZERO); ROWS];
            for i in 0..ROWS {
                factors[i] = T::splat(simd, weights[i]);
            }
            for (k, to) in to.iter_mut().enumerate() {
                let (mut even, mut odd) = (*to, T::splat(simd, T::ZERO));
                for i in (0..ROWS).step_by(2) {
                    even = T::mul_add(simd, factors[i], rows[i][k], even);
                    odd = T::mul_add(simd, factors[i + 1], rows[i + 1][k], odd);
                }
                *to = T::plus(simd, even, odd);
            }
        }
    }
}

impl<T: Real> Objective<T> for Task<T> {
    fn dim(&self) -> usize {
        self.family.dim
    }

    /// σ(s) of every row.
    fn tape_len(&self) -> usize {
        self.family.samples
    }

    fn scratch_len(&self) -> usize {
        2 * self.stride
    }

    fn value_gradient(&self, x: &[T], gradient: &mut [T], tape: &mut [T], scratch: &mut [T]) -> T {
        let (wide, sum) = self.widen(x, scratch);
        let mut residuals = Residuals {
            labels: &self.labels,
            slopes: tape,
            share: T::ONE / T::from_count(self.family.samples),
            sum: T::ZERO,
        };
        dispatch(Pass {
            data: &self.data,
            x: wide,
            to: sum,
            weigh: &mut residuals,
        });
        gradient.copy_from_slice(&sum[..gradient.len()]);
        residuals.share * residuals.sum
    }

    fn add_hessian_vector(&self, _: &[T], v: &[T], tape: &[T], out: &mut [T], scratch: &mut [T]) {
        let (wide, sum) = self.widen(v, scratch);
        let mut curvatures = Curvatures {
            slopes: tape,
            share: T::ONE / T::from_count(self.family.samples),
        };
        dispatch(Pass {
            data: &self.data,
            x: wide,
            to: sum,
            weigh: &mut curvatures,
        });
        for (out, sum) in out.iter_mut().zip(&*sum) {
            *out += *sum;
        }
    }
}

impl<T: Real> Task<T> {
    /// `x` filled up with zeros, and zeros for a sum.
    fn widen<'s>(&self, x: &[T], scratch: &'s mut [T]) -> (&'s [T], &'s mut [T]) {
        let (wide, sum) = scratch.split_at_mut(self.stride);
        let (head, tail) = wide.split_at_mut(x.len());
        head.copy_from_slice(x);
        tail.fill(T::ZERO);
        let sum = &mut sum[..self.stride];
        sum.fill(T::ZERO);
        (wide, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<T: Real>(family: Family, x: &[f64]) -> (f64, Vec<f64>) {
        let mut task = Task::<T>::new(family);
        task.draw(7, 1);
        let x: Vec<T> = x.iter().map(|&x| T::from_f64(x)).collect();
        let mut gradient = vec![T::ZERO; family.dim];
        let mut tape = vec![T::ZERO; task.tape_len()];
        let mut scratch = vec![T::ZERO; task.scratch_len()];
        let f = task.value_gradient(&x, &mut gradient, &mut tape, &mut scratch);
        let gradient = gradient.into_iter().map(T::to_f64).collect();
        (f.to_f64(), gradient)
    }

    /// Far on the right side of all examples f and its gradient are tiny, but known to the same number of digits.
    #[test]
    fn a_small_loss_keeps_its_digits() {
        let family = Family::new(24, 6);
        // Downhill for a while, in double precision.
        let mut x = vec![0.0; 24];
        let mut seen = 0;
        for _ in 0..400 {
            let (f, gradient) = at::<f64>(family, &x);
            let (single, slopes) = at::<f32>(family, &x);
            let size = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            if (1e-12..1e-6).contains(&f) {
                seen += 1;
                let error = (single - f).abs() / f;
                assert!(error < 1e-4, "f = {f:e}, {single:e}");
                for (g, slope) in gradient.iter().zip(&slopes) {
                    assert!((g - slope).abs() < 1e-4 * size, "{g:e} {slope:e} at {f:e}");
                }
            }
            for (x, g) in x.iter_mut().zip(&gradient) {
                *x -= 0.3 * g / size;
            }
        }
        assert!(seen > 10, "{seen}");
    }
}
