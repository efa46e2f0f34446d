//! Warm closed loops and cold ticks of a controller, in parallel, with the same results for any number of threads.
//!
//! The plant is simulated in double precision and driven by the inputs of the controller under test.

use dst_core::qp::Status;

use super::device::{Device, Session, TickOutcome};
use super::exact::{ExactSession, exact_session, input_error};
use super::scenario::Scenario;
use super::tally::Tally;
use crate::Failure;
use crate::parallel::{Piece, piece, ranks, try_instances};
use crate::progress::{Counter, Progress};
use crate::qp::{Counts, ErrorOfInputs};

/// Runs of a rank between two looks at the progress.
const PORTION: usize = 64;

/// Runs to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// Random stream.
    pub stream: u64,
    /// Number of runs, or of cold ticks.
    pub count: usize,
    /// Ticks of a run.
    pub ticks: usize,
    /// Steps or iterations allowed.
    pub budget: u32,
}

/// One tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickResult {
    /// Outcome of the controller.
    pub outcome: TickOutcome,
    /// Error of the inputs. NaN if the tick was not solved, or has no exact solution that keeps all bounds.
    pub error: f32,
    /// Error of the inputs of a tick with a softened row, where large multipliers leave fewer digits; NaN otherwise.
    pub soft_error: f32,
    /// True if the program has an exact solution.
    pub solvable: bool,
    /// Kinds of rows that were softened, one bit for each; the last bit stands for all further ones.
    pub softened: u64,
    /// Rows in the active set.
    pub active: u16,
}

piece!(TickResult {
    outcome,
    error,
    soft_error,
    solvable,
    softened,
    active
});

impl TickResult {
    /// True if the tick was solved within the budget.
    pub fn is_solved(&self) -> bool {
        self.outcome.status.is_solved()
    }
}

/// Ticks of one run.
pub type RunResult = Vec<TickResult>;

/// Simulates closed loops, each warm-started from tick to tick. A run ends early if its state is no longer finite.
pub fn warm_loops(
    scenario: &Scenario,
    device: &Device,
    runs: Runs,
    task: &Counter,
    progress: &Progress,
) -> Result<Vec<RunResult>, Failure> {
    let mut results = Vec::with_capacity(runs.count);
    each_loop(scenario, device, runs, (task, progress), |run| {
        results.push(run);
    })?;
    Ok(results)
}

/// The same without keeping them: `take` receives the runs in their order.
pub(super) fn each_loop(
    scenario: &Scenario,
    device: &Device,
    runs: Runs,
    (task, progress): (&Counter, &Progress),
    take: impl FnMut(RunResult),
) -> Result<(), Failure> {
    let simulated = |number| {
        sessions(scenario, device, |session, exact| {
            let mut run = scenario.run(runs.stream, number as u64);
            let mut results = Vec::with_capacity(runs.ticks);
            for _ in 0..runs.ticks {
                let (p, extra) = scenario.measure(&mut run, runs.ticks);
                let result = tick(scenario, (session, exact), (&p, &extra), runs.budget);
                results.push(result);
                if !p.iter().all(|p| p.is_finite()) || progress.interrupted() {
                    break;
                }
                scenario.advance(&mut run, session.inputs());
            }
            results
        })
    };
    in_portions(runs.count, (task, progress), simulated, take)
}

/// Solves ticks from a cold start.
pub fn cold_ticks(
    scenario: &Scenario,
    device: &Device,
    runs: Runs,
    progress: &Progress,
) -> Result<RunResult, Failure> {
    let portions = runs.count.div_ceil(PORTION);
    let task = Progress::hidden().task("cold ticks", portions);
    let mut results = Vec::with_capacity(runs.count);
    let portion = |portion: usize| {
        sessions(scenario, device, |session, exact| {
            let first = portion * PORTION;
            let last = runs.count.min(first + PORTION);
            let one = |number: usize| {
                session.reset();
                exact.reset();
                let (p, extra) = scenario.cold(runs.stream, number as u64);
                tick(scenario, (session, exact), (&p, &extra), runs.budget)
            };
            (first..last).map(one).collect::<RunResult>()
        })
    };
    in_portions(portions, (&task, progress), portion, |ticks| {
        results.extend(ticks);
    })?;
    Ok(results)
}

/// Both solvers with their memories.
fn sessions<R>(
    scenario: &Scenario,
    device: &Device,
    work: impl FnOnce(&mut Session<'_, '_>, &mut ExactSession<'_, '_>) -> R,
) -> Option<R> {
    let both =
        device.session(|session| exact_session(&scenario.active, |exact| work(session, exact)));
    both.flatten()
}

