//! Backward steps of methods over an objective: by the library, and written out in place.
//!
//! The objective is ½Σλᵢxᵢ², whose Hessian costs one product per variable: next to it every instruction of the update shows.

use std::hint::black_box;

use clap::ValueEnum;
use dst_core::methods::{
    Adam, Constant, GradientFlow, HeavyBall, Nesterov, Preconditioned, Projected,
};
use dst_core::{Bar, Objective, Point, Seed, System};

/// Method whose pullbacks are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Gradient descent with one step size.
    GradientFlow,
    /// Gradient descent with a step size for every variable.
    Preconditioned,
    /// Gradient descent on a box that clips about half of the variables.
    Projected,
    /// Polyak's momentum.
    HeavyBall,
    /// Nesterov's acceleration.
    Nesterov,
    /// Adam with bias correction.
    Adam,
}

impl Kind {
    /// All of them, with their names on the command line.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::GradientFlow, "gradient-flow"),
        (Self::Preconditioned, "preconditioned"),
        (Self::Projected, "projected"),
        (Self::HeavyBall, "heavy-ball"),
        (Self::Nesterov, "nesterov"),
        (Self::Adam, "adam"),
    ];
}

/// Implementation that computes the pullback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// dst-core.
    Library,
    /// A loop written in place.
    Hand,
}

/// ½Σλᵢxᵢ²
#[derive(Clone, Copy, Debug)]
struct Bowl<'a>(&'a [f64]);

impl Objective<f64> for Bowl<'_> {
    fn dim(&self) -> usize {
        self.0.len()
    }
    fn value_gradient(&self, x: &[f64], g: &mut [f64], _: &mut [f64], _: &mut [f64]) -> f64 {
        let mut f = 0.0;
        for ((g, &x), &lambda) in g.iter_mut().zip(x).zip(self.0) {
            *g = lambda * x;
            f += 0.5 * x * *g;
        }
        f
    }
    fn add_hessian_vector(&self, _: &[f64], v: &[f64], _: &[f64], out: &mut [f64], _: &mut [f64]) {
        for ((out, &v), &lambda) in out.iter_mut().zip(v).zip(self.0) {
            *out += lambda * v;
        }
    }
}

/// Everything that a pullback reads and writes.
struct Pull<'a> {
    theta: &'a [f64],
    /// Lower and upper bounds of a box.
    bounds: (&'a [f64], &'a [f64]),
    x: &'a [f64],
    gradient: &'a [f64],
    seed: &'a [f64],
    theta_bar: &'a mut [f64],
    x_bar: &'a mut [f64],
    g_bar: &'a mut [f64],
}

/// θ̄ and x̄ after this many pullbacks at the same point, each added to the one before.
pub fn pullbacks(kind: Kind, way: Way, dim: usize, times: usize) -> Vec<f64> {
    let wave = |phase: f64, len: usize| -> Vec<f64> {
        (0..len).map(|i| (phase + 0.7 * i as f64).sin()).collect()
    };
    let (blocks, theta) = match kind {
        Kind::GradientFlow | Kind::Projected => (1, vec![0.1]),
        Kind::Preconditioned => (1, wave(3.0, dim)),
        Kind::HeavyBall | Kind::Nesterov => (2, vec![0.1, 0.9]),
        Kind::Adam => (3, vec![0.1, 0.9, 0.99]),
    };
    let (lower, upper) = (vec![-0.2; dim], vec![0.3; dim]);
    let lambda: Vec<f64> = (0..dim).map(|i| 1.0 + (i % 9) as f64).collect();
    // Second moments are positive, but for the first, where the root has no derivative.
    let mut x = wave(1.0, blocks * dim);
    for v in x.iter_mut().skip(2 * dim) {
        *v = v.abs();
    }
    let seed = wave(2.0, blocks * dim);
    let objective = Bowl(&lambda);
    let mut gradient = vec![0.0; dim];
    objective.value_gradient(&x[..dim], &mut gradient, &mut [], &mut []);
    let (mut theta_bar, mut x_bar) = (vec![0.0; theta.len()], vec![0.0; x.len()]);
    let mut scratch = vec![0.0; 2 * dim];
    for _ in 0..times {
        let mut pull = Pull {
            theta: black_box(&theta),
            bounds: black_box((&lower, &upper)),
            x: black_box(&x),
            gradient: black_box(&gradient),
            seed: black_box(&seed),
            theta_bar: &mut theta_bar,
            x_bar: &mut x_bar,
            g_bar: &mut scratch,
        };
        match (way, kind) {
            (Way::Library, Kind::GradientFlow) => {
                library(&GradientFlow::new(objective, Constant), &mut pull);
            }
            (Way::Library, Kind::Preconditioned) => {
                library(&Preconditioned::new(objective), &mut pull);
            }
            (Way::Library, Kind::Projected) => {
                let (lower, upper) = pull.bounds;
                library(&Projected::new(objective, lower, upper), &mut pull);
            }
            (Way::Hand, Kind::GradientFlow) => gradient_flow(objective, pull),
            (Way::Hand, Kind::Preconditioned) => preconditioned(objective, pull),
            (Way::Hand, Kind::Projected) => projected(objective, pull),
            (Way::Library, Kind::HeavyBall) => library(&HeavyBall::new(objective), &mut pull),
            (Way::Library, Kind::Nesterov) => library(&Nesterov::new(objective), &mut pull),
            (Way::Library, Kind::Adam) => library(&Adam::new(objective), &mut pull),
            (Way::Hand, Kind::HeavyBall) => heavy_ball(objective, pull),
            (Way::Hand, Kind::Nesterov) => nesterov(objective, pull),
            (Way::Hand, Kind::Adam) => adam(objective, pull),
        }
    }
    theta_bar.extend(x_bar);
    theta_bar
}

