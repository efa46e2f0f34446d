//! The family of a tuning: one method on one problem from random starting points.

use dst_core::System;

use super::config::{Criterion, TuningConfig};
use super::method::TunedMethod;
use super::problem::TuningProblem;
use super::trial::{NoTrial, PreparedRun, Trial, trial};
use crate::Failure;
use crate::family::{Family, Instance, Request, Sample, Stream};
use crate::format::short;
use crate::progress::Interrupt;

/// A method on a problem, with all starting points and their ε.
pub(super) struct Runs<'a> {
    system: Box<dyn System<f64> + Send + Sync + 'a>,
    method: TunedMethod,
    floor: f64,
    max_steps: usize,
    tolerance: f64,
    /// Starting points of every stream: the state of the method and ε.
    starts: [Vec<(Vec<f64>, f64)>; 3],
}

/// Returns the place of a stream in [`Runs::starts`].
fn place(stream: Stream) -> usize {
    match stream {
        Stream::Tuning => 0,
        Stream::Choosing => 1,
        Stream::Testing => 2,
    }
}

impl<'a> Runs<'a> {
    /// Draws the starting points and evaluates J at each of them.
    pub(super) fn new(config: &TuningConfig, problem: &'a TuningProblem) -> Self {
        let method = config.method;
        let system = method.system(&*problem.objective, config.criterion.optimality());
        let floor = match config.criterion {
            Criterion::ValueGap => problem.least(),
            Criterion::GradientMax | Criterion::GradientNorm => 0.0,
        };
        let start = |instance: Instance| {
            let x = problem.start(instance.key);
            let first = first_criterion(problem, config.criterion, &x);
            (method.state(&x), config.epsilon(first, floor))
        };
        let draw = |stream: Stream, count| -> Vec<_> {
            let instances = stream.instances(config.seed, count);
            instances.into_iter().map(start).collect()
        };
        let starts = [
            draw(Stream::Tuning, config.starts),
            draw(Stream::Choosing, config.choosing()),
            draw(Stream::Testing, config.held_out),
        ];
        Self {
            system,
            method,
            floor,
            max_steps: config.max_steps,
            tolerance: config.tolerance,
            starts,
        }
    }

    /// The least value of J.
    pub(super) fn floor(&self) -> f64 {
        self.floor
    }

    /// The starting points of a stream: the state of the method, and ε.
    pub(super) fn starts(&self, stream: Stream) -> &[(Vec<f64>, f64)] {
        &self.starts[place(stream)]
    }

    /// Runs one starting point with the hyperparameters θ.
    pub(super) fn trial(
        &self,
        (state, epsilon): &(Vec<f64>, f64),
        theta: &[f64],
        (limit, ease): (usize, f64),
        differentiate: bool,
        interrupt: &Interrupt,
    ) -> Result<Trial, Failure> {
        let prepared = PreparedRun {
            system: &*self.system,
            epsilon: self.floor + ease * (epsilon - self.floor),
            floor: self.floor,
            max_steps: self.max_steps.min(limit),
        };
        trial(&prepared, theta, state, differentiate, interrupt).map_err(|why| match why {
            NoTrial::AtStart => Failure::NoAnswer(format!(
                "the tolerance {} is met before the first iteration; lower --tolerance",
                short(self.tolerance)
            )),
            NoTrial::Interrupted => Failure::Interrupted,
            NoTrial::Engine(error) => Failure::NoAnswer(error.to_string()),
        })
    }
}

impl Family for Runs<'_> {
    fn parameters(&self) -> usize {
        self.system.dims().params
    }

    fn run(&self, instance: Instance, u: &[f64], request: &Request<'_>) -> Result<Sample, Failure> {
        let start = self.starts[place(instance.stream)].get(instance.index);
        let start = start.ok_or_else(|| Failure::NoAnswer("no such starting point".to_owned()))?;
        let theta = self.method.theta(u);
        let mut found = self.trial(
            start,
            &theta,
            (request.limit, request.ease),
            request.gradient,
            request.interrupt,
        )?;
        self.method.chain(&theta, &mut found.gradient);
        Ok(Sample {
            value: found.score,
            steps: found.steps,
            gradient: found.gradient,
            work: found.work,
        })
    }
}

/// Returns J at a starting point.
fn first_criterion(problem: &TuningProblem, criterion: Criterion, x: &[f64]) -> f64 {
    let objective = &*problem.objective;
    let (mut gradient, mut tape) = (vec![0.0; x.len()], vec![0.0; objective.tape_len()]);
    let mut scratch = vec![0.0; objective.scratch_len()];
    let f = objective.value_gradient(x, &mut gradient, &mut tape, &mut scratch);
    criterion.optimality().value(f, &gradient)
}
