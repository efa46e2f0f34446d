//! Waiting for a message: first other threads get the processor, then the processor rests.

use std::time::{Duration, Instant};

/// Time without a rest. A message between two ranks of one machine takes about as long.
const LOOKS: Duration = Duration::from_micros(100);
/// Shortest and longest rest.
const RESTS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_micros(500));

/// Rest between two looks for a message. It grows with the time that the message takes.
#[derive(Debug)]
pub(crate) struct Patience {
    begun: Instant,
    rest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            rest: RESTS.0,
        }
    }
}

impl Patience {
    pub(crate) fn wait(&mut self) {
        // By the clock: where others want the processor, a look takes as long as their turn.
        if self.begun.elapsed() < LOOKS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(self.rest);
            self.rest = (self.rest * 5 / 4).min(RESTS.1);
        }
    }
}
