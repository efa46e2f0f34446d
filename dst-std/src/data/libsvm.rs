//! Reads data sets in LIBSVM format: one example per line, `label index:value index:value …`.
//!
//! The file is read once, in a window of fixed size; what is kept grows with the number of entries, not with the
//! largest index. Odd input is read as the LIBSVM tools read it, or refused with line and column, never guessed at:
//!
//! | input | |
//! |---|---|
//! | a label and no features | an empty row |
//! | empty line, `# comment`, also behind an example | skipped |
//! | spaces or tabs, also doubled or at the ends; CRLF; no newline at the end | read |
//! | `qid:7` after the label | read over, as it is for ranking only |
//! | gaps between indices | zeros |
//! | an explicit `5:0` | an entry of value 0; counts for the largest index |
//! | index 0; an index twice or out of order | refused, as liblinear does |
//! | index above 4294967295 | refused: columns are 32-bit numbers |
//! | inf, nan, 1e999, hexadecimal | refused |
//! | several labels (`1,3`), no label, text, binary junk, a lone carriage return, a word of 1024 bytes or more | refused |

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::number::decimal;
use super::source::{Source, TOKEN};
use crate::linalg::sparse::Csr;

/// A data set: one row of features and one label per example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examples {
    /// The features; column j holds those with index j + 1.
    pub rows: Csr,
    /// The labels as the file gives them, one per row.
    pub labels: Vec<f64>,
}

/// Why a data set cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The system could not read the file.
    Io {
        /// The file.
        name: String,
        /// What the system says.
        error: io::Error,
    },
    /// The text is not LIBSVM format.
    Syntax {
        /// The file.
        name: String,
        /// Line, from 1.
        line: u64,
        /// Byte in the line, from 1.
        column: u64,
        /// What is wrong there.
        fault: Fault,
    },
}

/// What is wrong with a word of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The first word of a line is not a finite number.
    Label(String),
    /// An index is not a whole number.
    Index(String),
    /// An index is 0.
    IndexZero,
    /// An index does not fit 32 bits.
    IndexTooLarge(String),
    /// An index follows one that is not smaller.
    Order {
        /// The index.
        index: u32,
        /// The one before.
        previous: u32,
    },
    /// An index without a colon and a value.
    NoValue(String),
    /// A value is not a finite number.
    Value(String),
    /// `qid:` is not followed by a whole number, or does not follow the label.
    Query(String),
    /// A carriage return that does not end a line.
    CarriageReturn,
    /// No word of a data file is this long.
    TooLong,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { name, error } => write!(f, "{name}: {error}"),
            Self::Syntax {
                name,
                line,
                column,
                fault,
            } => write!(f, "{name}:{line}:{column}: {fault}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(word) => write!(f, "label '{word}' is not a finite number"),
            Self::Index(word) => write!(f, "index '{word}' is not a whole number"),
            Self::IndexZero => f.write_str("index 0 (LIBSVM indices start at 1)"),
            Self::IndexTooLarge(word) => write!(f, "index {word} is above {}", u32::MAX),
            Self::Order { index, previous } if index == previous => {
                write!(f, "index {index} comes twice")
            }
            Self::Order { index, previous } => {
                write!(f, "index {index} after {previous} (indices must increase)")
            }
            Self::NoValue(word) => write!(f, "'{word}' has no value (index:value is expected)"),
            Self::Value(word) => write!(f, "value '{word}' is not a finite number"),
            Self::Query(word) => write!(f, "'{word}' is not qid:NUMBER behind a label"),
            Self::CarriageReturn => f.write_str("a carriage return inside a line"),
            Self::TooLong => write!(f, "a word of {TOKEN} bytes or more"),
        }
    }
}

/// Reads a file; errors carry its name without the folders.
pub fn read_libsvm_file(path: &Path) -> Result<Examples, ReadError> {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy();
    let file = File::open(path).map_err(|error| ReadError::Io {
        name: path.display().to_string(),
        error,
    })?;
    read_libsvm(file, &name)
}

/// Reads a stream to its end; `name` is for the errors. No buffering is needed around the reader.
pub fn read_libsvm(reader: impl Read, name: &str) -> Result<Examples, ReadError> {
    let mut parser = Parser {
        source: Source::new(reader),
        examples: Examples::default(),
        name,
    };
    while parser.line()? {}
    Ok(parser.examples)
}

struct Parser<'n, R> {
    source: Source<R>,
    examples: Examples,
    name: &'n str,
}

/// What the next word of a line is.
enum Next {
    Word,
    LineEnd,
    InputEnd,
}

