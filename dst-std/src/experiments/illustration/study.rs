//! The parts of the illustration: a path, a curve, a line of errors.

use dst_core::{Crossing, Euler, HeapMemory, Heun, Integrator, Mode, Plan, Rk4, Status};

use super::exact;
use super::{
    Curve, CurvePoint, ErrorLine, Exact, FlowProblem, IllustrationConfig, Path, Tangent, system,
};
use crate::experiments::common;

pub(super) fn path(config: &IllustrationConfig, theta: f64) -> Path {
    let (h, epsilon) = (config.path_step, config.path_epsilon);
    let time = Exact::solve(theta, epsilon).map(|exact| exact.time);
    let end = time.unwrap_or(10.0);
    let flow = (0..=200).map(|i| exact::flow(theta, end * f64::from(i) / 200.0));
    let system = system!();
    let plan = Euler::new(h).until(epsilon).at_most(500);
    let mut memory = HeapMemory::new(&plan, &system, 0);
    let (mut steps, mut stopped) = (vec![(1.0, 1.0)], false);
    if let Ok(problem) = plan.on(&system, &[theta], &[1.0, 1.0])
        && problem.start(&mut memory).is_ok()
    {
        // A run that leaves the finite numbers ends here too, with the path so far.
        while let Ok(status) = problem.advance(&mut memory, 1) {
            if let [x, y] = *status.iterate().state {
                steps.push((x, y));
            }
            stopped = status.is_reached();
            if !matches!(status, Status::Running(_)) {
                break;
            }
        }
    }
    Path {
        theta,
        flow: flow.collect(),
        steps,
        time,
        stopped,
    }
}

pub(super) fn curve(config: &IllustrationConfig, epsilon: f64) -> Curve {
    let &IllustrationConfig {
        curve_from: from,
        curve_to: to,
        curve_intervals: intervals,
        curve_step: h,
        ..
    } = config;
    let at = |i: usize| from + (to - from) * i as f64 / intervals.max(1) as f64;
    let points = (0..=intervals).map(|i| {
        let theta = at(i);
        CurvePoint {
            theta,
            time: Exact::solve(theta, epsilon).map(|exact| exact.time),
            steps: count(theta, h, epsilon),
            half_steps: count(theta, 0.5 * h, epsilon),
        }
    });
    let tangents = config.tangents.iter().filter_map(|&theta| {
        let exact = Exact::solve(theta, epsilon)?;
        let (steps, gradient) = gradient(Euler::new(h), Crossing::Paper, theta, epsilon)?;
        Some(Tangent {
            theta,
            time: steps as f64 * h,
            gradient,
            exact_gradient: exact.time_gradient,
        })
    });
    Curve {
        epsilon,
        points: points.collect(),
        tangents: tangents.collect(),
    }
}

/// N of Euler's method; `None` if it does not stop.
fn count(theta: f64, h: f64, epsilon: f64) -> Option<usize> {
    let (system, theta) = (system!(), [theta]);
    let plan = Euler::new(h).until(epsilon).at_most(100_000);
    let mut memory = HeapMemory::new(&plan, &system, 0);
    let problem = plan.on(&system, &theta, &[1.0, 1.0]).ok()?;
    problem.start(&mut memory).ok()?;
    match problem.complete(&mut memory) {
        Ok(Status::Reached(stop)) => Some(stop.steps),
        _ => None,
    }
}

/// N and dT/dθ; `None` if there is no stop.
fn gradient(
    integrator: impl Integrator<f64>,
    crossing: Crossing,
    theta: f64,
    epsilon: f64,
) -> Option<(usize, f64)> {
    let system = system!();
    let plan = Plan::new(integrator, epsilon)
        .at_most(100_000)
        .mode(Mode::Adjoint)
        .crossing(crossing);
    let mut memory = HeapMemory::new(&plan, &system, 32);
    let answer = plan.sensitivity(&system, &[theta], &[1.0, 1.0], &mut memory);
    let answer = answer.ok()?;
    Some((answer.steps, *answer.time_gradient().first()?))
}

pub(super) fn error_line(
    config: &IllustrationConfig,
    integrator: &'static str,
    crossing: Crossing,
    expected: f64,
) -> ErrorLine {
    let FlowProblem { theta, epsilon, .. } = config.problem;
    let error = |h: f64| {
        let exact = Exact::solve(theta, epsilon)?.time_gradient;
        let (_, gradient) = match integrator {
            "Heun" => gradient(Heun::new(h), crossing, theta, epsilon),
            "RK4" => gradient(Rk4::new(h), crossing, theta, epsilon),
            _ => gradient(Euler::new(h), crossing, theta, epsilon),
        }?;
        Some((h, ((gradient - exact) / exact).abs()))
    };
    let steps =
        (0..=config.order_divisions).map(|k| config.order_step * libm::exp2(-0.5 * k as f64));
    let points: Vec<(f64, f64)> = steps.filter_map(error).collect();
    let visible: Vec<(f64, f64)> = points.iter().copied().filter(|p| p.1 > 0.0).collect();
    let order = common::order(&visible);
    ErrorLine {
        integrator,
        crossing: crossing.name(),
        expected,
        points,
        order,
    }
}
