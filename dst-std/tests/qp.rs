//! The two families of a public MPC benchmark, which are not part of the repository: every instance is solved.
//!
//! The files are searched in `DST_QP_DATA` and in the folder of shared data beside the repository. Without them nothing is tested, and a
//! line says so.

use std::path::{Path, PathBuf};

use dst_std::qp::{KktResiduals, ParametricProgram, Prepared, Start};

fn family(name: &str) -> Option<ParametricProgram> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/qp");
    let folder = std::env::var_os("DST_QP_DATA").map_or(beside, PathBuf::from);
    let file = folder.join(format!("{name}.npz"));
    if !file.is_file() {
        eprintln!("not tested: {} is missing; set DST_QP_DATA", file.display());
        return None;
    }
    Some(ParametricProgram::read(&file).unwrap())
}

/// All instances, cold and warm, in `f64` by the conditions of optimality. In `f32` the error is bounded by the condition of P: rounding
/// its constants alone changes the solution by condition · 2⁻²⁴.
fn check(name: &str, sizes: (usize, usize, usize), condition: f64) {
    let Some(program) = family(name) else {
        return;
    };
    assert_eq!((program.variables, program.rows, program.len()), sizes);
    let prepared = Prepared::new(&program, 0.0).unwrap();
    let small = prepared.cast::<f32>(0.0).unwrap();
    let (all, capacity): (Vec<usize>, usize) =
        ((0..program.len()).collect(), prepared.full_capacity());
    for start in [Start::Cold, Start::Warm] {
        let solves = prepared
            .solve_all(&program, &all, start, capacity, 1000)
            .unwrap();
        let rounded = small
            .solve_all(&program, &all, start, capacity, 1000)
            .unwrap();
        for (i, (found, single)) in solves.iter().zip(&rounded).enumerate() {
            assert!(found.status.is_solved(), "{name} {i}: {:?}", found.status);
            let residuals = KktResiduals::of(&program, i, &found.variables, &found.multipliers);
            assert!(residuals.largest() < 1e-10, "{name} {i}: {residuals:?}");
            assert!(single.status.is_solved(), "{name} {i}: {:?}", single.status);
            let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
            let pairs = found.variables.iter().zip(&single.variables);
            let apart = norm(&mut pairs.map(|(a, b)| a - b));
            let size = 1.0 + norm(&mut found.variables.iter().copied());
            let resolved = 4.0 * condition * f64::from(f32::EPSILON);
            assert!(apart / size < resolved, "{name} {i}: {}", apart / size);
        }
    }
}

#[test]
fn a_walking_robot() {
    check("lipmwalk", (16, 32, 29), 320.0);
}

#[test]
fn a_balancing_robot() {
    check("whlipbal", (50, 100, 30), 8.1e4);
}
