//! Family of nonlinear systems of any size, with hand-written derivatives and a tape.

use dst_core::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};

/// A_i = Σ_j M_ij x_j + θ_{i mod p}·x_i + x_i³/10, J = scale·‖x‖²; M is diagonally dominant, so that runs stop.
#[derive(Clone, Debug)]
pub struct RandomSystem {
    /// d
    pub states: usize,
    /// p
    pub params: usize,
    /// M, row by row.
    pub matrix: Vec<f64>,
    /// Factor of J.
    pub scale: f64,
}

impl RandomSystem {
    /// Creates a system from d, p and any list of numbers in [−1, 1].
    pub fn new(states: usize, params: usize, numbers: &[f64]) -> Self {
        let mut matrix: Vec<f64> = (0..states * states)
            .map(|i| 0.3 * numbers[i % numbers.len()] / states as f64)
            .collect();
        for i in 0..states {
            matrix[i * states + i] += 1.0;
        }
        Self {
            states,
            params,
            matrix,
            scale: 1.0,
        }
    }

    fn parameter<'t>(&self, theta: &'t [f64], i: usize) -> &'t f64 {
        &theta[i % self.params]
    }
}

impl System<f64> for RandomSystem {
    fn dims(&self) -> Dims {
        Dims::new(self.states, self.params).with_tape(self.states)
    }
    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        tape: &mut [f64],
        _: &mut [f64],
    ) -> Reading<f64> {
        let mut j = 0.0;
        for (i, row) in self.matrix.chunks(self.states).enumerate() {
            let x = at.x[i];
            tape[i] = x * x;
            rate[i] = self.parameter(at.theta, i) * x + 0.1 * x * tape[i];
            for (m, x) in row.iter().zip(at.x) {
                rate[i] += m * x;
            }
            j += tape[i];
        }
        Reading {
            criterion: self.scale * j,
            loss: j,
        }
    }
    fn pullback(
        &self,
        at: Point<'_, f64>,
        tape: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        _: &mut [f64],
    ) {
        for (i, row) in self.matrix.chunks(self.states).enumerate() {
            let a = seed.rate[i];
            bar.theta[i % self.params] += a * at.x[i];
            bar.x[i] += a * (self.parameter(at.theta, i) + 0.3 * tape[i]);
            bar.x[i] += 2.0 * (self.scale * seed.criterion + seed.loss) * at.x[i];
            for (m, x_bar) in row.iter().zip(bar.x.iter_mut()) {
                *x_bar += a * m;
            }
        }
    }
    fn pushforward(
        &self,
        at: Point<'_, f64>,
        tape: &[f64],
        along: Direction<'_, f64>,
        rate: &mut [f64],
        _: &mut [f64],
    ) -> Reading<f64> {
        let mut j = 0.0;
        for (i, row) in self.matrix.chunks(self.states).enumerate() {
            let (x, dx) = (at.x[i], along.x[i]);
            rate[i] = self.parameter(along.theta, i) * x
                + (self.parameter(at.theta, i) + 0.3 * tape[i]) * dx;
            for (m, dx) in row.iter().zip(along.x) {
                rate[i] += m * dx;
            }
            j += 2.0 * x * dx;
        }
        Reading {
            criterion: self.scale * j,
            loss: j,
        }
    }
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: Some(2),
        }
    }
}
