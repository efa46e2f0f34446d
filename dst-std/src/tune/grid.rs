//! A grid search with the same number of evaluations, as the baseline of a tuning.
//!
//! The grid covers a factor of 10 in the step size either way (Adam: 100), β from 0.5 to 0.999, and Adam's β₂ from 0.9 to
//! 0.9999, evenly in the coordinates u. It is refined by halving until the budget is spent; the points of a level come in a random
//! order, so that the end of the budget favours no corner. A step size per variable is beyond any grid: there, one
//! factor for all is searched.

use super::method::{Role, TunedMethod};
use crate::random::bits;

/// Halvings of the grid, all axes together, at the most: a quarter of a million points.
const HALVINGS: u32 = 18;

/// Returns the lower and upper end of every axis, around the initial values.
fn sides(method: TunedMethod, u0: &[f64]) -> Vec<(f64, f64)> {
    let axes = method.parameters().len();
    let decades = if method == TunedMethod::Adam {
        2.0
    } else {
        1.0
    };
    let reach = decades * std::f64::consts::LN_10;
    let logit = |beta: f64| libm::log(beta / (1.0 - beta));
    u0.iter()
        .take(axes)
        .enumerate()
        .map(|(axis, &u)| match (method.role(axis), axis) {
            (Role::Step, _) => (u - reach, u + reach),
            (Role::Momentum, 2) => (logit(0.9), logit(0.9999)),
            (Role::Momentum, _) => (logit(0.5), logit(0.999)),
        })
        .collect()
}

/// Returns the points that a level adds, as numerators over 2^level, in random order.
fn level_points(axes: usize, level: u32, seed: u64) -> Vec<Vec<u32>> {
    let side = (1_u32 << level) + 1;
    let count = u64::from(side).pow(axes as u32);
    let mut points: Vec<(u64, Vec<u32>)> = (0..count)
        .map(|index| {
            let digit = |axis| (index / u64::from(side).pow(axis as u32) % u64::from(side)) as u32;
            let point: Vec<u32> = (0..axes).map(digit).collect();
            (bits(seed.wrapping_add(u64::from(level)), index), point)
        })
        .filter(|(_, point)| level <= 1 || point.iter().any(|i| i % 2 == 1))
        .collect();
    points.sort();
    points.into_iter().map(|(_, point)| point).collect()
}

/// Returns the points of the grid around u0, coarse levels first.
pub(super) fn points(method: TunedMethod, u0: &[f64], seed: u64) -> impl Iterator<Item = Vec<f64>> {
    let sides = sides(method, u0);
    let u0 = u0.to_vec();
    let axes = sides.len();
    (1..=HALVINGS / axes.max(1) as u32)
        .flat_map(move |level| {
            let points = level_points(axes, level, seed).into_iter();
            points.map(move |point| (level, point))
        })
        .map(move |(level, point)| {
            let width = f64::from(1_u32 << level);
            let u: Vec<f64> = point
                .iter()
                .zip(&sides)
                .map(|(&i, (low, high))| low + (high - low) * f64::from(i) / width)
                .collect();
            match u.last() {
                // One factor for all step sizes.
                Some(shared) if u.len() < u0.len() => {
                    u0.iter().map(|u| u + shared - u0[0]).collect()
                }
                _ => u,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_make_a_grid_without_repeats() {
        for axes in 1..=3 {
            let mut all: Vec<Vec<u32>> = (1..=3)
                .flat_map(|level| {
                    let points = level_points(axes, level, 7);
                    let scaled = move |p: Vec<u32>| p.iter().map(|i| i << (3 - level)).collect();
                    points.into_iter().map(scaled)
                })
                .collect();
            all.sort();
            let count = all.len();
            all.dedup();
            assert_eq!((count, all.len()), (9_usize.pow(axes as u32), count));
        }
    }

    #[test]
    fn the_initial_values_are_inside_the_grid() {
        for method in TunedMethod::ALL {
            let u0 = method.coordinates(&method.textbook(10.0, 5));
            let sides = sides(method, &u0);
            assert_eq!(sides.len(), method.parameters().len());
            for ((low, high), u) in sides.iter().zip(&u0) {
                assert!(low < u && u < high, "{method:?}");
            }
        }
    }
}
