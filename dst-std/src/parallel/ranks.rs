//! Division of instances among the processes of an MPI job, as a layer over the threads.
//!
//! Every rank runs the whole program, with the same decisions from the same numbers. Where results of instances are asked for, a rank
//! computes those of its own numbers, and receives the others; sums go from rank to rank in the order of the instances. Without a
//! job there is one rank, which owns all numbers. Only the first rank reads its files, writes, and shows what happens.
//!
//! A rank that is asked to end goes on alone: it no longer waits for the others, and computes what it would have received. Its
//! exit without a word to MPI ends the job.

use std::cell::Cell;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dst_mpi::World;
use rayon::prelude::*;

use super::Piece;

static WORLD: OnceLock<World> = OnceLock::new();
/// True once this rank goes on alone.
static ALONE: AtomicBool = AtomicBool::new(false);
/// Number of exchanges so far; the same on all ranks, if all do the same work.
static EXCHANGES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// True while this thread works on an instance: what is divided further in there is divided among threads only.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Joins the job that this process was started in, before its first computation. The error is one sentence.
#[cfg(feature = "cli")]
pub(crate) fn join() -> Result<(), String> {
    if WORLD.get().is_none() {
        let world = World::join()?;
        let _ = WORLD.set(world);
    }
    Ok(())
}

/// True for the one process of a job that says why the job cannot be joined.
#[cfg(feature = "cli")]
pub(crate) fn is_to_speak() -> bool {
    dst_mpi::started_with().is_none_or(|(rank, _)| rank == 0)
}

/// Refuses a job of unlike processes: versions and instruction sets decide about the last bits. The error is one sentence.
#[cfg(feature = "cli")]
pub(crate) fn agree() -> Result<(), String> {
    use crate::linalg::Arithmetic;
    if count() == 1 {
        return Ok(());
    }
    let mut facts = crate::machine::facts(1);
    if Arithmetic::current() == Arithmetic::Portable {
        facts.retain(|(name, _)| name == "dst");
    }
    let own = facts
        .into_iter()
        .map(|fact| format!("{} {}", fact.0, fact.1));
    let own = own.collect::<Vec<_>>().join(", ");
    let first = from_first(|| own.clone());
    match first == own {
        true => Ok(()),
        false => Err(format!(
            "this rank runs with {own}, and the first with {first}; give --portable, or start the same dst on machines of one kind"
        )),
    }
}

/// Leaves the job at the end of its work, with all other ranks.
#[cfg(feature = "cli")]
pub(crate) fn finish() {
    if !ALONE.load(Ordering::SeqCst) {
        world().finish();
    }
}

fn world() -> &'static World {
    WORLD.get_or_init(World::alone)
}

/// True for the rank that reads, writes and shows.
pub(crate) fn is_first() -> bool {
    world().rank() == 0
}

/// Number of this rank.
#[cfg(feature = "cli")]
pub(crate) fn number() -> usize {
    world().rank()
}

/// Number of ranks.
pub(crate) fn count() -> usize {
    world().size()
}

/// Number of ranks on this machine, which share its memory and its processors.
pub(crate) fn on_this_machine() -> usize {
    world().on_this_machine()
}

/// Bytes that this rank has sent so far.
pub(crate) fn sent() -> u64 {
    world().sent()
}

/// Lets this rank go on alone, at once and for good.
#[cfg(feature = "cli")]
pub(crate) fn go_on_alone() {
    ALONE.store(true, Ordering::SeqCst);
}

fn alone() -> bool {
    ALONE.load(Ordering::SeqCst)
}

/// True within an instance, where the other ranks do other things.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// True if there are other ranks and work is divided among them here.
pub(crate) fn are_several() -> bool {
    world().size() > 1 && !INSIDE.get()
}

/// Numbers of the instances of this rank, out of `count`: contiguous, in the order of the ranks.
pub(crate) fn own(count: usize) -> Range<usize> {
    if !are_several() {
        return 0..count;
    }
    let (rank, size) = (world().rank(), world().size());
    let from = |rank: usize| (count as u128 * rank as u128 / size as u128) as usize;
    from(rank)..from(rank + 1)
}

