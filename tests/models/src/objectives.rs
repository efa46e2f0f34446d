//! Objectives with hand-written Hessian-vector products.

use dst_core::{Objective, Scalar};

/// Quadratic with coupled variables: f = ½Σλᵢxᵢ² + ½c(Σxᵢ)².
#[derive(Clone, Copy, Debug)]
pub struct Quadratic<S, const D: usize> {
    /// λ
    pub lambda: [S; D],
    /// c
    pub coupling: S,
}

impl<S: Scalar, const D: usize> Objective<S> for Quadratic<S, D> {
    fn dim(&self) -> usize {
        D
    }
    fn value_gradient(&self, x: &[S], gradient: &mut [S], _: &mut [S], _: &mut [S]) -> S {
        let sum = x.iter().fold(S::ZERO, |s, &x| s + x);
        let mut f = S::HALF * self.coupling * sum * sum;
        for ((g, &x), &l) in gradient.iter_mut().zip(x).zip(&self.lambda) {
            *g = l * x + self.coupling * sum;
            f += S::HALF * l * x * x;
        }
        f
    }
    fn add_hessian_vector(&self, _: &[S], v: &[S], _: &[S], out: &mut [S], _: &mut [S]) {
        let sum = v.iter().fold(S::ZERO, |s, &v| s + v);
        for ((o, &v), &l) in out.iter_mut().zip(v).zip(&self.lambda) {
            *o += l * v + self.coupling * sum;
        }
    }
}

/// f = (1 − x)² + c(y − x²)²
#[derive(Clone, Copy, Debug)]
pub struct Rosenbrock<S> {
    /// c, 100 in the classical function.
    pub c: S,
}

impl<S: Scalar> Objective<S> for Rosenbrock<S> {
    fn dim(&self) -> usize {
        2
    }
    fn value_gradient(&self, x: &[S], gradient: &mut [S], _: &mut [S], _: &mut [S]) -> S {
        let (&[x, y], [gx, gy]) = (
            x.first_chunk().unwrap(),
            gradient.first_chunk_mut().unwrap(),
        );
        let (a, b) = (S::ONE - x, y - x * x);
        *gy = S::TWO * self.c * b;
        *gx = -S::TWO * a - S::TWO * x * *gy;
        a * a + self.c * b * b
    }
    fn add_hessian_vector(&self, x: &[S], v: &[S], _: &[S], out: &mut [S], _: &mut [S]) {
        let (&[x, y], &[vx, vy]) = (x.first_chunk().unwrap(), v.first_chunk().unwrap());
        let four_c = S::from_f64(4.0) * self.c;
        let xx = S::TWO - four_c * (y - x * x) + S::TWO * four_c * x * x;
        let xy = -four_c * x;
        out[0] += xx * vx + xy * vy;
        out[1] += xy * vx + S::TWO * self.c * vy;
    }
}

/// Regularised logistic regression on `N` samples; stores its probabilities on the tape.
#[derive(Clone, Copy, Debug)]
pub struct Logistic<S, const D: usize, const N: usize> {
    /// Samples, multiplied by their label ±1.
    pub rows: [[S; D]; N],
    /// Weight of ½‖x‖².
    pub regularisation: S,
}

impl<S: Scalar, const D: usize, const N: usize> Logistic<S, D, N> {
    /// Deterministic samples.
    pub fn sample() -> Self {
        let mut state = 12345_u32;
        let rows = core::array::from_fn(|_| {
            core::array::from_fn(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                S::from_f64(f64::from(state >> 8) / f64::from(1 << 23) - 1.0)
            })
        });
        Self {
            rows,
            regularisation: S::from_f64(0.1),
        }
    }
}

impl<S: Scalar, const D: usize, const N: usize> Objective<S> for Logistic<S, D, N> {
    fn dim(&self) -> usize {
        D
    }
    fn tape_len(&self) -> usize {
        N
    }
    fn value_gradient(&self, x: &[S], gradient: &mut [S], tape: &mut [S], _: &mut [S]) -> S {
        let mut f = S::ZERO;
        for (g, &x) in gradient.iter_mut().zip(x) {
            *g = self.regularisation * x;
            f += S::HALF * self.regularisation * x * x;
        }
        for (row, p) in self.rows.iter().zip(tape) {
            let margin = row.iter().zip(x).fold(S::ZERO, |s, (&a, &x)| s + a * x);
            *p = S::ONE / (S::ONE + margin.exp());
            f += (-margin).exp().ln_1p();
            for (g, &a) in gradient.iter_mut().zip(row) {
                *g -= *p * a;
            }
        }
        f
    }
    fn add_hessian_vector(&self, _: &[S], v: &[S], tape: &[S], out: &mut [S], _: &mut [S]) {
        for (o, &v) in out.iter_mut().zip(v) {
            *o += self.regularisation * v;
        }
        for (row, &p) in self.rows.iter().zip(tape) {
            let along = row.iter().zip(v).fold(S::ZERO, |s, (&a, &v)| s + a * v);
            let curvature = p * (S::ONE - p) * along;
            for (o, &a) in out.iter_mut().zip(row) {
                *o += curvature * a;
            }
        }
    }
}
