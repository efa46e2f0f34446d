//! Expected output of the C program of known answers: that of `tests/host/examples/c_cases.rs`, from dst-core in Rust.

use crate::cargo::{Cargo, answer};

/// Compares the output of the program; returns the number of cases. Of cases whose label contains `left_out`, none is expected.
pub(crate) fn compare(
    cargo: &Cargo,
    output: &str,
    left_out: Option<&str>,
) -> Result<usize, String> {
    // In a process of its own: xtask must work when the engine does not compile.
    let mut cases = cargo.command();
    cases.args(["run", "--quiet", "--package", "dst-tests"]);
    let expected = answer(cases.args(["--example", "c_cases"]))?;
    let expected: Vec<&str> = expected
        .lines()
        .filter(|line| left_out.is_none_or(|words| !line.contains(words)))
        .collect();
    same(&expected.join("\n"), output)
}

/// The cases of both must be the same, the numbers up to rounding.
fn same(expected: &str, printed: &str) -> Result<usize, String> {
    let [expected, printed] = [expected, printed]
        .map(|text| text.lines().filter(|l| l.starts_with("case ")))
        .map(Iterator::collect::<Vec<_>>);
    if expected.is_empty() || printed.len() != expected.len() {
        let (there, here) = (printed.len(), expected.len());
        return Err(format!("{there} cases printed, {here} expected"));
    }
    for (expected, printed) in expected.iter().zip(&printed) {
        let difference = compare_line(expected, printed);
        difference.map_err(|e| format!("{printed}\nRust says {expected}\n{e}"))?;
    }
    Ok(expected.len())
}

/// Word by word: the label and the counts must be equal, numbers close.
fn compare_line(expected: &str, printed: &str) -> Result<(), String> {
    let (mut expected, mut printed) = (expected.split(' '), printed.split(' '));
    loop {
        match (expected.next(), printed.next()) {
            (None, None) => return Ok(()),
            (Some(expected), Some(printed)) if expected == printed => {}
            (Some(expected), Some(printed)) => close(expected, printed)?,
            (Some(missing), None) => return Err(format!("no {missing}")),
            (None, Some(more)) => return Err(format!("nothing of {more}")),
        }
    }
}

/// Two numbers that differ by rounding?
fn close(expected: &str, printed: &str) -> Result<(), String> {
    let (Some((a, tolerance)), Some((b, _)), true) = (
        from_bits(expected),
        from_bits(printed),
        expected.len() == printed.len(),
    ) else {
        return Err(format!("{expected}, not {printed}"));
    };
    let both_nan = a.is_nan() && b.is_nan();
    if both_nan || (a - b).abs() <= tolerance * a.abs().max(b.abs()) {
        Ok(())
    } else {
        Err(format!("{a:e}, not {b:e}"))
    }
}

/// A number and the relative difference that rounding may make. Eight digits are an f32, sixteen an f64; a count has fewer.
fn from_bits(digits: &str) -> Option<(f64, f64)> {
    let bits = u64::from_str_radix(digits, 16).ok()?;
    match digits.len() {
        8 => Some((f32::from_bits(u32::try_from(bits).ok()?).into(), 1e-5)),
        16 => Some((f64::from_bits(bits), 1e-12)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case with one count and one number.
    fn case(steps: usize, value: f64) -> String {
        format!("case f64 decay euler: {steps} {:016x}", value.to_bits())
    }

    #[test]
    fn numbers_may_differ_by_rounding_and_counts_by_nothing() {
        let line = case(147, 2.0);
        assert_eq!(same(&line, &line), Ok(1));
        assert_eq!(same(&line, &case(147, 2.0 + 1e-12)), Ok(1));
        assert!(same(&line, &case(147, 2.0 + 1e-11)).is_err());
        assert!(same(&line, &case(148, 2.0)).is_err());
        assert!(same(&line, &line.replace("euler", "heun")).is_err());
        assert_eq!(same(&case(1, f64::NAN), &case(1, -f64::NAN)), Ok(1));
        assert!(same(&case(1, f64::NAN), &case(1, 0.0)).is_err());
        assert!(same(&line, &case(147, f64::NAN)).is_err());
        assert!(same(&case(1, 1e-300), &case(1, 0.0)).is_err());
    }

    #[test]
    fn single_precision_has_a_tolerance_of_its_own() {
        let case = |value: f32| format!("case f32 decay: 7 {:08x}", value.to_bits());
        assert_eq!(same(&case(2.0), &case(2.000_01)), Ok(1));
        assert!(same(&case(2.0), &case(2.000_1)).is_err());
        let double = format!("case f32 decay: 7 {:016x}", 2.0_f64.to_bits());
        assert!(same(&case(2.0), &double).is_err());
    }

    #[test]
    fn what_is_missing_or_too_much_is_noticed() {
        let line = case(7, 2.0);
        let two = format!("{line}\n{line}");
        assert_eq!(same(&two, &format!("checks: 3\n{two}\n")), Ok(2));
        assert!(same(&two, &line).is_err() && same(&line, &two).is_err());
        assert!(same(&line, &format!("{line} 0")).is_err());
        assert!(same(&format!("{line} 0"), &line).is_err());
        assert!(same("", "").is_err());
    }
}
