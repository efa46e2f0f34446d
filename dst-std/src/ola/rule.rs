//! The online adaptations of dst-core behind one trait, so that one driver runs them all.
//!
//! The configuration of an adaptation is its [`Rule`]: it knows the memory that a run needs and starts the run. A run is a
//! [`Stepper`], as are the [baselines](super::baselines).

use dst_core::adapt::{AdamOla, GuardedConfig, GuardedOla, NewtonConfig, NewtonOla, OlaConfig};
use dst_core::{Error, Objective};

/// The iteration left the finite numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NonFinite;

/// A method that advances one iteration at a time.
pub(super) trait Stepper {
    /// Performs one iteration.
    fn step(&mut self) -> Result<(), NonFinite>;
    /// Returns f at the point of the last gradient.
    fn value(&self) -> f64;
    /// Returns f at the point that the method returns as its result.
    fn best(&self) -> f64 {
        self.value()
    }
    /// Returns the point of the last gradient.
    fn point(&self) -> &[f64];
    /// Returns the point that the method returns as its result.
    fn best_point(&self) -> &[f64] {
        self.point()
    }
    /// Returns max |∇f| at the point of the last gradient.
    fn gradient_max(&self) -> f64;
    /// Returns the current learning rate.
    fn alpha(&self) -> f64;
    /// Returns the number of changes of the learning rate.
    fn adaptations(&self) -> usize;
    /// Returns the number of evaluations of f and ∇f.
    fn evaluations(&self) -> usize;
    /// Returns the number of Hessian-vector products.
    fn hessian_products(&self) -> usize {
        0
    }
}

/// An online adaptation with its parameters.
pub(super) trait Rule: Sized {
    /// A run on an objective, in borrowed memory.
    type Run<'m, O: Objective<f64>>: Stepper;

    /// Returns the rule with this tolerance on max |∇f|.
    fn tolerance(self, tolerance: f64) -> Self;
    /// Returns the length of the memory that a run needs.
    fn memory_len<O: Objective<f64>>(objective: &O) -> usize;
    /// Starts a run.
    fn start<'m, O: Objective<f64>>(
        self,
        objective: O,
        x0: &[f64],
        memory: &'m mut [f64],
    ) -> Result<Self::Run<'m, O>, Error>;
}

/// The adaptations of dst-core have the same methods but no trait in common. Each evaluates f and ∇f once at the start
/// and once in every iteration.
macro_rules! rule {
    ($config:ident, $run:ident, best: $best:expr, best_point: $best_point:expr, products: $products:expr) => {
        impl Rule for $config<f64> {
            type Run<'m, O: Objective<f64>> = $run<'m, f64, O>;

            fn tolerance(self, tolerance: f64) -> Self {
                Self { tolerance, ..self }
            }
            fn memory_len<O: Objective<f64>>(objective: &O) -> usize {
                $run::memory_len(objective)
            }
            fn start<'m, O: Objective<f64>>(
                self,
                objective: O,
                x0: &[f64],
                memory: &'m mut [f64],
            ) -> Result<Self::Run<'m, O>, Error> {
                $run::new(self, objective, x0, memory)
            }
        }

        impl<O: Objective<f64>> Stepper for $run<'_, f64, O> {
            fn step(&mut self) -> Result<(), NonFinite> {
                self.advance(1).map(|_| ()).map_err(|_| NonFinite)
            }
            fn value(&self) -> f64 {
                self.value()
            }
            fn best(&self) -> f64 {
                let best: fn(&Self) -> f64 = $best;
                best(self)
            }
            fn point(&self) -> &[f64] {
                self.state()
            }
            fn best_point(&self) -> &[f64] {
                let point: fn(&Self) -> &[f64] = $best_point;
                point(self)
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

rule!(OlaConfig, AdamOla, best: |run| run.value(), best_point: |run| run.state(), products: |_| 0);
rule!(GuardedConfig, GuardedOla, best: |run| run.best().1, best_point: |run| run.best().0, products: |_| 0);
rule!(NewtonConfig, NewtonOla, best: |run| run.value(), best_point: |run| run.state(), products: |run| run.products());
