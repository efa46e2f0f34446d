//! What the comparison asks of a method, and the methods of dst-core seen that way.

use dst_core::adapt::{AdamOla, GuardedOla, NewtonOla, OlaStatus};
use dst_core::{Error, Objective};

/// The iteration left the finite numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NonFinite;

/// A method that goes one iteration at a time.
pub(super) trait Optimiser {
    /// One iteration.
    fn step(&mut self) -> Result<(), NonFinite>;
    /// f at the point where the last gradient was taken.
    fn value(&self) -> f64;
    /// f at the point that the method hands back.
    fn best(&self) -> f64 {
        self.value()
    }
    /// max |∇f| where the last gradient was taken.
    fn gradient_max(&self) -> f64;
    /// The learning rate now.
    fn alpha(&self) -> f64;
    /// How often it has been changed.
    fn adaptations(&self) -> usize;
    /// Evaluations of f and ∇f so far.
    fn evaluations(&self) -> usize;
    /// Hessian-vector products so far.
    fn hessian_products(&self) -> usize {
        0
    }
}

/// The methods of dst-core evaluate once at the start and once in each iteration.
macro_rules! optimiser {
    ($name:ident, $best:expr, $products:expr) => {
        impl<O: Objective<f64>> Optimiser for $name<'_, f64, O> {
            fn step(&mut self) -> Result<(), NonFinite> {
                advanced(self.advance(1))
            }
            fn value(&self) -> f64 {
                self.value()
            }
            fn best(&self) -> f64 {
                let best: fn(&Self) -> f64 = $best;
                best(self)
            }
            fn gradient_max(&self) -> f64 {
                self.gradient_max()
            }
            fn alpha(&self) -> f64 {
                self.alpha()
            }
            fn adaptations(&self) -> usize {
                self.adaptations()
            }
            fn evaluations(&self) -> usize {
                self.iterations() + 1
            }
            fn hessian_products(&self) -> usize {
                let products: fn(&Self) -> usize = $products;
                products(self)
            }
        }
    };
}

optimiser!(AdamOla, |ola| ola.value(), |_| 0);
optimiser!(GuardedOla, |ola| ola.best().1, |_| 0);
optimiser!(NewtonOla, |ola| ola.value(), |ola| ola.products());

fn advanced(result: Result<OlaStatus, Error>) -> Result<(), NonFinite> {
    result.map(|_| ()).map_err(|_| NonFinite)
}
