//! Numbers as people read them: four significant digits, a power of ten only where it is shorter.

/// `value` with four significant digits: `0.01235`, `12.35`, `1.235e-7`; whole numbers below a million in full.
pub fn short(value: f64) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    let size = value.abs();
    if value == value.trunc() && size < 1e6 {
        // Adding zero turns −0 into 0.
        return format!("{}", value + 0.0);
    }
    // Rounding first: 9999.96 has five digits before the point, not four.
    let scientific = format!("{value:.3e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-3..6).contains(&exponent) {
        let decimals = usize::try_from(3 - exponent).unwrap_or(0);
        trimmed(&format!("{value:.decimals$}")).to_owned()
    } else {
        format!("{}e{exponent}", trimmed(mantissa))
    }
}

/// The same, rounded up: what is printed of a bound is a bound.
pub(crate) fn at_most(value: f64) -> String {
    let text = short(value);
    match text.parse::<f64>() {
        Ok(shown) if shown < value => {
            let last_digit = libm::exp10(libm::floor(libm::log10(value.abs())) - 3.0);
            short(value + 0.5 * last_digit)
        }
        _ => text,
    }
}

/// A confidence in percent, with the digits that tell it from certainty: `99.9999`.
pub(crate) fn percent(share: f64) -> String {
    let digits = libm::ceil(-libm::log10(1.0 - share)).clamp(1.0, 15.0);
    trimmed(&format!("{:.*}", digits as usize, 100.0 * share)).to_owned()
}

/// Without the zeros at the end of a decimal fraction.
pub(crate) fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{at_most, percent, short};

    #[test]
    fn a_bound_is_rounded_up() {
        for (value, text) in [
            (1e-3, "0.001"),
            (2.9951e-4, "2.996e-4"),
            (9.9991e-5, "1e-4"),
            (1.000_01e-7, "1.001e-7"),
            (0.0, "0"),
        ] {
            assert_eq!(at_most(value), text, "{value:?}");
        }
    }

    #[test]
    fn a_confidence_is_no_certainty() {
        for (share, text) in [
            (0.95, "95"),
            (0.5, "50"),
            (0.999, "99.9"),
            (0.999_999, "99.9999"),
            (0.123, "12.3"),
        ] {
            assert_eq!(percent(share), text);
        }
        assert_ne!(percent(1.0 - f64::EPSILON / 2.0), "100");
    }

    #[test]
    fn four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (118.0, "118"),
            (-3.0, "-3"),
            (123_456.0, "123456"),
            (0.012_345_6, "0.01235"),
            (1.5, "1.5"),
            (1e-3, "0.001"),
            (1e-4, "1e-4"),
            (9999.96, "10000"),
            (12_345.6, "12346"),
            (1.2346e-7, "1.235e-7"),
            (1e-300, "1e-300"),
            (-6.022e23, "-6.022e23"),
            (1e6, "1e6"),
            (f64::INFINITY, "∞"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(short(value), text, "{value:?}");
        }
    }
}
