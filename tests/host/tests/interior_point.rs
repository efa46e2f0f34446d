//! The reference solver itself: on planted solutions, on known answers, on infeasible programs.

use std::collections::BTreeMap;

use dst_tests::interior_point::{Verdict, decide};
use dst_tests::programs::{Kind, Precision, Program, program};

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

/// q was rounded, which moves the planted point by up to ε·‖P⁻¹‖·‖q‖.
#[test]
fn planted_solutions_are_found() {
    let mut found = 0;
    for seed in SEEDS {
        let program = program(seed, Precision::Double);
        let (Some(planted), Verdict::Solution(reference)) = (&program.planted, decide(&program))
        else {
            continue;
        };
        let pairs = planted.iter().zip(&reference.u);
        let error = pairs.fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(error < 1e-7, "seed {seed}: {error:.1e}");
        found += 1;
    }
    assert!(found > 1000);
}

/// min ½u² − 3u with rows on u.
fn line(rows: &[(f64, f64)], cap: f64, softness: f64) -> Program {
    Program {
        seed: 0,
        kind: Kind::Plain,
        hessian: vec![1.0],
        rows: vec![1.0; rows.len()],
        identity: 0,
        linear: vec![-3.0],
        lower: rows.iter().map(|r| r.0).collect(),
        upper: rows.iter().map(|r| r.1).collect(),
        caps: vec![cap; rows.len()],
        softness: vec![softness; rows.len()],
        planted: None,
    }
}

#[test]
fn known_answers() {
    let none = f64::INFINITY;
    // Hard; cap 1: u = 3 − 1; ρ = 1: u − 3 + (u − 1) = 0; both with c = 1/2: u = 3 − 1/2.
    for (cap, softness, u, lambda) in [
        (none, 0.0, 1.0, 2.0),
        (1.0, 0.0, 2.0, 1.0),
        (none, 1.0, 2.0, 1.0),
        (0.5, 1.0, 2.5, 0.5),
    ] {
        let Verdict::Solution(found) = decide(&line(&[(-none, 1.0)], cap, softness)) else {
            panic!("cap {cap} softness {softness}");
        };
        assert!((found.u[0] - u).abs() < 1e-12, "{found:?}");
        assert!((found.multipliers[0] - lambda).abs() < 1e-12, "{found:?}");
    }
    let contradiction = line(&[(-none, 0.0), (1.0, none)], none, 0.0);
    assert!(matches!(decide(&contradiction), Verdict::Infeasible { .. }));
}
