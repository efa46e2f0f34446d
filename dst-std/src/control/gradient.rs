//! N\* of one instance and its gradient by the parameters, through dst-core.
//!
//! Where the cap comes first, the stop is extrapolated: J, a logarithm, falls along a line on the whole, so with J_c at the cap
//! and J_p a hundred iterations before, N = c + 100·J_c/(J_p − J_c). That is a function of two readings, and a
//! sweep over the same run, with weights on these two alone, gives its gradient.

use dst_core::qp::{Admm, Phases};
use dst_core::solve::{Gradient, Iterate};
use dst_core::{Crossing, Error, HeapMemory, Map, Reading, Seeds};

use super::pool::Pool;
use super::program::Program;
use crate::parallel::piece;

/// Iterations between the two residuals of the line.
const REACH: usize = 100;
/// An extrapolated stop is not taken to be later than this many caps.
const LATEST: f64 = 4.0;
/// Slots of the backward sweep: no recomputation below this many steps.
const SLOTS: usize = 64;

/// A stopping time and what it depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Differentiated {
    /// N\*, in iterations; extrapolated if the cap came first. The horizon, where that is fixed.
    pub iterations: f64,
    /// Its gradient by R and α of every phase; zeros where there is none.
    pub gradient: Vec<f64>,
    /// Iterations that were computed for it: forwards, again, and twice for each one backwards.
    pub work: usize,
}

piece!(Differentiated {
    iterations,
    gradient,
    work
});

/// Runs instance `i` from its start and differentiates. The start does not depend on the parameters.
pub fn differentiate(
    program: &Program<f64>,
    pool: &Pool<f64>,
    i: usize,
    phases: Phases<'_, f64>,
    cap: u32,
) -> Result<Differentiated, Error> {
    let system = system(program, pool, i, phases)?;
    let cap = cap as usize;
    // The look at x_N is an iteration, too.
    let plan = Map.until(0.0).at_most(cap.saturating_sub(1));
    let start = pool.start_vector(i);
    let problem = plan.on(&system, phases.params, &start)?;
    let mut memory = HeapMemory::with_records(&plan, &system, SLOTS);
    problem.start(&mut memory)?;
    let far = cap.saturating_sub(1 + REACH);
    let mut earlier = f64::NAN;
    let end = problem.watch(&mut memory, usize::MAX, |k, seen| {
        if k == far {
            earlier = seen.criterion;
        }
    })?;
    let Iterate {
        steps, criterion, ..
    } = end.iterate();
    if end.is_reached() {
        let seeds = Seeds::stop(Crossing::Interpolated);
        let swept = problem.adjoint(&mut memory, seeds, usize::MAX);
        return of_sweep(swept.and_then(|_| problem.gradient(&memory)), steps, phases);
    }
    let line = Line::new(steps, earlier, criterion);
    let seeds = Seeds::weighted(|k| Reading::criterion(line.weight(k)));
    let swept = problem.adjoint(&mut memory, seeds, usize::MAX);
    let found = of_sweep(swept.and_then(|_| problem.gradient(&memory)), steps, phases)?;
    Ok(Differentiated {
        iterations: line.stop,
        ..found
    })
}

/// The line through J a hundred iterations before the cap and J at the cap.
#[derive(Clone, Copy)]
struct Line {
    first: usize,
    last: usize,
    /// Iteration at which the line meets J = 0.
    stop: f64,
    /// The derivatives of `stop` by J at the first and at the last iteration.
    weights: [f64; 2],
}

impl Line {
    fn new(steps: usize, earlier: f64, last: f64) -> Self {
        let cap = steps as f64 + 1.0;
        let first = steps.saturating_sub(REACH);
        let reach = (steps - first) as f64;
        let fall = earlier - last;
        // Where nothing falls, the line through the least fall that would stop in time for LATEST.
        let least = last * reach / ((LATEST - 1.0) * cap);
        let slow = fall.is_nan() || fall <= least;
        let fall = if slow { least } else { fall };
        let square = fall * fall;
        Self {
            first,
            last: steps,
            stop: cap + reach * last / fall,
            weights: if slow {
                // The gradient of J at the cap alone says in which direction it would fall.
                [0.0, reach / fall]
            } else {
                [-reach * last / square, reach * earlier / square]
            },
        }
    }

