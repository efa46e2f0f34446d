//! One Dormand–Prince step over a [`System`], and its exact transpose.
//!
//! The memory of a step is seven stage states, rates and tapes. Stage 0 is x_k and stage 6 is x_{k+1}, so accepting a step is
//! three swaps of vectors and no copy.
//!
//! Transpose, for λ the cotangent of x_{k+1}, from the last stage to the first:
//! k̄_i = −h(b_i λ + Σ_{m>i} a_mi X̄_m),  X̄_i = (∂A/∂x)ᵀk̄_i,  θ̄ += (∂A/∂θ)ᵀk̄_i,  x̄_k = λ + Σ X̄_i.
//! The rates have no part in it, so their memory holds the X̄_i.

use dst_core::{Bar, Point, Reading, Seed, System};

use super::tableau::{A, B, C, E, STAGES, dense};

/// Evaluations of a step whose first rate is not at hand, and pullbacks of any: the last stage belongs to the next step.
pub(super) const INNER: usize = STAGES - 1;

/// Sums run over pieces of this length, which stay in the first-level cache.
const PIECE: usize = 512;

/// The stages of one step.
#[derive(Debug)]
pub(super) struct Step<'a, Y: ?Sized> {
    system: &'a Y,
    theta: &'a [f64],
    /// X_i: `states[0]` is x_k, `states[6]` is x_{k+1}.
    pub(super) states: [Vec<f64>; STAGES],
    /// A(θ, X_i, t + c_i h)
    pub(super) rates: [Vec<f64>; STAGES],
    tapes: [Vec<f64>; STAGES],
    /// A state apart from the stages, with rate and tape; also where sums over stages go.
    pub(super) spare: [Vec<f64>; 3],
    scratch: Vec<f64>,
    /// Calls of the rate and of the pullback so far.
    pub(super) evaluations: usize,
    pub(super) pullbacks: usize,
}

impl<'a, Y: System<f64> + ?Sized> Step<'a, Y> {
    pub(super) fn new(system: &'a Y, theta: &'a [f64], x0: &[f64]) -> Self {
        let dims = system.dims();
        let vectors = |length| std::array::from_fn(|_| vec![0.0; length]);
        let mut step = Self {
            system,
            theta,
            states: vectors(dims.states),
            rates: vectors(dims.states),
            tapes: vectors(dims.tape),
            spare: [dims.states, dims.states, dims.tape].map(|length| vec![0.0; length]),
            scratch: vec![0.0; dims.scratch],
            evaluations: 0,
            pullbacks: 0,
        };
        step.states[0].copy_from_slice(x0);
        step
    }

    /// Evaluates at stage i of the step from t, whose state is in place.
    pub(super) fn evaluate(&mut self, t: f64, h: f64, i: usize) -> Reading<f64> {
        self.evaluations += 1;
        let at = Point {
            theta: self.theta,
            x: &self.states[i],
            t: t + C[i] * h,
        };
        let (rate, tape) = (&mut self.rates[i], &mut self.tapes[i]);
        self.system.rate(at, rate, tape, &mut self.scratch)
    }

    /// Evaluates at the spare state.
    pub(super) fn evaluate_spare(&mut self, t: f64) -> Reading<f64> {
        self.evaluations += 1;
        let [x, rate, tape] = &mut self.spare;
        let theta = self.theta;
        self.system
            .rate(Point { theta, x, t }, rate, tape, &mut self.scratch)
    }

    /// X_i from the rates before it.
    fn place(&mut self, h: f64, i: usize) {
        let (first, later) = self.states.split_at_mut(1);
        if let (Some(x), Some(to)) = (first.first(), later.get_mut(i - 1)) {
            descend(to, x, h, &A[i], &self.rates);
        }
    }

    /// The stages between the ends, the rate of the first being at hand.
    fn middle(&mut self, t: f64, h: f64) {
        for i in 1..INNER {
            self.place(h, i);
            self.evaluate(t, h, i);
        }
    }

    /// The whole step from a first stage that is evaluated: six evaluations. Returns J and f at x_{k+1}.
    pub(super) fn run(&mut self, t: f64, h: f64) -> Reading<f64> {
        self.middle(t, h);
        self.place(h, INNER);
        self.evaluate(t, h, INNER)
    }

    /// The stages that the transpose needs, from x_k alone: six evaluations.
    pub(super) fn record(&mut self, t: f64, h: f64) {
        self.evaluate(t, h, 0);
        self.middle(t, h);
    }

    /// From x_k alone to x_{k+1}, which becomes the first stage: six evaluations. The very operations of [`run`](Self::run), so
    /// the very bits.
    pub(super) fn replay(&mut self, t: f64, h: f64) {
        self.record(t, h);
        self.place(h, INNER);
        self.states.swap(0, INNER);
    }