impl<R: Read> Parser<'_, R> {
    /// Reads a line; false at the end of the input.
    fn line(&mut self) -> Result<bool, ReadError> {
        match self.next()? {
            Next::InputEnd => return Ok(false),
            Next::LineEnd => return Ok(true),
            Next::Word => {}
        }
        let label = self.label()?;
        let mut entries = 0_usize;
        let more = loop {
            match self.next()? {
                Next::Word => self.entry(entries == 0)?,
                Next::LineEnd => break true,
                Next::InputEnd => break false,
            }
            entries += 1;
        };
        self.examples.labels.push(label);
        self.examples.rows.finish_row();
        Ok(more)
    }

    /// Goes over blanks and a comment, to a word or past the end of the line.
    #[inline]
    fn next(&mut self) -> Result<Next, ReadError> {
        loop {
            let window = self.window()?;
            let blanks = window
                .iter()
                .take_while(|&&byte| matches!(byte, b' ' | b'\t'))
                .count();
            let rest = &window[blanks..];
            let (next, count) = match rest {
                [] if blanks == 0 => (Next::InputEnd, 0),
                [] => {
                    self.source.advance(blanks);
                    continue;
                }
                [b'\n', ..] => (Next::LineEnd, 1),
                [b'\r', b'\n', ..] => (Next::LineEnd, 2),
                [b'\r'] if blanks == 0 => (Next::InputEnd, 1),
                [b'\r'] => {
                    self.source.advance(blanks);
                    continue;
                }
                [b'\r', ..] => return Err(self.fault(blanks, Fault::CarriageReturn)),
                [b'#', ..] => {
                    let length = rest.iter().position(|&byte| byte == b'\n');
                    let length = length.unwrap_or(rest.len());
                    self.source.advance(blanks + length);
                    self.comment()?;
                    continue;
                }
                _ => (Next::Word, 0),
            };
            self.source.advance(blanks + count);
            if let Next::LineEnd = next {
                self.source.begin_line();
            }
            return Ok(next);
        }
    }

    /// Goes to the end of a comment that may be longer than the window.
    fn comment(&mut self) -> Result<(), ReadError> {
        loop {
            let window = self.window()?;
            let length = window.iter().position(|&byte| byte == b'\n');
            let count = length.unwrap_or(window.len());
            let ended = length.is_some() || count == 0;
            self.source.advance(count);
            if ended {
                return Ok(());
            }
        }
    }

    fn label(&mut self) -> Result<f64, ReadError> {
        let window = self.window()?;
        match decimal(window) {
            Some((value, length)) if ends(window, length) && value.is_finite() => {
                self.source.advance(length);
                Ok(value)
            }
            _ => Err(self.refuse(0, Fault::Label)),
        }
    }

    /// Reads `index:value`; `qid:number` where it may stand.
    #[inline]
    fn entry(&mut self, first: bool) -> Result<(), ReadError> {
        let window = self.window()?;
        let mut index = 0_u64;
        let mut at = 0;
        while let Some(&byte) = window.get(at)
            && byte.is_ascii_digit()
        {
            index = index
                .saturating_mul(10)
                .saturating_add(u64::from(byte - b'0'));
            at += 1;
        }
        if at == 0 || window.get(at) != Some(&b':') {
            let bare_index = at > 0 && ends(window, at);
            return self.query(first, bare_index);
        }
        let digits = at;
        at += 1;
        let value = match window.get(at..at + 2) {
            // By far the most frequent value.
            Some([b'1', b' ' | b'\n']) => {
                at += 1;
                1.0
            }
            _ => match decimal(&window[at..]) {
                Some((value, length)) if ends(window, at + length) && value.is_finite() => {
                    at += length;
                    value
                }
                _ => return Err(self.refuse(at, Fault::Value)),
            },
        };
        let Ok(index) = u32::try_from(index) else {
            let word = excerpt(&window[..digits]);
            return Err(self.fault(0, Fault::IndexTooLarge(word)));
        };
        let Some(column) = index.checked_sub(1) else {
            return Err(self.fault(0, Fault::IndexZero));
        };
        if let Err(order) = self.examples.rows.push(column, value) {
            let previous = order.previous + 1;
            return Err(self.fault(0, Fault::Order { index, previous }));
        }
        self.source.advance(at);
        Ok(())
    }

    /// A word that is not `index:value`: the number of a query, or a mistake.
    #[cold]
    fn query(&mut self, first: bool, bare_index: bool) -> Result<(), ReadError> {
        let window = self.window()?;
        if window.starts_with(b"qid:") {
            let number = &window[4..];
            let digits = number
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            if !(first && digits > 0 && ends(window, 4 + digits)) {
                return Err(self.refuse(0, Fault::Query));
            }
            self.source.advance(4 + digits);
            return Ok(());
        }
        let fault = if bare_index {
            Fault::NoValue
        } else {
            Fault::Index
        };
        Err(self.refuse(0, fault))
    }

    #[inline]
    fn window(&mut self) -> Result<&[u8], ReadError> {
        let name = self.name;
        self.source.window().map_err(|error| ReadError::Io {
            name: name.to_owned(),
            error,
        })
    }

    /// The error for what stands `at` bytes ahead.
    #[cold]
    fn refuse(&mut self, at: usize, fault: fn(String) -> Fault) -> ReadError {
        let text = match self.window() {
            Ok(window) => &window[at.min(window.len())..],
            Err(error) => return error,
        };
        let length = text.iter().position(|byte| b" \t\r\n#".contains(byte));
        let length = length.unwrap_or(text.len());
        let fault = if at + length >= TOKEN {
            Fault::TooLong
        } else {
            fault(excerpt(&text[..length]))
        };
        self.fault(at, fault)
    }

    #[cold]
    fn fault(&self, ahead: usize, fault: Fault) -> ReadError {
        let (line, column) = self.source.position(ahead);
        ReadError::Syntax {
            name: self.name.to_owned(),
            line,
            column,
            fault,
        }
    }
}

