//! Householder-conjugated diagonal matrices: Q = H·diag(λ)·Hᵀ with H = H₁H₂…H_M and H_r = I − 2v_r v_rᵀ.
//!
//! A dense spectrum in a dense basis, at the price of a few vectors: M·d numbers instead of d²/2. The product of the reflections
//! has the compact form H = I − V·T·Vᵀ with V = (v₁, …, v_M) and T upper triangular (T_kk = 2, T_{:k,k} = −2·T·Vᵀv_k). With Λ = diag(λ),
//!
//! Qx = Λ(x − V·a) − V·b,  a = TᵀVᵀx,  b = T·(VᵀΛx − W·a),  W = VᵀΛV.
//!
//! So a product reads the vectors twice: for the moments Vᵀx and VᵀΛx, and for the result. Between the two passes stand a few small
//! products, and that is the only place where the parts of x have to wait for each other. The vectors are interleaved by
//! eights, so that a pass reads one stream.

use pulp::{Simd, WithSimd};

use super::two_pass::{self, TwoPass};
use super::{Operator, dispatch, symmetric::Symmetric};

/// Reflections in a block, and the length of what is interleaved.
const BLOCK: usize = 8;

/// Vectors whose moments are summed side by side: two sums each, and as many as two units of arithmetic keep busy.
const HALF: usize = BLOCK / 2;

/// Eight entries of each of the eight vectors of a block.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([[f64; BLOCK]; BLOCK]);

/// The matrix H·diag(λ)·Hᵀ.
#[derive(Clone, Debug)]
pub struct Householder {
    lambda: Vec<f64>,
    /// M
    reflections: usize,
    /// M rounded up to whole blocks. The missing vectors are zero, which reflects nothing.
    width: usize,
    /// Eight entries of all vectors, block after block, then the next eight.
    vectors: Vec<Group>,
    /// T by rows.
    t: Vec<f64>,
    /// W by rows.
    w: Vec<f64>,
}

/// The vectors, interleaved.
fn interleaved(dim: usize, unit_vectors: &[Vec<f64>]) -> Vec<Group> {
    let blocks = unit_vectors.len().div_ceil(BLOCK);
    let mut groups = vec![Group([[0.0; BLOCK]; BLOCK]); blocks * dim.div_ceil(BLOCK)];
    for (r, v) in unit_vectors.iter().enumerate() {
        let of_block = groups.iter_mut().skip(r / BLOCK).step_by(blocks);
        for (Group(group), v) in of_block.zip(v.chunks(BLOCK)) {
            group[r % BLOCK][..v.len()].copy_from_slice(v);
        }
    }
    groups
}

fn plain_dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// out ← out + sign·A·c for a matrix by rows.
fn add_product(a: &[f64], sign: f64, c: &[f64], out: &mut [f64]) {
    for (row, out) in a.chunks_exact(c.len()).zip(out) {
        *out += sign * plain_dot(row, c);
    }
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
        let width = vectors.len().next_multiple_of(BLOCK);
        let (mut t, mut w) = (vec![0.0; width * width], vec![0.0; width * width]);
        for (k, v) in vectors.iter().enumerate() {
            let (earlier, _) = vectors.split_at(k);
            let products: Vec<f64> = earlier.iter().map(|e| plain_dot(e, v)).collect();
            for row in 0..k {
                let column = plain_dot(&t[row * width..][..k], &products);
                t[row * width + k] = -2.0 * column;
            }
            t[k * width + k] = 2.0;
            let scaled: Vec<f64> = lambda.iter().zip(v).map(|(l, v)| l * v).collect();
            for (r, other) in vectors[..=k].iter().enumerate() {
                let product = plain_dot(other, &scaled);
                w[k * width + r] = product;
                w[r * width + k] = product;
            }
        }
        Self {
            reflections: vectors.len(),
            width,
            vectors: interleaved(lambda.len(), &vectors),
            lambda,
            t,
            w,
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
        let groups = self.vectors.iter().skip(r / BLOCK).step_by(self.blocks());
        let entries = groups.flat_map(|group| group.0[r % BLOCK]);
        entries.take(self.lambda.len()).collect()
    }

    fn blocks(&self) -> usize {
        self.width / BLOCK
    }

    /// The vectors for some entries, `len` from `first` on.
    fn groups(&self, first: usize, len: usize) -> &[Group] {
        let (first, end) = (first / BLOCK, (first + len).div_ceil(BLOCK));
        &self.vectors[first * self.blocks()..end * self.blocks()]
    }
}

