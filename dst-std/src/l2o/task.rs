//! The problems that optimisers are trained on: logistic regression on random data, dense, in either precision.
//!
//! f(x) = (1/n)·Σ ln(1 + e^{zᵢ}) − yᵢzᵢ with z = Wx and labels y ∈ {0, 1}: the mean cross entropy. W has independent normal
//! entries; the labels come from a sparse x*, some of them flipped. With fewer examples than variables the data can be
//! separated, and inf f = 0 is not attained; with many more there is a minimum.
//!
//! One pass over W gives f and ∇f, at one point or at several.

use dst_core::Objective;

use super::rows::{Curvatures, Pass, ROWS, Residuals, Room};
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

/// Rows of W are filled up with zeros to a multiple of this: whole vectors of any instruction set.
const PAD: usize = 16;
/// Addresses that differ by multiples of this share their places in the first-level cache.
const PAGE: usize = 4096;

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
        let mut residuals = Residuals::new(&self.labels, tape);
        dispatch(Pass {
            data: &self.data,
            stride: self.stride,
            points: wide,
            sums: sum,
            weigh: std::slice::from_mut(&mut residuals),
            rooms: &mut [Room::new()],
        });
        gradient.copy_from_slice(&sum[..gradient.len()]);
        residuals.mean()
    }

    fn add_hessian_vector(&self, _: &[T], v: &[T], tape: &[T], out: &mut [T], scratch: &mut [T]) {
        let (wide, sum) = self.widen(v, scratch);
        dispatch(Pass {
            data: &self.data,
            stride: self.stride,
            points: wide,
            sums: sum,
            weigh: &mut [Curvatures::new(tape)],
            rooms: &mut [Room::new()],
        });
        for (out, sum) in out.iter_mut().zip(&*sum) {
            *out += *sum;
        }
    }
}

/// Points of problems of a family, with room for f and ∇f at all of them.
#[derive(Clone, Debug)]
pub(super) struct Points<T> {
    dim: usize,
    stride: usize,
    /// One behind the other, each filled up with zeros.
    at: Vec<T>,
    gradients: Vec<T>,
    values: Vec<T>,
    slopes: Vec<T>,
    rooms: Vec<Room<T>>,
}

impl<T: Real> Points<T> {
    /// `count` points of problems of this shape, all zero.
    pub(super) fn new(task: &Task<T>, count: usize) -> Self {
        Self {
            dim: task.family.dim,
            stride: task.stride,
            at: vec![T::ZERO; count * task.stride],
            gradients: vec![T::ZERO; count * task.stride],
            values: vec![T::ZERO; count],
            slopes: vec![T::ZERO; count * task.family.samples],
            rooms: vec![Room::new(); count],
        }
    }

    /// Moves all points to zero.
    pub(super) fn clear(&mut self) {
        self.at.fill(T::ZERO);
    }

    /// A point, to be moved, and f and ∇f where it was when they were last computed.
    pub(super) fn point(&mut self, number: usize) -> (&mut [T], T, &[T]) {
        let first = number * self.stride;
        (
            &mut self.at[first..][..self.dim],
            self.values[number],
            &self.gradients[first..][..self.dim],
        )
    }

    /// The same for two points that follow one another.
    pub(super) fn pair(&mut self, number: usize) -> [(&mut [T], T, &[T]); 2] {
        let first = number * self.stride;
        let (a, b) = self.at[first..].split_at_mut(self.stride);
        let (g_a, g_b) = self.gradients[first..].split_at(self.stride);
        let dim = self.dim;
        [
            (&mut a[..dim], self.values[number], &g_a[..dim]),
            (&mut b[..dim], self.values[number + 1], &g_b[..dim]),
        ]
    }
}

impl<T: Real> Task<T> {
    /// f and ∇f at all points, by one pass over W. Each has the bits of [`value_gradient`](Objective::value_gradient) at that
    /// point alone.
    pub(super) fn values_gradients(&self, points: &mut Points<T>) {
        let samples = self.family.samples.max(1);
        points.gradients.fill(T::ZERO);
        let slopes = points.slopes.chunks_exact_mut(samples);
        let mut residuals: Vec<_> = slopes
            .map(|slopes| Residuals::new(&self.labels, slopes))
            .collect();
        dispatch(Pass {
            data: &self.data,
            stride: self.stride,
            points: &points.at,
            sums: &mut points.gradients,
            weigh: &mut residuals,
            rooms: &mut points.rooms,
        });
        for (value, residuals) in points.values.iter_mut().zip(&residuals) {
            *value = residuals.mean();
        }
    }

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

    #[test]
    fn several_points_have_the_bits_of_each_alone() {
        fn check<T: Real>(family: Family) {
            let mut task = Task::<T>::new(family);
            task.draw(7, 1);
            for count in 1..=5 {
                let mut points = Points::new(&task, count);
                for number in 0..count {
                    let at = points.point(number).0;
                    for (l, x) in at.iter_mut().enumerate() {
                        *x = T::from_f64(0.1 * uniform(number as u64, l as u64));
                    }
                }
                task.values_gradients(&mut points);
                for number in 0..count {
                    let (at, value, gradient) = points.point(number);
                    let mut alone = vec![T::ZERO; family.dim];
                    let mut tape = vec![T::ZERO; task.tape_len()];
                    let mut scratch = vec![T::ZERO; task.scratch_len()];
                    let f = task.value_gradient(at, &mut alone, &mut tape, &mut scratch);
                    assert!(f > T::ZERO && alone.iter().any(|&g| g != T::ZERO));
                    assert!(
                        value == f && gradient == alone,
                        "{family:?} {number} of {count}"
                    );
                }
            }
        }
        // Whole vectors and not, whole blocks of rows and not, and a page of the cache.
        for family in [(64, 32), (37, 11), (1024, 9)].map(|(d, n)| Family::new(d, n)) {
            check::<f32>(family);
            check::<f64>(family);
        }
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
