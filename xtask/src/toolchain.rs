//! Toolchains and emulators for other targets: found, installed, or named in an error.
//!
//! Firmware needs `core` for its target. In this order we take
//! 1. the Rust toolchain at hand, if it has the target, or if rustup can add it;
//! 2. Debian's `rustc-web` with `rust-web-src`, and build `core` from that source (about 20 s per target, once): the
//!    way for machines that reach a Debian mirror but not the servers of Rust.
//!
//! Emulators and C compilers come from Debian packages. Whatever is installed is said first; what cannot be installed
//! is an error with the command that would do it. Nothing is ever skipped.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::Cargo;

/// Something that a Debian package provides.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    /// A program looked up in PATH, or a file if it begins with a slash.
    probe: &'static str,
    package: &'static str,
}

impl Tool {
    pub(crate) const fn new(probe: &'static str, package: &'static str) -> Self {
        Self { probe, package }
    }

    /// Its program.
    pub(crate) fn probe(self) -> &'static str {
        self.probe
    }

    fn is_there(self) -> bool {
        if self.probe.starts_with('/') {
            return Path::new(self.probe).exists();
        }
        find_program(self.probe).is_some()
    }
}

/// Emulates Cortex-M.
pub(crate) const QEMU_ARM: Tool = Tool::new("qemu-system-arm", "qemu-system-arm");
/// Emulates RISC-V.
pub(crate) const QEMU_RISCV: Tool = Tool::new("qemu-system-riscv32", "qemu-system-misc");
/// Counts instructions, and finds what C does with memory that it must not.
pub(crate) const VALGRIND: Tool = Tool::new("valgrind", "valgrind");

/// Debian's compiler. Always at this path: PATH would find rustup's first.
const DEBIAN_RUSTC: Tool = Tool::new("/usr/bin/rustc", "rustc-web");
/// The source of its library, where it looks for it.
const DEBIAN_SOURCE: Tool = Tool::new(
    "/usr/lib/rustlib/src/rust/library/core/Cargo.toml",
    "rust-web-src",
);

/// The program of this name in PATH.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Held by the one process that installs something, until it is dropped: `cargo xtask test` is two. Neither rustup nor apt-get waits
/// for itself everywhere.
pub(crate) fn installing() -> Option<File> {
    let file = File::create(Cargo::new().target_folder("installs.lock")).ok()?;
    file.lock().ok().map(|()| file)
}

/// Makes sure that these tools are there; installs the packages of those that are not, where that is allowed.
pub(crate) fn ensure(tools: &[Tool]) -> Result<(), String> {
    let _alone = installing();
    let missing: Vec<Tool> = tools.iter().copied().filter(|t| !t.is_there()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = missing.iter().map(|t| t.package).collect();
    packages.dedup();
    let probes: Vec<&str> = missing.iter().map(|t| t.probe).collect();
    // Without recommended packages: those of QEMU are a graphical desktop.
    let install = format!(
        "apt-get update && apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends {}",
        packages.join(" ")
    );
    // The lists have a lock of their own, for which apt-get does not wait.
    let patient = format!("apt-get update -qq || sleep 20; {install}");
    eprintln!("missing: {}; trying: {install}", probes.join(", "));
    let done = Command::new("sh")
        .args(["-c", &patient])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        // What apt says belongs to the log, not to the output of the job.
        .stdout(std::io::stderr())
        .status()
        .is_ok_and(|status| status.success());
    let left: Vec<&str> = missing
        .iter()
        .filter(|t| !t.is_there())
        .map(|t| t.probe)
        .collect();
    if left.is_empty() {
        return Ok(());
    }
    let why = if done {
        "the packages do not contain it"
    } else {
        "apt-get failed, or needs root"
    };
    Err(format!(
        "missing: {} ({why}); install with: {install}",
        left.join(", ")
    ))
}

/// Build settings of cargo for one target.
#[derive(Clone, Debug)]
pub(crate) struct RustFor {
    /// The target triple.
    pub(crate) target: &'static str,
    /// Name of the choice, for the log.
    pub(crate) description: String,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl RustFor {
    /// Finds a way to build for this target, or installs one.
    pub(crate) fn new(cargo: &Cargo, target: &'static str) -> Result<Self, String> {
        if has_target(cargo, target) {
            return Ok(Self::plain(target));
        }
        // A Debian toolchain that is already there is taken before anything is downloaded.
        if !(DEBIAN_RUSTC.is_there() && DEBIAN_SOURCE.is_there()) && rustup_adds(cargo, target) {
            return Ok(Self::plain(target));
        }
        Self::from_source(cargo, target)
    }

    /// A way to build programs with the standard library, which only rustup has.
    pub(crate) fn with_std(cargo: &Cargo, target: &'static str) -> Option<Self> {
        (has_target(cargo, target) || rustup_adds(cargo, target)).then(|| Self::plain(target))
    }

    /// True if it is the current toolchain, with all its components.
    pub(crate) fn is_plain(&self) -> bool {
        self.variables.is_empty()
    }

    /// One cargo command for this target, in this folder.
    pub(crate) fn command(&self, cargo: &Cargo, folder: &Path, subcommand: &str) -> Command {
        let mut command = cargo.command();
        command
            .current_dir(folder)
            .arg(subcommand)
            .args(["--target", self.target])
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn plain(target: &'static str) -> Self {
        Self {
            target,
            description: "the toolchain's own core".to_owned(),
            variables: Vec::new(),
            arguments: Vec::new(),
        }
    }

    /// With Debian's rustc and its library source. `RUSTC_BOOTSTRAP` because building `core` is an unstable feature.
    pub(crate) fn from_source(cargo: &Cargo, target: &'static str) -> Result<Self, String> {
        ensure(&[DEBIAN_RUSTC, DEBIAN_SOURCE])
            .map_err(|e| format!("no core for {target}: rustup cannot add it, and {e}"))?;
        let linker = format!(
            "CARGO_TARGET_{}_LINKER",
            target.to_uppercase().replace(['-', '.'], "_")
        );
        let variables = [
            ("RUSTC", DEBIAN_RUSTC.probe.to_owned()),
            ("RUSTC_BOOTSTRAP", "1".to_owned()),
            (&linker, lld(cargo)?.to_string_lossy().into_owned()),
        ];
        Ok(Self {
            target,
            description: "core from Debian's source".to_owned(),
            variables: variables.map(|(name, v)| (name.to_owned(), v)).to_vec(),
            arguments: vec!["-Zbuild-std=core".to_owned()],
        })
    }
}

/// Lets rustup add a target; true if the current toolchain then has it.
fn rustup_adds(cargo: &Cargo, target: &str) -> bool {
    let _alone = installing();
    eprintln!("no library for {target}; trying: rustup target add {target}");
    let added = Command::new("rustup")
        .args(["target", "add", target])
        .stdin(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    added && has_target(cargo, target)
}

/// True if the current toolchain has `core` for this target.
fn has_target(cargo: &Cargo, target: &str) -> bool {
    let folder = cargo.rustc(&["--target", target, "--print", "target-libdir"]);
    folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

/// The linker: `rust-lld` of the toolchain at hand, since Debian's has none, or Debian's `lld`.
fn lld(cargo: &Cargo) -> Result<PathBuf, String> {
    let libraries = cargo.rustc(&["--print", "target-libdir"])?;
    let inside = Path::new(libraries.trim()).with_file_name("bin/rust-lld");
    if inside.is_file() {
        return Ok(inside);
    }
    ensure(&[Tool::new("ld.lld", "lld")])?;
    find_program("ld.lld").ok_or_else(|| "ld.lld is not in PATH".to_owned())
}
