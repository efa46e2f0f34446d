//! The coefficients of Dormand and Prince's method of order 5 with an error estimate of order 4.
//!
//! k_i = A(X_i, t + c_i h),  X_i = x − h Σ_{j<i} a_ij k_j. The seventh stage is the result itself, X_7 = x⁺: its rate is
//! the first of the next step ("first same as last"), so an accepted step costs six evaluations. The error
//! estimate is h Σ e_j k_j. Between the ends, x(t + u h) = x − h Σ β_j(u) k_j with error O(h⁵) ([`dense`]).
//!
//! J. R. Dormand, P. J. Prince, J. Comput. Appl. Math. 6 (1980); the dense output is that of E. Hairer, S. P. Nørsett and
//! G. Wanner, *Solving Ordinary Differential Equations I*, II.6. The order conditions are checked below.

/// Stages, the result's own included.
pub(super) const STAGES: usize = 7;

/// c_i
pub(super) const C: [f64; STAGES] = [0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0];

/// a_ij; the last row is b.
#[rustfmt::skip]
pub(super) const A: [[f64; STAGES]; STAGES] = [
    [0.0; STAGES],
    [1.0 / 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0, 0.0],
    [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0, 0.0],
    [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0, 0.0, 0.0],
    [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0, 0.0],
];

/// b_j: the weights of order 5.
pub(super) const B: [f64; STAGES] = A[STAGES - 1];

/// e_j = b_j − b̂_j: the difference to the weights of order 4.
pub(super) const E: [f64; STAGES] = [
    71.0 / 57600.0,
    0.0,
    -71.0 / 16695.0,
    71.0 / 1920.0,
    -17253.0 / 339200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];

/// The correction that lifts the cubic Hermite interpolation to order 4.
const D: [f64; STAGES] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

/// β_j(u) for u in [0, 1]: zero at u = 0, exactly b at u = 1.
pub(super) fn dense(u: f64) -> [f64; STAGES] {
    let v = 1.0 - u;
    let (hermite, lift) = (u * u * (3.0 - 2.0 * u), (u * v) * (u * v));
    let mut weights: [f64; STAGES] = std::array::from_fn(|j| hermite * B[j] + lift * D[j]);
    weights[0] += u * v * v;
    weights[STAGES - 1] -= u * u * v;
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elementary weights Φ_j of all rooted trees up to order 5: (order, density γ, Φ).
    fn trees() -> Vec<(usize, f64, [f64; STAGES])> {
        let product = |p: &[f64; STAGES], q: &[f64; STAGES]| std::array::from_fn(|i| p[i] * q[i]);
        // A child hanging from an edge: Σ_j a_ij Φ_j.
        let edge =
            |p: &[f64; STAGES]| std::array::from_fn(|i| (0..STAGES).map(|j| A[i][j] * p[j]).sum());
        let one = [1.0; STAGES];
        let c = edge(&one);
        let c2 = product(&c, &c);
        let c3 = product(&c2, &c);
        let (ac, ac2) = (edge(&c), edge(&c2));
        let aac = edge(&ac);
        vec![
            (1, 1.0, one),
            (2, 2.0, c),
            (3, 3.0, c2),
            (3, 6.0, ac),
            (4, 4.0, c3),
            (4, 8.0, product(&c, &ac)),
            (4, 12.0, ac2),
            (4, 24.0, aac),
            (5, 5.0, product(&c2, &c2)),
            (5, 10.0, product(&c2, &ac)),
            (5, 15.0, product(&c, &ac2)),
            (5, 30.0, product(&c, &aac)),
            (5, 20.0, product(&ac, &ac)),
            (5, 20.0, edge(&c3)),
            (5, 40.0, edge(&product(&c, &ac))),
            (5, 60.0, edge(&ac2)),
            (5, 120.0, edge(&aac)),
        ]
    }

    fn residual(weights: &[f64; STAGES], tree: &[f64; STAGES]) -> f64 {
        weights.iter().zip(tree).map(|(w, t)| w * t).sum()
    }

    #[test]
    fn the_weights_meet_their_order_conditions() {
        let lower: [f64; STAGES] = std::array::from_fn(|j| B[j] - E[j]);
        let mut missed = 0;
        for (order, density, tree) in trees() {
            let five = residual(&B, &tree) - 1.0 / density;
            assert!(
                five.abs() < 1e-14,
                "b, order {order}, γ = {density}: {five:e}"
            );
            let four = residual(&lower, &tree) - 1.0 / density;
            if order <= 4 {
                assert!(
                    four.abs() < 1e-14,
                    "b̂, order {order}, γ = {density}: {four:e}"
                );
            } else if four.abs() > 1e-6 {
                missed += 1;
            }
        }
        assert!(missed > 0, "an estimate of order 5 would estimate nothing");
    }

    #[test]
    fn the_nodes_are_the_row_sums() {
        for (i, (row, c)) in A.iter().zip(C).enumerate() {
            let sum: f64 = row.iter().sum();
            assert!((sum - c).abs() < 1e-14, "row {i}: {sum} for {c}");
            assert!(
                row[i..].iter().all(|&a| a == 0.0),
                "row {i} is not explicit"
            );
        }
    }

    #[test]
    fn the_dense_output_has_order_four_and_fits_the_ends() {
        assert_eq!(dense(0.0), [0.0; STAGES]);
        assert_eq!(dense(1.0), B);
        for u in [0.1, 0.25, 0.5, 0.77, 0.9] {
            let weights = dense(u);
            for (order, density, tree) in trees().into_iter().filter(|tree| tree.0 <= 4) {
                let off = residual(&weights, &tree) - u.powi(order as i32) / density;
                assert!(
                    off.abs() < 1e-14,
                    "u = {u}, order {order}, γ = {density}: {off:e}"
                );
            }
        }
    }
}
