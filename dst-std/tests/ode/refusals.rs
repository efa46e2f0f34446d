//! Problems without an event or a gradient, and senseless ones, end in an error that says which.

use super::*;

#[test]
fn what_has_no_answer_says_so() {
    let decay = Derived::<_, 1, 1>::new(Decay);
    let ask = |theta: &[f64], x0: &[f64], t0: f64, epsilon: f64, options: &Options| {
        event_gradient(&decay, theta, x0, t0, epsilon, options)
            .map(|_| ())
            .unwrap_err()
    };
    let fine = Options::default();
    let length = |argument, needed, given| {
        OdeError::Refused(Error::Length {
            argument,
            needed,
            given,
        })
    };
    let invalid = |argument| OdeError::Refused(Error::Invalid(argument));
    assert_eq!(
        ask(&[], &[1.0], 0.0, 0.5, &fine),
        length(Argument::Theta, 1, 0)
    );
    assert_eq!(
        ask(&[1.0], &[1.0, 2.0], 0.0, 0.5, &fine),
        length(Argument::X0, 1, 2)
    );
    assert_eq!(
        ask(&[f64::NAN], &[1.0], 0.0, 0.5, &fine),
        invalid(Argument::Theta)
    );
    assert_eq!(
        ask(&[1.0], &[f64::INFINITY], 0.0, 0.5, &fine),
        invalid(Argument::X0)
    );
    assert_eq!(
        ask(&[1.0], &[1.0], f64::NAN, 0.5, &fine),
        invalid(Argument::StartTime)
    );
    assert_eq!(
        ask(&[1.0], &[1.0], 0.0, f64::NAN, &fine),
        invalid(Argument::Epsilon)
    );
    assert_eq!(
        ask(&[1.0], &[1.0], 0.0, 1.0, &fine),
        OdeError::AtStart { criterion: 1.0 }
    );
    for (rtol, atol) in [
        (-1.0, 1e-9),
        (f64::NAN, 1e-9),
        (1e-7, 0.0),
        (1e-7, f64::INFINITY),
    ] {
        assert_eq!(
            ask(&[1.0], &[1.0], 0.0, 0.5, &Options { rtol, atol, ..fine }),
            OdeError::Tolerance
        );
    }
    for first in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let first_step = Some(first);
        assert_eq!(
            ask(&[1.0], &[1.0], 0.0, 0.5, &Options { first_step, ..fine }),
            OdeError::FirstStep
        );
    }
    let no_slots = Options { slots: 0, ..fine };
    assert_eq!(
        ask(&[1.0], &[1.0], 0.0, 0.5, &no_slots),
        OdeError::Refused(Error::NoSlots)
    );
    // Too few steps; a level that is never reached; a flow that runs away; one that stands still.
    for (theta, epsilon, max_steps) in [
        (1.0, 1e-3, 5),
        (1.0, -1.0, 3000),
        (-1.0, 0.5, 300),
        (0.0, 0.5, 1000),
    ] {
        let error = ask(
            &[theta],
            &[1.0],
            0.0,
            epsilon,
            &Options { max_steps, ..fine },
        );
        let known = matches!(error, OdeError::NotReached { steps, time, .. } if steps <= max_steps && time > 0.0)
            || matches!(error, OdeError::StepTooSmall { .. });
        assert!(known, "θ = {theta}, ε = {epsilon}: {error:?}");
    }
    // x′ = x² is infinite at t = 1.
    let blow_up = formula!(|_theta: 0, x: 1, _t| [-x[0] * x[0]], |x| x[0]);
    let error = event_time(&blow_up, &[], &[1.0], 0.0, 0.5, &fine).unwrap_err();
    assert!(
        matches!(error, OdeError::StepTooSmall { time } if (time - 1.0).abs() < 1e-6),
        "{error:?}"
    );
    let nothing = formula!(|_theta: 0, _x: 0, _t| [], |_x| Number::literal(1.0));
    assert_eq!(
        event_time(&nothing, &[], &[], 0.0, 0.5, &fine).unwrap_err(),
        OdeError::Empty
    );
    let undefined = formula!(|_theta: 0, x: 1, _t| [x[0].sqrt()], |x| x[0] * -1.0 + 1.0);
    assert_eq!(
        event_time(&undefined, &[], &[-1.0], 0.0, 0.5, &fine).unwrap_err(),
        OdeError::NonFiniteStart
    );
    for error in [
        OdeError::Tolerance,
        error,
        OdeError::Empty,
        OdeError::AtStart { criterion: 1.0 },
    ] {
        let text = error.to_string();
        assert!(text.len() > 20 && !text.ends_with('.'), "{text}");
    }
}

