//! Tests on the LIBSVM files of the paper, which are not part of the repository.
//!
//! `cargo test` ignores these tests: they are in modules called `papers_data`.

use std::path::PathBuf;

use crate::cargo::{Cargo, FEATURES, answer};

/// The files that the tests need.
const FILES: [&str; 4] = ["a1a", "a2a", "a3a", "w3a"];

/// The test programs with a module `papers_data`.
const PROGRAMS: [&str; 2] = ["ola", "cli"];

/// Runs the tests if the files are in `DST_DATA` or in the folder beside the repository; the note says whether they ran.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    let beside = cargo.root().join("../shared/data/libsvm");
    let folder = std::env::var_os("DST_DATA").map_or(beside, PathBuf::from);
    let missing = FILES.iter().find(|name| !folder.join(name).is_file());
    if let Some(missing) = missing {
        let file = folder.join(missing);
        return Ok(format!(
            "not run: no data ({}; set DST_DATA)",
            file.display()
        ));
    }
    let mut tests = cargo.command();
    // With the features of the other tests: nothing is compiled again.
    tests.args(["test", "--workspace", FEATURES]);
    for program in PROGRAMS {
        tests.args(["--test", program]);
    }
    tests.args(["--", "--ignored", "papers_data"]);
    let text = answer(tests.env("DST_DATA", &folder))?;
    match passed(&text) {
        0 => Err("no test was found in the modules papers_data".to_owned()),
        count => Ok(format!(
            "{count} tests on the files in {}",
            folder.display()
        )),
    }
}

/// Returns the number of tests that passed, over all test programs.
fn passed(text: &str) -> usize {
    text.lines()
        .filter_map(|line| line.strip_prefix("test result: ok. "))
        .filter_map(|rest| rest.split(' ').next()?.parse::<usize>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::passed;

    #[test]
    fn tests_are_counted_over_all_programs() {
        let text = "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\
                    test result: ok. 4 passed; 0 failed; 0 ignored\n";
        assert_eq!(passed(text), 5);
        assert_eq!(passed("test result: FAILED. 3 passed; 1 failed\n"), 0);
    }
}
