//! Adam, of Kingma and Ba (2015).

/// First and second moments of the gradient.
pub(super) struct Adam {
    first: Vec<f64>,
    second: Vec<f64>,
    steps: i32,
    rate: f64,
}

impl Adam {
    pub(super) fn new(len: usize, rate: f64) -> Self {
        Self {
            first: vec![0.0; len],
            second: vec![0.0; len],
            steps: 0,
            rate,
        }
    }

    /// One step; `decay` shortens it.
    pub(super) fn step(&mut self, theta: &mut [f64], gradient: &[f64], decay: f64) {
        self.steps += 1;
        // Batches with a slow tick come now and then, and the knobs change what is slow: a short memory of the squares.
        let (b1, b2) = (0.9, 0.98);
        let [c1, c2] = [b1, b2].map(|b: f64| 1.0 - b.powi(self.steps));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((theta, g), (m, v)) in theta.iter_mut().zip(gradient).zip(moments) {
            *m = b1 * *m + (1.0 - b1) * g;
            *v = b2 * *v + (1.0 - b2) * g * g;
            *theta -= decay * self.rate * (*m / c1) / ((*v / c2).sqrt() + 1e-8);
        }
    }
}
