//! Products that need only a few sums over the whole of x, and else only the entries at hand.
//!
//! The first pass sums the *moments* of x, part by part; after that the second pass computes any part of Qx from the same part of x. A
//! caller who has more to do before or after a product does it in the passes, while a part is in the cache: then threads wait
//! for each other once per product and not once more per operation around it.
//!
//! Parts are halves of halves, cut at places that depend on the length alone, and the sums of the halves are added: the bits do
//! not depend on the number of threads.

use crate::parallel::Share;

/// Entries in a part for one thread, at the most.
pub(crate) const PIECE: usize = 3072;

/// Parts begin at multiples of this.
const GRAIN: usize = 32;

/// The entry at which to halve `len` entries; `None` if they are few enough.
pub(crate) fn middle(len: usize) -> Option<usize> {
    (len > PIECE).then(|| (len / 2).next_multiple_of(GRAIN))
}

/// Number of parts of `len` entries.
pub(crate) fn parts(len: usize) -> usize {
    middle(len).map_or(1, |middle| parts(middle) + parts(len - middle))
}

/// A symmetric linear map in two passes.
pub trait TwoPass: Sync {
    /// Rows and columns.
    fn len(&self) -> usize;

    /// Number of moments. Every entry of Qx has a term of each, so that none is finite if a moment is not.
    fn moments_len(&self) -> usize;

    /// moments ← those of the entries `x`, which begin at `first`, a multiple of 32.
    fn measure(&self, first: usize, x: &[f64], moments: &mut [f64]);

    /// Turns the moments of all entries into what the second pass needs. `room` has as many entries as there are moments, of any
    /// content.
    fn resolve(&self, moments: &mut [f64], room: &mut [f64]);

    /// out ← entries of Qx, from the same entries of x, which begin at `first`, a multiple of 32.
    fn finish(&self, first: usize, x: &[f64], resolved: &[f64], out: &mut [f64]);

    /// True if there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Scratch memory of a whole product: the moments of all parts, and room to resolve them.
pub(crate) fn scratch_len<Q: TwoPass + ?Sized>(q: &Q) -> usize {
    (parts(q.len()) + 1) * q.moments_len()
}

/// Splits scratch memory into the moments of all parts and room to resolve them.
pub(crate) fn scratch<'a, Q: TwoPass + ?Sized>(
    q: &Q,
    scratch: &'a mut [f64],
) -> (&'a mut [f64], &'a mut [f64]) {
    scratch[..scratch_len(q)].split_at_mut(parts(q.len()) * q.moments_len())
}

/// Moments of the two halves that are cut at `middle`, and where those of the right half begin.
pub(crate) fn halves(moments: &mut [f64], len: usize, middle: usize) -> (&mut [f64], &mut [f64]) {
    let one = moments.len() / parts(len);
    moments.split_at_mut(parts(middle) * one)
}

/// Adds the moments of the right half to those of the left one, which become those of both. There are `one` of them.
pub(crate) fn add(left: &mut [f64], right: &[f64], one: usize) {
    for (left, right) in left[..one].iter_mut().zip(right) {
        *left += right;
    }
}

/// First pass over the entries `x`, which begin at `first`: afterwards their moments come first in `moments`.
pub(crate) fn measure<Q: TwoPass + ?Sized>(
    share: Share,
    q: &Q,
    first: usize,
    x: &[f64],
    moments: &mut [f64],
) {
    let Some(middle) = middle(x.len()) else {
        q.measure(first, x, moments);
        return;
    };
    let one = q.moments_len();
    let (left_x, right_x) = x.split_at(middle);
    let (left, right) = halves(moments, x.len(), middle);
    share.join(
        |share| measure(share, q, first, left_x, left),
        |share| measure(share, q, first + middle, right_x, right),
    );
    add(left, right, one);
}

/// Second pass over the entries `x`, which begin at `first`. Each part of `out` then goes through `then`, with the same part of
/// `beside`.
pub(crate) fn finish<Q: TwoPass + ?Sized>(
    share: Share,
    q: &Q,
    first: usize,
    x: &[f64],
    resolved: &[f64],
    (out, beside): (&mut [f64], &mut [f64]),
    then: &(impl Fn(&[f64], &mut [f64]) + Sync),
) {
    let Some(middle) = middle(x.len()) else {
        q.finish(first, x, resolved, out);
        then(out, beside);
        return;
    };
    let (left_x, right_x) = x.split_at(middle);
    let (left_out, right_out) = out.split_at_mut(middle);
    // Where there is nothing beside, there is nothing to cut.
    let (left, right) = beside.split_at_mut(middle.min(beside.len()));
    share.join(
        |share| finish(share, q, first, left_x, resolved, (left_out, left), then),
        |share| {
            let (first, to) = (first + middle, (right_out, right));
            finish(share, q, first, right_x, resolved, to, then);
        },
    );
}

/// out ← Qx
pub(crate) fn product<Q: TwoPass + ?Sized>(q: &Q, x: &[f64], out: &mut [f64], memory: &mut [f64]) {
    let (moments, room) = scratch(q, memory);
    let share = Share::all();
    measure(share, q, 0, x, moments);
    let (resolved, _) = moments.split_at_mut(q.moments_len());
    q.resolve(resolved, room);
    finish(share, q, 0, x, resolved, (out, &mut []), &|_, _| {});
}
