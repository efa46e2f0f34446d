//! The loss of LAH (Sambharya and Stellato, arXiv 2411.15717) for the knobs of ADMM: the squared distance to the solution.
//!
//! The phases are trained one after another. The loss of a phase is ‖u − u\*‖² at its last iteration, averaged over a batch, with the
//! phases before it frozen; u are the inputs of all stages. The last phase has no end; its loss is taken [`REST`] iterations after
//! its beginning.

use dst_core::qp::{Admm, Phases};
use dst_core::system::{Bar, Dims, Point, Seed};
use dst_core::{Error, HeapMemory, Map, Reading, Seeds, System};

use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations, solve_exactly};
use super::tuning::{Training, TuningOptions};
use crate::adam::Adam;
use crate::parallel::{instances, try_instances};
use crate::progress::Progress;

/// Iterations of the last phase before its loss is taken.
const REST: usize = 36;
/// Step length of Adam, as LAH publishes it.
const RATE: f64 = 0.1;
/// Residual of the solution that counts as exact.
const EXACT: f64 = 1e-7;
/// Slots of the backward sweep: no recomputation below this many steps.
const SLOTS: usize = 128;

/// ADMM with ‖u − u\*‖² as its criterion.
struct Regression<'a> {
    admm: Admm<'a, f64>,
    program: &'a Program<f64>,
    target: &'a [f64],
}

impl Regression<'_> {
    /// Place in the state, and the difference to the solution, of every input.
    fn differences(&self, x: &[f64]) -> Vec<(usize, f64)> {
        let (m, n) = (self.program.shape.rows(), self.program.shape.variables());
        let place = |i: usize| (i / n) * m + i % n;
        let inputs = self.target.iter().enumerate();
        inputs.map(|(i, u)| (place(i), x[place(i)] - u)).collect()
    }
}

impl System<f64> for Regression<'_> {
    fn dims(&self) -> Dims {
        self.admm.dims()
    }

    fn check(&self, map: bool) -> Result<(), Error> {
        self.admm.check(map)
    }

    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        tape: &mut [f64],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        self.admm.rate(at, rate, tape, scratch);
        let distance = self.differences(at.x).iter().map(|(_, d)| d * d).sum();
        Reading {
            criterion: distance,
            loss: distance,
        }
    }

    fn pullback(
        &self,
        at: Point<'_, f64>,
        tape: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        scratch: &mut [f64],
    ) {
        let weight = seed.criterion + seed.loss;
        for (place, difference) in self.differences(at.x) {
            bar.x[place] += 2.0 * weight * difference;
        }
        let rate = Seed {
            criterion: 0.0,
            loss: 0.0,
            ..seed
        };
        self.admm.pullback(at, tape, rate, bar, scratch);
    }
}

/// ‖u − u\*‖² of instance `i` after `steps` iterations, its gradient by R and α of every phase, and the iterations computed for it.
pub fn distance(
    program: &Program<f64>,
    (pool, i): (&Pool<f64>, usize),
    target: &[f64],
    phases: Phases<'_, f64>,
    steps: usize,
) -> Result<(f64, Vec<f64>, usize), Error> {
    let admm = Admm::new(
        program.qp(),
        pool.instance(i),
        program.tolerance,
        phases.inverses,
        phases.switches,
    )?;
    let system = Regression {
        admm,
        program,
        target,
    };
    // A square does not come down to this.
    let plan = Map.until(-1.0).at_most(steps);
    let start = pool.start_vector(i);
    let problem = plan.on(&system, phases.params, &start)?;
    let mut memory = HeapMemory::with_records(&plan, &system, SLOTS);
    problem.start(&mut memory)?;
    let end = problem.complete(&mut memory)?;
    let value = end.iterate().criterion;
    let seeds = Seeds::weighted(|k| Reading::criterion(if k == steps { 1.0 } else { 0.0 }));
    problem.adjoint(&mut memory, seeds, usize::MAX)?;
    let found = problem.gradient(&memory)?;
    let work = found.evaluations.rate + 2 * found.evaluations.pullback;
    Ok((value, found.theta.to_vec(), work))
}