/// x′ = −x, and J jumps from 1 to `low` at x = 0.5: an event without a derivative.
struct Jump {
    low: f64,
}

impl System<f64> for Jump {
    fn dims(&self) -> Dims {
        Dims::new(1, 0)
    }
    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        _: &mut [f64],
        _: &mut [f64],
    ) -> Reading<f64> {
        rate.copy_from_slice(at.x);
        let criterion = if at.x[0] > 0.5 { 1.0 } else { self.low };
        Reading {
            criterion,
            loss: criterion,
        }
    }
    fn pullback(
        &self,
        _: Point<'_, f64>,
        _: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        _: &mut [f64],
    ) {
        bar.x[0] += seed.rate[0];
    }
}

#[test]
fn a_jump_is_located_but_has_no_gradient() {
    for (low, epsilon) in [
        (0.0, 0.5),
        (0.1, 0.5),
        (-3.0, 0.5),
        (-1.0, 0.0),
        (-1.0, -0.5),
    ] {
        let jump = Jump { low };
        let event = event_time(&jump, &[], &[1.0], 0.0, epsilon, &TIGHT).unwrap();
        // The event has happened: J is the lower of the two.
        assert_eq!(event.criterion, low);
        let off = event.time - 2f64.ln();
        assert!(off.abs() < 1e-11, "{low} {epsilon}: {off:e}");
        assert_eq!(
            event_gradient(&jump, &[], &[1.0], 0.0, epsilon, &TIGHT).unwrap_err(),
            OdeError::FlatCrossing { time: event.time }
        );
    }
}

#[test]
fn hostile_systems_end_in_typed_errors() {
    for poison in [
        Poison::Rate,
        Poison::Criterion,
        Poison::PullbackX,
        Poison::PullbackTheta,
    ] {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for after in [0, 1, 7, 20, 60] {
                let system = Poisoned {
                    inner: Derived::<_, 1, 1>::new(Decay),
                    poison,
                    value,
                    after,
                    calls: std::cell::Cell::new(0),
                };
                let options = with_tolerance(1e-6);
                let outcome = event_gradient(&system, &[1.0], &[1.0], 0.0, 1e-3, &options);
                match outcome {
                    Ok(found) => assert!(
                        found.event.time.is_finite()
                            && found.theta[0].is_finite()
                            && found.x0[0].is_finite()
                    ),
                    Err(error) => assert!(!matches!(error, OdeError::Refused(_)), "{error:?}"),
                }
            }
        }
    }
}

#[test]
fn a_system_that_cannot_be_pulled_back_is_refused() {
    struct Forward;
    impl System<f64> for Forward {
        fn dims(&self) -> Dims {
            Dims::new(1, 0)
        }
        fn rate(
            &self,
            at: Point<'_, f64>,
            rate: &mut [f64],
            _: &mut [f64],
            _: &mut [f64],
        ) -> Reading<f64> {
            rate.copy_from_slice(at.x);
            Reading {
                criterion: at.x[0],
                loss: 0.0,
            }
        }
        fn cost(&self) -> Cost {
            Cost {
                pullback: None,
                pushforward: None,
            }
        }
    }
    let fine = Options::default();
    let event = event_time(&Forward, &[], &[1.0], 0.0, 0.5, &fine).unwrap();
    assert!((event.time - 2f64.ln()).abs() < 1e-6);
    let error = event_gradient(&Forward, &[], &[1.0], 0.0, 0.5, &fine).unwrap_err();
    assert_eq!(error, OdeError::Refused(Error::NoPullback));
}
