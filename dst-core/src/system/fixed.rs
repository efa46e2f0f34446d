//! Interface to nalgebra: vectors and matrices of fixed size, a quadratic objective and a linear feedback loop.
//!
//! Columns are read as slices, so the compiler knows the sizes and no bounds check remains.

use nalgebra::{SMatrix, SVector};

use super::objective::Objective;
use super::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};
use crate::scalar::Scalar;
use crate::slices::{add_scaled, dot};

/// Converts a slice to a vector; `None` if the length differs.
pub fn vector<S: Scalar, const N: usize>(slice: &[S]) -> Option<SVector<S, N>> {
    slice
        .first_chunk::<N>()
        .filter(|_| slice.len() == N)
        .map(|&array| SVector::from(array))
}

/// out ← out + a·M·v
fn add_product<S: Scalar, const R: usize, const C: usize>(
    out: &mut [S],
    a: S,
    m: &SMatrix<S, R, C>,
    v: &[S],
) {
    for (column, &v) in m.data.0.iter().zip(v) {
        add_scaled(out, a * v, column);
    }
}

/// out ← out + a·Mᵀ·v
fn add_transposed<S: Scalar, const R: usize, const C: usize>(
    out: &mut [S],
    a: S,
    m: &SMatrix<S, R, C>,
    v: &[S],
) {
    for (out, column) in out.iter_mut().zip(m.data.0.iter()) {
        *out += a * dot(column, v);
    }
}

/// f(x) = ½xᵀQx − bᵀx with a symmetric Q.
///
/// ```
/// use dst_core::fixed::{Quadratic, vector};
/// use dst_core::methods::HeavyBall;
/// use dst_core::{Euler, Memory};
/// use nalgebra::{matrix, vector as column};
///
/// let bowl = Quadratic { q: matrix![2.0, 0.5; 0.5, 1.0], b: column![1.0, -1.0] };
/// let mut memory = Memory::<f64, 4, 2, 6>::new(); // state (x, v), θ = (α, β), 6 slots
/// let s = Euler::new(1.0).until(1e-10).sensitivity(
///     &HeavyBall::new(bowl),
///     column![0.3, 0.2].as_slice(),
///     &[0.0; 4],
///     &mut memory,
/// )?;
/// let gradient = vector::<f64, 2>(s.steps_gradient());
/// assert!(gradient.is_some_and(|g| g[0] < 0.0)); // a larger α stops sooner
/// # Ok::<(), dst_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quadratic<S, const D: usize> {
    /// Q, symmetric.
    pub q: SMatrix<S, D, D>,
    /// b
    pub b: SVector<S, D>,
}

impl<S: Scalar, const D: usize> Objective<S> for Quadratic<S, D> {
    fn dim(&self) -> usize {
        D
    }

    fn value_gradient(&self, x: &[S], gradient: &mut [S], _: &mut [S], _: &mut [S]) -> S {
        gradient.fill(S::ZERO);
        add_product(gradient, S::ONE, &self.q, x);
        let half_quadratic = S::HALF * dot(gradient, x);
        let b = self.b.as_slice();
        add_scaled(gradient, -S::ONE, b);
        half_quadratic - dot(b, x)
    }

    fn add_hessian_vector(&self, _: &[S], v: &[S], _: &[S], out: &mut [S], _: &mut [S]) {
        add_product(out, S::ONE, &self.q, v);
    }
}