#[inline(never)]
fn library(system: &impl System<f64>, pull: &mut Pull<'_>) {
    let at = Point {
        theta: pull.theta,
        x: pull.x,
        t: TIME,
    };
    let seed = Seed {
        rate: pull.seed,
        criterion: 0.0,
        loss: 0.0,
    };
    let bar = Bar::new(pull.theta_bar, pull.x_bar);
    system.pullback(at, pull.gradient, seed, bar, pull.g_bar);
}

/// t of the step.
const TIME: f64 = 7.0;

#[inline(never)]
fn gradient_flow(objective: Bowl<'_>, pull: Pull<'_>) {
    let ([alpha], [alpha_bar]) = (pull.theta, pull.theta_bar) else {
        return;
    };
    let g_bar = &mut pull.g_bar[..objective.dim()];
    let mut by_alpha = 0.0;
    for ((seed, g), g_bar) in pull.seed.iter().zip(pull.gradient).zip(&mut *g_bar) {
        *g_bar = alpha * seed;
        by_alpha += g * seed;
    }
    *alpha_bar += by_alpha;
    objective.add_hessian_vector(pull.x, g_bar, &[], pull.x_bar, &mut []);
}

#[inline(never)]
fn preconditioned(objective: Bowl<'_>, pull: Pull<'_>) {
    let Pull {
        theta, theta_bar, ..
    } = pull;
    let g_bar = &mut pull.g_bar[..objective.dim()];
    let read = pull.seed.iter().zip(pull.gradient).zip(theta);
    for (((seed, g), theta), (theta_bar, g_bar)) in read.zip(theta_bar.iter_mut().zip(&mut *g_bar))
    {
        *g_bar = theta * seed;
        *theta_bar += g * seed;
    }
    objective.add_hessian_vector(pull.x, g_bar, &[], pull.x_bar, &mut []);
}

#[inline(never)]
fn projected(objective: Bowl<'_>, pull: Pull<'_>) {
    let ([alpha], [alpha_bar]) = (pull.theta, pull.theta_bar) else {
        return;
    };
    let g_bar = &mut pull.g_bar[..objective.dim()];
    let mut by_alpha = 0.0;
    let bounds = pull.bounds.0.iter().zip(pull.bounds.1);
    let read = pull
        .seed
        .iter()
        .zip(pull.gradient)
        .zip(pull.x.iter().zip(bounds));
    let written = pull.x_bar.iter_mut().zip(&mut *g_bar);
    for (((seed, g), (x, (lower, upper))), (x_bar, g_bar)) in read.zip(written) {
        let next = x - alpha * g;
        if next < *lower || next > *upper {
            *x_bar += seed;
            *g_bar = 0.0;
        } else {
            *g_bar = alpha * seed;
            by_alpha += g * seed;
        }
    }
    *alpha_bar += by_alpha;
    objective.add_hessian_vector(pull.x, g_bar, &[], pull.x_bar, &mut []);
}

#[inline(never)]
fn heavy_ball(objective: Bowl<'_>, pull: Pull<'_>) {
    let dim = objective.dim();
    let ([alpha, beta], [alpha_bar, beta_bar]) = (pull.theta, pull.theta_bar) else {
        return;
    };
    let (x, v) = pull.x.split_at(dim);
    let (x_bar, v_bar) = pull.x_bar.split_at_mut(dim);
    let (x_seed, v_seed) = pull.seed.split_at(dim);
    let g_bar = &mut pull.g_bar[..dim];
    let (mut by_alpha, mut by_beta) = (0.0, 0.0);
    let read = pull.gradient.iter().zip(v).zip(x_seed.iter().zip(v_seed));
    for (((g, v), (x_seed, v_seed)), (v_bar, g_bar)) in read.zip(v_bar.iter_mut().zip(&mut *g_bar))
    {
        let next = x_seed - v_seed;
        *v_bar += v_seed + beta * next;
        *g_bar = alpha * next;
        by_alpha += g * next;
        by_beta += v * next;
    }
    *alpha_bar += by_alpha;
    *beta_bar += by_beta;
    objective.add_hessian_vector(x, g_bar, &[], x_bar, &mut []);
}

