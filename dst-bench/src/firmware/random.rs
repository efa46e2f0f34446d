//! Programs min ½uᵀHu + θᵀu with |u| ≤ 1, whose solution has a given share of its bounds active.
//!
//! H has the eigenvalues 1 … 100 and a basis of three reflections, so that its inverse is known without a factorisation. A tick draws the
//! solution and the multipliers and takes the θ that belongs to them; θ is rounded to `f32` and the program is solved again in `f64`.

use dst_core::mpc::Tick;
use dst_std::control::{ActiveProgram, RecordedTick};
use dst_std::random::{bits, normals, uniform};

/// A program with its ticks.
#[derive(Clone, Debug)]
pub struct RandomProgram {
    /// H, row by row.
    pub hessian: Vec<f64>,
    /// The program for the active set; its parameter is θ.
    pub active: ActiveProgram<f64>,
    /// Cold ticks.
    pub ticks: Vec<RecordedTick>,
}

/// Largest eigenvalue of H; the smallest is 1.
const LARGEST: f64 = 100.0;

/// A program of `n` variables and `count` ticks with `share` per cent of the bounds active.
pub fn random_program(n: usize, share: usize, count: usize) -> Result<RandomProgram, String> {
    let vectors: Vec<Vec<f64>> = (0..3).map(|k| unit(&normals(bits(7, k), n))).collect();
    let power = |sign: f64| -> Vec<f64> {
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            let at = i as f64 / (n - 1).max(1) as f64;
            matrix[i * n + i] = LARGEST.powf(sign * at);
        }
        vectors.iter().for_each(|v| reflect(&mut matrix, v));
        matrix
    };
    let (hessian, inverse) = (power(1.0), power(-1.0));
    let active = ActiveProgram {
        inputs: n,
        parameters: n,
        stages: 1,
        blocks: 1,
        kinds: n,
        scale: (0..n).map(|j| 1.0 / inverse[j * n + j].sqrt()).collect(),
        response: inverse.iter().map(|v| -v).collect(),
        gram: inverse,
        caps: Vec::new(),
        lifts: Vec::new(),
        lower: vec![-1.0; n],
        upper: vec![1.0; n],
        roll_out: None,
        names: (0..n).map(|i| format!("u{i}")).collect(),
        soft: Vec::new(),
    };
    let at_bounds = (n * share).div_ceil(100);
    let mut ticks = Vec::new();
    for k in 0..count as u64 {
        let stream = bits(bits(11, share as u64), k);
        let theta = planted(&hessian, n, at_bounds, stream);
        ticks.push(solved(&active, theta)?);
    }
    Ok(RandomProgram {
        hessian,
        active,
        ticks,
    })
}

fn unit(vector: &[f64]) -> Vec<f64> {
    let norm = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    vector.iter().map(|v| v / norm).collect()
}

/// M ← (I − 2vvᵀ)M(I − 2vvᵀ)
fn reflect(matrix: &mut [f64], v: &[f64]) {
    let n = v.len();
    for row in matrix.chunks_exact_mut(n) {
        let dot: f64 = row.iter().zip(v).map(|(m, v)| m * v).sum();
        row.iter_mut().zip(v).for_each(|(m, v)| *m -= 2.0 * dot * v);
    }
    for j in 0..n {
        let dot: f64 = (0..n).map(|i| matrix[i * n + j] * v[i]).sum();
        (0..n).for_each(|i| matrix[i * n + j] -= 2.0 * dot * v[i]);
    }
}

/// θ = −Hu − λ for a solution u with `at_bounds` entries at ±1.
fn planted(hessian: &[f64], n: usize, at_bounds: usize, stream: u64) -> Vec<f32> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| {
        let key = |i: usize| uniform(stream, i as u64);
        key(a).total_cmp(&key(b))
    });
    let draw = |i: usize, k: usize| uniform(stream, (n * (k + 1) + i) as u64);
    let (mut u, mut lambda) = (vec![0.0; n], vec![0.0; n]);
    for (rank, &i) in order.iter().enumerate() {
        if rank < at_bounds {
            let side = if draw(i, 0) < 0.5 { -1.0 } else { 1.0 };
            u[i] = side;
            lambda[i] = side * (0.1 + 10.0 * draw(i, 1));
        } else {
            u[i] = 1.8 * draw(i, 0) - 0.9;
        }
    }
    let row = |i: usize| &hessian[i * n..(i + 1) * n];
    let product = |i: usize| row(i).iter().zip(&u).map(|(h, u)| h * u).sum::<f64>();
    (0..n).map(|i| (-product(i) - lambda[i]) as f32).collect()
}

fn solved(active: &ActiveProgram<f64>, p: Vec<f32>) -> Result<RecordedTick, String> {
    let controller = active.controller(active.inputs + 1, 1e-12);
    let mut numbers = vec![0.0; Tick::<f64>::numbers(&controller)];
    let mut words = vec![0; Tick::<f64>::words(&controller)];
    let theta: Vec<f64> = p.iter().map(|&v| f64::from(v)).collect();
    let mut tick = Tick::new(&controller, &mut numbers, &mut words).map_err(|e| e.to_string())?;
    let outcome = controller
        .tick(&mut tick, &theta, &[], 100_000)
        .map_err(|e| e.to_string())?;
    if !outcome.status.is_solved() {
        return Err("a random program is not solved".to_owned());
    }
    Ok(RecordedTick {
        cold: true,
        looped: false,
        p,
        extra: Vec::new(),
        exact: tick.inputs().to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::random_program;

    #[test]
    fn the_given_share_of_the_bounds_is_active() {
        for (share, bounds) in [(10, 2), (50, 10), (90, 18)] {
            let random = random_program(20, share, 5).unwrap();
            for tick in &random.ticks {
                let at = tick.exact.iter().filter(|u| (u.abs() - 1.0).abs() < 1e-9);
                assert_eq!(at.count(), bounds, "{share} %");
            }
        }
    }
}
