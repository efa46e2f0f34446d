//! The online adaptations and their baselines, with their parameters.

use serde::Serialize;

use super::problem::SvmProblem;
use super::run::MOST_SLOTS;

/// μ of [`Algorithm::nag_sc`] in the paper's experiments, where there is no regularisation.
pub const STRONG_CONVEXITY: f64 = 1e-4;

/// A first-order method with its parameters. The learning rate is given apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Algorithm {
    /// Gradient descent.
    Gd,
    /// Heavy ball: v ← βv + αg, x ← x − v.
    Hb {
        /// β
        momentum: f64,
    },
    /// Nesterov's accelerated gradient with the FISTA sequence.
    Nag,
    /// Nesterov's accelerated gradient for strongly convex f.
    NagSc {
        /// β = (√L − √μ)/(√L + √μ)
        extrapolation: f64,
    },
    /// Adagrad.
    Adagrad,
    /// Adam with β = (0.9, 0.999).
    Adam,
    /// Adam with hypergradient descent on α.
    AdamHd {
        /// The change of α per unit of hypergradient.
        rate: f64,
    },
    /// Adam-OLA: the paper's Algorithm 2, unchanged.
    AdamOla {
        /// η_adapt
        eta: f64,
        /// ε_desc
        descent: f64,
    },
    /// Adam-OLA with the exact sensitivity through a window of steps.
    WindowOla {
        /// η_adapt
        eta: f64,
        /// ε_desc
        descent: f64,
        /// W, in steps.
        window: usize,
    },
    /// G-OLA: Adam with a guarded logarithmic step of α.
    GOla,
    /// N-OLA: α, β₁ and momentum by a Newton step on the stopping time.
    NOla,
}

impl Algorithm {
    /// Returns the number of states that a run keeps.
    pub fn slots(self) -> usize {
        match self {
            Self::WindowOla { window, .. } => window.saturating_mul(4).min(MOST_SLOTS),
            _ => 0,
        }
    }

    /// Returns Nesterov's method for strongly convex f. μ is the regularisation or, without one, `strong_convexity`.
    pub fn nag_sc(problem: &SvmProblem, strong_convexity: f64) -> Self {
        let mu = match problem.regularisation() {
            reg if reg > 0.0 => reg,
            _ => strong_convexity,
        };
        let (l, mu) = (problem.lipschitz().sqrt(), mu.sqrt());
        Self::NagSc {
            extrapolation: (l - mu) / (l + mu),
        }
    }

    /// Returns the name in tables and figures.
    pub fn name(self) -> String {
        match self {
            Self::Gd => "GD".into(),
            Self::Hb { .. } => "HB".into(),
            Self::Nag => "NAG".into(),
            Self::NagSc { .. } => "NAG-SC".into(),
            Self::Adagrad => "Adagrad".into(),
            Self::Adam => "Adam".into(),
            Self::AdamHd { .. } => "Adam-HD".into(),
            Self::AdamOla { .. } => "Adam-OLA".into(),
            Self::WindowOla { window, .. } => format!("window {window}"),
            Self::GOla => "G-OLA".into(),
            Self::NOla => "N-OLA".into(),
        }
    }

    /// Returns the parameters as text; empty if there are none.
    pub fn parameters(self) -> String {
        match self {
            Self::Hb { momentum } => format!("β = {momentum}"),
            Self::NagSc { extrapolation } => format!("β = {extrapolation:.6}"),
            Self::AdamHd { rate } => format!("β = {rate}"),
            Self::AdamOla { eta, descent } | Self::WindowOla { eta, descent, .. } => {
                format!("η = {eta}, ε = {descent}")
            }
            _ => String::new(),
        }
    }

    /// True if this is one of the paper's baselines.
    pub fn is_baseline(self) -> bool {
        !matches!(
            self,
            Self::AdamOla { .. } | Self::WindowOla { .. } | Self::GOla | Self::NOla
        )
    }
}

/// An algorithm and the learning rate that it starts with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// α, or α₀ where α is adapted.
    pub alpha: f64,
}

/// Returns η_adapt and ε_desc of the paper's Table 1; other data sets get those of a1a.
pub fn ola_parameters(dataset: &str) -> (f64, f64) {
    match dataset {
        "a2a" => (1e-3, 1e-3),
        "a3a" => (5e-5, 5e-4),
        "w3a" => (5e-3, 5e-9),
        _ => (1e-2, 1e-5),
    }
}
