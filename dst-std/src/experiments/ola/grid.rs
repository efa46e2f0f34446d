//! The settings of the comparison.

use super::OlaConfig;
use crate::ola::{Algorithm, Setting, SvmProblem, ola_parameters};

/// Returns every setting for a data set, method by method.
pub(super) fn settings(config: &OlaConfig, problem: &SvmProblem) -> Vec<Setting> {
    let l = problem.lipschitz();
    let mut all = Vec::new();
    let mut add = |algorithm, alpha| all.push(Setting { algorithm, alpha });
    add(Algorithm::Gd, 1.0 / l);
    for &momentum in &config.momenta {
        add(Algorithm::Hb { momentum }, 1.0 / l);
    }
    add(Algorithm::Nag, 1.0 / l);
    add(Algorithm::nag_sc(problem, config.strong_convexity), 1.0 / l);
    let rates: Vec<f64> = config.rates.iter().copied().chain([1.0 / l]).collect();
    let (eta, descent) = ola_parameters(problem.name());
    let mut methods = vec![Algorithm::Adagrad, Algorithm::Adam];
    let hypergradient = config.hypergradient_rates.iter();
    methods.extend(hypergradient.map(|&rate| Algorithm::AdamHd { rate }));
    methods.push(Algorithm::AdamOla { eta, descent });
    let windows = config.windows.iter();
    methods.extend(windows.map(|&window| Algorithm::WindowOla {
        eta,
        descent,
        window,
    }));
    methods.extend([Algorithm::GOla, Algorithm::NOla]);
    for method in methods {
        for &alpha in &rates {
            add(method, alpha);
        }
    }
    all
}
