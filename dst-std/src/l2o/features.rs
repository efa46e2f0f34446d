//! Inputs of the network from the gradient, and the step from its output, for one coordinate at a time.

use super::architecture::Architecture;
use super::kernel::TILE;
use crate::linalg::Real;

/// Constants of the models, as published.
const SCALE: f64 = 0.1;
const DECAY: f64 = 0.95;
const TINY: f64 = 1e-8;
/// DM is fed the gradient of the mean over a batch of 64.
pub(super) const DM_BATCH: f64 = 64.0;

/// From the gradient to what the network is fed with, for one coordinate.
#[derive(Clone, Copy)]
pub(super) struct Features<T> {
    pub(super) model: Architecture,
    /// 1 − βᵗ
    correction: T,
}

/// One coordinate of RNNprop.
pub(super) struct Moments<T> {
    m: T,
    v: T,
    /// √(v/(1 − βᵗ))
    root: T,
    features: [T; 2],
}

impl<T: Real> Features<T> {
    pub(super) fn new(model: Architecture, t: T) -> Self {
        // t is a whole number; β to its power by squaring, so that no rounding of t matters.
        let mut power = 1.0;
        let (mut base, mut left) = (DECAY, t.to_f64() as u64 + 1);
        while left > 0 {
            if left & 1 == 1 {
                power *= base;
            }
            base *= base;
            left >>= 1;
        }
        Self {
            model,
            correction: T::from_f64(1.0 - power),
        }
    }

    #[inline(always)]
    pub(super) fn moments(self, g: T, m: T, v: T) -> Moments<T> {
        let (keep, take) = (T::from_f64(DECAY), T::from_f64(1.0 - DECAY));
        let m = keep * m + take * g;
        let v = keep * v + take * g * g;
        let root = T::root(v / self.correction);
        let size = root + T::from_f64(TINY);
        let features = [g / size, m / self.correction / size];
        Moments {
            m,
            v,
            root,
            features,
        }
    }

    /// From the cotangents of the features and of m and v after the step, those of g and of m and v before.
    #[inline(always)]
    pub(super) fn pull(
        self,
        g: T,
        at: &Moments<T>,
        [a_bar, b_bar]: [T; 2],
        [m_next, v_next]: [T; 2],
    ) -> [T; 3] {
        let (keep, take) = (T::from_f64(DECAY), T::from_f64(1.0 - DECAY));
        let size = at.root + T::from_f64(TINY);
        let [a, b] = at.features;
        let size_bar = -(a_bar * a + b_bar * b) / size;
        // At v = 0 the root has no slope; nor has it influence.
        let slope = if at.root > T::ZERO {
            T::HALF / (at.root * self.correction)
        } else {
            T::ZERO
        };
        let m_bar = m_next + b_bar / (self.correction * size);
        let v_bar = v_next + size_bar * slope;
        let g_bar = a_bar / size + take * m_bar + T::TWO * take * g * v_bar;
        [g_bar, keep * m_bar, keep * v_bar]
    }

    /// The features of up to [`TILE`] coordinates, and m and v after the step.
    #[inline(always)]
    pub(super) fn of(
        self,
        (g, x, m, v): (&[T], &[T], &[T], &[T]),
    ) -> ([[T; 2]; TILE], [T; TILE], [T; TILE]) {
        let mut features = [[T::ZERO; 2]; TILE];
        let (mut m_next, mut v_next) = ([T::ZERO; TILE], [T::ZERO; TILE]);
        match self.model {
            Architecture::Dm => {
                let share = T::from_f64(1.0 / DM_BATCH);
                for ((to, &g), &x) in features.iter_mut().zip(g).zip(x) {
                    *to = [share * g, x];
                }
            }
            Architecture::RnnProp => {
                for (r, ((&g, &m), &v)) in g.iter().zip(m).zip(v).enumerate().take(TILE) {
                    let moments = self.moments(g, m, v);
                    (m_next[r], v_next[r]) = (moments.m, moments.v);
                    features[r] = moments.features;
                }
            }
        }
        (features, m_next, v_next)
    }
}

/// The step of x from the output of the network, and its derivative.
#[inline(always)]
pub(super) fn step<T: Real>(model: Architecture, out: T) -> (T, T) {
    let scale = T::from_f64(SCALE);
    match model {
        Architecture::Dm => {
            let value = T::elu(out);
            let slope = if out < T::ZERO {
                value + T::ONE
            } else {
                T::ONE
            };
            (scale * value, scale * slope)
        }
        Architecture::RnnProp => {
            let value = T::fast_tanh(out);
            (-scale * value, -scale * (T::ONE - value * value))
        }
    }
}
