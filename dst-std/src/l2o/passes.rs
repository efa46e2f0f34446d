//! The network over all coordinates, tile by tile: forward, and the transpose.

use pulp::{Simd, WithSimd};

use super::architecture::{Architecture, WeightsBar};
use super::features::{DM_BATCH, Features, step};
use super::kernel::TILE;
use super::network::Network;
use super::scratch::Memory;
use crate::linalg::Real;

/// A state, or its cotangent, taken apart.
pub(super) struct State<M, V, W> {
    pub(super) memories: M,
    pub(super) x: V,
    pub(super) m: V,
    pub(super) v: V,
    pub(super) w: W,
}

/// The part of `v` that belongs to a tile; nothing, where there is no such vector.
#[inline(always)]
fn tile<T>(v: &[T], first: usize) -> &[T] {
    let rest = v.get(first..).unwrap_or_default();
    &rest[..rest.len().min(TILE)]
}

#[inline(always)]
fn tile_mut<T>(v: &mut [T], first: usize) -> &mut [T] {
    let rest = v.get_mut(first..).unwrap_or_default();
    let len = rest.len().min(TILE);
    &mut rest[..len]
}

/// The network over all coordinates, forward.
pub(super) struct Forward<'a, T> {
    pub(super) features: Features<T>,
    pub(super) network: Network<'a, T>,
    pub(super) g: &'a [T],
    pub(super) at: State<&'a [Memory<T>], &'a [T], T>,
    pub(super) next: State<&'a mut [Memory<T>], &'a mut [T], &'a mut T>,
}

impl<T: Real> WithSimd for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            features,
            mut network,
            g,
            at,
            next,
        } = self;
        network.follow();
        for (number, first) in (0..g.len()).step_by(TILE).enumerate() {
            let (m, v) = (tile(at.m, first), tile(at.v, first));
            let x = tile(at.x, first);
            let (inputs, m_next, v_next) = features.of((tile(g, first), x, m, v));
            tile_mut(next.m, first).copy_from_slice(&m_next[..m.len()]);
            tile_mut(next.v, first).copy_from_slice(&v_next[..v.len()]);
            let (memory, memory_next) = (&at.memories[number], &mut next.memories[number]);
            let out = network.forward(simd, number, &inputs, memory, memory_next);
            for ((to, &x), &out) in tile_mut(next.x, first).iter_mut().zip(x).zip(&out) {
                *to = x + step(features.model, out).0;
            }
        }
    }
}

/// The transpose.
pub(super) struct Backward<'a, T> {
    pub(super) features: Features<T>,
    pub(super) network: Network<'a, T>,
    pub(super) g: &'a [T],
    pub(super) at: State<&'a [Memory<T>], &'a [T], T>,
    pub(super) next_bar: State<&'a [Memory<T>], &'a [T], T>,
    pub(super) bar: State<&'a mut [Memory<T>], &'a mut [T], &'a mut T>,
    /// True if the content of `bar` for the memories is to be discarded.
    pub(super) afresh: bool,
    pub(super) theta_bar: WeightsBar<'a, T>,
    /// Cotangent of the gradient; empty if it is detached.
    pub(super) g_bar: &'a mut [T],
}

impl<T: Real> WithSimd for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            features,
            mut network,
            g,
            at,
            next_bar,
            bar,
            afresh,
            mut theta_bar,
            g_bar,
        } = self;
        network.follow();
        for (number, first) in (0..g.len()).step_by(TILE).enumerate() {
            let (g, x) = (tile(g, first), tile(at.x, first));
            let (m, v) = (tile(at.m, first), tile(at.v, first));
            let (inputs, _, _) = features.of((g, x, m, v));
            let memory = &at.memories[number];
            let out = network.recall(simd, number, &inputs, memory);
            let x_next_bar = tile(next_bar.x, first);
            let mut out_bar = [T::ZERO; TILE];
            for ((to, &out), &bar) in out_bar.iter_mut().zip(&out).zip(x_next_bar) {
                *to = bar * step(features.model, out).1;
            }
            let features_bar = network.backward(
                simd,
                number,
                (&inputs, at.memories),
                (&out_bar, &next_bar.memories[number]),
                (&mut bar.memories[number], &mut theta_bar),
                (afresh, !g_bar.is_empty()),
            );
            let x_bar = tile_mut(bar.x, first);
            for (to, &bar) in x_bar.iter_mut().zip(x_next_bar) {
                *to += bar;
            }
            let g_bar = tile_mut(g_bar, first);
            match features.model {
                Architecture::Dm => {
                    for (to, bar) in x_bar.iter_mut().zip(&features_bar) {
                        *to += bar[1];
                    }
                    for (to, bar) in g_bar.iter_mut().zip(&features_bar) {
                        *to = T::from_f64(1.0 / DM_BATCH) * bar[0];
                    }
                }
                Architecture::RnnProp => {
                    let bars = tile_mut(bar.m, first)
                        .iter_mut()
                        .zip(tile_mut(bar.v, first));
                    let next_bars = tile(next_bar.m, first).iter().zip(tile(next_bar.v, first));
                    let bars = g_bar.iter_mut().zip(bars).zip(next_bars);
                    for (r, ((g_bar, (m_bar, v_bar)), (&m_next, &v_next))) in bars.enumerate() {
                        let moments = features.moments(g[r], m[r], v[r]);
                        let pulled =
                            features.pull(g[r], &moments, features_bar[r], [m_next, v_next]);
                        *g_bar = pulled[0];
                        *m_bar += pulled[1];
                        *v_bar += pulled[2];
                    }
                }
            }
        }
        network.finish(&mut theta_bar);
    }
}

/// True if all of these are finite.
pub(super) struct Finite<'a, T>(pub(super) &'a [T]);

impl<T: Real> WithSimd for Finite<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        T::all_finite(self.0)
    }
}