    fn weight(&self, k: usize) -> f64 {
        let [first, last] = self.weights;
        match k {
            k if k == self.last => last,
            k if k == self.first => first,
            _ => 0.0,
        }
    }
}

/// The gradient of a sweep over this many steps; zeros where there is none.
fn of_sweep(
    swept: Result<Gradient<'_, f64>, Error>,
    steps: usize,
    phases: Phases<'_, f64>,
) -> Result<Differentiated, Error> {
    match swept {
        Ok(found) => Ok(Differentiated {
            iterations: 1.0 + found.stop.map_or(steps as f64, |stop| stop.steps),
            gradient: found.theta.to_vec(),
            work: found.evaluations.rate + 2 * found.evaluations.pullback,
        }),
        Err(
            Error::StoppedAtStart | Error::FlatCrossing { .. } | Error::NonFiniteGradient { .. },
        ) => Ok(Differentiated {
            iterations: steps as f64 + 1.0,
            gradient: vec![0.0; phases.params.len()],
            work: steps + 1,
        }),
        Err(error) => Err(error),
    }
}

/// Gradient of an unrolled loss: of Σ J_k over a fixed number of iterations.
pub fn unrolled(
    program: &Program<f64>,
    pool: &Pool<f64>,
    i: usize,
    phases: Phases<'_, f64>,
    horizon: usize,
) -> Result<Differentiated, Error> {
    let system = system(program, pool, i, phases)?;
    let start = pool.start_vector(i);
    let steps = horizon.saturating_sub(1);
    // J, a logarithm, does not come down to this.
    let plan = Map.until(-1e6).at_most(steps);
    let problem = plan.on(&system, phases.params, &start)?;
    let mut memory = HeapMemory::with_records(&plan, &system, SLOTS);
    problem.start(&mut memory)?;
    problem.complete(&mut memory)?;
    let seeds = Seeds::weighted(|_| Reading::criterion(1.0));
    let swept = problem.adjoint(&mut memory, seeds, usize::MAX);
    let found = of_sweep(swept.and_then(|_| problem.gradient(&memory)), steps, phases)?;
    Ok(Differentiated {
        iterations: horizon as f64,
        ..found
    })
}

fn system<'a>(
    program: &'a Program<f64>,
    pool: &'a Pool<f64>,
    i: usize,
    phases: Phases<'a, f64>,
) -> Result<Admm<'a, f64>, Error> {
    Admm::new(
        program.qp(),
        pool.instance(i),
        program.tolerance,
        phases.inverses,
        phases.switches,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Knobset;
    use crate::control::plants::safety_filter;

    /// With every state kept, an iteration is computed once forwards and counts twice backwards.
    #[test]
    fn work_is_three_times_the_iterations() {
        let plant = safety_filter();
        let (program, pool) = (&plant.program, plant.pool(11, 8));
        let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
        let knobs = Knobset::each_stage(program, program.jacobi().unwrap(), &kinds, &[]);
        let tuned = knobs.tuned(program, &knobs.start(1.5, 1.6)).unwrap();
        let mut compared = 0;
        for i in 0..pool.len() {
            let found = unrolled(program, &pool, i, tuned.phases(), 20).unwrap();
            assert_eq!(found.work, 3 * 20);
            // A cap that comes too early costs no more.
            let found = differentiate(program, &pool, i, tuned.phases(), 2).unwrap();
            assert_eq!(found.work, 3 * 2);
            let found = differentiate(program, &pool, i, tuned.phases(), 500).unwrap();
            let iterations = found.iterations.ceil() as usize;
            if (2..=SLOTS).contains(&iterations) {
                assert_eq!(found.work, 3 * iterations, "{}", found.iterations);
                compared += 1;
            }
        }
        assert!(compared > 0);
    }
}
