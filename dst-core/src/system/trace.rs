//! Trace of a formula: reverse mode without a heap.
//!
//! Every operation that joins two numbers writes a *record* (two operands, two slopes) into memory that the caller lends. A walk
//! from the last record to the first then carries the cotangent of the outputs to all inputs: ā += slope·ȳ. One walk serves every
//! input, so a pullback costs a few evaluations, whatever the number of states and parameters.
//!
//! Functions of one number and operations with constants write no record. A [`Traced`] number refers to a record and carries the
//! derivative with respect to it, which such an operation only multiplies. Cotangents that are zero are not carried further: the
//! slope may be infinite where the output does not depend on it.
//!
//! The slopes are of type `V`: plain numbers for a gradient, dual numbers for a Hessian-vector product (forward over reverse).
//! Operands are stored by the bits of an integer. A trace that does not fit is counted to its end: [`Trace::len`] then exceeds
//! [`Trace::capacity`], and the caller reports the length.

use core::cell::Cell;
use core::fmt;
use core::ops::{Add, Div, Mul, Neg, Sub};

use super::arithmetic::{Arithmetic, Function, Function2, sealed::Sealed};
use super::dual::Dual;
use super::number::Number;
use crate::scalar::Scalar;

/// Slopes that a trace can hold: plain numbers, or dual numbers with one direction.
pub trait Recorded: Arithmetic {
    /// A record in memory: two operands, two slopes.
    type Record: Copy;
    /// Numbers per record.
    const RECORD: usize;
    /// Numbers per cotangent.
    const ADJOINT: usize;

    /// Records in a slice of numbers.
    fn records(memory: &mut [Self::Scalar]) -> &mut [Self::Record];
    /// Record of an operation.
    fn pack(operands: [usize; 2], slopes: [Self; 2]) -> Self::Record;
    /// Parts of a record.
    fn unpack(record: Self::Record) -> ([usize; 2], [Self; 2]);
    /// Cotangent number `index`; zero if there is none.
    fn adjoint(adjoints: &[Self::Scalar], index: usize) -> Self;
    /// Adds to cotangent number `index`.
    fn add_adjoint(adjoints: &mut [Self::Scalar], index: usize, value: Self);
    /// True if the value and its slope are zero.
    fn is_zero(self) -> bool;
    /// First number of a slice, with its slope.
    fn read(memory: &[Self::Scalar]) -> Self {
        Self::adjoint(memory, 0)
    }
}

#[inline(always)]
fn to_bits<S: Scalar>(index: usize) -> S {
    S::from_bits(index as u64)
}

#[inline(always)]
fn from_bits<S: Scalar>(index: S) -> usize {
    index.bits() as usize
}

impl<S: Scalar> Recorded for Dual<S, 0> {
    type Record = [S; 4];
    const RECORD: usize = 4;
    const ADJOINT: usize = 1;

    #[inline(always)]
    fn records(memory: &mut [S]) -> &mut [[S; 4]] {
        memory.as_chunks_mut().0
    }
    #[inline(always)]
    fn pack([i, j]: [usize; 2], [a, b]: [Self; 2]) -> [S; 4] {
        [to_bits(i), to_bits(j), a.value, b.value]
    }
    #[inline(always)]
    fn unpack([i, j, a, b]: [S; 4]) -> ([usize; 2], [Self; 2]) {
        let slopes = [Self::constant(a), Self::constant(b)];
        ([from_bits(i), from_bits(j)], slopes)
    }
    #[inline(always)]
    fn adjoint(adjoints: &[S], index: usize) -> Self {
        Self::constant(adjoints.get(index).copied().unwrap_or(S::ZERO))
    }
    #[inline(always)]
    fn add_adjoint(adjoints: &mut [S], index: usize, value: Self) {
        if let Some(adjoint) = adjoints.get_mut(index) {
            *adjoint += value.value;
        }
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self.value == S::ZERO
    }
}

impl<S: Scalar> Recorded for Dual<S, 1> {
    type Record = [S; 6];
    const RECORD: usize = 6;
    const ADJOINT: usize = 2;