/// Does a word end here? If it is too long for the window to tell, no.
#[inline]
fn ends(window: &[u8], at: usize) -> bool {
    let end = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'#');
    at < TOKEN && window.get(at).is_none_or(end)
}

/// What an error shows of a word: short, and printable whatever it holds.
fn excerpt(word: &[u8]) -> String {
    const SHOWN: usize = 24;
    let shown = word.get(..SHOWN).unwrap_or(word).escape_ascii().to_string();
    if word.len() > SHOWN {
        shown + "..."
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Examples, String> {
        read_libsvm(text.as_bytes(), "t").map_err(|error| error.to_string())
    }

    /// Label and (index, value) of every row, as the file has them.
    fn rows(text: &str) -> Vec<(f64, Vec<(u32, f64)>)> {
        let examples = read(text).unwrap();
        assert_eq!(examples.labels.len(), examples.rows.rows());
        let features = |i: usize| {
            let row = examples.rows.row(i);
            let value = |k: usize| row.values.map_or(1.0, |values| values[k]);
            let entry = |(k, &j): (usize, &u32)| (j + 1, value(k));
            row.indices.iter().enumerate().map(entry).collect()
        };
        let labels = examples.labels.iter().enumerate();
        labels.map(|(i, &label)| (label, features(i))).collect()
    }

    #[test]
    fn reads_what_the_tools_write() {
        let expected = vec![
            (-1.0, vec![(3, 1.0), (11, 1.0)]),
            (1.0, vec![]),
            (2.5, vec![(1, -0.5), (7, 1e-3)]),
        ];
        assert_eq!(rows("-1 3:1 11:1 \n+1 \n2.5 1:-.5 7:1e-3\n"), expected);
        for text in [
            "-1 3:1 11:1\r\n+1\r\n2.5 1:-.5 7:1e-3\r\n",
            "-1 3:1 11:1\n+1\n2.5 1:-.5 7:1e-3",
            "-1 3:1 11:1\n+1\n2.5 1:-.5 7:1e-3\r",
            "  -1\t3:1  11:1\n\n# nothing\n+1 # a comment 1:1\n \t\n2.5 1:-.5 7:1e-3#x",
            "-1 qid:3 3:1 11:1\n+1 qid:3\n2.5 qid:99999999999999999999 1:-.5 7:1e-3",
        ] {
            assert_eq!(rows(text), expected, "{text}");
        }
        assert!(rows("").is_empty() && rows("\n \n#\n\r\n").is_empty());
    }

    #[test]
    fn gaps_zeros_and_large_indices() {
        let examples = read("1 1:1 4294967295:0\n-1 5:1").unwrap();
        assert_eq!(examples.rows.columns(), u32::MAX as usize);
        assert_eq!(examples.rows.nonzeros(), 3);
        assert_eq!(examples.rows.row(0).values, Some(&[1.0, 0.0][..]));
    }

    #[test]
    fn refuses_with_line_and_column() {
        for (text, expected) in [
            ("1 1:1\n1 0:1", "t:2:3: index 0 (LIBSVM indices start at 1)"),
            (
                "1 3:1 2:1",
                "t:1:7: index 2 after 3 (indices must increase)",
            ),
            ("1 3:1 3:1", "t:1:7: index 3 comes twice"),
            (
                "1 4294967296:1",
                "t:1:3: index 4294967296 is above 4294967295",
            ),
            (
                "1 99999999999999999999999:1",
                "t:1:3: index 99999999999999999999999 is above 4294967295",
            ),
            ("1 -3:1", "t:1:3: index '-3:1' is not a whole number"),
            ("1 1.5:1", "t:1:3: index '1.5:1' is not a whole number"),
            ("1 :1", "t:1:3: index ':1' is not a whole number"),
            ("1 7", "t:1:3: '7' has no value (index:value is expected)"),
            (
                "1 7 :1",
                "t:1:3: '7' has no value (index:value is expected)",
            ),
            ("1 7:", "t:1:5: value '' is not a finite number"),
            ("1 7: 1", "t:1:5: value '' is not a finite number"),
            ("1 7:1x", "t:1:5: value '1x' is not a finite number"),
            ("1 7:1:2", "t:1:5: value '1:2' is not a finite number"),
            ("1 7:nan", "t:1:5: value 'nan' is not a finite number"),
            ("1 7:-inf", "t:1:5: value '-inf' is not a finite number"),
            ("1 7:1e999", "t:1:5: value '1e999' is not a finite number"),
            ("1 7:0x1p3", "t:1:5: value '0x1p3' is not a finite number"),
            ("\n\nnan 1:1", "t:3:1: label 'nan' is not a finite number"),
            ("1,3 1:1", "t:1:1: label '1,3' is not a finite number"),
            ("1:1 2:1", "t:1:1: label '1:1' is not a finite number"),
            ("1\r2\n", "t:1:2: a carriage return inside a line"),
            (
                "1 1:1 qid:3",
                "t:1:7: 'qid:3' is not qid:NUMBER behind a label",
            ),
            (
                "1 qid: 1:1",
                "t:1:3: 'qid:' is not qid:NUMBER behind a label",
            ),
            (
                "1 qid:1 qid:2",
                "t:1:9: 'qid:2' is not qid:NUMBER behind a label",
            ),
            (
                "\u{feff}1 1:1",
                "t:1:1: label '\\xef\\xbb\\xbf1' is not a finite number",
            ),
            (
                "\0\u{1}\u{2}",
                "t:1:1: label '\\x00\\x01\\x02' is not a finite number",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), expected, "{text:?}");
        }
    }

    /// Words are bounded, lines and comments are not.
    #[test]
    fn long_lines_do_not_need_a_large_window() {
        for count in [TOKEN - 1, TOKEN, 300_000, 1_000_000] {
            let zeros = "0".repeat(count);
            for text in [
                zeros.clone(),
                format!("1 {zeros}1:1"),
                format!("1 1:{zeros}"),
                format!("1 qid:{zeros}"),
            ] {
                let answer = read(&text);
                if text.len() >= TOKEN + 2 {
                    let error = answer.unwrap_err();
                    assert!(
                        error.ends_with("a word of 1024 bytes or more"),
                        "{count}: {error}"
                    );
                }
            }
            let blank = " ".repeat(count);
            assert_eq!(
                rows(&format!("1{blank}1:1{blank}2:3#{blank}\n{blank}-1{blank}")),
                [(1.0, vec![(1, 1.0), (2, 3.0)]), (-1.0, vec![]),]
            );
            let error = read(&format!("1\n1{blank}0:1")).unwrap_err();
            assert_eq!(
                error,
                format!("t:2:{}: index 0 (LIBSVM indices start at 1)", count + 2)
            );
        }
    }

    /// A reader that gives one byte at a time changes nothing.
    #[test]
    fn pieces_of_any_size() {
        struct Drip<'a>(&'a [u8], usize);
        impl Read for Drip<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let count = self.1.min(self.0.len()).min(buffer.len());
                let (now, later) = self.0.split_at(count);
                buffer[..count].copy_from_slice(now);
                self.0 = later;
                Ok(count)
            }
        }
        let mut text = String::new();
        for i in 0..3000 {
            text += &format!("{} {}:1 {}:{}\r\n", i % 2, i + 1, i + 2, f64::from(i) / 8.0);
        }
        let whole = read(&text).unwrap();
        for size in [1, 7, TOKEN - 1, TOKEN, 100_000] {
            assert_eq!(
                read_libsvm(Drip(text.as_bytes(), size), "t").unwrap(),
                whole
            );
        }
        text += "1 0:1";
        let error = read_libsvm(Drip(text.as_bytes(), 11), "t").unwrap_err();
        assert!(
            error.to_string().starts_with("t:3001:3: index 0"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_libsvm_file(Path::new("no/such/file")).unwrap_err();
        assert!(error.to_string().starts_with("no/such/file: "), "{error}");
    }
}
