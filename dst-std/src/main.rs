//! The `dst` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    dst_std::cli::main()
}
