//! Binomial coefficients of optimal reversal (Griewank and Walther).
//!
//! With `a` slots, one of which holds the first state, `beta(a, r) = C(a + r, a)` steps can be reversed if no step is advanced
//! over more than `r` times. The least number of advances that reverses `l` steps is therefore
//!
//! ```text
//! t(l, a) = sum over q >= 0 of max(0, l - beta(a, q)) = r l - C(a + r, r - 1),
//! ```
//!
//! where `r` is the least number with `l <= beta(a, r)`: all steps need the `q`-th repetition except the `beta(a, q)` steps that
//! need only `q`. The sum is convex in `l`, with slope `r`.
//!
//! Counts are `usize`: on a small machine 32 bits are cheaper than 64, and no run there takes 2^32 steps. Every function is exact
//! or saturates at `usize::MAX`, for all arguments, in at most a few hundred multiplications: the search over `r` doubles and
//! halves.

/// Integer wide enough for a product of two counts.
#[cfg(target_pointer_width = "64")]
type Wide = u128;
#[cfg(not(target_pointer_width = "64"))]
type Wide = u64;

/// Length of the longest run that `s` slots reverse with at most `r` repetitions of a step: `C(s + r, s)`.
///
/// Saturates at `usize::MAX`.
#[must_use]
pub const fn beta(s: usize, r: usize) -> usize {
    let (few, many) = if s < r { (s, r) } else { (r, s) };
    let mut b: usize = 1;
    let mut i: usize = 0;
    // The running product C(many + i, i) is an integer, so the division is exact. It at least doubles each time, so there are few
    // rounds.
    while i < few && b < usize::MAX {
        i += 1;
        b = match many.checked_add(i) {
            Some(factor) => scale(b, factor, i),
            None => usize::MAX,
        };
    }
    b
}

/// The least `r` with `l <= beta(a, r)`: the largest number of times that any of `l` steps is advanced over.
///
/// `usize::MAX` if there is none (`a = 0` and `l > 1`).
#[must_use]
pub const fn repetitions(l: usize, a: usize) -> usize {
    match a {
        _ if l <= 1 => 0,
        0 => usize::MAX,
        1 => l - 1,
        _ => search(l, a, 0),
    }
}

/// The least number of advances that reverse `l` steps from their first state with `a` slots, including the slot of that state:
/// `t(l, a)`. Saturates.
#[must_use]
pub const fn advances(l: usize, a: usize) -> usize {
    cost(l, a, 0).0
}

/// The least number of forward steps, including the first sweep, to reverse a run of known length `n` with `s` slots when the
/// last state but one is available.
#[must_use]
pub const fn optimum(n: usize, s: usize) -> usize {
    if n == 0 {
        0
    } else {
        advances(n, s).saturating_add(1)
    }
}

/// Steps to advance from the first of `l` steps before the next state is stored, with `a` slots (including that of the first
/// state): a split of least cost.
///
/// At most `l - 1`, the state of the last step; equal to it if no slot is free (`a <= 1`).
#[must_use]
pub const fn split(l: usize, a: usize) -> usize {
    if l <= 1 {
        return 0;
    }
    if a <= 1 {
        return l - 1;
    }
    let r = repetitions(l, a).saturating_sub(1);
    split_at(l, beta(a, r), beta(a - 1, r))
}

/// [`split`] for known `lower = beta(a, r - 1)` and `beside = beta(a - 1, r - 1)`.
#[inline]
pub(super) const fn split_at(l: usize, lower: usize, beside: usize) -> usize {
    // The first part must need at most r - 1 further repetitions. The second part is at least as long as r - 1 repetitions allow
    // at no extra cost.
    let m = if l - beside < lower {
        l - beside
    } else {
        lower
    };
    if m < l - 1 { m } else { l - 1 }
}

/// `x * num / den`, rounded down, saturating.
#[inline]
pub(super) const fn scale(x: usize, num: usize, den: usize) -> usize {
    match x.checked_mul(num) {
        Some(product) => match product.checked_div(den) {
            Some(quotient) => quotient,
            None => usize::MAX,
        },
        None => scale_wide(x, num, den),
    }
}

/// [`scale`] for products that are too wide. Long division by hand: the case is rare, and a double-width division is a large
/// routine on a small machine.
#[cold]
const fn scale_wide(x: usize, num: usize, den: usize) -> usize {
    let product = x as Wide * num as Wide;
    let (mut rest, mut digits) = ((product >> usize::BITS) as usize, product as usize);
    if rest >= den {
        return usize::MAX;
    }
    let mut i = 0;
    while i < usize::BITS {
        // Quotient bits enter `digits` on the right as product bits leave on the left.
        let carry = rest >> (usize::BITS - 1) == 1;
        rest = rest << 1 | digits >> (usize::BITS - 1);
        digits <<= 1;
        if carry || rest >= den {
            rest = rest.wrapping_sub(den);
            digits |= 1;
        }
        i += 1;
    }
    digits
}