/// The most instances that a rank owns, out of `count`.
pub(crate) fn most_own(count: usize) -> usize {
    count.div_ceil(world().size())
}

/// Ends the process, and with it the job: the ranks do different things, which no input may cause.
fn fault() -> ! {
    eprintln!(
        "error: a fault of this program: rank {} does other work than its peers",
        world().rank()
    );
    std::process::exit(1)
}

/// Bytes that begin with the number of their exchange.
fn numbered(content: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    EXCHANGES.load(Ordering::Relaxed).put(&mut bytes);
    content(&mut bytes);
    bytes
}

/// Reads bytes that another rank made in this exchange, to their end.
fn read<T>(mut bytes: &[u8], content: impl FnOnce(&mut &[u8]) -> Option<T>) -> T {
    let expected = Some(EXCHANGES.load(Ordering::Relaxed));
    let found = match u64::take(&mut bytes) == expected {
        true => content(&mut bytes),
        false => None,
    };
    match found {
        Some(found) if bytes.is_empty() => found,
        _ => fault(),
    }
}

fn next_exchange() {
    EXCHANGES.fetch_add(1, Ordering::Relaxed);
}

/// The values of all ranks; of this one only, if it is alone.
pub(crate) fn of_every_rank<R: Piece>(own: R) -> Vec<R> {
    if are_several() && !alone() {
        next_exchange();
        let piece = numbered(|to| own.put(to));
        if let Some(pieces) = world().gather(&piece, &alone) {
            return pieces.iter().map(|piece| read(piece, R::take)).collect();
        }
    }
    vec![own]
}

/// Division of the instances of a rank.
#[derive(Clone, Copy)]
enum Division {
    /// Among its threads.
    Threads,
    /// One after the other, each on all threads.
    #[cfg(feature = "cli")]
    None,
}

/// Results of `work` for these numbers, in their order.
fn here<R: Send>(
    numbers: Range<usize>,
    division: Division,
    work: &(impl Fn(usize) -> R + Sync),
) -> Vec<R> {
    let one = |number| {
        let before = INSIDE.replace(true);
        let result = work(number);
        INSIDE.set(before);
        result
    };
    match division {
        Division::Threads => numbers.into_par_iter().map(one).collect(),
        #[cfg(feature = "cli")]
        Division::None => numbers.map(one).collect(),
    }
}

/// Results of `work` for the numbers below `count`, in their order, divided among ranks and threads. The same number gives the same
/// result on every rank.
pub(crate) fn instances<R: Piece + Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let ok = |number| Ok::<R, std::convert::Infallible>(work(number));
    match try_instances(count, ok) {
        Ok(results) => results,
        Err(never) => match never {},
    }
}

/// The same for work that may fail; returns the failure of the least number that fails.
pub(crate) fn try_instances<R: Piece + Send, E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    divide(count, Division::Threads, work)
}

/// The same for large instances: a rank does one after the other, each on all of its threads.
#[cfg(feature = "cli")]
pub(crate) fn try_large_instances<R: Piece + Send, E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    divide(count, Division::None, work)
}

fn divide<R: Piece + Send, E: Send>(
    count: usize,
    division: Division,
    work: impl Fn(usize) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let own = own(count);
    let mine: Result<Vec<R>, (usize, E)> = here(own.clone(), division, &work)
        .into_iter()
        .zip(own.clone())
        .map(|(result, number)| result.map_err(|error| (number, error)))
        .collect();
    if own.len() == count && !are_several() {
        return mine.map_err(|(_, error)| error);
    }
    if !alone() {
        next_exchange();
        let piece = numbered(|to| match &mine {
            Ok(results) => {
                (true, count).put(to);
                results.put(to);
            }
            Err((number, _)) => (false, *number).put(to),
        });
        if let Some(pieces) = world().gather(&piece, &alone) {
            return joined(&pieces, count, mine, &work);
        }
    }
    // What the others would have sent is computed here: the process is about to end, and its last results are whole.
    let mine = mine.map_err(|(_, error)| error);
    let before = here(0..own.start, division, &work).into_iter();
    let after = here(own.end..count, division, &work).into_iter();
    let mut all = before.collect::<Result<Vec<R>, E>>()?;
    all.extend(mine?);
    all.extend(after.collect::<Result<Vec<R>, E>>()?);
    Ok(all)
}

