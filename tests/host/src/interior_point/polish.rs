//! KKT equations of the sides found active, solved to 32 digits by refinement.
//!
//! The matrix [P Aᵀ; A −D − δI] is regular for dependent rows as well. Refinement with the exact residual takes δ out again.
//! Rows whose multiplier or product then has the wrong sign change their state, and the equations are solved again.

use super::Reference;
use super::certificate::error_bound;
use super::double::Double;
use super::factor::Lu;
use super::newton::Interior;
use super::scaled::Scaled;

const DELTA: f64 = 1e-9;
const ROUNDS: usize = 60;
/// Sign errors below this are left to the certificate.
const SLIGHT: f64 = 1e-22;

/// State of a row; ±1 is the side.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Free,
    Active(f64),
    AtCap(f64),
    Equality,
}

/// Returns the solution with the smallest certified error.
pub(super) fn polish(program: &Scaled, interior: &Interior) -> Option<Reference> {
    let mut lambda = vec![Double::default(); program.rows.len()];
    let mut u: Vec<Double> = interior.u.iter().map(|&u| Double::new(u)).collect();
    let mut states = states(interior, &mut lambda);
    let mut best: Option<Reference> = None;
    for round in 0..ROUNDS {
        for ((l, state), row) in lambda.iter_mut().zip(&states).zip(&program.rows) {
            match state {
                State::Free => *l = Double::default(),
                State::AtCap(side) => *l = Double::new(side * row.cap),
                _ => {}
            }
        }
        refine(program, &states, &mut u, &mut lambda)?;
        let mut clipped = lambda.clone();
        for ((l, state), row) in clipped.iter_mut().zip(&states).zip(&program.rows) {
            if let State::Active(side) = state {
                if l.hi * side < 0.0 {
                    *l = Double::default();
                } else if l.hi.abs() > row.cap {
                    *l = Double::new(side * row.cap);
                }
            }
        }
        let error = error_bound(program, &u, &clipped);
        if best.as_ref().is_none_or(|b| error < b.error) {
            let unscaled = clipped.iter().zip(&program.rows);
            best = Some(Reference {
                u: u.iter().map(|u| u.value()).collect(),
                multipliers: unscaled
                    .map(|(l, row)| l.value() * row.factor / program.weight)
                    .collect(),
                error,
            });
        }
        if error < 1e-13 || !exchange(program, &u, &lambda, &mut states, round) {
            break;
        }
    }
    best
}

/// States by the larger of multiplier and slack, and the multipliers.
fn states(interior: &Interior, lambda: &mut [Double]) -> Vec<State> {
    let mut states = vec![State::Free; lambda.len()];
    for side in &interior.sides {
        let at_cap = side.capped.is_some_and(|(w, v)| v > w);
        if (at_cap || side.z > side.t) && side.z > lambda[side.row].hi.abs() {
            lambda[side.row] = Double::new(side.sigma * side.z);
            states[side.row] = match at_cap {
                true => State::AtCap(side.sigma),
                false => State::Active(side.sigma),
            };
        }
    }
    for &(j, l) in &interior.equalities {
        lambda[j] = Double::new(l);
        states[j] = State::Equality;
    }
    states
}

/// Solves Pu + q + Aᵀλ = 0 and a·u − λ/ρ = b of the active rows.
fn refine(
    program: &Scaled,
    states: &[State],
    u: &mut [Double],
    lambda: &mut [Double],
) -> Option<()> {
    let n = program.n;
    let active: Vec<(usize, f64)> = (0..states.len())
        .filter_map(|j| match states[j] {
            State::Active(side) if side < 0.0 => Some((j, program.rows[j].lower)),
            State::Active(_) | State::Equality => Some((j, program.rows[j].upper)),
            _ => None,
        })
        .collect();
    let size = n + active.len();
    let mut matrix = vec![0.0; size * size];
    for i in 0..n {
        matrix[i * size..][..n].copy_from_slice(&program.hessian[i * n..][..n]);
    }
    for (k, &(j, _)) in active.iter().enumerate() {
        let row = &program.rows[j];
        for (i, &a) in row.a.iter().enumerate() {
            matrix[i * size + n + k] = a;
            matrix[(n + k) * size + i] = a;
        }
        matrix[(n + k) * size + n + k] = -row.softness - DELTA;
    }
    let factor = Lu::new(matrix, size)?;
    let mut last = f64::INFINITY;
    for pass in 0..40 {
        let gradient = program.gradient(u, lambda);
        let mut right: Vec<f64> = gradient.iter().map(|g| -g.value()).collect();
        for &(j, bound) in &active {
            let row = &program.rows[j];
            let shift = lambda[j].times(row.softness).add(bound);
            let product = super::double::dot(&row.a, u);
            right.push(shift.minus(product).value());
        }
        let largest = right.iter().fold(0.0_f64, |m, r| m.max(r.abs()));
        // The first passes may trade one residual for another.
        if largest < 1e-30 || (pass > 5 && largest > 0.5 * last) {
            break;
        }
        last = largest;
        let step = factor.solve(&right);
        u.iter_mut().zip(&step).for_each(|(u, &d)| *u = u.add(d));
        for (&(j, _), &d) in active.iter().zip(&step[n..]) {
            lambda[j] = lambda[j].add(d);
        }
    }
    Some(())
}

/// Changes the state of rows with a wrong sign: all in the first rounds, later the worst. Returns false if there is none.
fn exchange(
    program: &Scaled,
    u: &[Double],
    lambda: &[Double],
    states: &mut [State],
    round: usize,
) -> bool {
    let mut changes: Vec<(f64, usize, State)> = Vec::new();
    for (j, s) in program.products(u).into_iter().enumerate() {
        let row = &program.rows[j];
        let above = s.beyond(row.upper);
        let below = -s.beyond(row.lower);
        let change = match states[j] {
            State::Equality => continue,
            State::Free if above > below => (above, State::Active(1.0)),
            State::Free => (below, State::Active(-1.0)),
            State::Active(side) => {
                let signed = side * lambda[j].hi;
                if -signed > signed - row.cap {
                    (-signed, State::Free)
                } else {
                    (signed - row.cap, State::AtCap(side))
                }
            }
            State::AtCap(side) => {
                let violation = if side > 0.0 { above } else { below };
                (row.cap * row.softness - violation, State::Active(side))
            }
        };
        if change.0 > SLIGHT {
            changes.push((change.0, j, change.1));
        }
    }
    if round >= 5 {
        let worst = changes.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
        changes = worst.into_iter().collect();
    }
    for &(_, j, state) in &changes {
        states[j] = state;
    }
    !changes.is_empty()
}
