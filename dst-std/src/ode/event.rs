//! The location of the event: the point of the crossing step at which J meets ε.
//!
//! The unknown is the length s of the step itself: J after *a step of length s from x_k* equals ε. The dense
//! output gives a first guess at one evaluation a probe, but only with its own order 4; repeating the step with length s costs six,
//! gives x(T) with the full order 5, and makes T the end of an ordinary step, which the gradient needs.
//!
//! Both searches are secants kept inside a bracket. They work on ln(J/ε) where ε > 0: criteria tend to fall
//! exponentially, and the logarithm of that is a straight line.

use dst_core::System;

use super::solver::Accepted;
use super::step::{INNER, Step};

/// J counts as equal to ε within this relative distance.
const CLOSE: f64 = 1e-14;

/// True if J equals ε, to rounding.
fn is_close(j: f64, epsilon: f64) -> bool {
    (j - epsilon).abs() <= CLOSE * epsilon.abs()
}

/// True if J has fallen to ε. A value above it by rounding counts, or another step of no length would follow.
pub(super) fn is_reached(j: f64, epsilon: f64) -> bool {
    j <= epsilon || is_close(j, epsilon)
}
/// A crossing is this near to ε, measured by the fall of J over the step; a jump is not.
const NEAR: f64 = 1e-6;
/// The first guess need not be better than the dense output is.
const ROUGH: f64 = 1e-7;
/// Probes of the dense output, secants and halvings of the repeated step: far above what is ever used.
const MOST_PROBES: usize = 12;
const MOST_SECANTS: usize = 12;
const MOST_REPEATS: usize = 100;

/// The length found, and what it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located {
    pub(super) length: f64,
    /// J after that step.
    pub(super) criterion: f64,
    pub(super) probes: usize,
    pub(super) repeats: usize,
}

/// A length tried, and how far J was above ε there.
#[derive(Clone, Copy, Debug)]
struct Trial {
    s: f64,
    above: f64,
}

/// The two lengths between which the root lies, and the slope by which the next guess is made.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    low: Trial,
    high: Trial,
    last: Trial,
    slope: f64,
}

impl Bracket {
    fn new(low: Trial, high: Trial) -> Self {
        Self {
            low,
            high,
            last: high,
            slope: (high.above - low.above) / (high.s - low.s),
        }
    }

    fn middle(&self) -> f64 {
        self.low.s + 0.5 * (self.high.s - self.low.s)
    }

    /// The zero of the secant through the last two trials, if that is between the ends; otherwise the middle.
    fn guess(&self) -> f64 {
        let secant = self.last.s - self.last.above / self.slope;
        // Of an infinite slope the secant would say that the last trial was right.
        let inside = secant > 0.0 && secant >= self.low.s && secant <= self.high.s;
        if inside && self.slope.is_finite() {
            secant
        } else {
            self.middle()
        }
    }

    fn add(&mut self, trial: Trial, noise: f64) {
        // Two trials that differ by rounding alone say nothing about the slope.
        let change = trial.above - self.last.above;
        if change.abs() > noise && change.is_finite() {
            self.slope = change / (trial.s - self.last.s);
        }
        self.last = trial;
        if trial.above > 0.0 {
            self.low = trial;
        } else {
            // NaN, too: the step was too long for J to have a value.
            self.high = trial;
        }
    }
}

/// Cuts the step that is in `step`, with J before and after it, to the length at which J = ε. On return `step` holds the cut one.
pub(super) fn locate<Y: System<f64> + ?Sized>(
    step: &mut Step<'_, Y>,
    Accepted { time, length }: Accepted,
    (before, after): (f64, f64),
    epsilon: f64,
) -> Located {
    let above = |j: f64| {
        if epsilon > 0.0 {
            libm::log(j / epsilon)
        } else {
            j - epsilon
        }
    };
    let mut located = Located {
        length,
        criterion: after,
        probes: 0,
        repeats: 0,
    };
    if is_close(after, epsilon) {
        return located;
    }
    let ends = |s: f64| {
        let low = Trial {
            s: 0.0,
            above: above(before),
        };
        let high = Trial {
            s,
            above: above(after),
        };
        Bracket::new(low, high)
    };
    let mut rough = ends(1.0);
    for _ in 0..MOST_PROBES {
        let u = rough.guess();
        step.interpolate(length, u);
        located.probes += 1;
        let j = step.evaluate_spare(time + u * length).criterion;
        let moved = (u - rough.last.s).abs();
        rough.add(
            Trial {
                s: u,
                above: above(j),
            },
            0.0,
        );
        if moved < ROUGH || is_close(j, epsilon) {
            break;
        }
    }
    let mut exact = ends(length);
    if rough.slope.is_finite() {
        // Far better than the slope from end to end; with no trial to compare with, the first repeat will leave it.
        exact.slope = rough.slope / length;
        exact.last.above = f64::NAN;
    }
    let mut s = length * rough.guess();
    // A change of T below its own rounding is none.
    let resolution = |s: f64| f64::EPSILON * (time.abs() + s);
    let noise = 1e-12 * above(before).abs().min(1.0);
    loop {
        located.repeats += 1;
        located.length = s;
        located.criterion = step.run(time, s).criterion;
        let trial = Trial {
            s,
            above: above(located.criterion),
        };
        exact.add(trial, noise);
        let finite = step.states[INNER].iter().all(|x| x.is_finite());
        let narrow = exact.high.s - exact.low.s <= 2.0 * resolution(s);
        let next = exact.guess();
        // Where J jumps, the secants settle as well, but not near ε.
        let near = (located.criterion - epsilon).abs() <= NEAR * (before - after);
        let settled = near && finite && (next - s).abs() <= 0.25 * resolution(s);
        if is_close(located.criterion, epsilon) || settled || located.repeats >= MOST_REPEATS {
            return located;
        }
        if narrow {
            // J jumps across ε here: the far side is the one where the event has happened.
            if s == exact.high.s {
                return located;
            }
            s = exact.high.s;
            continue;
        }
        s = if located.repeats < MOST_SECANTS && next != s {
            next
        } else {
            exact.middle()
        };
    }
}
