//! Quadratic programs in memory of the caller.
//!
//! There is no object and no seal: constants and memory are plain arrays, checked for their length at every call.

use dst_core::qp::{Bounds, Dense, DenseMemory, Status};
use dst_core::{Error, Scalar};

use crate::arguments::{Span, apart, optional, present, read, vector};
use crate::status::{Outcome, dst_status};
use crate::types::{QpProgram, dst_qp_outcome, dst_qp_status};

/// Most variables and most rows.
const MOST: usize = 16_383;

/// Numbers of the constants: those of the prepared program, and its number of leading rows that are bounds on variables.
fn constants_len<S: Scalar>(program: &QpProgram<S>) -> usize {
    Dense::<S>::numbers(program.variables, program.rows) + 1
}

fn numbers_len<S: Scalar>(program: &QpProgram<S>) -> usize {
    DenseMemory::<S>::numbers(program.variables, program.rows, program.capacity)
}

/// Copies the program and checks its sizes.
///
/// # Safety
/// The pointer is NULL or points to a program initialised by C.
unsafe fn given<S: Scalar>(program: *const QpProgram<S>) -> Outcome<QpProgram<S>> {
    // SAFETY: as required of the caller.
    let program = unsafe { read(program) }?;
    let QpProgram {
        variables,
        rows,
        capacity,
        ..
    } = program;
    let sound = |size: usize| (1..=MOST).contains(&size);
    if !(sound(variables) && sound(rows) && sound(capacity)) {
        return Err(dst_status::DST_ERROR_SIZE);
    }
    let most = isize::MAX as usize / size_of::<S>();
    let squares = [variables * variables, rows * variables];
    let lengths = [constants_len(&program), numbers_len(&program)];
    if squares.into_iter().chain(lengths).any(|len| len > most) {
        return Err(dst_status::DST_ERROR_SIZE);
    }
    Ok(program)
}

/// Lengths of constants, numbers and words; zeros if the program is invalid.
///
/// # Safety
/// As for [`given`].
pub(crate) unsafe fn lengths<S: Scalar>(program: *const QpProgram<S>) -> [usize; 3] {
    // SAFETY: as required of the caller.
    match unsafe { given(program) } {
        Ok(program) => [
            constants_len(&program),
            numbers_len(&program),
            DenseMemory::<S>::words(program.capacity),
        ],
        Err(_) => [0; 3],
    }
}

/// Caps and lifts; empty if NULL.
///
/// # Safety
/// If not NULL, they point to as many numbers as the program has rows, unchanged during `'a`.
unsafe fn penalties<'a, S: Scalar>(program: &QpProgram<S>) -> Outcome<[&'a [S]; 2]> {
    let list = |pointer: *const S| {
        let len = if pointer.is_null() { 0 } else { program.rows };
        // SAFETY: as required of the caller.
        unsafe { vector(pointer, len) }
    };
    Ok([list(program.caps)?, list(program.lifts)?])
}

/// Spans of the arrays of a program.
fn spans<S>(program: &QpProgram<S>) -> [Span; 4] {
    let (n, m) = (program.variables, program.rows);
    [
        Span::of(program.hessian, n * n),
        Span::of(program.matrix, m * n),
        Span::of(program.caps, m),
        Span::of(program.lifts, m),
    ]
}

/// Every error of a program names its data: the lengths are checked before.
fn refused(_: Error) -> dst_status {
    dst_status::DST_ERROR_PROGRAM
}

/// # Safety
/// Every pointer is NULL or points to the array described in the header.
pub(crate) unsafe fn prepare<S: Scalar>(
    program: *const QpProgram<S>,
    constants: *mut S,
    constants_len_given: usize,
) -> Outcome<()> {
    let own = Span::of(program, 1);
    // SAFETY: as required of the caller; the sizes are checked before slices are made, and the constants overlap no input.
    unsafe {
        let program = given(program)?;
        present(constants)?;
        let needed = constants_len(&program);
        if constants_len_given < needed {
            return Err(dst_status::DST_ERROR_WORKSPACE_TOO_SMALL);
        }
        let [p, a, c, l] = spans(&program);
        apart(&[Span::of(constants, needed)], &[own, p, a, c, l])?;
        let (n, m) = (program.variables, program.rows);
        let hessian = vector(program.hessian, n * n)?;
        let matrix = vector(program.matrix, m * n)?;
        let [caps, lifts] = penalties(&program)?;
        // Checked here, because a solve would refuse them only later.
        let positive = |v: &S| *v >= S::ZERO;
        if !caps.iter().chain(lifts).all(positive) || !S::all_finite(lifts) {
            return Err(dst_status::DST_ERROR_PROGRAM);
        }
        if !(program.tolerance >= S::ZERO && program.tolerance < S::ONE) {
            return Err(dst_status::DST_ERROR_PROGRAM);
        }
        constants.write_bytes(0, needed);
        let memory = core::slice::from_raw_parts_mut(constants, needed);
        let Some((boxed, memory)) = memory.split_last_mut() else {
            return Err(dst_status::DST_ERROR_INTERNAL);
        };
        *boxed = S::NAN; // until the program is prepared
        let tolerance = program.tolerance;
        let prepared = Dense::prepare(hessian, matrix, caps, lifts, tolerance, memory);
        *boxed = S::from_count(prepared.map_err(refused)?.boxed);
    }
    Ok(())
}

