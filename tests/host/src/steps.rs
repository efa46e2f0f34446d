//! Flows and maps derived from each other: [`Map`](dst_core::Map) on one must equal Euler on the other.

use dst_core::system::Dual;
use dst_core::{Formula, Scalar};

/// Euler step of a flow as a map, F = x − h·A(θ, x, h·t), where t counts the steps.
#[derive(Clone, Copy, Debug)]
pub struct Steps<F> {
    /// A
    pub flow: F,
    /// h
    pub h: f64,
}

impl<S: Scalar, F, const D: usize, const P: usize> Formula<S, D, P> for Steps<F>
where
    F: Formula<S, D, P>,
{
    fn rate<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
    ) -> [Dual<S, K>; D] {
        let mut next = self.flow.rate(theta, x, t * self.h);
        for (next, &x) in next.iter_mut().zip(x) {
            *next = x - *next * self.h;
        }
        next
    }
    fn criterion<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
    ) -> Dual<S, K> {
        self.flow.criterion(theta, x, t * self.h)
    }
    fn loss<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
        criterion: Dual<S, K>,
    ) -> Dual<S, K> {
        self.flow.loss(theta, x, t * self.h, criterion)
    }
}

/// Flow whose Euler step with h = 1 is a map F: A = x − F.
#[derive(Clone, Copy, Debug)]
pub struct Falls<F>(
    /// F
    pub F,
);

impl<S: Scalar, F, const D: usize, const P: usize> Formula<S, D, P> for Falls<F>
where
    F: Formula<S, D, P>,
{
    fn rate<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
    ) -> [Dual<S, K>; D] {
        let mut rate = self.0.rate(theta, x, t);
        for (rate, &x) in rate.iter_mut().zip(x) {
            *rate = x - *rate;
        }
        rate
    }
    fn criterion<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
    ) -> Dual<S, K> {
        self.0.criterion(theta, x, t)
    }
    fn loss<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
        criterion: Dual<S, K>,
    ) -> Dual<S, K> {
        self.0.loss(theta, x, t, criterion)
    }
}
