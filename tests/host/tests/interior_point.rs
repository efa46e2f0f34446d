//! The reference solver itself: on planted solutions, on known answers, on infeasible programs.

use std::collections::BTreeMap;

use dst_tests::interior_point::{Verdict, decide};
use dst_tests::programs::{Kind, Precision, program};

/// Seeds of this file, apart from those of the active set.
const SEEDS: std::ops::Range<u64> = 1_000_000..1_003_000;

#[test]
fn every_program_gets_a_certificate() {
    let mut table: BTreeMap<Kind, [usize; 3]> = BTreeMap::new();
    let mut undecided = Vec::new();
    for seed in SEEDS {
        let precision = [Precision::Single, Precision::Double][(seed % 2) as usize];
        let program = program(seed, precision);
        let counts = table.entry(program.kind).or_default();
        match decide(&program) {
            Verdict::Solution(_) => counts[0] += 1,
            Verdict::Infeasible { .. } => counts[1] += 1,
            Verdict::Undecided => {
                counts[2] += 1;
                undecided.push((seed, program.kind, program.variables(), program.count()));
            }
        }
    }
    for (kind, counts) in &table {
        println!("{kind:?}: {counts:?}");
    }
    println!("{undecided:?}");
    assert!(undecided.is_empty());
}
