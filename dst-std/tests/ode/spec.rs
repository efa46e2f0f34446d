//! A quadratic with a small network per coordinate as preconditioner, written plainly: a reference of moderate size.
//!
//! f = ½xᵀQx, 10 parameters per coordinate, A = p(θ, x, g, t)·g with g = Qx, J = ‖g‖². Everything is made from a counter-based
//! generator, so that other programs can build the very same problem and compare T.

use dst_core::{Bar, Dims, Point, Reading, Seed, System};

/// ln(e − 1): with θ = 0 the preconditioner is 1.
const C0: f64 = 0.5413248546129181;

/// Uniform in (0, 1), number i of stream `seed` (splitmix64).
fn uniform(seed: u64, i: usize) -> f64 {
    let mut z = seed.wrapping_add((i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    ((z >> 11) as f64 + 0.5) * 2f64.powi(-53)
}

/// Standard normal numbers (Box–Muller).
fn normals(seed: u64, n: usize) -> Vec<f64> {
    (0..n)
        .map(|i| {
            let (a, b) = (uniform(seed, i / 2 * 2), uniform(seed, i / 2 * 2 + 1));
            let (radius, angle) = ((-2.0 * a.ln()).sqrt(), std::f64::consts::TAU * b);
            radius * if i % 2 == 0 { angle.cos() } else { angle.sin() }
        })
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The eigenvectors of Q.
pub(crate) enum Basis {
    /// Products of this many reflections.
    Householder(usize),
    /// A dense random orthogonal matrix.
    Haar,
}

/// The problem.
pub(crate) struct Network {
    eigenvalues: Vec<f64>,
    /// Unit vectors of the reflections.
    reflections: Vec<Vec<f64>>,
    /// The rows of Q, if it is dense.
    rows: Vec<Vec<f64>>,
    pub(crate) theta: Vec<f64>,
    pub(crate) x0: Vec<f64>,
}

impl Network {
    pub(crate) fn new(d: usize, basis: &Basis) -> Self {
        let eigenvalues: Vec<f64> = (0..d)
            .map(|i| 0.1 * 100f64.powf(i as f64 / (d as f64 - 1.0)))
            .collect();
        let scale = |k: usize| if k < 8 * d { 0.5 } else { 0.3 };
        let (mut reflections, mut rows) = (Vec::new(), Vec::new());
        match *basis {
            Basis::Householder(count) => {
                for r in 0..count {
                    let mut v = normals(1010 + r as u64, d);
                    let norm = dot(&v, &v).sqrt();
                    v.iter_mut().for_each(|v| *v /= norm);
                    reflections.push(v);
                }
            }
            Basis::Haar => rows = haar(&eigenvalues),
        }
        Self {
            eigenvalues,
            reflections,
            rows,
            theta: (normals(1002, 10 * d).iter().enumerate())
                .map(|(k, n)| scale(k) * n)
                .collect(),
            x0: normals(1001, d),
        }
    }

    /// y = Qx
    fn product(&self, x: &[f64], y: &mut [f64]) {
        if !self.rows.is_empty() {
            for (y, row) in y.iter_mut().zip(&self.rows) {
                *y = dot(row, x);
            }
            return;
        }
        let reflect = |y: &mut [f64], v: &[f64]| {
            let twice = 2.0 * dot(y, v);
            y.iter_mut().zip(v).for_each(|(y, v)| *y -= twice * v);
        };
        y.copy_from_slice(x);
        self.reflections.iter().for_each(|v| reflect(y, v));
        y.iter_mut()
            .zip(&self.eigenvalues)
            .for_each(|(y, l)| *y *= l);
        self.reflections.iter().rev().for_each(|v| reflect(y, v));
    }
}

/// Q = V diag(λ) Vᵀ, V from the QR factorisation of a random matrix with positive diagonal of R: Gram–Schmidt, twice.
fn haar(eigenvalues: &[f64]) -> Vec<Vec<f64>> {
    let d = eigenvalues.len();
    let random = normals(1003, d * d);
    let mut v: Vec<Vec<f64>> = Vec::new();
    for j in 0..d {
        let mut column: Vec<f64> = (0..d).map(|i| random[i * d + j]).collect();
        for earlier in v.iter().chain(&v) {
            let part = dot(&column, earlier);
            column
                .iter_mut()
                .zip(earlier)
                .for_each(|(c, e)| *c -= part * e);
        }
        let norm = dot(&column, &column).sqrt();
        column.iter_mut().for_each(|c| *c /= norm);
        v.push(column);
    }
    let entry = |i: usize, j: usize| (0..d).map(|k| v[k][i] * eigenvalues[k] * v[k][j]).sum();
    (0..d)
        .map(|i| (0..d).map(|j| entry(i.max(j), i.min(j))).collect())
        .collect()
}

impl System<f64> for Network {
    fn dims(&self) -> Dims {
        let d = self.x0.len();
        // Tape: g, tanh u₁, tanh u₂, s.
        Dims::new(d, 10 * d).with_tape(4 * d).with_scratch(2 * d)
    }

    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        tape: &mut [f64],
        _: &mut [f64],
    ) -> Reading<f64> {
        let d = at.x.len();
        let (g, rest) = tape.split_at_mut(d);
        self.product(at.x, g);
        let tau = at.t / (1.0 + at.t);
        let row = |k: usize, i: usize| at.theta[k * d + i];
        for i in 0..d {
            let mut s = C0;
            for j in 0..2 {
                let u = row(4 * j, i) * at.x[i]
                    + row(4 * j + 1, i) * g[i]
                    + row(4 * j + 2, i) * tau
                    + row(4 * j + 3, i);
                rest[j * d + i] = u.tanh();
                s += row(8 + j, i) * u.tanh();
            }
            rest[2 * d + i] = s;
            rate[i] = s.exp().ln_1p() * g[i];
        }
        let j = dot(g, g);
        Reading {
            criterion: j,
            loss: j,
        }
    }

    fn pullback(
        &self,
        at: Point<'_, f64>,
        tape: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        scratch: &mut [f64],
    ) {
        let d = at.x.len();
        let (g, rest) = tape.split_at(d);
        let (inner, outer) = scratch.split_at_mut(d);
        let tau = at.t / (1.0 + at.t);
        let row = |k: usize, i: usize| at.theta[k * d + i];
        for i in 0..d {
            let (w, s) = (seed.rate[i], rest[2 * d + i]);
            let q = w * g[i] / (1.0 + (-s).exp());
            inner[i] = w * s.exp().ln_1p() + 2.0 * (seed.criterion + seed.loss) * g[i];
            for j in 0..2 {
                let h = rest[j * d + i];
                let r = q * row(8 + j, i) * (1.0 - h * h);
                for (k, part) in [at.x[i], g[i], tau, 1.0].into_iter().enumerate() {
                    bar.theta[(4 * j + k) * d + i] += r * part;
                }
                bar.theta[(8 + j) * d + i] += q * h;
                bar.x[i] += r * row(4 * j, i);
                inner[i] += r * row(4 * j + 1, i);
            }
        }
        self.product(inner, outer);
        bar.x.iter_mut().zip(outer).for_each(|(x, o)| *x += *o);
    }
}
