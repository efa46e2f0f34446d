//! Householder-conjugated diagonal matrices: Q = H·diag(λ)·Hᵀ with H = H₁H₂…H_M and H_r = I − 2v_r v_rᵀ.
//!
//! A dense spectrum in a dense basis, at the price of a few vectors: M·d numbers instead of d²/2. The reflections are taken
//! in blocks of eight, in the compact form H₁…H₈ = I − V·T·Vᵀ with T upper triangular (T_kk = 2, T_{:k,k} = −2·T·Vᵀv_k), so that
//! a block costs one pass for the eight products Vᵀx and one for the update. The update by one block and the products with the next
//! share a pass: a product with Q reads the vectors of the only block three times, of K blocks 4K − 1 in all.
//!
//! The eight vectors of a block are interleaved by eights, so that a pass reads one stream. Long vectors are halved
//! until they are short enough for one thread, and the sums of the halves added.

use pulp::{Simd, WithSimd};

use super::{Operator, dispatch, symmetric::Symmetric};
use crate::parallel;

/// Reflections in a block, and the length of what is interleaved.
const BLOCK: usize = 8;

/// Eight entries of each of the eight vectors.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([[f64; BLOCK]; BLOCK]);

/// Groups in a piece of work for one thread, at the most: 16 384 entries.
const PIECE: usize = 2048;

/// I − V·T·Vᵀ
#[derive(Clone, Debug)]
struct Block {
    vectors: Vec<Group>,
    /// T by rows.
    t: [[f64; BLOCK]; BLOCK],
}

/// The matrix H·diag(λ)·Hᵀ.
#[derive(Clone, Debug)]
pub struct Householder {
    lambda: Vec<f64>,
    /// M
    reflections: usize,
    blocks: Vec<Block>,
}

/// T·c or Tᵀ·c
fn small_product(t: &[[f64; BLOCK]; BLOCK], transposed: bool, c: &[f64; BLOCK]) -> [f64; BLOCK] {
    std::array::from_fn(|i| {
        (0..BLOCK)
            .map(|j| if transposed { t[j][i] } else { t[i][j] } * c[j])
            .sum()
    })
}

impl Block {
    /// From at most eight vectors of length one; missing ones are zero, which reflects nothing.
    fn new(dim: usize, unit_vectors: &[Vec<f64>]) -> Self {
        let mut vectors = vec![Group([[0.0; BLOCK]; BLOCK]); dim.div_ceil(BLOCK)];
        for (r, v) in unit_vectors.iter().enumerate() {
            for (Group(group), v) in vectors.iter_mut().zip(v.chunks(BLOCK)) {
                group[r][..v.len()].copy_from_slice(v);
            }
        }
        let mut t = [[0.0; BLOCK]; BLOCK];
        for (k, v) in unit_vectors.iter().enumerate() {
            let mut products = [0.0; BLOCK];
            for (p, earlier) in products.iter_mut().zip(&unit_vectors[..k]) {
                *p = earlier.iter().zip(v).map(|(a, b)| a * b).sum();
            }
            let column = small_product(&t, false, &products);
            for (row, c) in t.iter_mut().zip(column).take(k) {
                row[k] = -2.0 * c;
            }
            t[k][k] = 2.0;
        }
        Self { vectors, t }
    }
}

/// The operations of a pass on x, in this order: subtract V·a, multiply by λ, and give back Wᵀx.
#[derive(Clone, Copy)]
struct Pass<'a> {
    update: Option<(&'a Block, [f64; BLOCK])>,
    scale: Option<&'a [f64]>,
    products: Option<&'a Block>,
}

impl Householder {
    /// With these eigenvalues and these vectors, which need not have length one.
    ///
    /// # Panics
    /// If a vector has another length than `lambda`, or is zero.
    pub fn new(lambda: Vec<f64>, mut vectors: Vec<Vec<f64>>) -> Self {
        for v in &mut vectors {
            assert_eq!(v.len(), lambda.len(), "a vector of another length");
            let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            assert!(norm > 0.0, "a reflection needs a vector that is not zero");
            v.iter_mut().for_each(|v| *v /= norm);
        }
        let blocks = vectors
            .chunks(BLOCK)
            .map(|v| Block::new(lambda.len(), v))
            .collect();
        Self {
            lambda,
            reflections: vectors.len(),
            blocks,
        }
    }

    /// The same matrix, dense.
    pub fn to_dense(&self) -> Symmetric {
        let entries = self.entries();
        Symmetric::from_fn(self.lambda.len(), entries)
    }

    /// The same matrix, dense and divided among the ranks of an MPI job. All of them take part in every product.
    pub(crate) fn to_dense_over_ranks(&self) -> Symmetric {
        let entries = self.entries();
        Symmetric::over_ranks(self.lambda.len(), entries)
    }