    #[inline(always)]
    fn records(memory: &mut [S]) -> &mut [[S; 6]] {
        memory.as_chunks_mut().0
    }
    #[inline(always)]
    fn pack([i, j]: [usize; 2], [a, b]: [Self; 2]) -> [S; 6] {
        let ([da], [db]) = (a.slope, b.slope);
        [to_bits(i), to_bits(j), a.value, b.value, da, db]
    }
    #[inline(always)]
    fn unpack([i, j, a, b, da, db]: [S; 6]) -> ([usize; 2], [Self; 2]) {
        let dual = |value, slope| Self {
            value,
            slope: [slope],
        };
        ([from_bits(i), from_bits(j)], [dual(a, da), dual(b, db)])
    }
    #[inline(always)]
    fn adjoint(adjoints: &[S], index: usize) -> Self {
        let (pairs, _) = adjoints.as_chunks::<2>();
        let [value, slope] = pairs.get(index).copied().unwrap_or([S::ZERO; 2]);
        Self {
            value,
            slope: [slope],
        }
    }
    #[inline(always)]
    fn add_adjoint(adjoints: &mut [S], index: usize, value: Self) {
        let (pairs, _) = adjoints.as_chunks_mut::<2>();
        if let Some([adjoint, slope]) = pairs.get_mut(index) {
            let [d] = value.slope;
            *adjoint += value.value;
            *slope += d;
        }
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self.value == S::ZERO && self.slope == [S::ZERO]
    }
}

/// Records of one evaluation, in borrowed memory.
pub struct Trace<'m, V: Recorded> {
    records: &'m [Cell<V::Record>],
    len: Cell<usize>,
}

impl<V: Recorded> fmt::Debug for Trace<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} of {})", self.len(), self.capacity())
    }
}

impl<'m, V: Recorded> Trace<'m, V> {
    /// Empty trace; its capacity is the number of whole records in the memory.
    #[inline(always)]
    pub fn new(memory: &'m mut [V::Scalar]) -> Self {
        let records = Cell::from_mut(V::records(memory)).as_slice_of_cells();
        let len = Cell::new(0);
        Self { records, len }
    }

    /// Number of records of the evaluation, including those that did not fit.
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of records that fit. The inputs of the formula are numbered from here.
    #[inline(always)]
    pub fn capacity(&self) -> usize {
        self.records.len()
    }

    /// Input number `index` of the formula.
    #[inline(always)]
    pub fn input(&self, value: V, index: usize) -> Traced<'_, V> {
        Traced {
            value,
            slope: V::constant(V::Scalar::ONE),
            record: self.capacity().wrapping_add(index),
            trace: Some(self),
        }
    }

    /// Sets the cotangents of the records and of the inputs to zero.
    pub fn clear(&self, adjoints: &mut [V::Scalar]) {
        let per = V::ADJOINT;
        let (records, inputs) =
            crate::slices::split_mut(adjoints, self.capacity().wrapping_mul(per));
        let (used, _) = crate::slices::split_mut(records, self.len().wrapping_mul(per));
        used.fill(V::Scalar::ZERO);
        inputs.fill(V::Scalar::ZERO);
    }

    /// Adds seed·∂output to the cotangents.
    #[inline(always)]
    pub fn seed(&self, adjoints: &mut [V::Scalar], output: Traced<'_, V>, seed: V) {
        if output.trace.is_some() && !seed.is_zero() {
            V::add_adjoint(adjoints, output.record, output.slope * seed);
        }
    }

    /// Carries the cotangents from the last record to the inputs. The trace must have fitted.
    pub fn sweep(&self, adjoints: &mut [V::Scalar]) {
        let (records, _) = crate::slices::split(self.records, self.len());
        for (index, record) in records.iter().enumerate().rev() {
            let adjoint = V::adjoint(adjoints, index);
            if adjoint.is_zero() {
                continue;
            }
            let ([i, j], [a, b]) = V::unpack(record.get());
            V::add_adjoint(adjoints, i, a * adjoint);
            V::add_adjoint(adjoints, j, b * adjoint);
        }
    }

    /// Records an operation with two operands and returns its result.
    #[inline(always)]
    fn record<'t>(&'t self, operands: [usize; 2], slopes: [V; 2], value: V) -> Traced<'t, V> {
        let record = self.len.get();
        self.len.set(record.wrapping_add(1));
        if let Some(cell) = self.records.get(record) {
            cell.set(V::pack(operands, slopes));
        }
        Traced {
            value,
            slope: V::constant(V::Scalar::ONE),
            record,
            trace: Some(self),
        }
    }
}

