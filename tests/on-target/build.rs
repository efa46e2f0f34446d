//! The build script of every firmware: its memory map and linker scripts.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let target = env::var("TARGET").unwrap();
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("..");
    let map = here.join("memory").join(format!("{target}.x"));
    println!("cargo:rerun-if-changed=../build.rs");
    println!("cargo:rerun-if-changed={}", map.display());
    // The host has none; `cargo metadata` and editors still want the build script to work.
    let Ok(map) = fs::read(map) else { return };
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    fs::write(out.join("memory.x"), map).unwrap();
    println!("cargo:rustc-link-search={}", out.display());
    let mut scripts = vec!["link.x"];
    if target.starts_with("riscv") {
        scripts.insert(0, "memory.x"); // riscv-rt does not include it by itself
    }
    if env::var("CARGO_PKG_NAME").unwrap() == "logging" {
        scripts.push("defmt.x");
    }
    for script in scripts {
        println!("cargo:rustc-link-arg-bins=-T{script}");
    }
    // Sections where the script puts them, not on pages of a file system.
    println!("cargo:rustc-link-arg-bins=--nmagic");
}
