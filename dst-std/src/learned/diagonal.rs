//! A learned diagonal preconditioner: for every coordinate a small network of its own, 3 → 2 → 1, ten parameters.
//!
//! With g = Qx and τ = t/(1 + t), coordinate by coordinate:
//!
//! u_j = a_j·x + b_j·g + c_j·τ + e_j (j = 1, 2),  s = ln(e − 1) + v₁·tanh u₁ + v₂·tanh u₂,  p = ln(1 + eˢ),  A = p·g,
//!
//! so θ = 0 gives p = 1, plain gradient flow. θ is stored by rows a₁ b₁ c₁ e₁ a₂ b₂ c₂ e₂ v₁ v₂, each as long as x. J = ‖Qx‖², f = ½xᵀQx.
//!
//! For a cotangent w of A, with q = w·g·σ(s) and r_j = q·v_j·(1 − tanh²u_j):
//! ā_j = r_j·x, b̄_j = r_j·g, c̄_j = r_j·τ, ē_j = r_j, v̄_j = q·tanh u_j, x̄ = r₁a₁ + r₂a₂ + Q(w·p + r₁b₁ + r₂b₂ + 2j·g) + l·g,
//! where j and l are the seeds of J and f. One product with Q in either direction: g is kept on the tape. The rest is
//! computed again, which is cheaper than to keep it.

mod kernel;

use dst_core::{Bar, Cost, Dims, Point, Reading, Seed, System};

use crate::linalg::{Operator, two_pass, wide};
use crate::parallel::Share;
use crate::problems::quadratic::stream;
use crate::random::normals;
use kernel::{Backward, FirstPass, Forward, Part, SecondPass};

/// Parameters of one coordinate.
pub const ROWS: usize = 10;

/// Gradient flow on ½xᵀQx, preconditioned by the networks.
#[derive(Clone, Debug)]
pub struct Diagonal<Q> {
    /// Q
    pub operator: Q,
}

/// Random parameters: standard deviation 0.5 inside the networks, 0.3 at their output.
pub fn parameters(dim: usize, seed: u64) -> Vec<f64> {
    let mut theta = normals(stream::of(seed, stream::PARAMETERS), ROWS * dim);
    for (i, theta) in theta.iter_mut().enumerate() {
        *theta *= if i < 8 * dim { 0.5 } else { 0.3 };
    }
    theta
}

impl<Q: Operator> System<f64> for Diagonal<Q> {
    fn dims(&self) -> Dims {
        let dim = self.operator.dim();
        Dims::new(dim, ROWS * dim)
            .with_tape(dim)
            .with_scratch(2 * dim + self.operator.scratch_len())
    }

    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        tape: &mut [f64],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        let dim = self.operator.dim();
        let memory = &mut scratch[2 * dim..];
        let mut product = None;
        if let Some(q) = self.operator.two_pass() {
            let (moments, room) = two_pass::scratch(q, memory);
            two_pass::measure(Share::all(), q, 0, at.x, moments);
            let (resolved, _) = moments.split_at_mut(q.moments_len());
            q.resolve(resolved, room);
            product = Some(SecondPass {
                operator: q,
                resolved,
            });
        } else {
            self.operator.apply(at.x, tape, memory);
        }
        let [criterion, product] = Forward {
            part: Part::new(at),
            product,
            g: &mut tape[..dim],
            rate,
        }
        .run(Share::all());
        Reading {
            criterion,
            loss: 0.5 * product,
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
        let dim = self.operator.dim();
        let (g_bar, rest) = scratch.split_at_mut(dim);
        let (product, memory) = rest.split_at_mut(dim);
        let mut rows = bar.theta.chunks_exact_mut(dim.max(1));
        let networks = Backward {
            part: Part::new(at),
            g: &tape[..dim],
            seed: seed.rate,
            seeds: (2.0 * seed.criterion, seed.loss),
            theta_bar: std::array::from_fn(|_| rows.next().unwrap_or_default()),
            g_bar: &mut *g_bar,
            x_bar: &mut *bar.x,
        };
        let add = |product: &[f64], x_bar: &mut [f64]| {
            for (x, &p) in x_bar.iter_mut().zip(product) {
                *x += p;
            }
        };
        let Some(q) = self.operator.two_pass() else {
            networks.run(Share::all(), None);
            self.operator.apply(g_bar, product, memory);
            add(product, bar.x);
            return;
        };
        let (moments, room) = two_pass::scratch(q, memory);
        let first_pass = FirstPass {
            operator: q,
            moments: &mut *moments,
        };
        networks.run(Share::all(), Some(first_pass));
        let (resolved, _) = moments.split_at_mut(q.moments_len());
        q.resolve(resolved, room);
        two_pass::finish(Share::all(), q, 0, g_bar, resolved, (product, bar.x), &add);
    }

