//! Outcome of a check: bits, and the first error.

use core::fmt;

use dst_core::{Error, Scalar};

/// Words that are shown as they are; the digest covers all.
const SHOWN: usize = 3;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    words: [u64; SHOWN],
    digest: u64,
    count: usize,
    failure: Option<&'static str>,
}

impl Outcome {
    pub(super) const fn new() -> Self {
        Self {
            words: [0; SHOWN],
            digest: 0xcbf2_9ce4_8422_2325,
            count: 0,
            failure: None,
        }
    }

    /// First error, if there is one.
    pub fn failure(&self) -> Option<&'static str> {
        self.failure
    }

    /// The bits that must be equal on every target: the first numbers, then the digest of all.
    pub fn bits(&self) -> impl Iterator<Item = u64> {
        self.words.into_iter().take(self.count).chain([self.digest])
    }

    fn word(&mut self, word: u64) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = word;
        }
        // FNV-1a, a word at a time.
        self.digest = (self.digest ^ word).wrapping_mul(0x0100_0000_01b3);
        self.count += 1;
    }

    pub(super) fn count(&mut self, count: usize) {
        self.word(count as u64);
    }

    /// The bits of a number, as those of its exact double. NaNs count as one: their payload is not part of IEEE results.
    pub(super) fn number<S: Scalar>(&mut self, number: S) {
        let number = number.to_f64();
        self.word(if number.is_nan() {
            u64::MAX
        } else {
            number.to_bits()
        });
    }

    pub(super) fn numbers<S: Scalar>(&mut self, numbers: &[S]) {
        for &n in numbers {
            self.number(n);
        }
    }

    pub(super) fn holds(&mut self, what: &'static str, holds: bool) {
        if !holds {
            self.failure.get_or_insert(what);
        }
    }

    /// Records the number and compares it with the answer, to a tolerance for each precision.
    pub(super) fn near<S: Scalar>(
        &mut self,
        what: &'static str,
        found: S,
        expected: f64,
        [single, double]: [f64; 2],
    ) {
        self.number(found);
        let tolerance = if is_double::<S>() { double } else { single };
        let size = expected.abs();
        // Asked this way round, a NaN is near nothing.
        let near = (found.to_f64() - expected).abs() <= tolerance * size;
        self.holds(what, near);
    }

    /// The value, or a failure that names the check.
    pub(super) fn value<T>(&mut self, what: &'static str, result: Result<T, Error>) -> Option<T> {
        self.holds(what, result.is_ok());
        result.ok()
    }

    /// Exactly this error.
    pub(super) fn error<T>(&mut self, what: &'static str, result: Result<T, Error>, error: Error) {
        self.holds(what, result.err() == Some(error));
        self.count(what.len());
    }
}

/// True if this is double precision.
pub(super) fn is_double<S: Scalar>() -> bool {
    S::EPSILON.to_f64() < 1e-10
}

/// `ok 3ff0000000000000 …` or `FAIL <what> 3ff…`
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.failure {
            None => f.write_str("ok")?,
            Some(what) => write!(f, "FAIL ({what})")?,
        }
        self.bits().try_for_each(|word| write!(f, " {word:016x}"))
    }
}
