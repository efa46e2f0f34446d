//! Random systems, sizes, slots and budgets; hostile user code.

use std::cell::Cell;

use dst_core::{
    Crossing, Error, Euler, HeapMemory, Heun, Integrator, Mode, Plan, Reading, Rk4, Seeds, Status,
    System,
};
use dst_models::{Close, Poison, Poisoned};
use dst_tests::{RandomSystem, heap, until_done};
use proptest::prelude::*;

/// All random properties of a case except the integrator.
#[derive(Clone, Debug)]
struct Case {
    system: RandomSystem,
    theta: Vec<f64>,
    x0: Vec<f64>,
    epsilon: f64,
    slots: usize,
    records: bool,
    budgets: Vec<usize>,
    crossing: Crossing,
}

fn case() -> impl Strategy<Value = Case> {
    let sizes = (1_usize..=6, 1_usize..=4);
    sizes.prop_flat_map(|(d, p)| {
        let numbers = prop::collection::vec(-1.0..1.0_f64, 1..=d * d);
        let theta = prop::collection::vec(0.0..0.5_f64, p);
        let x0 = prop::collection::vec(0.2..1.5_f64, d);
        let crossing = prop::sample::select(Crossing::ALL.to_vec());
        let budgets = prop::collection::vec(1_usize..20, 1..5);
        (
            numbers,
            theta,
            x0,
            -6.0..-1.0_f64,
            1_usize..25,
            any::<bool>(),
            budgets,
            crossing,
        )
            .prop_map(
                move |(numbers, theta, x0, exponent, slots, records, budgets, crossing)| Case {
                    system: RandomSystem::new(d, p, &numbers),
                    theta,
                    x0,
                    epsilon: 10_f64.powf(exponent),
                    slots,
                    records,
                    budgets,
                    crossing,
                },
            )
    })
}

type Numbers = (usize, Vec<f64>, Vec<f64>);

/// Gradient of loss and time, split by the budgets of the case (or in one call).
fn gradient<I: Integrator<f64>, Y: System<f64>>(
    integrator: I,
    system: &Y,
    case: &Case,
    mode: Mode,
    cut: bool,
) -> Result<Numbers, Error> {
    let plan = Plan::new(integrator, case.epsilon).at_most(3000);
    let seeds = Seeds::stop(case.crossing) + Seeds::weighted(|_| Reading::loss(0.01));
    let mut memory = heap(&plan, system, case.slots, case.records);
    let mut budgets = case.budgets.iter().copied().cycle();
    let mut budget = || {
        if cut {
            budgets.next().unwrap_or(1)
        } else {
            usize::MAX
        }
    };
    let problem = plan.mode(mode).on(system, &case.theta, &case.x0)?;
    problem.start(&mut memory)?;
    while let Status::Running(_) = problem.advance(&mut memory, budget())? {}
    until_done(|| problem.differentiate(&mut memory, seeds, budget()))?;
    let g = problem.gradient(&memory)?;
    Ok((g.steps, g.theta.to_vec(), g.x0.to_vec()))
}

fn agreement<I: Integrator<f64>>(integrator: I, case: &Case) -> Result<(), TestCaseError> {
    let whole = match gradient(integrator, &case.system, case, Mode::Adjoint, false) {
        Ok(numbers) => numbers,
        Err(Error::StoppedAtStart | Error::FlatCrossing { .. }) => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    let cut = gradient(integrator, &case.system, case, Mode::Adjoint, true).unwrap();
    prop_assert_eq!(&whole, &cut, "cut by budgets");
    let many = Case {
        slots: whole.0 + 1,
        records: true,
        ..case.clone()
    };
    prop_assert_eq!(
        &whole,
        &gradient(integrator, &case.system, &many, Mode::Adjoint, false).unwrap(),
        "slots"
    );
    let tangent = gradient(integrator, &case.system, case, Mode::Tangent, true).unwrap();
    let size = whole
        .1
        .iter()
        .chain(&whole.2)
        .fold(0.0_f64, |m, v| m.max(v.abs()));
    let close = Close {
        rtol: 1e-12,
        atol: 1e-12 * size,
    };
    for (a, b) in [(&whole.1, &tangent.1), (&whole.2, &tangent.2)] {
        prop_assert!(
            close.check(a, b).is_ok(),
            "adjoint {:?}, tangent {:?}",
            a,
            b
        );
    }
    Ok(())
}

/// Multiplying J and ε by a power of two changes no bit of the gradient of the time.
fn scaling<I: Integrator<f64>>(
    integrator: I,
    case: &Case,
    exponent: i32,
) -> Result<(), TestCaseError> {
    let scale = 2_f64.powi(exponent);
    let time = |system: &RandomSystem, epsilon: f64| {
        let plan: Plan<f64, I> = Plan::new(integrator, epsilon)
            .crossing(case.crossing)
            .mode(Mode::Adjoint);
        let mut memory = HeapMemory::new(&plan, system, case.slots);
        let s = plan.sensitivity(system, &case.theta, &case.x0, &mut memory)?;
        Ok::<_, Error>((
            s.steps,
            s.time_gradient().to_vec(),
            s.time_gradient_x0().to_vec(),
        ))
    };
    let scaled = RandomSystem {
        scale,
        ..case.system.clone()
    };
    prop_assert_eq!(
        time(&case.system, case.epsilon),
        time(&scaled, case.epsilon * scale)
    );
    Ok(())
}

fn poison() -> impl Strategy<Value = Poison> {
    prop::sample::select(vec![
        Poison::Rate,
        Poison::Criterion,
        Poison::Loss,
        Poison::PullbackX,
        Poison::PullbackTheta,
        Poison::Pushforward,
        Poison::Tape,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn slots_budgets_and_modes_agree(case in case(), h in 0.02..0.2_f64, method in 0..3) {
        match method {
            0 => agreement(Euler::new(h), &case)?,
            1 => agreement(Heun::new(h), &case)?,
            _ => agreement(Rk4::new(h), &case)?,
        }
    }

    #[test]
    fn the_scale_of_the_criterion_does_not_matter(case in case(), h in 0.02..0.2_f64, exponent in -60..60) {
        scaling(Euler::new(h), &case, exponent)?;
        scaling(Rk4::new(h), &case, exponent)?;
    }

    /// User code with bad values gives a typed error, or a finite gradient if the bad value was never read.
    #[test]
    fn bad_values_never_panic_and_never_give_a_gradient(
        case in case(),
        h in 0.02..0.2_f64,
        poison in poison(),
        value in prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        after in 0_usize..120,
        mode in prop::sample::select(vec![Mode::Adjoint, Mode::Tangent]),
    ) {
        let inner = case.system.clone();
        let poisoned = Poisoned { inner, poison, value, after, calls: Cell::new(0) };
        let clean = gradient(Euler::new(h), &case.system, &case, mode, false);
        match gradient(Euler::new(h), &poisoned, &case, mode, true) {
            Ok((_, theta, x0)) => prop_assert!(
                theta.iter().chain(&x0).all(|v| v.is_finite()),
                "{:?} passed for a gradient: {:?} {:?}", poison, theta, x0
            ),
            Err(Error::NonFinite { .. } | Error::NonFiniteGradient { .. }) => {
                prop_assert!(poisoned.calls.get() > after, "an error without poison");
            }
            // −∞ in the criterion is below every ε, but not a stop; a flat crossing can hide a NaN on the tape.
            Err(error) => prop_assert!(
                matches!(error, Error::FlatCrossing { .. }) || clean == Err(error),
                "{:?} gave {}, clean {:?}", poison, error, clean
            ),
        }
    }
}
