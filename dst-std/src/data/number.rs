//! Decimal numbers, read fast and rounded correctly.
//!
//! A number m·10^e with m ≤ 2⁵³ and |e| ≤ 22 is the correctly rounded quotient or product of two exact doubles, so one
//! operation reads it (Clinger's fast path). Nearly every number in a data file is of that kind; the standard library
//! reads the others.

/// The largest power of ten that is exact in double precision is 10²².
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Another digit fits a `u64` while the number is below this.
const ROOM: u64 = 1_000_000_000_000_000_000;

/// Reads the decimal number that `bytes` begins with, and tells how long it is. `None` if there is none.
///
/// Sign, digits with or without a point, exponent; no `inf`, `nan` or hexadecimal. Too large a number is infinite.
pub(super) fn decimal(bytes: &[u8]) -> Option<(f64, usize)> {
    let byte = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let mut at = usize::from(matches!(byte(0), b'+' | b'-'));
    let (mut mantissa, mut scale, mut whole) = (0_u64, 0_i32, true);
    let first = at;
    while byte(at).is_ascii_digit() {
        if mantissa < ROOM {
            mantissa = 10 * mantissa + u64::from(byte(at) - b'0');
        } else {
            whole = false;
        }
        at += 1;
    }
    let mut digits = at - first;
    if byte(at) == b'.' {
        at += 1;
        let point = at;
        while byte(at).is_ascii_digit() {
            if mantissa < ROOM {
                mantissa = 10 * mantissa + u64::from(byte(at) - b'0');
                scale -= 1;
            } else {
                whole = false;
            }
            at += 1;
        }
        digits += at - point;
    }
    if digits == 0 {
        return None;
    }
    if matches!(byte(at), b'e' | b'E') {
        let sign = usize::from(matches!(byte(at + 1), b'+' | b'-'));
        let start = at + 1 + sign;
        let mut end = start;
        let mut exponent = 0_i32;
        while byte(end).is_ascii_digit() {
            exponent = exponent
                .saturating_mul(10)
                .saturating_add(i32::from(byte(end) - b'0'));
            end += 1;
        }
        if end == start {
            return None;
        }
        let exponent = if byte(at + 1) == b'-' {
            -exponent
        } else {
            exponent
        };
        scale = scale.saturating_add(exponent);
        at = end;
    }
    let power = POWERS.get(scale.unsigned_abs() as usize);
    if let Some(&power) = power
        && whole
        && mantissa <= 1 << 53
    {
        let size = mantissa as f64;
        let size = if scale < 0 {
            size / power
        } else {
            size * power
        };
        return Some((if byte(0) == b'-' { -size } else { size }, at));
    }
    let text = str::from_utf8(&bytes[..at]).ok()?;
    Some((text.parse().ok()?, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::uniform;

    /// Every text is read as the standard library reads it, to the bit.
    #[test]
    fn agrees_with_the_standard_library() {
        let mut texts: Vec<String> = [
            "0",
            "-0",
            "+1",
            "1.",
            ".5",
            "1e22",
            "1e23",
            "-1e-22",
            "1e-23",
            "9007199254740992",
            "9007199254740993",
            "0.1",
            "1e308",
            "1e309",
            "5e-324",
            "1e-400",
            "123456789012345678901",
            "0.30000000000000004",
            "00001.50000",
            "1E+05",
            "0e999999999999",
            "1e-999999999999",
            "179769313486231580793728971405301e276",
            "2.2250738585072011e-308",
        ]
        .map(str::to_owned)
        .to_vec();
        for i in 0..20_000_u64 {
            let u = |k| uniform(5, 8 * i + k);
            let digits = (u(0) * 19.0) as usize;
            let number = (u(1) * 10f64.powi(digits as i32)) as u64;
            let exponent = (u(2) * 60.0) as i32 - 30;
            let (place, text) = ((u(3) * digits as f64) as usize, number.to_string());
            let (a, b) = text.split_at(place.min(text.len()));
            texts.push(if u(4) < 0.5 {
                format!("-{a}.{b}e{exponent}")
            } else {
                format!("{a}{b}")
            });
        }
        for text in &texts {
            let expected = text.parse::<f64>();
            let ours = decimal(text.as_bytes());
            match (ours, expected) {
                (Some((ours, length)), Ok(theirs)) => {
                    assert_eq!(ours.to_bits(), theirs.to_bits(), "{text}");
                    assert_eq!(length, text.len(), "{text}");
                }
                (None, Err(_)) => {}
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn stops_where_the_number_does() {
        for (text, value, length) in [
            ("1 2", 1.0, 1),
            ("-1.5:3", -1.5, 4),
            ("1e5\n", 1e5, 3),
            ("7x", 7.0, 1),
            ("0x10", 0.0, 1),
            ("1.2.3", 1.2, 3),
        ] {
            assert_eq!(decimal(text.as_bytes()), Some((value, length)), "{text}");
        }
        for text in [
            "", "-", "+", ".", "e5", "1e", "1e+", "inf", "nan", "-.", "-e1", "\u{221e}",
        ] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
    }
}
