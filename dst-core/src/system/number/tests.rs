//! Every function in every arithmetic: values, first derivatives by dual numbers and by the trace, second derivatives by both.

use std::vec::Vec;

use super::*;

use crate::system::trace::{Trace, Traced};

type Plain = Number<Dual<f64, 0>>;

/// A function in each arithmetic that the library uses.
trait OneVariable {
    fn at<A: Arithmetic<Scalar = f64>>(&self, x: Number<A>) -> Number<A>;
}

/// f and its derivative along dx, by a trace over `V`.
fn traced<V: Recorded<Scalar = f64>>(f: &impl OneVariable, x: V) -> (V, V) {
    let mut cells = std::vec![0.0; 64 * V::RECORD];
    let trace = Trace::<V>::new(&mut cells);
    let y = f.at(Number(trace.input(x, 0))).0;
    let mut adjoints: Vec<f64> = std::vec![0.0; (trace.capacity() + 1) * V::ADJOINT];
    trace.seed(&mut adjoints, y, V::constant(1.0));
    trace.sweep(&mut adjoints);
    let slope = V::read(&adjoints[trace.capacity() * V::ADJOINT..]);
    assert!(trace.len() <= trace.capacity());
    (Traced::inner(y), slope)
}

fn check(name: &str, f: &impl OneVariable, points: &[f64]) {
    for &x in points {
        let value = |x: f64| f.at(Plain::plain(x)).value();
        let dual = f.at(Number(Dual::<f64, 1>::variable(x, 0))).0;
        let h = 1e-6 * (1.0 + x.abs());
        let estimate = (value(x + h) - value(x - h)) / (2.0 * h);
        let close = |what: &str, found: f64, expected: f64, tolerance: f64| {
            assert!(
                (found - expected).abs() <= tolerance * (1.0 + expected.abs()),
                "{name}({x}), {what}: {found}, expected {expected}"
            );
        };
        close("value with slopes", dual.value, value(x), 0.0);
        close("slope and difference", dual.slope[0], estimate, 1e-7);
        let (y, slope) = traced(f, Dual::<f64, 0>::constant(x));
        close("traced value", y.value, value(x), 0.0);
        close("traced slope", slope.value, dual.slope[0], 1e-13);
        let (y, slope) = traced(f, Dual::<f64, 1>::variable(x, 0));
        close("traced value with slopes", y.value, value(x), 0.0);
        close("forward slope in a trace", y.slope[0], dual.slope[0], 1e-13);
        close("traced slope over dual", slope.value, dual.slope[0], 1e-13);
        let derivative = |x: f64| f.at(Number(Dual::<f64, 1>::variable(x, 0))).0.slope[0];
        let second = (derivative(x + h) - derivative(x - h)) / (2.0 * h);
        close("second derivative", slope.slope[0], second, 1e-6);
    }
}

/// Checks each expression as a function of one variable.
macro_rules! check_all {
    ($points:expr; $(|$x:ident| $body:expr;)*) => {$({
        struct Case;
        impl OneVariable for Case {
            fn at<A: Arithmetic<Scalar = f64>>(&self, $x: Number<A>) -> Number<A> {
                $body
            }
        }
        check(stringify!($body), &Case, &$points);
    })*};
}

#[test]
fn every_function_in_every_arithmetic() {
    check_all! { [-1.3, -0.2, 0.4, 1.7];
        |x| (2.0 * x - 1.0) / (x * x + 3.0) - x / 2.0 + 1.0 / (x + 9.0);
        |x| x.abs() * x.signum() + x.abs();
        |x| x.max(0.3).min(x * x);
        |x| x.clamp(-1.0, 1.0) + (x * x).clamp(x, 2.0);
        |x| x.powi(-3) + x.powi(-1) + x.powi(0) + x.powi(1) + x.powi(2) + x.powi(5);
        |x| x.square().mul_add(2.0, x);
        |x| x.exp() + x.exp2() * x.exp_m1();
        |x| x.sin() * x.cos() + x.tan() - x.atan();
        |x| x.sinh() - x.cosh() * x.tanh() + x.asinh();
        |x| x.sigmoid() * x.softplus();
        |x| x.cbrt();
        |x| x.atan2(x * x + 0.5) + (x + 3.0).atan2(x) + x.atan2(2.0);
        |x| x.hypot(x * 2.0 + 1.0) + x.hypot(3.0);
        |x| (x * 0.4).asin() + (x * 0.4).acos() + (x * 0.4).atanh();
        |x| x.rem_euclid(6.5) + x.floor() + x.ceil() * x.round();
        |x| { let (sin, cos) = x.sin_cos(); sin * cos };
        |x| [x, x * x, x.exp()].iter().sum::<Number<A>>() * [x, x + 1.0].into_iter().product::<Number<A>>();
    }
    check_all! { [0.3, 1.1, 2.5];
        |x| x.recip() + x.sqrt() + x.ln() * x.log2() - x.log10() + x.ln_1p();
        |x| x.powf(1.7) * x.powf(-0.5);
        |x| x.pow(x) + x.pow(1.3) + Number::literal(2.0).pow(x);
        |x| (x + 1.5).acosh();
        |x| { let mut y = x; y += 1.0; y *= x; y -= 0.5; y /= 2.0; y += x; y *= 3.0; y -= x; y /= x; y };
    }
}

/// A constant does not need a derivative where it has none: ln(−1) in the exponent's slope, √0 in a branch that is not taken.
#[test]
fn constants_have_no_derivative() {
    let x = Number(Dual::<f64, 1>::variable(-1.0, 0));
    assert_eq!(x.pow(2.0).dual().slope, [-2.0]);
    let zero = Number(Dual::<f64, 1>::variable(0.0, 0));
    assert_eq!(zero.hypot(1.0).dual().slope, [0.0]);
    assert_eq!(x.signum().dual().slope, [0.0]);
}

#[test]
fn comparison_and_assignment() {
    let mut x = Number(Dual::<f32, 2>::variable(2.0, 1));
    x *= 3.0;
    x -= Number(Dual::variable(1.0, 0));
    assert_eq!((x.value(), x.dual().slope), (5.0, [-1.0, 3.0]));
    assert!(x > 4.0 && x == 5.0 && x < Number::from(6.0_f32) && x > Number::from(4.0));
    assert_eq!(
        Number::<Dual<f64, 1>>::from(Dual::variable(0.0, 0))
            .powi(1)
            .dual()
            .slope,
        [1.0]
    );
    assert_eq!(Plain::plain(0.0).signum().value(), 0.0);
    assert!(Plain::plain(f64::NAN).signum().value().is_nan());
}
