//! Bounds of inputs, states and outputs: on one side or both, hard or soft.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Reads an object, and nothing but an object: by itself a structure would also take a list of its fields.
pub(super) fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<T, D::Error> {
    let map = Map::<String, Value>::deserialize(from)?;
    serde_json::from_value(Value::Object(map)).map_err(D::Error::custom)
}

/// Lower and upper bound; infinite if there is none. In a file a pair, `null` for a bound that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "RawLimits", into = "RawLimits")]
pub struct Limits {
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
}

type RawLimits = Option<(Option<f64>, Option<f64>)>;

impl Limits {
    /// No bound.
    pub const FREE: Self = Self::between(f64::NEG_INFINITY, f64::INFINITY);

    /// Both bounds.
    pub const fn between(lower: f64, upper: f64) -> Self {
        Self { lower, upper }
    }

    /// True if there is no bound.
    pub fn is_free(&self) -> bool {
        self.lower == f64::NEG_INFINITY && self.upper == f64::INFINITY
    }

    fn optional(lower: Option<f64>, upper: Option<f64>) -> Self {
        Self::between(
            lower.unwrap_or(f64::NEG_INFINITY),
            upper.unwrap_or(f64::INFINITY),
        )
    }

    fn sides(self) -> (Option<f64>, Option<f64>) {
        let side = |v: f64| (!v.is_infinite()).then_some(v);
        (side(self.lower), side(self.upper))
    }
}

impl From<RawLimits> for Limits {
    fn from(raw: RawLimits) -> Self {
        raw.map_or(Self::FREE, |(lower, upper)| Self::optional(lower, upper))
    }
}

impl From<Limits> for RawLimits {
    fn from(limits: Limits) -> Self {
        (!limits.is_free()).then(|| limits.sides())
    }
}

impl From<(f64, f64)> for Limits {
    fn from((lower, upper): (f64, f64)) -> Self {
        Self { lower, upper }
    }
}

/// Price of a violated bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "RawSoftness", into = "RawSoftness")]
pub enum Softness {
    /// The default: a Huber penalty, which is an ℓ1 penalty with a weight above the multipliers of normal operation and a small quadratic
    /// part. Both weights follow from the program. Where the inputs
    /// can keep the bound, the plan exceeds it by about 10⁻⁴ of the distance by which the bound holds the row back, and by more in a stage
    /// in which the inputs hardly move the row. A tick that does so is not reported as softened.
    #[default]
    Huber,
    /// None: the program is infeasible where the bound cannot be kept.
    Hard,
    /// Given penalties.
    Soft(Penalty),
}

/// Penalty of a violation v: `l1`·|v|, ½·`quadratic`·v², or with both the Huber function of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Penalty {
    /// Weight of |v|.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l1: Option<f64>,
    /// Weight of ½v².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quadratic: Option<f64>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "soft must be true, false, {\"l1\": weight} or {\"quadratic\": weight}"
)]
enum RawSoftness {
    Word(bool),
    Penalty(#[serde(deserialize_with = "object")] Penalty),
}

impl From<RawSoftness> for Softness {
    fn from(raw: RawSoftness) -> Self {
        match raw {
            RawSoftness::Word(true) => Self::Huber,
            RawSoftness::Word(false) => Self::Hard,
            RawSoftness::Penalty(penalty) => Self::Soft(penalty),
        }
    }
}

impl From<Softness> for RawSoftness {
    fn from(softness: Softness) -> Self {
        match softness {
            Softness::Huber => Self::Word(true),
            Softness::Hard => Self::Word(false),
            Softness::Soft(penalty) => Self::Penalty(penalty),
        }
    }
}

/// A bounded state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "RawStateBound", into = "StateObject")]
pub struct StateBound {
    /// Number of the state, from 0.
    pub state: usize,
    /// Its bounds.
    pub limits: Limits,
    /// Price of a violation.
    pub soft: Softness,
}

impl From<(usize, f64, f64)> for StateBound {
    fn from((state, lower, upper): (usize, f64, f64)) -> Self {
        Self {
            state,
            limits: Limits::between(lower, upper),
            soft: Softness::Huber,
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateObject {
    state: usize,
    #[serde(default)]
    lower: Option<f64>,
    #[serde(default)]
    upper: Option<f64>,
    #[serde(default)]
    soft: Softness,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an entry must be [state, lower, upper] or {\"state\": 0, \"lower\": -1, \"upper\": null, \"soft\": true}"
)]
enum RawStateBound {
    Triple(usize, Option<f64>, Option<f64>),
    Object(#[serde(deserialize_with = "object")] StateObject),
}

impl From<RawStateBound> for StateBound {
    fn from(raw: RawStateBound) -> Self {
        let (state, lower, upper, soft) = match raw {
            RawStateBound::Triple(state, lower, upper) => (state, lower, upper, Softness::Huber),
            RawStateBound::Object(o) => (o.state, o.lower, o.upper, o.soft),
        };
        Self {
            state,
            limits: Limits::optional(lower, upper),
            soft,
        }
    }
}

impl From<StateBound> for StateObject {
    fn from(bound: StateBound) -> Self {
        let (lower, upper) = bound.limits.sides();
        Self {
            state: bound.state,
            lower,
            upper,
            soft: bound.soft,
        }
    }
}

/// A bounded linear function c·x of the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "OutputObject", into = "OutputObject")]
pub struct OutputBound {
    /// c, a number for every state.
    pub c: Vec<f64>,
    /// Its bounds.
    pub limits: Limits,
    /// Price of a violation.
    pub soft: Softness,
    /// Name for messages.
    pub name: Option<String>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputObject {
    c: Vec<f64>,
    #[serde(default)]
    lower: Option<f64>,
    #[serde(default)]
    upper: Option<f64>,
    #[serde(default)]
    soft: Softness,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl From<OutputObject> for OutputBound {
    fn from(object: OutputObject) -> Self {
        Self {
            c: object.c,
            limits: Limits::optional(object.lower, object.upper),
            soft: object.soft,
            name: object.name,
        }
    }
}

impl From<OutputBound> for OutputObject {
    fn from(bound: OutputBound) -> Self {
        let (lower, upper) = bound.limits.sides();
        Self {
            c: bound.c,
            lower,
            upper,
            soft: bound.soft,
            name: bound.name,
        }
    }
}

/// A state with a set-point that is given at run time. The simulation draws it from a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "RawReference", into = "ReferenceObject")]
pub struct Reference {
    /// Number of the state, from 0.
    pub state: usize,
    /// Range of the set-point in the simulation.
    pub range: Limits,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceObject {
    state: usize,
    lower: f64,
    upper: f64,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an entry must be [state, lower, upper] or {\"state\": 0, \"lower\": -1, \"upper\": 1}"
)]
enum RawReference {
    Triple(usize, f64, f64),
    Object(#[serde(deserialize_with = "object")] ReferenceObject),
}

impl From<RawReference> for Reference {
    fn from(raw: RawReference) -> Self {
        let (state, lower, upper) = match raw {
            RawReference::Triple(state, lower, upper) => (state, lower, upper),
            RawReference::Object(o) => (o.state, o.lower, o.upper),
        };
        Self {
            state,
            range: Limits::between(lower, upper),
        }
    }
}

impl From<Reference> for ReferenceObject {
    fn from(reference: Reference) -> Self {
        Self {
            state: reference.state,
            lower: reference.range.lower,
            upper: reference.range.upper,
        }
    }
}
