//! The archives of `cargo xtask dist`, as those receive them who have no Rust: unpacked, and built against with a PATH in which there
//! is no rustc and no cargo.
//!
//! On this machine by hand, by pkg-config and by CMake, in C and C++, static and shared, unpacked and installed; for microcontrollers by
//! their gcc, and run under QEMU where there is start-up code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::c::{promised, sources};
use super::c_firmware::{self, MACHINES, Machine};
use super::c_lib::compatible;
use super::dist::{self, Archive, Archives, Program, SUMS, make, unpack};
use super::packages;
use crate::cargo::{Cargo, answer};
use crate::toolchain::{Tool, ensure, find_program};

/// Programs that a consumer has.
const TOOLS: &[Tool] = &[
    Tool::new("gcc", "gcc"),
    Tool::new("g++", "g++"),
    Tool::new("ld", "binutils"),
    Tool::new("as", "binutils"),
    Tool::new("nm", "binutils"),
    Tool::new("readelf", "binutils"),
    Tool::new("make", "make"),
    Tool::new("pkg-config", "pkg-config"),
    Tool::new("cmake", "cmake"),
];

/// The tutorials, with the names that their CMake project gives them.
const TUTORIALS: [(&str, &str); 2] = [("tutorial.c", "tutorial"), ("tutorial.cpp", "tutorial_cpp")];

/// Makes the archives and uses them.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    ensure(TOOLS)?;
    for machine in MACHINES {
        machine.ensure()?;
    }
    let folder = cargo.target_folder("archives");
    let _ = fs::remove_dir_all(&folder);
    let archives = make(cargo, &folder.join("made"), Program::AsBuilt)?;
    let consumer = Consumer::new(cargo, &folder)?;
    consumer.checksums(&archives)?;
    for archive in &archives.libraries {
        let package = unpack(archive, &folder.join("unpacked"))?;
        consumer.licences(&package)?;
        consumer.exports(&package, archive)?;
        match archive.target {
            None => consumer.here(&package)?,
            Some(target) => consumer.firmware(&package, target)?,
        }
    }
    let package = unpack(&archives.program, &folder.join("unpacked"))?;
    consumer.licences(&package)?;
    packages::work(&package.join("bin/dst"), &folder)?;
    Ok(format!(
        "{} archives used without Rust",
        archives.libraries.len() + 1
    ))
}

/// Somebody without Rust.
struct Consumer<'a> {
    cargo: &'a Cargo,
    /// Folder in which programs are built.
    folder: PathBuf,
    /// The only folder in PATH: links to the tools.
    path: PathBuf,
}

impl<'a> Consumer<'a> {
    fn new(cargo: &'a Cargo, folder: &Path) -> Result<Self, String> {
        let path = folder.join("path");
        let complain = |e: std::io::Error| format!("{}: {e}", path.display());
        fs::create_dir_all(&path).map_err(complain)?;
        let firmware = MACHINES.iter().flat_map(|machine| {
            ["gcc", "g++", "as", "ld", "nm"].map(|tool| format!("{}-{tool}", machine.prefix))
        });
        let host = TOOLS.iter().map(|tool| tool.probe().to_owned());
        for name in host
            .chain(firmware)
            .chain(["sh", "uname"].map(str::to_owned))
        {
            if let Some(program) = find_program(&name) {
                let mut link = Command::new("ln");
                answer(link.arg("-sf").arg(program).arg(path.join(name)))?;
            }
        }
        let folder = folder.join("built");
        fs::create_dir_all(&folder).map_err(complain)?;
        Ok(Self {
            cargo,
            folder,
            path,
        })
    }

