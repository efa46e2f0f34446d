//! The systems that are counted, and the engine's run of them.

use std::hint::black_box;

use dst_core::{Error, Euler, Memory, System, formula};

/// Loop that makes the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Case {
    /// dst-core.
    Engine,
    /// A loop written in place.
    Hand,
}

/// System that is stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SystemName {
    /// Gradient flow of Rosenbrock's function at the rate θ₁·exp(−θ₂t): an ordinary amount of work per step.
    Rosenbrock,
    /// The quadratic of the paper's Figure 1: a handful of flops, so every wasted instruction shows.
    Quadratic,
}

/// The numbers of a run.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// θ; the quadratic uses the first only.
    pub theta: [f64; 2],
    /// Starting point.
    pub x0: [f64; 2],
    /// h
    pub h: f64,
    /// ε
    pub epsilon: f64,
    /// Gives up after this many steps.
    pub max_steps: usize,
}

impl SystemName {
    /// The command-line name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rosenbrock => "rosenbrock",
            Self::Quadratic => "quadratic",
        }
    }

    /// A run whose criterion falls at every step for 10^5 steps, so that any of them can be the last.
    pub fn problem(self, epsilon: f64) -> Problem {
        let max_steps = 1_000_000;
        match self {
            Self::Rosenbrock => Problem {
                theta: [1.0, 0.01],
                x0: [0.5, 0.25],
                h: 1e-4,
                epsilon,
                max_steps,
            },
            Self::Quadratic => Problem {
                theta: [1.0, 0.0],
                x0: [1.0, 1.0],
                h: 1e-4,
                epsilon,
                max_steps,
            },
        }
    }
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// True if the tolerance was met, false at the step limit.
    pub reached: bool,
    /// N
    pub steps: usize,
    /// x_N
    pub state: [f64; 2],
    /// J(x_N)
    pub criterion: f64,
    /// J(x_{N−1})
    pub previous: f64,
}

/// The run by dst-core, as a user would write it.
pub fn engine(system: SystemName, problem: Problem) -> Result<Outcome, Error> {
    // What a compiler could fold away is hidden from it, as it is from the loop by hand.
    let problem = black_box(problem);
    match system {
        SystemName::Rosenbrock => {
            // f = (1 − x)² + 100(y − x²)²
            let flow = formula!(
                |theta: 2, x: 2, t| {
                    let rate = theta[0] * (-(theta[1] * t)).exp();
                    let (d, e) = (1.0 - x[0], x[1] - x[0] * x[0]);
                    let g = [-2.0 * d - 400.0 * x[0] * e, 200.0 * e];
                    [rate * g[0], rate * g[1]]
                },
                |x| {
                    let (d, e) = (1.0 - x[0], x[1] - x[0] * x[0]);
                    let g = [-2.0 * d - 400.0 * x[0] * e, 200.0 * e];
                    g[0] * g[0] + g[1] * g[1]
                },
            );
            complete::<_, 2>(&flow, problem.theta, problem)
        }
        SystemName::Quadratic => {
            // f = ½x² + 2y²
            let flow = formula!(
                |theta: 1, x: 2, _t| [x[0], theta[0] * (x[1] * 4.0)],
                |x| {
                    let g = [x[0], x[1] * 4.0];
                    g[0] * g[0] + g[1] * g[1]
                },
            );
            complete::<_, 1>(&flow, [problem.theta[0]], problem)
        }
    }
}

#[inline(never)]
fn complete<Y: System<f64>, const P: usize>(
    system: &Y,
    theta: [f64; P],
    problem: Problem,
) -> Result<Outcome, Error> {
    let mut memory = Memory::<f64, 2, P, 0>::new();
    let run = Euler::new(problem.h)
        .until(problem.epsilon)
        .at_most(problem.max_steps)
        .on(system, &theta, &problem.x0)?;
    run.start(&mut memory)?;
    let status = run.complete(&mut memory)?;
    let last = status.iterate();
    Ok(Outcome {
        reached: status.is_reached(),
        steps: last.steps,
        state: [last.state[0], last.state[1]],
        criterion: last.criterion,
        previous: last.previous,
    })
}
