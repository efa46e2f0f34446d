//! The programs here start each other.

use std::path::PathBuf;

/// A program built beside this one.
pub fn sibling(name: &str) -> Result<PathBuf, String> {
    let here =
        std::env::current_exe().map_err(|e| format!("where this program lies is unknown: {e}"))?;
    let path = here.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!(
            "the program '{name}' is not built; run: cargo build --release -p dst-bench --bins"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::sibling;

    #[test]
    fn a_program_is_found_or_named() {
        let here = std::env::current_exe().unwrap();
        let own = here.file_stem().unwrap().to_string_lossy();
        assert_eq!(sibling(&own), Ok(here));
        let missing = sibling("nobody").unwrap_err();
        assert!(missing.contains("'nobody' is not built"), "{missing}");
    }
}
