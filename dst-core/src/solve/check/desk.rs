//! Calls of the checked system: the vectors passed to it, and what they hold before each call.
//!
//! A *functional* is the number that is differentiated: one entry of A (or a group of them with weights), J, f, or their sum. A
//! *direction* changes one entry of θ or x in proportion to its size, or a group of them, or t, or everything.

use super::mismatch::Function;
use crate::scalar::Scalar;
use crate::slices::{copy, split_mut};
use crate::solve::memory::Work;
use crate::system::{Bar, Cost, Direction, Point, Reading, Seed, System};

/// Content of a vector before a call.
#[derive(Clone, Copy)]
pub(super) enum Fill {
    Nan,
    /// Arbitrary numbers of this series.
    Numbers(u32),
    Zero,
}

/// Number of either sign between ½ and 3/2, from its place in a series.
pub(super) fn arbitrary<S: Scalar>(i: usize, series: u32) -> S {
    let mut z = (i as u32)
        .wrapping_mul(0x9e37_79b9)
        .wrapping_add(series.wrapping_mul(0x85eb_ca6b));
    z = (z ^ (z >> 16)).wrapping_mul(0x7feb_352d);
    z = (z ^ (z >> 15)).wrapping_mul(0x846c_a68b);
    z ^= z >> 16;
    let size = S::HALF + S::from_count((z & 0xffff) as usize) * S::from_f64(1.0 / 65536.0);
    if z >> 31 == 1 { -size } else { size }
}

pub(super) fn fill<S: Scalar>(values: &mut [S], with: Fill) {
    for (i, value) in values.iter_mut().enumerate() {
        *value = match with {
            Fill::Nan => S::NAN,
            Fill::Numbers(series) => arbitrary(i, series),
            Fill::Zero => S::ZERO,
        };
    }
}

/// Mean size of the entries that are not zero; 1 if all are.
fn mean<S: Scalar>(values: &[S]) -> S {
    let (mut sum, mut count) = (S::ZERO, 0);
    for value in values.iter().filter(|value| **value != S::ZERO) {
        sum += value.abs();
        count += 1;
    }
    if sum > S::ZERO && sum.is_finite() {
        sum / S::from_count(count)
    } else {
        S::ONE
    }
}

/// Size in proportion to which an entry is changed.
fn size<S: Scalar>(value: S, mean: S) -> S {
    if value == S::ZERO {
        mean
    } else {
        value.abs().max(mean * S::from_f64(1e-3))
    }
}

/// Changes every entry of a state by about a tenth; zeros by a fiftieth of the mean.
pub(super) fn scatter<S: Scalar>(x: &mut [S]) {
    let mean = mean(x);
    for (i, x) in x.iter_mut().enumerate() {
        let change = arbitrary::<S>(i, 77);
        *x += if *x == S::ZERO {
            mean * change * S::from_f64(0.02)
        } else {
            *x * change * S::from_f64(0.1)
        };
    }
}

/// Number that is differentiated.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Functional {
    /// Entries `first`, `first + stride`, … of A with arbitrary weights; a single one with weight 1.
    Rate {
        first: usize,
        stride: usize,
    },
    Criterion,
    Loss,
    /// All of them, with weights.
    Sum,
}

/// Direction of a derivative.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Along {
    Theta {
        first: usize,
        stride: usize,
    },
    X {
        first: usize,
        stride: usize,
    },
    Time,
    /// Every entry of θ and x.
    All,
}

/// Component of a group: `size` in a single one, with an arbitrary factor in a larger one.
fn component<S: Scalar>(
    i: usize,
    (first, stride): (usize, usize),
    length: usize,
    size: S,
    series: u32,
) -> S {
    if i % stride.max(1) != first {
        S::ZERO
    } else if stride >= length {
        size
    } else {
        size * arbitrary(i, series)
    }
}

/// Memory of a call, beyond its results.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub(super) scratch: Fill,
    /// Evaluates `rate` again with this in its tape, and differentiates with that tape.
    pub(super) tape: Option<Fill>,
    /// Evaluates `rate` at the point itself, directly before the call.
    pub(super) refreshed: bool,
}

impl How {
    pub(super) const STRICT: Self = Self {
        scratch: Fill::Nan,
        tape: None,
        refreshed: false,
    };
}

