//! Loops over long vectors, divided among threads at the same places as the products in two passes, so that a thread finds the entries
//! that it has written before in its own cache.

use dst_core::Scalar;

use super::two_pass::middle;
use crate::parallel::Share;

/// next ← x − h·rate. True if the result is finite.
pub(crate) fn descend(share: Share, next: &mut [f64], x: &[f64], h: f64, rate: &[f64]) -> bool {
    let Some(middle) = middle(next.len()) else {
        for ((next, &x), &rate) in next.iter_mut().zip(x).zip(rate) {
            *next = x - h * rate;
        }
        return f64::all_finite(next);
    };
    let (next, x, rate) = (
        next.split_at_mut(middle),
        x.split_at(middle),
        rate.split_at(middle),
    );
    let (left, right) = share.join(
        |share| descend(share, next.0, x.0, h, rate.0),
        |share| descend(share, next.1, x.1, h, rate.1),
    );
    left && right
}

/// x ← x − h·rate
pub(crate) fn descend_in_place(share: Share, x: &mut [f64], h: f64, rate: &[f64]) {
    let Some(middle) = middle(x.len()) else {
        for (x, &rate) in x.iter_mut().zip(rate) {
            *x -= h * rate;
        }
        return;
    };
    let (x, rate) = (x.split_at_mut(middle), rate.split_at(middle));
    share.join(
        |share| descend_in_place(share, x.0, h, rate.0),
        |share| descend_in_place(share, x.1, h, rate.1),
    );
}

/// to ← from
pub(crate) fn copy(share: Share, to: &mut [f64], from: &[f64]) {
    let Some(middle) = middle(to.len()) else {
        to.copy_from_slice(from);
        return;
    };
    let (to, from) = (to.split_at_mut(middle), from.split_at(middle));
    share.join(
        |share| copy(share, to.0, from.0),
        |share| copy(share, to.1, from.1),
    );
}

/// to ← factor·from
pub(crate) fn scale(share: Share, to: &mut [f64], factor: f64, from: &[f64]) {
    let Some(middle) = middle(to.len()) else {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = factor * from;
        }
        return;
    };
    let (to, from) = (to.split_at_mut(middle), from.split_at(middle));
    share.join(
        |share| scale(share, to.0, factor, from.0),
        |share| scale(share, to.1, factor, from.1),
    );
}

/// True if all values are finite.
pub(crate) fn all_finite(share: Share, values: &[f64]) -> bool {
    let Some(middle) = middle(values.len()) else {
        return f64::all_finite(values);
    };
    let (left, right) = values.split_at(middle);
    let (left, right) = share.join(
        |share| all_finite(share, left),
        |share| all_finite(share, right),
    );
    left && right
}