#[inline(never)]
fn nesterov(objective: Bowl<'_>, pull: Pull<'_>) {
    let dim = objective.dim();
    let ([alpha, beta], [alpha_bar, beta_bar]) = (pull.theta, pull.theta_bar) else {
        return;
    };
    let (y, x) = pull.x.split_at(dim);
    let (y_bar, x_bar) = pull.x_bar.split_at_mut(dim);
    let (y_seed, x_seed) = pull.seed.split_at(dim);
    let g_bar = &mut pull.g_bar[..dim];
    let (mut by_alpha, mut by_beta) = (0.0, 0.0);
    let read = y.iter().zip(x).zip(y_seed.iter().zip(x_seed));
    let bars = y_bar.iter_mut().zip(x_bar.iter_mut()).zip(&mut *g_bar);
    for ((((y, x), (y_seed, x_seed)), ((y_bar, x_bar), g_bar)), g) in
        read.zip(bars).zip(pull.gradient)
    {
        let moved = x_seed + beta * y_seed;
        let descent = y_seed + moved;
        *y_bar -= moved;
        *x_bar += moved;
        *g_bar = alpha * descent;
        by_alpha += g * descent;
        by_beta += (x - y + alpha * g) * y_seed;
    }
    *alpha_bar += by_alpha;
    *beta_bar += by_beta;
    objective.add_hessian_vector(y, g_bar, &[], y_bar, &mut []);
}

#[inline(never)]
fn adam(objective: Bowl<'_>, pull: Pull<'_>) {
    let dim = objective.dim();
    let (&[alpha, beta1, beta2], [alpha_bar, beta1_bar, beta2_bar]) = (pull.theta, pull.theta_bar)
    else {
        return;
    };
    let n = TIME + 1.0;
    let (rest1, rest2) = (1.0 - beta1.powf(n), 1.0 - beta2.powf(n));
    let (step, inverse) = (alpha / rest1, 1.0 / rest2);
    let (x, moments) = pull.x.split_at(dim);
    let (m, v) = moments.split_at(dim);
    let (x_bar, moment_bars) = pull.x_bar.split_at_mut(dim);
    let (m_bar, v_bar) = moment_bars.split_at_mut(dim);
    let (x_seed, moment_seeds) = pull.seed.split_at(dim);
    let (m_seed, v_seed) = moment_seeds.split_at(dim);
    let g_bar = &mut pull.g_bar[..dim];
    let mut sums = [0.0; 4];
    let read = x_seed.iter().zip(m_seed.iter().zip(v_seed));
    let state = pull.gradient.iter().zip(m.iter().zip(v));
    let bars = m_bar.iter_mut().zip(v_bar).zip(&mut *g_bar);
    for (((a, (b, c)), (g, (m, v))), ((m_bar, v_bar), g_bar)) in read.zip(state).zip(bars) {
        let m_next = beta1 * m + (1.0 - beta1) * g;
        let v_next = beta2 * v + (1.0 - beta2) * (g * g);
        let corrected = inverse * v_next;
        let root = if corrected > 0.0 {
            corrected.sqrt()
        } else {
            0.0
        };
        let denominator = root + 1e-8;
        let quotient = m_next / denominator;
        let scaled = a * step / denominator;
        let corrected_bar = if corrected > 0.0 {
            -scaled * quotient / (2.0 * root)
        } else {
            0.0
        };
        let by_m = scaled - b;
        let by_v = corrected_bar * inverse - c;
        *m_bar += b + beta1 * by_m;
        *v_bar += c + beta2 * by_v;
        *g_bar = (1.0 - beta1) * by_m + 2.0 * (1.0 - beta2) * g * by_v;
        sums[0] += a * quotient;
        sums[1] += corrected_bar * v_next;
        sums[2] += (m - g) * by_m;
        sums[3] += (v - g * g) * by_v;
    }
    *alpha_bar += sums[0] / rest1;
    *beta1_bar += sums[2] + sums[0] * step / rest1 * n * beta1.powf(n - 1.0);
    *beta2_bar += sums[3] + sums[1] * inverse * inverse * n * beta2.powf(n - 1.0);
    objective.add_hessian_vector(x, g_bar, &[], x_bar, &mut []);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree() {
        for (kind, name) in Kind::ALL {
            let [library, hand] = [Way::Library, Way::Hand].map(|way| pullbacks(kind, way, 33, 2));
            let size = hand.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
            for (a, b) in library.iter().zip(&hand) {
                assert!((a - b).abs() < 1e-14 * size, "{name}: {a} {b}");
            }
        }
    }
}
