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
    use super::short;

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
