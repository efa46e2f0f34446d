//! Planted mistakes: each is found, and named with its function, output, entry and kind.

use std::cell::Cell;

use dst_core::solve::check::{CheckError, Entry, Function, Kind, Mismatch, Output, Place};
use dst_core::{Bar, Cost, Dims, Direction, Euler, Map, Point, Reading, Scalar, Seed, System};

use super::check;

/// Mistake of a system.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    Nothing,
    Factor,
    Sign,
    WrongIndex,
    OverwritesTheta,
    OverwritesX,
    MissingTheta,
    MissingCriterion,
    MissingCriterionTheta,
    MissingLoss,
    MissingTime,
    SuperfluousTerm,
    Transposed,
    CachedTape,
    TapeNotWritten,
    ScratchAssumedZero,
    OffByOne,
    WrongBranch,
    WrongFunction,
    SmallTerm,
    OnlyLater,
    TogetherOnly,
    Nan,
    RateAdds,
    RateNotWritten,
    RateScratch,
    PushFactor,
    PushAdds,
    PushTheta,
    PushCriterion,
    PushTime,
    PushNotWritten,
    AfreshAdds,
    AfreshNotWritten,
}
use Mistake::*;

/// A = Mx + (θ₀·sin x₀, θ₁·max(x₁, x₀), θ₂·x₂²), J = Σ x_i² (1 + t) + θ₁·x₂, f = x₀·x₁·θ₂; M is not symmetric. Tape: sin x₀, cos x₀.
struct Plant {
    mistake: Mistake,
    /// Result of the last call of `rate`, which a correct system does not keep.
    cache: Cell<f64>,
    pushes: bool,
}

const M: [[f64; 3]; 3] = [[1.0, 0.2, -0.3], [0.5, 1.2, 0.1], [0.0, -0.4, 0.9]];

impl Plant {
    fn new(mistake: Mistake, pushes: bool) -> Self {
        Self {
            mistake,
            cache: Cell::new(0.0),
            pushes,
        }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }
}

fn c<S: Scalar>(value: f64) -> S {
    S::from_f64(value)
}

