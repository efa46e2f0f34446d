//! Programs with a ball, a cone and soft rows, solved, with the conditions of optimality checked.

use std::vec;
use std::vec::Vec;

use crate::qp::*;
use crate::{Argument, Error};

/// Program with one stage: n inputs and a dense C.
pub(super) struct Example {
    pub(super) shape: Shape,
    pub(super) hessian: Vec<f64>,
    pub(super) outputs: Vec<f64>,
    pub(super) linear: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
}

/// Result of a solve: u, z, y.
struct Solution {
    rows: Vec<f64>,
    z: Vec<f64>,
    y: Vec<f64>,
}

impl Example {
    /// H with eigenvalues that differ and no zero entry; `outputs` rows of C.
    pub(super) fn new(inputs: usize, outputs: usize) -> Self {
        let shape = Shape {
            inputs,
            outputs,
            stages: 1,
            blocks: 1,
        };
        let hessian = |k: usize| {
            let (i, j) = (k / inputs, k % inputs);
            if i == j { 2.0 + i as f64 } else { 0.3 }
        };
        let entry = |k: usize| (1.0 + k as f64).sin();
        Self {
            shape,
            hessian: (0..inputs * inputs).map(hessian).collect(),
            outputs: (0..inputs * outputs).map(entry).collect(),
            linear: (0..inputs).map(|i| 4.0 * (0.5 - i as f64)).collect(),
            lower: vec![f64::NEG_INFINITY; inputs + outputs],
            upper: vec![f64::INFINITY; inputs + outputs],
        }
    }