/// # Safety
/// As for [`prepare`], and nothing else uses numbers and words during the call.
pub(crate) unsafe fn solve<S: Scalar>(
    program: *const QpProgram<S>,
    constants: *const S,
    constants_len_given: usize,
    numbers: *mut S,
    numbers_len_given: usize,
    words: *mut u16,
    words_len_given: usize,
    [linear, lower, upper]: [*const S; 3],
    budget: usize,
    solution: *mut S,
    outcome: *mut dst_qp_outcome,
) -> Outcome<()> {
    let own = Span::of(program, 1);
    // SAFETY: as required of the caller; the sizes are checked before slices are made, and no output overlaps anything.
    unsafe {
        let program = given(program)?;
        present(constants)?;
        present(numbers)?;
        present(words)?;
        present(solution)?;
        present(outcome)?;
        optional(program.hessian)?;
        let (n, m) = (program.variables, program.rows);
        let known = constants_len(&program);
        let (count, word_count) = (
            numbers_len(&program),
            DenseMemory::<S>::words(program.capacity),
        );
        if constants_len_given < known || numbers_len_given < count || words_len_given < word_count
        {
            return Err(dst_status::DST_ERROR_WORKSPACE_TOO_SMALL);
        }
        let outputs = [
            Span::of(numbers, count),
            Span::of(words, word_count),
            Span::of(solution, n),
            Span::of(outcome, 1),
        ];
        let inputs = [
            Span::of(linear, n),
            Span::of(lower, m),
            Span::of(upper, m),
            Span::of(constants, known),
            own,
        ];
        apart(&outputs, &inputs)?;
        apart(&outputs, &spans(&program))?;
        let linear = vector(linear, n)?;
        let bounds = Bounds {
            lower: vector(lower, m)?,
            upper: vector(upper, m)?,
        };
        let [caps, lifts] = penalties(&program)?;
        let constants = vector(constants, known)?;
        let Some((&boxed, constants)) = constants.split_last() else {
            return Err(dst_status::DST_ERROR_INTERNAL);
        };
        // NaN: the program was refused.
        if boxed.is_nan() || boxed < S::ZERO {
            return Err(dst_status::DST_ERROR_NOT_INITIALISED);
        }
        let boxed = boxed.to_f64() as usize;
        let tolerance = program.tolerance;
        let prepared = Dense::prepared(n, m, boxed, caps, lifts, tolerance, constants);
        let prepared = prepared.map_err(refused)?;
        // Numbers may be uninitialised in C; zero bits are the number zero.
        numbers.write_bytes(0, count);
        let numbers = core::slice::from_raw_parts_mut(numbers, count);
        let words = core::slice::from_raw_parts_mut(words, word_count);
        let memory = DenseMemory::keep(n, m, program.capacity, numbers, words);
        let mut memory = memory.map_err(refused)?;
        let found = prepared.solve(&mut memory, linear, bounds, budget);
        let found = found.map_err(refused)?;
        crate::arguments::hand_over(solution, memory.variables());
        let status = match found.status {
            Status::Solved => dst_qp_status::DST_QP_SOLVED,
            Status::Softened => dst_qp_status::DST_QP_SOFTENED,
            Status::Late => dst_qp_status::DST_QP_LATE,
            Status::Infeasible => dst_qp_status::DST_QP_INFEASIBLE,
        };
        outcome.write(dst_qp_outcome {
            status: status as i32,
            steps: found.steps,
        });
    }
    Ok(())
}
