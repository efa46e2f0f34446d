//! Programs from a seed: rows, then a planted point with its multipliers, then bounds, caps and q that fit them.

use super::hessian::hessian;
use super::rows::{combination, fresh, identity, parts};
use super::{Draw, Kind, Precision, Program, dot};
use crate::interior_point::Cholesky;

/// Sizes of the largest programs.
const MOST_VARIABLES: usize = 60;
const MOST_ROWS: usize = 200;

/// Returns the program of a seed. Sizes lean towards small ones.
pub fn program(seed: u64, precision: Precision) -> Program {
    let mut draw = Draw::new(seed);
    let kind = Kind::ALL[draw.below(Kind::ALL.len())];
    let n = 1 + (MOST_VARIABLES as f64 * draw.unit().powi(3)) as usize;
    let top = [0.25, 1.0, 1.0, 1.0, 16.0][draw.below(5)];
    let condition = 10_f64.powf(draw.between(0.0, digits(precision)));
    let matrix = hessian(&mut draw, n, condition, top);
    let (rows, leading) = matrix_of_rows(&mut draw, kind, n);
    let mut made = Maker {
        precision,
        kind,
        planted: match kind {
            Kind::Plain | Kind::Inputs | Kind::Infeasible | Kind::EmptyBox => false,
            Kind::Capped | Kind::Quadratic | Kind::Soft | Kind::OneSided => draw.chance(0.6),
            _ => true,
        },
        factor: Cholesky::new(&matrix, n).expect("P is positive definite"),
        matrix,
        rows,
        leading,
        away: 0.0,
        draw,
    };
    let mut program = made.fill(seed);
    match kind {
        Kind::EmptyBox => made.empty_a_box(&mut program),
        Kind::Infeasible => made.contradict(&mut program),
        _ => {}
    }
    made.scale_rows(&mut program);
    program
}

/// Decimal logarithm of the largest condition of P.
fn digits(precision: Precision) -> f64 {
    match precision {
        Precision::Single => 3.0,
        Precision::Double => 6.0,
    }
}

/// Returns the rows of a program and the number of those that form the identity.
fn matrix_of_rows(draw: &mut Draw, kind: Kind, n: usize) -> (Vec<Vec<f64>>, usize) {
    let boxed = match kind {
        Kind::Inputs | Kind::PlantedInputs => true,
        Kind::Plain => false,
        _ => draw.chance(0.4),
    };
    let mut rows = if boxed { identity(n) } else { Vec::new() };
    let leading = rows.len();
    let more = 1 + ((MOST_ROWS - 1 - leading) as f64 * draw.unit().powi(3)) as usize;
    let derived = match kind {
        Kind::Dependent | Kind::Redundant => 0.5,
        Kind::Degenerate | Kind::Equality | Kind::Soft => 0.15,
        Kind::Infeasible => 0.1,
        _ => 0.0,
    };
    for _ in 0..more {
        let row = if rows.is_empty() || !draw.chance(derived) {
            fresh(draw, n)
        } else if kind == Kind::Redundant {
            let factor = [1.0, 1.0, -1.0, 2.0, -0.5][draw.below(5)];
            combination(&rows, &[(draw.below(rows.len()), factor)])
        } else {
            let parts = parts(draw, rows.len(), 3);
            combination(&rows, &parts)
        };
        let usable = row.iter().any(|&a| a != 0.0) && row.iter().all(|a| a.abs() < 8.0);
        rows.push(if usable { row } else { fresh(draw, n) });
    }
    (rows, leading)
}

/// Position of a row at the planted point.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Slack,
    Touching,
    Active,
    AtCap,
}

struct Maker {
    precision: Precision,
    kind: Kind,
    planted: bool,
    matrix: Vec<f64>,
    factor: Cholesky,
    rows: Vec<Vec<f64>>,
    leading: usize,
    /// ‖u⁰ − u‖_P, from the feasible point to the minimiser without rows.
    away: f64,
    draw: Draw,
}

impl Maker {
    /// Decimal logarithm of the largest condition.
    fn digits(&self) -> f64 {
        digits(self.precision)
    }

    /// Rounds to the digits of the precision.
    fn round(&self, x: f64) -> f64 {
        match self.precision {
            Precision::Single => f64::from(x as f32),
            Precision::Double => x,
        }
    }

    /// √(a·P⁻¹·aᵀ)
    fn norm(&self, row: &[f64]) -> f64 {
        let mut through = row.to_vec();
        self.factor.solve(&mut through);
        dot(row, &through).sqrt()
    }

