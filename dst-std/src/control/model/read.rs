//! Reading of a model file: JSON, field by field, so that a refusal names the field.
//!
//! A key that begins with `//` is a comment, at any depth.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use super::{Model, ModelError, Start};
use crate::files::{read_text_at_most, reason};
use crate::machine::Footprint;

/// The most bytes of a model file.
const LARGEST_MODEL: u64 = 16 << 20;
/// The most bytes of a file of starting states.
const LARGEST_STATES: u64 = 256 << 20;

/// All fields, in the order of the template.
const FIELDS: &str = "a, b, q, r, terminal, references, inputs, rates, states, outputs, noise, disturbance, start, horizon, \
    primal_tolerance, dual_tolerance, names";

impl Model {
    /// Reads a model from JSON; the error is one sentence.
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        /// The most bytes of memory for a byte of text: a list of digits, while it grows.
        const VALUES: f64 = 48.0;
        Footprint::of("it")
            .with("its values", [VALUES, text.len() as f64], "give fewer")
            .check()
            .map_err(ModelError::new)?;
        let map: Map<String, Value> =
            serde_json::from_str(text).map_err(|e| ModelError::new(format!("not a model: {e}")))?;
        Self::try_from(map)
    }

    /// Reads a model from a file, and the file of starting states if it names one. The error does not name the model file.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let content = |path: &Path, most| read_text_at_most(path, most).map_err(|e| reason(&e));
        let text = content(path, LARGEST_MODEL).map_err(ModelError::new)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::from_texts(&text, |file| content(&folder.join(file), LARGEST_STATES))
    }

    /// Reads a model from JSON, and its starting states from the text of the file that it names, if it names one.
    pub fn from_texts(
        text: &str,
        content: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Self, ModelError> {
        let mut model = Self::from_json(text)?;
        if let Start::File { file, states } = &mut model.start {
            let text = content(file);
            let text = text.map_err(|e| ModelError::new(format!("start: {file}: {e}")))?;
            *states = table(file, &text)?;
        }
        Ok(model)
    }
}

/// Rows of numbers, separated by commas or blanks; empty lines and lines that begin with # are skipped.
fn table(name: &str, text: &str) -> Result<Vec<Vec<f64>>, ModelError> {
    /// The most bytes of memory for a line: a list of numbers, its place in a list that grows, and what the heap adds.
    const LINE: f64 = 144.0;
    /// And for a number, in a list that grows.
    const NUMBER: f64 = 24.0;
    let count = |separators: &[char]| text.matches(separators).count() as f64;
    Footprint::of(format!("start: {name}"))
        .with("its lines", [LINE, count(&['\n'])], "give fewer states")
        .with(
            "its numbers",
            [NUMBER, count(&[',', ';', ' ', '\t'])],
            "give fewer states",
        )
        .check()
        .map_err(ModelError::new)?;
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let row = |(i, line): (usize, &str)| {
        let words = line.split([',', ';', ' ', '\t']).map(str::trim);
        let words = words.filter(|word| !word.is_empty());
        let numbers: Result<Vec<f64>, _> = words.map(str::parse).collect();
        numbers.map_err(|_| {
            ModelError::new(format!(
                "start: line {} of {name} must be numbers separated by commas",
                i + 1
            ))
        })
    };
    lines.map(row).collect()
}

/// Removes comments, and writes numbers in the notation of `serde_json`.
///
/// If another crate of the build switches on its feature `arbitrary_precision`, an untagged enumeration reads only those.
fn normalise(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !key.starts_with("//"));
            map.values_mut().for_each(normalise);
        }
        Value::Array(entries) => entries.iter_mut().for_each(normalise),
        Value::Number(number) if !number.is_i64() && !number.is_u64() => {
            if let Some(same) = number.as_f64().and_then(Number::from_f64) {
                *number = same;
            }
        }
        _ => {}
    }
}

/// Fields that are not read yet.
struct Fields(Map<String, Value>);

impl Fields {
    fn optional<T: DeserializeOwned + Default>(&mut self, name: &str) -> Result<T, ModelError> {
        let Some(value) = self.0.remove(name) else {
            return Ok(T::default());
        };
        let found = serde_json::from_value(value);
        found.map_err(|e| ModelError::new(format!("not a model: {name}: {e}")))
    }

    /// A whole number. The sentence does not depend on the features of `serde_json`.
    fn count(&mut self, name: &str) -> Result<usize, ModelError> {
        let number: Value = self.required(name)?;
        let number = number.as_u64().and_then(|n| usize::try_from(n).ok());
        number
            .ok_or_else(|| ModelError::new(format!("not a model: {name}: must be a whole number")))
    }

    fn required<T: DeserializeOwned + Default>(&mut self, name: &str) -> Result<T, ModelError> {
        match self.0.contains_key(name) {
            true => self.optional(name),
            false => Err(ModelError::new(format!(
                "not a model: {name} is missing; `dst control template` prints an example"
            ))),
        }
    }
}

impl TryFrom<Map<String, Value>> for Model {
    type Error = ModelError;

    fn try_from(map: Map<String, Value>) -> Result<Self, ModelError> {
        let mut value = Value::Object(map);
        normalise(&mut value);
        let mut fields = match value {
            Value::Object(map) => Fields(map),
            _ => Fields(Map::new()),
        };
        let model = Self {
            a: fields.required("a")?,
            b: fields.required("b")?,
            q: fields.required("q")?,
            r: fields.required("r")?,
            terminal: fields.optional("terminal")?,
            references: fields.optional("references")?,
            inputs: fields.required("inputs")?,
            rates: fields.optional("rates")?,
            states: fields.optional("states")?,
            outputs: fields.optional("outputs")?,
            noise: fields.optional("noise")?,
            disturbance: fields.optional("disturbance")?,
            start: fields.required("start")?,
            horizon: fields.count("horizon")?,
            primal_tolerance: fields.optional("primal_tolerance")?,
            dual_tolerance: fields.optional("dual_tolerance")?,
            names: fields.optional("names")?,
        };
        match fields.0.keys().next() {
            None => Ok(model),
            Some(name) => Err(ModelError::new(format!(
                "not a model: \"{name}\" is not one of the fields {FIELDS}"
            ))),
        }
    }
}
