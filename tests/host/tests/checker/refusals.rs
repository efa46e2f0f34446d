//! Arguments that the checker refuses, and the errors for derivatives that are missing.

use dst_core::solve::check::CheckError;
use dst_core::system::Derived;
use dst_core::{Cost, Dims, Error, Euler, HeapMemory, Memory, Mode, Point, Reading, System};
use dst_models::{Decay, Opaque};

use super::check;

/// A rate and nothing else.
struct RateOnly(Cost);

impl System<f64> for RateOnly {
    fn dims(&self) -> Dims {
        Dims::new(1, 1)
    }
    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        _: &mut [f64],
        _: &mut [f64],
    ) -> Reading<f64> {
        rate[0] = at.theta[0] * at.x[0];
        Reading {
            criterion: at.x[0],
            loss: at.x[0],
        }
    }
    fn cost(&self) -> Cost {
        self.0
    }
}

const NEITHER: Cost = Cost {
    pullback: None,
    pushforward: None,
};
/// As the trait declares it.
const DECLARED: Cost = Cost {
    pullback: Some(2),
    pushforward: None,
};

#[test]
fn a_missing_pullback_is_named() {
    let plan = Euler::new(0.1).until(1e-2);
    let mut memory = HeapMemory::new(&plan, &RateOnly(DECLARED), 4);
    for cost in [NEITHER, DECLARED] {
        let wrong = plan.check(&RateOnly(cost), &[1.0], &[1.0], &mut memory);
        assert_eq!(wrong, Err(CheckError::Refused(Error::NoPullback)));
    }
    let text =
        "the system has no pullback: write `pullback`, or a pushforward and declare it in `cost`";
    assert_eq!(Error::NoPullback.to_string(), text);
    // Neither: the pullback is missing, not the pushforward.
    for mode in [Mode::Auto, Mode::Adjoint] {
        let plan = plan.mode(mode);
        let neither = plan.sensitivity(&RateOnly(NEITHER), &[1.0], &[1.0], &mut memory);
        assert_eq!(neither.err(), Some(Error::NoPullback), "{mode:?}");
    }
    let tangent = plan.mode(Mode::Tangent);
    let neither = tangent.sensitivity(&RateOnly(NEITHER), &[1.0], &[1.0], &mut memory);
    assert_eq!(neither.err(), Some(Error::NoPushforward));
    let text = "the system has no pushforward: write `pushforward` and declare it in `cost`, or use the adjoint";
    assert_eq!(Error::NoPushforward.to_string(), text);
    // Declared, but not written.
    let declared = plan.sensitivity(&RateOnly(DECLARED), &[1.0], &[1.0], &mut memory);
    let error = declared.unwrap_err();
    assert!(matches!(error, Error::NonFiniteGradient { .. }), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("if it has no `pullback`, write it"),
        "{error}"
    );
    // Only a pushforward is declared, and the adjoint is asked for.
    let only = Opaque(Cost {
        pullback: None,
        pushforward: Some(1),
    });
    let mut memory = Memory::<f64, 1, 0, 4>::new();
    let adjoint = plan.mode(Mode::Adjoint);
    let asked = adjoint.sensitivity(&only, &[], &[1.0], &mut memory);
    assert_eq!(asked.err(), Some(Error::NoPullback));
}

#[test]
fn arguments_are_checked_and_the_run_is_discarded() {
    let plan = Euler::new(0.1).until(1e-2);
    let decay = Derived::<_, 1, 1>::new(Decay);
    let refused = |outcome| matches!(outcome, Err(CheckError::Refused(_)));
    assert!(refused(check(plan, &decay, &[], &[1.0])));
    assert!(refused(check(plan, &decay, &[1.0], &[f64::NAN])));
    assert!(refused(check(
        Euler::new(-1.0).until(0.1),
        &decay,
        &[1.0],
        &[1.0]
    )));
    let mut small = Memory::<f64, 1, 1, 0, 6>::new();
    let error = plan.check(&decay, &[1.0], &[1.0], &mut small).unwrap_err();
    assert_eq!(error.to_string(), "workspace rows needs 7 entries, got 6");
    assert_eq!(error.mismatch(), None);
    // A rate that is not finite at x0 has no derivatives.
    let error = check(plan, &decay, &[f64::MAX], &[f64::MAX]).unwrap_err();
    assert_eq!(error, CheckError::Refused(Error::NonFinite { step: 0 }));
    let mut memory = Memory::<f64, 1, 1, 4>::new();
    let problem = plan.on(&decay, &[1.0], &[1.0]).unwrap();
    problem.start(&mut memory).unwrap();
    problem.complete(&mut memory).unwrap();
    assert!(problem.check(&mut memory).is_ok());
    assert_eq!(problem.iterate(&memory).err(), Some(Error::Order));
    assert!(
        plan.sensitivity(&decay, &[1.0], &[1.0], &mut memory)
            .is_ok()
    );
}