    /// The step is done: its end is the start of the next one.
    pub(super) fn accept(&mut self) {
        self.states.swap(0, INNER);
        self.rates.swap(0, INNER);
        self.tapes.swap(0, INNER);
    }

    /// x(t + u h) between the ends, into the spare state.
    pub(super) fn interpolate(&mut self, h: f64, u: f64) {
        descend(
            &mut self.spare[0],
            &self.states[0],
            h,
            &dense(u),
            &self.rates,
        );
    }

    /// The error estimate, measured in units of the tolerance; NaN or infinite if any number of the step is not finite.
    pub(super) fn error(&mut self, h: f64, rtol: f64, atol: f64) -> f64 {
        let error = &mut self.spare[0];
        weighted_sum(error, &E, &self.rates);
        let (before, after) = (&self.states[0], &self.states[INNER]);
        let squares = error.iter().zip(before).zip(after).map(|((e, x), y)| {
            // `max` would hide a NaN in x_{k+1}.
            let size = if x.abs() > y.abs() { x.abs() } else { y.abs() };
            let ratio = h * e / (atol + rtol * size);
            ratio * ratio
        });
        (squares.sum::<f64>() / before.len() as f64).sqrt()
    }

    /// Adds ∇J(x_{k+1}) to `lambda` and ∂J/∂θ to `theta_bar`, and returns ∂J/∂t.
    pub(super) fn criterion_gradient(
        &mut self,
        t: f64,
        lambda: &mut [f64],
        theta_bar: &mut [f64],
    ) -> f64 {
        self.spare[0].fill(0.0);
        let mut in_time = 0.0;
        let bar = Bar {
            theta: theta_bar,
            x: lambda,
            t: Some(&mut in_time),
        };
        self.pullback(t, INNER, 1.0, bar);
        in_time
    }

    /// Pulls λ back through the step, in place, and adds to θ̄. Needs the states and tapes; the rates are lost.
    pub(super) fn pull(&mut self, t: f64, h: f64, lambda: &mut [f64], theta_bar: &mut [f64]) {
        for i in (0..INNER).rev() {
            let column: [f64; STAGES] =
                std::array::from_fn(|m| if m < INNER { A[m][i] } else { 0.0 });
            let k_bar = &mut self.spare[0];
            weighted_sum(k_bar, &column, &self.rates);
            for (k, l) in k_bar.iter_mut().zip(lambda.iter()) {
                *k = -h * (B[i] * l + *k);
            }
            let mut stage_bar = std::mem::take(&mut self.rates[i]);
            stage_bar.fill(0.0);
            let bar = Bar {
                theta: theta_bar,
                x: &mut stage_bar,
                t: None,
            };
            self.pullback(t + C[i] * h, i, 0.0, bar);
            self.rates[i] = stage_bar;
        }
        for stage_bar in self.rates[..INNER].iter().rev() {
            for (l, s) in lambda.iter_mut().zip(stage_bar) {
                *l += s;
            }
        }
    }

    /// The system's pullback at stage i, with the cotangent of the rate in the spare state.
    fn pullback(&mut self, t: f64, i: usize, criterion: f64, bar: Bar<'_, f64>) {
        self.pullbacks += 1;
        let at = Point {
            theta: self.theta,
            x: &self.states[i],
            t,
        };
        let seed = Seed {
            rate: &self.spare[0],
            criterion,
            loss: 0.0,
        };
        self.system
            .pullback(at, &self.tapes[i], seed, bar, &mut self.scratch);
    }
}

/// to ← x − h Σ w_j v_j
pub(super) fn descend(
    to: &mut [f64],
    x: &[f64],
    h: f64,
    weights: &[f64; STAGES],
    vectors: &[Vec<f64>; STAGES],
) {
    weighted_sum(to, weights, vectors);
    for (to, x) in to.iter_mut().zip(x) {
        *to = x - h * *to;
    }
}

/// to ← Σ w_j v_j, over those with a weight: what has none may hold anything.
fn weighted_sum(to: &mut [f64], weights: &[f64; STAGES], vectors: &[Vec<f64>; STAGES]) {
    for (index, piece) in to.chunks_mut(PIECE).enumerate() {
        piece.fill(0.0);
        let start = index * PIECE;
        for (&weight, vector) in weights.iter().zip(vectors) {
            if weight != 0.0
                && let Some(vector) = vector.get(start..start + piece.len())
            {
                for (to, v) in piece.iter_mut().zip(vector) {
                    *to += weight * v;
                }
            }
        }
    }
}
