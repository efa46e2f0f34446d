//! States from which a run starts, and the random parameters of ticks.

use serde::{Deserialize, Serialize};

use super::bounds::object;
use super::{Limits, Model};
use crate::control::pool::Pool;
use crate::control::program::Program;
use crate::random::{bits, uniform};

/// Set of states from which a run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "RawStart", into = "RawStart")]
pub enum Start {
    /// Anywhere within plus or minus these numbers, times one scale of 0.05–1 for all states.
    Within(Vec<f64>),
    /// Anywhere in a box.
    Box {
        /// Lower end of every state.
        lower: Vec<f64>,
        /// Upper end of every state.
        upper: Vec<f64>,
    },
    /// A line of a file.
    File {
        /// Path of the file, from the model file.
        file: String,
        /// Its states; [`Model::read`] reads them.
        states: Vec<Vec<f64>>,
    },
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "start must be a list of numbers, {\"box\": {\"lower\": [], \"upper\": []}} or {\"file\": \"states.csv\"}"
)]
enum RawStart {
    Within(Vec<f64>),
    Box(#[serde(deserialize_with = "object")] BoxObject),
    File(#[serde(deserialize_with = "object")] FileObject),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoxObject {
    #[serde(deserialize_with = "object")]
    r#box: RawBox,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileObject {
    file: String,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBox {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl From<RawStart> for Start {
    fn from(raw: RawStart) -> Self {
        match raw {
            RawStart::Within(half) => Self::Within(half),
            RawStart::Box(BoxObject {
                r#box: RawBox { lower, upper },
            }) => Self::Box { lower, upper },
            RawStart::File(FileObject { file }) => Self::File {
                file,
                states: Vec::new(),
            },
        }
    }
}

impl From<Start> for RawStart {
    fn from(start: Start) -> Self {
        match start {
            Start::Within(half) => Self::Within(half),
            Start::Box { lower, upper } => Self::Box(BoxObject {
                r#box: RawBox { lower, upper },
            }),
            Start::File { file, .. } => Self::File(FileObject { file }),
        }
    }
}

impl Default for Start {
    fn default() -> Self {
        Self::Within(Vec::new())
    }
}

impl From<Vec<f64>> for Start {
    fn from(half: Vec<f64>) -> Self {
        Self::Within(half)
    }
}

impl Start {
    /// Smallest and largest value of every state.
    pub(crate) fn ranges(&self) -> Vec<Limits> {
        match self {
            Self::Within(half) => half.iter().map(|&h| Limits::between(-h, h)).collect(),
            Self::Box { lower, upper } => {
                let pairs = lower.iter().zip(upper);
                pairs.map(|(&l, &u)| Limits::between(l, u)).collect()
            }
            Self::File { states, .. } => {
                let width = states.first().map_or(0, Vec::len);
                let range = |j: usize| {
                    let column = states.iter().map(|x| x[j]);
                    Limits::between(
                        column.clone().fold(f64::INFINITY, f64::min),
                        column.fold(f64::NEG_INFINITY, f64::max),
                    )
                };
                (0..width).map(range).collect()
            }
        }
    }

    /// Random state of a stream.
    fn draw(&self, stream: u64) -> Vec<f64> {
        let at = |j: usize| uniform(stream, j as u64 + 1);
        match self {
            Self::Within(half) => {
                let scale = 0.05 + 0.95 * uniform(stream, 0);
                let side = |j: usize| 2.0 * at(j) - 1.0;
                let entries = half.iter().enumerate();
                entries.map(|(j, s)| scale * s * side(j)).collect()
            }
            Self::Box { lower, upper } => {
                let ends = lower.iter().zip(upper).enumerate();
                ends.map(|(j, (&l, &u))| between(l, u, at(j))).collect()
            }
            Self::File { states, .. } => {
                let line = (uniform(stream, 0) * states.len() as f64) as usize;
                states.get(line).cloned().unwrap_or_default()
            }
        }
    }
}

fn between(lower: f64, upper: f64, share: f64) -> f64 {
    lower + (upper - lower) * share
}

/// Streams of a tick beside that of the state.
const REFERENCES: u64 = 1 << 40;
const PREVIOUS: u64 = 2 << 40;

impl Model {
    /// Random state of a run.
    pub fn draw_state(&self, seed: u64, index: u64) -> Vec<f64> {
        self.start.draw(bits(seed, index))
    }

    /// Random set-points of a run.
    pub fn draw_references(&self, seed: u64, index: u64) -> Vec<f64> {
        let stream = bits(bits(seed, index), REFERENCES);
        let all = self.references.iter().enumerate();
        all.map(|(j, r)| between(r.range.lower, r.range.upper, uniform(stream, j as u64)))
            .collect()
    }

    /// Random parameter of a cold tick: state, set-points, previous input. An input without two bounds was zero, or at its bound.
    pub fn draw(&self, seed: u64, index: u64) -> Vec<f64> {
        let mut p = self.draw_state(seed, index);
        p.extend(self.draw_references(seed, index));
        if self.has_rates() {
            let stream = bits(bits(seed, index), PREVIOUS);
            let inputs = self.inputs.iter().enumerate();
            p.extend(inputs.map(|(j, limits)| {
                match limits.lower.is_finite() && limits.upper.is_finite() {
                    true => between(limits.lower, limits.upper, uniform(stream, j as u64)),
                    false => limits.lower.max(0.0).min(limits.upper),
                }
            }));
        }
        p
    }

    /// Random ticks from a cold start.
    pub fn ticks(&self, program: &Program<f64>, seed: u64, count: usize) -> Pool<f64> {
        let tick = |i: u64| (self.draw(seed, i), Vec::new());
        Pool::of_states(program, (0..count as u64).map(tick))
    }
}
