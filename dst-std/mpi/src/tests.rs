use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::World;
use crate::link::Link;

/// Channels to and from every rank.
#[derive(Debug)]
pub(crate) struct Channels {
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Channels {
    pub(crate) fn send(&self, to: usize, message: &[u8]) {
        // A rank that has left takes no messages any more.
        let _ = self.to[to].send(message.to_vec());
    }

    pub(crate) fn poll(&self, from: usize, message: &mut Vec<u8>) -> Option<bool> {
        *message = self.from[from].lock().unwrap().try_recv().ok()?;
        Some(true)
    }
}

/// Does `work` on this many ranks, each a thread; returns the results in the order of the ranks.
fn on<R: Send>(size: usize, work: impl Fn(&World) -> R + Sync) -> Vec<R> {
    let mut from: Vec<Vec<_>> = (0..size).map(|_| Vec::new()).collect();
    let mut to: Vec<Vec<_>> = (0..size).map(|_| Vec::new()).collect();
    for receiver in &mut from {
        for sender in &mut to {
            let (into, out) = channel();
            sender.push(into);
            receiver.push(Mutex::new(out));
        }
    }
    let worlds: Vec<World> = to
        .into_iter()
        .zip(from)
        .enumerate()
        .map(|(rank, (to, from))| World::new(Link::Threads(Channels { to, from }), [rank, size]))
        .collect();
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = worlds
            .iter()
            .map(|world| scope.spawn(move || work(world)))
            .collect();
        running
            .into_iter()
            .map(|rank| rank.join().unwrap())
            .collect()
    })
}

const STAY: &dyn Fn() -> bool = &|| false;

#[test]
fn pieces_come_in_the_order_of_the_ranks() {
    for size in 1..=9 {
        let piece = |rank: usize| vec![rank as u8; (7 * rank) % 5];
        let expected: Vec<Vec<u8>> = (0..size).map(piece).collect();
        let found = on(size, |world| {
            world.gather(&piece(world.rank()), STAY).unwrap()
        });
        assert!(
            found.iter().all(|found| *found == expected),
            "{size}: {found:?}"
        );
        assert!(
            on(size, |world| world.barrier(STAY))
                .into_iter()
                .all(|done| done)
        );
    }
}

#[test]
fn every_rank_hears_every_root() {
    for size in 1..=9 {
        for root in 0..size {
            let own = |world: &World| vec![world.rank() as u8, 7];
            let found = on(size, |world| {
                world.broadcast(root, own(world), STAY).unwrap()
            });
            assert!(
                found.iter().all(|found| *found == [root as u8, 7]),
                "{size}, {root}: {found:?}"
            );
        }
    }
}

/// Sums of floating-point numbers differ with their order: the sum over ranks has the bits of one process.
#[test]
fn in_turn_keeps_the_order() {
    let numbers: Vec<f64> = (0..40).map(|i| 10_f64.powi(i % 17 - 8) / 3.0).collect();
    let sum = numbers.iter().fold(0.0, |sum: f64, number| sum + number);
    let backwards = numbers
        .iter()
        .rev()
        .fold(0.0, |sum: f64, number| sum + number);
    assert_ne!(sum.to_bits(), backwards.to_bits());
    for size in 1..=5 {
        let found = on(size, |world| {
            let place = |rank: usize| rank * numbers.len() / size;
            let own = &numbers[place(world.rank())..place(world.rank() + 1)];
            let add = |before: Vec<u8>| {
                let before = f64::from_le_bytes(before.try_into().unwrap());
                let after = own.iter().fold(before, |sum, number| sum + number);
                after.to_le_bytes().to_vec()
            };
            let all = world.in_turn(0_f64.to_le_bytes().to_vec(), add, STAY);
            (all.unwrap(), world.sent())
        });
        // The number to the next, and down the tree.
        let sent: u64 = found.iter().map(|(_, sent)| sent).sum();
        assert_eq!(sent, 2 * 8 * (size as u64 - 1));
        assert!(found.iter().all(|(all, _)| *all == sum.to_le_bytes()));
    }
}

/// A rank that is asked to end does not wait for the others.
#[test]
fn a_rank_may_leave() {
    let found = on(3, |world| match world.rank() {
        0 => Some(Vec::new()),
        _ => world.gather(b"x", &|| true),
    });
    assert_eq!(found[1..], [None, None]);
    let first = on(2, |world| match world.rank() {
        0 => world.in_turn(vec![1], |before| before, &|| true),
        _ => None,
    });
    assert_eq!(first, [None, None]);
}
