//! A dense symmetric matrix of which half is stored, and read once per product.
//!
//! A product Qx with a large matrix costs what it costs to read the matrix, so each entry below the diagonal is used for both
//! places where it stands: with q = Q_ij, yᵢ += q·xⱼ and yⱼ += q·xᵢ. The lower triangle is cut into tiles of 8 × 8,
//! stored strip after strip in the order in which they are read. Along a strip of eight rows the sums yᵢ stay in
//! registers, and so do the xᵢ. Diagonal tiles are stored whole.
//!
//! The strips are shared out among *panels* with about the same number of tiles each. A panel adds into a vector of its own,
//! and the vectors are summed, the last one first: the number of panels depends on the dimension alone, so the bits of the result
//! do not depend on the number of threads. They do depend on the vector length of the processor, by a few units in the
//! last place.
//!
//! A matrix may be divided among the ranks of an MPI job. Each has some panels, the first rank the last ones, and adds its vectors to the
//! sum of the ranks before it: the bits are those of one process.
//!
//! Every second product takes the panels of a thread in the opposite order: it begins with those that are still in the cache next to
//! the processor, because the product before it ended with them. Each panel has its own vector, so no sum sees the order.

use std::sync::atomic::{AtomicBool, Ordering};

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Operator, dispatch};
use crate::parallel::{self, Share, in_turn, ranks};

/// Rows and columns of a tile: one vector of AVX-512, two of AVX2.
const SIDE: usize = 8;

/// A tile, row after row, on a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Tile([[f64; SIDE]; SIDE]);

const ZERO: Tile = Tile([[0.0; SIDE]; SIDE]);

/// Tiles per panel (about half a megabyte), as long as there are not too many panels: their vectors must be small beside the
/// matrix.
const PANEL_TILES: usize = 1024;
const MOST_PANELS: usize = 64;

/// A dense symmetric matrix, stored by half.
#[derive(Debug)]
pub struct Symmetric {
    dim: usize,
    /// True if other ranks have the other panels.
    divided: bool,
    /// Those of the panels.
    tiles: Vec<Tile>,
    panels: Vec<Panel>,
    /// True if the next product takes the panels backwards.
    backwards: AtomicBool,
}

impl Clone for Symmetric {
    fn clone(&self) -> Self {
        Self {
            dim: self.dim,
            divided: self.divided,
            tiles: self.tiles.clone(),
            panels: self.panels.clone(),
            backwards: AtomicBool::new(false),
        }
    }
}

/// Neighbouring strips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Panel {
    first: usize,
    end: usize,
}

impl Panel {
    /// Columns that its strips reach, which are also the entries that it adds to.
    fn reach(self) -> usize {
        self.end * SIDE
    }
}

/// The same for some panels together.
fn reach(panels: &[Panel]) -> usize {
    panels.iter().map(|panel| panel.reach()).sum()
}

/// Tiles before strip `strip`.
const fn tiles_before(strip: usize) -> usize {
    strip * (strip + 1) / 2
}

/// Shares `strips` out so that each panel has about as many tiles as the others. Their number is a power of two: so is, mostly, that of
/// the threads.
fn panels(strips: usize) -> Vec<Panel> {
    let total = tiles_before(strips);
    let count = total
        .div_ceil(PANEL_TILES)
        .next_power_of_two()
        .min(MOST_PANELS);
    let mut first = 0;
    (1..=count)
        .map(|number| {
            let mut end = first;
            while end < strips && tiles_before(end) * count < total * number {
                end += 1;
            }
            let panel = Panel { first, end };
            first = end;
            panel
        })
        .collect()
}

impl Symmetric {
    /// Bytes that a matrix of this dimension takes; `None` if the number is beyond all bounds.
    pub fn bytes(dim: usize) -> Option<usize> {
        let strips = dim.div_ceil(SIDE);
        let tiles = strips.checked_mul(strips.checked_add(1)?)? / 2;
        tiles.checked_mul(size_of::<Tile>())
    }

    /// The matrix with these entries. `entry(i, j)` is asked for j ≤ i only.
    pub fn from_fn(dim: usize, entry: impl Fn(usize, usize) -> f64 + Sync) -> Self {
        let panels = panels(dim.div_ceil(SIDE));
        Self::of_panels(dim, panels, false, entry)
    }

