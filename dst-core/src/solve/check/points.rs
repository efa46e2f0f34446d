//! All comparisons at one point.

use super::desk::{Along, Desk, Fill, Functional, How, arbitrary, scatter};
use super::mismatch::{
    CheckError, Checked, Entry, Function, Kind, Mismatch, Output, Place, Reference,
};
use super::slope::{Verdict, cube_root, square_root};
use crate::error::Error;
use crate::scalar::Scalar;
use crate::system::{Reading, System};

/// Groups into which the entries of A, and those of θ and of x, are divided.
const OUTPUTS: usize = 16;
const ENTRIES: usize = 32;

/// Largest deviation so far.
#[derive(Clone, Copy)]
struct Worst<S> {
    function: Function,
    functional: Functional,
    along: Along,
    excess: S,
}

/// Checker at one point.
pub(super) struct Point<'d, S, Y: ?Sized> {
    desk: Desk<'d, S, Y>,
    /// True if the engine calls `pullback_afresh`.
    map: bool,
    place: Place,
    /// True if f, and its derivative by the pushforward, exist.
    loss: bool,
    pushed_loss: bool,
}

impl<'d, S: Scalar, Y: System<S> + ?Sized> Point<'d, S, Y> {
    pub(super) fn new(desk: Desk<'d, S, Y>, map: bool, place: Place) -> Self {
        Self {
            desk,
            map,
            place,
            loss: false,
            pushed_loss: false,
        }
    }

    /// Compares everything at this point. A point other than x0 at which the rate is not finite is left out.
    pub(super) fn check(mut self, checked: &mut Checked) -> Result<(), CheckError> {
        let Some(reading) = self.check_rate()? else {
            return match self.place {
                Place::Step(0) => Err(Error::NonFinite { step: 0 }.into()),
                _ => Ok(()),
            };
        };
        let pulls = self.desk.cost.pullback.is_some();
        let pushes = self.desk.cost.pushforward.is_some();
        if pulls && self.desk.lacks_pullback() {
            return Err(Error::NoPullback.into());
        }
        self.loss = reading.loss.is_finite();
        // The tape of the point, with NaN where the rate does not write it.
        self.desk.evaluate(Fill::Nan, Fill::Nan, Fill::Nan);
        self.pushed_loss = false;
        if pushes {
            self.desk.choose(Functional::Criterion, false);
            let (_, along_nothing) = self.desk.push(
                Along::Theta {
                    first: usize::MAX,
                    stride: 1,
                },
                Fill::Nan,
                How::STRICT,
            );
            self.pushed_loss = self.loss && !along_nothing.loss.is_nan();
            self.check_pushed_outputs()?;
        }
        checked.points += 1;
        let mut worst = None;
        let stride = self.desk.x.len().min(OUTPUTS);
        for first in 0..stride {
            self.compare(Functional::Rate { first, stride }, &mut worst, checked)?;
        }
        self.compare(Functional::Criterion, &mut worst, checked)?;
        if self.loss {
            self.compare(Functional::Loss, &mut worst, checked)?;
        }
        if worst.is_none() {
            self.compare(Functional::Sum, &mut worst, checked)?;
        }
        if let Some(worst) = worst {
            return Err(self.explain(worst).into());
        }
        if pulls && pushes {
            self.transposes()?;
        }
        Ok(())
    }

