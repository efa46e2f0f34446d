//! Symbols of a static library: which of them a program that links it can collide with.
//!
//! Beside its own functions the library contains `compiler_builtins`: arithmetic that the processor lacks, and `memcpy` and its
//! relatives. A program usually has them from its compiler and its C library. As weak symbols they step back where both are linked.

use std::path::Path;

use object::elf::{FileHeader32, FileHeader64, SHT_SYMTAB, STB_GLOBAL, STB_WEAK};
use object::read::archive::ArchiveFile;
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, FileKind};

/// Beginning of the names that are ours.
const OURS: &[u8] = b"dst_";

/// Makes every symbol that is defined in the library and is not ours a weak one.
pub(crate) fn weaken(library: &Path) -> Result<(), String> {
    let complain = |e: &dyn std::fmt::Display| format!("{}: {e}", library.display());
    let mut bytes = std::fs::read(library).map_err(|e| complain(&e))?;
    for place in strong(&bytes).map_err(|e| complain(&e))? {
        bytes[place] = (STB_WEAK << 4) | (bytes[place] & 0xf);
    }
    std::fs::write(library, bytes).map_err(|e| complain(&e))
}

/// Places of the bytes that hold the binding of each strong symbol that is not ours.
fn strong(bytes: &[u8]) -> object::Result<Vec<usize>> {
    let mut places = Vec::new();
    for member in ArchiveFile::parse(bytes)?.members() {
        let member = member?;
        let data = member.data(bytes)?;
        let within = match FileKind::parse(data)? {
            FileKind::Elf32 => bindings::<FileHeader32<Endianness>>(data, 12)?,
            FileKind::Elf64 => bindings::<FileHeader64<Endianness>>(data, 4)?,
            // Metadata of rustc.
            _ => continue,
        };
        let start = usize::try_from(member.file_range().0).unwrap_or(usize::MAX);
        places.extend(within.iter().map(|place| start + place));
    }
    Ok(places)
}

/// The same in one object file; `field` is the place of the binding in a symbol.
fn bindings<H: FileHeader<Endian = Endianness>>(
    data: &[u8],
    field: usize,
) -> object::Result<Vec<usize>> {
    let header = H::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let symbols = sections.symbols(endian, data, SHT_SYMTAB)?;
    let strong = symbols.iter().filter(|symbol| {
        let name = symbol.name(endian, symbols.strings()).unwrap_or_default();
        symbol.st_bind() == STB_GLOBAL && !symbol.is_undefined(endian) && !name.starts_with(OURS)
    });
    let start = data.as_ptr().addr();
    Ok(strong
        .map(|symbol| std::ptr::from_ref(symbol).addr() - start + field)
        .collect())
}
