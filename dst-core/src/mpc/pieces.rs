//! A slice in pieces of equal length, like `chunks_exact`, but without the division by that length: firmware would have to be told
//! what happens when it is zero. Here nothing does.

use core::mem::take;

/// The whole pieces of a slice.
#[inline]
pub(super) fn pieces<S>(mut rest: &[S], size: usize) -> impl Iterator<Item = &[S]> + Clone {
    core::iter::from_fn(move || {
        let (piece, after) = rest.split_at_checked(size)?;
        rest = after;
        (size > 0).then_some(piece)
    })
}

/// The mutable twin.
#[inline]
pub(super) fn pieces_mut<S>(mut rest: &mut [S], size: usize) -> impl Iterator<Item = &mut [S]> {
    core::iter::from_fn(move || {
        let (piece, after) = take(&mut rest).split_at_mut_checked(size)?;
        rest = after;
        (size > 0).then_some(piece)
    })
}
