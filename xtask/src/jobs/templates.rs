//! The templates: built from their own files, run, and their output compared with their README.

use std::path::Path;
use std::process::Command;

use super::cross::CORTEX_M4F;
use crate::cargo::{Cargo, answer, succeed};
use crate::toolchain::{QEMU_ARM, RustFor, Tool, ensure};

const FOLDER: &str = "tests/templates";
/// Programs in Rust: folder and name.
const RUST: [(&str, &str); 2] = [("firmware", "motor-firmware"), ("embassy", "motor-embassy")];
/// Flags of the board that PlatformIO adds.
const BOARD: [&str; 5] = [
    "-mcpu=cortex-m4",
    "-mthumb",
    "-mfloat-abi=hard",
    "-mfpu=fpv4-sp-d16",
    "-Werror",
];

/// Builds and runs all of them.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    ensure(&[
        QEMU_ARM,
        Tool::new("arm-none-eabi-gcc", "gcc-arm-none-eabi"),
        Tool::new(
            "/usr/lib/arm-none-eabi/lib/libc.a",
            "libnewlib-arm-none-eabi",
        ),
        Tool::new("cmake", "cmake"),
    ])?;
    let rust = RustFor::new(cargo, CORTEX_M4F.target)?;
    for (folder, program) in RUST {
        in_rust(cargo, &rust, folder, program)?;
    }
    with_cmake(cargo)?;
    with_platformio(cargo)?;
    Ok("firmware, embassy, c, platformio".to_owned())
}

/// With the runner of the template itself, as `cargo run` would start it.
fn in_rust(cargo: &Cargo, rust: &RustFor, name: &str, program: &str) -> Result<(), String> {
    let folder = cargo.root().join(FOLDER).join(name);
    cargo.component("fmt", "rustfmt")?;
    let mut fmt = cargo.command();
    fmt.current_dir(&folder).args(["fmt", "--check"]);
    succeed(&mut fmt)?;
    let out = cargo.target_folder("templates");
    let mut build = rust.command(cargo, &folder, "build");
    build
        .args(["--quiet", "--locked", "--release"])
        .env("CARGO_TARGET_DIR", &out);
    succeed(&mut build)?;
    let file = folder.join(".cargo/config.toml");
    let text = read(&file)?;
    let config: toml::Table = text
        .parse()
        .map_err(|e| format!("{}: {e}", file.display()))?;
    let runner = config
        .get("target")
        .and_then(|t| t.get(rust.target)?.get("runner")?.as_str())
        .ok_or_else(|| format!("{}: no runner", file.display()))?;
    let mut words = runner.split_whitespace();
    let mut emulator = Command::new(words.next().unwrap_or_default());
    emulator
        .args(words)
        .arg(out.join(rust.target).join("release").join(program))
        .stdin(std::process::Stdio::null());
    compare(&folder, &printed(&mut emulator)?)
}

/// With the commands of the README, in a build folder of ours.
fn with_cmake(cargo: &Cargo) -> Result<(), String> {
    let folder = cargo.root().join(FOLDER).join("c");
    let build = cargo.target_folder("templates").join("c");
    let mut configure = Command::new("cmake");
    configure
        .current_dir(&folder)
        .arg("-B")
        .arg(&build)
        .arg("-DCMAKE_TOOLCHAIN_FILE=toolchain-cortex-m4f.cmake")
        .arg("-DCMAKE_COMPILE_WARNING_AS_ERROR=ON");
    answer(&mut configure)?;
    let mut make = Command::new("cmake");
    make.arg("--build").arg(&build);
    answer(&mut make)?;
    let mut run = Command::new("cmake");
    run.arg("--build").arg(&build).args(["--target", "run"]);
    compare(&folder, &printed(&mut run)?)
}

/// Sources with the flags of `platformio.ini` and of the library.
fn with_platformio(cargo: &Cargo) -> Result<(), String> {
    let folder = cargo.root().join(FOLDER).join("platformio");
    let project = ini_list(&read(&folder.join("platformio.ini"))?, "build_flags");
    let file = folder.join("lib/dst/library.json");
    let library: serde_json::Value =
        serde_json::from_str(&read(&file)?).map_err(|e| format!("{}: {e}", file.display()))?;
    let flags = library["build"]["flags"].as_array();
    let flags = flags.ok_or_else(|| format!("{}: no build.flags", file.display()))?;
    let flags = flags.iter().filter_map(serde_json::Value::as_str);
    if project.is_empty() {
        return Err("platformio.ini: no build_flags".to_owned());
    }
    let object = cargo.target_folder("templates").join("platformio.o");
    let mut compile = Command::new("arm-none-eabi-gcc");
    compile
        .current_dir(&folder)
        .args(BOARD)
        .args(&project)
        .args(flags)
        .args(["-c", "src/main.c", "-o"])
        .arg(&object);
    answer(&mut compile).map(drop)
}

/// Indented lines below `name =`.
fn ini_list(text: &str, name: &str) -> Vec<String> {
    let begins = |line: &&str| line.split('=').next().is_some_and(|n| n.trim() == name);
    let below = text.lines().skip_while(|line| !begins(line)).skip(1);
    let list = below.take_while(|line| line.starts_with([' ', '\t']));
    list.map(|line| line.trim().to_owned()).collect()
}

/// Output of a program; that of semihosting may be on either stream.
fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let text = [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned());
    let text = text.concat();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{command:?}: {}\n{text}", output.status)),
    }
}

/// Fails if a line that the README promises is not printed, in this order.
fn compare(folder: &Path, printed: &str) -> Result<(), String> {
    let readme = read(&folder.join("README.md"))?;
    let promised = readme.split("```text\n").nth(1);
    let promised = promised.and_then(|text| text.split("```").next());
    let promised = promised.unwrap_or_default().trim();
    if promised.is_empty() || !printed.contains(promised) {
        return Err(format!(
            "{} prints\n{printed}\nand its README says\n{promised}",
            folder.display()
        ));
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::ini_list;

    #[test]
    fn flags_of_an_ini_file() {
        let text = "[env:x]\nboard = b\nbuild_flags =\n    -O2\n    -Ifolder\nother = 1\n    -O3\n";
        assert_eq!(ini_list(text, "build_flags"), ["-O2", "-Ifolder"]);
        assert!(ini_list(text, "flags").is_empty());
    }
}
