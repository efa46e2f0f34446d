//! The settings of the comparison.

use super::OlaConfig;
use crate::ola::{Algorithm, Setting, SvmProblem, Workload, ola_parameters};

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

/// The runs of the grid on a data set.
pub(super) fn workload(config: &OlaConfig, threads: usize) -> Workload {
    let windows = config.windows.iter().map(|&window| Algorithm::WindowOla {
        eta: 0.0,
        descent: 0.0,
        window,
    });
    // GD, NAG and NAG-SC; Adagrad, Adam, Adam-OLA, G-OLA and N-OLA.
    let methods = 5 + config.hypergradient_rates.len() + config.windows.len();
    Workload {
        runs: 3 + config.momenta.len() + methods * (config.rates.len() + 1),
        slots: windows.map(Algorithm::slots).max().unwrap_or(0),
        threads,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::load;

    #[test]
    fn the_workload_counts_the_settings() {
        let problem = SvmProblem::new(load("a1a", None).unwrap(), 0.0, 1).unwrap();
        let config = OlaConfig::default();
        let work = workload(&config, 2);
        assert_eq!(work.runs, settings(&config, &problem).len());
        assert_eq!((work.slots, work.threads), (32, 2));
    }
}