    /// Evaluates twice, with different numbers in outputs, tape and scratch memory; `None` if A or J is not finite.
    fn check_rate(&mut self) -> Result<Option<Reading<S>>, Mismatch> {
        let (numbers, others) = (Fill::Numbers(11), Fill::Numbers(12));
        let first = self.desk.evaluate(numbers, numbers, numbers);
        self.desk.keep_rate();
        self.desk.leave();
        let second = self.desk.evaluate(others, others, others);
        let mut fault = None;
        let pairs = self.desk.x_bar.iter().zip(self.desk.rate.iter());
        for (i, (&first, &second)) in pairs.enumerate() {
            if first.bits() != second.bits() && !(first.is_nan() && second.is_nan()) {
                fault = Some((Output::Rate(i), [first, second], i));
                break;
            }
        }
        if let Some((output, [first, second], i)) = fault {
            let (old, new) = (arbitrary::<S>(i, 11), arbitrary::<S>(i, 12));
            let kind = if first == old && second == new {
                Kind::NotWritten
            } else if ((second - first) - (new - old)).abs()
                <= S::from_f64(16.0) * S::EPSILON * (first.abs() + second.abs() + S::TWO)
            {
                Kind::Adds
            } else {
                self.why_not_repeated(i)
            };
            return Err(self.mismatch(Function::Rate, output, None, [first, second], kind));
        }
        for (output, first, second) in [
            (Output::Criterion, first.criterion, second.criterion),
            (Output::Loss, first.loss, second.loss),
        ] {
            if first.bits() != second.bits() && !(first.is_nan() && second.is_nan()) {
                let kind = Kind::NotRepeatable;
                return Err(self.mismatch(Function::Rate, output, None, [first, second], kind));
            }
        }
        let finite = S::all_finite(self.desk.rate) && first.criterion.is_finite();
        Ok(finite.then_some(first))
    }

    /// Scratch memory, if A_i depends on nothing else.
    fn why_not_repeated(&mut self, i: usize) -> Kind {
        let mut with = |scratch: u32| {
            self.desk
                .evaluate(Fill::Zero, Fill::Zero, Fill::Numbers(scratch));
            self.desk.rate.get(i).map_or(0, |rate| rate.bits())
        };
        if with(11) == with(11) && with(11) != with(12) {
            Kind::Scratch
        } else {
            Kind::NotRepeatable
        }
    }

    /// A pushforward overwrites its output.
    fn check_pushed_outputs(&mut self) -> Result<(), Mismatch> {
        self.desk.push(Along::All, Fill::Numbers(11), How::STRICT);
        self.desk.keep_rate();
        self.desk.push(Along::All, Fill::Numbers(12), How::STRICT);
        let (first, second) = (&*self.desk.x_bar, &*self.desk.rate);
        let differing = first.iter().zip(second).enumerate();
        let mut differing = differing.filter(|(_, (a, b))| a.bits() != b.bits() && !a.is_nan());
        let Some((i, (&first, &second))) = differing.next() else {
            return Ok(());
        };
        let kind = if first == arbitrary(i, 11) && second == arbitrary(i, 12) {
            Kind::NotWritten
        } else {
            Kind::Adds
        };
        let function = Function::Pushforward;
        Err(self.mismatch(function, Output::Rate(i), None, [first, second], kind))
    }

    /// Directions in single entries, or in groups of them.
    fn directions(&self, functional: Functional) -> impl Iterator<Item = Along> + use<S, Y> {
        let (thetas, xs) = (
            self.desk.theta.len().min(ENTRIES),
            self.desk.x.len().min(ENTRIES),
        );
        let timed = usize::from(functional == Functional::Criterion);
        let theta = (0..thetas).map(move |first| Along::Theta {
            first,
            stride: thetas,
        });
        let x = (0..xs).map(move |first| Along::X { first, stride: xs });
        theta.chain(x).chain((0..timed).map(|_| Along::Time))
    }