/// Traced number: its value, the record that it depends on, and the derivative with respect to that record.
#[derive(Clone, Copy, Debug)]
pub struct Traced<'t, V: Recorded> {
    value: V,
    slope: V,
    record: usize,
    /// `None` for a constant.
    trace: Option<&'t Trace<'t, V>>,
}

impl<V: Recorded> Sealed for Traced<'_, V> {}

impl<V: Recorded> Traced<'_, V> {
    /// Value, with its slopes if `V` has any.
    #[inline(always)]
    pub fn inner(self) -> V {
        self.value
    }

    /// The same dependence with another value, and the slope times a factor.
    #[inline(always)]
    fn chain(self, value: V, factor: V) -> Self {
        Self {
            value,
            slope: self.slope * factor,
            ..self
        }
    }

    /// g(a, b) with value and slopes. Slopes are evaluated for operands that are no constants.
    #[inline(always)]
    fn join(self, other: Self, value: V, a: impl FnOnce() -> V, b: impl FnOnce() -> V) -> Self {
        match (self.trace, other.trace) {
            (Some(trace), Some(_)) => {
                let slopes = [self.slope * a(), other.slope * b()];
                trace.record([self.record, other.record], slopes, value)
            }
            (Some(_), None) => self.chain(value, a()),
            (None, Some(_)) => other.chain(value, b()),
            (None, None) => Self::from_inner(value),
        }
    }

    #[inline(always)]
    fn from_inner(value: V) -> Self {
        Self {
            value,
            slope: V::constant(V::Scalar::ZERO),
            record: 0,
            trace: None,
        }
    }
}

impl<V: Recorded> Arithmetic for Traced<'_, V> {
    type Scalar = V::Scalar;

    #[inline(always)]
    fn constant(value: V::Scalar) -> Self {
        Self::from_inner(V::constant(value))
    }
    #[inline(always)]
    fn value(self) -> V::Scalar {
        self.value.value()
    }
    #[inline(always)]
    fn plus(self, c: V::Scalar) -> Self {
        Self {
            value: self.value.plus(c),
            ..self
        }
    }
    #[inline(always)]
    fn times(self, c: V::Scalar) -> Self {
        Self {
            value: self.value.times(c),
            slope: self.slope.times(c),
            ..self
        }
    }
    #[inline(always)]
    fn over(self, c: V::Scalar) -> Self {
        Self {
            value: self.value.over(c),
            slope: self.slope.over(c),
            ..self
        }
    }
    #[inline]
    fn apply<G: Function<V::Scalar>>(self, g: G) -> Self {
        let value = self.value.apply(g);
        if self.trace.is_none() {
            return Self::from_inner(value);
        }
        self.chain(value, g.slope(Number(self.value), Number(value)).0)
    }
    #[inline]
    fn combine<G: Function2<V::Scalar>>(self, other: Self, g: G) -> Self {
        let value = self.value.combine(other.value, g);
        let (a, b, y) = (Number(self.value), Number(other.value), Number(value));
        self.join(
            other,
            value,
            || g.slope_a(a, b, y).0,
            || g.slope_b(a, b, y).0,
        )
    }
}

impl<V: Recorded> Neg for Traced<'_, V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self {
            value: -self.value,
            slope: -self.slope,
            ..self
        }
    }
}

impl<V: Recorded> Add for Traced<'_, V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let value = self.value + other.value;
        match (self.trace, other.trace) {
            (Some(trace), Some(_)) => {
                let (operands, slopes) = ([self.record, other.record], [self.slope, other.slope]);
                trace.record(operands, slopes, value)
            }
            (Some(_), None) => Self { value, ..self },
            _ => Self { value, ..other },
        }
    }
}

impl<V: Recorded> Sub for Traced<'_, V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<V: Recorded> Mul for Traced<'_, V> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let value = self.value * other.value;
        self.join(other, value, || other.value, || self.value)
    }
}

impl<V: Recorded> Div for Traced<'_, V> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        let one = V::constant(V::Scalar::ONE);
        self.join(other, value, || one / other.value, || -value / other.value)
    }
}
