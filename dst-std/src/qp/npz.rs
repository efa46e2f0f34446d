//! Reader of `.npz` files as `numpy.savez` writes them: a zip archive whose entries are stored, not compressed, and an array of
//! `.npy` format in each.
//!
//! No crate: `zip` and `npyz` bring decompression that these files do not need. Every length in the file is checked before it is used.

use crate::machine::Footprint;

/// Array of numbers with its dimensions, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f64>,
}

/// Entry of the archive.
struct Entry<'a> {
    name: &'a [u8],
    method: u16,
    size: usize,
    /// Place of its local header.
    offset: usize,
}

const NOT_ZIP: &str = "is not an .npz file; write it with numpy.savez";
const CUT: &str = "is cut short; write it again with numpy.savez";

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let found = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*found))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let found = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*found)).ok()
}

/// Reads the array with this name; none if the archive has no such entry. An error completes a sentence that begins with the file.
pub(super) fn array(bytes: &[u8], name: &str) -> Result<Option<Array>, String> {
    let file = format!("{name}.npy");
    let mut found = None;
    for entry in entries(bytes)? {
        if entry.name == file.as_bytes() {
            found = Some(entry);
        }
    }
    let Some(entry) = found else {
        return Ok(None);
    };
    if entry.method != 0 {
        return Err(format!(
            "has a compressed '{name}'; write it with numpy.savez, not with savez_compressed"
        ));
    }
    let content = content(bytes, &entry).ok_or(CUT)?;
    npy(content)
        .map(Some)
        .map_err(|why| format!("has a '{name}' that {why}"))
}

/// The list at the end of the archive.
fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, String> {
    // The last record has 22 bytes and a comment of at most 65 535.
    let first = bytes.len().saturating_sub(22 + usize::from(u16::MAX));
    let tail = &bytes[first..];
    let end = tail
        .windows(4)
        .rposition(|w| w == b"PK\x05\x06")
        .ok_or(NOT_ZIP)?
        + first;
    if bytes.len() < end + 22 {
        return Err(CUT.to_owned());
    }
    let listed = |at: &mut usize| {
        let start = *at;
        if bytes.get(start..start + 4)? != b"PK\x01\x02" {
            return None;
        }
        let lengths = [28, 30, 32].map(|k| u16_at(bytes, start + k).map(usize::from));
        let [name, extra, comment] = lengths;
        let (name, extra, comment) = (name?, extra?, comment?);
        *at = start + 46 + name + extra + comment;
        Some(Entry {
            name: bytes.get(start + 46..start + 46 + name)?,
            method: u16_at(bytes, start + 10)?,
            size: u32_at(bytes, start + 20)?,
            offset: u32_at(bytes, start + 42)?,
        })
    };
    let count = u16_at(bytes, end + 10).ok_or(NOT_ZIP)?;
    let mut at = u32_at(bytes, end + 16).ok_or(NOT_ZIP)?;
    (0..count)
        .map(|_| listed(&mut at).ok_or_else(|| CUT.to_owned()))
        .collect()
}

fn content<'a>(bytes: &'a [u8], entry: &Entry<'_>) -> Option<&'a [u8]> {
    let header = bytes.get(entry.offset..)?;
    if header.get(..4)? != b"PK\x03\x04" {
        return None;
    }
    let skipped = 30 + usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
    header.get(skipped..skipped.checked_add(entry.size)?)
}

/// An array of `.npy` format. An error completes "has a 'P' that …".
fn npy(bytes: &[u8]) -> Result<Array, String> {
    const BROKEN: &str = "is no .npy array; write it with numpy.savez";
    let version = bytes.strip_prefix(b"\x93NUMPY").ok_or(BROKEN)?;
    let (length, start) = match version.first() {
        Some(1) => (usize::from(u16_at(bytes, 8).ok_or(BROKEN)?), 10),
        _ => (u32_at(bytes, 8).ok_or(BROKEN)?, 12),
    };
    let header = bytes.get(start..start + length).ok_or(BROKEN)?;
    let header = std::str::from_utf8(header).map_err(|_| BROKEN)?;
    let after = |key: &str| header.split_once(key).map(|(_, rest)| rest.trim_start());
    let kind = after("'descr':").and_then(|t| t.strip_prefix('\''));
    let kind = kind.and_then(|t| t.split('\'').next()).ok_or(BROKEN)?;
    let by_columns = after("'fortran_order':").is_some_and(|t| t.starts_with("True"));
    let shape = after("'shape':").and_then(|t| t.strip_prefix('('));
    let shape = shape.and_then(|t| t.split(')').next()).ok_or(BROKEN)?;
    let shape: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|t| !t.is_empty())
        .map(|t| t.parse().map_err(|_| BROKEN.to_owned()))
        .collect::<Result<_, _>>()?;
    let body = &bytes[start + length..];
    // Numbers of four bytes become numbers of eight, twice if the columns are to become rows.
    Footprint::of("is too much: it")
        .with("its numbers", [4.0, body.len() as f64], "give fewer")
        .check()?;
    let values = numbers(body, kind)
        .ok_or_else(|| format!("has numbers of type '{kind}'; save it as float64"))?;
    let count = shape.iter().try_fold(1_usize, |c, &s| c.checked_mul(s));
    if count != Some(values.len()) {
        return Err(format!(
            "has {} numbers for the shape {shape:?}; write it again with numpy.savez",
            values.len()
        ));
    }
    let values = match (by_columns, shape.as_slice()) {
        (true, &[rows, columns]) => (0..rows * columns)
            .map(|k| values[k % columns * rows + k / columns])
            .collect(),
        _ => values,
    };
    Ok(Array { shape, values })
}

