//! The resources that this process may use, where the system reports them, and the description of the machine in results.

/// Bytes that can still be allocated without swapping, nor beyond what a control group allows; `None` where the system does not tell.
pub(crate) fn available_memory() -> Option<u64> {
    let free = kilobytes("/proc/meminfo", "MemAvailable:");
    let number =
        |file: &str| -> Option<u64> { std::fs::read_to_string(file).ok()?.trim().parse().ok() };
    let allowed = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or(0);
    let allowed = allowed.map(|allowed| allowed.saturating_sub(used));
    free.into_iter().chain(allowed).min()
}

/// The most bytes that this process has ever had in memory at once.
pub fn peak_memory() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// The bytes that this process has in memory now.
pub fn resident_memory() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS:")
}

/// The number after `name`, which Linux gives in kilobytes.
fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    number.checked_mul(1024)
}

/// A number of bytes for people, in a unit of its size.
pub fn bytes(count: f64) -> String {
    const UNITS: [&str; 9] = [
        "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB",
    ];
    let power = (count.max(1.0).log2() / 10.0).floor().clamp(0.0, 8.0);
    let scaled = count / 1024f64.powf(power);
    let digits = usize::from(power > 0.0 && scaled < 99.95);
    format!("{scaled:.digits$} {}", UNITS[power as usize])
}

/// Refuses what would not fit; `what` begins the sentence and `remedy` ends it.
pub fn must_fit(what: &str, needed: f64, remedy: &str) -> Result<(), String> {
    // No allocation can be larger than an address; where the system tells nothing else, that is the limit.
    let there = available_memory().map_or(isize::MAX as f64, |there| there as f64);
    if needed > there {
        return Err(format!(
            "{what} needs {}, and {} are free; {remedy}",
            bytes(needed),
            bytes(there)
        ));
    }
    Ok(())
}

/// The description of the machine for a result: name and value.
pub fn facts(threads: usize) -> Vec<(String, String)> {
    let mut features: Vec<&str> = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let known = [
            ("avx2", std::arch::is_x86_feature_detected!("avx2")),
            ("fma", std::arch::is_x86_feature_detected!("fma")),
            ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
        ];
        features.extend(known.iter().filter(|known| known.1).map(|known| known.0));
    }
    if features.is_empty() {
        features.push("those of the target");
    }
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    [
        ("dst", env!("CARGO_PKG_VERSION").to_owned()),
        ("target", target),
        ("CPU features", features.join(", ")),
        ("threads", threads.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_unit_of_their_size() {
        assert_eq!(bytes(0.0), "0 bytes");
        assert_eq!(bytes(1000.0), "1000 bytes");
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(bytes(4e14), "364 TiB");
        assert_eq!(bytes(1e27), "827 YiB");
    }

    #[test]
    fn what_cannot_fit_is_refused() {
        if available_memory().is_some() {
            let text = must_fit("everything", 1e30, "take less").unwrap_err();
            assert!(
                text.contains("YiB") && text.ends_with("take less"),
                "{text}"
            );
            assert_eq!(must_fit("nothing", 0.0, "take less"), Ok(()));
            assert!(peak_memory().is_some_and(|peak| peak > 1 << 20));
            assert!(resident_memory() <= peak_memory() && resident_memory() > Some(1 << 20));
        }
    }
}