    /// A tool with nothing in its environment but the PATH without Rust.
    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.path.join(name));
        command
            .current_dir(sources(self.cargo))
            .env_clear()
            .env("PATH", &self.path);
        command
    }

    /// The checksums are right, and packing the same files at another time gives the same bytes.
    fn checksums(&self, archives: &Archives) -> Result<(), String> {
        let all: Vec<&Archive> = archives
            .libraries
            .iter()
            .chain([&archives.program])
            .collect();
        let made = all[0].path.parent().unwrap_or(Path::new("."));
        let mut sums = Command::new("sha256sum");
        answer(sums.current_dir(made).args(["--check", "--strict", SUMS]))?;
        for archive in all {
            let copy = self.folder.join("copy");
            let _ = fs::remove_dir_all(&copy);
            let inside = unpack(archive, &copy)?;
            answer(Command::new("touch").arg(inside.join("README.md")))?;
            answer(Command::new("chmod").arg("-R").arg("g+w").arg(&inside))?;
            let again = self.folder.join("again.tar.gz");
            dist::pack(&copy, &archive.name(), &again)?;
            if read(&again)? != read(&archive.path)? {
                return Err(format!("{}: other bytes when packed again", archive.name()));
            }
        }
        Ok(())
    }

    /// Licences, ours and those of others, are there.
    fn licences(&self, package: &Path) -> Result<(), String> {
        for (file, part) in [
            ("LICENSE-MIT", "Permission is hereby granted"),
            ("LICENSE-APACHE", "Apache License"),
            ("THIRD-PARTY.md", "- libm "),
        ] {
            let text = fs::read_to_string(package.join(file)).unwrap_or_default();
            if !text.contains(part) {
                return Err(format!("{}: no {file} with '{part}'", package.display()));
            }
        }
        Ok(())
    }

    /// Every symbol that a library defines for others is ours or weak.
    fn exports(&self, package: &Path, archive: &Archive) -> Result<(), String> {
        let machine = archive.target.and_then(c_firmware::machine);
        let nm = machine.map_or("nm".to_owned(), |machine| format!("{}-nm", machine.prefix));
        let library = package.join("lib/libdst.a");
        let mut symbols = self.tool(&nm);
        symbols
            .args(["--extern-only", "--defined-only"])
            .arg(&library);
        check_symbols(&library, &answer(&mut symbols)?)?;
        let shared = package.join("lib/libdst.so");
        if archive.target.is_none() {
            let mut symbols = self.tool("nm");
            symbols.args(["--dynamic", "--defined-only"]).arg(&shared);
            check_symbols(&shared, &answer(&mut symbols)?)?;
            let head = answer(self.tool("readelf").arg("--dynamic").arg(&shared))?;
            let soname = format!("[libdst.so.{}]", compatible());
            if !head
                .lines()
                .any(|line| line.contains("SONAME") && line.contains(&soname))
            {
                return Err(format!("{}: no SONAME {soname}\n{head}", shared.display()));
            }
        }
        Ok(())
    }

    /// Everything on this machine, from the unpacked folder, then from where it is installed when the folder is gone.
    fn here(&self, package: &Path) -> Result<(), String> {
        self.by_hand(package)?;
        self.by_pkg_config(package)?;
        self.by_cmake(package, "unpacked")?;
        let (build, prefix) = (self.folder.join("install"), self.folder.join("prefix"));
        let mut configure = self.tool("cmake");
        answer(configure.arg("-S").arg(package).arg("-B").arg(&build))?;
        let mut install = self.tool("cmake");
        answer(
            install
                .arg("--install")
                .arg(&build)
                .arg("--prefix")
                .arg(&prefix),
        )?;
        fs::remove_dir_all(package).map_err(|e| format!("{}: {e}", package.display()))?;
        self.by_pkg_config(&prefix)?;
        self.by_cmake(&prefix, "installed")
    }

    /// The line of the README, dynamic and static, and both orders of the libraries.
    fn by_hand(&self, package: &Path) -> Result<(), String> {
        let library = package.join("lib/libdst.a");
        for (name, _) in TUTORIALS {
            for flags in [&[][..], &["-static"]] {
                let program = self.folder.join("by-hand");
                let mut compile = self.compile(name, &program);
                compile.arg("-I").arg(package.join("include")).arg(&library);
                answer(compile.args(flags).arg("-Wl,--gc-sections"))?;
                self.runs(name, &mut Command::new(program))?;
            }
        }
        // libdst takes these functions from the C library, whatever the order.
        let program = self.folder.join("memory");
        for order in [[&library, Path::new("-lc")], [Path::new("-lc"), &library]] {
            let mut compile = self.compile("firmware/memory.c", &program);
            compile.arg("-I").arg(package.join("include")).args(order);
            compile.args(["-static", "-Wl,--trace-symbol=memcpy"]);
            let from = definitions(&mut compile)?;
            if from.len() != 1 || from[0].contains("libdst") {
                return Err(format!(
                    "memcpy comes from {from:?}, not from the C library"
                ));
            }
            answer(&mut Command::new(&program))?;
        }
        Ok(())
    }

    fn by_pkg_config(&self, package: &Path) -> Result<(), String> {
        for (name, _) in TUTORIALS {
            for (module, shared) in [("dst", true), ("dst-static", false)] {
                let mut ask = self.tool("pkg-config");
                ask.env("PKG_CONFIG_PATH", package.join("lib/pkgconfig"));
                let flags = answer(ask.args(["--cflags", "--libs", module]))?;
                let program = self.folder.join(module);
                answer(self.compile(name, &program).args(flags.split_whitespace()))?;
                self.needs_shared(&program, shared)?;
                let mut run = Command::new(program);
                if shared {
                    run.env("LD_LIBRARY_PATH", package.join("lib"));
                }
                self.runs(name, &mut run)?;
            }
        }
        Ok(())
    }

    fn by_cmake(&self, package: &Path, name: &str) -> Result<(), String> {
        let folder = self.folder.join(format!("cmake-{name}"));
        let mut configure = self.tool("cmake");
        configure.args(["-S", "cmake", "-B"]).arg(&folder);
        answer(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", package.display())))?;
        answer(self.tool("cmake").arg("--build").arg(&folder))?;
        for (file, target) in TUTORIALS {
            for (program, shared) in [
                (target.to_owned(), false),
                (format!("{target}_shared"), true),
            ] {
                let program = folder.join(program);
                self.needs_shared(&program, shared)?;
                self.runs(file, &mut Command::new(program))?;
            }
        }
        // A version with another interface is refused.
        let mut old = self.tool("cmake");
        old.args(["-DWANTED=0.0.9", "-S", "cmake", "-B"])
            .arg(self.folder.join("old"));
        match answer(old.arg(format!("-DCMAKE_PREFIX_PATH={}", package.display()))) {
            Ok(_) => Err("find_package(dst 0.0.9) accepts this version".to_owned()),
            Err(_) => Ok(()),
        }
    }

    /// Compiles and links a program in C for a target; runs it where there is start-up code.
    fn firmware(&self, package: &Path, target: &str) -> Result<(), String> {
        let machine = c_firmware::machine(target).ok_or_else(|| format!("no gcc for {target}"))?;
        let library = package.join("lib/libdst.a");
        let link = |name: &str, libraries: &[&Path]| {
            let program = self.folder.join(format!("{name}-{target}.elf"));
            let mut gcc = self.tool(&format!("{}-gcc", machine.prefix));
            gcc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-Os"])
                .args(machine.flags)
                .args(["-ffunction-sections", "-fdata-sections", "-I"])
                .arg(package.join("include"))
                .args(["-I", "firmware", &format!("firmware/{name}.c")])
                .arg(format!("firmware/{}.c", machine.start))
                .args(["-nostartfiles", "-T"])
                .arg(format!("firmware/{}.ld", machine.start))
                .args(["-Wl,--gc-sections", "-Wl,--trace-symbol=memcpy"])
                .args(libraries)
                .arg("-o")
                .arg(&program);
            definitions(&mut gcc).map(|from| (program, from))
        };
        let (program, _) = link("smallest", &[&library])?;
        self.emulate(machine, &program)?;
        let c = Path::new("-lc");
        for (order, winner) in [
            ([library.as_path(), c], "libdst.a"),
            ([c, &library], "libc"),
        ] {
            let (program, from) = link("memory", &order)?;
            if from.len() != 1 || !from[0].contains(winner) {
                return Err(format!(
                    "{target}: memcpy comes from {from:?}, not from {winner}"
                ));
            }
            self.emulate(machine, &program)?;
        }
        Ok(())
    }

    fn emulate(&self, machine: &Machine, program: &Path) -> Result<(), String> {
        if !machine.runs {
            return Ok(());
        }
        let output = machine.board.run(program)?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{}: {}", program.display(), output.status))
    }

    /// gcc or g++ for a file of `tests/c`.
    fn compile(&self, name: &str, program: &Path) -> Command {
        let (compiler, standard) = match name.ends_with(".cpp") {
            true => ("g++", "-std=c++17"),
            false => ("gcc", "-std=c99"),
        };
        let mut compile = self.tool(compiler);
        compile.args([standard, "-O2", name, "-o"]).arg(program);
        compile
    }

    /// The tutorial prints what its README says.
    fn runs(&self, file: &str, program: &mut Command) -> Result<(), String> {
        promised(self.cargo, file, &answer(program)?)
    }

    fn needs_shared(&self, program: &Path, shared: bool) -> Result<(), String> {
        let head = answer(self.tool("readelf").arg("--dynamic").arg(program))?;
        let needed = head
            .lines()
            .any(|line| line.contains("NEEDED") && line.contains("[libdst.so"));
        match needed == shared {
            true => Ok(()),
            false => Err(format!(
                "{}: shared library needed: {needed}",
                program.display()
            )),
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// Fails if `nm` lists a symbol that is neither ours nor weak, or none of ours.
fn check_symbols(library: &Path, listed: &str) -> Result<(), String> {
    // Address, kind, name. Other lines name a member, or complain that there is bitcode in it, too.
    let symbols =
        listed.lines().filter_map(
            |line| match line.split_whitespace().collect::<Vec<_>>()[..] {
                [address, kind, name] if u64::from_str_radix(address, 16).is_ok() => {
                    Some((name, kind))
                }
                _ => None,
            },
        );
    let (ours, others): (Vec<_>, Vec<_>) = symbols.partition(|(name, _)| name.starts_with("dst_"));
    let strong: Vec<_> = others
        .iter()
        .filter(|(_, kind)| !matches!(*kind, "W" | "V" | "w" | "v"))
        .collect();
    if ours.is_empty() || !strong.is_empty() {
        let count = ours.len();
        return Err(format!(
            "{}: {count} symbols of ours; strong ones: {strong:?}",
            library.display()
        ));
    }
    Ok(())
}

/// Links with `--trace-symbol`; returns the files that define the symbol.
fn definitions(link: &mut Command) -> Result<Vec<String>, String> {
    let output = link.output().map_err(|e| format!("{link:?}: {e}"))?;
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if !output.status.success() {
        return Err(format!("{link:?}: {}{}", said[0], said[1]));
    }
    let lines = said.iter().flat_map(|text| text.lines());
    Ok(lines
        .filter(|line| line.contains(": definition of "))
        .map(str::to_owned)
        .collect())
}