    /// The same, divided among the ranks of an MPI job. All of them take part in every product.
    pub(super) fn over_ranks(dim: usize, entry: impl Fn(usize, usize) -> f64 + Sync) -> Self {
        let mut panels = panels(dim.div_ceil(SIDE));
        let (count, own) = (panels.len(), ranks::own(panels.len()));
        panels.truncate(count - own.start);
        panels.drain(..count - own.end);
        Self::of_panels(dim, panels, ranks::are_several(), entry)
    }

    fn of_panels(
        dim: usize,
        panels: Vec<Panel>,
        divided: bool,
        entry: impl Fn(usize, usize) -> f64 + Sync,
    ) -> Self {
        let first = panels.first().map_or(0, |panel| panel.first);
        let end = panels.last().map_or(first, |panel| panel.end);
        let mut tiles = vec![ZERO; tiles_before(end) - tiles_before(first)];
        let mut rest = tiles.as_mut_slice();
        let mut by_strip = Vec::with_capacity(end - first);
        for strip in first..end {
            let (head, tail) = rest.split_at_mut(strip + 1);
            by_strip.push((strip, head));
            rest = tail;
        }
        by_strip.par_iter_mut().for_each(|(i, strip)| {
            let i = *i;
            for (j, Tile(tile)) in strip.iter_mut().enumerate() {
                for (r, row) in tile.iter_mut().enumerate() {
                    for (c, to) in row.iter_mut().enumerate() {
                        let (i, j) = (SIDE * i + r, SIDE * j + c);
                        if i < dim && j < dim {
                            *to = entry(i.max(j), i.min(j));
                        }
                    }
                }
            }
        });
        Self {
            dim,
            divided,
            tiles,
            panels,
            backwards: AtomicBool::new(false),
        }
    }

    /// Q_ij
    ///
    /// # Panics
    /// Outside of the matrix, or of the part of this rank.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        assert!(i < self.dim && j < self.dim, "entry outside of the matrix");
        let (i, j) = (i.max(j), i.min(j));
        let Tile(tile) = &self.tiles[tiles_before(i / SIDE) + j / SIDE - self.before()];
        tile[i % SIDE][j % SIDE]
    }

    /// Tiles that other ranks have, before those of this one.
    fn before(&self) -> usize {
        self.panels
            .first()
            .map_or(0, |panel| tiles_before(panel.first))
    }

    /// The sum of everything stored, read in the order of a product: what a product cannot be faster than.
    pub fn sum(&self) -> f64 {
        self.sum_of(&self.panels)
    }

    fn strips(&self) -> usize {
        self.dim.div_ceil(SIDE)
    }
}

impl Operator for Symmetric {
    fn dim(&self) -> usize {
        self.dim
    }

    /// x padded to whole tiles, then one vector for each panel.
    fn scratch_len(&self) -> usize {
        SIDE * self.strips() + reach(&self.panels)
    }

    fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let (padded, rest) = scratch[..self.scratch_len()].split_at_mut(SIDE * self.strips());
        padded[..self.dim].copy_from_slice(&x[..self.dim]);
        padded[self.dim..].fill(0.0);
        let x = padded.as_chunks().0;
        let order = Order {
            backwards: self.backwards.fetch_xor(true, Ordering::Relaxed),
            share: Share::all(),
        };
        self.panels(&self.panels, x, rest, order);
        if !self.divided {
            self.add_panels(rest, out, true);
            return;
        }
        assert!(!ranks::is_inside(), "a product of all ranks");
        // Empty until a rank with panels begins it.
        let mut total = Vec::new();
        let whole = in_turn(&mut total, |total: &mut Vec<f64>| {
            let begins = total.is_empty();
            if !self.panels.is_empty() {
                total.resize(self.dim, 0.0);
                self.add_panels(rest, total, begins);
            }
        });
        match whole {
            true => out.copy_from_slice(&total),
            // This rank is about to end, and its product is of no use.
            false => out.fill(f64::NAN),
        }
    }
}