/// System, point, and the vectors of the working memory by their role.
pub(super) struct Desk<'d, S, Y: ?Sized> {
    pub(super) system: &'d Y,
    pub(super) theta: &'d [S],
    pub(super) x: &'d mut [S],
    pub(super) t: S,
    /// Tape at this point.
    pub(super) tape: &'d mut [S],
    other_tape: &'d mut [S],
    scratch: &'d mut [S],
    /// State and parameters of an evaluation at another point; between evaluations a direction, or sums.
    pub(super) other_x: &'d mut [S],
    pub(super) other_theta: &'d mut [S],
    /// A of the last evaluation, or its derivative.
    pub(super) rate: &'d mut [S],
    /// Cotangent of A.
    pub(super) seed: &'d mut [S],
    pub(super) weights: Reading<S>,
    /// Result of the last pullback.
    pub(super) x_bar: &'d mut [S],
    pub(super) theta_bar: &'d mut [S],
    pub(super) t_bar: S,
    pub(super) cost: Cost,
    /// Mean sizes of θ and x, and the size of t.
    sizes: [S; 3],
}

impl<'d, S: Scalar, Y: System<S> + ?Sized> Desk<'d, S, Y> {
    pub(super) fn new(
        system: &'d Y,
        theta: &'d [S],
        t: S,
        h: S,
        work: &'d mut Work<'_, S>,
    ) -> Self {
        let tape = system.dims().tape;
        let [x, other_x, rate, seed] = &mut work.rows;
        let [even, odd] = &mut work.records;
        let sizes = [mean(theta), mean(x), t.abs().max(h)];
        Self {
            system,
            theta,
            x,
            t,
            tape: split_mut(even, tape).0,
            other_tape: split_mut(odd, tape).0,
            scratch: work.scratch,
            other_x,
            other_theta: work.theta_spare,
            rate,
            seed,
            weights: Reading::ZERO,
            x_bar: work.lambda,
            theta_bar: work.theta_bar,
            t_bar: S::ZERO,
            cost: system.cost(),
            sizes,
        }
    }

    /// Measures the sizes again, after a change of x.
    pub(super) fn moved(&mut self) {
        let [_, x, _] = &mut self.sizes;
        *x = mean(self.x);
    }

    /// Component of a direction in θ_i.
    fn theta_part(&self, along: Along, i: usize, value: S) -> S {
        let [mean, ..] = self.sizes;
        let size = size(value, mean);
        match along {
            Along::Theta { first, stride } => {
                component(i, (first, stride), self.theta.len(), size, 3)
            }
            Along::All => size * arbitrary(i, 3),
            _ => S::ZERO,
        }
    }

    /// Component of a direction in x_i.
    fn x_part(&self, along: Along, i: usize, value: S) -> S {
        let [_, mean, _] = self.sizes;
        let size = size(value, mean);
        match along {
            Along::X { first, stride } => component(i, (first, stride), self.x.len(), size, 4),
            Along::All => size * arbitrary(i, 4),
            _ => S::ZERO,
        }
    }

    fn t_part(&self, along: Along) -> S {
        let [.., size] = self.sizes;
        if along == Along::Time { size } else { S::ZERO }
    }

    /// Length of a direction with a single entry.
    pub(super) fn length(&self, along: Along) -> S {
        match along {
            Along::Theta { first, .. } => {
                let value = self.theta.get(first).copied().unwrap_or(S::ZERO);
                self.theta_part(along, first, value)
            }
            Along::X { first, .. } => {
                let value = self.x.get(first).copied().unwrap_or(S::ZERO);
                self.x_part(along, first, value)
            }
            Along::Time => self.t_part(along),
            Along::All => S::ONE,
        }
    }

    /// Chooses the functional: sets the cotangents.
    pub(super) fn choose(&mut self, functional: Functional, with_loss: bool) {
        let length = self.seed.len();
        for (i, seed) in self.seed.iter_mut().enumerate() {
            *seed = match functional {
                Functional::Rate { first, stride } => {
                    component(i, (first, stride), length, S::ONE, 5)
                }
                Functional::Sum => arbitrary(i, 5),
                _ => S::ZERO,
            };
        }
        let weight = |on: bool, weight: f64| if on { S::from_f64(weight) } else { S::ZERO };
        self.weights = match functional {
            Functional::Rate { .. } => Reading::ZERO,
            Functional::Criterion => Reading::criterion(S::ONE),
            Functional::Loss => Reading::loss(S::ONE),
            Functional::Sum => Reading {
                criterion: weight(true, 0.75),
                loss: weight(with_loss, -1.25),
            },
        };
    }

