//! Contents of a linked program: sizes of its sections, addresses of its symbols, and symbols that it must not have.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};

/// Parts of names that a program without panics and without a heap cannot have. Rust's own (mangled or not) and C's.
const FORBIDDEN: [&str; 12] = [
    "panic",
    "unwind",
    "unwrap_failed",
    "expect_failed",
    "_fail",
    "__rust_alloc",
    "__rust_realloc",
    "__rust_dealloc",
    "malloc",
    "realloc",
    "calloc",
    "_sbrk",
];

/// Name of a function in a descent, which has nothing to do with a failed check.
const OURS: &str = "tell_failed";

/// A program, read.
pub(crate) struct Elf {
    sections: Vec<(String, u64)>,
    symbols: Vec<(String, u64)>,
    /// Bytes of every symbol.
    sizes: Vec<u64>,
}

impl Elf {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let complain = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let bytes = std::fs::read(path).map_err(|e| complain(&e))?;
        let file = object::File::parse(&*bytes).map_err(|e| complain(&e))?;
        let sections = file
            .sections()
            .filter_map(|s| Some((s.name().ok()?.to_owned(), s.size())))
            .collect();
        let (symbols, sizes): (Vec<_>, Vec<_>) = file
            .symbols()
            .filter_map(|s| Some(((s.name().ok()?.to_owned(), s.address()), s.size())))
            .filter(|((name, _), _)| !name.is_empty())
            .unzip();
        if symbols.is_empty() {
            return Err(complain(&"no symbols: stripped?"));
        }
        Ok(Self {
            sections,
            symbols,
            sizes,
        })
    }

    /// The size of a section; 0 if there is none.
    pub(crate) fn size(&self, section: &str) -> u64 {
        let named = self.sections.iter().filter(|(name, _)| name == section);
        named.map(|(_, size)| size).sum()
    }

    /// Bytes of all symbols whose name begins with one of these.
    pub(crate) fn bytes(&self, beginnings: &[&str]) -> u64 {
        let known = self.symbols.iter().zip(&self.sizes);
        known
            .filter(|((name, _), _)| beginnings.iter().any(|b| name.starts_with(b)))
            .map(|(_, size)| size)
            .sum()
    }

    /// The address of a symbol.
    pub(crate) fn address(&self, symbol: &str) -> Result<u64, String> {
        let found = self.symbols.iter().find(|(name, _)| name == symbol);
        found
            .map(|&(_, address)| address)
            .ok_or_else(|| format!("no symbol {symbol}"))
    }

    /// Symbols that a program without panics and without a heap cannot have.
    pub(crate) fn forbidden(&self) -> Vec<&str> {
        let names = self.symbols.iter().map(|(name, _)| name.as_str());
        names
            .filter(|name| {
                // The only name of ours that contains a part of the list.
                let name = name.replace(OURS, "");
                FORBIDDEN.iter().any(|part| name.contains(part))
            })
            .collect()
    }
}

/// Fails if a linked program has panic machinery or an allocator.
pub(crate) fn check_elf(path: &Path) -> Result<(), String> {
    let elf = Elf::read(path)?;
    let found = elf.forbidden();
    if found.is_empty() {
        Ok(())
    } else {
        let list = found.join(", ");
        Err(format!("{} can panic or allocate: {list}", path.display()))
    }
}
