//! Seeds of a sweep: the stopping time, weights on J and f, or both. Also the step from dJ to dT: four definitions of the time at
//! which J crosses ε.
//!
//! A run stops between x_{N−1}, where J > ε, and x_N, where J ≤ ε. By the implicit function theorem ∂T/∂p = −(∂J/∂p at fixed
//! time) / (dJ/dt), both at the crossing (Theorem 1 of the paper). The definitions differ in where they take numerator and slope;
//! all share one backward sweep, with seeds w_i on ∇J(x_N), ∇J(x_{N−1}), ∇J(x_{N−2}):
//!
//! | crossing | seeds | slope dJ/dt | order in h |
//! |---|---|---|---|
//! | [`Paper`](Crossing::Paper) | 1 at x_N | (J_N − J_{N−1})/h | 1 with every integrator |
//! | [`Interpolated`](Crossing::Interpolated) | α at x_N, 1 − α at x_{N−1} | (J_N − J_{N−1})/h | 1; *exact* gradient of N\* |
//! | [`Slope`](Crossing::Slope) | the same | ∂J/∂t − ∇J·A, interpolated | 2 (Heun) |
//! | [`Hermite`](Crossing::Hermite) | quadratic through three steps, at s\* | derivative of the cubic | 3 (RK4) |
//!
//! α = (J_{N−1} − ε)/(J_{N−1} − J_N) and N\* = N − 1 + α. At s\* the cubic through both values and both slopes of J equals ε.
//! With N = 1 there is no third step, and `Hermite` interpolates its numerator linearly. The paper's Appendix A drops the minus
//! sign of its Theorem 1; Theorem 1 and Definition 3 are correct.

use core::ops::Add;

use super::adjoint::Sweeper;
use super::memory::{Known, NONE};
use crate::error::Error;
use crate::integrator::Integrator;
use crate::scalar::Scalar;
use crate::slices::{clear, split};
use crate::system::{Bar, Direction, Reading, Seed, System};

/// Definition of the stopping time within the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Crossing {
    /// Definition 3 of the paper: −h·dJ_N/(J_N − J_{N−1}).
    Paper,
    /// The exact gradient of the linearly interpolated N\*; agrees with finite differences of N\*.
    #[default]
    Interpolated,
    /// Interpolated numerator over the interpolated slope ∂J/∂t − ∇J·A; second order with [`Heun`](crate::Heun).
    Slope,
    /// Cubic Hermite interpolation of J; third order with [`Rk4`](crate::Rk4).
    Hermite,
}

impl Crossing {
    /// All crossings.
    pub const ALL: [Self; 4] = [Self::Paper, Self::Interpolated, Self::Slope, Self::Hermite];

    /// Name, as in the code.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "Paper",
            Self::Interpolated => "Interpolated",
            Self::Slope => "Slope",
            Self::Hermite => "Hermite",
        }
    }

    /// True if it needs dJ/dt at both ends of the last step.
    pub(crate) fn needs_slopes(self) -> bool {
        matches!(self, Self::Slope | Self::Hermite)
    }
}

/// Quantity to differentiate, chosen after the run, when the sweep begins.
///
/// Gradients are linear in their seeds, so one sweep serves the stopping time and weights on J and f at any steps. A further
/// sweep over the same run, with other seeds, does not recompute states that are still kept.
///
/// ```
/// use dst_core::{Crossing, Euler, Memory, Reading, Seeds, formula};
/// # let flow = formula!(|theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0], |x| x[0] * x[0] + x[1] * x[1] * 16.0);
/// let problem = Euler::new(0.05).until(1e-4).on(&flow, &[0.5], &[1.0, 1.0])?;
/// let mut memory = Memory::<f64, 2, 1, 200>::new();
/// problem.start(&mut memory)?;
/// problem.complete(&mut memory)?;
/// let (stop, sum) = (Seeds::stop(Crossing::Interpolated), Seeds::weighted(|_| Reading::loss(1.0)));
/// let mut gradients = [0.0_f64; 3];
/// problem.differentiate(&mut memory, stop, usize::MAX)?; // T
/// gradients[0] = problem.gradient(&memory)?.theta[0];
/// problem.differentiate(&mut memory, sum, usize::MAX)?; // Σ f(x_k)
/// gradients[1] = problem.gradient(&memory)?.theta[0];
/// problem.differentiate(&mut memory, stop + sum, usize::MAX)?; // both
/// gradients[2] = problem.gradient(&memory)?.theta[0];
/// assert!((gradients[0] + gradients[1] - gradients[2]).abs() < 1e-9);
/// # Ok::<(), dst_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Seeds<S, W = Unweighted> {
    stop: Option<Crossing>,
    time_weight: S,
    weights: W,
    window: usize,
}

