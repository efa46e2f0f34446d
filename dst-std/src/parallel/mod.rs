//! Number of threads for the whole crate, and the division of work among them and among the ranks of an MPI job.
//!
//! Work is cut into pieces whose number depends on the problem alone, and partial sums are added in the order of the
//! pieces. Results therefore depend neither on the number of threads nor on their timing. Instances are divided among ranks first, by
//! `instances` and `in_turn`; the feature `mpi` lets there be more than one.

mod piece;
pub(crate) mod ranks;

#[cfg(test)]
pub(crate) use piece::comes_back;
pub(crate) use piece::{Piece, piece};
pub(crate) use ranks::{in_turn, instances, try_instances};

/// Largest number of threads that is accepted.
pub const MOST: usize = 1024;

/// Runs `work` with this many threads for everything that it calls.
pub fn with<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> Result<R, String> {
    if !(1..=MOST).contains(&threads) {
        return Err(format!(
            "the number of threads must be from 1 to {MOST}, got {threads}"
        ));
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map(|pool| pool.install(work))
        .map_err(|error| format!("{threads} threads cannot be started: {error}"))
}

/// As many threads as the machine has cores for this process; the ranks of a job on one machine share them.
pub fn available() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / ranks::on_this_machine()).clamp(1, MOST)
}

/// Does both, side by side if there is more than one thread. Work is halved with it until the pieces are small enough, always at
/// the same places, so that what is added up on the way back has the same bits for any number of threads.
pub(crate) fn join<A: Send, B: Send>(
    left: impl FnOnce() -> A + Send,
    right: impl FnOnce() -> B + Send,
) -> (A, B) {
    if rayon::current_num_threads() < 2 {
        (left(), right())
    } else {
        rayon::join(left, right)
    }
}

/// Threads among which a piece of work is divided.
///
/// Each half of it gets half of them, and work for a single thread is not divided any further. Unlike [`join`], no thread takes what
/// another one has kept for later: for loops over the same memory again and again, which then stays in the caches where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share(usize);

impl Share {
    /// All threads.
    pub(crate) fn all() -> Self {
        Self(rayon::current_num_threads())
    }

    /// True if a single thread does all of the work.
    pub(crate) fn is_single(self) -> bool {
        self.0 < 2
    }

    /// Does both, side by side if there is more than one thread.
    pub(crate) fn join<A: Send, B: Send>(
        self,
        left: impl FnOnce(Self) -> A + Send,
        right: impl FnOnce(Self) -> B + Send,
    ) -> (A, B) {
        if self.is_single() {
            (left(self), right(self))
        } else {
            let half = Self(self.0.div_ceil(2));
            rayon::join(|| left(half), || right(half))
        }
    }
}

/// Does `work` for every item, with its number. The items are spread over the threads one by one.
pub(crate) fn each<A: Send>(items: &mut [A], work: &(impl Fn(usize, &mut A) + Sync)) {
    fn part<A: Send>(items: &mut [A], first: usize, work: &(impl Fn(usize, &mut A) + Sync)) {
        match items {
            [] => {}
            [item] => work(first, item),
            items => {
                let middle = items.len() / 2;
                let (left, right) = items.split_at_mut(middle);
                join(
                    || part(left, first, work),
                    || part(right, first + middle, work),
                );
            }
        }
    }
    part(items, 0, work);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_has_the_threads_asked_for() {
        for threads in [1, 2, 3] {
            assert_eq!(with(threads, rayon::current_num_threads), Ok(threads));
        }
        assert!(with(0, || ()).unwrap_err().contains("from 1 to"));
        assert!(with(usize::MAX, || ()).is_err());
        assert!(available() >= 1);
    }

    #[test]
    fn a_half_has_half_of_the_threads() {
        let halves = |share: Share| share.join(|left| left.0, |right| right.0);
        for (threads, half) in [(1, 1), (2, 1), (3, 2), (8, 4)] {
            assert_eq!(with(threads, || halves(Share::all())), Ok((half, half)));
        }
    }

    #[test]
    fn every_item_is_done_once() {
        for (threads, count) in [(1, 5), (2, 0), (2, 1), (3, 64)] {
            let mut items = vec![0; count];
            with(threads, || {
                each(&mut items, &|number, item| *item += number + 1);
            })
            .unwrap();
            assert!(items.iter().enumerate().all(|(i, &item)| item == i + 1));
        }
    }

    #[test]
    fn both_sides_are_done() {
        for threads in [1, 2, 5] {
            assert_eq!(with(threads, || join(|| 1, || "two")), Ok((1, "two")));
            let shared = with(threads, || Share::all().join(|_| 1, |_| "two"));
            assert_eq!(shared, Ok((1, "two")));
        }
    }
}
