//! Adam's moments: running means of the gradient and of its square, corrected for their start at zero.

use crate::scalar::Scalar;

/// Moments m and v with their decay factors.
#[derive(Debug)]
pub(super) struct Moments<'m, S> {
    pub(super) m: &'m mut [S],
    pub(super) v: &'m mut [S],
    beta1: S,
    beta2: S,
    stability: S,
    /// β₁^k and β₂^k
    pub(super) powers: (S, S),
}

impl<'m, S: Scalar> Moments<'m, S> {
    /// Moments before the first update, over memory whose content is kept.
    pub(super) fn over((m, v): (&'m mut [S], &'m mut [S]), betas: [S; 2], stability: S) -> Self {
        let [beta1, beta2] = betas;
        Self {
            m,
            v,
            beta1,
            beta2,
            stability,
            powers: (S::ONE, S::ONE),
        }
    }

    /// Updates the moments with a gradient and yields m̂ᵢ and √v̂ᵢ + ε for each coordinate; their quotient is Adam's direction.
    pub(super) fn update<'a>(&'a mut self, gradient: &'a [S]) -> impl Iterator<Item = (S, S)> + 'a {
        let &mut Self {
            beta1,
            beta2,
            stability,
            ..
        } = self;
        let one = S::ONE;
        self.powers = (self.powers.0 * beta1, self.powers.1 * beta2);
        let (correct1, correct2) = (one - self.powers.0, one - self.powers.1);
        let moments = self.m.iter_mut().zip(self.v.iter_mut());
        moments.zip(gradient).map(move |((m, v), &g)| {
            *m = beta1 * *m + (one - beta1) * g;
            *v = beta2 * *v + (one - beta2) * (g * g);
            (*m / correct1, (*v / correct2).sqrt() + stability)
        })
    }
}