/// No weights on J and f.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unweighted;

/// Weights on J and f by step: a closure, or none.
pub trait Weights<S>: Copy {
    /// False only for [`Unweighted`], which adds nothing.
    const ANY: bool;
    /// The weights at step k.
    fn at(&self, step: usize) -> Reading<S>;
}

impl<S: Scalar> Weights<S> for Unweighted {
    const ANY: bool = false;
    #[inline(always)]
    fn at(&self, _: usize) -> Reading<S> {
        Reading::ZERO
    }
}

impl<S, F: Fn(usize) -> Reading<S> + Copy> Weights<S> for F {
    const ANY: bool = true;
    #[inline(always)]
    fn at(&self, step: usize) -> Reading<S> {
        self(step)
    }
}

impl<S: Scalar> Seeds<S> {
    /// The stopping time T of this crossing. The run must have stopped.
    pub fn stop(crossing: Crossing) -> Self {
        Self {
            stop: Some(crossing),
            time_weight: S::ONE,
            weights: Unweighted,
            window: usize::MAX,
        }
    }
}

impl<S: Scalar, F: Fn(usize) -> Reading<S> + Copy> Seeds<S, F> {
    /// The sum over k of w.criterion·J(x_k) + w.loss·f(x_k), w = `weights(k)`, from k = 0 to the last step. The run need not have
    /// stopped.
    pub fn weighted(weights: F) -> Self {
        Self {
            stop: None,
            time_weight: S::ZERO,
            weights,
            window: usize::MAX,
        }
    }
}

impl<S: Scalar, W> Seeds<S, W> {
    /// Multiplies the stopping time, but not the weights, by a factor; zero removes the stop.
    pub fn times(self, factor: S) -> Self {
        Self {
            time_weight: self.time_weight * factor,
            ..self
        }
    }

    /// Restricts the sweep to the last `steps` steps; the state before them is constant. The gradient "with respect to x0" is
    /// then with respect to the state at the start of this window. Adjoint only: the tangent mode rejects a window.
    pub fn through(self, steps: usize) -> Self {
        Self {
            window: steps,
            ..self
        }
    }

    /// Crossing, if the stop is among the seeds.
    pub(crate) fn crossing(&self) -> Option<Crossing> {
        self.stop.filter(|_| self.time_weight != S::ZERO)
    }

    pub(crate) fn time_weight(&self) -> S {
        self.time_weight
    }

    /// First step to be pulled back, for a sweep that begins at step `end`.
    pub(crate) fn first(&self, end: usize) -> usize {
        end.saturating_sub(self.window)
    }

    /// True if the sweep ends early.
    pub(crate) fn has_window(&self) -> bool {
        self.window != usize::MAX
    }

    pub(crate) fn weights(&self) -> &W {
        &self.weights
    }
}

/// The stopping time and weights, in one sweep. The weights then apply up to N.
impl<S: Scalar, F: Fn(usize) -> Reading<S> + Copy> Add<Seeds<S, F>> for Seeds<S> {
    type Output = Seeds<S, F>;
    fn add(self, weighted: Seeds<S, F>) -> Seeds<S, F> {
        Seeds {
            stop: self.stop,
            time_weight: self.time_weight,
            weights: weighted.weights,
            window: self.window.min(weighted.window),
        }
    }
}

/// Quality of a crossing. Both numbers are relative: rescaling J, or any one state, changes neither.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Condition<S> {
    /// Decrease of J over the last step, in units of the rounding error of J: |ΔJ| / (eps·max(|J|, |ε|)).
    ///
    /// Its reciprocal is the relative error of the division by ΔJ *if J is correct to its last bit*. It is not a bound on the
    /// error of the gradient: it includes neither the rounding errors of the trajectory nor those of J itself. A J formed by
    /// cancellation, such as x − 1e8 with x near 1e8, has far fewer correct bits than this number assumes: shift the state
    /// instead.
    pub rounding: S,
    /// |dJ/dt| relative to the sum of its terms, |∂J/∂t − ∇J·A| / (|∂J/∂t| + Σ|∂J/∂xᵢ·Aᵢ|), at x_N. It is 1 if every state
    /// reduces J, and 0 if the flow grazes the level set and dJ/dt is pure cancellation. NaN if unknown: a tangent run never
    /// forms ∇J. `Paper` and `Interpolated` do not use ∂J/∂t, and leave it out.
    pub transversality: S,
}

/// Resolved crossing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved<S> {
    /// T = t_{N−1} + fraction·h
    pub(crate) fraction: S,
    /// dJ/dt at the crossing; negative.
    pub(crate) slope: S,
    pub(crate) condition: Condition<S>,
}