    /// With an operator in two passes one entry is enough: if any entry of x or of the vector that Q is applied to is not finite, some
    /// moment is not, and no entry of the product is.
    fn all_finite(&self, values: &[f64]) -> bool {
        match self.operator.two_pass() {
            Some(q) if q.moments_len() > 0 => values.first().is_none_or(|v| v.is_finite()),
            _ => wide::all_finite(Share::all(), values),
        }
    }

    /// As much arithmetic as the rate and half, but the same single product with Q.
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(1),
            pushforward: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::elementwise::dot;
    use crate::linalg::householder::Householder;
    use crate::linalg::two_pass::PIECE;
    use crate::problems::quadratic::reflected;

    /// Q = diag(1, 2, 3, …)
    struct Scale(usize);

    impl Operator for Scale {
        fn dim(&self) -> usize {
            self.0
        }
        fn apply(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
            for (i, (out, x)) in out.iter_mut().zip(x).enumerate() {
                *out = (1 + i % 9) as f64 * x;
            }
        }
    }

    /// w·A + j·J + l·f by plain arithmetic, coordinate by coordinate.
    fn plain(dim: usize, theta: &[f64], x: &[f64], t: f64, (w, j, l): (&[f64], f64, f64)) -> f64 {
        let tau = t / (1.0 + t);
        (0..dim)
            .map(|i| {
                let [a1, b1, c1, e1, a2, b2, c2, e2, v1, v2]: [f64; ROWS] =
                    std::array::from_fn(|row| theta[row * dim + i]);
                let g = (1 + i % 9) as f64 * x[i];
                let u = |a: f64, b: f64, c: f64, e: f64| (a * x[i] + b * g + c * tau + e).tanh();
                let s = (1f64.exp() - 1.0).ln() + v1 * u(a1, b1, c1, e1) + v2 * u(a2, b2, c2, e2);
                w[i] * s.exp().ln_1p() * g + j * g * g + l * 0.5 * x[i] * g
            })
            .sum()
    }

    #[test]
    fn rate_and_pullback_are_those_of_plain_arithmetic() {
        // One lane, full lanes, one more, one piece, several.
        for dim in [1, 2, 31, 32, 33, PIECE + 1, 2 * PIECE + 57] {
            let system = Diagonal {
                operator: Scale(dim),
            };
            let dims = system.dims();
            let (theta, x, w) = (parameters(dim, 4), normals(5, dim), normals(6, dim));
            let (t, j, l) = (0.7, 0.3, -0.8);
            let at = Point {
                theta: &theta,
                x: &x,
                t,
            };
            let (mut rate, mut tape) = (vec![f64::NAN; dim], vec![f64::NAN; dims.tape]);
            let mut scratch = vec![f64::NAN; dims.scratch];
            let reading = system.rate(at, &mut rate, &mut tape, &mut scratch);
            let ours = dot(&w, &rate) + j * reading.criterion + l * reading.loss;
            let seeds = (&w[..], j, l);
            let exact = plain(dim, &theta, &x, t, seeds);
            let size = dim as f64;
            assert!(
                (ours - exact).abs() < 1e-12 * size,
                "dim {dim}: {ours} {exact}"
            );

            let (mut theta_bar, mut x_bar) = (vec![1.0; theta.len()], vec![1.0; dim]);
            let seed = Seed {
                rate: &w,
                criterion: j,
                loss: l,
            };
            let bar = Bar {
                theta: &mut theta_bar,
                x: &mut x_bar,
                t: None,
            };
            system.pullback(at, &tape, seed, bar, &mut scratch);
            let (d_theta, d_x) = (normals(7, theta.len()), normals(8, dim));
            // What was there is added to.
            let added =
                |bar: &[f64], d: &[f64]| bar.iter().zip(d).map(|(b, d)| (b - 1.0) * d).sum::<f64>();
            let h = 1e-6;
            let moved = |v: &[f64], d: &[f64], h: f64| -> Vec<f64> {
                v.iter().zip(d).map(|(v, d)| v + h * d).collect()
            };
            let at = |h: f64| plain(dim, &moved(&theta, &d_theta, h), &x, t, seeds);
            let (numeric, found) = ((at(h) - at(-h)) / (2.0 * h), added(&theta_bar, &d_theta));
            assert!(
                (numeric - found).abs() < 1e-7 * size,
                "θ, dim {dim}: {found} {numeric}"
            );
            let at = |h: f64| plain(dim, &theta, &moved(&x, &d_x, h), t, seeds);
            let (numeric, found) = ((at(h) - at(-h)) / (2.0 * h), added(&x_bar, &d_x));
            assert!(
                (numeric - found).abs() < 1e-7 * size,
                "x, dim {dim}: {found} {numeric}"
            );
        }
    }

