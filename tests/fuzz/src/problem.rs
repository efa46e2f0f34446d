//! Families of quadratic programs, as JSON or as an archive of numpy. A program is prepared and solved in both precisions.

use dst_core::Scalar;
use dst_core::qp::Status;
use dst_std::qp::{ParametricProgram, Prepared, Start};

/// Steps per solve: more than these small programs need.
const BUDGET: usize = 1000;

pub(crate) fn run(bytes: &[u8]) {
    let read = match bytes.split_first() {
        Some((b'P', _)) => ParametricProgram::from_npz(bytes),
        Some(_) => ParametricProgram::from_json(bytes),
        None => return,
    };
    let Ok(program) = read else {
        return;
    };
    if program.variables > 16 || program.rows > 32 || program.len() > 8 {
        return;
    }
    let Ok(prepared) = Prepared::new(&program, 0.0) else {
        return;
    };
    let all: Vec<usize> = (0..program.len()).collect();
    solve(&prepared, &program, &all);
    if let Some(single) = prepared.cast::<f32>(0.0) {
        solve(&single, &program, &all);
    }
}

/// Solves all instances, cold and warm. A solution is finite, and no solve takes more steps than it is allowed.
fn solve<S: Scalar>(prepared: &Prepared<S>, program: &ParametricProgram, all: &[usize]) {
    let capacity = prepared.full_capacity();
    for start in [Start::Cold, Start::Warm] {
        // Numbers that overflow in single precision are refused.
        let Ok(solved) = prepared.solve_all(program, all, start, capacity, BUDGET) else {
            continue;
        };
        for solved in solved {
            assert!(solved.steps <= BUDGET);
            let numbers = solved.variables.iter().chain(&solved.multipliers);
            let finite = numbers.copied().all(f64::is_finite);
            assert!(finite || solved.status != Status::Solved, "{solved:?}");
        }
    }
}
