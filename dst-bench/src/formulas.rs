//! Formulas whose pullbacks are counted: sums and products alone, and an elementary function in every fifth operation.

use std::hint::black_box;

use clap::ValueEnum;
use dst_core::system::{Arithmetic, Derived, Number};
use dst_core::{Bar, Formula, Point, Seed, System};

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
    /// A pullback by dual numbers.
    Dual,
    /// A pullback by the trace.
    Reverse,
}

/// x′ᵢ = (x_{i+1} − x_{i−2})·x_{i−1} − θᵢ·xᵢ
#[derive(Clone, Copy, Debug)]
pub struct Products;

impl<const N: usize> Formula<N, N> for Products {
    #[inline(always)]
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; N],
        x: &[Number<A>; N],
        _: Number<A>,
    ) -> [Number<A>; N] {
        std::array::from_fn(|i| {
            let (next, last, before) = (x[(i + 1) % N], x[(i + N - 1) % N], x[(i + N - 2) % N]);
            theta[i] * x[i] - (next - before) * last
        })
    }
    #[inline(always)]
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; N],
        x: &[Number<A>; N],
        _: Number<A>,
    ) -> Number<A> {
        x.iter().map(|&x| x * x).sum()
    }
}

/// x′ᵢ = θᵢ·sin(x_{i+1} − xᵢ) − 0.1·xᵢ
#[derive(Clone, Copy, Debug)]
pub struct Functions;

impl<const N: usize> Formula<N, N> for Functions {
    #[inline(always)]
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; N],
        x: &[Number<A>; N],
        _: Number<A>,
    ) -> [Number<A>; N] {
        std::array::from_fn(|i| x[i] * 0.1 - theta[i] * (x[(i + 1) % N] - x[i]).sin())
    }
    #[inline(always)]
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; N],
        x: &[Number<A>; N],
        _: Number<A>,
    ) -> Number<A> {
        x[0]
    }
}

/// Evaluates a formula with `2N` inputs this many times and returns a sum of the results.
pub fn evaluate(kind: Kind, way: Way, inputs: usize, times: usize) -> Result<f64, String> {
    match inputs {
        20 => of_size::<10>(kind, way, times),
        100 => of_size::<50>(kind, way, times),
        1000 => of_size::<500>(kind, way, times),
        10_000 => of_size::<5000>(kind, way, times),
        _ => Err(format!("{inputs} inputs are not compiled: 20, 100, 1000 or 10000")),
    }
}

fn of_size<const N: usize>(kind: Kind, way: Way, times: usize) -> Result<f64, String> {
    let (x, theta): (Vec<f64>, Vec<f64>) = (0..N)
        .map(|i| ((0.7 * i as f64).sin(), 0.5 + 0.3 * (1.3 * i as f64).cos()))
        .unzip();
    Ok(match (kind, way) {
        (Kind::Products, Way::Plain | Way::Dual) => {
            run(&Derived::<_, N, N>::new(Products), way, &theta, &x, times)
        }
        // 4 per state in A, 1 in J; the trace of the functions has 3.
        (Kind::Products, Way::Reverse) => {
            run(&Derived::<_, N, N, 4, 40_000> { formula: Products }, way, &theta, &x, times)
        }
        (Kind::Functions, Way::Plain | Way::Dual) => {
            run(&Derived::<_, N, N>::new(Functions), way, &theta, &x, times)
        }
        (Kind::Functions, Way::Reverse) => {
            run(&Derived::<_, N, N, 4, 40_000> { formula: Functions }, way, &theta, &x, times)
        }
    })
}

fn run(system: &impl System<f64>, way: Way, theta: &[f64], x: &[f64], times: usize) -> f64 {
    let n = x.len();
    let mut scratch = vec![0.0; system.dims().scratch];
    let (mut rate, mut x_bar, mut theta_bar) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let mut sum = 0.0;
    for _ in 0..times {
        let at = Point {
            theta: black_box(theta),
            x: black_box(x),
            t: 0.0,
        };
        if way == Way::Plain {
            sum += system.rate(at, &mut rate, &mut [], &mut scratch).criterion;
        } else {
            let seed = Seed {
                rate: x,
                criterion: 1.0,
                loss: 0.0,
            };
            let bar = Bar::new(&mut theta_bar, &mut x_bar);
            system.pullback(at, &[], seed, bar, &mut scratch);
        }
    }
    sum + rate.iter().chain(&x_bar).chain(&theta_bar).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree() {
        for kind in [Kind::Products, Kind::Functions] {
            let [dual, reverse] =
                [Way::Dual, Way::Reverse].map(|way| evaluate(kind, way, 100, 1).unwrap());
            assert!((dual - reverse).abs() < 1e-12 * dual.abs(), "{dual} {reverse}");
        }
    }
}
