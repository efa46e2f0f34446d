//! Programs of `dst_tests` as [`Dense`], with memory on the heap.

use dst_core::qp::{ActiveSet, Bounds, Dense, DenseMemory, Outcome};
use dst_core::{Error, Scalar};
use dst_tests::programs::Program;

/// q, l and h of one solve.
#[derive(Clone, Debug)]
pub(crate) struct Data<S> {
    pub(crate) linear: Vec<S>,
    pub(crate) lower: Vec<S>,
    pub(crate) upper: Vec<S>,
}

impl<S: Scalar> Data<S> {
    pub(crate) fn of(program: &Program) -> Self {
        Self {
            linear: cast(&program.linear),
            lower: cast(&program.lower),
            upper: cast(&program.upper),
        }
    }
}

/// Constants of a program, prepared in f64 and rounded to S.
pub(crate) struct Prepared<S> {
    factor: Vec<S>,
    inverse: Vec<S>,
    columns: Vec<S>,
    gram: Vec<S>,
    scale: Vec<S>,
    caps: Vec<S>,
    lifts: Vec<S>,
    boxed: usize,
    tolerance: S,
}

/// Answer of a solve.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) u: Vec<f64>,
}

impl<S: Scalar> Prepared<S> {
    pub(crate) fn new(program: &Program) -> Self {
        let (n, m) = (program.variables(), program.count());
        let mut memory = vec![0.0; Dense::<f64>::numbers(n, m)];
        let (caps, lifts) = (penalties(&program.caps, f64::INFINITY), {
            penalties(&program.softness, 0.0)
        });
        let dense = Dense::prepare(
            &program.hessian,
            &program.rows,
            &caps,
            &lifts,
            0.0,
            &mut memory,
        )
        .unwrap();
        Self {
            factor: cast(dense.factor),
            inverse: cast(dense.inverse),
            columns: cast(dense.columns),
            gram: cast(dense.set.gram),
            scale: cast(dense.set.scale),
            caps: cast(&caps),
            lifts: cast(&lifts),
            boxed: dense.boxed,
            tolerance: S::ZERO,
        }
    }

    fn dense(&self) -> Dense<'_, S> {
        Dense {
            factor: &self.factor,
            inverse: &self.inverse,
            columns: &self.columns,
            set: ActiveSet {
                gram: &self.gram,
                scale: &self.scale,
                caps: &self.caps,
                lifts: &self.lifts,
                tolerance: self.tolerance,
            },
            boxed: self.boxed,
        }
    }

    /// Rows that the set needs at most: n + 1 of hard rows, all if there are soft ones; and four, because rounding may hide that
    /// rows are dependent.
    pub(crate) fn capacity(&self) -> usize {
        let (n, m) = (self.inverse.len(), self.scale.len());
        match self.caps.is_empty() && self.lifts.is_empty() {
            true => n.min(m) + 5,
            false => m + 1,
        }
    }

    /// Steps that a program may take before it counts as cycling.
    pub(crate) fn patience(&self) -> usize {
        10 * (self.inverse.len() + self.scale.len())
    }

    /// Memory for sets of up to `capacity` rows.
    pub(crate) fn memory(&self, capacity: usize) -> Memory<'_, S> {
        let (n, m) = (self.inverse.len(), self.scale.len());
        Memory {
            prepared: self,
            capacity,
            numbers: vec![S::ZERO; DenseMemory::<S>::numbers(n, m, capacity)],
            words: vec![0; DenseMemory::<S>::words(capacity)],
        }
    }

    /// Solves from a cold start, with room and patience.
    pub(crate) fn solve(&self, data: &Data<S>) -> Answer {
        let mut memory = self.memory(self.capacity());
        let mut solver = memory.solver();
        solver.solve(data, self.patience()).unwrap()
    }
}

/// Memory on the heap.
pub(crate) struct Memory<'a, S> {
    prepared: &'a Prepared<S>,
    capacity: usize,
    numbers: Vec<S>,
    words: Vec<u16>,
}

impl<S: Scalar> Memory<'_, S> {
    pub(crate) fn solver(&mut self) -> Solver<'_, S> {
        let dense = self.prepared.dense();
        let (n, m) = (dense.inverse.len(), dense.set.scale.len());
        let (numbers, words) = (&mut self.numbers, &mut self.words);
        Solver {
            dense,
            memory: DenseMemory::new(n, m, self.capacity, numbers, words).unwrap(),
        }
    }
}

/// Program with the memory of its last solve.
pub(crate) struct Solver<'a, S> {
    dense: Dense<'a, S>,
    memory: DenseMemory<'a, S>,
}

impl<S: Scalar> Solver<'_, S> {
    pub(crate) fn solve(&mut self, data: &Data<S>, budget: usize) -> Result<Answer, Error> {
        let bounds = Bounds {
            lower: &data.lower,
            upper: &data.upper,
        };
        let outcome = self
            .dense
            .solve(&mut self.memory, &data.linear, bounds, budget)?;
        Ok(Answer {
            outcome,
            u: self.memory.variables().iter().map(|u| u.to_f64()).collect(),
        })
    }
}

/// Entries of u that are outside the bounds of the identity rows; NaN counts as outside, an empty box does not count.
pub(crate) fn outside<S: Scalar>(program: &Program, data: &Data<S>, u: &[f64]) -> usize {
    let limits = data.lower.iter().zip(&data.upper).zip(u);
    let is_out = |((l, h), u): &((&S, &S), &f64)| {
        let (l, h) = (l.to_f64(), h.to_f64());
        l <= h && !(l..=h).contains(*u)
    };
    limits.take(program.identity).filter(is_out).count()
}

/// ‖u − u*‖_∞ / max(1, ‖u*‖_∞); infinity for NaN.
pub(crate) fn distance(u: &[f64], exact: &[f64]) -> f64 {
    let size = exact.iter().fold(1.0_f64, |m, u| m.max(u.abs()));
    let pairs = u.iter().zip(exact);
    let largest = pairs.fold(0.0_f64, |m, (a, b)| {
        let d = (a - b).abs();
        if d.is_nan() { f64::INFINITY } else { m.max(d) }
    });
    largest / size
}

fn cast<S: Scalar>(values: &[f64]) -> Vec<S> {
    values.iter().map(|&v| S::from_f64(v)).collect()
}

/// The list, or an empty one if all rows are hard.
fn penalties(values: &[f64], hard: f64) -> Vec<f64> {
    if values.iter().all(|&v| v == hard) {
        Vec::new()
    } else {
        values.to_vec()
    }
}
