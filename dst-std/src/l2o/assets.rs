//! Networks that come with the program, trained by `dst l2o train` at the paper's size.

use super::weights::Trained;

/// A network that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// As the command line knows it: model, loss, penalty, seed.
    pub name: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        /// All of them.
        pub const ASSETS: &[Asset] = &[$(Asset {
            name: $name,
            bytes: include_bytes!(concat!("../../assets/", $name, ".safetensors")),
        }),*];
    };
}

assets! {
    "dm-1",
    "rnnprop-1",
    "rnnprop-2",
    "rnnprop-3",
    "rnnprop-4",
    "rnnprop-5",
    "rnnprop-6",
    "rnnprop-literal-1",
    "rnnprop-guarded-1",
    "rnnprop-guarded-2",
    "rnnprop-guarded-3",
    "rnnprop-guarded-4",
    "rnnprop-guarded-5",
    "rnnprop-guarded-6",
    "rnnprop-log-1",
    "rnnprop-log-2",
    "rnnprop-log-3",
    "rnnprop-log-carried-1",
    "rnnprop-log-carried-2",
    "rnnprop-log-carried-3",
}

impl Asset {
    /// Its weights.
    ///
    /// # Panics
    /// If the program was built with a damaged file; a test looks.
    pub fn load(&self) -> Trained {
        Trained::from_bytes(self.bytes).expect("a file that was tested")
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        ASSETS.iter().find(|asset| asset.name == name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_is_what_its_name_says() {
        for asset in ASSETS {
            let trained = asset.load();
            let note = |key: &str| trained.notes.get(key).cloned().unwrap_or_default();
            let mut name = trained.model.name().to_owned();
            // The first ones were trained when there was one loss, and do not name it.
            for (key, usual) in [("loss", "mean"), ("penalty", "none")] {
                let note = note(key);
                if let Some(word) = note.split_whitespace().next()
                    && word != usual
                {
                    name += &format!("-{word}");
                }
            }
            let name = format!("{name}-{}", note("seed"));
            assert_eq!(name, asset.name);
            assert_eq!(
                (note("dim"), note("batch")),
                ("512".to_owned(), "64".to_owned())
            );
        }
    }
}