    /// Compares the derivatives of one functional with differences.
    fn compare(
        &mut self,
        functional: Functional,
        worst: &mut Option<Worst<S>>,
        checked: &mut Checked,
    ) -> Result<(), Mismatch> {
        self.desk.choose(functional, self.loss);
        let centre = self.desk.centre();
        let pulls = self.desk.cost.pullback.is_some();
        let pushes = self.desk.cost.pushforward.is_some()
            && match functional {
                Functional::Loss => self.pushed_loss,
                Functional::Sum => !self.loss || self.pushed_loss,
                _ => true,
            };
        if pulls {
            self.desk.pull(How::STRICT);
            self.adds(Function::Pullback, functional)?;
            if self.map {
                self.adds(Function::PullbackAfresh, functional)?;
            }
        }
        for along in self.directions(functional) {
            for function in [Function::Pullback, Function::Pushforward] {
                let found = match function {
                    Function::Pullback if pulls => {
                        let [found, _] = self.desk.pulled(along);
                        found
                    }
                    Function::Pushforward if pushes => {
                        self.desk.derivative(function, along, How::STRICT)
                    }
                    _ => continue,
                };
                checked.compared += 1;
                match self.desk.judge(centre, along, found) {
                    Verdict::Agrees => {}
                    Verdict::Undecided => checked.undecided += 1,
                    Verdict::Differs { excess, .. } => {
                        if worst.is_none_or(|worst| excess > worst.excess) {
                            *worst = Some(Worst {
                                function,
                                functional,
                                along,
                                excess,
                            });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A pullback adds to its sums. `pullback_afresh` overwrites x̄.
    fn adds(&mut self, function: Function, functional: Functional) -> Result<(), Mismatch> {
        self.desk.pull_again(function, Fill::Numbers(13));
        let afresh = function == Function::PullbackAfresh;
        let desk = &self.desk;
        let [theta_size, x_size] = desk.largest_sums();
        let theta = desk.theta_bar.iter().zip(desk.other_theta.iter());
        let theta = theta.enumerate().map(|(i, (&alone, &found))| {
            let old = theta_size * arbitrary(i, 6);
            (Entry::Theta(i), old, alone, found, theta_size, false)
        });
        let x = desk.x_bar.iter().zip(desk.other_x.iter());
        let x = x.enumerate().map(|(i, (&alone, &found))| {
            let old = x_size * arbitrary(i, 7);
            (Entry::X(i), old, alone, found, x_size, afresh)
        });
        for (entry, old, alone, found, size, overwrites) in theta.chain(x) {
            let expected = if overwrites { alone } else { old + alone };
            let tolerance = square_root::<S>() * size;
            let near = |a: S, b: S| (a - b).abs() <= tolerance;
            if near(found, expected) || !alone.is_finite() {
                continue;
            }
            let kind = match (overwrites, near(found, alone), near(found, old + alone)) {
                (false, true, _) => Kind::Overwrites,
                (true, _, true) => Kind::Adds,
                (true, ..) if near(found, old) => Kind::NotWritten,
                _ => Kind::Value,
            };
            let output = self.output(functional);
            let mismatch = self.mismatch(function, output, Some(entry), [expected, found], kind);
            return Err(match mismatch.kind {
                Kind::Value => Mismatch {
                    // The sum cannot be read off: the scratch memory has other numbers than before, too.
                    kind: self.why_changed(entry),
                    ..mismatch
                },
                _ => mismatch,
            });
        }
        Ok(())
    }

    /// Reason for which the second pullback differs from the first.
    fn why_changed(&mut self, entry: Entry) -> Kind {
        let along = along(entry);
        let mut with = |scratch: u32| {
            let how = How {
                scratch: Fill::Numbers(scratch),
                ..How::STRICT
            };
            self.desk.derivative(Function::Pullback, along, how).bits()
        };
        let (first, again, other) = (with(13), with(13), with(14));
        if first != again {
            Kind::NotRepeatable
        } else if first != other {
            Kind::Scratch
        } else {
            Kind::Overwrites
        }
    }

    /// The pullback is the transpose of the pushforward, along a direction in all entries.
    fn transposes(&mut self) -> Result<(), Mismatch> {
        let functional = Functional::Sum;
        self.desk.choose(functional, self.pushed_loss);
        self.desk.pull(How::STRICT);
        let [pulled, pulled_size] = self.desk.pulled(Along::All);
        let ([pushed, pushed_size], _) = self.desk.push(Along::All, Fill::Nan, How::STRICT);
        let tolerance = square_root::<S>() * (pulled_size + pushed_size);
        if (pulled - pushed).abs() <= tolerance || !(pulled - pushed).is_finite() {
            return Ok(());
        }
        // The entry with the largest deviation.
        let mut worst = (S::ZERO, Along::All, [pushed, pulled]);
        let directions = self.directions(functional);
        for along in directions {
            let [pulled, _] = self.desk.pulled(along);
            let pushed = self
                .desk
                .derivative(Function::Pushforward, along, How::STRICT);
            let deviation = (pulled - pushed).abs();
            if deviation > worst.0 {
                worst = (deviation, along, [pushed, pulled]);
            }
        }
        let (_, along, values) = worst;
        let length = self.desk.length(along);
        let values = values.map(|value| value / length);
        let mismatch = self.mismatch(
            Function::Pullback,
            Output::Sum,
            entry(along),
            values,
            Kind::Value,
        );
        Err(Mismatch {
            reference: Reference::Pushforward,
            ..mismatch
        })
    }

    /// The largest deviation, narrowed down to one entry, with its likely reason.
    fn explain(&mut self, worst: Worst<S>) -> Mismatch {
        let Worst {
            function,
            mut functional,
            mut along,
            ..
        } = worst;
        let (states, params) = (self.desk.x.len(), self.desk.theta.len());
        if let Functional::Rate { first, stride } = functional
            && stride < states
        {
            let group = (first..states).step_by(stride.max(1));
            let single = |first| Functional::Rate {
                first,
                stride: states,
            };
            functional = self
                .narrowest(function, group.map(|i| (single(i), along)))
                .0;
        }
        along = match along {
            Along::Theta { first, stride } if stride < params => {
                let group = (first..params).step_by(stride.max(1));
                let single = |first| Along::Theta {
                    first,
                    stride: params,
                };
                self.narrowest(function, group.map(|i| (functional, single(i))))
                    .1
            }
            Along::X { first, stride } if stride < states => {
                let group = (first..states).step_by(stride.max(1));
                let single = |first| Along::X {
                    first,
                    stride: states,
                };
                self.narrowest(function, group.map(|i| (functional, single(i))))
                    .1
            }
            along => along,
        };
        let values @ [expected, found] = self.values(function, functional, along);
        let length = self.desk.length(along);
        let kind = self.reason(function, along, values);
        let kind = kind.unwrap_or_else(|| self.ratio(function, functional, along, values));
        let output = self.output(functional);
        let values = [expected / length, found / length];
        self.mismatch(function, output, entry(along), values, kind)
    }

    /// The pair with the largest deviation.
    fn narrowest(
        &mut self,
        function: Function,
        pairs: impl Iterator<Item = (Functional, Along)>,
    ) -> (Functional, Along) {
        let mut worst = (-S::ONE, (Functional::Sum, Along::All));
        for pair in pairs {
            let [expected, found] = self.values(function, pair.0, pair.1);
            let deviation = (expected - found).abs();
            let deviation = if deviation.is_nan() {
                S::MAX
            } else {
                deviation
            };
            if deviation > worst.0 {
                worst = (deviation, pair);
            }
        }
        worst.1
    }

    /// Expected and actual derivative. They agree if the differences do not decide.
    fn values(&mut self, function: Function, functional: Functional, along: Along) -> [S; 2] {
        self.desk.choose(functional, self.loss);
        let centre = self.desk.centre();
        let found = self.desk.derivative(function, along, How::STRICT);
        match self.desk.judge(centre, along, found) {
            Verdict::Differs { expected, .. } => [expected, found],
            _ => [found, found],
        }
    }

    /// Tape or scratch memory, if another content changes the result.
    fn reason(&mut self, function: Function, along: Along, [_, found]: [S; 2]) -> Option<Kind> {
        let mut with = |scratch: Fill, tape: Option<Fill>, refreshed: bool| {
            let how = How {
                scratch,
                tape,
                refreshed,
            };
            let value = self.desk.derivative(function, along, how);
            if value.is_nan() {
                S::NAN.bits()
            } else {
                value.bits()
            }
        };
        let strict = with(Fill::Nan, None, false);
        let stale = with(Fill::Nan, None, true) != strict;
        let scratch = with(Fill::Zero, None, false) != strict
            || with(Fill::Numbers(13), None, false) != with(Fill::Numbers(14), None, false);
        let tapes = [Fill::Zero, Fill::Numbers(13), Fill::Nan];
        let tapes = tapes.map(|tape| with(Fill::Nan, Some(tape), false));
        let unwritten = tapes.iter().any(|result| *result != strict);
        if stale {
            return Some(Kind::StaleTape);
        }
        if scratch {
            return Some(Kind::Scratch);
        }
        if unwritten {
            self.desk.evaluate(Fill::Nan, Fill::Nan, Fill::Nan);
            let entry = self.desk.tape.iter().position(|value| value.is_nan());
            return Some(Kind::UnwrittenTape(entry.unwrap_or(0)));
        }
        (!found.is_finite()).then_some(Kind::NotFinite)
    }

    /// Zero, or a ratio that is the same at a second point. The point is lost.
    fn ratio(
        &mut self,
        function: Function,
        functional: Functional,
        along: Along,
        [expected, found]: [S; 2],
    ) -> Kind {
        let small = S::from_f64(1e-3);
        if found.abs() <= small * expected.abs() {
            return Kind::Missing;
        }
        if expected.abs() <= small * found.abs() {
            return Kind::Superfluous;
        }
        let factor = found / expected;
        scatter(self.desk.x);
        self.desk.moved();
        self.desk.evaluate(Fill::Nan, Fill::Nan, Fill::Nan);
        let [there_expected, there_found] = self.values(function, functional, along);
        let there = there_found / there_expected;
        let tolerance = S::TWO * cube_root();
        let constant = (there - factor).abs() <= tolerance * factor.abs();
        if !constant {
            Kind::Value
        } else if (factor + S::ONE).abs() <= S::from_f64(0.01) {
            Kind::Sign
        } else {
            Kind::Factor(rounded(factor.to_f64()))
        }
    }

    fn output(&self, functional: Functional) -> Output {
        match functional {
            Functional::Rate { first, .. } => Output::Rate(first),
            Functional::Criterion => Output::Criterion,
            Functional::Loss => Output::Loss,
            Functional::Sum => Output::Sum,
        }
    }

    fn mismatch(
        &self,
        function: Function,
        output: Output,
        entry: Option<Entry>,
        [expected, found]: [S; 2],
        kind: Kind,
    ) -> Mismatch {
        let itself = matches!(
            kind,
            Kind::Overwrites | Kind::Adds | Kind::NotWritten | Kind::NotRepeatable
        );
        Mismatch {
            function,
            output,
            entry,
            expected: expected.to_f64(),
            found: found.to_f64(),
            reference: if itself {
                Reference::Itself
            } else {
                Reference::Differences
            },
            kind,
            place: self.place,
        }
    }
}

/// A factor within a percent of a small whole number, or of the reciprocal of one, as that number.
fn rounded(factor: f64) -> f64 {
    for whole in 1_u8..=16 {
        for near in [f64::from(whole), 1.0 / f64::from(whole)] {
            let near = if factor < 0.0 { -near } else { near };
            let distance = if factor > near {
                factor - near
            } else {
                near - factor
            };
            if distance <= 0.01 * factor.abs() {
                return near;
            }
        }
    }
    factor
}

fn entry(along: Along) -> Option<Entry> {
    match along {
        Along::Theta { first, .. } => Some(Entry::Theta(first)),
        Along::X { first, .. } => Some(Entry::X(first)),
        Along::Time => Some(Entry::Time),
        Along::All => None,
    }
}

/// Direction in one entry.
fn along(entry: Entry) -> Along {
    let stride = usize::MAX;
    match entry {
        Entry::Theta(first) => Along::Theta { first, stride },
        Entry::X(first) => Along::X { first, stride },
        Entry::Time => Along::Time,
    }
}
