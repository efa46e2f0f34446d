//! The program as a child process, and the checks that the tests of all subcommands share.

use std::process::{Child, Command, Output};

use serde_json::Value;

#[path = "../libsvm/mod.rs"]
pub(crate) mod libsvm;
#[path = "../markup/mod.rs"]
pub(crate) mod markup;
#[path = "../scratch/mod.rs"]
mod scratch;

pub(crate) use scratch::Scratch;

/// The program, without the data sets of the user who runs the tests.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dst"));
    command.env_remove("DST_DATA");
    command
}

/// Runs the program to its end.
pub(crate) fn dst(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// Returns standard output of a run that succeeds and prints no error.
#[track_caller]
pub(crate) fn succeeds(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the text that a successful run prints.
#[track_caller]
pub(crate) fn text(arguments: &[&str]) -> String {
    succeeds(dst(arguments))
}

/// Returns the JSON object that a successful run prints.
#[track_caller]
pub(crate) fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).unwrap()
}

/// Returns the exit code and the only line on standard error of a run that prints nothing else.
#[track_caller]
pub(crate) fn fails(output: Output) -> (i32, String) {
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("error: "), "{text}");
    (output.status.code().unwrap(), text.trim_end().to_owned())
}

/// Arguments that the program must refuse.
pub(crate) struct Refusal<'a> {
    arguments: &'a [&'a str],
    code: i32,
    /// A part of the error.
    words: &'a str,
}

/// A usage error: exit code 2.
pub(crate) const fn usage<'a>(arguments: &'a [&'a str], words: &'a str) -> Refusal<'a> {
    Refusal {
        arguments,
        code: 2,
        words,
    }
}

/// A question without a result: exit code 1.
pub(crate) const fn no_result<'a>(arguments: &'a [&'a str], words: &'a str) -> Refusal<'a> {
    Refusal {
        arguments,
        code: 1,
        words,
    }
}

impl Refusal<'_> {
    /// Runs the program with `before`, the arguments and `after`; checks the exit code and the error.
    #[track_caller]
    pub(crate) fn check_between(&self, before: &[&str], after: &[&str]) {
        let arguments = [before, self.arguments, after].concat();
        let (code, text) = fails(dst(&arguments));
        assert_eq!(code, self.code, "{arguments:?}: {text}");
        assert!(text.contains(self.words), "{arguments:?}: {text}");
    }

    /// Runs the subcommand with the arguments; checks the exit code and the error.
    #[track_caller]
    pub(crate) fn check(&self, subcommand: &str) {
        self.check_between(&[subcommand], &[]);
    }
}

/// Sends SIGINT, as Ctrl-C does. False if there is no `kill` on this machine, said on standard error.
pub(crate) fn interrupt(child: &Child) -> bool {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    let sent = sent.is_ok_and(|status| status.success());
    if !sent {
        eprintln!("SIGINT could not be sent");
    }
    sent
}
