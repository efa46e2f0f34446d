//! Ranks: the processes of one MPI job, which exchange bytes.
//!
//! A [`World`] is one rank and its way to the others. Everything is built from two operations, a message to a rank and the next message
//! from a rank: a broadcast down a binomial tree, a gathering of pieces in the order of the ranks, and a value that goes from rank to
//! rank, each of which adds its part. The last one is how sums keep their order: they have the bits of one process.
//!
//! Who waits looks every few microseconds for the message and asks whether to go on waiting. A process that is about to end leaves its
//! peers that way, wherever it is.
//!
//! ```
//! use dst_mpi::World;
//!
//! let world = World::alone();
//! assert_eq!((world.rank(), world.size()), (0, 1));
//! assert_eq!(world.gather(b"piece", &|| false), Some(vec![b"piece".to_vec()]));
//! ```
//!
//! There is no `unsafe` here: the crate `mpi` has it, behind safe functions.

mod link;
mod wait;

use std::sync::atomic::{AtomicU64, Ordering};

use link::Link;
use wait::Patience;

/// One rank of a job, with its way to the other ranks.
#[derive(Debug)]
pub struct World {
    rank: usize,
    size: usize,
    here: usize,
    link: Link,
    sent: AtomicU64,
}

/// Variables in which starters of MPI jobs tell the rank and the number of ranks: Open MPI, MPICH and its descendants, and Slurm with
/// PMIx.
const STARTERS: [[&str; 2]; 4] = [
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ["PMI_RANK", "PMI_SIZE"],
    ["MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"],
    ["PMIX_RANK", "SLURM_NTASKS"],
];

/// Rank and number of ranks with which this process was started, if it was started by a starter of MPI jobs.
pub fn started_with() -> Option<(usize, usize)> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    STARTERS
        .into_iter()
        .find_map(|[rank, size]| Some((number(rank)?, number(size)?)))
}

impl World {
    fn new(link: Link, [rank, size]: [usize; 2]) -> Self {
        Self {
            rank,
            size,
            here: 1,
            link,
            sent: AtomicU64::new(0),
        }
    }

    /// The only rank.
    pub fn alone() -> Self {
        Self::new(Link::Alone, [0, 1])
    }

    /// Joins the job that this process was started in; without one, the rank is the only one. The error is one sentence.
    pub fn join() -> Result<Self, String> {
        match started_with() {
            Some((_, ranks)) if ranks > 1 => Self::of_job(ranks),
            _ => Ok(Self::alone()),
        }
    }

    #[cfg(not(feature = "mpi"))]
    fn of_job(ranks: usize) -> Result<Self, String> {
        Err(format!(
            "this program was built without the feature mpi and cannot share its work among {ranks} ranks; build it with --features mpi, or start it without mpirun"
        ))
    }

    #[cfg(feature = "mpi")]
    fn of_job(ranks: usize) -> Result<Self, String> {
        let (link, numbers) = Link::of_job()?;
        if numbers[1] != ranks {
            return Err(format!(
                "the MPI library finds {} ranks and not the {ranks} that were started; start the program with the mpirun of the library that it was built with",
                numbers[1]
            ));
        }
        let mut world = Self::new(link, numbers);
        // Not by a communicator of MPI for shared memory: Open MPI 4.1 fails in it where two hosts have one name.
        let name = mpi::environment::processor_name().unwrap_or_default();
        let names = world.gather(name.as_bytes(), &|| false);
        let same = |other: &&Vec<u8>| **other == name.as_bytes();
        world.here = names.map_or(1, |names| names.iter().filter(same).count());
        Ok(world)
    }

    /// Number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of ranks on this machine.
    pub fn on_this_machine(&self) -> usize {
        self.here
    }

    /// Bytes that this rank has sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Sends a message. It may wait until the other rank takes it.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn send(&self, to: usize, message: &[u8]) {
        assert!(to < self.size && to != self.rank, "rank {to}");
        self.sent.fetch_add(message.len() as u64, Ordering::Relaxed);
        self.link.send(to, message);
    }

    /// Returns the next message of a rank; `None` once `leave` is true.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn receive(&self, from: usize, leave: &dyn Fn() -> bool) -> Option<Vec<u8>> {
        assert!(from < self.size && from != self.rank, "rank {from}");
        let mut message = Vec::new();
        let mut patience = Patience::default();
        loop {
            if let Some(whole) = self.link.poll(from, &mut message) {
                if whole {
                    return Some(message);
                }
                patience = Patience::default();
            } else if leave() {
                return None;
            } else {
                patience.wait();
            }
        }
    }

    /// Hands the message of rank `root` to all; the other ranks' own is ignored. `None` once `leave` is true.
    pub fn broadcast(
        &self,
        root: usize,
        message: Vec<u8>,
        leave: &dyn Fn() -> bool,
    ) -> Option<Vec<u8>> {
        // Numbers as if the root were rank 0; the sender is the one without the lowest bit that is set.
        let number = (self.rank + self.size - root) % self.size;
        let rank = |number: usize| (number + root) % self.size;
        let lowest = match number {
            0 => self.size.next_power_of_two(),
            number => number & number.wrapping_neg(),
        };
        let message = match number {
            0 => message,
            number => self.receive(rank(number - lowest), leave)?,
        };
        let mut bit = lowest / 2;
        while bit > 0 {
            if number + bit < self.size {
                self.send(rank(number + bit), &message);
            }
            bit /= 2;
        }
        Some(message)
    }

    /// Returns the pieces of all ranks, in the order of the ranks. `None` once `leave` is true.
    pub fn gather(&self, piece: &[u8], leave: &dyn Fn() -> bool) -> Option<Vec<Vec<u8>>> {
        let mut pieces = Vec::with_capacity(self.size);
        if self.rank > 0 {
            self.send(0, piece);
        } else {
            pieces.push(piece.to_vec());
            for rank in 1..self.size {
                pieces.push(self.receive(rank, leave)?);
            }
        }
        if self.size == 1 {
            return Some(pieces);
        }
        let mut all = Vec::new();
        for piece in &pieces {
            all.extend((piece.len() as u64).to_le_bytes());
            all.extend(piece);
        }
        let all = self.broadcast(0, all, leave)?;
        if self.rank > 0 {
            let mut rest = all.as_slice();
            while let Some((length, after)) = rest.split_first_chunk() {
                let (piece, after) = after.split_at(u64::from_le_bytes(*length) as usize);
                pieces.push(piece.to_vec());
                rest = after;
            }
        }
        Some(pieces)
    }

    /// Hands a message from rank to rank: each receives that of the rank before it, the first its own, and `add` makes from it what is
    /// handed on. Returns what the last rank made, to all. `None` once `leave` is true.
    pub fn in_turn(
        &self,
        own: Vec<u8>,
        add: impl FnOnce(Vec<u8>) -> Vec<u8>,
        leave: &dyn Fn() -> bool,
    ) -> Option<Vec<u8>> {
        let before = match self.rank {
            0 => own,
            rank => self.receive(rank - 1, leave)?,
        };
        let after = add(before);
        let last = self.size - 1;
        if self.rank < last {
            self.send(self.rank + 1, &after);
        }
        self.broadcast(last, after, leave)
    }

    /// Waits for all ranks. False once `leave` is true.
    pub fn barrier(&self, leave: &dyn Fn() -> bool) -> bool {
        self.gather(&[], leave).is_some()
    }

    /// Ends the membership of this rank, after its last message. A process that exits without it ends the whole job.
    pub fn finish(&self) {
        self.link.finish();
    }
}

#[cfg(test)]
mod tests;