/// The closed loop x′ = (A − BK)x with the feedback gains K as parameters; stops at the first passage ‖x‖² ≤ ε.
///
/// θ holds the `U`×`D` matrix K column by column, nalgebra's own order: `k.as_slice()`. The stopping time of the loop then has a
/// gradient with respect to every gain.
///
/// ```
/// use dst_core::fixed::LinearFeedback;
/// use dst_core::{Crossing, Memory, Rk4};
/// use nalgebra::matrix;
///
/// // A double integrator under state feedback: time until ‖x‖² ≤ 1e-4.
/// let plant = LinearFeedback { a: matrix![0.0, 1.0; 0.0, 0.0], b: matrix![0.0; 1.0] };
/// let gains = matrix![1.0, 1.5];
/// let mut memory = Memory::<f64, 2, 2, 4>::new();
/// let s = Rk4::new(0.01)
///     .until(1e-4)
///     .crossing(Crossing::Hermite)
///     .sensitivity(&plant, gains.as_slice(), &[1.0, 0.0], &mut memory)?;
/// println!("stops after {:.2} s; gradient by gain: {:?}", s.stop.time, s.time_gradient());
/// # Ok::<(), dst_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearFeedback<S, const D: usize, const U: usize> {
    /// The plant's A.
    pub a: SMatrix<S, D, D>,
    /// The plant's B.
    pub b: SMatrix<S, D, U>,
}

impl<S: Scalar, const D: usize, const U: usize> LinearFeedback<S, D, U> {
    /// Adds K·x to u, with K column by column in a slice.
    fn feedback(gains: &[S], x: &[S], u: &mut [S; U]) {
        for (column, &x) in gains.as_chunks::<U>().0.iter().zip(x) {
            add_scaled(u, x, column);
        }
    }
}

impl<S: Scalar, const D: usize, const U: usize> System<S> for LinearFeedback<S, D, U> {
    fn dims(&self) -> Dims {
        Dims::new(D, D * U)
    }

    fn rate(&self, at: Point<'_, S>, rate: &mut [S], _: &mut [S], _: &mut [S]) -> Reading<S> {
        // Arrays: the engine passes slices of the declared lengths.
        let (Some(x), Some(rate)) = (at.x.first_chunk::<D>(), rate.first_chunk_mut::<D>()) else {
            return Reading::ZERO;
        };
        let mut u = [S::ZERO; U];
        Self::feedback(at.theta, x, &mut u);
        let mut sum = [S::ZERO; D];
        add_product(&mut sum, -S::ONE, &self.a, x);
        add_product(&mut sum, S::ONE, &self.b, &u);
        *rate = sum;
        let energy = dot(x, x);
        Reading {
            criterion: energy,
            loss: energy,
        }
    }

    fn pullback(&self, at: Point<'_, S>, _: &[S], seed: Seed<'_, S>, bar: Bar<'_, S>, _: &mut [S]) {
        let (Some(x), Some(rate_bar), Some(x_bar)) = (
            at.x.first_chunk::<D>(),
            seed.rate.first_chunk::<D>(),
            bar.x.first_chunk_mut::<D>(),
        ) else {
            return;
        };
        let mut u_bar = [S::ZERO; U];
        add_transposed(&mut u_bar, S::ONE, &self.b, rate_bar);
        for (column, &x) in bar.theta.as_chunks_mut::<U>().0.iter_mut().zip(x) {
            add_scaled(column, x, &u_bar);
        }
        for (x_bar, column) in x_bar.iter_mut().zip(at.theta.as_chunks::<U>().0) {
            *x_bar += dot(column, &u_bar);
        }
        add_transposed(x_bar, -S::ONE, &self.a, rate_bar);
        add_scaled(x_bar, S::TWO * (seed.criterion + seed.loss), x);
    }

    fn pushforward(
        &self,
        at: Point<'_, S>,
        _: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        _: &mut [S],
    ) -> Reading<S> {
        let mut du = [S::ZERO; U];
        Self::feedback(at.theta, along.x, &mut du);
        Self::feedback(along.theta, at.x, &mut du);
        rate.fill(S::ZERO);
        add_product(rate, -S::ONE, &self.a, along.x);
        add_product(rate, S::ONE, &self.b, &du);
        let energy = S::TWO * dot(at.x, along.x);
        Reading {
            criterion: energy,
            loss: energy,
        }
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: Some(2),
        }
    }
}
