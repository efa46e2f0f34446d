//! Riccati equation of the infinite horizon, by doubling, and Riccati recursion over a finite one.
//!
//! P = Q + AᵀPA − AᵀPB(R + BᵀPB)⁻¹BᵀPA. With G = BR⁻¹Bᵀ and H = Q, one step of the doubling algorithm is
//!
//! A⁺ = A(I + GH)⁻¹A, G⁺ = G + A(I + GH)⁻¹GAᵀ, H⁺ = H + AᵀH(I + GH)⁻¹A
//!
//! and H after k steps is the iterate of the recursion after 2ᵏ: a time constant of 10¹⁰ stages takes some forty steps. A plant
//! that cannot be stabilised shows by an overflow or by steps that run out. The states are first scaled by powers of two, so that
//! their units do not matter.

use super::matrix::Matrix;

/// Reason for which a plant has no stabilising solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoGain {
    /// The inputs do not reach an unstable mode.
    NotStabilisable,
    /// The cost does not see an unstable mode.
    NotWeighted,
}

/// Steps of the doubling algorithm.
const STEPS: usize = 60;

/// Change of H, relative to H, at which doubling ends.
const SETTLED: f64 = 1e-15;

/// Residual of the equation, relative to P, above which P is not a solution.
const RESIDUAL: f64 = 1e-7;

/// Largest spectral radius of the closed loop; one above 1 by rounding belongs to a marginal mode without weight.
const RADIUS: f64 = 1.0 + 1e-4;

/// P of the infinite horizon.
pub(crate) fn riccati(a: &Matrix, b: &Matrix, q: &Matrix, r: &Matrix) -> Result<Matrix, NoGain> {
    let inverse = r.inverse().ok_or(NoGain::NotStabilisable)?;
    let g = b.times(&inverse).times(&b.transposed()).symmetrised();
    let units = units(a, &g, q);
    let inverse: Vec<f64> = units.iter().map(|d| 1.0 / d).collect();
    let h = doubling(
        a.scaled(&inverse, &units),
        g.scaled(&inverse, &inverse),
        q.scaled(&units, &units),
    )?;
    let p = h.scaled(&inverse, &inverse);
    // The residual, in the scaled states.
    let stage = Stage::before(a, b, r, &p).ok_or(NoGain::NotStabilisable)?;
    let next = q.plus(&stage.cost).scaled(&units, &units);
    if !next.is_finite() || next.distance(&h) > RESIDUAL * h.largest() {
        return Err(NoGain::NotStabilisable);
    }
    let radius = stage.closed.scaled(&inverse, &units).spectral_radius();
    match radius <= RADIUS {
        true => Ok(p),
        false => Err(NoGain::NotWeighted),
    }
}

/// Units of the states, powers of two, in which rows and columns of [A G; H Aᵀ] have about the same size.
fn units(a: &Matrix, g: &Matrix, h: &Matrix) -> Vec<f64> {
    let n = a.rows;
    let mut units = vec![1.0_f64; n];
    for _ in 0..30 {
        let mut changed = false;
        for i in 0..n {
            let (mut growing, mut falling) = (0.0, 0.0);
            for j in 0..n {
                let coupled = f64::from(i != j);
                growing += coupled * a.at(j, i).abs() * units[i] / units[j]
                    + h.at(i, j).abs() * units[i] * units[j];
                falling += coupled * a.at(i, j).abs() * units[j] / units[i]
                    + g.at(i, j).abs() / (units[i] * units[j]);
            }
            if growing > 0.0 && falling > 0.0 {
                let factor = libm::exp2(libm::round(0.5 * libm::log2(falling / growing)));
                // Neither an overflow nor an endless change by a factor of two.
                let next = (units[i] * factor).clamp(1e-100, 1e100);
                changed |= next != units[i];
                units[i] = next;
            }
        }
        if !changed {
            break;
        }
    }
    units
}

fn doubling(mut a: Matrix, mut g: Matrix, mut h: Matrix) -> Result<Matrix, NoGain> {
    let identity = Matrix::identity(a.rows);
    for _ in 0..STEPS {
        let w = identity.plus(&g.times(&h));
        let both = w.solve(&a).zip(w.solve(&g));
        let (wa, wg) = both.ok_or(NoGain::NotStabilisable)?;
        let at = a.transposed();
        let next = h.plus(&at.times(&h).times(&wa)).symmetrised();
        g = g.plus(&a.times(&wg).times(&at)).symmetrised();
        if !next.is_finite() {
            // Without weight H is zero in an unstable mode, and overflow times zero is NaN.
            return Err(match next.entries.iter().any(|e| e.is_infinite()) {
                true => NoGain::NotStabilisable,
                false => NoGain::NotWeighted,
            });
        }
        let change = next.distance(&h);
        h = next;
        if change <= SETTLED * h.largest() {
            return Ok(h);
        }
        a = a.times(&wa);
    }
    Err(NoGain::NotStabilisable)
}

/// One stage of the recursion: min over u of ½uᵀRu + ½x⁺ᵀΠx⁺ with x⁺ = Ax + Bu.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// K: the best input is −Kx.
    pub(crate) gain: Matrix,
    /// R + BᵀΠB: the cost of another input −Kx + v is ½vᵀ(R + BᵀΠB)v more.
    pub(crate) hessian: Matrix,
    /// Its inverse.
    pub(crate) inverse: Matrix,
    /// A − BK
    pub(crate) closed: Matrix,
    /// The cost of the best input: ½xᵀ·cost·x.
    pub(crate) cost: Matrix,
}

