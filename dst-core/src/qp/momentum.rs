//! Projected gradient with momentum as a map, for bounds on inputs only: x⁺ = clip(w − a·(Hw + g)), w⁺ = x⁺ + β(x⁺ − x).
//!
//! State (w, x), θ = (a, β). J is the logarithm of ‖w − x⁺‖_∞/(a·ε_d), the gradient where no bound is active. Blocks, bounds and
//! tolerance are those of ADMM, so the two solvers can be compared iteration by iteration.

use super::kernels::apply;
use super::program::{Instance, Shape, Tolerance};
use super::step::{FLOOR, clip, larger, logarithm};
use crate::error::{Argument, Error, exact};
use crate::scalar::Scalar;
use crate::slices::{add_scaled, pieces, pieces_mut, split, split_mut};
use crate::system::{Bar, Dims, Point, Reading, Seed, System};

/// Projected gradient with momentum on one instance.
#[derive(Clone, Copy, Debug)]
pub struct ProjectedMomentum<'a, S> {
    shape: Shape,
    hessian: &'a [S],
    instance: Instance<'a, S>,
    dual_scale: S,
}

impl<'a, S: Scalar> ProjectedMomentum<'a, S> {
    /// Creates the system; `hessian` is H, and the program must have no outputs.
    pub fn new(
        shape: Shape,
        hessian: &'a [S],
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
    ) -> Result<Self, Error> {
        exact(Argument::Model, 0, shape.output_entries())?;
        exact(Argument::Model, shape.inverse_entries(), hessian.len())?;
        instance.check(shape)?;
        tolerance.check(&instance)?;
        Ok(Self {
            shape,
            hessian,
            instance,
            dual_scale: S::ONE / tolerance.dual_of(&instance),
        })
    }

    fn knobs(theta: &[S]) -> (S, S) {
        match theta {
            &[a, beta] => (a, beta),
            _ => (S::NAN, S::NAN),
        }
    }
}

impl<S: Scalar> System<S> for ProjectedMomentum<'_, S> {
    fn dims(&self) -> Dims {
        let n = self.shape.blocks * self.shape.variables();
        Dims::new(2 * n, 2).with_tape(n).with_scratch(n)
    }

    fn check(&self, map: bool) -> Result<(), Error> {
        if map { Ok(()) } else { Err(Error::WrongStep) }
    }

    /// Writes x⁺ and w⁺; the tape is the gradient.
    fn rate(
        &self,
        at: Point<'_, S>,
        next: &mut [S],
        gradient: &mut [S],
        _: &mut [S],
    ) -> Reading<S> {
        let (a, beta) = Self::knobs(at.theta);
        let n = self.shape.variables();
        let (w, x) = split(at.x, at.x.len() / 2);
        for (out, w) in pieces_mut(gradient, n).zip(pieces(w, n)) {
            apply(self.hessian, w, out);
        }
        let (next_w, next_x) = split_mut(next, at.x.len() / 2);
        let bounds = self.instance.lower.iter().zip(self.instance.upper);
        let data = bounds.zip(self.instance.linear).zip(gradient.iter_mut());
        let mut largest = S::ZERO;
        for ((((&w, &x), ((&lo, &hi), &g)), gradient), (rw, rx)) in w
            .iter()
            .zip(x)
            .zip(data)
            .map(|(wx, (b, gradient))| ((wx, b), gradient))
            .zip(next_w.iter_mut().zip(next_x))
        {
            *gradient += g;
            let next = clip(w - a * *gradient, lo, hi);
            largest = larger(largest, (w - next).abs());
            *rw = next + beta * (next - x);
            *rx = next;
        }
        let criterion = logarithm(largest * self.dual_scale / a);
        Reading {
            criterion,
            loss: criterion,
        }
    }

    fn pullback(
        &self,
        at: Point<'_, S>,
        gradient: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        gradient_bar: &mut [S],
    ) {
        let (a, beta) = Self::knobs(at.theta);
        let half = at.x.len() / 2;
        let (w, x) = split(at.x, half);
        let (next_w, next_x) = split(seed.rate, half);
        let (w_bar, x_bar) = split_mut(bar.x, half);
        let reading = seed.criterion + seed.loss;
        let bounds = || self.instance.lower.iter().zip(self.instance.upper);
        let step = |w: S, g: S, lo: S, hi: S| w - clip(w - a * g, lo, hi);
        let mut worst = (S::ZERO, usize::MAX);
        for (i, ((&w, &g), (&lo, &hi))) in w.iter().zip(gradient).zip(bounds()).enumerate() {
            let size = step(w, g, lo, hi).abs();
            if size > worst.0 {
                worst = (size, i);
            }
        }
        let counts = reading != S::ZERO && worst.0 * self.dual_scale / a > S::from_f64(FLOOR);
        let (mut a_bar, mut beta_bar) = (S::ZERO, S::ZERO);
        if counts {
            a_bar -= reading / a;
        }
        let rows = w.iter().zip(x).zip(gradient).zip(bounds());
        let bars = w_bar.iter_mut().zip(x_bar).zip(gradient_bar.iter_mut());
        for (i, ((((&w, &x), &g), (&lo, &hi)), (((wb, xb), gb), (&aw, &ax)))) in
            rows.zip(bars.zip(next_w.iter().zip(next_x))).enumerate()
        {
            let t = w - a * g;
            let next = clip(t, lo, hi);
            let mut next_bar = aw * (S::ONE + beta) + ax;
            *xb -= beta * aw;
            beta_bar += aw * (next - x);
            if counts && worst.1 == i {
                let factor = reading / (w - next);
                *wb += factor;
                next_bar -= factor;
            }
            *gb = S::ZERO;
            if t >= lo && t <= hi {
                *wb += next_bar;
                *gb = -a * next_bar;
                a_bar -= g * next_bar;
            }
        }
        let n = self.shape.variables();
        for (out, gb) in pieces_mut(w_bar, n).zip(pieces(gradient_bar, n)) {
            for (column, &gb) in pieces(self.hessian, n).zip(gb) {
                add_scaled(out, gb, column);
            }
        }
        if let [first, second] = bar.theta {
            *first += a_bar;
            *second += beta_bar;
        }
    }
}