    /// Functional of a rate and a reading, and the sum of the sizes of its terms.
    fn functional(&self, reading: Reading<S>) -> [S; 2] {
        let mut value = S::ZERO;
        let mut size = S::ZERO;
        let terms = self.seed.iter().zip(self.rate.iter());
        let readings = [
            (&self.weights.criterion, &reading.criterion),
            (&self.weights.loss, &reading.loss),
        ];
        // A weight of zero leaves out what may be NaN.
        for (&weight, &term) in terms.chain(readings).filter(|(w, _)| **w != S::ZERO) {
            value += weight * term;
            size += (weight * term).abs();
        }
        [value, size]
    }

    /// Evaluates at the point, with the tape of the point.
    pub(super) fn evaluate(&mut self, outputs: Fill, tape: Fill, scratch: Fill) -> Reading<S> {
        fill(self.rate, outputs);
        fill(self.tape, tape);
        fill(self.scratch, scratch);
        let at = Point {
            theta: self.theta,
            x: self.x,
            t: self.t,
        };
        self.system.rate(at, self.rate, self.tape, self.scratch)
    }

    /// The functional at the point; the tape of the point is unchanged.
    pub(super) fn here(&mut self) -> [S; 2] {
        self.evaluate_near(|_, _, _| [S::ZERO; 3])
    }

    /// The functional at the point plus `tau` times a direction.
    pub(super) fn near(&mut self, along: Along, tau: S) -> S {
        let [value, _] = self.evaluate_near(|desk, i, [theta, x]| {
            [
                tau * desk.theta_part(along, i, theta),
                tau * desk.x_part(along, i, x),
                tau * desk.t_part(along),
            ]
        });
        value
    }

    /// The functional after every entry has changed by a few units in its last place.
    pub(super) fn rounded(&mut self, series: u32) -> S {
        let unit = S::EPSILON + S::EPSILON;
        let [theta_mean, x_mean, _] = self.sizes;
        let [value, _] = self.evaluate_near(|_, i, [theta, x]| {
            [
                unit * size(theta, theta_mean) * arbitrary(i, series),
                unit * size(x, x_mean) * arbitrary(i, series.wrapping_add(1)),
                S::ZERO,
            ]
        });
        value
    }

    /// The functional at a changed point. `change` returns the changes of θ_i, x_i and t.
    fn evaluate_near(&mut self, change: impl Fn(&Self, usize, [S; 2]) -> [S; 3]) -> [S; 2] {
        for i in 0..self.x.len().max(self.theta.len()) {
            let theta = self.theta.get(i).copied().unwrap_or(S::ZERO);
            let x = self.x.get(i).copied().unwrap_or(S::ZERO);
            let [by_theta, by_x, _] = change(self, i, [theta, x]);
            if let Some(other) = self.other_theta.get_mut(i) {
                *other = theta + by_theta;
            }
            if let Some(other) = self.other_x.get_mut(i) {
                *other = x + by_x;
            }
        }
        let [.., by_t] = change(self, 0, [S::ZERO; 2]);
        fill(self.rate, Fill::Nan);
        fill(self.other_tape, Fill::Nan);
        fill(self.scratch, Fill::Nan);
        let at = Point {
            theta: self.other_theta,
            x: self.other_x,
            t: self.t + by_t,
        };
        let reading = self
            .system
            .rate(at, self.rate, self.other_tape, self.scratch);
        self.functional(reading)
    }

    /// Evaluates the rate beside the point, so that nothing kept outside the tape belongs to the point.
    pub(super) fn leave(&mut self) {
        self.near(Along::All, S::from_f64(0.0625));
    }

    /// Prepares the call of a derivative.
    fn prepare(&mut self, how: How) {
        if let Some(tape) = how.tape {
            self.evaluate(Fill::Nan, tape, Fill::Nan);
        }
        if how.refreshed {
            self.here();
        } else {
            self.leave();
        }
        fill(self.scratch, how.scratch);
    }

    /// Pulls the functional back to sums that are zero before.
    pub(super) fn pull(&mut self, how: How) {
        self.prepare(how);
        fill(self.theta_bar, Fill::Zero);
        fill(self.x_bar, Fill::Zero);
        self.t_bar = S::ZERO;
        let timed = self.weights.criterion != S::ZERO && self.seed.iter().all(|s| *s == S::ZERO);
        let at = Point {
            theta: self.theta,
            x: self.x,
            t: self.t,
        };
        let seed = Seed::new(self.seed, self.weights);
        let bar = Bar {
            theta: self.theta_bar,
            x: self.x_bar,
            t: timed.then_some(&mut self.t_bar),
        };
        self.system.pullback(at, self.tape, seed, bar, self.scratch);
    }