/// The results of all ranks. A failure travels as its number: every rank repeats that instance for itself.
fn joined<R: Piece, E>(
    pieces: &[Vec<u8>],
    count: usize,
    mine: Result<Vec<R>, (usize, E)>,
    work: &impl Fn(usize) -> Result<R, E>,
) -> Result<Vec<R>, E> {
    let mut all = Vec::with_capacity(count);
    let mut mine = Some(mine);
    for (rank, piece) in pieces.iter().enumerate() {
        if rank == world().rank() {
            match mine.take() {
                Some(Ok(results)) => all.extend(results),
                Some(Err((_, error))) => return Err(error),
                None => {}
            }
            continue;
        }
        let found = read(piece, |from| {
            let (whole, number) = <(bool, usize)>::take(from)?;
            match whole {
                true if number == count => Some(Ok(Vec::<R>::take(from)?)),
                true => None,
                false => Some(Err(number)),
            }
        });
        match found {
            Ok(results) => all.extend(results),
            Err(number) => match work(number) {
                Err(error) => return Err(error),
                Ok(_) => fault(),
            },
        }
    }
    if all.len() != count {
        fault();
    }
    Ok(all)
}

/// Lets the ranks add to a state one after the other, in their order; all end with the state of the last. False if this rank goes on
/// alone: then the state is of no use.
pub(crate) fn in_turn<S: Piece>(state: &mut S, add: impl FnOnce(&mut S)) -> bool {
    if !are_several() {
        add(state);
        return true;
    }
    if alone() {
        return false;
    }
    next_exchange();
    let own = numbered(|to| state.put(to));
    let add = |before: Vec<u8>| {
        *state = read(&before, S::take);
        add(state);
        numbered(|to| state.put(to))
    };
    let Some(last) = world().in_turn(own, add, &alone) else {
        return false;
    };
    *state = read(&last, S::take);
    true
}

/// Returns the result of the first rank, on all ranks.
pub(crate) fn from_first<R: Piece>(find: impl FnOnce() -> R) -> R {
    if !are_several() || alone() {
        return find();
    }
    next_exchange();
    let own = match is_first() {
        true => numbered(|to| find().put(to)),
        false => Vec::new(),
    };
    match world().broadcast(0, own, &alone) {
        Some(bytes) => read(&bytes, R::take),
        // Only a rank that is about to end comes here.
        None => std::process::exit(130),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::with;

    #[test]
    fn one_rank_owns_everything() {
        assert_eq!((count(), is_first(), on_this_machine()), (1, true, 1));
        assert_eq!((own(7), most_own(7)), (0..7, 7));
        let mut sum = 1.0;
        assert!(in_turn(&mut sum, |sum| *sum += 2.0));
        assert_eq!((sum, from_first(|| 5_u8), sent()), (3.0, 5, 0));
    }

    #[test]
    fn results_come_in_order_and_the_first_failure_counts() {
        for threads in [1, 3] {
            let squares = with(threads, || instances(50, |i| i * i)).unwrap();
            assert!(
                squares
                    .iter()
                    .enumerate()
                    .all(|(i, &square)| square == i * i)
            );
            let odd = |i: usize| if i % 2 == 1 && i > 10 { Err(i) } else { Ok(i) };
            assert_eq!(with(threads, || try_instances(50, odd)), Ok(Err(11)));
            assert_eq!(
                with(threads, || try_instances(3, odd)),
                Ok(Ok(vec![0, 1, 2]))
            );
            // Work on an instance may divide its own.
            let nested = with(threads, || instances(3, |i| instances(i, |j| j))).unwrap();
            assert_eq!(nested, [vec![], vec![0], vec![0, 1]]);
        }
    }
}
