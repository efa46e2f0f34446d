//! N-OLA: makes the stopping time stationary in α, β₁ and a momentum coefficient simultaneously.
//!
//! Adam's direction d = m̂/s, with s = √v̂ + ε, mixes the preconditioned gradient q = g/s with older ones; α is its step length
//! and β₁ its memory. N-OLA treats both, and a heavy-ball term γ, as parameters of one step:
//!
//! x⁺ = x + Bθ, B = \[−d, −q, x − x₋\] with unit columns. The one-step sensitivity of the stopping time is ∂N/∂θ =
//! −Bᵀ∇f(x⁺)/(f(x⁺) − f(x)), the S_k of [`AdamOla`](super::AdamOla) for three parameters. Instead of a small move of θ against
//! it, one Newton step sets it to zero: θ = −A⁻¹Bᵀg with A = BᵀHB.
//!
//! This is a **preconditioned nonlinear conjugate gradient method** (a subspace Newton step over gradient and momentum), derived
//! from the stopping time. It costs two Hessian-vector products per iteration; the product for the third column is the known
//! change of the gradient. A is symmetrised; its eigenvalues are replaced by their absolute values and shifted by λ, which grows
//! when a trial does not lower f enough and shrinks when one does. α₀ affects the first step only.

use super::OlaStatus;
use super::eigen::eigen;
use super::point::{Hyperparameters, Point, accessors};
use crate::error::Error;
use crate::scalar::Scalar;
use crate::slices::{add_scaled, all_finite, copy, dot, split, split_mut};
use crate::system::objective::Objective;

/// Parameters of N-OLA. One setting worked for every data set tried.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NewtonConfig<S> {
    /// Length of the first step along Adam's direction; if f does not fall there, a Newton step replaces it.
    pub alpha: S,
    /// Decay of the first moment.
    pub beta1: S,
    /// Decay of the second moment.
    pub beta2: S,
    /// Small constant in Adam's denominator.
    pub stability: S,
    /// Convergence threshold: max |∇f| < tolerance, tested before each update.
    pub tolerance: S,
}

impl<S: Scalar> NewtonConfig<S> {
    /// β = (0.9, 0.999), tolerance 1e-4.
    pub fn new(alpha: S) -> Self {
        Self {
            alpha,
            beta1: S::from_f64(0.9),
            beta2: S::from_f64(0.999),
            stability: S::from_f64(1e-8),
            tolerance: S::from_f64(1e-4),
        }
    }

    fn adam(&self) -> Result<Hyperparameters<S>, Error> {
        let adam = Hyperparameters {
            alpha: self.alpha,
            betas: [self.beta1, self.beta2],
            stability: self.stability,
        };
        adam.check([self.tolerance, S::ZERO])
    }
}

/// Model of f as a function of θ near x: slope, and curvature along A's eigenvectors.
#[derive(Clone, Copy, Debug)]
struct Model<S> {
    /// Bᵀg
    slope: [S; 3],
    /// |Λ| and U
    pairs: [(S, [S; 3]); 3],
    /// The largest |Λ|.
    largest: S,
}

impl<S: Scalar> Model<S> {
    /// θ = −U(|Λ| + λ)⁻¹Uᵀ·slope, and slope·θ.
    fn minimiser(&self, lambda: S) -> ([S; 3], S) {
        let mut theta = [S::ZERO; 3];
        for (curvature, vector) in &self.pairs {
            let along = dot(vector, &self.slope) / (*curvature + lambda);
            add_scaled(&mut theta, -along, vector);
        }
        (theta, dot(&self.slope, &theta))
    }
}

