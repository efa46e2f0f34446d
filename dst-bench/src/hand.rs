//! The same runs as a careful engineer writes them in place: state in an array, one evaluation per step, the stop
//! test, the step limit, a check for non-finite values at the step where they appear, and J of the step before.

use std::hint::black_box;

use dst_core::Scalar;

use crate::systems::{Outcome, Problem, SystemName};

/// The run without dst-core. `None` if a value became infinite or NaN.
pub fn by_hand(system: SystemName, problem: Problem) -> Option<Outcome> {
    let problem = black_box(problem);
    match system {
        SystemName::Rosenbrock => rosenbrock(problem),
        SystemName::Quadratic => quadratic(problem),
    }
}

#[inline(never)]
fn rosenbrock(problem: Problem) -> Option<Outcome> {
    let Problem {
        theta,
        x0: mut x,
        h,
        epsilon,
        max_steps,
    } = problem;
    let (mut k, mut previous) = (0usize, f64::NAN);
    loop {
        let t = k as f64 * h;
        let rate = theta[0] * Scalar::exp(-(theta[1] * t));
        let (d, e) = (1.0 - x[0], x[1] - x[0] * x[0]);
        let g = [-2.0 * d - 400.0 * x[0] * e, 200.0 * e];
        let j = g[0] * g[0] + g[1] * g[1];
        if !j.is_finite() {
            return None;
        }
        if j <= epsilon || k >= max_steps {
            return Some(Outcome {
                reached: j <= epsilon,
                steps: k,
                state: x,
                criterion: j,
                previous,
            });
        }
        x = [x[0] - h * (rate * g[0]), x[1] - h * (rate * g[1])];
        if !(x[0].is_finite() && x[1].is_finite()) {
            return None;
        }
        previous = j;
        k += 1;
    }
}

#[inline(never)]
fn quadratic(problem: Problem) -> Option<Outcome> {
    let Problem {
        theta: [theta, _],
        x0: mut x,
        h,
        epsilon,
        max_steps,
    } = problem;
    let (mut k, mut previous) = (0usize, f64::NAN);
    loop {
        let g = [x[0], x[1] * 4.0];
        let j = g[0] * g[0] + g[1] * g[1];
        if !j.is_finite() {
            return None;
        }
        if j <= epsilon || k >= max_steps {
            return Some(Outcome {
                reached: j <= epsilon,
                steps: k,
                state: x,
                criterion: j,
                previous,
            });
        }
        x = [x[0] - h * g[0], x[1] - h * (theta * g[1])];
        if !(x[0].is_finite() && x[1].is_finite()) {
            return None;
        }
        previous = j;
        k += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::engine;

    /// The tolerance that stops a run at this step: J itself there.
    fn tolerance(system: SystemName, steps: usize) -> f64 {
        let problem = Problem {
            max_steps: steps,
            ..system.problem(0.0)
        };
        by_hand(system, problem).unwrap().criterion
    }

    #[test]
    fn both_loops_end_at_the_same_step_with_the_same_bits() {
        for system in [SystemName::Rosenbrock, SystemName::Quadratic] {
            for steps in [1, 2, 1000] {
                let problem = system.problem(tolerance(system, steps));
                let (a, b) = (
                    engine(system, problem).unwrap(),
                    by_hand(system, problem).unwrap(),
                );
                assert!(a.reached && a.steps == steps, "{system:?}: {a:?}");
                assert_eq!(a.state.map(f64::to_bits), b.state.map(f64::to_bits));
                assert_eq!(
                    (a.steps, a.criterion, a.previous),
                    (b.steps, b.criterion, b.previous)
                );
            }
        }
    }
}
