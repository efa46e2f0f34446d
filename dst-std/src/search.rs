//! Search without a gradient: separable CMA-ES, an evolution strategy with a diagonal covariance (Ros and Hansen, 2008).
//!
//! [`Cmaes`] is given the value of every candidate that it asks for. It needs nothing but the order of these values.
//!
//! ```
//! use dst_std::search::Cmaes;
//!
//! // An ellipsoid with its minimum at (1, 2, 3).
//! let f = |x: &[f64]| -> f64 {
//!     x.iter().enumerate().map(|(i, x)| 10f64.powi(i as i32) * (x - 1.0 - i as f64).powi(2)).sum()
//! };
//! let mut search = Cmaes::new(&[0.0; 3], 0.5);
//! search.minimise(7, 200, f);
//! assert!(f(search.mean()) < 1e-10);
//!
//! // The same by hand, where values are expensive or come in batches.
//! let mut search = Cmaes::new(&[0.0; 3], 0.5);
//! for generation in 0..200 {
//!     let candidates = search.ask(generation);
//!     let values: Vec<f64> = candidates.iter().map(|candidate| f(&candidate.x)).collect();
//!     search.tell(&candidates, &values);
//! }
//! assert!(f(search.mean()) < 1e-10);
//! ```

use crate::random::{bits, normal};

/// Separable CMA-ES under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Cmaes {
    mean: Vec<f64>,
    /// The overall step size σ.
    sigma: f64,
    /// The diagonal of the covariance.
    variance: Vec<f64>,
    path: Vec<f64>,
    path_sigma: Vec<f64>,
    generations: usize,
    rates: Rates,
}

/// Point to evaluate.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The point.
    pub x: Vec<f64>,
    /// Standard normal numbers that it was made from.
    z: Vec<f64>,
}

/// Constants of the method, which depend on the dimension alone.
#[derive(Clone, Debug, PartialEq)]
struct Rates {
    /// λ, candidates per generation.
    population: usize,
    /// Weights of the μ best of them.
    weights: Vec<f64>,
    mueff: f64,
    cs: f64,
    ds: f64,
    cc: f64,
    c1: f64,
    cmu: f64,
    /// The expected length of a standard normal vector.
    expected: f64,
}

impl Rates {
    fn new(n: usize) -> Self {
        let nf = n as f64;
        let population = 4 + (3.0 * libm::log(nf)) as usize;
        let mu = population / 2;
        let raw: Vec<f64> = (0..mu)
            .map(|i| libm::log(mu as f64 + 0.5) - libm::log(i as f64 + 1.0))
            .collect();
        let total: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|w| w / total).collect();
        let mueff = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let cs = (mueff + 2.0) / (nf + mueff + 5.0);
        let ds = 1.0 + cs + 2.0 * f64::max(0.0, ((mueff - 1.0) / (nf + 1.0)).sqrt() - 1.0);
        let cc = (4.0 + mueff / nf) / (nf + 4.0 + 2.0 * mueff / nf);
        // The separable variant learns (n + 2)/3 times faster than the full one.
        let faster = (nf + 2.0) / 3.0;
        let c1 = (faster * 2.0 / ((nf + 1.3).powi(2) + mueff)).min(0.5);
        let cmu = (faster * 2.0 * (mueff - 2.0 + 1.0 / mueff) / ((nf + 2.0).powi(2) + mueff))
            .min(1.0 - c1);
        let expected = nf.sqrt() * (1.0 - 1.0 / (4.0 * nf) + 1.0 / (21.0 * nf * nf));
        Self {
            population,
            weights,
            mueff,
            cs,
            ds,
            cc,
            c1,
            cmu,
            expected,
        }
    }
}

impl Cmaes {
    /// A search around `start`, whose first candidates are about `sigma` away in every coordinate.
    ///
    /// # Panics
    /// If `start` is empty.
    pub fn new(start: &[f64], sigma: f64) -> Self {
        assert!(!start.is_empty(), "nothing to search");
        let n = start.len();
        Self {
            mean: start.to_vec(),
            sigma,
            variance: vec![1.0; n],
            path: vec![0.0; n],
            path_sigma: vec![0.0; n],
            generations: 0,
            rates: Rates::new(n),
        }
    }

    /// The centre of the candidates: the best estimate of the minimum.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Generations so far.
    pub fn generations(&self) -> usize {
        self.generations
    }

    /// Candidates of the next generation, from this random stream.
    pub fn ask(&self, seed: u64) -> Vec<Candidate> {
        let n = self.mean.len();
        (0..self.rates.population)
            .map(|c| {
                let stream = bits(seed, c as u64);
                let z: Vec<f64> = (0..n).map(|j| normal(stream, j as u64)).collect();
                let x = (0..n)
                    .map(|j| self.mean[j] + self.sigma * self.variance[j].sqrt() * z[j])
                    .collect();
                Candidate { x, z }
            })
            .collect()
    }

    /// Takes the values of the candidates that were asked for, and moves on to the next generation.
    ///
    /// # Panics
    /// If there are not as many values as candidates.
    pub fn tell(&mut self, candidates: &[Candidate], values: &[f64]) {
        assert_eq!(candidates.len(), values.len(), "one value per candidate");
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let best: Vec<&[f64]> = order.iter().map(|&i| candidates[i].z.as_slice()).collect();
        let Rates {
            weights,
            mueff,
            cs,
            ds,
            cc,
            c1,
            cmu,
            expected,
            ..
        } = &self.rates;
        let (mueff, cs, ds, cc, c1, cmu) = (*mueff, *cs, *ds, *cc, *c1, *cmu);
        let n = self.mean.len();
        let step = |j: usize| -> f64 {
            let chosen = best.iter().zip(weights);
            chosen.map(|(z, w)| w * z[j]).sum()
        };
        let z_mean: Vec<f64> = (0..n).map(step).collect();
        let mut norm = 0.0;
        for (j, z) in z_mean.iter().enumerate() {
            self.mean[j] += self.sigma * self.variance[j].sqrt() * z;
            self.path_sigma[j] =
                (1.0 - cs) * self.path_sigma[j] + (cs * (2.0 - cs) * mueff).sqrt() * z;
            norm += self.path_sigma[j] * self.path_sigma[j];
        }
        let norm = norm.sqrt();
        let decay = 1.0 - (1.0 - cs).powi(2 * (self.generations as i32 + 1));
        let stalled = norm / decay.sqrt() >= (1.4 + 2.0 / (n as f64 + 1.0)) * expected;
        for (j, z) in z_mean.iter().enumerate() {
            let moved = if stalled {
                0.0
            } else {
                (cc * (2.0 - cc) * mueff).sqrt()
            };
            let variance = &mut self.variance[j];
            self.path[j] = (1.0 - cc) * self.path[j] + moved * variance.sqrt() * z;
            let spread: f64 = best.iter().zip(weights).map(|(z, w)| w * z[j] * z[j]).sum();
            *variance = (1.0 - c1 - cmu) * *variance
                + c1 * self.path[j] * self.path[j]
                + cmu * *variance * spread;
        }
        self.sigma *= libm::exp((cs / ds) * (norm / expected - 1.0)).min(2.0);
        self.generations += 1;
    }

    /// Minimises `f` for a number of generations; the result is [`mean`](Self::mean).
    pub fn minimise(&mut self, seed: u64, generations: usize, mut f: impl FnMut(&[f64]) -> f64) {
        for _ in 0..generations {
            let candidates = self.ask(bits(seed, self.generations as u64));
            let values: Vec<f64> = candidates.iter().map(|c| f(&c.x)).collect();
            self.tell(&candidates, &values);
        }
    }
}
