//! A window that slides over a stream of bytes, and knows the line and column it is at.
//!
//! The window always shows at least [`TOKEN`] bytes, unless the input ends sooner: a parser of short tokens never meets
//! the edge of a buffer, and the memory is that of the buffer however long a line is.

use std::io::{self, ErrorKind, Read};

/// The longest token, in bytes.
pub(super) const TOKEN: usize = 1024;
const BUFFER: usize = 256 * 1024;

pub(super) struct Source<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The window is `buffer[at..end]`.
    at: usize,
    end: usize,
    finished: bool,
    line: u64,
    /// Bytes of the current line that came before `buffer[0]`, less those of `buffer` that belong to earlier lines.
    line_offset: i64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
            finished: false,
            line: 1,
            line_offset: 0,
        }
    }

    /// The bytes that come next.
    #[inline]
    pub(super) fn window(&mut self) -> io::Result<&[u8]> {
        if self.end - self.at < TOKEN && !self.finished {
            self.refill()?;
        }
        Ok(&self.buffer[self.at..self.end])
    }

    #[cold]
    fn refill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.line_offset += self.at as i64;
        self.end -= self.at;
        self.at = 0;
        while self.end < TOKEN && !self.finished {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.finished = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Moves on by `count` bytes of the window.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        self.at = (self.at + count).min(self.end);
    }

    /// The next byte begins a line.
    pub(super) fn begin_line(&mut self) {
        self.line += 1;
        self.line_offset = -(self.at as i64);
    }

    /// Line and column of the byte `ahead` of the window's first, counted from 1.
    pub(super) fn position(&self, ahead: usize) -> (u64, u64) {
        let column = self.line_offset + self.at as i64 + ahead as i64 + 1;
        (self.line, column.unsigned_abs())
    }
}
