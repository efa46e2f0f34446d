//! Constants of the exact controllers of the two plants, in single precision.

use dst_core::mpc::{Controller, Response, RollOut};
use dst_core::qp::{ActiveSet, Inversion};
use dst_std::control::plants::Plant;

/// Numbers of a controller.
pub struct Constants {
    inputs: usize,
    parameters: usize,
    blocks: usize,
    capacity: usize,
    gram: Vec<f32>,
    scale: Vec<f32>,
    map: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
    outputs: Vec<f32>,
    feed: Vec<f32>,
    lower: Vec<f32>,
    upper: Vec<f32>,
    tolerance: f32,
}

impl Constants {
    /// Computes W and the map from the condensed program; a roll-out if the cost is that of the inputs alone.
    pub fn of(plant: &Plant, capacity: usize, tolerance: f32) -> Self {
        let program = &plant.program;
        let shape = program.shape;
        let (nu, ny, stages) = (shape.inputs, shape.outputs, shape.stages);
        let (n, kinds, states) = (nu * stages, nu + ny, program.states);
        let m = kinds * stages;
        let mut inverse = program.hessian.clone();
        assert!(Inversion::new(n).complete(&mut inverse, &mut vec![0.0; n]));
        // Rows of A stage by stage: inputs, then outputs; their inputs are column by column without leading zeros.
        let mut rows = vec![vec![0.0; n]; m];
        let mut entries = program.outputs.iter();
        for j in 0..n {
            rows[j / nu * kinds + j % nu][j] = 1.0;
            for stage in j / nu..stages {
                for output in 0..ny {
                    rows[stage * kinds + nu + output][j] = *entries.next().unwrap();
                }
            }
        }
        let product: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| {
                let entry = |j: usize| (0..n).map(|i| row[i] * inverse[i * n + j]).sum();
                (0..n).map(entry).collect()
            })
            .collect();
        let inner = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let gram: Vec<f64> = product
            .iter()
            .flat_map(|p| rows.iter().map(|r| inner(p, r)).collect::<Vec<_>>())
            .collect();
        let scale = (0..m).map(|j| (1.0 / gram[j * (m + 1)].sqrt()) as f32);
        let single = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let mut map = Vec::new();
        let roll_out = program.linear.is_empty();
        for k in 0..if roll_out { 0 } else { states } {
            let column = &program.linear[k * n..(k + 1) * n];
            map.extend(product.iter().map(|p| -inner(p, column) as f32));
        }
        let identity = |n: usize| (0..n * n).map(move |i| f32::from(u8::from(i % (n + 1) == 0)));
        Self {
            inputs: nu,
            parameters: states,
            blocks: shape.blocks,
            capacity,
            scale: scale.collect(),
            gram: single(&gram),
            map,
            a: single(&plant.a),
            b: single(&plant.b),
            outputs: identity(states).collect(),
            feed: vec![(1.0 / program.hessian[0]) as f32],
            lower: single(&program.lower),
            upper: single(&program.upper),
            tolerance,
        }
    }

    pub fn controller(&self) -> Controller<'_, f32> {
        Controller {
            inputs: self.inputs,
            parameters: self.parameters,
            blocks: self.blocks,
            capacity: self.capacity,
            set: ActiveSet {
                gram: &self.gram,
                scale: &self.scale,
                caps: &[],
                lifts: &[],
                tolerance: self.tolerance,
            },
            response: if self.map.is_empty() {
                Response::RollOut(RollOut {
                    a: &self.a,
                    b: &self.b,
                    feedback: &[],
                    outputs: &self.outputs,
                    feed: &self.feed,
                })
            } else {
                Response::Map(&self.map)
            },
            lower: &self.lower,
            upper: &self.upper,
        }
    }
}
