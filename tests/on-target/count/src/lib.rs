//! Recorded ticks of a plant: instructions of each tick, its outcome and its inputs, as words.
//!
//! The emulator runs with `-icount shift=6`, so that an instruction takes 64 ns of its time, and the system timer counts 40 ns: a
//! difference of 8 is 5 instructions. The time of an empty tick is subtracted. One plant per program, as in a product: the compiler
//! then knows all sizes.

#![no_std]

use board::{timer, write_words};
use dst_core::Error;
use dst_core::mpc::{Controller, Tick};
use dst_core::qp::{Outcome, Status};

/// Longest parameter with its extra term.
const LONGEST: usize = 64;
/// Steps allowed per tick and block.
pub const BUDGET: usize = 500;

/// Words of the file, one after the other.
struct Words(&'static [u8]);

impl Words {
    fn next(&mut self) -> u32 {
        match self.0.split_first_chunk::<4>() {
            Some((word, rest)) => {
                self.0 = rest;
                u32::from_le_bytes(*word)
            }
            None => 0,
        }
    }

    fn fill(&mut self, values: &mut [f32]) {
        for value in values {
            *value = f32::from_bits(self.next());
        }
    }
}

/// Runs all ticks of a file. Words of a tick: instructions, status, steps, operations, inputs. `tick` runs one.
pub fn run(
    file: &'static [u8],
    controller: &Controller<'static, f32>,
    numbers: &mut [f32],
    entries: &mut [u16],
    tick: impl Fn(&mut Tick<'_, f32>, &[f32], &[f32]) -> Result<Outcome, Error>,
) -> Result<(), Error> {
    let mut words = Words(file);
    let ticks = words.next();
    let (p_len, extra_len) = (words.next() as usize, words.next() as usize);
    let mut memory = Tick::new(controller, numbers, entries)?;
    let (mut p, mut extra) = ([0.0; LONGEST], [0.0; LONGEST]);
    let (Some(p), Some(extra)) = (p.get_mut(..p_len), extra.get_mut(..extra_len)) else {
        return Ok(());
    };
    let empty = timer::instructions(|| {}).1;
    for _ in 0..ticks {
        let cold = words.next() & 1 != 0;
        words.fill(p);
        words.fill(extra);
        if cold {
            memory.reset();
        }
        let (outcome, count) = timer::instructions(|| tick(&mut memory, p, extra));
        let outcome = outcome?;
        let status = match outcome.status {
            Status::Solved => 0,
            Status::Softened => 1,
            Status::Late => 2,
            Status::Infeasible => 3,
        };
        write_words(&[
            count.saturating_sub(empty),
            status,
            outcome.steps as u32,
            outcome.operations as u32,
        ]);
        for u in memory.inputs() {
            write_words(&[u.to_bits()]);
        }
    }
    Ok(())
}
