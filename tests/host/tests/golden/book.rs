//! A book of known answers: one line of text per case, numbers as the hexadecimal digits of their bits.
//!
//! `name: key=value key=value …`. Counts are decimal. The name of a case whose values need only agree to a tolerance
//! begins with `exempt/`, the key of such a value ends with `~`. Nothing here knows the engine.

// Shared with the golden tests of `dst-std`; each of them uses a part.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write as _};
use std::fs;
use std::path::Path;

/// Set, it writes the books anew instead of comparing.
const WRITE: &str = "DST_WRITE_GOLDEN";

/// Mismatches that are printed.
const SHOWN: usize = 20;

/// Tolerances by which a case is exempt, in double and in single precision.
const EXEMPT: [f64; 2] = [1e-12, 1e-5];

/// Values that are worse conditioned than [`EXEMPT`] allows: the beginning of the case, the key, and the tolerance. N* of the tuner in
/// single precision is read from residuals of 1e-4 between numbers of order 1: one unit in the last place of the data moves it by up to
/// 5e-5.
const ILL_CONDITIONED: [(&str, &str, f64); 1] = [("exempt/f32/tuner/", "steps", 5e-5)];

/// A floating point number with its bits.
pub(crate) trait Number: Copy {
    /// The name of its type.
    const NAME: &'static str;
    /// The numbers of a list, as they stand in a book.
    fn list(numbers: &[Self]) -> Value;
    /// The bits of one, from the least significant byte on.
    fn bytes(self) -> [u8; 8];
}

impl Number for f32 {
    const NAME: &'static str = "f32";
    fn list(numbers: &[Self]) -> Value {
        Value::Single(numbers.to_vec())
    }
    fn bytes(self) -> [u8; 8] {
        u64::from(self.to_bits()).to_le_bytes()
    }
}

impl Number for f64 {
    const NAME: &'static str = "f64";
    fn list(numbers: &[Self]) -> Value {
        Value::Double(numbers.to_vec())
    }
    fn bytes(self) -> [u8; 8] {
        self.to_bits().to_le_bytes()
    }
}

/// Values of a key.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A word, which must be the same.
    Word(String),
    /// A hash of bits, which is compared only where bits are.
    Hash(u64),
    /// Counts of evaluations, none of which may grow; a single number stands for a list of equal ones.
    Work(Vec<usize>),
    /// Numbers in single precision.
    Single(Vec<f32>),
    /// Numbers in double precision.
    Double(Vec<f64>),
}

/// The values in a list, in a form for all of them.
fn joined<T>(list: &[T], each: impl Fn(&T) -> String) -> String {
    let words: Vec<String> = list.iter().map(each).collect();
    words.join(",")
}

impl Value {
    /// As it stands in the file. The bits of a NaN say nothing.
    fn text(&self) -> String {
        match self {
            Self::Word(word) => word.clone(),
            Self::Hash(hash) => format!("{hash:016x}"),
            Self::Work(counts) => match counts.as_slice() {
                [first, rest @ ..] if rest.iter().all(|count| count == first) => first.to_string(),
                counts => joined(counts, usize::to_string),
            },
            Self::Single(list) => joined(list, |v| match v.is_nan() {
                true => "nan".into(),
                false => format!("{:08x}", v.to_bits()),
            }),
            Self::Double(list) => joined(list, |v| match v.is_nan() {
                true => "nan".into(),
                false => format!("{:016x}", v.to_bits()),
            }),
        }
    }

    /// The numbers in a text of this kind; `None` where there are none.
    fn numbers(&self, text: &str) -> Option<Vec<f64>> {
        let words = text.split(',').filter(|word| !word.is_empty());
        let number = |word: &str| match (self, word) {
            (_, "nan") => Some(f64::NAN),
            (Self::Single(_), _) => {
                let bits = u32::from_str_radix(word, 16).ok()?;
                Some(f64::from(f32::from_bits(bits)))
            }
            (Self::Double(_), _) => u64::from_str_radix(word, 16).ok().map(f64::from_bits),
            (Self::Work(_), _) => word.parse::<u32>().ok().map(f64::from),
            _ => None,
        };
        words.map(number).collect()
    }

