//! Finds a data set by name: a file, a file in the folder of data sets, or a synthetic one of the same shape.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::synthetic::{Shape, synthetic};
use super::{Examples, read_libsvm_file};
use crate::files::{read_text_at_most, reason};
use crate::machine::Footprint;
use crate::parallel::ranks;

/// The data sets of the paper, and shapes to stand in for them.
const KNOWN: [(&str, Shape); 4] = [
    ("a1a", Shape::A1A),
    (
        "a2a",
        Shape {
            rows: 2265,
            ..Shape::A1A
        },
    ),
    (
        "a3a",
        Shape {
            rows: 3185,
            ..Shape::A1A
        },
    ),
    ("w3a", Shape::W3A),
];

/// The most bytes of a file with a starting point: forty million numbers.
const LARGEST_VECTOR: u64 = 1 << 30;

/// Seed of the synthetic stand-ins: they are the same in every run.
const SEED: u64 = 7001;

/// A data set and where it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// The name, without folders.
    pub name: String,
    /// The examples.
    pub examples: Examples,
    /// The starting point that lies beside the file as `x0_NAME.txt`, if there is one.
    pub x0: Option<Vec<f64>>,
    /// No file was found: made up, with the shape of the data set of this name.
    pub synthetic: bool,
}

/// The folder named by the environment variable `DST_DATA`.
pub fn data_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("DST_DATA").filter(|folder: &OsString| !folder.is_empty());
    folder.map(PathBuf::from)
}

/// Loads a file, or a data set of this name from `folder`; without a file, a1a, a2a, a3a and w3a are made up. The error is
/// one sentence. In an MPI job every rank reads its own file, and one that differs from that of the first rank is refused.
pub fn load(name: &str, folder: Option<&Path>) -> Result<DataSet, String> {
    let (mut set, path) = examples(name, folder)?;
    let own = || digest(&set.examples);
    if ranks::are_several() && ranks::from_first(own) != own() {
        return Err(format!(
            "the data set '{name}' differs from that of the first rank; give every machine the same file"
        ));
    }
    set.x0 = match path {
        Some(path) => beside(&path)?,
        None => None,
    };
    Ok(set)
}

/// The data set without a starting point, and its file.
fn examples(name: &str, folder: Option<&Path>) -> Result<(DataSet, Option<PathBuf>), String> {
    let inside = folder.map(|folder| folder.join(name));
    let found = [Some(PathBuf::from(name)), inside]
        .into_iter()
        .flatten()
        // A pipe will do as well.
        .find(|path| path.exists() && !path.is_dir());
    if let Some(path) = found {
        let examples = read_libsvm_file(&path).map_err(|error| error.to_string())?;
        let set = DataSet {
            name: base(&path),
            examples,
            x0: None,
            synthetic: false,
        };
        return Ok((set, Some(path)));
    }
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    let Some(&(_, shape)) = known else {
        let place = match folder {
            Some(folder) => format!("nor in DST_DATA ({})", folder.display()),
            None => "and DST_DATA names no folder to look in".to_owned(),
        };
        return Err(format!(
            "no data set '{name}': there is no such file here {place}; built in are a1a, a2a, a3a and w3a"
        ));
    };
    let made_up = DataSet {
        name: name.to_owned(),
        examples: synthetic(shape, SEED),
        x0: None,
        synthetic: true,
    };
    Ok((made_up, None))
}

/// The name of a file, without folders.
fn base(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The starting point beside a data set, if there is one. The first rank reads it for all.
fn beside(path: &Path) -> Result<Option<Vec<f64>>, String> {
    let file = path.with_file_name(format!("x0_{}.txt", base(path)));
    match ranks::from_first(|| file.is_file()) {
        true => read_vector(&file).map(Some),
        false => Ok(None),
    }
}

/// A number that changes with every label, row and entry: FNV-1a over words.
fn digest(examples: &Examples) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |word: u64| hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
    add(examples.rows.columns() as u64);
    for (row, label) in examples.rows.iter().zip(&examples.labels) {
        add(label.to_bits());
        // The number of entries tells the end of a row from the beginning of the next.
        add(row.indices.len() as u64);
        row.indices.iter().for_each(|&index| add(u64::from(index)));
        let values = row.values.unwrap_or_default();
        values.iter().for_each(|value| add(value.to_bits()));
    }
    hash
}

/// Reads numbers that stand in lines or between blanks. The error is one sentence.
pub fn read_vector(path: &Path) -> Result<Vec<f64>, String> {
    let text = read_text_at_most(path, LARGEST_VECTOR);
    let text = text.map_err(|error| format!("{}: {}", path.display(), reason(&error)))?;
    let count = text.split_whitespace().count();
    Footprint::of(path.display().to_string())
        .with(
            format!("{count} numbers"),
            [size_of::<f64>() as f64, count as f64],
            "give one number per variable",
        )
        .check()?;
    let mut numbers = Vec::with_capacity(count);
    for (i, line) in text.lines().enumerate() {
        for word in line.split_whitespace() {
            match word.parse::<f64>() {
                Ok(number) if number.is_finite() => numbers.push(number),
                _ => {
                    return Err(format!(
                        "{}:{}: '{}' is not a finite number",
                        path.display(),
                        i + 1,
                        word.escape_debug().take(24).collect::<String>()
                    ));
                }
            }
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Ranks with other data are found by it.
    #[test]
    fn a_digest_sees_every_number() {
        let of = |text: &str| digest(&crate::data::read_libsvm(text.as_bytes(), "text").unwrap());
        let text = "+1 1:1 4:0.5\n-1 3:1\n";
        assert_eq!(of(text), of("1 1:1.0 4:0.5 # the same\n-1 3:1"));
        let others = [
            "-1 1:1 4:0.5\n-1 3:1\n",
            "+1 1:1 5:0.5\n-1 3:1\n",
            "+1 1:1 4:0.25\n-1 3:1\n",
            "+1 1:1\n-1 3:1 4:0.5\n",
            "+1 1:1 4:0.5\n-1 3:1 5:0\n",
            "+1 1:1 4:0.5\n",
        ];
        for other in others {
            assert_ne!(of(text), of(other), "{other}");
        }
    }

    #[test]
    fn a_file_comes_before_the_folder_and_the_folder_before_the_synthetic_set() {
        let folder = std::env::temp_dir().join(format!("dst-load-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a1a"), "+1 1:1\n-1 3:1\n").unwrap();
        fs::write(folder.join("x0_a1a.txt"), "0.5\n-1 2\n3e-1\n").unwrap();
        fs::write(folder.join("bad.txt"), "1\n2 inf\n").unwrap();
        let path = folder.join("a1a");
        let by_path = load(path.to_str().unwrap(), None).unwrap();
        let by_name = load("a1a", Some(&folder)).unwrap();
        assert_eq!(by_path, by_name);
        assert_eq!(by_name.x0, Some(vec![0.5, -1.0, 2.0, 0.3]));
        assert!(!by_name.synthetic && by_name.examples.rows.rows() == 2);
        let made_up = load("a2a", Some(&folder)).unwrap();
        assert!(made_up.synthetic && made_up.examples.rows.rows() == 2265);
        assert_eq!(made_up.x0, None);
        let error = load("b2b", Some(&folder)).unwrap_err();
        assert!(error.contains("no data set 'b2b'"), "{error}");
        let error = read_vector(&folder.join("bad.txt")).unwrap_err();
        assert!(
            error.ends_with("bad.txt:2: 'inf' is not a finite number"),
            "{error}"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
