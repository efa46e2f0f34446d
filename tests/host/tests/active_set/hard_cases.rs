//! Programs of single seeds that the solver has failed on before, with the cause.

use dst_core::Scalar;
use dst_core::qp::Status;
use dst_tests::interior_point::{Verdict, decide};
use dst_tests::programs::{Precision, program};

use super::adapter::{Data, Prepared, distance};

/// Status of a program, and the error of its solution.
fn solve<S: Scalar>(seed: u64, precision: Precision) -> (Status, f64) {
    let program = program(seed, precision);
    let answer = Prepared::<S>::new(&program).solve(&Data::of(&program));
    let error = match decide(&program) {
        Verdict::Solution(exact) => distance(&answer.u, &exact.u),
        _ => f64::NAN,
    };
    (answer.outcome.status, error)
}

fn is_infeasible<S: Scalar>(seed: u64, precision: Precision) {
    let (status, _) = solve::<S>(seed, precision);
    assert_eq!(status, Status::Infeasible, "seed {seed}");
}

fn is_solved<S: Scalar>(seed: u64, precision: Precision, accuracy: f64) {
    let (status, error) = solve::<S>(seed, precision);
    assert_eq!(status, Status::Solved, "seed {seed}");
    assert!(error <= accuracy, "seed {seed}: {error:.1e}");
}

/// Entries of a null direction that are rounding let the multipliers grow to 1e12 before it is found that nothing blocks the way.
/// λᵀ(s⁰ − b) is then no distance.
#[test]
fn multipliers_that_grow_along_a_null_direction_hide_no_contradiction() {
    for seed in [144_349, 81_316, 126_185, 37_021] {
        is_infeasible::<f32>(seed, Precision::Single);
    }
}

/// With as many rows in the set as variables, the next row depends on them. A null direction that is corrected only once leaves a
/// pivot that looks positive, and multipliers of 1e24.
#[test]
fn a_null_direction_is_corrected_until_it_settles() {
    is_infeasible::<f64>(23_892, Precision::Double);
}

/// The rows of the set are nearly dependent, so that the rounding of s⁰ − Wλ hides a violation of 5 %.
#[test]
fn a_violation_that_only_the_rows_of_u_show_is_found() {
    is_infeasible::<f32>(69_781, Precision::Single);
    is_solved::<f32>(1_270, Precision::Single, 1e-4);
}

/// A violation of 1e-6 moves the solution by 1e-3, because the row is nearly dependent on those of the set.
#[test]
fn a_small_violation_of_a_nearly_dependent_row_counts() {
    for seed in [123_395, 124_573, 19_886, 22_355] {
        is_solved::<f32>(seed, Precision::Single, 1e-4);
    }
}

/// s⁰ − Wλ shows a row beyond its bound; with this row in the set, u shows that its multiplier has the wrong sign.
#[test]
fn a_row_that_was_taken_out_because_of_u_stays_out() {
    is_solved::<f32>(80_276, Precision::Single, 1e-4);
}

/// The new row depends on the set, nothing blocks the null direction, and the violation is rounding: the set is the solution.
#[test]
fn a_violation_by_rounding_of_a_dependent_row_is_no_contradiction() {
    is_solved::<f32>(1_034_416, Precision::Single, 1e-4);
    is_solved::<f64>(1_082_464, Precision::Single, 1e-9);
}

/// The most violated rows lead to a set whose factor has no correct digit in f32.
#[test]
fn a_search_that_is_stuck_takes_another_path() {
    is_infeasible::<f32>(1_031_113, Precision::Single);
}

/// A multiplier is at its cap, and its row at its bound.
#[test]
fn a_saturated_row_at_its_bound_is_not_softened() {
    for seed in [1_010_869, 1_111_427] {
        is_solved::<f32>(seed, Precision::Single, 1e-4);
        is_solved::<f64>(seed, Precision::Single, 1e-9);
    }
}
