//! Writes `tests/random_formulas/cases.rs`: a hundred random formulas as source text. `cargo run -p dst-tests --example
//! random_formulas > tests/host/tests/random_formulas/cases.rs` after a change of the generator; a test compares the two.

fn main() {
    print!("{}", dst_tests::random_formulas(100, 20));
}