    /// The same matrix, without its passes.
    struct Whole(Householder);

    impl Operator for Whole {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn scratch_len(&self) -> usize {
            self.0.scratch_len()
        }
        fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
            self.0.apply(x, out, scratch);
        }
    }

    /// Everything that a rate and a pullback write.
    fn written<Q: Operator>(operator: Q) -> Vec<u64> {
        let dim = operator.dim();
        let system = Diagonal { operator };
        let dims = system.dims();
        let (theta, x, w) = (parameters(dim, 4), normals(5, dim), normals(6, dim));
        let at = Point {
            theta: &theta,
            x: &x,
            t: 0.7,
        };
        let (mut rate, mut tape) = (vec![f64::NAN; dim], vec![f64::NAN; dims.tape]);
        let mut scratch = vec![f64::NAN; dims.scratch];
        let reading = system.rate(at, &mut rate, &mut tape, &mut scratch);
        let (mut theta_bar, mut x_bar) = (vec![1.0; theta.len()], vec![1.0; dim]);
        let seed = Seed {
            rate: &w,
            criterion: 0.3,
            loss: -0.8,
        };
        let bar = Bar {
            theta: &mut theta_bar,
            x: &mut x_bar,
            t: None,
        };
        system.pullback(at, &tape, seed, bar, &mut scratch);
        let numbers = [
            rate,
            tape,
            vec![reading.criterion, reading.loss],
            theta_bar,
            x_bar,
        ];
        numbers.concat().iter().map(|v| v.to_bits()).collect()
    }

    #[test]
    fn a_product_in_two_passes_has_the_bits_of_a_whole_one() {
        for dim in [1, 33, PIECE + 1, 2 * PIECE + 57] {
            for reflections in [0, 8, 9] {
                let q = || reflected(dim, reflections, 2);
                assert!(
                    written(q()) == written(Whole(q())),
                    "dim {dim}, {reflections} reflections"
                );
            }
        }
    }

    #[test]
    fn what_is_not_finite_shows_in_the_first_entry_of_a_product_in_two_passes() {
        let dim = 2 * PIECE + 57;
        let q = reflected(dim, 8, 2);
        let (mut out, mut scratch) = (vec![0.0; dim], vec![0.0; q.scratch_len()]);
        let mut shows = |x: &[f64]| {
            q.apply(x, &mut out, &mut scratch);
            out.iter().all(|v| !v.is_finite())
        };
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in [0, 1, PIECE, dim - 1] {
                let mut x = normals(5, dim);
                x[place] = value;
                assert!(shows(&x), "{value} at {place}");
            }
        }
        let system = Diagonal { operator: q };
        assert!(system.all_finite(&[1.0, 2.0]) && system.all_finite(&[]));
        assert!(!system.all_finite(&[f64::NAN, 2.0]));
        let system = Diagonal { operator: Scale(2) };
        assert!(system.all_finite(&[1.0, 2.0]) && !system.all_finite(&[1.0, f64::NAN]));
    }

    #[test]
    fn no_parameters_are_plain_gradient_flow() {
        let system = Diagonal { operator: Scale(5) };
        let (x, theta) = (normals(5, 5), vec![0.0; 50]);
        let (mut rate, mut tape, mut scratch) = (vec![0.0; 5], vec![0.0; 5], vec![0.0; 10]);
        let at = Point {
            theta: &theta,
            x: &x,
            t: 3.0,
        };
        system.rate(at, &mut rate, &mut tape, &mut scratch);
        for (rate, g) in rate.iter().zip(&tape) {
            assert!((rate - g).abs() < 1e-15 * g.abs().max(1.0), "{rate} {g}");
        }
    }
}
