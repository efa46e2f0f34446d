//! `xtask-header CONFIG SOURCE`: prints the C header of a Rust file whose macros are expanded.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [config, source] = arguments.as_slice() else {
        eprintln!("usage: xtask-header CONFIG SOURCE");
        return ExitCode::from(2);
    };
    match print(config, Path::new(source)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn print(config: &str, source: &Path) -> Result<(), String> {
    let config = cbindgen::Config::from_file(config)?;
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(source)
        .generate()
        .map_err(|e| format!("cbindgen: {e}"))?;
    bindings.write(std::io::stdout());
    Ok(())
}
