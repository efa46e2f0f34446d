//! The way to the other ranks: none, MPI, or in tests the channels between threads.

#[cfg(feature = "mpi")]
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(feature = "mpi")]
use mpi::Threading;
#[cfg(feature = "mpi")]
use mpi::point_to_point::MatchedReceiveVec;
#[cfg(feature = "mpi")]
use mpi::topology::SimpleCommunicator;
#[cfg(feature = "mpi")]
use mpi::traits::{Communicator, Destination, Source};

/// The most bytes in one message of MPI, which counts them in 31 bits. Longer messages go in parts.
#[cfg(feature = "mpi")]
const PART: usize = 1 << 30;
/// Tags of a part that others follow, and of the last part of a message.
#[cfg(feature = "mpi")]
const TAGS: [i32; 2] = [1, 2];

/// The way to the other ranks.
#[derive(Debug)]
pub(crate) enum Link {
    /// There are none.
    Alone,
    /// MPI. One thread calls it at a time; what is dropped at the end closes it.
    #[cfg(feature = "mpi")]
    Mpi(Mutex<Option<Universe>>),
    /// Channels to and from every rank.
    #[cfg(test)]
    Threads(crate::tests::Channels),
}

/// Membership of a job.
#[cfg(feature = "mpi")]
pub(crate) struct Universe(mpi::environment::Universe);

#[cfg(feature = "mpi")]
impl std::fmt::Debug for Universe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Universe").finish_non_exhaustive()
    }
}

#[cfg(feature = "mpi")]
fn alone_at(
    universe: &Mutex<Option<Universe>>,
) -> (MutexGuard<'_, Option<Universe>>, SimpleCommunicator) {
    // Nothing in it depends on what another thread did before it panicked.
    let guard = universe.lock().unwrap_or_else(PoisonError::into_inner);
    (guard, SimpleCommunicator::world())
}

impl Link {
    /// Starts MPI. Returns the way, the rank and the number of ranks.
    #[cfg(feature = "mpi")]
    pub(crate) fn of_job() -> Result<(Self, [usize; 2]), String> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)
            .ok_or("MPI has been started before in this process")?;
        if threading < Threading::Serialized {
            return Err(
                "the MPI library does not take calls from more than one thread; use one that was built with threads"
                    .to_owned(),
            );
        }
        let world = universe.world();
        let numbers = [world.rank(), world.size()];
        let link = Self::Mpi(Mutex::new(Some(Universe(universe))));
        Ok((link, numbers.map(|n| usize::try_from(n).unwrap_or(0))))
    }

    pub(crate) fn send(&self, to: usize, message: &[u8]) {
        match self {
            Self::Alone => unreachable!("there is no other rank than {to} to take {message:?}"),
            #[cfg(feature = "mpi")]
            Self::Mpi(universe) => {
                let (_alone, world) = alone_at(universe);
                let process = world.process_at_rank(to as i32);
                let parts = message.len().div_ceil(PART).max(1);
                for part in 0..parts {
                    let end = message.len().min((part + 1) * PART);
                    let tag = TAGS[usize::from(part + 1 == parts)];
                    process.send_with_tag(&message[part * PART..end], tag);
                }
            }
            #[cfg(test)]
            Self::Threads(channels) => channels.send(to, message),
        }
    }

    /// Appends the next part of a message from this rank, if it has come. True if it is the last part.
    pub(crate) fn poll(&self, from: usize, message: &mut Vec<u8>) -> Option<bool> {
        match self {
            Self::Alone => unreachable!("there is no rank {from} to add to {message:?}"),
            #[cfg(feature = "mpi")]
            Self::Mpi(universe) => {
                let (_alone, world) = alone_at(universe);
                let process = world.process_at_rank(from as i32);
                let found = process.immediate_matched_probe()?;
                let (part, status) = found.matched_receive_vec::<u8>();
                match message.is_empty() {
                    true => *message = part,
                    false => message.extend(part),
                }
                Some(status.tag() == TAGS[1])
            }
            #[cfg(test)]
            Self::Threads(channels) => channels.poll(from, message),
        }
    }

    pub(crate) fn finish(&self) {
        match self {
            Self::Alone => {}
            #[cfg(feature = "mpi")]
            Self::Mpi(universe) => drop(alone_at(universe).0.take().map(|universe| universe.0)),
            #[cfg(test)]
            Self::Threads(_) => {}
        }
    }
}