impl<S: Scalar> System<S> for Plant {
    fn dims(&self) -> Dims {
        Dims::new(3, 3).with_tape(2).with_scratch(3)
    }

    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let (x, theta) = (at.x, at.theta);
        tape[0] = x[0].sin();
        if !self.is(TapeNotWritten) {
            tape[1] = x[0].cos();
        }
        self.cache.set(x[0].cos().to_f64());
        for (i, row) in M.iter().enumerate() {
            if self.is(RateNotWritten) && i == 1 {
                continue;
            }
            if !(self.is(RateAdds) && i == 2) {
                rate[i] = S::ZERO;
            }
            for (&m, &x) in row.iter().zip(x) {
                rate[i] += c::<S>(m) * x;
            }
        }
        if self.is(RateScratch) {
            rate[0] += scratch[1];
        }
        rate[0] += theta[0] * tape[0];
        if !self.is(RateNotWritten) {
            rate[1] += theta[1] * x[1].max(x[0]);
        }
        rate[2] += theta[2] * x[2] * x[2];
        let square = x.iter().fold(S::ZERO, |sum, &x| sum + x * x);
        Reading {
            criterion: square * (S::ONE + at.t) + theta[1] * x[2],
            loss: x[0] * x[1] * theta[2],
        }
    }

    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        let (x, theta, a) = (at.x, at.theta, seed.rate);
        let (j, l) = (seed.criterion, seed.loss);
        let cos = match self.mistake {
            CachedTape => c(self.cache.get()),
            WrongFunction => tape[0],
            _ => tape[1],
        };
        let mut x_bar = [S::ZERO; 3];
        let rows = if self.is(OffByOne) { 2 } else { 3 };
        for i in 0..rows {
            for k in 0..3 {
                let m = if self.is(Transposed) {
                    M[k][i]
                } else {
                    M[i][k]
                };
                x_bar[k] += a[i] * c(m);
            }
        }
        x_bar[0] += a[0] * theta[0] * cos;
        let branch = if x[1] > x[0] { 1 } else { 0 };
        let branch = if self.is(WrongBranch) {
            1 - branch
        } else {
            branch
        };
        x_bar[branch] += a[1] * theta[1];
        x_bar[2] += a[2] * theta[2] * x[2] * if self.is(Factor) { S::ONE } else { S::TWO };
        if !self.is(MissingCriterion) {
            for (bar, &x) in x_bar.iter_mut().zip(x) {
                *bar += j * S::TWO * x * (S::ONE + at.t);
            }
        }
        let sign = if self.is(Sign) { -S::ONE } else { S::ONE };
        x_bar[2] += sign * j * theta[1];
        if !self.is(MissingLoss) {
            x_bar[0] += l * x[1] * theta[2];
        }
        x_bar[1] += l * x[0] * theta[2];
        if self.is(SuperfluousTerm) {
            x_bar[1] += j * x[0];
        }
        if self.is(OnlyLater) {
            // Zero at t = 0 and at x0, where x₁ is zero.
            x_bar[0] += j * at.t;
        }
        if self.is(SmallTerm) {
            x_bar[1] += a[2] * c(0.05);
        }
        if self.is(TogetherOnly) && j != S::ZERO && a[0] != S::ZERO {
            x_bar[0] += j;
        }
        if self.is(ScratchAssumedZero) {
            scratch[2] += a[1];
            x_bar[0] += scratch[2] - a[1];
        }
        if self.is(Nan) {
            x_bar[1] += S::NAN * j;
        }
        let mut theta_bar = [a[0] * tape[0], a[1] * x[1].max(x[0]), a[2] * x[2] * x[2]];
        if !self.is(MissingCriterionTheta) {
            theta_bar[1] += j * x[2];
        }
        theta_bar[2] += l * x[0] * x[1];
        match self.mistake {
            MissingTheta => theta_bar[2] = l * x[0] * x[1],
            WrongIndex => theta_bar.swap(0, 2),
            _ => {}
        }
        for i in 0..3 {
            match self.mistake {
                OverwritesTheta if i == 1 => bar.theta[i] = theta_bar[i],
                _ => bar.theta[i] += theta_bar[i],
            }
            match self.mistake {
                OverwritesX if i == 2 => bar.x[i] = x_bar[i],
                _ => bar.x[i] += x_bar[i],
            }
        }
        if let Some(t_bar) = bar.t
            && !self.is(MissingTime)
        {
            *t_bar += j * x.iter().fold(S::ZERO, |sum, &x| sum + x * x);
        }
    }

    fn pullback_afresh(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        match self.mistake {
            AfreshAdds => {}
            AfreshNotWritten => {
                let mut x_bar = [S::ZERO; 3];
                let (theta, x) = (bar.theta, &mut x_bar);
                self.pullback(at, tape, seed, Bar::new(theta, x), scratch);
                bar.x[..2].copy_from_slice(&x_bar[..2]);
                return;
            }
            _ => bar.x.fill(S::ZERO),
        }
        self.pullback(at, tape, seed, bar, scratch);
    }

    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        _: &mut [S],
    ) -> Reading<S> {
        let (x, theta, dx, dt) = (at.x, at.theta, along.x, along.theta);
        for (i, row) in M.iter().enumerate() {
            if self.is(PushNotWritten) && i == 2 {
                continue;
            }
            if !(self.is(PushAdds) && i == 1) {
                rate[i] = S::ZERO;
            }
            for (&m, &dx) in row.iter().zip(dx) {
                rate[i] += c::<S>(m) * dx;
            }
        }
        let three = if self.is(PushFactor) { c(3.0) } else { S::ONE };
        rate[0] += three * theta[0] * tape[1] * dx[0];
        if !self.is(PushTheta) {
            rate[0] += dt[0] * tape[0];
        }
        let branch = if x[1] > x[0] { 1 } else { 0 };
        rate[1] += dt[1] * x[branch] + theta[1] * dx[branch];
        if !self.is(PushNotWritten) {
            rate[2] += dt[2] * x[2] * x[2] + theta[2] * S::TWO * x[2] * dx[2];
        }
        let square = x.iter().fold(S::ZERO, |sum, &x| sum + x * x);
        let product = x
            .iter()
            .zip(dx)
            .fold(S::ZERO, |sum, (&x, &dx)| sum + x * dx);
        let mut j = S::TWO * product * (S::ONE + at.t) + dt[1] * x[2];
        if !self.is(PushCriterion) {
            j += theta[1] * dx[2];
        }
        if !self.is(PushTime) {
            j += square * along.t;
        }
        Reading {
            criterion: j,
            loss: (dx[0] * x[1] + x[0] * dx[1]) * theta[2] + x[0] * x[1] * dt[2],
        }
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: self.pushes.then_some(2),
        }
    }
}

