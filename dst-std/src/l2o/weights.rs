//! Weights in files: safetensors, with the names and shapes that PyTorch gives them.
//!
//! ```python
//! net.load_state_dict(safetensors.torch.load_file("rnnprop.safetensors"))
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::architecture::Architecture;
use crate::files::{read_at_most, reason};

/// Remarks that a file carries along.
pub type Notes = BTreeMap<String, String>;

/// The remarks are one entry of the file, as JSON: the order of several is left to chance.
const NOTES: &str = "dst";

/// The most bytes of a file of weights; ours have 60 kB.
const LARGEST: u64 = 16 << 20;

/// A network with its weights, and what the file says about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The architecture of the network.
    pub model: Architecture,
    /// Its weights.
    pub theta: Vec<f32>,
    /// Remarks: how it was trained.
    pub notes: Notes,
}

/// Numbers as they stand in a file.
pub(super) fn bytes_of(numbers: impl IntoIterator<Item = f32>) -> Vec<u8> {
    numbers.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// And back.
pub(super) fn numbers_of(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers
        .iter()
        .map(|&bytes| f32::from_le_bytes(bytes))
        .collect()
}

/// A file of named tensors.
pub(super) fn file_of(
    tensors: &[(String, Vec<usize>, Vec<u8>)],
    notes: &Notes,
) -> Result<Vec<u8>, String> {
    let notes = serde_json::to_string(notes).map_err(|error| error.to_string())?;
    let entry = std::iter::once((NOTES.to_owned(), notes)).collect();
    let views: Result<Vec<_>, _> = tensors
        .iter()
        .map(|(name, shape, bytes)| {
            TensorView::new(Dtype::F32, shape.clone(), bytes).map(|view| (name.as_str(), view))
        })
        .collect();
    views
        .and_then(|views| safetensors::serialize(views, Some(entry)))
        .map_err(|error| format!("the weights cannot be put into a file: {error}"))
}

/// The tensors of such a file, and its remarks, if it has any of ours. The error is a sentence without a subject.
pub(super) fn open(bytes: &[u8]) -> Result<(SafeTensors<'_>, Notes), String> {
    let damaged = |error| format!("is not a whole safetensors file ({error})");
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let entry = header
        .metadata()
        .as_ref()
        .and_then(|entries| entries.get(NOTES));
    let notes = entry.and_then(|notes| serde_json::from_str(notes).ok());
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    Ok((file, notes.unwrap_or_default()))
}

impl Trained {
    /// The seed of its training, if it is noted.
    pub fn seed(&self) -> Option<u64> {
        self.notes.get("seed")?.parse().ok()
    }

    /// The content of a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let tensors: Vec<_> = self
            .model
            .tensors()
            .iter()
            .map(|tensor| {
                let entries = (0..tensor.len()).map(|index| self.theta[tensor.place(index)]);
                (tensor.name.to_owned(), tensor.shape(), bytes_of(entries))
            })
            .collect();
        file_of(&tensors, &self.notes)
    }

    /// From the content of a file. The error is a sentence without a subject.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (file, notes) = open(bytes)?;
        let model = if file.tensor("inp.weight").is_ok() {
            Architecture::RnnProp
        } else {
            Architecture::Dm
        };
        let mut theta = vec![0.0; model.theta_len()];
        let tensors = model.tensors();
        for tensor in &tensors {
            let name = tensor.name;
            let view = file.tensor(name).map_err(|_| {
                format!(
                    "has no tensor '{name}', so it is no {} network",
                    model.name()
                )
            })?;
            if view.shape() != tensor.shape() {
                return Err(format!(
                    "has '{name}' of shape {:?} instead of {:?}",
                    view.shape(),
                    tensor.shape()
                ));
            }
            if view.dtype() != Dtype::F32 {
                return Err(format!(
                    "has '{name}' of type {:?} instead of F32",
                    view.dtype()
                ));
            }
            for (index, value) in numbers_of(view.data()).into_iter().enumerate() {
                if !value.is_finite() {
                    return Err(format!("has a weight in '{name}' that is not finite"));
                }
                theta[tensor.place(index)] = value;
            }
        }
        if let Some(name) = file
            .names()
            .iter()
            .find(|name| tensors.iter().all(|t| t.name != **name))
        {
            return Err(format!(
                "has a tensor '{name}' that no {} network has",
                model.name()
            ));
        }
        Ok(Self {
            model,
            theta,
            notes,
        })
    }

    /// Reads a file. The error is one sentence.
    pub fn load(path: &Path) -> Result<Self, String> {
        let bytes = read(path)?;
        Self::from_bytes(&bytes).map_err(|error| {
            format!(
                "the file '{}' {error}; choose weights that dst l2o train has written",
                path.display()
            )
        })
    }
}

/// Reads a file whole.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    read_at_most(path, LARGEST).map_err(|error| {
        let reason = reason(&error);
        format!("the file '{}' cannot be read: {reason}", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(model: Architecture) -> Trained {
        Trained {
            model,
            theta: model.initial(7, |tensor| tensor.spread),
            notes: Notes::from([("seed".to_owned(), "7".to_owned())]),
        }
    }

    #[test]
    fn there_and_back() {
        for model in Architecture::ALL {
            let trained = some(model);
            let bytes = trained.to_bytes().unwrap();
            assert_eq!(Trained::from_bytes(&bytes).unwrap(), trained);
            assert_eq!(
                trained.to_bytes().unwrap(),
                bytes,
                "the same bytes every time"
            );
        }
    }

    #[test]
    fn bad_files_are_refused_in_one_sentence() {
        let good = some(Architecture::RnnProp).to_bytes().unwrap();
        for len in [0, 1, 7, 8, 9, 100, good.len() / 2, good.len() - 1] {
            let error = Trained::from_bytes(&good[..len]).unwrap_err();
            assert!(error.contains("not a whole safetensors file"), "{error}");
        }
        let mut not_finite = some(Architecture::Dm);
        not_finite.theta[0] = f32::NAN;
        let error = Trained::from_bytes(&not_finite.to_bytes().unwrap()).unwrap_err();
        assert!(
            error.contains("'rnn.weight_ih_l0' that is not finite"),
            "{error}"
        );
        let odd = |name: &str, shape: Vec<usize>| {
            let bytes = bytes_of(vec![0.0; shape.iter().product()]);
            let file = file_of(&[(name.to_owned(), shape, bytes)], &Notes::new()).unwrap();
            Trained::from_bytes(&file).unwrap_err()
        };
        assert!(odd("inp.weight", vec![30, 3]).contains("of shape [30, 3] instead of [30, 2]"));
        assert!(odd("other", vec![1]).contains("has no tensor 'rnn.weight_ih_l0'"));
    }

    /// Any change of a byte is refused or read; nothing panics.
    #[test]
    fn damaged_files() {
        let good = some(Architecture::Dm).to_bytes().unwrap();
        for at in (0..2000).chain((2000..good.len()).step_by(997)) {
            for flip in [1, 0x80, 0xFF] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                let _ = Trained::from_bytes(&bytes);
            }
        }
    }
}
