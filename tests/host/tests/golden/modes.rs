//! One problem in every mode, with every crossing and every number of slots.

use crate::book::{Book, Line, Number};
use crate::engine::{Crossing, GoldenRun, Mode, Request, Scalar, Stop};

/// Either precision.
pub(crate) trait Real: Scalar + Number {}
impl<S: Scalar + Number> Real for S {}

/// List of literals.
pub(crate) fn lit<S: Scalar, const N: usize>(values: [f64; N]) -> [S; N] {
    values.map(S::from_f64)
}

/// Problem that is complete except for the request.
pub(crate) type Ask<'a, S> = &'a dyn Fn(&Request) -> Result<GoldenRun<S>, String>;

/// Case with all fields of an answer except the final state and the evaluations.
fn line<S: Real>(name: &str, answer: &Result<GoldenRun<S>, String>) -> Line {
    let line = Line::new(name);
    match answer {
        Err(error) => line.word("error", &error),
        Ok(answer) => {
            let mut line = line.word("N", &answer.steps);
            if let Some(stop) = answer.stop {
                let Stop {
                    time,
                    steps,
                    epsilon,
                    rounding,
                    transversality,
                } = stop;
                line = line
                    .numbers("T", &[time])
                    .numbers("steps", &[steps])
                    .numbers("de", &[epsilon])
                    .numbers("cond", &[rounding, transversality]);
            }
            line.numbers("dtheta", &answer.theta)
                .numbers("dx0", &answer.x0)
        }
    }
}

/// Adds the final state to the case.
fn end<S: Real>(line: Line, answer: &Result<GoldenRun<S>, String>) -> Line {
    match answer {
        Err(_) => line,
        Ok(answer) => line.numbers("x", &answer.state),
    }
}

fn text<S: Real>(answer: &Result<GoldenRun<S>, String>) -> String {
    format!("{:?}", end(line("", answer), answer))
}

/// Evaluations for every number of slots, without and with records; an answer that is not in `allowed` is a fault.
fn every_slot_count<S: Real>(
    book: &mut Book,
    name: &str,
    request: Request,
    ask: Ask<'_, S>,
    allowed: &[String],
) -> [Vec<usize>; 3] {
    let first = ask(&request);
    let n = first.as_ref().map_or(1, |answer| answer.steps);
    let mut work = [const { Vec::new() }; 3];
    for slots in [1, 2, 3, 7, n + 1] {
        for keep_records in [false, true] {
            let answer = ask(&Request {
                slots,
                keep_records,
                ..request
            });
            if !allowed.contains(&text(&answer)) {
                let what = format!("{slots} slots, records {keep_records}");
                book.fault(format!("{name}: {what}: {answer:?} instead of {allowed:?}"));
            }
            let found = answer.map_or([None; 3], |answer| answer.evaluations.map(Some));
            for (work, count) in work.iter_mut().zip(found) {
                work.extend(count);
            }
        }
    }
    work
}

/// Adds the evaluations to the case: for 1, 2, 3, 7 and N + 1 slots, each without and with records.
fn with_work(line: Line, [rates, pullbacks, pushforwards]: [Vec<usize>; 3]) -> Line {
    line.work("rate", rates)
        .work("pull", pullbacks)
        .work("push", pushforwards)
}

/// One mode: one line with the answer, which is the same for every number of slots.
pub(crate) fn one_mode<S: Real>(
    book: &mut Book,
    name: &str,
    request: Request,
    ask: Ask<'_, S>,
) -> String {
    let answer = ask(&request);
    let same = text(&answer);
    let work = every_slot_count(book, name, request, ask, std::slice::from_ref(&same));
    let mut line = line(name, &answer);
    if request.mode == Mode::Tangent {
        // The final state is that of the other mode, and is not written again.
        let adjoint = ask(&Request {
            mode: Mode::Adjoint,
            ..request
        });
        let ends = [&adjoint, &answer].map(|answer| format!("{:?}", end(Line::new(""), answer)));
        if ends[0] != ends[1] {
            book.fault(format!("{name}: ends elsewhere: {ends:?}"));
        }
    } else {
        line = end(line, &answer);
    }
    book.add(with_work(line, work));
    same
}

/// Both modes, and the automatic choice of the engine, which must be one of the two.
pub(crate) fn every_mode<S: Real>(book: &mut Book, name: &str, request: Request, ask: Ask<'_, S>) {
    let mode = |mode| Request { mode, ..request };
    let [adjoint, tangent, auto] =
        ["adjoint", "tangent", "auto"].map(|mode| format!("{name}/{mode}"));
    let both = [
        one_mode(book, &adjoint, mode(Mode::Adjoint), ask),
        one_mode(book, &tangent, mode(Mode::Tangent), ask),
    ];
    let work = every_slot_count(book, &auto, mode(Mode::Auto), ask, &both);
    book.add(with_work(Line::new(auto), work));
}

/// Every crossing in every mode.
pub(crate) fn every_crossing<S: Real>(
    book: &mut Book,
    name: &str,
    request: Request,
    ask: Ask<'_, S>,
) {
    for crossing in Crossing::ALL {
        let name = format!("{name}/{}", crossing.name());
        every_mode(
            book,
            &name,
            Request {
                crossing,
                ..request
            },
            ask,
        );
    }
}
