//! Flows and maps derived from each other: [`Map`](dst_core::Map) on one must equal Euler on the other.

use dst_core::Formula;
use dst_core::system::{Arithmetic, Number};

/// Euler step of a flow as a map, F = x − h·A(θ, x, h·t), where t counts the steps.
#[derive(Clone, Copy, Debug)]
pub struct Steps<F> {
    /// A
    pub flow: F,
    /// h
    pub h: f64,
}

impl<F, const D: usize, const P: usize> Formula<D, P> for Steps<F>
where
    F: Formula<D, P>,
{
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; P],
        x: &[Number<A>; D],
        t: Number<A>,
    ) -> [Number<A>; D] {
        let mut next = self.flow.rate(theta, x, t * self.h);
        for (next, &x) in next.iter_mut().zip(x) {
            *next = x - *next * self.h;
        }
        next
    }
    fn criterion<A: Arithmetic>(
        &self,
        theta: &[Number<A>; P],
        x: &[Number<A>; D],
        t: Number<A>,
    ) -> Number<A> {
        self.flow.criterion(theta, x, t * self.h)
    }
    fn loss<A: Arithmetic>(
        &self,
        theta: &[Number<A>; P],
        x: &[Number<A>; D],
        t: Number<A>,
        criterion: Number<A>,
    ) -> Number<A> {
        self.flow.loss(theta, x, t * self.h, criterion)
    }
}

/// Flow whose Euler step with h = 1 is a map F: A = x − F.
#[derive(Clone, Copy, Debug)]
pub struct Falls<F>(
    /// F
    pub F,
);

impl<F, const D: usize, const P: usize> Formula<D, P> for Falls<F>
where
    F: Formula<D, P>,
{
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; P],
        x: &[Number<A>; D],
        t: Number<A>,
    ) -> [Number<A>; D] {
        let mut rate = self.0.rate(theta, x, t);
        for (rate, &x) in rate.iter_mut().zip(x) {
            *rate = x - *rate;
        }
        rate
    }
    fn criterion<A: Arithmetic>(
        &self,
        theta: &[Number<A>; P],
        x: &[Number<A>; D],
        t: Number<A>,
    ) -> Number<A> {
        self.0.criterion(theta, x, t)
    }
    fn loss<A: Arithmetic>(
        &self,
        theta: &[Number<A>; P],
        x: &[Number<A>; D],
        t: Number<A>,
        criterion: Number<A>,
    ) -> Number<A> {
        self.0.loss(theta, x, t, criterion)
    }
}
