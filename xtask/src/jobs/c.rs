//! The C library on this machine: header, programs under sanitisers and valgrind, symbols. `archives` is about its users.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::c_lib::{Scope, build, folder, package};
use super::{c_header, c_reference};
use crate::cargo::{Cargo, answer};
use crate::toolchain::{Tool, VALGRIND, ensure, find_program};

const TOOLS: &[Tool] = &[
    Tool::new("gcc", "gcc"),
    Tool::new("g++", "g++"),
    Tool::new("nm", "binutils"),
    Tool::new("ar", "binutils"),
    VALGRIND,
];

/// Everything is a mistake that the compiler has doubts about.
pub(crate) const STRICT: &[&str] = &["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
/// C as the tests are written. No fused operations: the bits are compared with those of other targets.
pub(crate) const C99: &[&str] = &["-std=c99", "-ffp-contract=off"];
/// C++ in the same way, with more warnings: dst.hpp is compiled with the flags of its users.
pub(crate) const CXX17: &[&str] = &[
    "-std=c++17",
    "-ffp-contract=off",
    "-Wconversion",
    "-Wshadow",
];
/// C++ as in firmware.
pub(crate) const PLAIN_CXX: &[&str] = &["-fno-exceptions", "-fno-rtti"];
/// Version that the programs expect.
pub(crate) const VERSION: &str = concat!("-DEXPECTED_VERSION=\"", env!("CARGO_PKG_VERSION"), "\"");

/// All of them, for this machine; those in C++ by the name of their file.
const PROGRAMS: [&str; 12] = [
    "known_answers",
    "misuse",
    "checker",
    "workspaces",
    "qp",
    "ticks",
    "own_controller",
    "own_program",
    "tutorial",
    "cxx.cpp",
    "hpp.cpp",
    "tutorial.cpp",
];

/// Folder of the controller in C, relative to the programs.
pub(crate) const CONTROLLER: &str = "../../dst-std/src/control";

/// Builds the library and does all of it.
pub(crate) fn run(cargo: &Cargo) -> Result<(), String> {
    ensure(TOOLS)?;
    c_header::check(cargo)?;
    after_quote(cargo, "tutorial.c")?;
    after_quote(cargo, "tutorial.cpp")?;
    let host = Host::new(cargo)?;
    host.programs(cargo)?;
    for (name, file) in [("tutorial", "tutorial.c"), ("tutorial.cpp", "tutorial.cpp")] {
        let output = answer(&mut Command::new(host.program("plain", name)))?;
        promised(cargo, file, &output)?;
    }
    host.symbols(cargo)
}

/// The folder with the C programs.
pub(crate) fn sources(cargo: &Cargo) -> PathBuf {
    cargo.root().join("tests/c")
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The README from the end of its quote of a tutorial; fails if the tutorial there is not the one that is compiled here.
fn after_quote(cargo: &Cargo, file: &str) -> Result<String, String> {
    let tutorial = read(&sources(cargo).join(file))?;
    let readme = read(&cargo.root().join("dst-core/ffi/README.md"))?;
    let language = file.rsplit('.').next().unwrap_or_default();
    match readme.split_once(&format!("```{language}\n{tutorial}```\n")) {
        Some((_, rest)) => Ok(rest.to_owned()),
        None => Err(format!(
            "dst-core/ffi/README.md does not quote tests/c/{file} as it is"
        )),
    }
}

/// Fails if a tutorial does not print what the README says after it. There, `…` stands for lines that are left out.
pub(crate) fn promised(cargo: &Cargo, file: &str, output: &str) -> Result<(), String> {
    let rest = after_quote(cargo, file)?;
    let block = rest.strip_prefix("```text\n").unwrap_or_default();
    let said = block.split("```").next().unwrap_or_default();
    let mut printed = output.lines();
    let missing = said
        .lines()
        .filter(|line| *line != "…")
        .find(|line| !printed.any(|printed| printed == *line));
    match missing {
        None if !said.is_empty() => Ok(()),
        None => Err(format!(
            "dst-core/ffi/README.md does not say what {file} prints"
        )),
        Some(line) => Err(format!(
            "{file} does not print '{line}', as its README says; it prints\n{output}"
        )),
    }
}

/// Output of the program of known answers on this machine.
pub(crate) fn known_answers(cargo: &Cargo) -> Result<String, String> {
    ensure(TOOLS)?;
    let host = Host::new(cargo)?;
    let program = host.compile("plain", "known_answers", &["-O2"])?;
    answer(&mut Command::new(program))
}

/// Programs against the library for this machine.
struct Host {
    sources: PathBuf,
    /// The folder of `cargo xtask c-lib`.
    package: PathBuf,
    /// Folder of the compiled programs.
    programs: PathBuf,
}

impl Host {
    fn new(cargo: &Cargo) -> Result<Self, String> {
        let package_folder = folder(cargo, None, Scope::Full);
        package(cargo, None, Scope::Full, &package_folder)?;
        let programs = cargo.target_folder("c");
        fs::create_dir_all(&programs).map_err(|e| format!("{}: {e}", programs.display()))?;
        Ok(Self {
            sources: sources(cargo),
            package: package_folder,
            programs,
        })
    }

    /// Compiles a program with these flags; returns where it is.
    fn compile(&self, kind: &str, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
        let compiler = if name.ends_with(".cpp") { "g++" } else { "gcc" };
        self.compile_with(compiler, kind, name, flags)
    }

    /// Place of a compiled program.
    fn program(&self, kind: &str, name: &str) -> PathBuf {
        self.programs
            .join(format!("{}-{kind}", name.replace('.', "-")))
    }

    fn compile_with(
        &self,
        compiler: &str,
        kind: &str,
        name: &str,
        flags: &[&str],
    ) -> Result<PathBuf, String> {
        let program = self.program(kind, name);
        let cxx = name.ends_with(".cpp");
        let mut command = Command::new(compiler);
        command
            .current_dir(&self.sources)
            .args(if cxx { CXX17 } else { C99 })
            .args(STRICT)
            .args(flags)
            .arg(VERSION)
            .args(["-I", "controllers", "-I", "programs"])
            .args(["-I", CONTROLLER, "-I"])
            .arg(self.package.join("include"))
            .arg(if cxx {
                name.to_owned()
            } else {
                format!("{name}.c")
            });
        if matches!(
            name,
            "known_answers" | "misuse" | "checker" | "workspaces" | "qp" | "ticks"
        ) {
            command.arg("host.c");
        }
        // Exported files are compiled with the flags of their users.
        if matches!(name, "own_controller" | "own_program") {
            command.args(["-Wconversion", "-Wshadow"]);
        }
        command
            .arg(self.package.join("lib/libdst.a"))
            .args(["-Wl,--gc-sections", "-o"])
            .arg(&program);
        answer(&mut command)?;
        Ok(program)
    }

    /// Every program, plain, under the sanitisers and under valgrind.
    fn programs(&self, cargo: &Cargo) -> Result<(), String> {
        let sanitised = [
            "-O1",
            "-g",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
        ];
        for name in PROGRAMS {
            let plain = self.compile("plain", name, &["-O2"])?;
            let output = answer(&mut Command::new(&plain))?;
            if name == "known_answers" {
                let cases = c_reference::compare(cargo, &output, None)?;
                eprintln!("{cases} cases of C agree with Rust");
            }
            report("gcc", name, &output)?;
            if name == "hpp.cpp" {
                // The adaptive methods are not in dst.hpp.
                let cases = c_reference::compare(cargo, &output, Some(" bowl "))?;
                eprintln!("{cases} cases of C++ agree with Rust");
            }
            if name.ends_with(".cpp") {
                let flags: Vec<&str> = PLAIN_CXX.iter().copied().chain(["-O2"]).collect();
                let program = self.compile("no-exceptions", name, &flags)?;
                let output = answer(&mut Command::new(program))?;
                report("without exceptions", name, &output)?;
                if find_program("clang++").is_some() {
                    let program = self.compile_with("clang++", "clang", name, &["-O2"])?;
                    report("clang++", name, &answer(&mut Command::new(program))?)?;
                }
            }
            let program = self.compile("sanitised", name, &sanitised)?;
            report(
                "address and undefined",
                name,
                &answer(&mut Command::new(program))?,
            )?;
            let debug = self.compile("debug", name, &["-O0", "-g"])?;
            let mut valgrind = Command::new("valgrind");
            valgrind
                .args(["--quiet", "--error-exitcode=1", "--leak-check=full"])
                .arg(format!(
                    "--suppressions={}",
                    self.sources.join("valgrind.supp").display()
                ))
                .arg(debug);
            report("valgrind", name, &answer(&mut valgrind)?)?;
        }
        Ok(())
    }

    /// Nothing of Rust's panics, formatting or allocator is linked; a library that panics is found out.
    fn symbols(&self, cargo: &Cargo) -> Result<(), String> {
        for name in PROGRAMS {
            let program = self.program("plain", name);
            let found = panics(&program)?;
            if !found.is_empty() {
                return Err(format!("{} links {}", program.display(), found.join(", ")));
            }
        }
        let library = build(cargo, None, Scope::Full, &["--cfg", "dst_panics"])?.library;
        let (source, program) = (
            self.programs.join("control.c"),
            self.programs.join("control"),
        );
        let text = "unsigned char dst_panics(unsigned long i);\nint main(int n, char **a) { (void)a; return dst_panics((unsigned long)n); }\n";
        fs::write(&source, text).map_err(|e| format!("{}: {e}", source.display()))?;
        let mut gcc = Command::new("gcc");
        gcc.arg(&source)
            .arg(library)
            .args(["-Wl,--gc-sections", "-o"])
            .arg(&program);
        answer(&mut gcc)?;
        if panics(&program)?.is_empty() {
            return Err("the check of symbols does not see a panic that is there".to_owned());
        }
        eprintln!("no panic and no allocator in any program; found in the one that has it");
        Ok(())
    }
}

/// Says how a program fared; its own summary, or its last line.
pub(crate) fn report(how: &str, name: &str, output: &str) -> Result<(), String> {
    let last = output.lines().last().unwrap_or_default();
    if last.is_empty() {
        return Err(format!("{name} ({how}) printed nothing"));
    }
    eprintln!("{how}: {last}");
    Ok(())
}

/// The symbols of a program that belong to Rust's panics, formatting or allocator. Not [`crate::elf::check_elf`]: on this machine
/// the C library has an allocator of its own.
fn panics(program: &Path) -> Result<Vec<String>, String> {
    const SIGNS: &[&str] = &[
        "panic",
        "unwrap_failed",
        "expect_failed",
        "eh_personality",
        "4core3fmt",
        "core..fmt",
        "5alloc",
        "__rust_",
        "__rdl_",
        "__rg_",
    ];
    let symbols = answer(Command::new("nm").arg(program))?;
    Ok(symbols
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|symbol| SIGNS.iter().any(|sign| symbol.contains(sign)))
        .map(str::to_owned)
        .collect())
}
