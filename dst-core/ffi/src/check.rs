//! Check of the derivatives of a problem, in the caller's workspace.

use core::convert::Infallible;
use core::ffi::{c_char, c_void};

use dst_core::Scalar;
use dst_core::solve::check::{
    CheckError, Entry, Function, Kind, Mismatch, Output, Place, Reference, Sentence,
};

use crate::arguments::{Span, present, read};
use crate::object::Setup;
use crate::run::{Run, begin, compare};
use crate::status::{Outcome, dst_status};
use crate::types::{
    Options, Problem, dst_check_entry, dst_check_function, dst_check_kind, dst_check_output,
    dst_mismatch,
};

/// # Safety
/// Every pointer is NULL or points to the object described in the header, and nothing else uses the workspace during the call.
pub(crate) unsafe fn check<S: Scalar>(
    problem: *const Problem<S>,
    options: *const Options<S>,
    theta: *const S,
    x0: *const S,
    workspace: *mut c_void,
    workspace_size: usize,
    mismatch: *mut dst_mismatch,
) -> Outcome<()> {
    present(mismatch)?;
    // SAFETY: as required of the caller; `mismatch` is present and disjoint from the workspace, as `begin` checks.
    unsafe {
        let setup = Setup::<Run<S>>::new(problem, options)?;
        let outputs = [Span::of(mismatch, 1)];
        let entered = &mut begin(&setup, [theta, x0], workspace, workspace_size, &outputs)?;
        let outcome = compare(entered);
        // An abort comes first: after it every result is NaN.
        entered.calls.judge(Ok(()))?;
        match outcome {
            Ok(()) => Ok(()),
            Err(CheckError::Refused(error)) => Err(error.into()),
            Err(CheckError::Mismatch(found)) => {
                mismatch.write(found.into());
                Err(dst_status::DST_WRONG_DERIVATIVE)
            }
        }
    }
}

/// Writes the mismatch as one sentence, such as `pullback: d(J)/d(theta[2]) is 0.5 where differences give 1 (half of it)`, to
/// `text`, as snprintf does: at most size - 1 characters and a terminating zero, nothing if `size` is 0. Returns the length
/// of the whole sentence; 0 if a pointer is NULL or misaligned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dst_mismatch_message(
    mismatch: *const dst_mismatch,
    text: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller guarantees a mismatch there.
    let Ok(mismatch) = (unsafe { read(mismatch) }) else {
        return 0;
    };
    if text.is_null() && size > 0 {
        return 0;
    }
    let mut length: usize = 0;
    let mut put = |byte: u8| {
        if length < size.saturating_sub(1) {
            // SAFETY: the caller guarantees `size` characters there.
            unsafe { text.add(length).write(byte as c_char) };
        }
        length = length.saturating_add(1);
    };
    let written: Result<(), Infallible> = Sentence::of(&mismatch.into(), &mut |piece| {
        piece.bytes().for_each(&mut put);
        Ok(())
    });
    let Ok(()) = written;
    if size > 0 {
        // SAFETY: as above; the place is at most size - 1.
        unsafe { text.add(length.min(size - 1)).write(0) };
    }
    length
}

/// Pairs of a kind and its number in C, without the kinds that carry a number.
const KINDS: [(Kind, dst_check_kind); 10] = [
    (Kind::Value, dst_check_kind::DST_CHECK_VALUE),
    (Kind::Sign, dst_check_kind::DST_CHECK_SIGN),
    (Kind::Missing, dst_check_kind::DST_CHECK_MISSING),
    (Kind::Superfluous, dst_check_kind::DST_CHECK_SUPERFLUOUS),
    (Kind::NotFinite, dst_check_kind::DST_CHECK_NOT_FINITE),
    (Kind::Overwrites, dst_check_kind::DST_CHECK_OVERWRITES),
    (Kind::Adds, dst_check_kind::DST_CHECK_ADDS),
    (Kind::NotWritten, dst_check_kind::DST_CHECK_NOT_WRITTEN),
    (Kind::StaleTape, dst_check_kind::DST_CHECK_STALE_TAPE),
    (
        Kind::NotRepeatable,
        dst_check_kind::DST_CHECK_NOT_REPEATABLE,
    ),
];

