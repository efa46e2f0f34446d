//! The checks of the firmware, on the host: they must hold here first.

use dst_models::checks::{Check, DOUBLE, SINGLE};

fn all() -> impl Iterator<Item = &'static Check> {
    SINGLE.iter().chain(DOUBLE)
}

#[test]
fn every_check_holds() {
    let mut failures = Vec::new();
    for check in all() {
        let outcome = check.run();
        println!("{} {} {outcome}", check.name, check.scalar);
        if let Some(what) = outcome.failure() {
            failures.push(format!("{} {}: {what}", check.name, check.scalar));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// The bits are compared between machines: they must depend on nothing but the check.
#[test]
fn a_check_repeats_its_bits() {
    for check in all() {
        assert_eq!(check.run(), check.run(), "{}", check.name);
        assert!(
            check.run().bits().count() > 1,
            "{} sees nothing",
            check.name
        );
    }
}
