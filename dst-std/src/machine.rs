//! What this process may use of the machine, where the system tells.

/// Bytes that can still be allocated without swapping; `None` where the system does not tell.
pub fn available_memory() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemAvailable:")
}

/// The most bytes that this process has ever had in memory at once.
pub fn peak_memory() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// The number after `name`, which Linux gives in kilobytes.
fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    number.checked_mul(1024)
}

/// A number of bytes for people: three digits and a unit.
pub fn bytes(count: f64) -> String {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (count.max(1.0).log2() / 10.0).floor().clamp(0.0, 6.0);
    let scaled = count / 1024f64.powf(power);
    let digits = if power == 0.0 || scaled >= 99.95 {
        0
    } else {
        1
    };
    format!("{scaled:.digits$} {}", UNITS[power as usize])
}

/// Refuses what would not fit; `what` begins the sentence and `remedy` ends it.
pub fn must_fit(what: &str, needed: f64, remedy: &str) -> Result<(), String> {
    match available_memory() {
        Some(there) if needed > there as f64 => Err(format!(
            "{what} needs {}, and {} are free; {remedy}",
            bytes(needed),
            bytes(there as f64)
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_three_digits_and_a_unit() {
        assert_eq!(bytes(0.0), "0 bytes");
        assert_eq!(bytes(1000.0), "1000 bytes");
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(bytes(4e14), "364 TiB");
        assert_eq!(bytes(1e30), "867362 EiB");
    }

    #[test]
    fn what_cannot_fit_is_refused() {
        if available_memory().is_some() {
            let text = must_fit("everything", 1e30, "take less").unwrap_err();
            assert!(
                text.contains("EiB") && text.ends_with("take less"),
                "{text}"
            );
            assert_eq!(must_fit("nothing", 0.0, "take less"), Ok(()));
            assert!(peak_memory().is_some_and(|peak| peak > 1 << 20));
        }
    }
}