    /// Pulls the functional back again, to `other_theta` and `other_x`, whose content is not zero.
    pub(super) fn pull_again(&mut self, function: Function, scratch: Fill) {
        self.leave();
        fill(self.scratch, scratch);
        self.offset_sums();
        let at = Point {
            theta: self.theta,
            x: self.x,
            t: self.t,
        };
        let seed = Seed::new(self.seed, self.weights);
        let bar = Bar::new(self.other_theta, self.other_x);
        if function == Function::PullbackAfresh {
            self.system
                .pullback_afresh(at, self.tape, seed, bar, self.scratch);
        } else {
            self.system.pullback(at, self.tape, seed, bar, self.scratch);
        }
    }

    /// Content of the sums before the second pullback: of the size of the largest sum, so that neither is lost in the other.
    fn offset_sums(&mut self) {
        let [theta, x] = self.largest_sums();
        for (i, other) in self.other_theta.iter_mut().enumerate() {
            *other = theta * arbitrary(i, 6);
        }
        for (i, other) in self.other_x.iter_mut().enumerate() {
            *other = x * arbitrary(i, 7);
        }
    }

    /// Largest entries of θ̄ and of x̄; 1 if they are zero or not finite.
    pub(super) fn largest_sums(&self) -> [S; 2] {
        let largest = |sums: &[S]| {
            let largest = sums.iter().fold(S::ZERO, |most, sum| most.max(sum.abs()));
            if largest > S::ZERO && largest.is_finite() {
                largest
            } else {
                S::ONE
            }
        };
        [largest(self.theta_bar), largest(self.x_bar)]
    }

    /// Derivative of the functional along a direction, from the last pullback, and the sum of the sizes of its terms.
    pub(super) fn pulled(&self, along: Along) -> [S; 2] {
        let (mut value, mut size) = (S::ZERO, S::ZERO);
        let mut add = |bar: S, part: S| {
            // NaN counts only where the direction goes.
            if part != S::ZERO {
                value += bar * part;
                size += (bar * part).abs();
            }
        };
        for (i, (&bar, &theta)) in self.theta_bar.iter().zip(self.theta).enumerate() {
            add(bar, self.theta_part(along, i, theta));
        }
        for (i, (&bar, &x)) in self.x_bar.iter().zip(self.x.iter()).enumerate() {
            add(bar, self.x_part(along, i, x));
        }
        add(self.t_bar, self.t_part(along));
        [value, size]
    }

    /// Derivative of the functional along a direction by the pushforward, and the sum of the sizes of its terms. The derivative
    /// of A remains in `rate`.
    pub(super) fn push(&mut self, along: Along, outputs: Fill, how: How) -> ([S; 2], Reading<S>) {
        self.prepare(how);
        for i in 0..self.theta.len() {
            let theta = self.theta.get(i).copied().unwrap_or(S::ZERO);
            let part = self.theta_part(along, i, theta);
            if let Some(other) = self.other_theta.get_mut(i) {
                *other = part;
            }
        }
        for i in 0..self.x.len() {
            let x = self.x.get(i).copied().unwrap_or(S::ZERO);
            let part = self.x_part(along, i, x);
            if let Some(other) = self.other_x.get_mut(i) {
                *other = part;
            }
        }
        fill(self.rate, outputs);
        let at = Point {
            theta: self.theta,
            x: self.x,
            t: self.t,
        };
        let direction = Direction {
            theta: self.other_theta,
            x: self.other_x,
            t: self.t_part(along),
        };
        let reading = self
            .system
            .pushforward(at, self.tape, direction, self.rate, self.scratch);
        (self.functional(reading), reading)
    }

    /// Derivative along a direction by either function.
    pub(super) fn derivative(&mut self, function: Function, along: Along, how: How) -> S {
        let [value, _] = if function == Function::Pushforward {
            self.push(along, Fill::Nan, how).0
        } else {
            self.pull(how);
            self.pulled(along)
        };
        value
    }

    /// True if the system's own pullback is the one of the trait: it returns NaN for no cotangent at all.
    pub(super) fn lacks_pullback(&mut self) -> bool {
        fill(self.seed, Fill::Zero);
        self.weights = Reading::ZERO;
        self.pull(How {
            scratch: Fill::Zero,
            tape: Some(Fill::Zero),
            refreshed: true,
        });
        self.x_bar
            .iter()
            .chain(self.theta_bar.iter())
            .all(|bar| bar.is_nan())
    }

    /// Copies A to the row of x̄.
    pub(super) fn keep_rate(&mut self) {
        copy(self.x_bar, self.rate);
    }
}