impl From<Mismatch> for dst_mismatch {
    fn from(found: Mismatch) -> Self {
        let function = match found.function {
            Function::Rate => dst_check_function::DST_CHECK_RATE,
            Function::Pushforward => dst_check_function::DST_CHECK_PUSHFORWARD,
            _ => dst_check_function::DST_CHECK_PULLBACK,
        };
        let (output, output_index) = match found.output {
            Output::Rate(i) => (dst_check_output::DST_CHECK_A, i),
            Output::Criterion => (dst_check_output::DST_CHECK_J, 0),
            Output::Loss => (dst_check_output::DST_CHECK_F, 0),
            _ => (dst_check_output::DST_CHECK_SUM, 0),
        };
        let (entry, entry_index) = match found.entry {
            Some(Entry::Theta(i)) => (dst_check_entry::DST_CHECK_THETA, i),
            Some(Entry::X(i)) => (dst_check_entry::DST_CHECK_X, i),
            Some(_) => (dst_check_entry::DST_CHECK_T, 0),
            None => (dst_check_entry::DST_CHECK_NO_ENTRY, 0),
        };
        let (kind, factor, tape_index) = match found.kind {
            Kind::Factor(factor) => (dst_check_kind::DST_CHECK_FACTOR, factor, 0),
            Kind::UnwrittenTape(i) => (dst_check_kind::DST_CHECK_UNWRITTEN_TAPE, 0.0, i),
            kind => {
                let mut pairs = KINDS.into_iter();
                let pair = pairs.find(|(own, _)| *own == kind);
                let number = pair.map_or(dst_check_kind::DST_CHECK_VALUE, |(_, number)| number);
                (number, 0.0, 0)
            }
        };
        Self {
            function: function as i32,
            output: output as i32,
            output_index,
            entry: entry as i32,
            entry_index,
            expected: found.expected,
            found: found.found,
            reference: match found.reference {
                Reference::Differences => 0,
                Reference::Pushforward => 1,
                Reference::Itself => 2,
            },
            kind: kind as i32,
            factor,
            tape_index,
            step: match found.place {
                Place::Step(step) => step,
                Place::Beside => usize::MAX,
            },
        }
    }
}

impl From<dst_mismatch> for Mismatch {
    /// Any number that is not in its list counts as the first of it.
    fn from(given: dst_mismatch) -> Self {
        const RATE: i32 = dst_check_function::DST_CHECK_RATE as i32;
        const PUSHFORWARD: i32 = dst_check_function::DST_CHECK_PUSHFORWARD as i32;
        const J: i32 = dst_check_output::DST_CHECK_J as i32;
        const F: i32 = dst_check_output::DST_CHECK_F as i32;
        const SUM: i32 = dst_check_output::DST_CHECK_SUM as i32;
        const THETA: i32 = dst_check_entry::DST_CHECK_THETA as i32;
        const X: i32 = dst_check_entry::DST_CHECK_X as i32;
        const T: i32 = dst_check_entry::DST_CHECK_T as i32;
        const FACTOR: i32 = dst_check_kind::DST_CHECK_FACTOR as i32;
        const TAPE: i32 = dst_check_kind::DST_CHECK_UNWRITTEN_TAPE as i32;
        Self {
            function: match given.function {
                RATE => Function::Rate,
                PUSHFORWARD => Function::Pushforward,
                _ => Function::Pullback,
            },
            output: match given.output {
                J => Output::Criterion,
                F => Output::Loss,
                SUM => Output::Sum,
                _ => Output::Rate(given.output_index),
            },
            entry: match given.entry {
                THETA => Some(Entry::Theta(given.entry_index)),
                X => Some(Entry::X(given.entry_index)),
                T => Some(Entry::Time),
                _ => None,
            },
            expected: given.expected,
            found: given.found,
            reference: match given.reference {
                1 => Reference::Pushforward,
                2 => Reference::Itself,
                _ => Reference::Differences,
            },
            kind: match given.kind {
                FACTOR => Kind::Factor(given.factor),
                TAPE => Kind::UnwrittenTape(given.tape_index),
                number => {
                    let mut pairs = KINDS.into_iter();
                    let pair = pairs.find(|(_, own)| *own as i32 == number);
                    pair.map_or(Kind::Value, |(kind, _)| kind)
                }
            },
            place: match given.step {
                usize::MAX => Place::Beside,
                step => Place::Step(step),
            },
        }
    }
}
