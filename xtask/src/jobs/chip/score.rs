//! Instructions and errors of a run, as far as the choice of a setting needs them.

use std::path::Path;

use super::program::Counted;

/// Numbers by which a setting is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Score {
    /// Mean instructions of a tick.
    pub(crate) mean: f64,
    /// Error of u0, 99th percentile.
    pub(crate) error: f64,
    /// Error of u0, median of the ticks that count as solved.
    pub(crate) median: f64,
    pub(crate) unsolved: usize,
}

impl Score {
    /// Reads the lines of a run; `exact` is a file of `f64`.
    pub(crate) fn of(counted: &Counted, exact: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(exact).map_err(|e| format!("{}: {e}", exact.display()))?;
        let exact: Vec<f64> = bytes
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
            .collect();
        let answers = exact.len() / counted.lines.len().max(1);
        let (mut instructions, mut errors, mut solved) = (0.0, Vec::new(), Vec::new());
        for (line, exact) in counted.lines.iter().zip(exact.chunks_exact(answers.max(1))) {
            let words: Result<Vec<u32>, _> = line
                .split_whitespace()
                .map(|word| u32::from_str_radix(word, 16))
                .collect();
            let words = words.map_err(|e| format!("{line}: {e}"))?;
            let [count, unsolved, _, inputs @ ..] = words.as_slice() else {
                return Err(format!("a tick of {} words", words.len()));
            };
            if inputs.len() != answers {
                return Err(format!("{} inputs, not {answers}", inputs.len()));
            }
            let off = inputs.iter().zip(exact).fold(0.0, |most: f64, (&u, e)| {
                let off = (f64::from(f32::from_bits(u)) - e).abs();
                // An input that is not a number is as wrong as can be.
                most.max(if off.is_finite() { off } else { f64::INFINITY })
            });
            instructions += f64::from(*count);
            errors.push(off);
            if *unsolved == 0 {
                solved.push(off);
            }
        }
        if errors.is_empty() {
            return Err("no ticks".to_owned());
        }
        let ticks = errors.len();
        Ok(Self {
            mean: instructions / ticks as f64,
            unsolved: ticks - solved.len(),
            error: quantile(errors, 0.99),
            median: quantile(solved, 0.5),
        })
    }

    /// Order of settings: those that solve all ticks within `accuracy` by instructions, then all others by error.
    pub(crate) fn rank(&self, accuracy: f64) -> (u8, f64) {
        match self.unsolved == 0 && self.error <= accuracy {
            true => (0, self.mean),
            false => (1, self.error + self.unsolved as f64),
        }
    }
}

fn quantile(mut values: Vec<f64>, level: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (level * values.len().saturating_sub(1) as f64).round() as usize;
    values.get(rank).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::{Counted, Score};

    #[test]
    fn a_wrong_tick_and_an_unsolved_one_show() {
        let tick = |unsolved: u32, u: f32| {
            format!("0000000a {unsolved:08x} 00000001 {:08x} ", u.to_bits())
        };
        let counted = Counted {
            lines: vec![tick(0, 0.5), tick(0, 0.25), tick(1, f32::NAN)],
            flash: 0,
            ram: 0,
            stack: 0,
        };
        let file = std::env::temp_dir().join(format!("dst-score-{}", std::process::id()));
        let exact: Vec<u8> = [0.5f64; 3].iter().flat_map(|v| v.to_le_bytes()).collect();
        std::fs::write(&file, exact).unwrap();
        let score = Score::of(&counted, &file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!((score.mean, score.unsolved), (10.0, 1));
        assert_eq!(score.median, 0.25);
        assert_eq!(score.error, f64::INFINITY);
        assert_eq!(score.rank(0.1).0, 1);
    }
}
