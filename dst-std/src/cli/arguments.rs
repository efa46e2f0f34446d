//! Readers of argument values. Each error completes the sentence "--name …, got 'value'".

use std::num::IntErrorKind;

use dst_core::Crossing;

use crate::l2o;
use crate::parallel;
use crate::qp;
use crate::tune;
use crate::validation;

/// Reads a whole number that is at least `least`.
pub(super) fn whole_at_least(text: &str, least: usize) -> Result<usize, String> {
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

/// Reads 0, 1, 2, …
pub(super) fn count(text: &str) -> Result<usize, String> {
    whole_at_least(text, 0)
}

/// Reads 1, 2, …
pub(super) fn positive_count(text: &str) -> Result<usize, String> {
    whole_at_least(text, 1)
}

/// Reads 1, 2, … 1024.
pub(super) fn thread_count(text: &str) -> Result<usize, String> {
    let at_most = || format!("must be at most {}", parallel::MOST);
    match text.parse::<usize>() {
        Ok(value) if value > parallel::MOST => Err(at_most()),
        Err(e) if *e.kind() == IntErrorKind::PosOverflow => Err(at_most()),
        _ => whole_at_least(text, 1),
    }
}

/// Reads a whole number of 64 bits.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(value) => Ok(value),
        Err(e) if *e.kind() == IntErrorKind::PosOverflow => {
            Err(format!("must be at most {}", u64::MAX))
        }
        Err(_) if is_negative_whole(text) => Err("must be at least 0".to_owned()),
        Err(_) => Err("must be a whole number".to_owned()),
    }
}

/// Reads a finite number.
pub(super) fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("must be a finite number".to_owned()),
    }
}

/// Values that the command line knows by name.
pub(super) trait Named: Copy + 'static {
    /// Every value, in the order of the error message.
    const ALL: &'static [Self];

    /// Returns the name. Upper and lower case are the same.
    fn name(self) -> &'static str;
}

/// Reads the name of a value.
pub(super) fn named<T: Named>(text: &str) -> Result<T, String> {
    one_of(text, T::ALL, |value| value.name()).copied()
}

/// Finds an item of a list by its name.
pub(super) fn one_of<'a, T>(
    text: &str,
    all: &'a [T],
    name: impl Fn(&'a T) -> &'a str,
) -> Result<&'a T, String> {
    let mut items = all.iter();
    let found = items.find(|item| name(item).eq_ignore_ascii_case(text));
    found.ok_or_else(|| {
        let names: Vec<String> = all
            .iter()
            .map(|item| name(item).to_ascii_lowercase())
            .collect();
        format!("must be one of {}", names.join(", "))
    })
}

/// Types of the library that list their values and names.
macro_rules! named {
    ($($type:ty),+ $(,)?) => {
        $(impl Named for $type {
            const ALL: &'static [Self] = &<$type>::ALL;

            fn name(self) -> &'static str {
                <$type>::name(self)
            }
        })+
    };
}

named!(
    Crossing,
    l2o::Architecture,
    qp::SolverChoice,
    tune::Criterion,
    tune::ProblemKind,
    tune::TunedMethod,
    validation::IntegratorName,
);

impl Named for l2o::Loss {
    const ALL: &'static [Self] = &[Self::Mean, Self::Log];

    fn name(self) -> &'static str {
        l2o::Loss::name(self)
    }
}

/// Declares an enumeration of the command line with the names of its values.
macro_rules! names {
    ($(#[$attribute:meta])* enum $type:ident { $($value:ident = $name:literal),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum $type {
            $($value),+
        }

        impl $crate::cli::arguments::Named for $type {
            const ALL: &'static [Self] = &[$(Self::$value),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name),+
                }
            }
        }
    };
}
pub(super) use names;

/// Reads zero or a positive number.
pub(super) fn not_negative(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(value) if value >= 0.0 => Ok(value),
        _ => Err("must be zero or a positive number".to_owned()),
    }
}

/// Reads a positive number.
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
    fn whole_numbers_have_a_lower_bound() {
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
    fn threads_are_limited_and_seeds_have_64_bits() {
        assert_eq!(thread_count("1"), Ok(1));
        assert_eq!(thread_count("1024"), Ok(1024));
        for (text, reason) in [
            ("0", "must be at least 1"),
            ("-4", "must be at least 1"),
            ("1025", "must be at most 1024"),
            ("99999999999999999999", "must be at most 1024"),
            ("all", "must be a whole number"),
        ] {
            assert_eq!(thread_count(text).unwrap_err(), reason, "{text}");
        }
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        for text in ["-1", "18446744073709551616", "0x1", ""] {
            assert!(seed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_is_found_in_any_case_and_the_error_lists_all_names() {
        assert_eq!(named("heavy-ball"), Ok(tune::TunedMethod::HeavyBall));
        assert_eq!(named("RK4"), Ok(validation::IntegratorName::Rk4));
        assert_eq!(named("rk4"), Ok(validation::IntegratorName::Rk4));
        for text in ["", "rk", "rk44", "euler "] {
            let reason = named::<validation::IntegratorName>(text).unwrap_err();
            assert_eq!(reason, "must be one of euler, heun, rk4", "{text}");
        }
    }

    #[test]
    fn real_numbers_are_finite() {
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
