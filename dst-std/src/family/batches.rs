//! Batches of a pool of instances, with a part from the slowest.

use crate::random::bits;

/// The composition of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    /// Instances per batch.
    pub size: usize,
    /// The number of these from the slowest of the pool.
    pub hard: usize,
    /// The number of slowest instances to draw from.
    pub slowest: usize,
    /// Seed of the draws.
    pub seed: u64,
}

impl Batches {
    /// Returns batch number `step`: numbers of instances. `order` lists the whole pool, the slowest first.
    pub fn draw(&self, order: &[usize], step: usize) -> Vec<usize> {
        let hard = self.hard.min(self.size);
        let stream = bits(self.seed, step as u64);
        let pick = |i: usize, of: usize| {
            let place = bits(stream, i as u64) % of.max(1) as u64;
            order.get(place as usize).copied()
        };
        let few = self.slowest.clamp(1, order.len().max(1));
        let worst = (0..hard).filter_map(|i| pick(i, few));
        let any = (hard..self.size).filter_map(|i| pick(i, order.len()));
        worst.chain(any).collect()
    }
}

/// Returns the numbers of the values, the largest first.
pub fn slowest_first(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_its_share_of_the_slowest() {
        let values: Vec<f64> = (0..100).map(|i| f64::from((i * 37) % 100)).collect();
        let order = slowest_first(&values);
        assert!(order.windows(2).all(|w| values[w[0]] > values[w[1]]));
        let batches = Batches {
            size: 16,
            hard: 6,
            slowest: 10,
            seed: 3,
        };
        let mut seen = std::collections::HashSet::new();
        for step in 0..50 {
            let batch = batches.draw(&order, step);
            assert_eq!((batch.len(), &batch), (16, &batches.draw(&order, step)));
            assert!(batch[..6].iter().all(|&i| values[i] >= 90.0));
            seen.extend(batch);
        }
        assert!(seen.len() > 90, "{}", seen.len());
        assert!(batches.draw(&[], 0).is_empty());
    }
}
