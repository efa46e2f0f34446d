//! Formulas whose pullbacks are counted: sums and products alone, and an elementary function in every fifth operation.

use std::hint::black_box;

use clap::ValueEnum;
use dst_core::system::{Arithmetic, Number};
use dst_core::{Bar, Direction, Objective, Point, Seed, System};
use dst_std::formula::{Equations, FromEquations, FromFunction, Function};

/// Kind of formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Lorenz's chain of 1996 with a friction per state: sums and products.
    Products,
    /// Coupled oscillators: one sine in five operations.
    Functions,
}

/// Evaluation to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// A, J and f.
    Plain,
    /// A pullback by dual numbers, one direction at a time.
    Dual,
    /// A pullback by the trace.
    Reverse,
}

/// x′ᵢ = (x_{i+1} − x_{i−2})·x_{i−1} − θᵢ·xᵢ
#[derive(Clone, Copy, Debug)]
struct Products(usize);

impl Equations for Products {
    fn states(&self) -> usize {
        self.0
    }
    fn params(&self) -> usize {
        self.0
    }
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>],
        x: &[Number<A>],
        _: Number<A>,
        rate: &mut [Number<A>],
    ) {
        let n = self.0;
        for (i, rate) in rate.iter_mut().enumerate() {
            let (next, last, before) = (x[(i + 1) % n], x[(i + n - 1) % n], x[(i + n - 2) % n]);
            *rate = theta[i] * x[i] - (next - before) * last;
        }
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>],
        x: &[Number<A>],
        _: Number<A>,
    ) -> Number<A> {
        x.iter().map(|&x| x * x).sum()
    }
}

/// x′ᵢ = θᵢ·sin(x_{i+1} − xᵢ) − 0.1·xᵢ
#[derive(Clone, Copy, Debug)]
struct Functions(usize);

impl Equations for Functions {
    fn states(&self) -> usize {
        self.0
    }
    fn params(&self) -> usize {
        self.0
    }
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>],
        x: &[Number<A>],
        _: Number<A>,
        rate: &mut [Number<A>],
    ) {
        for (i, rate) in rate.iter_mut().enumerate() {
            *rate = x[i] * 0.1 - theta[i] * (x[(i + 1) % self.0] - x[i]).sin();
        }
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>],
        x: &[Number<A>],
        _: Number<A>,
    ) -> Number<A> {
        x[0]
    }
}

/// Evaluates a formula of this many inputs, half of them states, this many times and returns a sum of the results.
pub fn evaluate(kind: Kind, way: Way, inputs: usize, times: usize) -> f64 {
    let n = inputs / 2;
    let (x, theta): (Vec<f64>, Vec<f64>) = (0..n)
        .map(|i| ((0.7 * i as f64).sin(), 0.5 + 0.3 * (1.3 * i as f64).cos()))
        .unzip();
    match kind {
        Kind::Products => run(Products(n), way, &theta, &x, times),
        Kind::Functions => run(Functions(n), way, &theta, &x, times),
    }
}

fn run(equations: impl Equations, way: Way, theta: &[f64], x: &[f64], times: usize) -> f64 {
    let system = FromEquations::new(equations, theta, x, 0.0);
    let n = x.len();
    let mut scratch = vec![0.0; System::<f64>::dims(&system).scratch];
    let (mut rate, mut x_bar, mut theta_bar) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let mut sum = 0.0;
    for _ in 0..times {
        let at = Point {
            theta: black_box(theta),
            x: black_box(x),
            t: 0.0,
        };
        match way {
            Way::Plain => sum += system.rate(at, &mut rate, &mut [], &mut scratch).criterion,
            Way::Dual => duals(&system, at, &mut theta_bar, &mut x_bar),
            Way::Reverse => {
                let seed = Seed {
                    rate: x,
                    criterion: 1.0,
                    loss: 0.0,
                };
                let bar = Bar::new(&mut theta_bar, &mut x_bar);
                system.pullback(at, &[], seed, bar, &mut scratch);
            }
        }
    }
    sum + rate.iter().chain(&x_bar).chain(&theta_bar).sum::<f64>()
}

/// The pullback of the seed (x, 1) by one pushforward per input.
fn duals(system: &impl System<f64>, at: Point<'_, f64>, theta_bar: &mut [f64], x_bar: &mut [f64]) {
    let n = at.x.len();
    let (mut direction, mut rate) = (vec![0.0; 2 * n], vec![0.0; n]);
    for (i, bar) in x_bar.iter_mut().chain(theta_bar).enumerate() {
        direction[i] = 1.0;
        let along = Direction {
            x: &direction[..n],
            theta: &direction[n..],
            t: 0.0,
        };
        let reading = system.pushforward(at, &[], along, &mut rate, &mut []);
        *bar += reading.criterion + rate.iter().zip(at.x).map(|(a, b)| a * b).sum::<f64>();
        direction[i] = 0.0;
    }
}

/// Rosenbrock's function.
#[derive(Clone, Copy, Debug)]
struct Valley(usize);

impl Function for Valley {
    fn dim(&self) -> usize {
        self.0
    }
    fn value<A: Arithmetic>(&self, x: &[Number<A>]) -> Number<A> {
        x.windows(2)
            .map(|x| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2))
            .sum()
    }
}

/// Gradients of Rosenbrock's function, this many times, or as many Hessian-vector products.
pub fn valley(product: bool, variables: usize, times: usize) -> f64 {
    let x: Vec<f64> = (0..variables).map(|i| (0.7 * i as f64).sin()).collect();
    let objective = FromFunction::new(Valley(variables), &x);
    let mut scratch = vec![0.0; Objective::<f64>::scratch_len(&objective)];
    let mut out = vec![0.0; variables];
    for _ in 0..times {
        let x = black_box(&x);
        if product {
            objective.add_hessian_vector(x, x, &[], &mut out, &mut scratch);
        } else {
            objective.value_gradient(x, &mut out, &mut [], &mut scratch);
        }
    }
    out.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree() {
        for kind in [Kind::Products, Kind::Functions] {
            let [dual, reverse] = [Way::Dual, Way::Reverse].map(|way| evaluate(kind, way, 100, 1));
            assert!(
                (dual - reverse).abs() < 1e-12 * dual.abs(),
                "{dual} {reverse}"
            );
        }
    }
}
