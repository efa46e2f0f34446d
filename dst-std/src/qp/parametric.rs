//! A parametric program given as samples: P and A once, q, l and u for every instance.

use std::path::Path;

use dst_core::qp::Instance;
use serde::Deserialize;

use super::npz::{self, Array};
use crate::files::{read_at_most, reason};
use crate::machine::Footprint;

/// Largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 30;
/// Most variables, and most rows: W of that size has 128 MB.
const MOST: (usize, usize) = (1000, 4000);
/// A bound beyond this value is none.
const UNBOUNDED: f64 = 1e20;
/// Largest difference between P and its transpose, relative to the largest entry.
const ASYMMETRY: f64 = 1e-9;

/// min ½uᵀPu + qᵀu with l ≤ Au ≤ h, with several q, l and h.
#[derive(Clone, Debug, PartialEq)]
pub struct ParametricProgram {
    /// n
    pub variables: usize,
    /// m
    pub rows: usize,
    /// P, n × n.
    pub hessian: Vec<f64>,
    /// A, m × n, row by row.
    pub constraints: Vec<f64>,
    /// q, instance after instance.
    pub linear: Vec<f64>,
    /// l, instance after instance; −∞ for none.
    pub lower: Vec<f64>,
    /// h, instance after instance; ∞ for none.
    pub upper: Vec<f64>,
}

/// The fields of a JSON file: rows of numbers. `null` in a bound is none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
struct Fields {
    P: Vec<Vec<f64>>,
    A: Vec<Vec<f64>>,
    q: Vec<Vec<f64>>,
    l: Option<Vec<Vec<Option<f64>>>>,
    u: Option<Vec<Vec<Option<f64>>>>,
}

impl ParametricProgram {
    /// Reads `.npz` (as `numpy.savez` writes it) or `.json` with the fields P, A, q, l and u. The error is a sentence that names the
    /// file, the field and the remedy.
    pub fn read(path: &Path) -> Result<Self, String> {
        let refused = |why: &str| format!("'{}' {why}", path.display());
        let cannot = |e: std::io::Error| refused(&format!("cannot be read: {}", reason(&e)));
        let bytes = read_at_most(path, LARGEST_FILE).map_err(cannot)?;
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let read = match extension.to_ascii_lowercase().as_str() {
            "npz" => Self::from_npz(&bytes),
            "json" => Self::from_json(&bytes),
            _ => Err("must end with .npz or .json".to_owned()),
        };
        read.map_err(|why| refused(&why))
    }

    /// Reads the content of an `.npz` file. The error is a sentence without a subject.
    pub fn from_npz(bytes: &[u8]) -> Result<Self, String> {
        let required = |name: &str| {
            let found = npz::array(bytes, name)?;
            found.ok_or_else(|| format!("has no '{name}'; it needs P, A and q, and l or u"))
        };
        let (p, a, q) = (required("P")?, required("A")?, required("q")?);
        Self::new(p, a, q, npz::array(bytes, "l")?, npz::array(bytes, "u")?)
    }