/// Adam with step length, memory and momentum chosen anew in each iteration.
///
/// Used like [`GuardedOla`](super::GuardedOla).
#[derive(Debug)]
pub struct NewtonOla<'m, S, O> {
    config: NewtonConfig<S>,
    /// Its α is a result: see [`alpha`](Self::alpha).
    point: Point<'m, S, O>,
    /// Trial point; after it is accepted, the previous point.
    trial: &'m mut [S],
    trial_gradient: &'m mut [S],
    /// The three columns of B, stored consecutively.
    basis: &'m mut [S],
    /// H times the first two columns, and the substitute for H times the third.
    products: &'m mut [S],
    /// λ
    shift: S,
    /// Model of the last trial, if that trial was rejected.
    model: Option<Model<S>>,
    /// ‖d‖
    length: S,
    products_made: usize,
}

/// Vectors beside those of [`Point`]: trial, its gradient, three columns and their products.
const OWN: usize = 8;

impl<'m, S: Scalar, O: Objective<S>> NewtonOla<'m, S, O> {
    /// Entries of working memory: twelve vectors and the memory of the objective.
    pub fn memory_len(objective: &O) -> usize {
        Point::memory_len(objective, OWN)
    }

    /// Starts at x0, with one evaluation.
    pub fn new(
        config: NewtonConfig<S>,
        objective: O,
        x0: &[S],
        memory: &'m mut [S],
    ) -> Result<Self, Error> {
        let (point, rest) = Point::at(x0, config.adam()?, objective, memory, OWN)?;
        let (trial, rest) = split_mut(rest, x0.len());
        let (trial_gradient, rest) = split_mut(rest, x0.len());
        let (basis, products) = split_mut(rest, x0.len().saturating_mul(3));
        copy(trial, point.x);
        copy(trial_gradient, point.gradient);
        Ok(Self {
            config,
            point,
            trial,
            trial_gradient,
            basis,
            products,
            shift: S::ZERO,
            model: None,
            length: S::ZERO,
            products_made: 0,
        })
    }

    /// Makes at most `budget` trials: each evaluates f and ∇f once, and an accepted one adds two Hessian-vector products.
    ///
    /// Returns [`Error::NonFinite`] if the model is not finite, because gradients or products overflow.
    pub fn advance(&mut self, budget: usize) -> Result<OlaStatus, Error> {
        OlaStatus::within(budget, self, Self::is_converged, Self::iterate)
    }

    fn iterate(&mut self) -> Result<(), Error> {
        let model = match self.model {
            Some(model) => model,
            None => {
                self.columns();
                self.fit()?
            }
        };
        let first = self.point.iterations == 0;
        let (theta, fall) = if first {
            ([self.config.alpha * self.length, S::ZERO, S::ZERO], S::ZERO)
        } else {
            model.minimiser(self.shift)
        };
        copy(self.trial, self.point.x);
        for (column, &theta) in columns_of(self.basis, self.trial.len()).zip(&theta) {
            add_scaled(self.trial, theta, column);
        }
        let before = self.point.f;
        let (f, finite) = self.point.evaluate_at(self.trial, self.trial_gradient);
        let rounding = S::from_f64(10.0) * S::EPSILON * before.abs();
        let enough = if first {
            f < before
        } else {
            f <= before + S::from_f64(1e-4) * fall + rounding
        };
        if !(finite && enough) {
            if !first {
                let tenth = S::from_f64(0.1) * model.largest;
                self.shift = (S::from_f64(4.0) * self.shift).max(tenth);
            }
            self.model = Some(model);
            return Ok(());
        }
        self.shift = if self.shift > S::from_f64(1e-3) * model.largest {
            self.shift / S::from_f64(4.0)
        } else {
            S::ZERO
        };
        let [along, ..] = theta;
        self.model = None;
        let point = &mut self.point;
        point.alpha = along / self.length;
        point.adaptations = point.adaptations.saturating_add(1);
        point.accept(f, &mut self.trial, &mut self.trial_gradient);
        Ok(())
    }

