//! One run from one starting point, with a score that continues beyond the iteration limit.
//!
//! The score of a run that stops is ln(1 + N\*), with N\* the interpolated stopping time. A run that meets the limit first
//! has covered a part of the way from J₀ down to ε. With q = ln(J_K/ε)/ln(J₀/ε) the share of the way that is left after K
//! steps, on the logarithmic scale on which methods converge, K/(1 − q) steps would be enough at that pace, and the
//! score is ln(1 + K) + φ(q), φ = −ln(1 − q). Beyond q = ½ φ goes on along its tangent, so that a run that has gained
//! nothing, or has diverged, has a finite score and a slope that points home.
//!
//! ln J_K is the mean over the last tenth of the run, and K the middle of it: methods with momentum oscillate, and a
//! single value would be a matter of luck. Its gradient comes from the same run: a sweep whose seeds are weights on J
//! at these steps.

use dst_core::solve::Iterate;
use dst_core::{
    Crossing, Error, Euler, HeapMemory, Plan, Progress, Reading, Seeds, Status, System,
};

use crate::family::Work;
use crate::parallel::piece;
use crate::progress::Interrupt;

/// Steps between two polls of the interrupt flag.
const PATIENCE: usize = 64;
/// The largest number of bytes of checkpoints for one run.
pub(super) const MEMORY: usize = 64 << 20;

/// A method on a problem, ready to be run.
#[derive(Clone, Copy)]
pub(super) struct PreparedRun<'a> {
    pub(super) system: &'a (dyn System<f64> + Send + Sync),
    /// The value of J at which the run stops.
    pub(super) epsilon: f64,
    /// The least value of J.
    pub(super) floor: f64,
    pub(super) max_steps: usize,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    /// N, if the run stopped.
    pub(super) steps: Option<usize>,
    /// The last J.
    pub(super) criterion: f64,
    /// See above; infinite if the run left the finite numbers.
    pub(super) score: f64,
    /// The derivative of the score by θ; empty where there is none.
    pub(super) gradient: Vec<f64>,
    /// Evaluations of the run.
    pub(super) work: Work,
}

piece!(Trial {
    steps,
    criterion,
    score,
    gradient,
    work
});

/// The reason why there is no trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoTrial {
    /// The tolerance is met at the start.
    AtStart,
    Interrupted,
    /// An unexpected error of the engine.
    Engine(Error),
}

/// Returns φ(q) and φ'(q).
fn lateness(q: f64) -> (f64, f64) {
    if q < 0.5 {
        (-libm::log1p(-q), 1.0 / (1.0 - q))
    } else {
        (std::f64::consts::LN_2 + 2.0 * (q - 0.5), 2.0)
    }
}

