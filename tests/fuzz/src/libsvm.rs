//! Data sets in LIBSVM format. The first byte is the size of the pieces in which a second reader gets the text: the result must not
//! depend on it.

use std::io::Read;

use dst_std::data::read_libsvm;

/// Gives its bytes in pieces of one size.
struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.size.min(buffer.len());
        let (piece, _) = self.rest.split_at(size.min(self.rest.len()));
        let count = piece.len();
        buffer[..count].copy_from_slice(piece);
        self.rest = &self.rest[count..];
        Ok(count)
    }
}

pub(crate) fn run(bytes: &[u8]) {
    let Some((&size, text)) = bytes.split_first() else {
        return;
    };
    let size = usize::from(size).max(1);
    let whole = read_libsvm(text, "data");
    let pieces = read_libsvm(Pieces { rest: text, size }, "data");
    assert_eq!(format!("{whole:?}"), format!("{pieces:?}"));
    match whole {
        Ok(examples) => {
            assert_eq!(examples.rows.rows(), examples.labels.len());
            assert!(examples.labels.iter().all(|label| label.is_finite()));
        }
        // A terminal must not get what it would take for a command.
        Err(error) => assert!(!error.to_string().contains(char::is_control)),
    }
}
