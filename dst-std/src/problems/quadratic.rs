//! Random quadratics f(x) = ½xᵀQx with a prescribed spectrum, in one of two random bases.
//!
//! λᵢ is spaced evenly in log scale from 0.1 to 10, condition number 100. The basis is either *Haar*: the orthogonal factor of a
//! Gaussian matrix with R_ii > 0, always dense; or *hhM*: a product of M random reflections, which can be stored as such
//! ([`Householder`]) and so goes to any dimension, or be formed. All random numbers come from counted streams of one seed.

use faer::Mat;
use faer::linalg::matmul::matmul;
use faer::{Accum, Par};

use crate::data::random::{fill_normals, normals};
use crate::linalg::householder::Householder;
use crate::linalg::symmetric::Symmetric;

/// Where the random numbers of a seed come from.
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

/// Bytes that [`haar`] takes while it works; `None` if beyond all bounds.
pub fn haar_bytes(dim: usize) -> Option<usize> {
    // The Gaussian matrix becomes its factorisation; the orthogonal factor, scaled and not, and their product.
    dim.checked_mul(dim)?.checked_mul(4 * size_of::<f64>())
}

/// Q = V·diag(λ)·Vᵀ with V uniformly distributed among the orthogonal matrices.
pub fn haar(dim: usize, seed: u64) -> Symmetric {
    // One thread: the result must not depend on how many there are.
    let par = Par::Seq;
    let mut rows = vec![0.0; dim * dim];
    fill_normals(stream::of(seed, stream::HAAR), &mut rows);
    let gaussian = Mat::from_fn(dim, dim, |i, j| rows[i * dim + j]);
    drop(rows);
    let threads = faer::get_global_parallelism();
    faer::set_global_parallelism(par);
    let qr = gaussian.qr();
    faer::set_global_parallelism(threads);
    drop(gaussian);
    let (mut v, r) = (qr.compute_Q(), qr.thin_R());
    for j in 0..dim {
        if r[(j, j)] < 0.0 {
            v.col_mut(j).iter_mut().for_each(|v| *v = -*v);
        }
    }
    let lambda = spectrum(dim);
    let scaled = Mat::from_fn(dim, dim, |i, j| v[(i, j)] * lambda[j]);
    let mut q = Mat::zeros(dim, dim);
    matmul(&mut q, Accum::Replace, &scaled, v.transpose(), 1.0, par);
    Symmetric::from_fn(dim, |i, j| 0.5 * (q[(i, j)] + q[(j, i)]))
}