impl<S: Scalar> Resolved<S> {
    /// No crossing.
    pub(crate) const NONE: Self = Self {
        fraction: S::ZERO,
        slope: S::ZERO,
        condition: Condition {
            rounding: S::ZERO,
            transversality: S::ZERO,
        },
    };
}

/// Known numbers of the last step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastStep<S> {
    pub(crate) h: S,
    pub(crate) epsilon: S,
    /// N ≥ 1
    pub(crate) steps: usize,
    /// J_{N−1} > ε
    pub(crate) before: S,
    /// J_N ≤ ε
    pub(crate) after: S,
    /// dJ/dt at x_{N−1} and x_N, if the crossing needs them.
    pub(crate) slopes: (S, S),
    /// Transversality at x_N; NaN if unknown.
    pub(crate) transversality: S,
}

impl<S: Scalar> LastStep<S> {
    /// Returns the crossing and its weights on dJ_N, dJ_{N−1}, dJ_{N−2}, or the reason why it has no derivative.
    pub(crate) fn resolve(&self, crossing: Crossing) -> Result<(Resolved<S>, [S; 3]), Error> {
        let (zero, one) = (S::ZERO, S::ONE);
        let fall = self.after - self.before;
        if !fall.is_finite() {
            return Err(Error::NonFinite { step: self.steps });
        }
        let alpha = (self.before - self.epsilon) / -fall;
        let linear = [alpha, one - alpha, zero];
        let (fraction, slope, weights) = match crossing {
            Crossing::Paper => (one, fall / self.h, [one, zero, zero]),
            Crossing::Interpolated => (alpha, fall / self.h, linear),
            Crossing::Slope => {
                let (before, after) = self.slopes;
                (alpha, (one - alpha) * before + alpha * after, linear)
            }
            Crossing::Hermite => {
                let s = self.hermite_root(alpha);
                let (_, slope) = self.hermite(s);
                let weights = if self.steps < 2 {
                    [s, one - s, zero]
                } else {
                    // Lagrange on the nodes 1, 0, −1.
                    [
                        S::HALF * s * (s + one),
                        one - s * s,
                        S::HALF * s * (s - one),
                    ]
                };
                (s, slope / self.h, weights)
            }
        };
        let resolved = Resolved {
            fraction,
            slope,
            condition: self.condition(),
        };
        if self.is_flat(crossing, &resolved) {
            return Err(Error::FlatCrossing { step: self.steps });
        }
        Ok((resolved, weights))
    }

    /// Cubic through J and dJ/dt at both ends, minus ε, and its derivative with respect to s.
    fn hermite(&self, s: S) -> (S, S) {
        let (a, b) = (self.before - self.epsilon, self.after - self.epsilon);
        let (m, n) = (self.h * self.slopes.0, self.h * self.slopes.1);
        // a + m·s + q·s² + c·s³
        let fall = b - a;
        let three = S::TWO + S::ONE;
        let q = three * fall - S::TWO * m - n;
        let c = m + n - S::TWO * fall;
        (
            a + s * (m + s * (q + s * c)),
            m + s * (S::TWO * q + three * s * c),
        )
    }

    /// Root of the cubic in [0, 1], by Newton steps within a shrinking bracket. It exists: the ends differ in sign.
    fn hermite_root(&self, start: S) -> S {
        let (mut low, mut high, mut s) = (S::ZERO, S::ONE, start);
        // Bisection alone gains one bit per round, so no reasonable input reaches this bound.
        for _ in 0..64 {
            let (value, slope) = self.hermite(s);
            if value > S::ZERO {
                low = s;
            } else if value < S::ZERO {
                high = s;
            } else {
                return s;
            }
            let newton = s - value / slope;
            let next = if newton > low && newton < high {
                newton
            } else {
                S::HALF * (low + high)
            };
            if (next - s).abs() <= S::EPSILON {
                return next;
            }
            s = next;
        }
        s
    }

    fn condition(&self) -> Condition<S> {
        let fall = self.before - self.after;
        let size = self
            .before
            .abs()
            .max(self.after.abs())
            .max(self.epsilon.abs());
        Condition {
            rounding: fall / size / S::EPSILON,
            transversality: self.transversality,
        }
    }