const THETA: [f64; 3] = [0.7, 0.4, 0.6];
const X0: [f64; 3] = [0.9, 0.5, -0.8];

/// Mismatch of a mistake, in one precision.
fn found<S: Scalar>(mistake: Mistake, pushes: bool) -> Result<(), Mismatch> {
    let plant = Plant::new(mistake, pushes);
    let outcome = if let AfreshAdds | AfreshNotWritten = mistake {
        check(Map.until(c::<S>(-1.0)), &plant, &THETA, &X0)
    } else {
        check(Euler::new(c::<S>(0.02)).until(c(-1.0)), &plant, &THETA, &X0)
    };
    match outcome {
        Ok(checked) => {
            assert_eq!(checked.undecided, 0, "{mistake:?}");
            assert_eq!(checked.points, 4);
            Ok(())
        }
        Err(CheckError::Mismatch(mismatch)) => Err(mismatch),
        Err(CheckError::Refused(error)) => panic!("{mistake:?}: {error}"),
    }
}

const PULL: Function = Function::Pullback;
const PUSH: Function = Function::Pushforward;

fn x(i: usize) -> Option<Entry> {
    Some(Entry::X(i))
}
fn theta(i: usize) -> Option<Entry> {
    Some(Entry::Theta(i))
}

/// Mistake, function, outputs and entries of which one must be named, kind.
type Case = (Mistake, Function, Option<Output>, Vec<Option<Entry>>, Kind);

