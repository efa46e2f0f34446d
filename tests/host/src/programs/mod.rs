//! Random strictly convex programs min ½uᵀPu + qᵀu + Σφ_j(a_j·u), where φ_j bounds or penalises row j, from a seed.
//!
//! Rows, planted solutions and bounds are small dyadic numbers: a_j·u* is exact, in f32 as well. So a degenerate vertex is
//! exactly degenerate, and a program that is infeasible is so by the planted margin.

mod draw;
mod hessian;
mod planted;
mod rows;

pub use draw::Draw;
pub use planted::program;

/// Arithmetic of the solver under test. It limits the condition of P and the digits of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// f32: condition of P up to 1e3, all data exact in f32.
    Single,
    /// f64: condition of P up to 1e6.
    Double,
}

/// Property that a program is built to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Two-sided rows around a feasible point, q at random.
    Plain,
    /// Rows [I; C], q at random.
    Inputs,
    /// Rows [I; C] with the solution planted.
    PlantedInputs,
    /// More rows active at the solution than needed, some with a multiplier of zero.
    Degenerate,
    /// Rows that are sums of other rows, active at the solution.
    Dependent,
    /// Copies and multiples of rows, with equal and with wider bounds.
    Redundant,
    /// Rows with one bound.
    OneSided,
    /// Rows with l = h, some of them sums of others.
    Equality,
    /// Rows with h − l small.
    Tight,
    /// Rows with an ℓ1 penalty (a capped multiplier).
    Capped,
    /// Rows with a quadratic penalty.
    Quadratic,
    /// Rows with either penalty or both, and hard rows.
    Soft,
    /// A row with l > h.
    EmptyBox,
    /// Rows that contradict each other, by a planted Farkas certificate.
    Infeasible,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Plain,
        Self::Inputs,
        Self::PlantedInputs,
        Self::Degenerate,
        Self::Dependent,
        Self::Redundant,
        Self::OneSided,
        Self::Equality,
        Self::Tight,
        Self::Capped,
        Self::Quadratic,
        Self::Soft,
        Self::EmptyBox,
        Self::Infeasible,
    ];

    /// True if a program of this kind has a solution.
    pub fn feasible(self) -> bool {
        !matches!(self, Self::EmptyBox | Self::Infeasible)
    }
}

/// A program. φ_j(s) is 0 for l ≤ s ≤ h. Beyond a bound by v it is ½ρv², linear with slope c from v = c/ρ on.
#[derive(Clone, Debug)]
pub struct Program {
    /// Seed that it was made from.
    pub seed: u64,
    /// Property that it was built to have.
    pub kind: Kind,
    /// P, n × n.
    pub hessian: Vec<f64>,
    /// A, m × n, row by row.
    pub rows: Vec<f64>,
    /// Number of leading rows that form the identity: n or 0.
    pub identity: usize,
    /// q
    pub linear: Vec<f64>,
    /// l
    pub lower: Vec<f64>,
    /// h
    pub upper: Vec<f64>,
    /// c; infinity without an ℓ1 penalty.
    pub caps: Vec<f64>,
    /// 1/ρ; 0 without a quadratic penalty.
    pub softness: Vec<f64>,
    /// Solution, up to the rounding of q.
    pub planted: Option<Vec<f64>>,
}

impl Program {
    /// n
    pub fn variables(&self) -> usize {
        self.linear.len()
    }

    /// m
    pub fn count(&self) -> usize {
        self.lower.len()
    }

    /// a_j
    pub fn row(&self, j: usize) -> &[f64] {
        let n = self.variables();
        &self.rows[j * n..][..n]
    }

    /// A·u
    pub fn products(&self, u: &[f64]) -> Vec<f64> {
        (0..self.count()).map(|j| dot(self.row(j), u)).collect()
    }

    /// True if row j has a penalty in place of a bound.
    pub fn is_soft(&self, j: usize) -> bool {
        self.caps[j].is_finite() || self.softness[j] > 0.0
    }
}

/// Inner product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
