//! Iteration counts of the instances of a pool, and their statistics.

use dst_core::Scalar;
use dst_core::qp::{Phases, Solver};
use serde::Serialize;

use super::pool::Pool;
use super::program::Program;
use crate::parallel::instances;

/// Mean, tail and worst of iteration counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Score {
    /// The mean.
    pub mean: f64,
    /// All but one in a hundred need no more.
    pub p99: f64,
    /// All but one in two hundred.
    pub p995: f64,
    /// The largest.
    pub max: f64,
    /// The share that was not solved within the cap, in percent.
    pub at_cap: f64,
}

impl Score {
    /// The score of these counts; a count above `cap` means not solved.
    pub fn of(counts: &[u32], cap: u32) -> Self {
        let mut sorted: Vec<u32> = counts.iter().map(|&c| c.min(cap)).collect();
        sorted.sort_unstable();
        let n = sorted.len().max(1) as f64;
        let unsolved = counts.iter().filter(|&&c| c > cap).count();
        let percentile = |share: f64| {
            let rank = (share * (n - 1.0)).round() as usize;
            sorted.get(rank).copied().map_or(f64::NAN, f64::from)
        };
        Self {
            mean: sorted.iter().map(|&c| f64::from(c)).sum::<f64>() / n,
            p99: percentile(0.99),
            p995: percentile(0.995),
            max: sorted.last().copied().map_or(f64::NAN, f64::from),
            at_cap: 100.0 * unsolved as f64 / n,
        }
    }

    /// Criterion for tuned settings: [`blend`](Self::blend), and a little of the maximum.
    pub fn choice(&self) -> f64 {
        self.blend() + 0.05 * self.max
    }

    /// Criterion for controllers whose last phase was trained, on a large pool: as [`choice`](Self::choice), with p99.5 for p99. The
    /// p99 of a few thousand ticks may be the p99.4 of all, and the counts may jump in between.
    pub fn tail_choice(&self) -> f64 {
        0.5 * (self.mean + self.p995) + 0.05 * self.max
    }

    /// ½ mean + ½ p99: criterion for settings of a grid, if the tail is to count.
    pub fn blend(&self) -> f64 {
        0.5 * (self.mean + self.p99)
    }
}

/// Iterations of every instance from its start; `cap` + 1 where the tolerance was not met within the cap.
pub fn iterations<S: Scalar>(
    program: &Program<S>,
    pool: &Pool<S>,
    phases: Phases<'_, S>,
    cap: u32,
) -> Vec<u32> {
    let each = |i: usize| {
        let mut memory = SolverMemory::new(program);
        memory.solve(program, pool, i, phases, cap).0
    };
    instances(pool.len(), each)
}

/// Working vectors of one solve.
struct SolverMemory<S> {
    z: Vec<S>,
    y: Vec<S>,
    rows: Vec<S>,
    scratch: Vec<S>,
}

impl<S: Scalar> SolverMemory<S> {
    fn new(program: &Program<S>) -> Self {
        let rows = program.shape.blocks * program.shape.rows();
        let zeros = |n| vec![S::ZERO; n];
        Self {
            z: zeros(rows),
            y: zeros(rows),
            rows: zeros(rows),
            scratch: zeros(program.shape.scratch()),
        }
    }

    /// Iterations and the last ratio.
    fn solve(
        &mut self,
        program: &Program<S>,
        pool: &Pool<S>,
        i: usize,
        phases: Phases<'_, S>,
        cap: u32,
    ) -> (u32, S) {
        let mut ratio = S::INFINITY;
        let Ok(solver) = Solver::new(program.qp(), pool.instance(i), program.tolerance) else {
            return (cap + 1, ratio);
        };
        let start = pool.start_vector(i);
        let (z, y) = start.split_at(start.len() / 2);
        self.z.copy_from_slice(z);
        self.y.copy_from_slice(y);
        for k in 0..cap {
            let phase = phases.at(program.shape, k as usize);
            let Self {
                z,
                y,
                rows,
                scratch,
            } = self;
            ratio = solver.iterate(phase, z, y, rows, scratch).ratio();
            if ratio <= S::ONE {
                return (k + 1, ratio);
            }
        }
        (cap + 1, ratio)
    }
}

/// u of all stages to within `tolerance` of both residuals, by as many iterations as it takes; `None` if not within 10⁵.
pub fn solve_exactly(
    program: &Program<f64>,
    pool: &Pool<f64>,
    i: usize,
    phases: Phases<'_, f64>,
    tolerance: f64,
) -> Option<Vec<f64>> {
    let mut tight = program.clone();
    tight.tolerance.primal = tolerance;
    tight.tolerance.dual = tolerance;
    tight.tolerance.dual_relative = 0.0;
    let mut memory = SolverMemory::new(&tight);
    let (steps, _) = memory.solve(&tight, pool, i, phases, 100_000);
    (steps <= 100_000).then(|| inputs_of(program, &memory.z))
}

/// u of all stages at the stop.
pub fn solve<S: Scalar>(
    program: &Program<S>,
    pool: &Pool<S>,
    i: usize,
    phases: Phases<'_, S>,
    cap: u32,
) -> Vec<S> {
    let mut memory = SolverMemory::new(program);
    memory.solve(program, pool, i, phases, cap);
    inputs_of(program, &memory.z)
}

/// The inputs of all stages, block after block, out of z.
fn inputs_of<S: Scalar>(program: &Program<S>, z: &[S]) -> Vec<S> {
    let (m, n) = (program.shape.rows(), program.shape.variables());
    z.chunks_exact(m).flat_map(|b| b[..n].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_a_known_list() {
        let counts: Vec<u32> = (1..=1001).rev().collect();
        let score = Score::of(&counts, 1000);
        let found = (score.p99, score.p995, score.max);
        assert_eq!(found, (991.0, 996.0, 1000.0));
        assert!((score.mean - 501_500.0 / 1001.0).abs() < 1e-12);
        assert!((score.at_cap - 100.0 / 1001.0).abs() < 1e-12);
    }
}