/// Runs of all ranks that are in memory at once.
pub(super) fn portion() -> usize {
    PORTION * ranks::count()
}

/// Does `work` for the numbers below `count`, and hands the results to `take` in their order.
fn in_portions<R: Piece + Send>(
    count: usize,
    (task, progress): (&Counter, &Progress),
    work: impl Fn(usize) -> Option<R> + Sync,
    take: impl FnMut(R),
) -> Result<(), Failure> {
    let mut take = take;
    for first in (0..count).step_by(portion()) {
        let last = count.min(first + portion());
        let refused = || Failure::NoAnswer("the controller refuses its own constants".to_owned());
        let found = try_instances(last - first, |i| work(first + i).ok_or_else(refused));
        progress.check()?;
        found?.into_iter().for_each(&mut take);
        task.advance(last - first);
    }
    Ok(())
}

fn tick(
    scenario: &Scenario,
    (session, exact): (&mut Session<'_, '_>, &mut ExactSession<'_, '_>),
    (p, extra): (&[f32], &[f32]),
    budget: u32,
) -> TickResult {
    let outcome = session.tick(p, extra, budget);
    let solution = exact.solve(p, extra);
    let (mut error, mut soft_error) = (f32::NAN, f32::NAN);
    if let (Some(solution), true) = (&solution, outcome.status.is_solved()) {
        let found = input_error(&scenario.active, session.inputs(), &solution.inputs) as f32;
        let kept = solution.status == Status::Solved && outcome.status == Status::Solved;
        if kept {
            error = found;
        } else if session.takes_soft_rows() {
            soft_error = found;
        }
    }
    let bit = |kind: usize| 1 << kind.min(63);
    let softened = match outcome.status {
        Status::Softened => session
            .softened()
            .into_iter()
            .map(bit)
            .fold(0, |a, b| a | b),
        _ => 0,
    };
    TickResult {
        outcome,
        error,
        soft_error,
        solvable: solution.is_some(),
        softened,
        active: u16::try_from(session.active_rows()).unwrap_or(u16::MAX),
    }
}

/// One recorded tick of a loop: parameter, extra term, z and y from which it starts.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Parameter.
    pub p: Vec<f32>,
    /// Extra term.
    pub extra: Vec<f32>,
    /// z and y; zeros at the first tick.
    pub start: Vec<f32>,
}

piece!(Recorded { p, extra, start });

/// Ticks of closed loops of an ADMM controller with the points from which they start, run after run.
pub fn record(
    scenario: &Scenario,
    device: &Device,
    runs: Runs,
    progress: &Progress,
) -> Result<Vec<Recorded>, Failure> {
    let task = Progress::hidden().task("recording", runs.count);
    let mut results = Vec::new();
    let recorded = |number| {
        device.session(|session| {
            let mut run = scenario.run(runs.stream, number as u64);
            let mut start = vec![0.0; scenario.program.shape.states()];
            let mut ticks = Vec::with_capacity(runs.ticks);
            for _ in 0..runs.ticks {
                let (p, extra) = scenario.measure(&mut run, runs.ticks);
                if !p.iter().all(|p| p.is_finite()) || progress.interrupted() {
                    break;
                }
                session.tick(&p, &extra, runs.budget);
                ticks.push(Recorded { p, extra, start });
                let next = session.next_start().unwrap_or_default();
                let finite = next.iter().all(|v| v.is_finite());
                start = if finite { next } else { vec![0.0; next.len()] };
                scenario.advance(&mut run, session.inputs());
            }
            ticks
        })
    };
    in_portions(
        runs.count,
        (&task, progress),
        recorded,
        |ticks: Vec<Recorded>| {
            results.extend(ticks);
        },
    )?;
    Ok(results)
}

/// Statistics of ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickStatistics {
    /// Steps or iterations.
    pub counts: Counts,
    /// Mean of the multiply-adds.
    pub mean_operations: f64,
    /// All but one tick in a hundred take no more multiply-adds.
    pub p99_operations: f64,
    /// Errors of the inputs of ticks that were solved and keep all bounds.
    pub errors: ErrorOfInputs,
    /// Largest error of the inputs of ticks with a softened row.
    pub soft_error: f64,
    /// Largest number of active rows.
    pub active: usize,
}

impl TickStatistics {
    /// Statistics of these ticks.
    pub fn of<'a>(ticks: impl IntoIterator<Item = &'a TickResult>) -> Self {
        let mut tally = Tally::default();
        ticks.into_iter().for_each(|tick| tally.add(tick));
        tally.statistics()
    }
}