fn cases() -> Vec<Case> {
    use Function::{PullbackAfresh, Rate};
    use Output::{Criterion, Loss, Sum};
    let a = |i| Some(Output::Rate(i));
    vec![
        (Factor, PULL, a(2), vec![x(2)], Kind::Value),
        (Sign, PULL, Some(Criterion), vec![x(2)], Kind::Value),
        (
            WrongIndex,
            PULL,
            a(0),
            vec![theta(0), theta(2)],
            Kind::Missing,
        ),
        (
            OverwritesTheta,
            PULL,
            None,
            vec![theta(1)],
            Kind::Overwrites,
        ),
        (OverwritesX, PULL, None, vec![x(2)], Kind::Overwrites),
        (MissingTheta, PULL, a(2), vec![theta(2)], Kind::Missing),
        (
            MissingCriterion,
            PULL,
            Some(Criterion),
            vec![x(0), x(1), x(2)],
            Kind::Missing,
        ),
        (
            MissingCriterionTheta,
            PULL,
            Some(Criterion),
            vec![theta(1)],
            Kind::Missing,
        ),
        (MissingLoss, PULL, Some(Loss), vec![x(0)], Kind::Missing),
        (
            MissingTime,
            PULL,
            Some(Criterion),
            vec![Some(Entry::Time)],
            Kind::Missing,
        ),
        (
            SuperfluousTerm,
            PULL,
            Some(Criterion),
            vec![x(1)],
            Kind::Value,
        ),
        (Transposed, PULL, None, vec![x(0), x(1), x(2)], Kind::Value),
        (CachedTape, PULL, a(0), vec![x(0)], Kind::StaleTape),
        (
            TapeNotWritten,
            PULL,
            a(0),
            vec![x(0)],
            Kind::UnwrittenTape(1),
        ),
        (ScratchAssumedZero, PULL, None, vec![x(0)], Kind::Scratch),
        (OffByOne, PULL, a(2), vec![x(1), x(2)], Kind::Missing),
        (WrongBranch, PULL, a(1), vec![x(0), x(1)], Kind::Value),
        (WrongFunction, PULL, a(0), vec![x(0)], Kind::Value),
        (SmallTerm, PULL, a(2), vec![x(1)], Kind::Factor(0.875)),
        (OnlyLater, PULL, Some(Criterion), vec![x(0)], Kind::Value),
        (TogetherOnly, PULL, Some(Sum), vec![x(0)], Kind::Value),
        (Nan, PULL, None, vec![x(1)], Kind::NotFinite),
        (RateAdds, Rate, a(2), vec![None], Kind::Adds),
        (RateNotWritten, Rate, a(1), vec![None], Kind::NotWritten),
        (RateScratch, Rate, a(0), vec![None], Kind::Scratch),
        (PushFactor, PUSH, a(0), vec![x(0)], Kind::Value),
        (PushAdds, PUSH, a(1), vec![None], Kind::Adds),
        (PushTheta, PUSH, a(0), vec![theta(0)], Kind::Missing),
        (
            PushCriterion,
            PUSH,
            Some(Criterion),
            vec![x(2)],
            Kind::Value,
        ),
        (
            PushTime,
            PUSH,
            Some(Criterion),
            vec![Some(Entry::Time)],
            Kind::Missing,
        ),
        (PushNotWritten, PUSH, a(2), vec![None], Kind::NotWritten),
        (AfreshAdds, PullbackAfresh, None, vec![x(0)], Kind::Adds),
        (
            AfreshNotWritten,
            PullbackAfresh,
            None,
            vec![x(2)],
            Kind::NotWritten,
        ),
    ]
}

fn all_found<S: Scalar>() {
    assert_eq!(found::<S>(Mistake::Nothing, true), Ok(()));
    assert_eq!(found::<S>(Mistake::Nothing, false), Ok(()));
    for (mistake, function, output, entries, kind) in cases() {
        for pushes in [true, false] {
            // A tape that is not written spoils both derivatives.
            if pushes && mistake == TapeNotWritten || function == PUSH && !pushes {
                continue;
            }
            let mismatch = found::<S>(mistake, pushes).expect_err(&format!("{mistake:?}"));
            println!("{mistake:?}: {mismatch}");
            assert_eq!(mismatch.function, function, "{mistake:?}: {mismatch}");
            assert!(entries.contains(&mismatch.entry), "{mistake:?}: {mismatch}");
            if let Some(output) = output {
                let named = mismatch.output == output || mistake == WrongIndex;
                assert!(named, "{mistake:?}: {mismatch}");
            }
            let same = match (kind, mismatch.kind) {
                (Kind::Factor(a), Kind::Factor(b)) => (a - b).abs() < 0.01,
                // Which of several wrong entries is the worst depends on the precision, and a ratio may be constant by chance.
                (Kind::Value, _) | (Kind::Missing, Kind::Value | Kind::Superfluous) => true,
                (a, b) => a == b,
            };
            assert!(same, "{mistake:?}: {kind:?}, got {mismatch:?}");
            let later = mistake == OnlyLater;
            assert_eq!(mismatch.place != Place::Step(0), later, "{mismatch}");
        }
    }
}

#[test]
fn every_mistake_is_found_and_named() {
    all_found::<f64>();
    all_found::<f32>();
}

/// 50 states and 50 parameters, A_i = θ_i·x_i·x_{i+1}; one entry of the pullback is wrong.
struct Ring {
    wrong: usize,
    in_theta: bool,
}

const N: usize = 50;