/// `(t(l, a), r(l, a))` for any arguments; the search starts at `r = near`.
pub(super) const fn cost(l: usize, a: usize, near: usize) -> (usize, usize) {
    if l <= 1 {
        return (0, 0);
    }
    if a == 0 {
        return (usize::MAX, usize::MAX);
    }
    if a == 1 {
        // l (l - 1) / 2, halving the even factor.
        return ((l / 2).saturating_mul(l - 1 + l % 2), l - 1);
    }
    // From here on b = beta(a, r - 1). A few steps in either direction are usually enough.
    let mut r = if near == 0 { search(l, a, 0) } else { near };
    let mut b = beta(a, r - 1);
    let mut tries = 0;
    loop {
        if b >= l {
            r -= 1;
            b = scale(b, r, a.saturating_add(r));
        } else {
            let above = scale(b, a.saturating_add(r), r);
            if above >= l {
                break;
            }
            r += 1;
            b = above;
        }
        tries += 1;
        if tries == 8 {
            r = search(l, a, r);
            b = beta(a, r - 1);
        }
    }
    // C(a + r, r - 1) = beta(a, r - 1) (a + r) / (a + 1), where beta(a, r - 1) < l is exact. If it overflows, so does t, which is
    // larger.
    let saved = scale(b, a.saturating_add(r), a.saturating_add(1));
    let t = (r as Wide * l as Wide).saturating_sub(saved as Wide);
    if saved == usize::MAX || t > usize::MAX as Wide {
        (usize::MAX, r)
    } else {
        (t as usize, r)
    }
}

/// Terms of the sum for `t` that a [`Row`] holds: repetitions up to this number need no division.
pub(super) const TERMS: usize = 4;
/// Largest `a` of which a [`Row`] holds terms: no product overflows.
const MOST: usize = (1 << (usize::BITS / 4)) - 1;

/// `beta(a, 1..)` for one `a`: Pascal's triangle, read row by row. For more slots than [`MOST`], only the first term.
#[derive(Clone, Copy)]
pub(super) struct Row([usize; TERMS]);

impl Row {
    /// The row of `a`.
    #[inline]
    pub(super) const fn new(a: usize) -> Self {
        if a > MOST {
            return Self([a + 1, 0, 0, 0]);
        }
        let b2 = (a + 1) * (a + 2) / 2;
        let b3 = b2 * (a + 3) / 3;
        Self([a + 1, b2, b3, b3 * (a + 4) / 4])
    }

    /// `a`.
    #[inline]
    pub(super) const fn slots(&self) -> usize {
        let [b1, ..] = self.0;
        b1 - 1
    }

    /// The row of `a - 1`.
    #[inline]
    pub(super) const fn below(&self) -> Self {
        let [b1, b2, b3, b4] = self.0;
        if self.slots() > MOST {
            return Self::many(self.slots() - 1);
        }
        Self([b1 - 1, b2 - b1, b3 - b2, b4 - b3])
    }

    /// The row of an `a` that is at least [`MOST`].
    #[cold]
    #[inline(never)]
    const fn many(a: usize) -> Self {
        Self::new(a)
    }

    /// `t(l, a)` for `l > 0`, and `r(l, a)` if it exceeds [`TERMS`]; otherwise `near`, a guess at it.
    #[inline]
    pub(super) fn steps(&self, l: usize, near: usize) -> (usize, usize) {
        let [b1, b2, b3, b4] = self.0;
        // The sum in the module documentation.
        if l <= b2 {
            (l - 1 + l.saturating_sub(b1), near)
        } else if l <= b4 {
            (l - 1 + (l - b1) + (l - b2) + l.saturating_sub(b3), near)
        } else {
            far(l, self.slots(), near)
        }
    }
}

/// [`cost`] of a long segment.
#[cold]
#[inline(never)]
fn far(l: usize, a: usize, near: usize) -> (usize, usize) {
    cost(l, a, near)
}

/// The least `r` with `l <= beta(a, r)`, for `a > 0`; the search starts at `near`.
const fn search(l: usize, a: usize, near: usize) -> usize {
    // Invariant once bracketed: beta(a, low) < l <= beta(a, high).
    let (mut low, mut high);
    let mut stride = 1usize;
    if beta(a, near) < l {
        low = near;
        high = near.saturating_add(1);
        while beta(a, high) < l {
            low = high;
            stride = stride.saturating_mul(2);
            high = high.saturating_add(stride);
        }
    } else {
        high = near;
        loop {
            if high == 0 {
                return 0;
            }
            low = high.saturating_sub(stride);
            if beta(a, low) < l {
                break;
            }
            high = low;
            stride = stride.saturating_mul(2);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if beta(a, middle) < l {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
