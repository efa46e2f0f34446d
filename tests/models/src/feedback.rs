//! Twelve states under state feedback, with gains as parameters: an engine of ordinary size beside hand-written C, in `f32`.
//!
//! x′ = Ax + Bu, u = −Kx, θ = K row by row, J = ‖x‖². A and B are dense, as those of an identified plant are.

use core::array::from_fn;
use core::hint::black_box;

use dst_core::{
    Bar, Cost, Crossing, Dims, Error, Euler, Memory, Point, Reading, Seed, Seeds, System,
};

/// States.
pub const STATES: usize = 12;
/// Inputs.
pub const INPUTS: usize = 4;
/// Gains.
pub const GAINS: usize = INPUTS * STATES;
/// Checkpoints.
const SLOTS: usize = 10;

/// Memory of the run.
pub type Room = Memory<f32, STATES, GAINS, SLOTS, 7>;

/// The plant and its feedback. Its matrices are written at run time, so that the compiler cannot fold them into the code.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    a: [[f32; STATES]; STATES],
    /// B, transposed: a row per input.
    b: [[f32; STATES]; INPUTS],
}

impl Feedback {
    /// A stable plant with small whole numbers.
    pub fn new() -> Self {
        let unit = black_box(1.0 / 64.0);
        let number = |i: usize, j: usize| ((7 * i + 13 * j) % 11) as f32 * unit - 5.0 * unit;
        Self {
            a: from_fn(|i| from_fn(|j| number(i, j) - if i == j { 1.0 } else { 0.0 })),
            b: from_fn(|j| from_fn(|i| (((5 * i + 3 * j) % 7) as f32 - 3.0) * 4.0 * unit)),
        }
    }

    /// θ: a quarter of Bᵀ.
    pub fn gains(&self) -> [f32; GAINS] {
        let mut theta = [0.0; GAINS];
        for (theta, b) in theta.iter_mut().zip(self.b.as_flattened()) {
            *theta = b / 4.0;
        }
        theta
    }
}

impl Default for Feedback {
    fn default() -> Self {
        Self::new()
    }
}

/// to ← to + a·x
#[inline(always)]
fn add(to: &mut [f32; STATES], a: f32, x: &[f32; STATES]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += a * x;
    }
}

#[inline(always)]
fn dot(a: &[f32; STATES], x: &[f32; STATES]) -> f32 {
    a.iter().zip(x).fold(0.0, |sum, (a, x)| sum + a * x)
}

impl System<f32> for Feedback {
    #[inline(always)]
    fn dims(&self) -> Dims {
        Dims::new(STATES, GAINS)
    }

    #[inline]
    fn rate(
        &self,
        at: Point<'_, f32>,
        rate: &mut [f32],
        _: &mut [f32],
        _: &mut [f32],
    ) -> Reading<f32> {
        // The engine passes slices of the declared lengths.
        let (Some(x), Some(rate)) = (at.x.first_chunk(), rate.first_chunk_mut()) else {
            return Reading::criterion(f32::NAN);
        };
        for (rate, row) in rate.iter_mut().zip(&self.a) {
            *rate = -dot(row, x);
        }
        for (gains, column) in at.theta.as_chunks().0.iter().zip(&self.b) {
            add(rate, dot(gains, x), column);
        }
        Reading::criterion(dot(x, x))
    }

    #[inline]
    fn pullback(
        &self,
        at: Point<'_, f32>,
        _: &[f32],
        seed: Seed<'_, f32>,
        bar: Bar<'_, f32>,
        _: &mut [f32],
    ) {
        let (Some(x), Some(rate_bar), Some(x_bar)) = (
            at.x.first_chunk(),
            seed.rate.first_chunk(),
            bar.x.first_chunk_mut(),
        ) else {
            return;
        };
        let mut sum = *x_bar;
        add(&mut sum, 2.0 * seed.criterion, x);
        for (&seed, row) in rate_bar.iter().zip(&self.a) {
            add(&mut sum, -seed, row);
        }
        let theta = at.theta.as_chunks().0.iter();
        let bars = bar.theta.as_chunks_mut().0;
        for ((gains, bars), column) in theta.zip(bars).zip(&self.b) {
            let u = dot(column, rate_bar);
            add(&mut sum, u, gains);
            add(bars, u, x);
        }
        *x_bar = sum;
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: None,
        }
    }
}

/// x_0
pub fn start() -> [f32; STATES] {
    from_fn(|i| (i % 3) as f32 / 2.0 + 0.25)
}

/// N, evaluations, pullbacks, T, and the gradient.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// N, evaluations of the rate, pullbacks.
    pub counts: [u32; 3],
    /// T, ∂T/∂θ, ∂T/∂x0
    pub results: [f32; 1 + GAINS + STATES],
}

impl Report {
    /// Empty report; for a `static`.
    pub const EMPTY: Self = Self {
        counts: [0; 3],
        results: [0.0; 1 + GAINS + STATES],
    };
}

/// Runs and differentiates; calls `stopped` in between.
#[inline(always)]
pub fn run(
    system: &Feedback,
    memory: &mut Room,
    theta: &[f32; GAINS],
    x0: &[f32; STATES],
    report: &mut Report,
    stopped: impl FnOnce(),
) -> Result<(), Error> {
    let problem = Euler::new(0.015625).until(1e-3).on(system, theta, x0)?;
    problem.start(memory)?;
    problem.complete(memory)?;
    stopped();
    problem.adjoint(memory, Seeds::stop(Crossing::Paper), usize::MAX)?;
    let gradient = problem.gradient(memory)?;
    report.counts = [
        gradient.steps as u32,
        gradient.evaluations.rate as u32,
        gradient.evaluations.pullback as u32,
    ];
    let time = gradient.stop.map(|stop| stop.time);
    let found = time.iter().chain(gradient.theta).chain(gradient.x0);
    for (to, &from) in report.results.iter_mut().zip(found) {
        *to = from;
    }
    Ok(())
}
