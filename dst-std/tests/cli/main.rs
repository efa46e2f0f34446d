//! The program `dst` as a user runs it: its output, its files and its exit codes. One file per subcommand.

mod checkpoints;
mod control;
mod endings;
mod illustrate;
mod inputs;
mod l2o;
mod ola;
mod outputs;
mod qp;
mod readme;
mod reproduce;
mod support;
mod tune;
mod validate;

use std::process::Stdio;

use support::{dst, program, text};

#[test]
fn a_usage_error_has_exit_code_2() {
    for arguments in [
        [].as_slice(),
        &["checkpoints"],
        &["checkpoints", "--slots", "3"],
        &["nonsense"],
        &["illustrate", "extra"],
    ] {
        assert_eq!(dst(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn help_shows_examples_and_version_is_that_of_the_package() {
    for arguments in [
        ["--help"].as_slice(),
        &["checkpoints", "--help"],
        &["illustrate", "--help"],
    ] {
        let text = text(arguments);
        assert!(text.contains("Examples:"), "{text}");
    }
    assert_eq!(
        text(&["--version"]).trim_end(),
        concat!("dst ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_closed_output_is_no_error() {
    for arguments in [["illustrate"].as_slice(), &["--help"]] {
        let mut child = program()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}