/// Runs from a state with these hyperparameters, and differentiates if `differentiate` is set.
pub(super) fn trial(
    prepared: &PreparedRun<'_>,
    theta: &[f64],
    state: &[f64],
    differentiate: bool,
    interrupt: &Interrupt,
) -> Result<Trial, NoTrial> {
    // A descent may leave the numbers that there are.
    if !theta.iter().all(|value| value.is_finite()) {
        return Ok(lost(0));
    }
    let limit = prepared.max_steps;
    let plan = Euler::new(1.0)
        .until(prepared.epsilon)
        .at_most(limit)
        .theta_only();
    let problem = plan
        .on(prepared.system, theta, state)
        .map_err(NoTrial::Engine)?;
    let mut memory = memory(&plan, prepared.system, differentiate, limit);
    problem.start(&mut memory).map_err(NoTrial::Engine)?;
    let tail_length = (limit / 10).max(1);
    let (mut first, mut tail) = (f64::NAN, Vec::new());
    let last = loop {
        if interrupt.raised() {
            return Err(NoTrial::Interrupted);
        }
        let status = problem.watch(&mut memory, PATIENCE, |k, seen| {
            if k == 0 {
                first = seen.criterion;
            }
            if k + tail_length > limit {
                tail.push(seen.criterion);
            }
        });
        match status {
            Ok(Status::Running(_)) => {}
            Ok(status) => break status,
            Err(Error::NonFinite { step }) => return Ok(lost(step)),
            Err(error) => return Err(NoTrial::Engine(error)),
        }
    };
    let reached = last.is_reached();
    let Iterate {
        steps,
        criterion,
        previous,
        ..
    } = last.iterate();
    if reached && steps == 0 {
        return Err(NoTrial::AtStart);
    }
    // The score and its derivative: by N*, or by the mean of ln J over the tail.
    let (score, scale) = if reached {
        tail.clear();
        let part = (previous - prepared.epsilon) / (previous - criterion);
        let late = (steps - 1) as f64 + part;
        (libm::log1p(late), 1.0 / (1.0 + late))
    } else {
        // Logarithms of J above its least value.
        let gap = |j: f64| libm::log((j - prepared.floor) / (prepared.epsilon - prepared.floor));
        let way = gap(first);
        let left = tail.iter().map(|&j| gap(j)).sum::<f64>() / tail.len() as f64;
        let (late, slope) = lateness(left / way);
        let middle = limit as f64 - 0.5 * (tail.len() as f64 - 1.0);
        // Not to have stopped is never better than to have stopped at the limit.
        let score = (libm::log1p(middle) + late).max(libm::log1p(limit as f64));
        (score, slope / way)
    };
    let mut trial = Trial {
        steps: reached.then_some(steps),
        criterion,
        score,
        gradient: Vec::new(),
        work: Work {
            forward: steps + 1,
            backward: 0,
        },
    };
    if differentiate {
        let (count, begin) = (tail.len() as f64, limit.saturating_add(1) - tail.len());
        let in_tail = Seeds::weighted(|step| {
            let j = step.checked_sub(begin).and_then(|i| tail.get(i));
            Reading::criterion(j.map_or(0.0, |j| 1.0 / (count * (j - prepared.floor))))
        });
        let stop = Seeds::stop(Crossing::Interpolated).times(if reached { 1.0 } else { 0.0 });
        sweep(
            problem,
            &mut memory,
            stop + in_tail,
            scale,
            &mut trial,
            interrupt,
        )?;
    }
    Ok(trial)
}

/// Returns the trial of a run that left the finite numbers at this step.
fn lost(step: usize) -> Trial {
    Trial {
        steps: None,
        criterion: f64::INFINITY,
        score: f64::INFINITY,
        gradient: Vec::new(),
        work: Work {
            forward: step + 1,
            backward: 0,
        },
    }
}

/// Allocates slots for all steps with their records, within [`MEMORY`]; none for a run without a gradient.
fn memory<Y: System<f64> + ?Sized>(
    plan: &Plan<f64, Euler<f64>>,
    system: &Y,
    differentiate: bool,
    limit: usize,
) -> HeapMemory<f64> {
    if !differentiate {
        return HeapMemory::new(plan, system, 0);
    }
    let dims = system.dims();
    let slot = (dims.states + dims.tape).max(1) * size_of::<f64>();
    let slots = (MEMORY / slot).clamp(8, limit.max(8));
    HeapMemory::with_records(plan, system, slots)
}

