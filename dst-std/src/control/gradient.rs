//! N\* of one instance and its gradient by the parameters, through dst-core.
//!
//! Where the cap comes first, the stop is extrapolated: J, a logarithm, falls along a line on the whole, so with J_c at the cap
//! and J_p a hundred iterations before, N = c + 100·J_c/(J_p − J_c). That is a function of two readings, and the
//! engine's running loss, with weights at these two alone, gives its gradient.

use dst_core::mpc::{Admm, Phases};
use dst_core::{Error, Euler, HeapMemory, Integrator, Mode, Status};

use super::pool::Pool;
use super::program::Program;

/// How far back the line through the residuals begins.
const REACH: usize = 100;
/// An extrapolated stop is not taken to be later than this many caps.
const LATEST: f64 = 4.0;
/// Slots of the backward sweep: no recomputation below so many steps.
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

/// Runs instance `i` from z = y = 0 and differentiates.
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
    let plan = Euler::new(1.0)
        .until(0.0)
        .at_most(cap.saturating_sub(1))
        .mode(Mode::Adjoint);
    let start = vec![0.0; program.shape.states()];
    let mut memory = HeapMemory::with_records(&plan, &system, SLOTS);
    let flat = |iterations: f64, work: usize| Differentiated {
        iterations,
        gradient: vec![0.0; phases.params.len()],
        work,
    };
    let mut run = plan.record(&system, phases.params, &start, &mut memory)?;
    let mut earlier = f64::NAN;
    let far = cap.saturating_sub(1 + REACH);
    let status = loop {
        let seen = run.iterate().steps;
        let portion = if earlier.is_nan() {
            far - seen
        } else {
            usize::MAX
        };
        match run.advance(portion)? {
            Status::Running(now) if now.steps == far => earlier = now.criterion,
            Status::Running(_) => {}
            Status::Reached(_) => break None,
            Status::StepLimit(last) => break Some((last.steps, last.criterion)),
        }
    };
    if let Some((steps, last)) = status {
        return extrapolated(&system, phases.params, &start, (steps, earlier, last));
    }
    let steps = run.iterate().steps;
    match run.adjoint().and_then(dst_core::Adjoint::finish) {
        Ok(found) => Ok(Differentiated {
            iterations: 1.0 + found.stop.map_or(steps as f64, |stop| stop.steps),
            gradient: found.theta.to_vec(),
            work: found.evaluations.rate + 2 * found.evaluations.pullback,
        }),
        Err(Error::StoppedAtStart) => Ok(flat(1.0, 1)),
        Err(Error::FlatCrossing { .. } | Error::NonFiniteGradient { .. }) => {
            Ok(flat(steps as f64 + 1.0, steps + 1))
        }
        Err(error) => Err(error),
    }
}

fn extrapolated(
    system: &Admm<'_, f64>,
    params: &[f64],
    start: &[f64],
    (steps, earlier, last): (usize, f64, f64),
) -> Result<Differentiated, Error> {
    let cap = steps as f64 + 1.0;
    let first = steps.saturating_sub(REACH);
    let reach = (steps - first) as f64;
    let fall = earlier - last;
    // Where nothing falls, the line through the least fall that would stop in time for LATEST.
    let least = last * reach / ((LATEST - 1.0) * cap);
    let slow = fall.is_nan() || fall <= least;
    let fall = if slow { least } else { fall };
    let iterations = cap + reach * last / fall;
    let square = fall * fall;
    let weights = move |k: usize| {
        if slow {
            // The gradient of J at the cap alone says in which direction it would fall.
            return if k == steps { reach / fall } else { 0.0 };
        }
        match k {
            k if k == steps => reach * earlier / square,
            k if k == first => -reach * last / square,
            _ => 0.0,
        }
    };
    let (gradient, work) = of_readings(system, params, start, steps, &weights)?;
    Ok(Differentiated {
        iterations,
        gradient,
        work: work + steps + 1,
    })
}

/// The gradient of Σ w_k J_k over so many steps, and the iterations computed for it.
fn of_readings(
    system: &Admm<'_, f64>,
    params: &[f64],
    start: &[f64],
    steps: usize,
    weights: &impl Fn(usize) -> f64,
) -> Result<(Vec<f64>, usize), Error> {
    let plan = Euler::new(1.0)
        .until(-1e6)
        .at_most(steps)
        .mode(Mode::Adjoint)
        .running_loss(weights, 0.0);
    let mut memory = HeapMemory::with_records(&plan, system, SLOTS);
    match plan.gradient(system, params, start, &mut memory) {
        Ok(found) => Ok((
            found.theta.to_vec(),
            found.evaluations.rate + 2 * found.evaluations.pullback,
        )),
        Err(Error::NonFiniteGradient { .. }) => Ok((vec![0.0; params.len()], steps + 1)),
        Err(error) => Err(error),
    }
}

/// What training by an unrolled loss takes instead: the gradient of Σ J_k over a fixed number of iterations.
pub fn unrolled(
    program: &Program<f64>,
    pool: &Pool<f64>,
    i: usize,
    phases: Phases<'_, f64>,
    horizon: usize,
) -> Result<Differentiated, Error> {
    let system = system(program, pool, i, phases)?;
    let start = vec![0.0; program.shape.states()];
    let steps = horizon.saturating_sub(1);
    let (gradient, work) = of_readings(&system, phases.params, &start, steps, &|_| 1.0)?;
    Ok(Differentiated {
        iterations: horizon as f64,
        gradient,
        work,
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

    /// Where every state is kept, an iteration is computed once forwards and counts twice backwards.
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
            // A cap that comes too early: forwards once more, to see that it does.
            let found = differentiate(program, &pool, i, tuned.phases(), 2).unwrap();
            assert_eq!(found.work, 2 + 3 * 2);
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