impl<S: Scalar> System<S> for Ring {
    fn dims(&self) -> Dims {
        Dims::new(N, N)
    }
    fn rate(&self, at: Point<'_, S>, rate: &mut [S], _: &mut [S], _: &mut [S]) -> Reading<S> {
        for (i, rate) in rate.iter_mut().enumerate() {
            *rate = at.theta[i] * at.x[i] * at.x[(i + 1) % N];
        }
        let sum = at.x.iter().fold(S::ZERO, |sum, &x| sum + x * x);
        Reading {
            criterion: sum,
            loss: sum,
        }
    }
    fn pullback(&self, at: Point<'_, S>, _: &[S], seed: Seed<'_, S>, bar: Bar<'_, S>, _: &mut [S]) {
        for i in 0..N {
            let (a, next) = (seed.rate[i], (i + 1) % N);
            let wrong = i == self.wrong;
            let factor = |here: bool| if wrong && here { c(2.0) } else { S::ONE };
            bar.theta[i] += factor(self.in_theta) * a * at.x[i] * at.x[next];
            bar.x[i] += factor(!self.in_theta) * a * at.theta[i] * at.x[next];
            bar.x[next] += a * at.theta[i] * at.x[i];
            bar.x[i] += S::TWO * (seed.criterion + seed.loss) * at.x[i];
        }
    }
}

fn one_of_fifty<S: Scalar>() {
    let values: Vec<f64> = (0..N).map(|i| 0.6 + 0.4 * (i as f64).sin()).collect();
    let plan = Euler::new(c::<S>(0.01)).until(c(-1.0));
    for wrong in [0, 17, 31, 32, 49] {
        for in_theta in [true, false] {
            let ring = Ring { wrong, in_theta };
            let error = check(plan, &ring, &values, &values).unwrap_err();
            let mismatch = error.mismatch().unwrap();
            let entry = if in_theta { theta(wrong) } else { x(wrong) };
            assert_eq!(
                (mismatch.output, mismatch.entry),
                (Output::Rate(wrong), entry),
                "{error}"
            );
            assert_eq!(mismatch.kind, Kind::Factor(2.0), "{error}");
        }
    }
    let right = Ring {
        wrong: N,
        in_theta: true,
    };
    assert_eq!(check(plan, &right, &values, &values).err(), None);
}

#[test]
fn one_wrong_entry_of_fifty_is_found() {
    one_of_fifty::<f64>();
    one_of_fifty::<f32>();
}

#[test]
fn a_mismatch_is_one_sentence() {
    for (mistake, sentence) in [
        (
            Factor,
            "pullback: d(A[2])/d(x[2]) is 0.42 where differences give -0.06",
        ),
        (
            OverwritesX,
            "pullback: the cotangent of x[2] is overwritten: add to it with += instead of =",
        ),
        (
            RateAdds,
            "rate: A[2] is added to its old content: write it with = instead of +=",
        ),
        (RateNotWritten, "rate: A[1] is not written"),
        (
            RateScratch,
            "rate: A[0] depends on the content of the scratch memory before the call",
        ),
        (
            TapeNotWritten,
            "pullback: d(A[0])/d(x[0]) reads tape[1], which rate does not write",
        ),
        (
            CachedTape,
            "pullback: d(A[0])/d(x[0]) depends on the last call of rate instead of the tape",
        ),
        (
            MissingTime,
            "pullback: d(J)/d(t) is 0 where differences give 1.7 (the term is missing)",
        ),
        (
            PushAdds,
            "pushforward: the derivative of A[1] is added to its old content: write it with = instead of +=",
        ),
        (
            AfreshAdds,
            "pullback_afresh: the cotangent of x[0] is added to its old content: write it with = instead of +=",
        ),
        (
            Nan,
            "pullback: d(A[0])/d(x[1]) is NaN where differences give 0.2",
        ),
    ] {
        let pushes = mistake != TapeNotWritten;
        let mismatch = found::<f64>(mistake, pushes).unwrap_err();
        assert_eq!(mismatch.to_string(), sentence);
        assert_eq!(CheckError::from(mismatch).to_string(), sentence);
    }
}
