//! A flow that grazes the level set has no stopping time to differentiate: `Slope` and `Hermite` reject it, in both modes.
//! Unknown quantities never cause a rejection.

use dst_core::{
    Crossing, Error, Euler, HeapMemory, Heun, Integrator, Map, Mode, Plan, Rk4, Scalar,
    SymplecticEuler, System, formula,
};

const MODES: [Mode; 2] = [Mode::Adjoint, Mode::Tangent];
const SLOPES: [Crossing; 2] = [Crossing::Slope, Crossing::Hermite];

/// Transversality of a gradient, or the reason why there is none.
fn attempt<S: Scalar, I: Integrator<S>>(
    plan: Plan<S, I>,
    system: &impl System<S>,
    theta: &[S],
    x0: &[S],
) -> Result<S, Error> {
    let mut memory = HeapMemory::new(&plan, system, 3);
    let s = plan.sensitivity(system, theta, x0, &mut memory)?;
    Ok(s.stop.condition.transversality)
}

/// An undamped oscillator moves along the level sets of its energy, dJ/dt = 2(vq − qv) = 0, while with the symplectic method the
/// energy oscillates with an amplitude of order h.
#[test]
fn a_flow_along_the_level_set() {
    let spring = formula!(
        |theta: 1, x: 2, _t| [-x[1], x[0] + theta[0] * x[1]],
        |x| x[0] * x[0] + x[1] * x[1],
    );
    let (x0, epsilon) = ([1.0, 0.0], 0.93);
    let plan = SymplecticEuler::new(0.2).until(epsilon);
    for crossing in SLOPES {
        for mode in MODES {
            let plan = plan.crossing(crossing).mode(mode);
            for damping in [0.0, 1e-18, 1e-17] {
                let found = attempt(plan, &spring, &[damping], &x0);
                assert!(
                    matches!(found, Err(Error::FlatCrossing { .. })),
                    "{crossing:?}, {mode:?}, damping {damping}: {found:?}"
                );
            }
            // With damping the energy does fall.
            for damping in [1e-8, 1e-4, 0.1] {
                let found = attempt(plan, &spring, &[damping], &x0);
                assert!(
                    found.is_ok(),
                    "{crossing:?}, {mode:?}, {damping}: {found:?}"
                );
            }
        }
    }
    // These two divide by the decrease of J over the step, which is not zero.
    for crossing in [Crossing::Paper, Crossing::Interpolated] {
        for mode in MODES {
            let plan = plan.crossing(crossing).mode(mode);
            let found = attempt(plan, &spring, &[0.0], &x0).unwrap();
            assert_eq!(
                found.is_nan(),
                mode == Mode::Tangent,
                "{crossing:?}, {mode:?}"
            );
            assert!(mode == Mode::Tangent || found < 1e-15, "{found}");
        }
    }
}

/// J has its minimum at x_N: the flow touches the level set there and turns back.
#[test]
fn a_flow_that_touches_and_turns() {
    // x falls by one per unit of time; J = (x − θ)² is least at x = θ.
    let touch = formula!(|theta: 1, x: 1, _t| [x[0] * 0.0 + 1.0], |theta, x, _t| (x[0] - theta[0]).square());
    fn check<I: Integrator<f64>>(integrator: I, system: &impl System<f64>, x0: f64) {
        for crossing in SLOPES {
            for mode in MODES {
                let plan = Plan::new(integrator, 0.0).crossing(crossing).mode(mode);
                let found = attempt(plan, system, &[0.25], &[x0]);
                assert_eq!(
                    found,
                    Err(Error::FlatCrossing { step: 3 }),
                    "{crossing:?}, {mode:?}"
                );
            }
        }
    }
    check(Euler::new(0.25), &touch, 1.0);
    check(Heun::new(0.25), &touch, 1.0);
    let steps =
        formula!(|theta: 1, x: 1, _t| [x[0] - 0.25], |theta, x, _t| (x[0] - theta[0]).square());
    check(Map, &steps, 1.0);
    // J rises at x_N although it fell over the step.
    let bounce = formula!(|theta: 1, x: 1, _t| [x[0] * 0.0 + 1.0], |x| x[0] * x[0]);
    for mode in MODES {
        let plan = Euler::new(1.0).until(0.05).mode(mode);
        let found = attempt(plan.crossing(Crossing::Slope), &bounce, &[1.0], &[0.8]);
        assert_eq!(found, Err(Error::FlatCrossing { step: 1 }), "{mode:?}");
    }
}

/// A target that moves with the state: ∂J/∂t is one of the terms that may cancel at x_N.
#[test]
fn a_target_that_moves_along() {
    // x₁ falls as fast as r(t) = −t does, so that J = 3000 + x₂, and dJ/dt = 1000 − 1000 − θx₂.
    let chase = formula!(
        |theta: 1, x: 2, _t| [x[0] * 0.0 + 1.0, theta[0] * x[1]],
        |theta, x, t| (x[0] + t) * 1.0e3 + x[1],
    );
    for crossing in SLOPES {
        for mode in MODES {
            let plan = Heun::new(0.125).until(3.5e3).crossing(crossing).mode(mode);
            let found = attempt(plan, &chase, &[1.0], &[3.0, 1e3]).unwrap();
            if mode == Mode::Adjoint {
                assert!((found - 0.2).abs() < 0.02, "{crossing:?}: {found}");
            } else {
                assert!(found.is_nan(), "{crossing:?}: {found}");
            }
        }
    }
}

/// Tangents never form ∇J: their transversality is NaN, which alone is no reason to reject a crossing.
#[test]
fn unknown_transversality_is_accepted() {
    fn check<S: Scalar>() {
        let decay = formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0]);
        for crossing in Crossing::ALL {
            let plan = Rk4::new(S::from_f64(0.1)).until(S::HALF).crossing(crossing);
            let tangent = attempt(plan.mode(Mode::Tangent), &decay, &[S::ONE], &[S::ONE]);
            assert!(tangent.unwrap().is_nan(), "{crossing:?}");
            let adjoint = attempt(plan.mode(Mode::Adjoint), &decay, &[S::ONE], &[S::ONE]);
            assert!(adjoint.unwrap() == S::ONE, "{crossing:?}");
        }
    }
    check::<f32>();
    check::<f64>();
}

/// If the decrease of J overflows, it has no reciprocal.
#[test]
fn a_fall_that_overflows() {
    fn check<S: Scalar>() {
        // From 0.8 times the largest number to its negative.
        let large = S::MAX * S::from_f64(0.8);
        let dive =
            formula!(|theta: 1, x: 1, _t| [x[0] * 0.0 + 2.0], |theta, x, _t| x[0] * theta[0]);
        for crossing in Crossing::ALL {
            for mode in MODES {
                let plan = Euler::new(S::ONE)
                    .until(S::ZERO)
                    .crossing(crossing)
                    .mode(mode);
                let found = attempt(plan, &dive, &[large], &[S::ONE]).map(|_| ());
                assert_eq!(
                    found,
                    Err(Error::NonFinite { step: 1 }),
                    "{crossing:?}, {mode:?}"
                );
                // A tenth of it does not overflow.
                let small = large * S::from_f64(0.1);
                let found = attempt(plan, &dive, &[small], &[S::ONE]).map(|_| ());
                assert_eq!(found, Ok(()), "{crossing:?}, {mode:?}");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}