    /// True if this may replace `stored`: values are within `tolerance` if there is one, and otherwise have the same bits.
    fn may_follow(&self, stored: &str, tolerance: Option<[f64; 2]>) -> bool {
        let text = self.text();
        if text == stored {
            return true;
        }
        let (Some(new), Some(old)) = (self.numbers(&text), self.numbers(stored)) else {
            return matches!(self, Self::Hash(_)) && tolerance.is_some();
        };
        let close = match (self, tolerance) {
            (Self::Work(_), _) => return no_more(&new, &old),
            (_, None) => return false,
            (Self::Double(_), Some([double, _])) => double,
            (_, Some([_, single])) => single,
        };
        // Relative to the largest entry: a gradient is as good as its length.
        let size = old.iter().fold(0.0_f64, |size, v| size.max(v.abs()));
        let near =
            |(n, o): (&f64, &f64)| (n.is_nan() && o.is_nan()) || (n - o).abs() <= close * size;
        new.len() == old.len() && new.iter().zip(&old).all(near)
    }

    /// Both, for people.
    fn difference(&self, stored: &str) -> String {
        let text = self.text();
        let mut shown = format!("expected {stored}, found {text}");
        if let (Some(old), Some(new), Self::Single(_) | Self::Double(_)) =
            (self.numbers(stored), self.numbers(&text), self)
        {
            let _ = write!(shown, "\n    expected {old:?}\n    found    {new:?}");
        }
        shown
    }
}

/// True if no count is larger than before. A single one stands for equal ones.
fn no_more(new: &[f64], old: &[f64]) -> bool {
    let long = new.len().max(old.len());
    let fits = |list: &[f64]| list.len() == long || list.len() == 1;
    let mut pairs = new.iter().cycle().zip(old.iter().cycle()).take(long);
    fits(new) && fits(old) && pairs.all(|(new, old)| new <= old)
}

/// One case.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    name: String,
    entries: Vec<(&'static str, Value)>,
}

impl Line {
    /// A case without entries yet.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            entries: Vec::new(),
        }
    }

    /// The case with one entry more.
    pub(crate) fn with(mut self, key: &'static str, value: Value) -> Self {
        self.entries.push((key, value));
        self
    }

    /// The case with a count or a word more, which must stay the same.
    pub(crate) fn word(self, key: &'static str, word: &dyn Display) -> Self {
        self.with(key, Value::Word(word.to_string()))
    }

    /// The case with numbers more. Those whose key ends with `~` need only agree to the tolerance of what is exempt.
    pub(crate) fn numbers<S: Number>(self, key: &'static str, numbers: &[S]) -> Self {
        self.with(key, S::list(numbers))
    }

    /// The case with the hash (FNV-1a) of all bits of a long vector more.
    pub(crate) fn hash<S: Number>(self, key: &'static str, numbers: &[S]) -> Self {
        let bytes = numbers.iter().flat_map(|number| number.bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.with(key, Value::Hash(hash))
    }

    /// The case with counts of evaluations more.
    pub(crate) fn work(self, key: &'static str, counts: impl IntoIterator<Item = usize>) -> Self {
        self.with(key, Value::Work(counts.into_iter().collect()))
    }

    fn text(&self) -> String {
        let entries = self.entries.iter();
        let entries = entries.map(|(key, value)| format!(" {key}={}", value.text()));
        format!("{}:{}", self.name, entries.collect::<String>())
    }
}

/// All cases that were computed.
#[derive(Debug, Default)]
pub(crate) struct Book {
    lines: Vec<Line>,
    /// Errors found without reading the file.
    faults: Vec<String>,
}