impl Operator for Householder {
    fn dim(&self) -> usize {
        self.lambda.len()
    }

    fn scratch_len(&self) -> usize {
        two_pass::scratch_len(self)
    }

    fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        two_pass::product(self, x, out, scratch);
    }

    fn two_pass(&self) -> Option<&dyn TwoPass> {
        Some(self)
    }
}

impl TwoPass for Householder {
    fn len(&self) -> usize {
        self.lambda.len()
    }

    /// Vᵀx and VᵀΛx
    fn moments_len(&self) -> usize {
        2 * self.width
    }

    fn measure(&self, first: usize, x: &[f64], moments: &mut [f64]) {
        dispatch(Measure {
            groups: self.groups(first, x.len()),
            lambda: &self.lambda[first..][..x.len()],
            x,
            moments,
        });
    }

    /// From the moments, a and b.
    fn resolve(&self, moments: &mut [f64], room: &mut [f64]) {
        let (plain, scaled) = moments.split_at_mut(self.width);
        let room = &mut room[..self.width];
        if self.width == 0 {
            return;
        }
        // Tᵀ by the rows of T.
        room.fill(0.0);
        for (row, &moment) in self.t.chunks_exact(self.width).zip(&*plain) {
            for (a, &t) in room.iter_mut().zip(row) {
                *a += t * moment;
            }
        }
        plain.copy_from_slice(room);
        add_product(&self.w, -1.0, plain, scaled);
        room.fill(0.0);
        add_product(&self.t, 1.0, scaled, room);
        scaled.copy_from_slice(room);
    }

    fn finish(&self, first: usize, x: &[f64], resolved: &[f64], out: &mut [f64]) {
        let (a, b) = resolved.split_at(self.width);
        dispatch(Finish {
            groups: self.groups(first, x.len()),
            lambda: &self.lambda[first..][..x.len()],
            x,
            a: a.as_chunks().0,
            b: b.as_chunks().0,
            out,
        });
    }
}

/// Eight numbers, with zeros where there are fewer.
#[inline(always)]
fn padded(part: &[f64]) -> [f64; BLOCK] {
    let mut whole = [0.0; BLOCK];
    whole[..part.len()].copy_from_slice(part);
    whole
}

/// The first pass over some entries: Vᵀx, then VᵀΛx.
struct Measure<'a> {
    groups: &'a [Group],
    lambda: &'a [f64],
    x: &'a [f64],
    moments: &'a mut [f64],
}

impl WithSimd for Measure<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            groups,
            lambda,
            x,
            moments,
        } = self;
        let (plain, scaled) = moments.split_at_mut(moments.len() / 2);
        let blocks = plain.len() / BLOCK;
        let (x, x_rest) = x.as_chunks::<BLOCK>();
        let (lambda, lambda_rest) = lambda.as_chunks::<BLOCK>();
        let last = (padded(x_rest), padded(lambda_rest));
        let halves = plain
            .chunks_exact_mut(HALF)
            .zip(scaled.chunks_exact_mut(HALF));
        for (number, (plain, scaled)) in halves.enumerate() {
            let (block, rows) = (number / 2, HALF * (number % 2));
            let mut sums = [[simd.splat_f64s(0.0); HALF]; 2];
            let mut of_block = groups.iter().skip(block).step_by(blocks);
            for ((x, lambda), group) in x.iter().zip(lambda).zip(&mut of_block) {
                measure(simd, group, rows, (x, lambda), &mut sums);
            }
            // Left over if the entries do not fill the last group.
            for group in of_block {
                measure(simd, group, rows, (&last.0, &last.1), &mut sums);
            }
            for (to, sums) in [plain, scaled].into_iter().zip(sums) {
                for (to, sum) in to.iter_mut().zip(sums) {
                    *to = simd.reduce_sum_f64s(sum);
                }
            }
        }
    }
}

