//! The binomial numbers of optimal reversal (Griewank and Walther).
//!
//! With `a` slots, one of which holds the first state, `beta(a, r) = C(a + r, a)` steps can be
//! reversed when no step is advanced over more than `r` times. The least number of advances that
//! reverses `l` steps is therefore
//!
//! ```text
//! t(l, a) = sum over q >= 0 of max(0, l - beta(a, q)) = r l - C(a + r, r - 1),
//! ```
//!
//! with `r` the least number such that `l <= beta(a, r)`: the `q`-th repetition is paid by all
//! steps but the `beta(a, q)` that need only `q`. It is convex in `l`, with slope `r`.
//!
//! Every function is exact or saturates at `u64::MAX`, for all arguments, in at most a few hundred
//! multiplications (a search over `r` by doubling and halving, never a walk).

/// `C(s + r, s)`: the longest run that `s` slots reverse with at most `r` repetitions of a step.
///
/// Saturates at `u64::MAX`.
#[must_use]
pub const fn beta(s: u64, r: u64) -> u64 {
    let (few, many) = if s < r {
        (s, r as u128)
    } else {
        (r, s as u128)
    };
    let mut b: u128 = 1;
    let mut i: u64 = 0;
    // Each factor (many + i) / i is at least 2 while it matters: at most 64 rounds.
    while i < few {
        i += 1;
        // The running product is C(many + i, i), an integer, so that the division is exact.
        b = match b.saturating_mul(many + i as u128).checked_div(i as u128) {
            Some(q) => q,
            None => return u64::MAX,
        };
        if b > u64::MAX as u128 {
            return u64::MAX;
        }
    }
    b as u64
}

/// The least `r` with `l <= beta(a, r)`: how often some step of `l` is advanced over.
///
/// `u64::MAX` if there is none (`a = 0` and `l > 1`).
#[must_use]
pub const fn repetitions(l: u64, a: u64) -> u64 {
    match a {
        _ if l <= 1 => 0,
        0 => u64::MAX,
        1 => l - 1,
        _ => search(l, a, 0),
    }
}

/// `t(l, a)`: the least number of advances that reverse `l` steps from their first state with `a`
/// slots, that state's included. Saturates.
#[must_use]
pub const fn advances(l: u64, a: u64) -> u64 {
    cost(l, a, 0).0
}

/// The least number of forward steps, those of the first sweep included, of a run of `n` steps
/// whose length is known beforehand, reversed with `s` slots and the last state but one at hand.
#[must_use]
pub const fn optimum(n: u64, s: u64) -> u64 {
    if n == 0 {
        0
    } else {
        advances(n, s).saturating_add(1)
    }
}

/// How far to advance from the first of `l` steps before the next state is stored, when `a`
/// slots (the first state's included) are at hand: a place of least cost.
///
/// At most `l - 1`, which leads to the last step's state, and equal to it if there is no slot
/// to store anything (`a <= 1`).
#[must_use]
pub const fn split(l: u64, a: u64) -> u64 {
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
pub(super) const fn split_at(l: u64, lower: u64, beside: u64) -> u64 {
    // The first part must manage with r - 1 further repetitions; the second is not made shorter
    // than what r - 1 repetitions give for nothing.
    let m = if l - beside < lower {
        l - beside
    } else {
        lower
    };
    if m < l - 1 { m } else { l - 1 }
}

/// `x * num / den`, rounded down, saturating; 0 for `den = 0`.
#[inline]
pub(super) const fn scale(x: u64, num: u64, den: u64) -> u64 {
    if let Some(p) = x.checked_mul(num) {
        return match p.checked_div(den) {
            Some(q) => q,
            None => 0,
        };
    }
    match (x as u128 * num as u128).checked_div(den as u128) {
        Some(q) if q <= u64::MAX as u128 => q as u64,
        Some(_) => u64::MAX,
        None => 0,
    }
}

/// `(t(l, a), r(l, a))`, quickly for the short segments that a schedule meets most of the time,
/// and by a search from `near` for the others.
#[inline]
pub(super) const fn cost(l: u64, a: u64, near: u64) -> (u64, u64) {
    // The sum of the module's head, as far as its terms need no division by a variable.
    if l <= 1 {
        return (0, 0);
    }
    // A bound under which nothing below overflows.
    if a < 1 << 20 && l < 1 << 62 {
        let mut t = l - 1;
        let mut b = a + 1;
        if l <= b {
            return (t, 1);
        }
        t += l - b;
        b = b * (a + 2) / 2;
        if l <= b {
            return (t, 2);
        }
        t += l - b;
        b = b * (a + 3) / 3;
        if l <= b {
            return (t, 3);
        }
    }
    far(l, a, near)
}

/// [`cost`] for any arguments.
const fn far(l: u64, a: u64, near: u64) -> (u64, u64) {
    if a == 0 {
        return (u64::MAX, u64::MAX);
    }
    let r = if a == 1 { l - 1 } else { search(l, a, near) };
    let t = if a == 1 {
        l as u128 * (l as u128 - 1) / 2
    } else {
        // C(a + r, r - 1) = beta(a, r - 1) (a + r) / (a + 1), where beta(a, r - 1) < l is exact.
        let steps = beta(a, r.saturating_sub(1)) as u128;
        let saved = steps * (a as u128 + r as u128) / (a as u128 + 1);
        (r as u128 * l as u128).saturating_sub(saved)
    };
    (
        if t > u64::MAX as u128 {
            u64::MAX
        } else {
            t as u64
        },
        r,
    )
}

/// The least `r` with `l <= beta(a, r)`, for `a > 0`, looked for around `near`.
const fn search(l: u64, a: u64, near: u64) -> u64 {
    // Invariant once bracketed: beta(a, low) < l <= beta(a, high).
    let (mut low, mut high);
    let mut stride = 1u64;
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