    /// True if the crossing is too flat for a derivative: ΔJ has fewer than four good bits, the slope is not negative or, if the
    /// slope is dJ/dt itself, it is pure cancellation at x_N. If the terms of dJ/dt are unknown, it is compared with the mean
    /// slope of the step instead. A slope or ΔJ that is NaN counts as flat; a transversality that is NaN does not.
    fn is_flat(&self, crossing: Crossing, resolved: &Resolved<S>) -> bool {
        let Condition {
            rounding,
            transversality,
        } = resolved.condition;
        let clear = rounding >= S::from_f64(16.0) && resolved.slope < S::ZERO;
        let crosses = if !crossing.needs_slopes() {
            true
        } else if transversality.is_nan() {
            let mean = (self.before - self.after) / self.h;
            self.slopes.1.abs() >= S::from_f64(4096.0) * S::EPSILON * mean
        } else {
            transversality >= S::from_f64(64.0) * S::EPSILON
        };
        !(clear && crosses)
    }
}

/// Method by which dJ/dt is formed: one pullback, or one pushforward along −A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlopeBy {
    Pullback,
    Pushforward,
}

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Sweeper<'_, '_, S, Y, I> {
    /// Seed of the stopping time on dJ_k.
    pub(super) fn seed_at(&self, step: usize) -> S {
        let seed = self.sweep.seeds.get(self.end.wrapping_sub(step));
        seed.copied().unwrap_or(S::ZERO)
    }

    /// Computes the stopping time from the last step. With a pullback, leaves ∇J(x_N) in λ and ∂J/∂θ in θ̄.
    #[inline]
    pub(super) fn resolve<W: Weights<S>>(
        &mut self,
        seeds: &Seeds<S, W>,
        by: SlopeBy,
    ) -> Result<(), Error> {
        let Some(crossing) = seeds.crossing() else {
            return Ok(());
        };
        let plan = self.problem.plan;
        let slopes = crossing.needs_slopes();
        let mut last = LastStep {
            h: plan.integrator.step_size(),
            epsilon: plan.epsilon,
            steps: self.end,
            before: *self.previous,
            after: *self.criterion,
            slopes: (S::ZERO, S::ZERO),
            transversality: S::NAN,
        };
        if slopes {
            // Recompute A(x_{N−1}): the stages of the last step have overwritten it.
            self.evaluate(false)?;
            self.sweep.count.rate += 1;
            // Of a record with several stages, only the first part has been written.
            if plan.integrator.stages() == 1 || self.sweep.known == Known::Next {
                self.sweep.known = Known::Record;
            }
            (last.slopes.0, _) = self.slope(self.end.wrapping_sub(1), by, true);
        }
        // The adjoint always needs ∇J(x_N); the tangent only if the crossing uses slopes.
        if by == SlopeBy::Pullback || slopes {
            (last.slopes.1, last.transversality) = self.slope(self.end, by, slopes);
        }
        let (resolved, weights) = last.resolve(crossing)?;
        self.sweep.stop = resolved;
        self.sweep.seeds = weights.map(|w| -w / resolved.slope * seeds.time_weight());
        Ok(())
    }

    /// dJ/dt = ∂J/∂t − ∇J·A at x_N or x_{N−1}, and its transversality. With a pullback, leaves ∇J in λ and ∂J/∂θ in θ̄; ∂J/∂t is
    /// left out unless `in_time`.
    #[inline(always)]
    fn slope(&mut self, step: usize, by: SlopeBy, in_time: bool) -> (S, S) {
        let problem = self.problem;
        let map = problem.plan.integrator.is_map();
        let (slot, row, record, mut rates) = if step == self.end {
            (
                self.sweep.last,
                &*self.last,
                &*self.record_last,
                &*self.rate,
            )
        } else {
            let rates = if map { &*self.next } else { &*self.spare };
            (self.sweep.here, &*self.here, &*self.record_here, rates)
        };
        let (x, record) = self.slots.at(self.shape, slot, row, record);
        let next = slot.wrapping_add(1);
        if map && step == self.end && slot != NONE && next < self.marks.len() {
            // While slots are free, a map writes x_{N+1} into the next one.
            rates = self.slots.at(self.shape, next, rates, &[]).0;
        }
        // The state moves along −A.
        let rates = x.iter().zip(rates);
        let rates = rates.map(|(&x, &rate)| if map { x - rate } else { rate });
        let at = problem.at(x, step);
        let (tape, _) = split(record, problem.system.dims().tape);
        if by == SlopeBy::Pushforward {
            self.sweep.count.pushforward += 1;
            for (to, a) in self.temporary.iter_mut().zip(rates) {
                *to = -a;
            }
            clear(self.theta_spare);
            let along = Direction {
                theta: self.theta_spare,
                x: self.temporary,
                t: S::ONE,
            };
            // The derivative of A is not needed; it is written to the row of λ, which is set later.
            let system = problem.system;
            let reading = system.pushforward(at, tape, along, self.lambda, self.scratch);
            return (reading.criterion, S::NAN);
        }
        self.sweep.count.pullback += 1;
        clear(self.temporary);
        clear(self.lambda);
        clear(self.theta_bar);
        let seed = Seed::new(self.temporary, Reading::criterion(S::ONE));
        let mut t_bar = S::ZERO;
        let bar = Bar {
            theta: self.theta_bar,
            x: self.lambda,
            t: in_time.then_some(&mut t_bar),
        };
        problem.system.pullback(at, tape, seed, bar, self.scratch);
        let (mut sum, mut size) = (S::ZERO, S::ZERO);
        for (&g, a) in self.lambda.iter().zip(rates) {
            sum += g * a;
            size += (g * a).abs();
        }
        let slope = t_bar - sum;
        (slope, slope.abs() / (t_bar.abs() + size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(before: f64, after: f64, slopes: (f64, f64)) -> LastStep<f64> {
        LastStep {
            h: 0.5,
            epsilon: 1.0,
            steps: 2,
            before,
            after,
            slopes,
            transversality: 1.0,
        }
    }

    #[test]
    fn a_cubic_is_found_exactly() {
        // J(t) = 2 − t³ on t = 0.8 … 1.3 crosses 1 at t = 1.
        let j = |t: f64| 2.0 - t * t * t;
        let step = last(j(0.8), j(1.3), (-3.0 * 0.64, -3.0 * 1.69));
        let (r, weights) = step.resolve(Crossing::Hermite).unwrap();
        assert!((0.8 + 0.5 * r.fraction - 1.0).abs() < 1e-15, "{r:?}");
        assert!((r.slope + 3.0).abs() < 1e-14, "{r:?}");
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn hermite_ends_on_hostile_slopes() {
        for slopes in [
            (1e30, -1e30),
            (-1e-30, 0.0),
            (0.0, 0.0),
            (f64::NAN, 1.0),
            (5.0, 5.0),
        ] {
            let s = last(1.5, 0.5, slopes).hermite_root(0.5);
            assert!((0.0..=1.0).contains(&s), "{slopes:?}: {s}");
        }
    }

    #[test]
    fn flatness_is_relative() {
        let flat = |step: LastStep<f64>, crossing: Crossing, transversality: f64| {
            let step = LastStep {
                transversality,
                ..step
            };
            match step.resolve(crossing) {
                Ok(_) => false,
                Err(error) => {
                    assert_eq!(error, Error::FlatCrossing { step: 2 });
                    true
                }
            }
        };
        for scale in [1e-200, 1.0, 1e200] {
            let step = LastStep {
                epsilon: scale,
                before: 1.5 * scale,
                after: 0.5 * scale,
                slopes: (-scale, -scale),
                ..last(0.0, 0.0, (0.0, 0.0))
            };
            for crossing in Crossing::ALL {
                // Unknown terms do not make a crossing flat.
                assert!(!flat(step, crossing, 1.0) && !flat(step, crossing, f64::NAN));
                assert_eq!(flat(step, crossing, 1e-15), crossing.needs_slopes());
                let same = LastStep {
                    before: scale * (1.0 + 2e-16),
                    after: scale,
                    ..step
                };
                assert!(flat(same, crossing, 1.0), "{crossing:?} at {scale}");
                // Without the terms of the slope, the slope itself is tested.
                let grazing = LastStep {
                    slopes: (-1e-14 * scale, -1e-14 * scale),
                    ..step
                };
                let refused = flat(grazing, crossing, f64::NAN);
                assert_eq!(refused, crossing.needs_slopes(), "{crossing:?}");
            }
        }
        assert!(
            flat(last(1.5, 0.5, (1.0, 1.0)), Crossing::Slope, 1.0),
            "a slope that rises"
        );
    }

    #[test]
    fn an_overflowing_decrease_is_rejected() {
        for crossing in Crossing::ALL {
            let step = last(f64::MAX, -f64::MAX, (-1.0, -1.0));
            let error = step.resolve(crossing).err();
            assert_eq!(error, Some(Error::NonFinite { step: 2 }), "{crossing:?}");
        }
    }

    #[test]
    fn one_step_has_no_third_point() {
        let step = LastStep {
            steps: 1,
            ..last(1.5, 0.5, (-2.0, -2.0))
        };
        let weights = |step: LastStep<f64>| step.resolve(Crossing::Hermite).unwrap().1;
        assert_eq!(weights(step), [0.5, 0.5, 0.0]);
        assert_eq!(weights(last(1.5, 0.5, (-2.0, -2.0))), [0.375, 0.75, -0.125]);
    }
}