    /// Q_ij for j ≤ i: Λ and one correction of rank two for every reflection.
    fn entries(&self) -> impl Fn(usize, usize) -> f64 + Sync {
        let dim = self.lambda.len();
        let width = 2 * self.reflections;
        // Row i: v_i and w_i of every correction, side by side, so that an entry of the matrix reads two short rows.
        let mut rows = vec![0.0; dim * width];
        // The innermost reflection, H_M, comes first.
        for (number, r) in (0..self.reflections).rev().enumerate() {
            let v = self.unit_vector(r);
            // Q ← (I − 2vvᵀ)Q(I − 2vvᵀ) = Q − v wᵀ − w vᵀ with w = 2Qv − 2(vᵀQv)v.
            let mut w: Vec<f64> = self.lambda.iter().zip(&v).map(|(l, v)| l * v).collect();
            let mut products = vec![0.0; 2 * number];
            for (row, &v) in rows.chunks_exact(width).zip(&v) {
                for (product, &entry) in products.iter_mut().zip(row) {
                    *product += entry * v;
                }
            }
            for (row, w) in rows.chunks_exact(width).zip(&mut w) {
                for (entries, products) in row
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .zip(products.as_chunks::<2>().0)
                {
                    *w -= entries[0] * products[1] + entries[1] * products[0];
                }
            }
            let vqv: f64 = w.iter().zip(&v).map(|(q, v)| q * v).sum();
            for ((row, &v), &qv) in rows.chunks_exact_mut(width).zip(&v).zip(&w) {
                row[2 * number] = v;
                row[2 * number + 1] = 2.0 * (qv - vqv * v);
            }
        }
        move |i, j| {
            let row = |i: usize| rows[i * width..(i + 1) * width].as_chunks::<2>().0;
            let pairs = row(i).iter().zip(row(j));
            let correction: f64 = pairs.map(|(a, b)| a[0] * b[1] + a[1] * b[0]).sum();
            let diagonal = if i == j { self.lambda[i] } else { 0.0 };
            diagonal - correction
        }
    }

    /// v_r, counted from zero.
    fn unit_vector(&self, r: usize) -> Vec<f64> {
        let groups = &self.blocks[r / BLOCK].vectors;
        let entries = groups.iter().flat_map(|group| group.0[r % BLOCK]);
        entries.take(self.lambda.len()).collect()
    }
}

/// Carries out a pass over the entries `x`, which begin with group `first`, and returns the products.
fn sweep(x: &mut [f64], pass: Pass<'_>, first: usize) -> [f64; BLOCK] {
    let groups = x.len().div_ceil(BLOCK);
    if groups <= PIECE {
        let groups = first..first + groups;
        return dispatch(Sweep { x, pass, groups });
    }
    let middle = groups / 2;
    let (left, right) = x.split_at_mut(BLOCK * middle);
    let (left, right) = parallel::join(
        || sweep(left, pass, first),
        || sweep(right, pass, first + middle),
    );
    std::array::from_fn(|r| left[r] + right[r])
}

impl Operator for Householder {
    fn dim(&self) -> usize {
        self.lambda.len()
    }

    fn apply(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(x);
        let nothing = Pass {
            update: None,
            scale: None,
            products: None,
        };
        // Hᵀx: the first block first, transposed; then Λ; then H: the last block first. Each pass updates by one block and
        // multiplies with the next.
        let forth = self.blocks.iter().map(|block| (block, true));
        let back = self.blocks.iter().rev().map(|block| (block, false));
        let mut pending = nothing;
        for (passed, (block, transposed)) in forth.chain(back).enumerate() {
            // Λ stands in the middle.
            pending.scale = (passed == self.blocks.len()).then_some(&self.lambda);
            pending.products = Some(block);
            let products = sweep(out, pending, 0);
            pending = Pass {
                update: Some((block, small_product(&block.t, transposed, &products))),
                ..nothing
            };
        }
        pending.scale = self.blocks.is_empty().then_some(&self.lambda);
        sweep(out, pending, 0);
    }
}

/// The pass over the entries `x`, which are those of `groups`.
struct Sweep<'a, 'p> {
    x: &'a mut [f64],
    pass: Pass<'p>,
    groups: std::ops::Range<usize>,
}

