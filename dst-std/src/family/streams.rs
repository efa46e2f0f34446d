//! Streams of random numbers for tuning, choosing and testing. No instance is in two of them.

use crate::random::bits;

/// The purpose of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Instances to tune on.
    Tuning,
    /// Instances that choose between candidates.
    Choosing,
    /// Held-out instances, evaluated once at the end.
    Testing,
}

impl Stream {
    /// Every purpose.
    pub const ALL: [Self; 3] = [Self::Tuning, Self::Choosing, Self::Testing];

    /// Returns instance number `index` of this stream under a seed.
    pub fn instance(self, seed: u64, index: usize) -> Instance {
        let purpose = match self {
            Self::Tuning => 0x7261_696e,
            Self::Choosing => 0x7661_6c69,
            Self::Testing => 0x6865_6c64,
        };
        Instance {
            stream: self,
            index,
            key: bits(bits(seed, purpose), index as u64),
        }
    }

    /// Returns the first `count` instances of this stream.
    pub fn instances(self, seed: u64, count: usize) -> Vec<Instance> {
        (0..count).map(|i| self.instance(seed, i)).collect()
    }
}

/// An instance by its number. Everything random about it is drawn from `key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    /// The purpose.
    pub stream: Stream,
    /// The number in the stream.
    pub index: usize,
    /// The seed of the random numbers of this instance, for [`random`](crate::random).
    pub key: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_instance_is_in_two_streams_or_seeds() {
        let mut seen = HashSet::new();
        for seed in [0, 1, 2, 7, u64::MAX] {
            for stream in Stream::ALL {
                let instances = stream.instances(seed, 2000);
                assert_eq!(instances, stream.instances(seed, 2000));
                for instance in instances {
                    assert!(seen.insert(instance.key), "{instance:?} of seed {seed}");
                }
            }
        }
    }
}