    /// Returns (1/ρ, true if capped) of a row. Rows of the identity are hard.
    ///
    /// A violation is a variable with the Hessian ρ. In the norm of the row it is limited like the condition of P:
    /// ρ·a·P⁻¹·aᵀ ≤ 1e3 (f32) or 1e6 (f64).
    fn softness(&mut self, j: usize) -> (f64, bool) {
        let (quadratic, capped) = match self.kind {
            _ if j < self.leading => (false, false),
            Kind::Capped => (false, self.draw.chance(0.8)),
            Kind::Quadratic => (self.draw.chance(0.8), false),
            Kind::Soft => (self.draw.chance(0.5), self.draw.chance(0.6)),
            _ => (false, false),
        };
        if !quadratic {
            return (0.0, capped);
        }
        let least = 2.0 * self.norm(&self.rows[j]).log2() - self.digits() * 10_f64.log2();
        // A power of two, so that it is exact in f32.
        let exponent = self.draw.between(least, least.max(0.0) + 3.0).ceil();
        (2_f64.powi(exponent as i32), capped)
    }

    fn role(&mut self, active: &mut usize, capped: bool) -> Role {
        let n = self.rows[0].len();
        let (share, most) = match self.kind {
            Kind::Degenerate => (0.4, 2 * n),
            Kind::Dependent | Kind::Redundant => (0.4, n),
            Kind::Equality => (0.3, n),
            _ => (0.3, n.div_ceil(2)),
        };
        if !self.planted || *active >= most || !self.draw.chance(share) {
            return Role::Slack;
        }
        *active += 1;
        if capped && self.draw.chance(0.5) {
            Role::AtCap
        } else if self.kind == Kind::Degenerate && self.draw.chance(0.4) {
            Role::Touching
        } else {
            Role::Active
        }
    }

    /// Returns multipliers for the roles, limited so that the unconstrained solution is not too far away.
    fn multipliers(&mut self, roles: &[Role]) -> Vec<f64> {
        let n = self.rows[0].len();
        let mut lambda: Vec<f64> = Vec::new();
        for role in roles {
            let size = self.draw.between(0.05, 2.0) * self.draw.sign();
            let at_bound = matches!(role, Role::Active | Role::AtCap);
            lambda.push(if at_bound { size } else { 0.0 });
        }
        let mut shift = vec![0.0; n];
        for (row, l) in self.rows.iter().zip(&lambda) {
            shift.iter_mut().zip(row).for_each(|(s, a)| *s += a * l);
        }
        self.factor.solve(&mut shift);
        let distance = shift.iter().fold(0.0_f64, |m, s| m.max(s.abs()));
        let limit = 10_f64.powf(self.draw.between(0.0, 0.5 * self.digits()));
        let factor = (limit / distance.max(1e-9)).min(1.0);
        lambda.iter().map(|l| self.round(l * factor)).collect()
    }

    fn fill(&mut self, seed: u64) -> Program {
        let (n, m) = (self.rows[0].len(), self.rows.len());
        let u: Vec<f64> = (0..n).map(|_| self.draw.dyadic(-3.0, 3.0)).collect();
        let (mut softness, mut capped, mut roles) = (Vec::new(), Vec::new(), Vec::new());
        let mut active = 0;
        for j in 0..m {
            let (soft, cap) = self.softness(j);
            roles.push(self.role(&mut active, cap));
            softness.push(soft);
            capped.push(cap);
        }
        let lambda = self.multipliers(&roles);
        let (mut lower, mut upper, mut caps) = (Vec::new(), Vec::new(), Vec::new());
        for j in 0..m {
            let s = dot(&self.rows[j], &u);
            let conflict = !self.planted && (softness[j] > 0.0 || capped[j]);
            let middle = if conflict {
                s + self.draw.dyadic(-2.0, 2.0)
            } else {
                s
            };
            let (l, h) = self.bounds(middle, roles[j], lambda[j], softness[j]);
            lower.push(l);
            upper.push(h);
            caps.push(match (capped[j], roles[j]) {
                (false, _) => f64::INFINITY,
                (true, Role::AtCap) => lambda[j].abs(),
                (true, Role::Active) => {
                    let wider = self.draw.between(1.2, 5.0) * lambda[j].abs();
                    self.round(wider)
                }
                (true, _) => {
                    let any = 10_f64.powf(self.draw.between(-2.0, 1.0));
                    self.round(any)
                }
            });
        }
        let linear = self.linear(&u, &lambda);
        Program {
            seed,
            kind: self.kind,
            hessian: self.matrix.clone(),
            rows: self.rows.concat(),
            identity: self.leading,
            linear,
            lower,
            upper,
            caps,
            softness,
            planted: self.planted.then_some(u),
        }
    }