impl Symmetric {
    /// Adds the vectors of the panels, or begins with them. The last panel reaches all entries, so it comes first. Every entry has its
    /// sum in a fixed order.
    fn add_panels(&self, sums: &[f64], out: &mut [f64], begins: bool) {
        let mut rest = sums;
        for (number, panel) in self.panels.iter().rev().enumerate() {
            let (earlier, sums) = rest.split_at(rest.len() - panel.reach());
            if begins && number == 0 {
                out.copy_from_slice(&sums[..self.dim]);
            } else {
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out += sum;
                }
            }
            rest = earlier;
        }
    }
}

/// Order in which a product takes some panels.
#[derive(Clone, Copy)]
struct Order {
    backwards: bool,
    share: Share,
}

impl Symmetric {
    /// The products with some panels, each into its own part of `sums`.
    fn panels(&self, panels: &[Panel], x: &[[f64; SIDE]], sums: &mut [f64], order: Order) {
        match *panels {
            [] => {}
            [panel] => {
                dispatch(Product {
                    tiles: self.tiles_of(panel),
                    first: panel.first,
                    x,
                    sums: sums.as_chunks_mut().0,
                });
            }
            _ => {
                let (left, right) = panels.split_at(panels.len() / 2);
                let (left_sums, right_sums) = sums.split_at_mut(reach(left));
                let of = |share| Order { share, ..order };
                let left = |share| self.panels(left, x, left_sums, of(share));
                let right = |share| self.panels(right, x, right_sums, of(share));
                // Halves for two threads keep their places, so that a thread finds the panels that it has read before.
                if order.backwards && order.share.is_single() {
                    order.share.join(right, left);
                } else {
                    order.share.join(left, right);
                }
            }
        }
    }

    fn sum_of(&self, panels: &[Panel]) -> f64 {
        match *panels {
            [] => 0.0,
            [panel] => dispatch(Sum {
                tiles: self.tiles_of(panel),
            }),
            _ => {
                let (left, right) = panels.split_at(panels.len() / 2);
                let (left, right) = parallel::join(|| self.sum_of(left), || self.sum_of(right));
                left + right
            }
        }
    }

    fn tiles_of(&self, panel: Panel) -> &[Tile] {
        let before = self.before();
        &self.tiles[tiles_before(panel.first) - before..tiles_before(panel.end) - before]
    }
}

/// The product with the strips of one panel.
struct Product<'a> {
    tiles: &'a [Tile],
    first: usize,
    x: &'a [[f64; SIDE]],
    sums: &'a mut [[f64; SIDE]],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            mut tiles,
            first,
            x,
            sums,
        } = self;
        sums.as_flattened_mut().fill(0.0);
        for strip in first..sums.len() {
            let (left, rest) = tiles.split_at(strip);
            let diagonal = &rest[0];
            tiles = &rest[1..];
            let xi = &x[strip];
            let xi = xi.map(|x| simd.splat_f64s(x));
            let mut rows = [simd.splat_f64s(0.0); SIDE];
            for ((tile, xj), yj) in left.iter().zip(x).zip(sums.iter_mut()) {
                let (q, xj, yj) = (
                    vectors::<S>(tile),
                    S::as_simd_f64s(xj).0,
                    S::as_mut_simd_f64s(yj).0,
                );
                let per_row = per_row::<S>();
                for (c, (yj, &xj)) in yj.iter_mut().zip(xj).enumerate() {
                    let mut y = *yj;
                    for (r, (row, &xi)) in rows.iter_mut().zip(&xi).enumerate() {
                        let q = q[r * per_row + c];
                        *row = simd.mul_add_f64s(q, xj, *row);
                        y = simd.mul_add_f64s(q, xi, y);
                    }
                    *yj = y;
                }
            }
            let (q, xj) = (vectors::<S>(diagonal), S::as_simd_f64s(&x[strip]).0);
            for (r, row) in rows.iter_mut().enumerate() {
                for (c, &xj) in xj.iter().enumerate() {
                    *row = simd.mul_add_f64s(q[r * per_row::<S>() + c], xj, *row);
                }
            }
            for (sum, row) in sums[strip].iter_mut().zip(rows) {
                *sum += simd.reduce_sum_f64s(row);
            }
        }
    }
}

/// Vectors per row of a tile.
const fn per_row<S: Simd>() -> usize {
    SIDE / S::F64_LANES
}

