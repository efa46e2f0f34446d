//! Readers of argument values. Each error completes the sentence "--name …, got 'value'".

use std::num::IntErrorKind;

/// A whole number that is at least `least`.
fn whole(text: &str, least: usize) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(value) if value >= least => Ok(value),
        Ok(_) => Err(format!("must be at least {least}")),
        Err(e) if *e.kind() == IntErrorKind::PosOverflow => {
            Err(format!("must be at most {}", usize::MAX))
        }
        Err(_) if is_negative_whole(text) => Err(format!("must be at least {least}")),
        Err(_) => Err("must be a whole number".to_owned()),
    }
}

fn is_negative_whole(text: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// 0, 1, 2, …
pub(super) fn count(text: &str) -> Result<usize, String> {
    whole(text, 0)
}

/// 1, 2, …
pub(super) fn positive_count(text: &str) -> Result<usize, String> {
    whole(text, 1)
}

/// Any number but infinity and NaN.
pub(super) fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("must be a finite number".to_owned()),
    }
}

/// A number above zero.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(value) if value > 0.0 => Ok(value),
        _ => Err("must be a positive number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        assert_eq!(positive_count("3"), Ok(3));
        assert_eq!(count("0"), Ok(0));
        for text in ["0", "-0", "-3"] {
            assert_eq!(positive_count(text).unwrap_err(), "must be at least 1");
        }
        for text in ["", "-", "x", "1.5", "1e3", "--json", "NaN"] {
            assert_eq!(count(text).unwrap_err(), "must be a whole number");
        }
        assert!(
            count("18446744073709551616")
                .unwrap_err()
                .contains("at most")
        );
    }

    #[test]
    fn real_numbers() {
        assert_eq!(finite("-0.5"), Ok(-0.5));
        assert_eq!(positive("1e-4"), Ok(1e-4));
        for text in ["inf", "NaN", "", "x", "1e999"] {
            assert!(finite(text).is_err(), "{text}");
        }
        for text in ["0", "-0.1", "-0", "inf"] {
            assert_eq!(positive(text).unwrap_err(), "must be a positive number");
        }
    }
}
