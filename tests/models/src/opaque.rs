//! A system that states which derivatives it has.

use dst_core::{Bar, Cost, Dims, Point, Reading, Scalar, Seed, System};

/// x′ = −x with the derivatives of this cost.
#[derive(Clone, Copy, Debug)]
pub struct Opaque(pub Cost);

impl<S: Scalar> System<S> for Opaque {
    fn dims(&self) -> Dims {
        Dims::new(1, 0)
    }
    fn rate(&self, at: Point<'_, S>, rate: &mut [S], _: &mut [S], _: &mut [S]) -> Reading<S> {
        rate[0] = at.x[0];
        Reading {
            criterion: at.x[0],
            loss: S::ZERO,
        }
    }
    fn pullback(&self, _: Point<'_, S>, _: &[S], seed: Seed<'_, S>, bar: Bar<'_, S>, _: &mut [S]) {
        bar.x[0] += seed.rate[0] + seed.criterion;
    }
    fn cost(&self) -> Cost {
        self.0
    }
}
