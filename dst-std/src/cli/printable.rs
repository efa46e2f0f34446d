//! Text for a terminal, whatever it holds.
//!
//! Names and excerpts of files may contain control characters, which move the cursor, change the title or hide text. They are escaped
//! here, on the way out, and nowhere else.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// True for characters that a terminal obeys instead of showing them: control characters, and those that turn the direction of text.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A sentence on one line.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    match text.contains(is_obeyed) {
        true => Cow::Owned(escaped(text, Form::Line)),
        false => Cow::Borrowed(text),
    }
}

/// Form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One line.
    Line,
    /// Lines.
    Lines,
    /// JSON: the escapes are those of JSON.
    Json,
}

fn escaped(text: &str, form: Form) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        let _ = match (form, c) {
            (Form::Lines | Form::Json, '\n') | (_, '\t') => out.write_char(c),
            (Form::Json, c) if is_obeyed(c) => write!(out, "\\u{:04x}", u32::from(c)),
            (_, c) if is_obeyed(c) => write!(out, "{}", c.escape_default()),
            (_, c) => out.write_char(c),
        };
    }
    out
}

/// Writer that escapes. A piece of text that is written at once holds whole characters.
pub(super) struct Printable<W> {
    pub(super) to: W,
    pub(super) form: Form,
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        match text.contains(|c| is_obeyed(c) && c != '\n') {
            true => self.to.write_all(escaped(&text, self.form).as_bytes())?,
            false => self.to.write_all(text.as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_words_are_not() {
        assert_eq!(printable("f ≤ 1e-3, ‖x‖"), "f ≤ 1e-3, ‖x‖");
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{9b}"), "a\\u{1b}[2Jb\\nc\\u{9b}");
        assert_eq!(printable("\u{202e}exe.txt"), "\\u{202e}exe.txt");
        let mut lines = Printable {
            to: Vec::new(),
            form: Form::Lines,
        };
        let text = "one \u{1b}[1m\ntwo α\r\n";
        lines.write_all(text.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8(lines.to).unwrap(),
            "one \\u{1b}[1m\ntwo α\\r\n"
        );
    }

    #[test]
    fn json_keeps_its_meaning() {
        let mut json = Printable {
            to: Vec::new(),
            form: Form::Json,
        };
        let text = "\u{1b}\u{7f}\u{9b}\u{202e}\n é";
        serde_json::to_writer_pretty(&mut json, &[text]).unwrap();
        let found = String::from_utf8(json.to).unwrap();
        assert!(!found.contains(|c| is_obeyed(c) && c != '\n'), "{found:?}");
        let read: Vec<String> = serde_json::from_str(&found).unwrap();
        assert_eq!(read, [text]);
    }
}