/// Trains by LAH's loss from θ: `options.steps` of Adam in all, divided among the phases. The ticks of `choice` decide between the
/// settings after each phase, the start included. The solutions u\* are not counted as work.
pub fn tune_by_distance(
    program: &Program<f64>,
    knobset: &Knobset,
    theta: &[f64],
    [pool, choice]: [&Pool<f64>; 2],
    options: &TuningOptions,
    progress: &Progress,
) -> Result<Training, Error> {
    let invalid = || Error::Invalid(dst_core::Argument::Theta);
    let (small, small_choice) = (program.cast::<f32>(), choice.cast::<f32>());
    let mut theta = theta.to_vec();
    let first = knobset.tuned(program, &theta).ok_or_else(invalid)?;
    let solution = |i: usize| solve_exactly(program, pool, i, first.phases(), EXACT);
    let targets = instances(pool.len(), solution);
    let usable: Vec<usize> = (0..pool.len()).filter(|&i| targets[i].is_some()).collect();
    let ends: Vec<usize> = {
        let last = knobset.switches.last().copied().unwrap_or(0) + REST;
        knobset.switches.iter().copied().chain([last]).collect()
    };
    let width = knobset.knobs().per_phase() + 1;
    let steps = options.steps.div_ceil(ends.len());
    let (mut work, mut best) = (0, None::<(Vec<f64>, Score)>);
    let task = progress.task("tuning by LAH's loss", ends.len());
    for (phase, &end) in std::iter::once(&0).chain(&ends).enumerate() {
        // Entry 0 has no steps: it scores the start.
        let mut adam = Adam::with_betas(theta.len(), [0.9, 0.999]);
        for step in 0..if phase == 0 { 0 } else { steps } {
            if progress.interrupted() {
                break;
            }
            let Some(tuned) = knobset.tuned(program, &theta) else {
                break;
            };
            let batch = options.batch_of(&usable, phase * steps + step);
            let found = try_instances(batch.len(), |place| {
                let i = batch[place];
                let target = targets[i].as_deref().unwrap_or_default();
                distance(program, (pool, i), target, tuned.phases(), end)
            });
            let mut gradient = vec![0.0; theta.len()];
            for (_, by_params, cost) in found? {
                work += cost;
                let mut own = vec![0.0; theta.len()];
                knobset.knobs().pull(&tuned.params, &by_params, &mut own);
                let free = (phase - 1) * width..phase * width;
                for j in free {
                    gradient[j] += own[j] / batch.len() as f64;
                }
            }
            adam.update_as_published(&mut theta, &gradient, RATE);
        }
        let Some(tuned) = knobset.tuned(program, &theta) else {
            break;
        };
        let counts = iterations(&small, &small_choice, tuned.cast().phases(), options.cap);
        work += options.work(&counts);
        let score = Score::of(&counts, options.cap);
        let better = |best: &(Vec<f64>, Score)| (options.key)(&score) < (options.key)(&best.1);
        if best.as_ref().is_none_or(better) {
            best = Some((theta.clone(), score));
        }
        task.advance(usize::from(phase > 0));
    }
    let (theta, score) = best.ok_or_else(invalid)?;
    Ok(Training {
        theta,
        score,
        history: Vec::new(),
        work,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::plants::safety_filter;

    /// The gradient agrees with differences, in every phase.
    #[test]
    fn the_gradient_of_the_distance() {
        let plant = safety_filter();
        let (program, pool) = (&plant.program, plant.pool(11, 3));
        let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
        let knobs = Knobset::each_stage(program, program.jacobi().unwrap(), &kinds, &[4, 9]);
        let theta = knobs.start(1.5, 1.6);
        let value = |theta: &[f64], i: usize, target: &[f64]| {
            let tuned = knobs.tuned(program, theta).unwrap();
            let (value, by_params, _) =
                distance(program, (&pool, i), target, tuned.phases(), 14).unwrap();
            let mut gradient = vec![0.0; theta.len()];
            knobs.knobs().pull(&tuned.params, &by_params, &mut gradient);
            (value, gradient)
        };
        let start = knobs.tuned(program, &theta).unwrap();
        let width = theta.len() / 3;
        for i in 0..pool.len() {
            let target = solve_exactly(program, &pool, i, start.phases(), EXACT).unwrap();
            let (here, gradient) = value(&theta, i, &target);
            assert!(here > 0.0);
            for j in [0, width + 1, 2 * width, theta.len() - 1] {
                let moved = |by: f64| {
                    let mut theta = theta.clone();
                    theta[j] += by;
                    value(&theta, i, &target).0
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                let scale = gradient.iter().fold(1e-9, |m: f64, g| m.max(g.abs()));
                assert!(
                    (gradient[j] - difference).abs() < 1e-5 * scale,
                    "{i} {j}: {} {difference}",
                    gradient[j]
                );
            }
        }
    }
}
