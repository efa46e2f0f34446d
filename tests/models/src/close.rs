//! Closeness with numbers: a failing comparison says by how much.

use dst_core::Scalar;

/// |a − b| ≤ rtol·max(|a|, |b|) + atol
#[derive(Clone, Copy, Debug)]
pub struct Close {
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
}

impl Close {
    /// Relative only.
    pub const fn relative(rtol: f64) -> Self {
        Self { rtol, atol: 0.0 }
    }

    /// Succeeds if all entries are close; otherwise returns the first that is not, with its index.
    pub fn check<S: Scalar>(&self, a: &[S], b: &[S]) -> Result<(), (usize, f64, f64)> {
        if a.len() != b.len() {
            return Err((usize::MAX, a.len() as f64, b.len() as f64));
        }
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            let (a, b) = (a.to_f64(), b.to_f64());
            let size = if a.abs() > b.abs() { a.abs() } else { b.abs() };
            // Asked this way round, a NaN is close to nothing.
            let close = (a - b).abs() <= self.rtol * size + self.atol;
            if !close {
                return Err((i, a, b));
            }
        }
        Ok(())
    }

    /// Panics with both vectors unless they are close.
    #[track_caller]
    pub fn assert<S: Scalar>(&self, what: &str, a: &[S], b: &[S]) {
        if let Err((i, x, y)) = self.check(a, b) {
            panic!(
                "{what}: entry {i}: {x:e} against {y:e} (rtol {:e}, atol {:e})\n  {a:?}\n  {b:?}",
                self.rtol, self.atol
            );
        }
    }
}

/// ‖a − b‖/(‖a‖ + ‖b‖), the paper's measure.
pub fn relative_distance<S: Scalar>(a: &[S], b: &[S]) -> f64 {
    let (mut d, mut na, mut nb) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a.to_f64(), b.to_f64());
        d += (a - b) * (a - b);
        na += a * a;
        nb += b * b;
    }
    d.sqrt() / (na.sqrt() + nb.sqrt())
}
