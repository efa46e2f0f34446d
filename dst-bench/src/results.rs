//! `RESULTS.md`: sections between marks, each replaced by the program that measures it. All other text is kept.

use std::path::Path;

use dst_std::files::write_file;

const HEAD: &str = "\
# Results

The sections between marks are written by `cargo xtask compare` and `cargo xtask growth`; each program replaces its own sections and
keeps all other text. Times belong to the machine named in each section.
";

/// Puts a section into the file, in the place of the one with the same name or at the end.
pub fn put(file: &Path, name: &str, section: &str) -> Result<(), String> {
    let old = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => HEAD.to_owned(),
        Err(e) => return Err(format!("{} cannot be read: {e}", file.display())),
    };
    write_file(file, replaced(&old, name, section).as_bytes())
}

/// Returns the text with this section.
fn replaced(old: &str, name: &str, section: &str) -> String {
    let (from, to) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let new = format!("{from}\n{}\n{to}", section.trim_end());
    let found = old.find(&from).and_then(|start| {
        let end = start + old[start..].find(&to)? + to.len();
        Some((start, end))
    });
    match found {
        Some((start, end)) => format!("{}{new}{}", &old[..start], &old[end..]),
        None => format!("{}\n\n{new}\n", old.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn a_section_takes_the_place_of_its_own_and_of_no_other() {
        let one = replaced("# Title\n", "a", "first\n");
        let two = replaced(&one, "b", "second");
        assert_eq!(
            two,
            "# Title\n\n<!-- a -->\nfirst\n<!-- /a -->\n\n<!-- b -->\nsecond\n<!-- /b -->\n"
        );
        assert_eq!(replaced(&two, "a", "first"), two);
        assert_eq!(replaced(&two, "a", "third"), two.replace("first", "third"));
        assert_eq!(replaced(&two, "b", "x"), two.replace("second", "x"));
        // Text that was edited by hand survives, before, between and after the sections.
        let edited = two.replace("\n\n<!-- b", "\n\nBy hand.\n\n<!-- b") + "\nAlso by hand.\n";
        assert_eq!(replaced(&edited, "b", "x"), edited.replace("second", "x"));
    }
}
