//! The knobs of a controller: weights by kind of constraint and by stage, and when they switch.

use dst_core::qp::Knobs;

use super::program::Program;
use super::tuned::Tuned;

/// The knobs: R = base·exp(Φθ) and α, per phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Knobset {
    /// R at θ = 0.
    pub base: Vec<f64>,
    /// Φ, row by row.
    pub basis: Vec<f64>,
    /// Iterations at which the second, third … phase begins.
    pub switches: Vec<usize>,
}

impl Knobset {
    /// A level and a slope against ln(stage) for every kind of constraint; `kinds` are as in
    /// [`Plant::kinds`](super::plants::Plant::kinds).
    pub fn levels_and_slopes(
        program: &Program<f64>,
        base: Vec<f64>,
        kinds: &[usize],
        switches: &[usize],
    ) -> Self {
        let stages = program.shape.stages;
        // Centred, so that the slope leaves the level alone.
        let logs: Vec<f64> = (1..=stages).map(|k| libm::log(k as f64)).collect();
        let mean = logs.iter().sum::<f64>() / stages as f64;
        let width = 2 * kinds.len();
        Self::by_place(program, base, kinds, switches, width, |row, kind, stage| {
            row[2 * kind] = 1.0;
            row[2 * kind + 1] = logs[stage] - mean;
        })
    }

    /// One knob for every kind and stage.
    pub fn each_stage(
        program: &Program<f64>,
        base: Vec<f64>,
        kinds: &[usize],
        switches: &[usize],
    ) -> Self {
        let stages = program.shape.stages;
        let width = stages * kinds.len();
        Self::by_place(program, base, kinds, switches, width, |row, kind, stage| {
            row[kind * stages + stage] = 1.0;
        })
    }

    /// `fill` writes the row of Φ of a constraint of this kind and stage.
    fn by_place(
        program: &Program<f64>,
        base: Vec<f64>,
        kinds: &[usize],
        switches: &[usize],
        width: usize,
        fill: impl Fn(&mut [f64], usize, usize),
    ) -> Self {
        let shape = program.shape;
        let n = shape.variables();
        // Which kind the rows of one stage are: inputs, then outputs.
        let kind_of: Vec<usize> = kinds
            .iter()
            .enumerate()
            .flat_map(|(kind, &count)| std::iter::repeat_n(kind, count))
            .collect();
        let mut basis = vec![0.0; shape.rows() * width];
        for (i, row) in basis.chunks_exact_mut(width).enumerate() {
            let (place, stage) = if i < n {
                (i % shape.inputs, i / shape.inputs)
            } else {
                let i = i - n;
                (shape.inputs + i % shape.outputs, i / shape.outputs)
            };
            fill(row, kind_of[place], stage);
        }
        Self {
            base,
            basis,
            switches: switches.to_vec(),
        }
    }

    /// The map of dst-core.
    pub fn knobs(&self) -> Knobs<'_, f64> {
        Knobs {
            base: &self.base,
            basis: &self.basis,
            phases: self.switches.len() + 1,
        }
    }

    /// θ where R = ρ·base and α are the same in all phases.
    pub fn start(&self, rho: f64, alpha: f64) -> Vec<f64> {
        let knobs = self.knobs();
        let width = knobs.per_phase();
        // ln ρ on every row, by least squares over Φ with orthogonal columns; exact when levels are among the knobs.
        let mut phase = vec![0.0; width + 1];
        for (j, knob) in phase.iter_mut().take(width).enumerate() {
            let column = self.basis.iter().skip(j).step_by(width);
            let (sum, square) = column.fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
            *knob = libm::log(rho) * sum / square;
        }
        phase[width] = Knobs::logit(alpha);
        phase.repeat(self.switches.len() + 1)
    }

    /// The parameters of θ with their inverses; `None` where they are not finite or K does not exist.
    pub fn tuned(&self, program: &Program<f64>, theta: &[f64]) -> Option<Tuned<f64>> {
        let phases = self.switches.len() + 1;
        let mut params = vec![0.0; phases * program.shape.phase_params()];
        self.knobs().params(theta, &mut params);
        Tuned::new(program, params, self.switches.clone())
    }
}