impl Stage {
    /// The stage before a state of weight Π; `None` if R + BᵀΠB is not positive definite.
    pub(crate) fn before(a: &Matrix, b: &Matrix, r: &Matrix, weight: &Matrix) -> Option<Self> {
        let bt = b.transposed();
        let hessian = r.plus(&bt.times(weight).times(b)).symmetrised();
        let inverse = hessian.inverse()?.symmetrised();
        let gain = inverse.times(&bt.times(weight).times(a));
        let closed = a.minus(&b.times(&gain));
        // A sum of two squares: its rounding cannot make it indefinite, as that of AᵀΠA − KᵀHK would.
        let squares = gain.transposed().times(r).times(&gain);
        let cost = closed.transposed().times(weight).times(&closed);
        let cost = cost.plus(&squares).symmetrised();
        cost.is_finite().then_some(Self {
            gain,
            hessian,
            inverse,
            closed,
            cost,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{normal, uniform};

    fn one(v: f64) -> Matrix {
        Matrix::from_fn(1, 1, |_, _| v)
    }

    #[test]
    fn the_scalar_equation_has_a_closed_form() {
        // p = q + a²p − a²p²b²/(r + b²p): b²p² + (r − q·b² − a²·r)p − q·r = 0
        let (a, b, q, r) = (1.2, 0.5, 2.0, 0.7);
        let found = riccati(&one(a), &one(b), &one(q), &one(r))
            .unwrap()
            .at(0, 0);
        let half: f64 = (r - q * b * b - a * a * r) / (2.0 * b * b);
        let exact = -half + (half * half + q * r / (b * b)).sqrt();
        assert!((found - exact).abs() < 1e-11, "{found} {exact}");
    }

    #[test]
    fn a_plant_out_of_reach_or_out_of_sight_is_refused() {
        let none = riccati(&one(2.0), &one(0.0), &one(1.0), &one(1.0));
        assert_eq!(none, Err(NoGain::NotStabilisable));
        // An integrator without an input: its cost grows by one a stage, for ever.
        let none = riccati(&one(1.0), &one(0.0), &one(1.0), &one(1.0));
        assert_eq!(none, Err(NoGain::NotStabilisable));
        let none = riccati(&one(2.0), &one(1.0), &one(0.0), &one(1.0));
        assert_eq!(none, Err(NoGain::NotWeighted));
        // A mode at rest without weight is left alone.
        assert!(riccati(&one(1.0), &one(1.0), &one(0.0), &one(1.0)).is_ok());
    }

    #[test]
    fn units_of_the_states_do_not_matter() {
        let n = 6;
        let a = Matrix::from_fn(n, n, |i, j| 0.5 * normal(1, (i * n + j) as u64));
        let b = Matrix::from_fn(n, 2, |i, j| normal(2, (i * 2 + j) as u64));
        let (q, r) = (Matrix::identity(n), Matrix::identity(2));
        let p = riccati(&a, &b, &q, &r).unwrap();
        let units: Vec<f64> = (0..n)
            .map(|i| f64::powi(10.0, 12 * i as i32 / 5 - 6))
            .collect();
        let inverse: Vec<f64> = units.iter().map(|d| 1.0 / d).collect();
        let ones = vec![1.0; 2];
        let found = riccati(
            &a.scaled(&inverse, &units),
            &b.scaled(&inverse, &ones),
            &q.scaled(&units, &units),
            &r,
        );
        let found = found.unwrap().scaled(&inverse, &inverse);
        assert!(found.distance(&p) < 1e-9 * p.largest());
    }

    #[test]
    fn sixty_states_that_cannot_be_stabilised_are_refused_at_once() {
        let n = 60;
        for seed in 0..3 {
            // Random couplings among 59 states, and one that grows and that nothing reaches: then hidden by a rotation.
            let mut a = Matrix::from_fn(n, n, |i, j| 0.12 * normal(seed, (i * n + j) as u64));
            let mut b = Matrix::from_fn(n, 3, |i, j| normal(seed + 100, (i * 3 + j) as u64));
            for j in 0..n {
                a.entries[j] = if j == 0 { 1.05 } else { 0.0 };
            }
            b.entries[..3].fill(0.0);
            for k in 0..n - 1 {
                let (sin, cos) = libm::sincos(uniform(seed + 200, k as u64));
                let turn = Matrix::from_fn(n, n, |i, j| match (i, j) {
                    _ if i == j => {
                        if i == k || i == k + 1 {
                            cos
                        } else {
                            1.0
                        }
                    }
                    _ if (i, j) == (k, k + 1) => -sin,
                    _ if (i, j) == (k + 1, k) => sin,
                    _ => 0.0,
                });
                a = turn.times(&a).times(&turn.transposed());
                b = turn.times(&b);
            }
            let start = std::time::Instant::now();
            let found = riccati(&a, &b, &Matrix::identity(n), &Matrix::identity(3));
            assert_eq!(found, Err(NoGain::NotStabilisable), "seed {seed}");
            println!("{:?}", start.elapsed());
        }
    }
}
