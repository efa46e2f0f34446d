//! Reading with a bound: a wrong path, such as that of a device without end, is refused before it fills the memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::machine;
use crate::parallel::ranks;

/// Reads a file of at most this number of bytes. In an MPI job the first rank reads it for all.
pub(crate) fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if ranks::count() == 1 {
        return read_here(path, most);
    }
    let (content, missing, reason) = ranks::from_first(|| match read_here(path, most) {
        Ok(content) => (Some(content), false, String::new()),
        Err(error) => (None, error.kind() == ErrorKind::NotFound, error.to_string()),
    });
    let kind = match missing {
        true => ErrorKind::NotFound,
        false => ErrorKind::Other,
    };
    content.ok_or_else(|| io::Error::new(kind, reason))
}

fn read_here(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        let most = machine::bytes(most as f64);
        io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most}"))
    };
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if found.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // One byte more than allowed shows that the file is too long, whatever it says about its length.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(bytes)
}

/// The same as text.
pub(crate) fn read_text_at_most(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_at_most(path, most)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}
