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
use crate::files::reason;
use crate::linalg::sparse::Csr;
use crate::machine::Footprint;

/// A data set: one row of features and one label per example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examples {
    /// The features; column j holds those with index j + 1.
    pub rows: Csr,
    /// The labels as the file gives them, one per row.
    pub labels: Vec<f64>,
}

/// The reason why a data set cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The system could not read the file.
    Io {
        /// The file.
        name: String,
        /// The message of the system.
        error: io::Error,
    },
    /// There is not enough memory for the data.
    Memory {
        /// The file.
        name: String,
        /// Sizes and remedy; one sentence.
        sentence: String,
    },
    /// The text is not LIBSVM format.
    Syntax {
        /// The file.
        name: String,
        /// Line, from 1.
        line: u64,
        /// Byte in the line, from 1.
        column: u64,
        /// The fault there.
        fault: Fault,
    },
}

/// The fault of a word in a data file.
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
            Self::Io { name, error } => write!(f, "{name}: {}", reason(error)),
            Self::Memory { name, sentence } => write!(f, "{name}: {sentence}"),
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

/// Entries, or examples, between two looks at the memory that is left.
const PORTION: usize = 1 << 20;

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

/// The kind of the next word of a line.
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
        if self.examples.labels.len().is_multiple_of(PORTION) {
            self.must_fit()?;
        }
        Ok(more)
    }

    /// Refuses to go on where there is no memory for as much again: a pipe may have no end.
    #[cold]
    fn must_fit(&self) -> Result<(), ReadError> {
        let (rows, entries) = (self.examples.labels.len(), self.examples.rows.nonzeros());
        // A list that grows is there twice, the new one being twice as long.
        const GROWTH: f64 = 3.0;
        let entry = (size_of::<u32>() + size_of::<f64>()) as f64;
        let row = (size_of::<usize>() + size_of::<f64>()) as f64;
        Footprint::of("reading on")
            .with(
                format!("{entries} entries"),
                [GROWTH, entry, entries as f64],
                "take fewer examples",
            )
            .with(
                format!("{rows} examples"),
                [GROWTH, row, rows as f64],
                "take fewer examples",
            )
            .check()
            .map_err(|sentence| ReadError::Memory {
                name: self.name.to_owned(),
                sentence,
            })
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
            Some([b'1', b' ' | b'\n']) if at + 1 < TOKEN => {
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
        if self.examples.rows.nonzeros().is_multiple_of(PORTION) {
            self.must_fit()?;
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

/// True if a word ends here; false if it is too long for the window.
#[inline]
fn ends(window: &[u8], at: usize) -> bool {
    let end = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'#');
    at < TOKEN && window.get(at).is_none_or(end)
}

/// A word as an error shows it: short, and printable whatever it holds.
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
mod tests;