    /// Updates the moments with ∇f(x_k), writes the columns of B, and the change of ∇f as the product of the third.
    fn columns(&mut self) {
        let point = &mut self.point;
        let dim = point.x.len();
        let started = point.adaptations > 0;
        let (d, rest) = split_mut(self.basis, dim);
        let (q, p) = split_mut(rest, dim);
        let update = point
            .moments
            .update(point.gradient)
            .zip(point.gradient.iter());
        for ((d, q), ((mean, scale), &g)) in d.iter_mut().zip(q.iter_mut()).zip(update) {
            *d = -mean / scale;
            *q = -g / scale;
        }
        for ((p, &x), &before) in p.iter_mut().zip(point.x.iter()).zip(self.trial.iter()) {
            *p = x - before;
        }
        if !started {
            // At x0 there is no previous point: Adam's direction is that of the gradient, and the momentum column is zero.
            q.fill(S::ZERO);
            p.fill(S::ZERO);
        }
        self.length = normalise(d);
        normalise(q);
        let moved = normalise(p);
        let (_, third) = split_mut(self.products, dim.saturating_mul(2));
        let gradients = point.gradient.iter().zip(self.trial_gradient.iter());
        for (y, (&now, &before)) in third.iter_mut().zip(gradients) {
            *y = if moved > S::ZERO {
                (now - before) / moved
            } else {
                S::ZERO
            };
        }
    }

    /// Model of f at x_k, from two Hessian-vector products.
    fn fit(&mut self) -> Result<Model<S>, Error> {
        let dim = self.point.x.len();
        let two = dim.saturating_mul(2);
        let (products, _) = split_mut(self.products, two);
        products.fill(S::ZERO);
        let (vectors, _) = split(self.basis, two);
        self.point.add_hessian_vectors(vectors, products);
        self.products_made = self.products_made.saturating_add(2);
        let mut slope = [S::ZERO; 3];
        let mut matrix = [[S::ZERO; 3]; 3];
        let rows = matrix.iter_mut().zip(slope.iter_mut());
        for (column, (row, slope)) in columns_of(self.basis, dim).zip(rows) {
            *slope = dot(column, self.point.gradient);
            for (entry, product) in row.iter_mut().zip(columns_of(self.products, dim)) {
                *entry = dot(column, product);
            }
        }
        let [[a00, a01, a02], [a10, a11, a12], [a20, a21, a22]] = matrix;
        let mean = |a: S, b: S| S::HALF * (a + b);
        let beside = [mean(a12, a21), mean(a02, a20), mean(a01, a10)];
        let mut pairs = eigen([a00, a11, a22], beside);
        let mut largest = S::ZERO;
        for (curvature, _) in &mut pairs {
            *curvature = curvature.abs();
            largest = largest.max(*curvature);
        }
        if largest == S::ZERO {
            // No curvature: the step is as long as the first one, α₀·‖d‖.
            largest = dot(&slope, &slope).sqrt() / (self.config.alpha * self.length);
        }
        let least = S::from_f64(1e-12) * largest;
        let mut sound = all_finite(&slope) && largest > S::ZERO && largest.is_finite();
        for (curvature, vector) in &mut pairs {
            *curvature = curvature.max(least);
            sound = sound && all_finite(vector);
        }
        if sound {
            Ok(Model {
                slope,
                pairs,
                largest,
            })
        } else {
            Err(Error::NonFinite {
                step: self.point.iterations,
            })
        }
    }

    /// Number of Hessian-vector products.
    pub fn products(&self) -> usize {
        self.products_made
    }

    accessors!(
        alpha: "Length of the last accepted step along Adam's direction, in units of that direction: the equivalent of Adam's α.",
        iterations: "Number of trials.",
        adaptations: "Number of accepted trials."
    );
}

/// Columns of a matrix with `dim` rows, stored consecutively.
fn columns_of<S>(matrix: &[S], dim: usize) -> impl Iterator<Item = &[S]> {
    matrix.chunks_exact(dim.max(1))
}

/// Scales to unit length and returns the original length; a zero vector is unchanged.
fn normalise<S: Scalar>(v: &mut [S]) -> S {
    let length = dot(v, v).sqrt();
    if length > S::ZERO {
        for v in v {
            *v /= length;
        }
    }
    length
}
