//! Random quadratics f(x) = ½xᵀQx with a prescribed spectrum, in one of two random bases.
//!
//! λᵢ is spaced evenly in log scale from 0.1 to 10, condition number 100. The basis is either *Haar*: the orthogonal factor of a
//! Gaussian matrix with R_ii > 0, always dense; or *hhM*: a product of M random reflections, which can be stored as such
//! ([`Householder`]) and so goes to any dimension, or be formed. All random numbers come from counted streams of one seed.

use crate::linalg::dense::Dense;
use crate::linalg::householder::Householder;
use crate::linalg::symmetric::Symmetric;
use crate::random::{fill_normals, normals};

/// The streams of the random numbers of a seed.
pub(crate) mod stream {
    pub(crate) const START: u64 = 1;
    pub(crate) const PARAMETERS: u64 = 2;
    pub(super) const HAAR: u64 = 3;
    pub(super) const REFLECTIONS: u64 = 10;

    /// The stream with this number.
    pub(crate) fn of(seed: u64, number: u64) -> u64 {
        seed.wrapping_mul(1000).wrapping_add(number)
    }
}

/// The eigenvalues.
pub fn spectrum(dim: usize) -> Vec<f64> {
    let last = dim.saturating_sub(1).max(1) as f64;
    (0..dim)
        .map(|i| 0.1 * libm::pow(100.0, i as f64 / last))
        .collect()
}

/// x0 with independent standard normal entries.
pub fn start(dim: usize, seed: u64) -> Vec<f64> {
    normals(stream::of(seed, stream::START), dim)
}

/// Q = H·diag(λ)·Hᵀ with this many random reflections.
pub fn reflected(dim: usize, reflections: usize, seed: u64) -> Householder {
    let vectors = (0..reflections)
        .map(|r| {
            normals(
                stream::of(seed, stream::REFLECTIONS).wrapping_add(r as u64),
                dim,
            )
        })
        .collect();
    Householder::new(spectrum(dim), vectors)
}

/// Q = V·diag(λ)·Vᵀ with V uniformly distributed among the orthogonal matrices.
pub fn haar(dim: usize, seed: u64) -> Symmetric {
    let mut rows = vec![0.0; dim * dim];
    fill_normals(stream::of(seed, stream::HAAR), &mut rows);
    let gaussian = Dense::from_fn(dim, dim, |i, j| rows[i * dim + j]);
    drop(rows);
    let v = gaussian.orthogonal_factor();
    let q = v.scaled_columns(&spectrum(dim)).times_transposed(&v);
    Symmetric::from_fn(dim, |i, j| 0.5 * (q.entry(i, j) + q.entry(j, i)))
}
