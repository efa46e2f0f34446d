//! Builds the targets: Rust with counters of coverage, C with the sanitisers, both for libFuzzer of Debian's clang.
//!
//! Coverage is a flag of stable rustc. AddressSanitizer and flags for single packages are unstable, hence `RUSTC_BOOTSTRAP`. Only
//! our own crates get them: the build of all others takes a third of the time, and what they have that is generic is part of ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Target;
use crate::cargo::{Cargo, answer, succeed};
use crate::toolchain::{Tool, ensure};

const COVERAGE: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4 -sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table -sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
    "-Dwarnings",
];
const ADDRESSES: &str = "-Zsanitizer=address";
/// Our crates; true for those that `unsafe` code is part of, or is compiled into.
const CRATES: [(&str, bool); 4] = [
    ("dst-std", false),
    ("dst-core", true),
    ("dst-ffi", true),
    ("dst-fuzz", true),
];

/// The programs of these targets, in a folder.
pub(super) fn programs(cargo: &Cargo, targets: &[&Target]) -> Result<PathBuf, String> {
    tools(cargo)?;
    let source = cargo.root().join("tests/fuzz");
    cargo.component("fmt", "rustfmt")?;
    let mut fmt = cargo.command();
    succeed(fmt.current_dir(&source).args(["fmt", "--check"]))?;
    let folder = cargo.target_folder("fuzz");
    let library = library(cargo, &source, &folder)?;
    let programs = folder.join("programs");
    fs::create_dir_all(&programs).map_err(|e| format!("{}: {e}", programs.display()))?;
    for target in targets {
        let mut clang = Command::new("clang");
        clang
            .current_dir(source.join("c"))
            .args(["-g", "-O1", "-std=c11", "-ffp-contract=off"])
            .args(["-Wall", "-Wextra", "-Werror"])
            .args(["-fsanitize=fuzzer,address,undefined"])
            .arg("-fno-sanitize-recover=all")
            .args(["-I", "../../c", "-I", "../../../dst-core/ffi/include"])
            .args(["-I", "../../../dst-std/src/control"])
            .args(target.sources)
            .arg(format!("-DREADER=fuzz_{}", target.name))
            .arg(&library)
            .args(["-lm", "-Wl,--gc-sections", "-o"])
            .arg(programs.join(target.name));
        answer(&mut clang)?;
    }
    Ok(programs)
}

/// clang, and its library of libFuzzer and the sanitisers: that of the same version.
fn tools(cargo: &Cargo) -> Result<(), String> {
    ensure(&[Tool::new("clang", "clang")])?;
    let ask =
        |flag: &str| answer(Command::new("clang").arg(flag)).map(|text| text.trim().to_owned());
    let version = ask("-dumpversion")?;
    let major = version.split('.').next().unwrap_or_default();
    let host = host(cargo)?;
    let machine = host.split('-').next().unwrap_or_default();
    let library = format!(
        "{}/libclang_rt.fuzzer-{machine}.a",
        ask("-print-runtime-dir")?
    );
    // Leaked: a tool has static names, and there is one.
    ensure(&[Tool::new(
        library.leak(),
        format!("libclang-rt-{major}-dev").leak(),
    )])
}

fn host(cargo: &Cargo) -> Result<String, String> {
    let about = cargo.rustc(&["-vV"])?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// The static library with the readers and the functions of `dst.h`.
fn library(cargo: &Cargo, source: &Path, folder: &Path) -> Result<PathBuf, String> {
    let host = host(cargo)?;
    let mut build = cargo.command();
    build
        .current_dir(source)
        .args(["build", "--release", "--locked", "-Zprofile-rustflags"])
        .args(["--target", &host])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", folder);
    for (name, addresses) in CRATES {
        let flags = COVERAGE.iter().chain(addresses.then_some(&ADDRESSES));
        let flags: Vec<String> = flags.map(|flag| format!("{flag:?}")).collect();
        build.arg("--config").arg(format!(
            "profile.release.package.{name}.rustflags=[{}]",
            flags.join(",")
        ));
    }
    succeed(&mut build)?;
    Ok(folder.join(host).join("release/libdst_fuzz.a"))
}
