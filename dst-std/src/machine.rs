//! The resources that this process may use, where the system reports them, and the description of the machine in results.

use std::path::Path;

use crate::parallel::ranks;

/// Bytes that this rank can still allocate without swapping, within the limits of control groups and of the process; `None` where the
/// system does not tell.
pub(crate) fn available_memory() -> Option<u64> {
    let free = kilobytes("/proc/meminfo", "MemAvailable:");
    let limits = [free, address_space()];
    let free = limits.into_iter().flatten().chain(groups()).min()?;
    // The ranks of a job on one machine take the same amounts at the same time.
    Some(free / ranks::on_this_machine() as u64)
}

/// The rest of the address space of this process, if it is limited.
fn address_space() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = kilobytes("/proc/self/status", "VmSize:")?;
    Some(limit.saturating_sub(used))
}

/// The rest in the control groups of this process and those around them, of either version.
fn groups() -> impl Iterator<Item = u64> {
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut left = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (root, limit, used) = match kinds {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            ),
            _ => continue,
        };
        // In a container the path may be that of the host: then only the root is there.
        for folder in Path::new(group).ancestors() {
            let folder = Path::new(root).join(folder.strip_prefix("/").unwrap_or(folder));
            let number = |file: &str| -> Option<u64> {
                let text = std::fs::read_to_string(folder.join(file)).ok()?;
                text.trim().parse().ok()
            };
            if let Some(limit) = number(limit) {
                left.push(limit.saturating_sub(number(used).unwrap_or(0)));
            }
        }
    }
    left.into_iter()
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

/// Memory that a computation is about to take, part by part.
///
/// ```
/// use dst_std::machine::Footprint;
///
/// let vectors = Footprint::of("this run")
///     .with("the vectors", [8.0, 1e3, 4.0], "lower --dim")
///     .with("the states", [8.0, 1e3, 1e12], "lower --slots");
/// let sentence = vectors.check().unwrap_err();
/// assert!(sentence.starts_with("this run needs 7.1 PiB, and "));
/// assert!(sentence.ends_with(" of it for the states; lower --slots"));
/// ```
#[derive(Clone, Debug)]
pub struct Footprint {
    what: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    what: String,
    bytes: f64,
    remedy: &'static str,
}

impl Footprint {
    /// The memory of this computation, nothing yet.
    pub fn of(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            parts: Vec::new(),
        }
    }

    /// Adds a part, in bytes: the product of these factors, which may be beyond all sizes that exist. `remedy` says which argument to
    /// change.
    #[must_use]
    pub fn with(
        mut self,
        what: impl Into<String>,
        factors: impl IntoIterator<Item = f64>,
        remedy: &'static str,
    ) -> Self {
        self.parts.push(Part {
            what: what.into(),
            bytes: factors.into_iter().product(),
            remedy,
        });
        self
    }

    /// All parts together.
    pub fn bytes(&self) -> f64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Refuses what does not fit into the memory that is free. The error is one sentence.
    pub fn check(&self) -> Result<(), String> {
        /// Not worth a look at what is free.
        const LITTLE: f64 = 1e6;
        let (what, needed) = (&self.what, self.bytes());
        if needed <= LITTLE {
            return Ok(());
        }
        // No allocation can be larger than an address; where the system tells nothing else, that is the limit.
        let free = available_memory().map_or(isize::MAX as f64, |free| free as f64);
        let largest = self.parts.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes));
        match largest {
            Some(largest) if needed > free => Err(format!(
                "{what} needs {}, and {} are free; {} of it for {}; {}",
                bytes(needed),
                bytes(free),
                bytes(largest.bytes),
                largest.what,
                largest.remedy
            )),
            _ => Ok(()),
        }
    }
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
            let parts = |most: f64| {
                Footprint::of("everything")
                    .with("little", [1.0, 2.0], "lower --little")
                    .with("much", [8.0, most], "lower --much")
            };
            let text = parts(1e30).check().unwrap_err();
            assert!(text.contains("YiB of it for much"), "{text}");
            assert!(text.ends_with("; lower --much"), "{text}");
            assert_eq!(parts(1.0).bytes(), 10.0);
            assert_eq!(parts(1.0).check(), Ok(()));
            assert_eq!(Footprint::of("nothing").check(), Ok(()));
            assert!(peak_memory().is_some_and(|peak| peak > 1 << 20));
            assert!(resident_memory() <= peak_memory() && resident_memory() > Some(1 << 20));
        }
    }
}