/// Adds the products of eight entries with half of the vectors of a block.
#[inline(always)]
fn measure<S: Simd>(
    simd: S,
    Group(group): &Group,
    rows: usize,
    (x, lambda): (&[f64; BLOCK], &[f64; BLOCK]),
    [plain, scaled]: &mut [[S::f64s; HALF]; 2],
) {
    let (x, lambda) = (S::as_simd_f64s(x).0, S::as_simd_f64s(lambda).0);
    let v = S::as_simd_f64s(group.as_flattened()).0;
    let width = x.len();
    for c in 0..width {
        let scaled_x = simd.mul_f64s(lambda[c], x[c]);
        for r in 0..HALF {
            let v = v[(rows + r) * width + c];
            plain[r] = simd.mul_add_f64s(v, x[c], plain[r]);
            scaled[r] = simd.mul_add_f64s(v, scaled_x, scaled[r]);
        }
    }
}

/// The second pass over some entries: Λ(x − V·a) − V·b.
struct Finish<'a> {
    groups: &'a [Group],
    lambda: &'a [f64],
    x: &'a [f64],
    a: &'a [[f64; BLOCK]],
    b: &'a [[f64; BLOCK]],
    out: &'a mut [f64],
}

impl WithSimd for Finish<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            groups,
            lambda,
            x,
            a,
            b,
            out,
        } = self;
        let (x, x_rest) = x.as_chunks::<BLOCK>();
        let (lambda, lambda_rest) = lambda.as_chunks::<BLOCK>();
        let (out, out_rest) = out.as_chunks_mut::<BLOCK>();
        // Of no vectors there are no groups.
        let mut groups = groups.chunks(a.len().max(1));
        let mut next = || groups.next().unwrap_or_default();
        for ((x, lambda), out) in x.iter().zip(lambda).zip(out) {
            finish(simd, next(), (x, lambda), (a, b), out);
        }
        if !x_rest.is_empty() {
            let mut last = [0.0; BLOCK];
            let (x, lambda) = (padded(x_rest), padded(lambda_rest));
            finish(simd, next(), (&x, &lambda), (a, b), &mut last);
            out_rest.copy_from_slice(&last[..out_rest.len()]);
        }
    }
}

/// Eight entries of the second pass.
#[inline(always)]
fn finish<S: Simd>(
    simd: S,
    groups: &[Group],
    (x, lambda): (&[f64; BLOCK], &[f64; BLOCK]),
    (a, b): (&[[f64; BLOCK]], &[[f64; BLOCK]]),
    out: &mut [f64; BLOCK],
) {
    let (x, lambda) = (S::as_simd_f64s(x).0, S::as_simd_f64s(lambda).0);
    let out = S::as_mut_simd_f64s(out).0;
    let width = x.len();
    for c in 0..width {
        // Two sums each: one alone would wait for itself.
        let zero = simd.splat_f64s(0.0);
        let ([mut va, mut vb], [mut va_too, mut vb_too]) = ([zero; 2], [zero; 2]);
        for ((Group(group), a), b) in groups.iter().zip(a).zip(b) {
            let v = S::as_simd_f64s(group.as_flattened()).0;
            for r in 0..HALF {
                let (v, w) = (v[r * width + c], v[(r + HALF) * width + c]);
                va = simd.mul_add_f64s(v, simd.splat_f64s(a[r]), va);
                vb = simd.mul_add_f64s(v, simd.splat_f64s(b[r]), vb);
                va_too = simd.mul_add_f64s(w, simd.splat_f64s(a[r + HALF]), va_too);
                vb_too = simd.mul_add_f64s(w, simd.splat_f64s(b[r + HALF]), vb_too);
            }
        }
        let reflected = simd.sub_f64s(x[c], simd.add_f64s(va, va_too));
        let back = simd.add_f64s(vb, vb_too);
        out[c] = simd.sub_f64s(simd.mul_f64s(lambda[c], reflected), back);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel;
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
        let dim = 2 * two_pass::PIECE + 1234;
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
