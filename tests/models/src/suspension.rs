//! Quarter car that comes to rest: four states, two parameters, hand-written derivatives.

use dst_core::{Bar, Cost, Dims, Direction, Point, Reading, Scalar, Seed, System};

/// Body and wheel of a car on a flat road: state (q₁, q₂, v₁, v₂), θ = (spring, damper) between them. The suspension force is F =
/// θ₁(q₁ − q₂) + θ₂(v₁ − v₂), and v₁′ = −F, v₂′ = 4F − 24q₂: the wheel has a quarter of the mass, and its tyre is stiff. J = ‖x‖²
/// measures the distance from rest. There is no tape, and hence no record to keep with a checkpoint.
///
/// System of the smallest firmware, written to be small: no indexing that could panic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Suspension;

impl Suspension {
    const MASS_RATIO: f64 = 4.0;
    const TYRE: f64 = 24.0;
}

/// First entries of a slice; the engine passes slices of the declared length, so the fallback to zeros is never used.
#[inline(always)]
fn head<S: Scalar, const N: usize>(values: &[S]) -> [S; N] {
    values.first_chunk().copied().unwrap_or([S::ZERO; N])
}

impl<S: Scalar> System<S> for Suspension {
    #[inline(always)]
    fn dims(&self) -> Dims {
        Dims::new(4, 2)
    }

    #[inline]
    fn rate(&self, at: Point<'_, S>, rate: &mut [S], _: &mut [S], _: &mut [S]) -> Reading<S> {
        let [spring, damper] = head(at.theta);
        let [q1, q2, v1, v2] = head(at.x);
        let force = spring * (q1 - q2) + damper * (v1 - v2);
        if let Some(rate) = rate.first_chunk_mut() {
            let tyre = S::from_f64(Self::TYRE) * q2;
            *rate = [
                -v1,
                -v2,
                force,
                tyre - S::from_f64(Self::MASS_RATIO) * force,
            ];
        }
        let criterion = q1 * q1 + q2 * q2 + v1 * v1 + v2 * v2;
        Reading {
            criterion,
            loss: criterion,
        }
    }

    #[inline]
    fn pullback(&self, at: Point<'_, S>, _: &[S], seed: Seed<'_, S>, bar: Bar<'_, S>, _: &mut [S]) {
        let [spring, damper] = head(at.theta);
        let x @ [q1, q2, v1, v2] = head(at.x);
        let [a1, a2, a3, a4] = head(seed.rate);
        let force = a3 - S::from_f64(Self::MASS_RATIO) * a4;
        let (by_q, by_v) = (spring * force, damper * force);
        let pulled = [
            by_q,
            S::from_f64(Self::TYRE) * a4 - by_q,
            by_v - a1,
            -by_v - a2,
        ];
        let j = S::TWO * (seed.criterion + seed.loss);
        for ((bar, pulled), x) in bar.x.iter_mut().zip(pulled).zip(x) {
            *bar += pulled + j * x;
        }
        if let Some([spring, damper]) = bar.theta.first_chunk_mut() {
            *spring += force * (q1 - q2);
            *damper += force * (v1 - v2);
        }
    }

    fn pushforward(
        &self,
        at: Point<'_, S>,
        _: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        _: &mut [S],
    ) -> Reading<S> {
        let ([spring, damper], [d_spring, d_damper]) = (head(at.theta), head(along.theta));
        let ([q1, q2, v1, v2], [d_q1, d_q2, d_v1, d_v2]) = (head(at.x), head(along.x));
        let force = d_spring * (q1 - q2)
            + spring * (d_q1 - d_q2)
            + d_damper * (v1 - v2)
            + damper * (d_v1 - d_v2);
        if let Some(rate) = rate.first_chunk_mut() {
            let tyre = S::from_f64(Self::TYRE) * d_q2;
            *rate = [
                -d_v1,
                -d_v2,
                force,
                tyre - S::from_f64(Self::MASS_RATIO) * force,
            ];
        }
        let criterion = S::TWO * (q1 * d_q1 + q2 * d_q2 + v1 * d_v1 + v2 * d_v2);
        Reading {
            criterion,
            loss: criterion,
        }
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: Some(2),
        }
    }
}