#[inline(always)]
fn vectors<S: Simd>(Tile(tile): &Tile) -> &[S::f64s] {
    S::as_simd_f64s(tile.as_flattened()).0
}

/// The sum of all entries of some tiles.
struct Sum<'a> {
    tiles: &'a [Tile],
}

impl WithSimd for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let mut sums = [simd.splat_f64s(0.0); SIDE];
        for tile in self.tiles {
            for vectors in vectors::<S>(tile).as_chunks::<SIDE>().0 {
                for (sum, &v) in sums.iter_mut().zip(vectors) {
                    *sum = simd.add_f64s(*sum, v);
                }
            }
        }
        sums.into_iter().map(|sum| simd.reduce_sum_f64s(sum)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normals;

    fn matrix(dim: usize) -> (Vec<f64>, Symmetric) {
        let values = normals(7, dim * dim);
        let packed = Symmetric::from_fn(dim, |i, j| values[i * dim + j]);
        (values, packed)
    }

    #[test]
    fn the_product_is_that_of_the_full_matrix() {
        for dim in [1, 2, 7, 8, 9, 16, 63, 100, 257] {
            let (values, q) = matrix(dim);
            let x = normals(8, dim);
            let mut out = vec![f64::NAN; dim];
            let mut scratch = vec![f64::NAN; q.scratch_len()];
            q.apply(&x, &mut out, &mut scratch);
            for i in 0..dim {
                let full: f64 = (0..dim)
                    .map(|j| values[i.max(j) * dim + i.min(j)] * x[j])
                    .sum();
                assert!(
                    (out[i] - full).abs() < 1e-12 * (dim as f64),
                    "dim {dim}: {} {full}",
                    out[i]
                );
            }
            assert_eq!(q.entry(dim - 1, 0), values[(dim - 1) * dim]);
            assert_eq!(q.entry(0, dim - 1), values[(dim - 1) * dim]);
        }
    }

    #[test]
    fn the_panels_cover_every_strip_once_and_evenly() {
        for strips in (1..400).chain([1250, 5000]) {
            let panels = panels(strips);
            assert_eq!((panels[0].first, panels[panels.len() - 1].end), (0, strips));
            for pair in panels.windows(2) {
                assert_eq!(pair[0].end, pair[1].first);
            }
            let tiles = |p: &Panel| tiles_before(p.end) - tiles_before(p.first);
            let most = panels.iter().map(tiles).max().unwrap();
            let fair = tiles_before(strips) / panels.len();
            assert!(
                most <= fair + 2 * strips,
                "{strips} strips: {most} tiles instead of {fair}"
            );
        }
    }

    #[test]
    fn the_bits_do_not_depend_on_the_threads() {
        let (_, q) = matrix(700);
        assert_eq!(q.panels.len(), 4);
        let x = normals(9, 700);
        let product = |threads| {
            let (mut out, mut scratch) = (vec![0.0; 700], vec![0.0; q.scratch_len()]);
            // Two, because every second one takes the panels backwards.
            let mut twice = || {
                [(); 2].map(|()| {
                    q.apply(&x, &mut out, &mut scratch);
                    out.iter().map(|y| y.to_bits()).collect::<Vec<_>>()
                })
            };
            parallel::with(threads, &mut twice).unwrap()
        };
        let [one, again] = product(1);
        assert!(one == again);
        for threads in [1, 2, 3, 8] {
            let [first, second] = product(threads);
            assert!(first == one && second == one, "{threads} threads");
        }
    }

    #[test]
    fn the_bytes_are_those_of_half_a_matrix() {
        assert_eq!(Symmetric::bytes(10_000), Some(1250 * 1251 / 2 * 512));
        assert_eq!(Symmetric::bytes(usize::MAX), None);
        let (_, q) = matrix(20);
        assert_eq!(Symmetric::bytes(20), Some(size_of_val(&*q.tiles)));
    }

    #[test]
    fn the_sum_reads_everything() {
        let q = Symmetric::from_fn(300, |_, _| 1.0);
        // Half of the matrix with its diagonal, and the other half of the diagonal tiles: 37 whole ones and one of 4 rows.
        let stored = 300 * 301 / 2 + 37 * 28 + 6;
        assert_eq!(q.sum(), f64::from(stored));
    }
}
