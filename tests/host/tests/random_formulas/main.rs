//! A hundred random formulas through `formula!`: values as the same text over `f64` gives them, derivatives as differences do, by
//! dual numbers and by the trace.

// The text is random: it repeats itself, compares equal things and has idle brackets.
#![allow(unused_parens, unused_variables, clippy::all)]

use dst_core::system::Derived;
use dst_core::{Bar, Formula, Point, Seed, System, formula};

/// A and J over `f64`.
type Plain = fn(&[f64; 2], &[f64; 2], f64, f64) -> [f64; 3];

const CONSTANT: f64 = 0.8;
const THETA: [f64; 2] = [0.6, -0.7];
const X: [f64; 2] = [0.9, -0.4];
const T: f64 = 0.5;
/// Cotangents of A and J.
const SEED: [f64; 3] = [0.7, -0.3, 1.1];

/// One formula, through the macro and as a plain function of the same text.
macro_rules! case {
    ($theta:ident $x:ident $t:ident $k:ident; [$a:expr, $b:expr], $j:expr) => {
        check(
            formula!(with $k = CONSTANT; |$theta: 2, $x: 2, $t| [$a, $b], |$theta, $x, $t| $j),
            |$theta, $x, $t, $k| [$a, $b, $j],
        );
    };
}

#[rustfmt::skip]
mod cases;

fn check<F: Formula<2, 2> + Copy>(system: Derived<F, 2, 2>, plain: Plain) {
    let at = Point {
        theta: &THETA,
        x: &X,
        t: T,
    };
    let mut rate = [0.0; 2];
    let reading = system.rate(at, &mut rate, &mut [], &mut []);
    let expected = plain(&THETA, &X, T, CONSTANT);
    let found = [rate[0], rate[1], reading.criterion];
    for (f, e) in found.iter().zip(expected) {
        // The functions come from libm here and from the platform there.
        assert!(
            (f - e).abs() <= 1e-13 * (1.0 + e.abs()),
            "{found:?} {expected:?}"
        );
    }
    let traced = Derived::<F, 2, 2, 64, 500> {
        formula: system.formula,
    };
    let dual = pullback(&system, at);
    let reverse = pullback(&traced, at);
    for i in 0..4 {
        assert!(
            (dual[i] - reverse[i]).abs() <= 1e-12 * (1.0 + dual[i].abs()),
            "{dual:?} {reverse:?}"
        );
        let at = |h: f64| {
            let (mut theta, mut x) = (THETA, X);
            if i < 2 {
                theta[i] += h;
            } else {
                x[i - 2] += h;
            }
            plain(&theta, &x, T, CONSTANT)
                .iter()
                .zip(SEED)
                .map(|(v, s)| v * s)
                .sum::<f64>()
        };
        // Beside a kink one of the two differences is right.
        let h = 1e-6;
        let (up, down) = ((at(h) - at(0.0)) / h, (at(0.0) - at(-h)) / h);
        let error = (dual[i] - up).abs().min((dual[i] - down).abs());
        assert!(
            error <= 1e-3 * (1.0 + dual[i].abs()),
            "entry {i}: {}, differences {up} {down}",
            dual[i]
        );
    }
}

fn pullback(system: &impl System<f64>, at: Point<'_, f64>) -> [f64; 4] {
    let mut scratch = vec![0.0; system.dims().scratch];
    let (mut theta, mut x) = ([0.0; 2], [0.0; 2]);
    let seed = Seed {
        rate: &SEED[..2],
        criterion: SEED[2],
        loss: 0.0,
    };
    system.pullback(at, &[], seed, Bar::new(&mut theta, &mut x), &mut scratch);
    [theta[0], theta[1], x[0], x[1]]
}

#[test]
fn a_hundred_random_formulas() {
    cases::all();
}

#[test]
fn the_text_is_what_the_generator_writes() {
    let text = include_str!("cases.rs");
    assert_eq!(text, dst_tests::random_formulas(100, 20));
    assert_eq!(text.matches("case!(").count(), 100);
}
