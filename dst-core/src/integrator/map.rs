//! Iteration given as a map: x⁺ = F(θ, x, t).
//!
//! Some algorithms are not steps along a rate: a recurrent network writes its next memory, a projection its next point. For them
//! [`System::rate`] writes F itself, and nothing is subtracted. In the transpose this also avoids λ − (λ − Fᵀλ), which would lose
//! digits of Fᵀλ. Time counts the steps: h = 1.

use super::Integrator;
use crate::scalar::Scalar;
use crate::slices::{all_finite, copy};
use crate::solve::Plan;
use crate::system::{Bar, Direction, Point, Reading, Seed, System};

/// The iteration x⁺ = F(θ, x, t), where the system's `rate` is F. One evaluation per step, t_k = t0 + k.
///
/// ```
/// use dst_core::{Map, Memory, formula};
/// // x⁺ = θx from 1 until x ≤ 0.1: four steps with θ = ½.
/// let halving = formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0]);
/// let mut memory = Memory::<f64, 1, 1, 4>::new();
/// let s = Map.until(0.1).sensitivity(&halving, &[0.5], &[1.0], &mut memory)?;
/// assert_eq!(s.steps, 4);
/// # Ok::<(), dst_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Map;

impl Map {
    /// Plan that runs until the first J ≤ ε.
    pub fn until<S: Scalar>(self, epsilon: S) -> Plan<S, Self> {
        Plan::new(self, epsilon)
    }
}

impl<S: Scalar> Integrator<S> for Map {
    #[inline(always)]
    fn stages(&self) -> usize {
        1
    }

    #[inline(always)]
    fn kind(&self) -> u8 {
        0
    }

    #[inline(always)]
    fn is_map(&self) -> bool {
        true
    }

    #[inline(always)]
    fn step_size(&self) -> S {
        S::ONE
    }

    #[inline(always)]
    fn step<Y: System<S> + ?Sized>(
        &self,
        _: &Y,
        _: Point<'_, S>,
        rate: &mut [S],
        _: &mut [S],
        next: &mut [S],
        _: &mut [S],
    ) -> bool {
        copy(next, rate);
        all_finite(next)
    }

    #[inline]
    fn pull<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        reading: Reading<S>,
        lambda: &mut [S],
        theta_bar: &mut [S],
        [next_bar, ..]: [&mut [S]; 3],
        scratch: &mut [S],
    ) {
        let (seed, bar) = (Seed::new(next_bar, reading), Bar::new(theta_bar, lambda));
        system.pullback_afresh(at, record, seed, bar, scratch);
    }

    #[inline]
    fn push<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        along: Direction<'_, S>,
        next: &mut [S],
        _: [&mut [S]; 2],
        scratch: &mut [S],
    ) -> Reading<S> {
        system.pushforward(at, record, along, next, scratch)
    }
}