    /// Reads the content of a `.json` file. The error is a sentence without a subject.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        /// The most bytes of memory for a byte of text: rows of one number of one digit, in a list that grows.
        const ROWS: f64 = 30.0;
        Footprint::of("has too much: it")
            .with(
                "its rows",
                [ROWS, bytes.len() as f64],
                "write an .npz file with numpy.savez",
            )
            .check()?;
        let fields: Fields = serde_json::from_slice(bytes).map_err(|e| {
            format!("is not a program: {e}; it needs P, A and q as rows of numbers, and l or u")
        })?;
        let matrix = |name: &str, rows: Vec<Vec<f64>>| {
            let columns = rows.first().map_or(0, Vec::len);
            if rows.iter().any(|row| row.len() != columns) {
                return Err(format!("has rows of different lengths in '{name}'"));
            }
            Ok(Array {
                shape: vec![rows.len(), columns],
                values: rows.into_iter().flatten().collect(),
            })
        };
        let bound = |name: &str, rows: Option<Vec<Vec<Option<f64>>>>, none: f64| {
            let number = |v: Option<f64>| v.unwrap_or(none);
            let all = |row: Vec<Option<f64>>| row.into_iter().map(number).collect();
            rows.map(|rows| matrix(name, rows.into_iter().map(all).collect()))
                .transpose()
        };
        let lower = bound("l", fields.l, f64::NEG_INFINITY)?;
        let upper = bound("u", fields.u, f64::INFINITY)?;
        let (p, a) = (matrix("P", fields.P)?, matrix("A", fields.A)?);
        Self::new(p, a, matrix("q", fields.q)?, lower, upper)
    }

    /// Checks sizes and values. Bounds with one row are those of all instances.
    fn new(
        p: Array,
        a: Array,
        q: Array,
        l: Option<Array>,
        u: Option<Array>,
    ) -> Result<Self, String> {
        let side = |array: &Array, name: &str| match array.shape[..] {
            [rows, columns] => Ok((rows, columns)),
            _ => Err(format!(
                "has a '{name}' of shape {:?}; it must have two dimensions",
                array.shape
            )),
        };
        let (n, columns) = side(&p, "P")?;
        if n == 0 || n != columns {
            return Err(format!("has a 'P' of {n} × {columns}; it must be square"));
        }
        let (m, columns) = side(&a, "A")?;
        if m == 0 || columns != n {
            return Err(format!(
                "has an 'A' of {m} × {columns}; it must have rows of {n} numbers, as P"
            ));
        }
        let (count, columns) = side(&q, "q")?;
        if count < 2 || columns != n {
            return Err(format!(
                "has a 'q' of {count} × {columns}; it must have a row of {n} numbers for each of at least two instances"
            ));
        }
        if n > MOST.0 || m > MOST.1 {
            return Err(format!(
                "has {n} variables and {m} rows; at most {} and {} are taken",
                MOST.0, MOST.1
            ));
        }
        if l.is_none() && u.is_none() {
            return Err("has neither 'l' nor 'u'; without bounds the solution is -P\\q".to_owned());
        }
        // A bound that is missing, or the same for all, is kept for every instance.
        Footprint::of("has too much: it")
            .with(
                "the bounds of all instances",
                [2.0 * size_of::<f64>() as f64, count as f64, m as f64],
                "give fewer instances",
            )
            .check()?;
        let bounds = |array: Option<Array>, name: &str, none: f64| {
            let Some(array) = array else {
                return Ok(vec![none; count * m]);
            };
            let values = match array.shape[..] {
                [rows, columns] if (rows, columns) == (count, m) => array.values,
                [1, columns] if columns == m => array.values.repeat(count),
                [columns] if columns == m => array.values.repeat(count),
                _ => {
                    return Err(format!(
                        "has '{name}' of shape {:?}; it must have {count} rows of {m} numbers, or one for all instances",
                        array.shape
                    ));
                }
            };
            if values.iter().any(|v| v.is_nan()) {
                return Err(format!(
                    "has a NaN in '{name}'; write an infinity for no bound"
                ));
            }
            let unbounded = |v: f64| {
                if v.abs() >= UNBOUNDED {
                    v.signum() * f64::INFINITY
                } else {
                    v
                }
            };
            Ok(values.into_iter().map(unbounded).collect())
        };
        let (lower, upper) = (
            bounds(l, "l", f64::NEG_INFINITY)?,
            bounds(u, "u", f64::INFINITY)?,
        );
        for (name, array) in [("P", &p), ("A", &a), ("q", &q)] {
            if !array.values.iter().all(|v| v.is_finite()) {
                return Err(format!("has a number in '{name}' that is not finite"));
            }
        }
        let empty = |(l, u): (&f64, &f64)| l > u || *l == f64::INFINITY || *u == f64::NEG_INFINITY;
        if let Some(place) = lower.iter().zip(&upper).position(empty) {
            return Err(format!(
                "has l above u in row {} of instance {}; no solution satisfies that",
                place % m,
                place / m
            ));
        }
        symmetric(&p.values, n)?;
        Ok(Self {
            variables: n,
            rows: m,
            hessian: p.values,
            constraints: a.values,
            linear: q.values,
            lower,
            upper,
        })
    }

    /// Number of instances.
    pub fn len(&self) -> usize {
        self.linear.len() / self.variables
    }

    /// True if there are no instances.
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// Instance number `i`.
    pub fn instance(&self, i: usize) -> Instance<'_, f64> {
        let (n, m) = (self.variables, self.rows);
        Instance {
            linear: &self.linear[i * n..(i + 1) * n],
            lower: &self.lower[i * m..(i + 1) * m],
            upper: &self.upper[i * m..(i + 1) * m],
        }
    }
}

