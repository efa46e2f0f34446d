//! Programs of single seeds that a solver has failed on before, with the cause.

use dst_core::Scalar;
use dst_core::qp::Status;
use dst_tests::programs::{Precision, program};

use super::adapter::{Data, Prepared};

fn status<S: Scalar>(seed: u64, precision: Precision) -> Status {
    let program = program(seed, precision);
    let answer = Prepared::<S>::new(&program).solve(&Data::of(&program));
    answer.outcome.status
}

/// Entries of a null direction that are rounding let the multipliers grow to 1e12 before it is found that nothing blocks the way.
/// λᵀ(s⁰ − b) is then no distance.
#[test]
fn multipliers_that_grow_along_a_null_direction_hide_no_contradiction() {
    for seed in [144_349, 81_316, 126_185, 37_021] {
        let status = status::<f32>(seed, Precision::Single);
        assert_eq!(status, Status::Infeasible, "seed {seed}");
    }
}

/// With as many rows in the set as variables, the next row depends on them. A null direction that is corrected only once leaves a
/// pivot that looks positive, and multipliers of 1e24.
#[test]
fn a_null_direction_is_corrected_until_it_settles() {
    let status = status::<f64>(23_892, Precision::Double);
    assert_eq!(status, Status::Infeasible);
}