impl WithSimd for Sweep<'_, '_> {
    type Output = [f64; BLOCK];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; BLOCK] {
        let Self { x, pass, groups } = self;
        let mut sums = [simd.splat_f64s(0.0); BLOCK];
        let none: &[Group] = &[];
        let (vectors, a) = pass.update.map_or((none, [0.0; BLOCK]), |(block, a)| {
            (&block.vectors[groups.clone()], a)
        });
        let a = a.map(|a| simd.splat_f64s(-a));
        let products = pass
            .products
            .map_or(none, |block| &block.vectors[groups.clone()]);
        let lambda = pass
            .scale
            .map_or(&[][..], |lambda| &lambda[BLOCK * groups.start..][..x.len()]);
        let (whole, rest) = x.as_chunks_mut::<BLOCK>();
        let (lambda, lambda_rest) = lambda.as_chunks::<BLOCK>();
        for (number, x) in whole.iter_mut().enumerate() {
            let update = (vectors.get(number), &a);
            group(
                simd,
                x,
                update,
                lambda.get(number),
                products.get(number),
                &mut sums,
            );
        }
        if !rest.is_empty() {
            let pad = |part: &[f64]| std::array::from_fn(|i| part.get(i).copied().unwrap_or(0.0));
            let (number, mut x, last) = (whole.len(), pad(rest), pad(lambda_rest));
            let update = (vectors.get(number), &a);
            let lambda = (!lambda_rest.is_empty()).then_some(&last);
            group(
                simd,
                &mut x,
                update,
                lambda,
                products.get(number),
                &mut sums,
            );
            rest.copy_from_slice(&x[..rest.len()]);
        }
        let mut products = [0.0; BLOCK];
        for (product, sum) in products.iter_mut().zip(sums) {
            *product = simd.reduce_sum_f64s(sum);
        }
        products
    }
}

/// A pass over one group of entries.
#[inline(always)]
fn group<S: Simd>(
    simd: S,
    x: &mut [f64; BLOCK],
    (update, a): (Option<&Group>, &[S::f64s; BLOCK]),
    lambda: Option<&[f64; BLOCK]>,
    products: Option<&Group>,
    sums: &mut [S::f64s; BLOCK],
) {
    let entries = S::as_mut_simd_f64s(x).0;
    let width = entries.len();
    for (c, entry) in entries.iter_mut().enumerate() {
        let mut x = *entry;
        if let Some(Group(v)) = update {
            let v = S::as_simd_f64s(v.as_flattened()).0;
            // Two sums: one alone would wait for itself eight times.
            let mut y = simd.splat_f64s(0.0);
            for r in 0..BLOCK / 2 {
                x = simd.mul_add_f64s(v[r * width + c], a[r], x);
                y = simd.mul_add_f64s(v[(r + BLOCK / 2) * width + c], a[r + BLOCK / 2], y);
            }
            x = simd.add_f64s(x, y);
        }
        if let Some(lambda) = lambda {
            x = simd.mul_f64s(x, S::as_simd_f64s(lambda).0[c]);
        }
        if let Some(Group(v)) = products {
            let v = S::as_simd_f64s(v.as_flattened()).0;
            for r in 0..BLOCK {
                sums[r] = simd.mul_add_f64s(v[r * width + c], x, sums[r]);
            }
        }
        *entry = x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{fill_normals, normals};

    fn operator(dim: usize, reflections: usize) -> (Vec<Vec<f64>>, Householder) {
        let lambda = normals(1, dim).iter().map(|l| 0.1 + l * l).collect();
        let vectors: Vec<_> = (0..reflections)
            .map(|r| normals(10 + r as u64, dim))
            .collect();
        (vectors.clone(), Householder::new(lambda, vectors))
    }

    fn product(q: &dyn Operator, x: &[f64]) -> Vec<f64> {
        let (mut out, mut scratch) = (vec![f64::NAN; x.len()], vec![f64::NAN; q.scratch_len()]);
        q.apply(x, &mut out, &mut scratch);
        out
    }

    fn reflect(v: &[f64], x: &mut [f64]) {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let factor = 2.0 * dot(v, x) / dot(v, v);
        x.iter_mut().zip(v).for_each(|(x, v)| *x -= factor * v);
    }

    #[test]
    fn the_product_is_that_of_reflections_one_by_one() {
        for dim in [1, 2, 7, 8, 9, 40, 131] {
            for reflections in [0, 1, 2, 7, 8, 9, 16, 19] {
                let (vectors, q) = operator(dim, reflections);
                let x = normals(5, dim);
                let mut exact = x.clone();
                vectors.iter().for_each(|v| reflect(v, &mut exact));
                exact.iter_mut().zip(&q.lambda).for_each(|(x, l)| *x *= l);
                vectors.iter().rev().for_each(|v| reflect(v, &mut exact));
                for (name, out) in [
                    ("structured", product(&q, &x)),
                    ("dense", product(&q.to_dense(), &x)),
                ] {
                    let error = out
                        .iter()
                        .zip(&exact)
                        .map(|(a, b)| (a - b).abs())
                        .fold(0.0, f64::max);
                    assert!(
                        error < 1e-11,
                        "{name}, dim {dim}, {reflections} reflections: {error:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_bits_do_not_depend_on_the_threads() {
        let dim = BLOCK * PIECE * 2 + 1234;
        let (_, q) = operator(dim, 3);
        let mut x = vec![0.0; dim];
        fill_normals(6, &mut x);
        let bits = |threads| {
            let y = parallel::with(threads, || product(&q, &x)).unwrap();
            y.iter().map(|y| y.to_bits()).collect::<Vec<_>>()
        };
        let one = bits(1);
        assert!(one == bits(2) && one == bits(5));
    }
}