fn numbers(body: &[u8], kind: &str) -> Option<Vec<f64>> {
    fn each<const N: usize>(body: &[u8], read: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        body.as_chunks::<N>().0.iter().map(|&b| read(b)).collect()
    }
    Some(match kind {
        "<f8" => each(body, f64::from_le_bytes),
        "<f4" => each(body, |b| f64::from(f32::from_le_bytes(b))),
        "<i8" => each(body, |b| i64::from_le_bytes(b) as f64),
        "<i4" => each(body, |b| f64::from(i32::from_le_bytes(b))),
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An `.npy` array with a header as numpy writes it.
    fn npy_of(kind: &str, by_columns: bool, shape: &str, body: &[u8]) -> Vec<u8> {
        let order = if by_columns { "True" } else { "False" };
        let header =
            format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(body);
        bytes
    }

    /// An archive of stored entries.
    fn zip_of(entries: &[(&str, &[u8])], method: u16) -> Vec<u8> {
        let (mut bytes, mut list) = (Vec::new(), Vec::new());
        for (name, content) in entries {
            let offset = u32::try_from(bytes.len()).unwrap();
            let size = u32::try_from(content.len()).unwrap().to_le_bytes();
            let length = u16::try_from(name.len()).unwrap().to_le_bytes();
            bytes.extend(b"PK\x03\x04");
            bytes.extend([0; 22]);
            bytes.extend(length);
            bytes.extend([0; 2]);
            bytes.extend(name.as_bytes());
            bytes.extend(*content);
            list.extend(b"PK\x01\x02");
            list.extend([0; 6]);
            list.extend(method.to_le_bytes());
            list.extend([0; 8]);
            list.extend(size);
            list.extend(size);
            list.extend(length);
            list.extend([0; 12]);
            list.extend(offset.to_le_bytes());
            list.extend(name.as_bytes());
        }
        let (start, count) = (bytes.len(), u16::try_from(entries.len()).unwrap());
        bytes.extend(&list);
        bytes.extend(b"PK\x05\x06");
        bytes.extend([0; 4]);
        bytes.extend(count.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend(u32::try_from(list.len()).unwrap().to_le_bytes());
        bytes.extend(u32::try_from(start).unwrap().to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }

    /// An `.npz` file of these matrices, row by row.
    pub(in crate::qp) fn npz_of(matrices: &[(&str, [usize; 2], &[f64])]) -> Vec<u8> {
        let files: Vec<(String, Vec<u8>)> = matrices
            .iter()
            .map(|(name, [rows, columns], values)| {
                let body: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                let shape = format!("({rows}, {columns})");
                (format!("{name}.npy"), npy_of("<f8", false, &shape, &body))
            })
            .collect();
        let entries: Vec<(&str, &[u8])> = files.iter().map(|(n, c)| (&n[..], &c[..])).collect();
        zip_of(&entries, 0)
    }

    #[test]
    fn kinds_and_orders_of_numbers() {
        let singles: Vec<u8> = [1.5_f32, -2.0]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        let whole: Vec<u8> = (1..=6_i64).flat_map(i64::to_le_bytes).collect();
        let entries = [
            ("v.npy", npy_of("<f4", false, "(2,)", &singles)),
            ("M.npy", npy_of("<i8", true, "(2, 3)", &whole)),
            ("c.npy", npy_of("<c16", false, "(2,)", &whole)),
            ("s.npy", npy_of("<i8", false, "(7,)", &whole)),
        ];
        let views: Vec<(&str, &[u8])> = entries.iter().map(|(n, c)| (*n, &c[..])).collect();
        let file = zip_of(&views, 0);
        let v = array(&file, "v").unwrap().unwrap();
        assert_eq!((v.shape, v.values), (vec![2], vec![1.5, -2.0]));
        let m = array(&file, "M").unwrap().unwrap();
        assert_eq!(m.shape, [2, 3]);
        assert_eq!(m.values, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        assert_eq!(array(&file, "w"), Ok(None));
        assert!(
            array(&file, "c")
                .unwrap_err()
                .contains("save it as float64")
        );
        assert!(array(&file, "s").unwrap_err().contains("6 numbers"));
        let packed = zip_of(&views, 8);
        assert!(
            array(&packed, "v")
                .unwrap_err()
                .contains("savez_compressed")
        );
    }

    /// Whatever is lost or changed, the reader returns, and never reads beyond the file.
    #[test]
    fn damaged_files_are_refused() {
        let file = npz_of(&[("P", [2, 2], &[1.0, 0.0, 0.0, 1.0])]);
        assert!(array(b"", "P").is_err());
        for length in 0..file.len() {
            assert!(array(&file[..length], "P").is_err(), "{length}");
        }
        for place in 0..file.len() {
            let mut changed = file.clone();
            changed[place] = 0xff;
            let _ = array(&changed, "P");
        }
    }
}
