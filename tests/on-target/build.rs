//! Build script of every firmware: its memory map and linker scripts.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let target = env::var("TARGET").unwrap();
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("..");
    let map = here.join("memory").join(format!("{target}.x"));
    println!("cargo:rerun-if-changed=../build.rs");
    println!("cargo:rerun-if-changed={}", map.display());
    // There is no map for the host; `cargo metadata` and editors still need the build script to succeed.
    let Ok(map) = fs::read(map) else { return };
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    fs::write(out.join("memory.x"), map).unwrap();
    println!("cargo:rustc-link-search={}", out.display());
    let mut scripts = vec!["link.x"];
    if target.starts_with("riscv") {
        scripts.insert(0, "memory.x"); // not included by riscv-rt
    }
    if ["logging", "ticks"].contains(&&*env::var("CARGO_PKG_NAME").unwrap()) {
        scripts.push("defmt.x");
    }
    for script in scripts {
        println!("cargo:rustc-link-arg-bins=-T{script}");
    }
    // Place the sections by the linker script, without alignment to pages.
    println!("cargo:rustc-link-arg-bins=--nmagic");
}