    /// Returns bounds for which the row has its role, given s = a·u* and its multiplier.
    fn bounds(&mut self, s: f64, role: Role, lambda: f64, softness: f64) -> (f64, f64) {
        let width = match self.kind {
            // Not below the spacing of the products, so that the bounds stay exact in f32.
            Kind::Tight if self.draw.chance(0.6) => 2_f64.powi(-16 + self.draw.below(8) as i32),
            _ => self.draw.dyadic(1.0 / 256.0, 3.0),
        };
        let open = match self.kind {
            Kind::OneSided => 0.9,
            Kind::Tight => 0.0,
            _ => 0.2,
        };
        let equal = self.kind == Kind::Equality && role == Role::Active;
        if role == Role::Slack {
            let below = s - self.draw.dyadic(1.0 / 256.0, 3.0).min(width);
            let above = s + width;
            return match (self.draw.chance(open), self.draw.chance(0.5)) {
                (true, true) => (f64::NEG_INFINITY, above),
                (true, false) => (below, f64::INFINITY),
                (false, _) => (below, above),
            };
        }
        let beyond = match role {
            Role::AtCap => self.draw.dyadic(1.0 / 256.0, 2.0),
            _ => 0.0,
        };
        let at_upper = match role {
            Role::Touching => self.draw.chance(0.5),
            _ => lambda > 0.0,
        };
        let side = if at_upper { 1.0 } else { -1.0 };
        let bound = self.round(s - side * (lambda.abs() * softness + beyond));
        let other = if equal && self.draw.chance(0.7) {
            bound
        } else if self.draw.chance(open) {
            -side * f64::INFINITY
        } else {
            self.round(bound - side * width)
        };
        if at_upper {
            (other, bound)
        } else {
            (bound, other)
        }
    }

    /// Returns q = −Pu* − Aᵀλ*; without a planted solution −P·(a point away from u*).
    fn linear(&mut self, u: &[f64], lambda: &[f64]) -> Vec<f64> {
        let n = u.len();
        let reach = 10_f64.powf(self.draw.between(-1.0, 1.0));
        let target: Vec<f64> = match self.planted {
            true => u.to_vec(),
            false => u.iter().map(|u| u + reach * self.draw.normal()).collect(),
        };
        let mut q: Vec<f64> = self
            .matrix
            .chunks(n)
            .map(|row| -dot(row, &target))
            .collect();
        let shift: Vec<f64> = target.iter().zip(u).map(|(t, u)| t - u).collect();
        let lines = self.matrix.chunks(n).zip(&shift);
        self.away = lines
            .map(|(row, d)| d * dot(row, &shift))
            .sum::<f64>()
            .sqrt();
        for (row, l) in self.rows.iter().zip(lambda) {
            q.iter_mut().zip(row).for_each(|(q, a)| *q -= a * l);
        }
        q.iter().map(|&q| self.round(q)).collect()
    }

    /// Exchanges the bounds of a row, at least 1/16 apart.
    fn empty_a_box(&mut self, program: &mut Program) {
        let j = self.draw.below(program.count());
        let middle = dot(&self.rows[j], &vec![0.5; self.rows[0].len()]);
        let gap = self.draw.dyadic(0.0625, 1.0);
        (program.lower[j], program.upper[j]) = (middle + gap, middle);
    }

    /// Adds a row that contradicts one to four others: a = −Σy_j·a_j with an upper bound below −Σ(y_j·bound) by a margin.
    ///
    /// Rounding of W = A·P⁻¹·Aᵀ by ε makes the sum of the rows a row of norm √ε·Σ|y_j|√W_jj, in the norm of P⁻¹. So a distant
    /// point could satisfy it, unless the margin is larger than that times the distance.
    fn contradict(&mut self, program: &mut Program) {
        let hard = self.rows.len();
        let mut chosen = parts(&mut self.draw, hard, 4);
        let mut row = combination(&self.rows, &chosen);
        if row.iter().all(|&a| a == 0.0) {
            chosen.truncate(1);
            row = combination(&self.rows, &chosen);
        }
        let mut most = 0.0;
        let (mut size, mut sum) = (0.25_f64, self.norm(&row));
        for &(j, y) in &chosen {
            let (bound, other) = if y > 0.0 {
                (&mut program.upper[j], program.lower[j])
            } else {
                (&mut program.lower[j], program.upper[j])
            };
            if bound.is_infinite() {
                *bound = other + y;
            }
            most += y * *bound;
            size = size.max(bound.abs());
            sum += self.norm(&self.rows[j]);
        }
        let epsilon = match self.precision {
            Precision::Single => f64::from(f32::EPSILON),
            Precision::Double => f64::EPSILON,
        };
        let resolved = 4.0 * epsilon.sqrt() * sum * (1.0 + self.away);
        let margin = size * self.draw.between(0.02, 0.5) + resolved;
        let margin = (margin * 256.0).ceil() / 256.0;
        program.rows.extend(row.iter().map(|a| -a));
        program.upper.push(-most - margin);
        program.lower.push(f64::NEG_INFINITY);
        program.caps.push(f64::INFINITY);
        program.softness.push(0.0);
    }

    /// Multiplies rows other than those of the identity by powers of two.
    fn scale_rows(&mut self, program: &mut Program) {
        let n = program.variables();
        for j in program.identity..program.count() {
            let factor = 2_f64.powi(self.draw.below(7) as i32 - 3);
            program.rows[j * n..][..n]
                .iter_mut()
                .for_each(|a| *a *= factor);
            program.lower[j] *= factor;
            program.upper[j] *= factor;
            program.caps[j] /= factor;
            program.softness[j] *= factor * factor;
        }
    }
}
