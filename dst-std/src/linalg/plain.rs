//! Dense factorisation and product in a fixed order of sums, for [`Arithmetic::Portable`](super::Arithmetic::Portable): faer picks its
//! instructions by itself.

use super::elementwise::dot;
use crate::parallel;

/// v ← v − 2u(uᵀv)/(uᵀu), with `factor` = 2/(uᵀu).
fn reflect(u: &[f64], factor: f64, v: &mut [f64]) {
    let scale = factor * dot(u, v);
    for (v, u) in v.iter_mut().zip(u) {
        *v -= scale * u;
    }
}

/// The orthogonal factor of a square matrix by columns, with a positive diagonal of R: Householder's method.
pub(super) fn orthogonal_factor(mut columns: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let dim = columns.len();
    let mut factors = vec![0.0; dim];
    let mut signs = vec![1.0; dim];
    for k in 0..dim {
        let (done, rest) = columns.split_at_mut(k + 1);
        let u = &mut done[k][k..];
        let norm = dot(u, u).sqrt();
        // R_kk has the sign that avoids cancellation in u.
        let diagonal = if u[0] > 0.0 { -norm } else { norm };
        u[0] -= diagonal;
        let square = dot(u, u);
        factors[k] = if square > 0.0 { 2.0 / square } else { 0.0 };
        signs[k] = if diagonal < 0.0 { -1.0 } else { 1.0 };
        let (u, factor) = (&*u, factors[k]);
        parallel::each(rest, &|_, column| reflect(u, factor, &mut column[k..]));
    }
    let mut q: Vec<Vec<f64>> = (0..dim).map(|j| unit(dim, j, signs[j])).collect();
    parallel::each(&mut q, &|j, column| {
        // The reflections after the j-th do not change a unit vector.
        for k in (0..=j).rev() {
            reflect(&columns[k][k..], factors[k], &mut column[k..]);
        }
    });
    q
}

fn unit(dim: usize, place: usize, value: f64) -> Vec<f64> {
    let mut column = vec![0.0; dim];
    column[place] = value;
    column
}

/// Every product of a row of one matrix with a row of the other, row by row.
pub(super) fn products(rows: &[Vec<f64>], others: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::new(); rows.len()];
    parallel::each(&mut all, &|i, products: &mut Vec<f64>| {
        *products = others.iter().map(|other| dot(&rows[i], other)).collect();
    });
    all
}
