//! Sums of two f64 with about 32 digits, for residuals of a solution.

/// hi + lo, where |lo| is at most half a unit in the last place of hi.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Double {
    pub(super) hi: f64,
    pub(super) lo: f64,
}

impl Double {
    pub(super) fn new(x: f64) -> Self {
        Self { hi: x, lo: 0.0 }
    }

    fn normal(hi: f64, lo: f64) -> Self {
        let sum = hi + lo;
        Self {
            hi: sum,
            lo: lo - (sum - hi),
        }
    }

    pub(super) fn add(self, x: f64) -> Self {
        self.plus(Self::new(x))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let sum = self.hi + other.hi;
        let part = sum - self.hi;
        let error = (self.hi - (sum - part)) + (other.hi - part);
        Self::normal(sum, error + self.lo + other.lo)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(Self {
            hi: -other.hi,
            lo: -other.lo,
        })
    }

    /// self − bound; exactly ∓∞ for an infinite bound.
    pub(super) fn beyond(self, bound: f64) -> f64 {
        if bound.is_finite() {
            self.add(-bound).value()
        } else {
            -bound
        }
    }

    pub(super) fn times(self, a: f64) -> Self {
        let product = a * self.hi;
        let ((a1, a2), (b1, b2)) = (halves(a), halves(self.hi));
        let error = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
        Self::normal(product, error + a * self.lo)
    }

    pub(super) fn value(self) -> f64 {
        self.hi + self.lo
    }
}

/// Splits a number into two of 26 bits (Veltkamp), whose products are exact.
fn halves(x: f64) -> (f64, f64) {
    let shifted = x * 134_217_729.0;
    let high = shifted - (shifted - x);
    (high, x - high)
}

/// Σ a_i·x_i
pub(super) fn dot(a: &[f64], x: &[Double]) -> Double {
    a.iter()
        .zip(x)
        .filter(|(a, _)| **a != 0.0)
        .fold(Double::default(), |sum, (&a, x)| sum.plus(x.times(a)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_survive() {
        let x = Double::new(1.0).add(1e-25);
        assert_eq!(x.add(-1.0).value(), 1e-25);
        // (1 + 2⁻³⁰)² − 1 − 2⁻²⁹ = 2⁻⁶⁰, which f64 loses.
        let a = 1.0 + 2_f64.powi(-30);
        let square = Double::new(a).times(a).add(-1.0).add(-(2_f64.powi(-29)));
        assert_eq!(square.value(), 2_f64.powi(-60));
    }
}
