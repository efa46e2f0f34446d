//! The settings that are tried.

use super::run::Method;
use super::{Config, Problem};

/// A method and a learning rate to start with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The method.
    pub method: Method,
    /// α, or α₀.
    pub alpha: f64,
}

/// η_adapt and ε_desc of the paper's Table 1; other data sets get those of a1a.
pub fn ola_parameters(dataset: &str) -> (f64, f64) {
    match dataset {
        "a2a" => (1e-3, 1e-3),
        "a3a" => (5e-5, 5e-4),
        "w3a" => (5e-3, 5e-9),
        _ => (1e-2, 1e-5),
    }
}

/// Every setting for a data set, method by method.
pub(super) fn settings(config: &Config, problem: &Problem) -> Vec<Setting> {
    let l = problem.lipschitz();
    let mut all = Vec::new();
    let mut add = |method, alpha| all.push(Setting { method, alpha });
    add(Method::Gd, 1.0 / l);
    for &momentum in &config.momenta {
        add(Method::Hb { momentum }, 1.0 / l);
    }
    add(Method::Nag, 1.0 / l);
    add(Method::nag_sc(problem, config), 1.0 / l);
    let rates: Vec<f64> = config.rates.iter().copied().chain([1.0 / l]).collect();
    let (eta, descent) = ola_parameters(problem.name());
    let mut methods = vec![Method::Adagrad, Method::Adam];
    let hypergradient = config.hypergradient_rates.iter();
    methods.extend(hypergradient.map(|&rate| Method::AdamHd { rate }));
    methods.push(Method::AdamOla { eta, descent });
    let windows = config.windows.iter();
    methods.extend(windows.map(|&window| Method::WindowOla {
        eta,
        descent,
        window,
    }));
    methods.extend([Method::GOla, Method::NOla]);
    for method in methods {
        for &alpha in &rates {
            add(method, alpha);
        }
    }
    all
}