/// Differentiates a finished run and stores `scale` times the gradient in the trial.
fn sweep<Y, W>(
    problem: dst_core::Problem<'_, f64, Y, Euler<f64>>,
    memory: &mut HeapMemory<f64>,
    seeds: Seeds<f64, W>,
    scale: f64,
    trial: &mut Trial,
    interrupt: &Interrupt,
) -> Result<(), NoTrial>
where
    Y: System<f64> + ?Sized,
    W: Fn(usize) -> Reading<f64> + Copy,
{
    let result = loop {
        match problem.differentiate(memory, seeds, PATIENCE) {
            Ok(Progress::Running { .. }) if interrupt.raised() => return Err(NoTrial::Interrupted),
            Ok(Progress::Running { .. }) => {}
            Ok(Progress::Done) => break problem.gradient(memory),
            Err(error) => break Err(error),
        }
    };
    match result {
        Ok(gradient) => {
            trial.gradient = gradient.theta.iter().map(|from| scale * from).collect();
            trial.work = Work {
                forward: gradient.evaluations.rate,
                backward: gradient.evaluations.pullback + gradient.evaluations.pushforward,
            };
            Ok(())
        }
        // Flat crossings and gradients beyond all bounds have no direction to offer: the trial then has its score alone.
        Err(
            Error::FlatCrossing { .. } | Error::NonFiniteGradient { .. } | Error::NonFinite { .. },
        ) => Ok(()),
        Err(error) => Err(NoTrial::Engine(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Criterion, ProblemKind, TunedMethod, TuningProblem};
    use super::*;

    fn score(
        method: TunedMethod,
        theta: &[f64],
        max_steps: usize,
        criterion: Criterion,
        differentiate: bool,
    ) -> Trial {
        let problem = TuningProblem::built_in(ProblemKind::Quadratic, 0.0, 1).unwrap();
        let system = method.system(&*problem.objective, criterion.optimality());
        let floor = if criterion == Criterion::ValueGap {
            problem.least()
        } else {
            0.0
        };
        let config = crate::tune::TuningConfig {
            criterion,
            tolerance: 1e-4,
            absolute: true,
            ..crate::tune::TuningConfig::new(method)
        };
        let prepared = PreparedRun {
            system: &*system,
            epsilon: config.epsilon(f64::NAN, floor),
            floor,
            max_steps,
        };
        let state = method.state(&problem.start(1));
        trial(&prepared, theta, &state, differentiate, &Interrupt::never()).unwrap()
    }

    /// The gradient of the score against differences of it: where runs stop, and where they do not.
    #[test]
    fn the_gradient_of_the_score_agrees_with_differences() {
        for method in TunedMethod::ALL {
            for max_steps in [2000, 60] {
                for criterion in Criterion::ALL {
                    let mut theta = method.textbook(10.0, 100);
                    if method == TunedMethod::Adam {
                        theta[0] = 0.1;
                    }
                    let at = score(method, &theta, max_steps, criterion, true);
                    assert_eq!(at.steps.is_some(), max_steps == 2000, "{method:?} {at:?}");
                    assert!(at.work.backward > 0 && at.work.forward >= max_steps.min(61));
                    for i in [0, at.gradient.len() - 1] {
                        let d = 1e-7 * theta[i];
                        let moved = |by: f64| {
                            let mut theta = theta.clone();
                            theta[i] += by;
                            score(method, &theta, max_steps, criterion, false).score
                        };
                        let difference = (moved(d) - moved(-d)) / (2.0 * d);
                        let error = (difference - at.gradient[i]).abs();
                        let size = difference.abs().max(1e-3 / theta[i]);
                        assert!(
                            error < 1e-4 * size,
                            "{method:?} {criterion:?} {max_steps} {i}: {} against {difference}",
                            at.gradient[i]
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_score_increases_beyond_the_iteration_limit() {
        // Ever larger steps, ever worse: slow, on the spot, diverging, beyond all numbers.
        let scores: Vec<f64> = [0.19, 0.1999, 0.2, 0.201, 0.3, 1e6]
            .iter()
            .map(|&alpha| {
                score(
                    TunedMethod::Gd,
                    &[alpha],
                    400,
                    Criterion::GradientMax,
                    false,
                )
                .score
            })
            .collect();
        assert!(scores.windows(2).all(|w| w[0] < w[1]), "{scores:?}");
        assert!(scores[4].is_finite() && scores[5].is_infinite());
        // Both branches meet at ½, in value and in slope.
        let (below, above) = (lateness(0.5 - 1e-9), lateness(0.5));
        assert!((below.0 - above.0).abs() < 1e-8 && (below.1 - above.1).abs() < 1e-8);
        // A run that almost made it counts about as much as one that just did.
        let n = score(
            TunedMethod::Gd,
            &[0.19],
            4000,
            Criterion::GradientMax,
            false,
        );
        let n = n.steps.unwrap();
        let just = |limit| {
            score(
                TunedMethod::Gd,
                &[0.19],
                limit,
                Criterion::GradientMax,
                false,
            )
            .score
        };
        let (stopped, not) = (just(n), just(n - 1));
        assert!((stopped - not).abs() < 0.05, "{stopped} {not}");
    }
}
