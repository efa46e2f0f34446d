//! The program that `dst qp tune` writes for `tests/c/programs/boxes.json`, compiled and run: `boxes.rs` is that file, and a test of the
//! command (`dst-std/tests/cli/qp.rs`) keeps it current. `tests/c/own_program.c` is the same in C.

#[allow(unreachable_pub)] // as it is written for firmware
mod boxes;

use boxes::{BUDGET, CAPACITY, NUMBERS, PROGRAM, ROWS, VARIABLES, WORDS};
use dst_core::qp::{Bounds, Dense, DenseMemory, Status};

const P: [f64; 4] = [2.0, 0.5, 0.5, 1.0];
const A: [f64; 6] = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
const LOWER: [f64; 3] = [-1.0, -1.0, f64::NEG_INFINITY];
const UPPER: [f64; 3] = [1.0, 1.0, 1.5];
const Q: [[f64; 2]; 8] = [
    [0.0, 4.0],
    [2.87, 2.79],
    [4.0, -0.12],
    [2.7, -2.95],
    [-0.23, -3.99],
    [-3.03, -2.61],
    [-3.98, 0.35],
    [-2.53, 3.1],
];

#[test]
fn the_exported_program_has_the_solutions_of_the_program() {
    let mut constants = vec![0.0; Dense::<f64>::numbers(VARIABLES, ROWS)];
    let exact = Dense::prepare(&P, &A, &[], &[], 0.0, &mut constants).unwrap();
    let capacity = VARIABLES + 1;
    let mut numbers = vec![0.0; DenseMemory::<f64>::numbers(VARIABLES, ROWS, capacity)];
    let mut words = vec![0; DenseMemory::<f64>::words(capacity)];
    let mut answer = DenseMemory::new(VARIABLES, ROWS, capacity, &mut numbers, &mut words).unwrap();
    let (mut numbers, mut words) = ([0.0_f32; NUMBERS], [0_u16; WORDS]);
    let mut memory = DenseMemory::new(VARIABLES, ROWS, CAPACITY, &mut numbers, &mut words).unwrap();
    let single = |values: &[f64]| -> Vec<f32> { values.iter().map(|&v| v as f32).collect() };
    let (lower, upper) = (single(&LOWER), single(&UPPER));
    let mut most = 0;
    for cold in [true, false] {
        for q in &Q {
            if cold {
                memory.reset();
            }
            let bounds = Bounds {
                lower: &lower,
                upper: &upper,
            };
            let outcome = PROGRAM.solve(&mut memory, &single(q), bounds, BUDGET);
            let outcome = outcome.unwrap();
            assert_eq!(outcome.status, Status::Solved, "{q:?}");
            most = most.max(outcome.steps);
            let bounds = Bounds {
                lower: &LOWER,
                upper: &UPPER,
            };
            exact.solve(&mut answer, q, bounds, 100).unwrap();
            for (&u, exact) in memory.variables().iter().zip(answer.variables()) {
                assert!((f64::from(u) - exact).abs() < 1e-4, "{q:?}: {u} {exact}");
            }
        }
    }
    // The programs are not all solved without a step.
    assert!((1..=BUDGET).contains(&most), "{most}");
}
