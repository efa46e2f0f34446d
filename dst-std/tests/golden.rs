//! The bits of what `control` finds through the engine, as it gave them before it was redrawn. `DST_WRITE_GOLDEN=1` writes `golden.txt`
//! anew.
//!
//! The gradients of `control` are exempt from having the same bits: ADMM becomes a map.

#[path = "../../tests/host/tests/golden/book.rs"]
mod book;

use std::path::Path;

use book::{Book, Line, instruction_set};
use dst_std::control::plants::{quadrotor, safety_filter};
use dst_std::control::{Differentiated, Knobset, differentiate, unrolled};

/// The tolerance between instruction sets, in double precision.
const LOOSE: [f64; 2] = [1e-9, 1e-3];

/// N* of ticks and its gradient: reached, extrapolated and over a fixed horizon.
fn controllers(book: &mut Book) {
    for plant in [safety_filter(), quadrotor().unwrap()] {
        let (program, pool) = (&plant.program, plant.pool(11, 4));
        let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
        let base = program.jacobi().unwrap();
        let knobs = Knobset::levels_and_slopes(program, base, &kinds, &[6, 14]);
        let tuned = knobs.tuned(program, &knobs.start(1.5, 1.6)).unwrap();
        for i in 0..pool.len() {
            for (what, found) in [
                (
                    "stop",
                    differentiate(program, &pool, i, tuned.phases(), 500),
                ),
                (
                    "cap-40",
                    differentiate(program, &pool, i, tuned.phases(), 40),
                ),
                ("cap-2", differentiate(program, &pool, i, tuned.phases(), 2)),
                ("unrolled", unrolled(program, &pool, i, tuned.phases(), 20)),
            ] {
                let Differentiated {
                    iterations,
                    gradient,
                    work,
                } = found.unwrap();
                let mut pulled = vec![0.0; knobs.knobs().len()];
                knobs.knobs().pull(&tuned.params, &gradient, &mut pulled);
                let (set, plant) = (instruction_set(), plant.name);
                let line = Line::new(format!("{set}/exempt/control/{plant}/{i}/{what}"))
                    .numbers("N", &[iterations])
                    .numbers("gradient", &pulled)
                    .work("work", [work]);
                book.add(line);
            }
        }
    }
}

#[test]
fn the_bits_of_control() {
    let mut book = Book::default();
    controllers(&mut book);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.txt");
    book.check(&path, &format!("{}/", instruction_set()), LOOSE);
}