    pub(super) fn instance(&self) -> Instance<'_, f64> {
        Instance {
            linear: &self.linear,
            lower: &self.lower,
            upper: &self.upper,
        }
    }

    pub(super) fn inverses(&self, params: &[f64]) -> Vec<f64> {
        let phases = params.len() / self.shape.phase_params();
        let mut inverses = vec![0.0; phases * self.shape.prepared_entries()];
        let mut row = vec![0.0; self.shape.variables()];
        let qp = self.qp();
        assert!(Inversion::of_phases(
            &qp,
            &self.hessian,
            params,
            &mut inverses,
            &mut row
        ));
        inverses
    }

    pub(super) fn qp(&self) -> Qp<'_, f64> {
        Qp::new(self.shape, &self.outputs).unwrap()
    }

    /// Iterates with R = 1.5 and α = 1.4 until both residuals are below 1e-11; checks Hu + g + Gᵀy = 0 and Gu = z.
    fn solve(&self, sets: impl Projection<f64>) -> Solution {
        let m = self.shape.rows();
        let mut params = vec![1.5; m];
        params.push(1.4);
        let inverses = self.inverses(&params);
        let phases = Phases {
            params: &params,
            inverses: &inverses,
            switches: &[],
        };
        phases.check_with(self.shape, &sets).unwrap();
        let tolerance = Tolerance {
            primal: 1e-11,
            dual: 1e-11,
            dual_relative: 0.0,
        };
        let solver = Solver::with(self.qp(), self.instance(), tolerance, sets).unwrap();
        let (mut z, mut y, mut rows) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
        let mut scratch = vec![0.0; self.shape.scratch()];
        let phase = phases.at(self.shape, 0);
        let solved = (0..20_000).any(|_| {
            let residual = solver.iterate(phase, &mut z, &mut y, &mut rows, &mut scratch);
            residual.ratio() <= 1.0
        });
        assert!(solved);
        let n = self.shape.variables();
        let mut multipliers = vec![0.0; n];
        self.qp().transposed(&y, &mut multipliers);
        for (i, multiplier) in multipliers.iter().enumerate() {
            let row = &self.hessian[n * i..][..n];
            let hu: f64 = row.iter().zip(&rows).map(|(h, u)| h * u).sum();
            assert!((hu + self.linear[i] + multiplier).abs() < 1e-9, "{i}");
        }
        for (q, z) in rows.iter().zip(&z) {
            assert!((q - z).abs() < 1e-10);
        }
        Solution { rows, z, y }
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The multiplier points outwards along z − o, on the sphere. A ball on the inputs, and one on C·u.
#[test]
fn a_ball() {
    let mut example = Example::new(3, 0);
    for offset in [[0.0; 3], [0.3, -0.2, 0.1]] {
        example.lower = offset.to_vec();
        let found = example.solve(Ball { radius: 0.8 });
        let out: Vec<f64> = found.z.iter().zip(offset).map(|(z, o)| z - o).collect();
        assert!((norm(&out) - 0.8).abs() < 1e-12);
        let factor = norm(&found.y) / 0.8;
        assert!(factor > 0.1, "{factor}: the ball should be active");
        for (y, z) in found.y.iter().zip(&out) {
            assert!((y - factor * z).abs() < 1e-9);
        }
    }
    let mut example = Example::new(3, 2);
    example.lower[3..].fill(0.0);
    let ball = Set::Ball(Ball { radius: 0.5 });
    let found = example.solve(Sets(&[(3, Set::Clip), (2, ball)]));
    assert!((norm(&found.z[3..]) - 0.5).abs() < 1e-12);
    let factor = norm(&found.y[3..]) / 0.5;
    assert!(factor > 0.1);
    for i in 0..3 {
        assert!(found.y[i].abs() < 1e-9);
    }
    for i in 3..5 {
        assert!((found.y[i] - factor * found.z[i]).abs() < 1e-9);
    }
    // A ball that contains the unconstrained solution does nothing.
    let free = Example::new(3, 0).solve(Clip);
    let mut wide = Example::new(3, 0);
    wide.lower.fill(0.0);
    let same = wide.solve(Ball { radius: 100.0 });
    for (a, b) in free.rows.iter().zip(&same.rows) {
        assert!((a - b).abs() < 1e-9);
    }
}

/// z is in the cone, −y too, and they are orthogonal.
#[test]
fn a_second_order_cone() {
    let mut example = Example::new(3, 3);
    example.lower[3..].copy_from_slice(&[0.1, -0.2, 0.0]);
    let found = example.solve(Sets(&[(3, Set::Clip), (3, Set::Cone)]));
    let offset = &example.lower[3..];
    let z: Vec<f64> = found.z[3..]
        .iter()
        .zip(offset)
        .map(|(z, o)| z - o)
        .collect();
    let y = &found.y[3..];
    assert!(z[0] > 0.01 && (norm(&z[1..]) - z[0]).abs() < 1e-10, "{z:?}");
    assert!(
        y[0] < -0.01 && (norm(&y[1..]) + y[0]).abs() < 1e-10,
        "{y:?}"
    );
    let product: f64 = z.iter().zip(y).map(|(z, y)| z * y).sum();
    assert!(product.abs() < 1e-10, "{product}");
    // With H = I on the cone itself the solution is the projection of −g.
    let mut example = Example::new(3, 0);
    example.hessian = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    example.linear = vec![-1.0, -3.0, -4.0];
    example.lower.fill(0.0);
    let found = example.solve(Cone);
    for (u, expected) in found.rows.iter().zip([3.0, 1.8, 2.4]) {
        assert!((u - expected).abs() < 1e-9);
    }
}

/// Multipliers of soft rows: ρ times the violation, at most the cap.
#[test]
fn soft_rows() {
    let mut example = Example::new(3, 4);
    for i in 3..7 {
        (example.lower[i], example.upper[i]) = (-0.05, 0.05);
    }
    let (quadratic, capped) = (SoftBounds::quadratic(0.9), SoftBounds::capped(0.3));
    let groups = [
        (3, Set::Clip),
        (2, Set::Soft(quadratic)),
        (2, Set::Soft(capped)),
    ];
    let found = example.solve(Sets(&groups));
    let (mut violated, mut at_cap) = (0, 0);
    for i in 3..7 {
        let (z, y) = (found.z[i], found.y[i]);
        let beyond = z - z.clamp(-0.05, 0.05);
        if i < 5 {
            assert!((y - 0.9 * beyond).abs() < 1e-9, "{i} {y} {beyond}");
            violated += usize::from(beyond.abs() > 1e-3);
        } else {
            assert!(y.abs() <= 0.3 + 1e-9 && (beyond.abs() < 1e-9 || y.abs() > 0.3 - 1e-9));
            at_cap += usize::from(beyond.abs() > 1e-3);
        }
    }
    assert!(violated > 0 && at_cap > 0, "{violated} {at_cap}");
}

#[test]
fn coupled_rows_with_different_weights_are_refused() {
    let mut example = Example::new(3, 0);
    example.lower.fill(0.0);
    let params = [1.5, 1.5, 1.6, 1.4];
    let inverses = example.inverses(&params);
    let phases = Phases {
        params: &params,
        inverses: &inverses,
        switches: &[],
    };
    let unequal = Err(Error::UnequalWeights);
    assert_eq!(phases.check_with(example.shape, &Cone), unequal);
    assert_eq!(phases.check_with(example.shape, &Clip), Ok(()));
    let tolerance = Tolerance {
        primal: 1e-4,
        dual: 1e-4,
        dual_relative: 0.0,
    };
    let (qp, instance) = (example.qp(), example.instance());
    let ball = Ball { radius: 1.0 };
    let refused = Admm::with(qp, instance, tolerance, &inverses, &[], ball);
    assert_eq!(refused.map(|_| ()), unequal);
    let sets = Sets(&[(2, Set::Clip)]);
    let short = Error::Length {
        argument: Argument::Bounds,
        needed: 3,
        given: 2,
    };
    let refused = Solver::with(qp, instance, tolerance, sets);
    assert_eq!(refused.map(|_| ()), Err(short));
    // K alone is not enough.
    let mut row = [0.0; 3];
    let (hessian, mut small) = (&example.hessian, [0.0; 9]);
    assert!(!Inversion::of_phases(
        &qp, hessian, &params, &mut small, &mut row
    ));
}
