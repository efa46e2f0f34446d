//! Counting without valgrind: the package is named, and nothing is installed behind anybody's back. `cargo xtask` installs it beforehand.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn the_package_is_named_and_nothing_is_installed() {
    let folder = std::env::temp_dir().join(format!("dst-no-valgrind-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // All that PATH has is an installer that leaves a trace.
    let (installer, trace) = (folder.join("apt-get"), folder.join("called"));
    let script = format!("#!/bin/sh\necho \"$@\" >>'{}'\n", trace.display());
    fs::write(&installer, script).unwrap();
    fs::set_permissions(&installer, fs::Permissions::from_mode(0o755)).unwrap();

    let program = env!("CARGO_BIN_EXE_overhead");
    let output = Command::new(program).env("PATH", &folder).output().unwrap();
    let installed = fs::read_to_string(&trace);
    fs::remove_dir_all(&folder).unwrap();

    assert!(installed.is_err(), "it ran apt-get {installed:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("apt-get install valgrind"), "{said}");
}