impl Book {
    /// Takes down a case.
    pub(crate) fn add(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Takes down what must not be.
    pub(crate) fn fault(&mut self, what: impl Into<String>) {
        self.faults.push(what.into());
    }

    /// Compares with the file, or writes it. Lines that do not begin with `prefix` are not of this book: another machine's.
    /// Where the file has none that do, the lines of one other machine are compared, `loose` instead of bit by bit.
    ///
    /// # Panics
    /// If there is a mismatch, if a case is missing in the file or too many, and after writing the file.
    pub(crate) fn check(self, path: &Path, prefix: &str, loose: [f64; 2]) {
        let stored = fs::read_to_string(path).unwrap_or_default();
        if std::env::var_os(WRITE).is_some() {
            self.write(path, &stored, prefix);
        }
        let head = |line: &str| line.split('/').next().unwrap_or_default().to_owned();
        let own = stored.lines().any(|line| line.starts_with(prefix));
        let taken = if own {
            prefix.to_owned()
        } else {
            stored.lines().next().map(head).unwrap_or_default() + "/"
        };
        let stored: BTreeMap<String, &str> = stored
            .lines()
            .filter_map(|line| line.strip_prefix(&*taken)?.split_once(':'))
            .map(|(name, rest)| (format!("{prefix}{name}"), rest))
            .collect();
        let mut faults = self.faults;
        let mut names = BTreeSet::new();
        for line in &self.lines {
            if !names.insert(&line.name) {
                faults.push(format!("{}: twice", line.name));
            }
            match stored.get(&line.name) {
                None => faults.push(format!("{}: not in the file", line.name)),
                Some(rest) => compare(line, rest, (!own).then_some(loose), &mut faults),
            }
        }
        for name in stored.keys().filter(|name| !names.contains(name)) {
            faults.push(format!("{name}: not computed"));
        }
        assert!(!self.lines.is_empty(), "no cases at all");
        println!("{} cases in {}", self.lines.len(), path.display());
        let shown: Vec<_> = faults.iter().take(SHOWN).map(String::as_str).collect();
        assert!(
            faults.is_empty(),
            "{} mismatches, the first of them:\n{}",
            faults.len(),
            shown.join("\n")
        );
    }

    /// Writes the file: the lines of other machines stay.
    fn write(&self, path: &Path, stored: &str, prefix: &str) -> ! {
        assert!(self.faults.is_empty(), "{:?}", self.faults);
        let others = stored.lines().filter(|line| !line.starts_with(prefix));
        let others = others.map(str::to_owned);
        let lines: Vec<String> = others.chain(self.lines.iter().map(Line::text)).collect();
        fs::write(path, lines.join("\n") + "\n").expect("the book can be written");
        panic!("{} written; unset {WRITE} to compare", path.display());
    }
}

/// Compares the entries of one case.
fn compare(line: &Line, stored: &str, loose: Option<[f64; 2]>, faults: &mut Vec<String>) {
    let tolerance = loose.or_else(|| line.name.contains("exempt/").then_some(EXEMPT));
    let stored: Vec<(&str, &str)> = stored
        .split_whitespace()
        .filter_map(|entry| entry.split_once('='))
        .collect();
    let keys: Vec<&str> = stored.iter().map(|entry| entry.0).collect();
    let found: Vec<&str> = line.entries.iter().map(|entry| entry.0).collect();
    if keys != found {
        faults.push(format!(
            "{}: expected {stored:?}, found {:?}",
            line.name, line.entries
        ));
        return;
    }
    for ((key, old), (_, new)) in stored.into_iter().zip(&line.entries) {
        let ill = ILL_CONDITIONED.iter();
        let mut ill = ill.filter(|(case, at, _)| line.name.starts_with(case) && *at == key);
        let tolerance = match ill.next() {
            Some(&(_, _, wide)) => Some([wide; 2]),
            None => tolerance.or_else(|| key.ends_with('~').then_some(EXEMPT)),
        };
        if !new.may_follow(old, tolerance) {
            faults.push(format!("{}: {key}: {}", line.name, new.difference(old)));
        }
    }
}

/// The instruction set that dense kernels choose on this machine: their sums are grouped by the width of its vectors.
pub(crate) fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
            return "avx512";
        }
        if has!("avx2") && has!("fma") {
            return "avx2";
        }
    }
    "plain"
}
