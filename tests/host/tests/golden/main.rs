//! Bits of every known answer, as computed by the engine before its redesign.
//!
//! Only `engine` depends on the engine; `cases` and `flows` list the requests, `modes` varies them; `book` compares with `golden.txt`. With `DST_WRITE_GOLDEN=1`
//! the file is rewritten.
//!
//! The systems that became maps are exempt from bit identity: their values agree to 1e-12 (1e-5 in single precision). Sums of
//! losses are not recorded. Evaluations may become fewer.

mod book;
mod cases;
mod engine;
mod flows;
mod modes;
mod program;

use std::path::Path;

use book::Book;

#[test]
fn the_bits_of_every_known_answer() {
    let mut book = Book::default();
    cases::all(&mut book);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/golden.txt");
    book.check(&path, "", [0.0; 2]);
}