/// Refuses a P that is not symmetric. The upper triangle alone, as OSQP takes it, is named.
fn symmetric(p: &[f64], n: usize) -> Result<(), String> {
    let largest = p.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for i in 0..n {
        for j in 0..i {
            let (below, above) = (p[i * n + j], p[j * n + i]);
            if (below - above).abs() > ASYMMETRY * largest {
                let triangle = (0..n * n).all(|k| k / n <= k % n || p[k] == 0.0);
                let remedy = if triangle {
                    "it is the upper triangle alone; give P + triu(P, 1)'"
                } else {
                    "give (P + P')/2"
                };
                return Err(format!(
                    "has a 'P' that is not symmetric in row {i}, column {j}; {remedy}"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::npz::tests::npz_of;
    use super::*;

    const JSON: &str = r#"{"P": [[2, 0], [0, 1]], "A": [[1, 1]], "q": [[1, 2], [3, 4]], "l": [[null]], "u": [[1], [1e30]]}"#;

    #[test]
    fn both_formats_have_the_same_content() {
        let json = ParametricProgram::from_json(JSON.as_bytes()).unwrap();
        let npz = npz_of(&[
            ("P", [2, 2], &[2.0, 0.0, 0.0, 1.0]),
            ("A", [1, 2], &[1.0, 1.0]),
            ("q", [2, 2], &[1.0, 2.0, 3.0, 4.0]),
            ("l", [1, 1], &[f64::NEG_INFINITY]),
            ("u", [2, 1], &[1.0, f64::INFINITY]),
        ]);
        assert_eq!(ParametricProgram::from_npz(&npz).unwrap(), json);
        assert_eq!((json.len(), json.variables, json.rows), (2, 2, 1));
        let second = json.instance(1);
        assert_eq!(second.linear, [3.0, 4.0]);
        assert_eq!(
            (second.lower[0], second.upper[0]),
            (-f64::INFINITY, f64::INFINITY)
        );
    }

    #[test]
    fn every_refusal_names_the_field_and_the_remedy() {
        for (from, to, words) in [
            (
                "[[2, 0], [0, 1]]",
                "[[2, 0]]",
                "'P' of 1 × 2; it must be square",
            ),
            (
                "[[2, 0], [0, 1]]",
                "[[2, 1], [0, 1]]",
                "upper triangle alone; give P + triu(P, 1)'",
            ),
            ("[[2, 0], [0, 1]]", "[[2, 1], [3, 1]]", "give (P + P')/2"),
            (
                "[[1, 1]]",
                "[[1]]",
                "'A' of 1 × 1; it must have rows of 2 numbers",
            ),
            ("[[1, 1]]", "[[1, 1], [1]]", "different lengths in 'A'"),
            ("[[1, 2], [3, 4]]", "[[1, 2]]", "at least two instances"),
            (
                "[[1], [1e30]]",
                "[[1], [2], [3]]",
                "'u' of shape [3, 1]; it must have 2 rows of 1 numbers",
            ),
            ("[[null]]", "[[5]]", "l above u in row 0 of instance 0"),
            ("\"A\"", "\"B\"", "unknown field `B`"),
            (
                ", \"l\": [[null]], \"u\": [[1], [1e30]]",
                "",
                "neither 'l' nor 'u'",
            ),
        ] {
            let why = ParametricProgram::from_json(JSON.replace(from, to).as_bytes()).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        let nan = npz_of(&[
            ("P", [1, 1], &[1.0]),
            ("A", [1, 1], &[1.0]),
            ("q", [2, 1], &[1.0, f64::NAN]),
            ("u", [1, 1], &[1.0]),
        ]);
        let why = ParametricProgram::from_npz(&nan).unwrap_err();
        assert!(why.contains("'q' that is not finite"), "{why}");
        let missing = npz_of(&[("P", [1, 1], &[1.0])]);
        let why = ParametricProgram::from_npz(&missing).unwrap_err();
        assert!(why.contains("no 'A'"), "{why}");
    }
}
