//! A plant in closed loop: its programs, its matrices, and the runs that it meets.
//!
//! A run starts from a random state. Set-points are drawn at its first tick and once more in its middle, so that it contains a step.
//! Measurement noise is added to the state that the controller sees, and the disturbance to the state itself. All random numbers are
//! functions of the stream, the number of the run and the tick, so a run does not depend on the others.

use super::active_program::ActiveProgram;
use super::model::{Model, ModelError, Start};
use super::plants::{Plant, Sine};
use super::program::Program;
use crate::format::short;
use crate::random::{bits, normal};

/// Seconds per tick of the built-in plants.
const H: f64 = 0.05;
/// Streams of a run beside that of its start.
const NOISE: u64 = 3 << 40;
const DISTURBANCE: u64 = 4 << 40;
const STEP: u64 = 5 << 40;

/// A plant with its programs and its runs.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name of its files and in messages.
    pub name: String,
    /// Program of the active set.
    pub active: ActiveProgram<f64>,
    /// Program of ADMM.
    pub program: Program<f64>,
    /// Map from the parameter to the inputs, if the variables of ADMM are not the inputs; see [`Model::input_map`].
    pub input_map: Option<Vec<f64>>,
    /// Numbers of rows of a stage that share the knobs of ADMM.
    pub kinds: Vec<usize>,
    /// A and B of a block, row by row.
    pub plant: (Vec<f64>, Vec<f64>),
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Model(Box<Model>),
    /// The draw of a built-in plant, and whether its ticks have an extra term.
    BuiltIn(fn(u64, u64) -> (Vec<f64>, Vec<f64>), bool),
}

/// State of one run.
#[derive(Clone, Debug)]
pub struct Run {
    stream: u64,
    tick: u64,
    x: Vec<f64>,
    references: Vec<f64>,
    previous: Vec<f64>,
    sines: Vec<Sine>,
}

impl Scenario {
    /// The scenario of a model.
    pub fn of_model(name: &str, model: &Model) -> Result<Self, ModelError> {
        let active = model.active_program()?;
        let program = model.program()?;
        let inputs = program.shape.inputs;
        let kinds = std::iter::once(inputs).chain(std::iter::repeat_n(1, program.shape.outputs));
        Ok(Self {
            name: name.to_owned(),
            active,
            kinds: kinds.collect(),
            program,
            input_map: model.input_map()?,
            plant: model.plant(),
            source: Source::Model(Box::new(model.clone())),
        })
    }

    /// The scenario of a built-in plant.
    pub fn of_plant(plant: &Plant) -> Self {
        Self {
            name: plant.name.to_owned(),
            active: softened(&plant.active),
            program: plant.program.clone(),
            input_map: None,
            kinds: plant.kinds.iter().map(|k| k.1).collect(),
            plant: (plant.a.clone(), plant.b.clone()),
            source: Source::BuiltIn(plant.draw, plant.program.linear.is_empty()),
        }
    }

    /// States of a block.
    pub fn states(&self) -> usize {
        self.plant.0.len().isqrt()
    }

    /// Start of run `number` of a stream.
    pub fn run(&self, stream: u64, number: u64) -> Run {
        let own = bits(stream, number);
        let mut run = Run {
            stream: own,
            tick: 0,
            x: Vec::new(),
            references: Vec::new(),
            previous: Vec::new(),
            sines: Vec::new(),
        };
        match &self.source {
            Source::Model(model) => {
                let p = model.draw(stream, number);
                let (states, references) = (model.state_count(), model.references.len());
                run.x = p[..states].to_vec();
                run.references = p[states..states + references].to_vec();
                run.previous = p[states + references..].to_vec();
            }
            Source::BuiltIn(draw, extra) => {
                run.x = draw(stream, number).0;
                if *extra {
                    let axes = 0..self.active.blocks as u64;
                    run.sines = axes.map(|axis| Sine::random(bits(own, axis))).collect();
                }
            }
        }
        run
    }

    /// Parameter and extra term that the controller gets at this tick of a run of `ticks` ticks.
    pub fn measure(&self, run: &mut Run, ticks: usize) -> (Vec<f32>, Vec<f32>) {
        let mut p: Vec<f32> = run.x.iter().map(|&x| x as f32).collect();
        let mut extra = Vec::new();
        match &self.source {
            Source::Model(model) => {
                let middle = (ticks / 2) as u64;
                if run.tick == middle && middle > 0 {
                    run.references = model.draw_references(bits(run.stream, STEP), run.tick);
                }
                let noise = bits(bits(run.stream, NOISE), run.tick);
                for ((i, p), sigma) in p.iter_mut().enumerate().zip(&model.noise) {
                    if *sigma > 0.0 {
                        *p = (run.x[i] + sigma * normal(noise, i as u64)) as f32;
                    }
                }
                p.extend(run.references.iter().map(|&r| r as f32));
                p.extend(run.previous.iter().map(|&u| u as f32));
            }
            Source::BuiltIn(..) => {
                let axes = run.x.chunks_exact(self.states()).zip(&run.sines);
                let time = run.tick as f64 * H;
                extra = axes
                    .flat_map(|(x, sine)| sine.linear(time, (x[0], x[1])))
                    .map(|g| g as f32)
                    .collect();
            }
        }
        (p, extra)
    }

    /// Applies the inputs: x⁺ = Ax + Bu and the disturbance.
    pub fn advance(&self, run: &mut Run, inputs: &[f32]) {
        let (a, b) = &self.plant;
        let nx = self.states();
        let nu = b.len() / nx.max(1);
        let old = std::mem::take(&mut run.x);
        for (x, u) in old.chunks_exact(nx).zip(inputs.chunks_exact(nu)) {
            for (a, b) in a.chunks_exact(nx).zip(b.chunks_exact(nu)) {
                let drift: f64 = a.iter().zip(x).map(|(a, x)| a * x).sum();
                let push: f64 = b.iter().zip(u).map(|(b, &u)| b * f64::from(u)).sum();
                run.x.push(drift + push);
            }
        }
        if let Source::Model(model) = &self.source {
            let stream = bits(bits(run.stream, DISTURBANCE), run.tick);
            for ((i, x), sigma) in run.x.iter_mut().enumerate().zip(&model.disturbance) {
                if *sigma > 0.0 {
                    *x += sigma * normal(stream, i as u64);
                }
            }
            if !run.previous.is_empty() {
                run.previous = inputs.iter().map(|&u| f64::from(u)).collect();
            }
        }
        run.tick += 1;
    }

    /// Parameter and extra term of a tick from a cold start.
    pub fn cold(&self, stream: u64, number: u64) -> (Vec<f32>, Vec<f32>) {
        let (p, extra) = match &self.source {
            Source::Model(model) => (model.draw(stream, number), Vec::new()),
            Source::BuiltIn(draw, _) => draw(stream, number),
        };
        let single = |v: Vec<f64>| v.iter().map(|&v| v as f32).collect();
        (single(p), single(extra))
    }

    /// Hash of the model, or of the tables of a built-in plant: FNV-1a with 64 bits, in hexadecimal.
    pub fn hash(&self) -> String {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut add = |bytes: &[u8]| {
            for &byte in bytes {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        let mut tables = vec![&self.plant.0, &self.plant.1];
        match &self.source {
            Source::Model(model) => {
                add(serde_json::to_string(model).unwrap_or_default().as_bytes());
                if let Start::File { states, .. } = &model.start {
                    tables.extend(states);
                }
            }
            Source::BuiltIn(..) => {
                let ActiveProgram {
                    gram, lower, upper, ..
                } = &self.active;
                tables.extend([gram, lower, upper]);
            }
        }
        for number in tables.into_iter().flatten() {
            add(&number.to_bits().to_le_bytes());
        }
        format!("{hash:016x}")
    }

    /// The start set in words, for messages.
    pub fn start_words(&self) -> String {
        let Source::Model(model) = &self.source else {
            return "the start set of the plant".to_owned();
        };
        match &model.start {
            Start::File { file, .. } => format!("the states of {file}"),
            Start::Within(_) | Start::Box { .. } => {
                let ranges = model.start.ranges();
                let range = |(i, r): (usize, &super::Limits)| {
                    let name = model.state_name(i);
                    format!("{name} {} to {}", short(r.lower), short(r.upper))
                };
                let all: Vec<String> = ranges.iter().enumerate().map(range).collect();
                format!("the start set ({})", all.join(", "))
            }
        }
    }

    /// State of the start of a run in words.
    pub fn state_words(&self, stream: u64, number: u64) -> String {
        let run = self.run(stream, number);
        let numbers: Vec<String> = run.x.iter().map(|&x| short(x)).collect();
        format!("[{}]", numbers.join(", "))
    }
}

/// The program with exact ℓ1 penalties on its outputs. A state that rides on its bound leaves it by rounding, and the hard program has
/// no solution then. The weight is the multiplier that moves an output of the first stage as far as the first input can.
fn softened(program: &ActiveProgram<f64>) -> ActiveProgram<f64> {
    let mut soft = program.clone();
    if !soft.caps.is_empty() || soft.kinds == soft.inputs {
        return soft;
    }
    let m = soft.rows();
    let width = soft.upper[0] - soft.lower[0];
    let cap = |kind: usize| {
        let moved = (soft.gram[kind * m] / soft.gram[0]).abs();
        width * moved / soft.gram[kind * m + kind]
    };
    let outputs = soft.inputs..soft.kinds;
    let caps = std::iter::repeat_n(f64::INFINITY, soft.inputs).chain(outputs.clone().map(cap));
    soft.caps = caps.collect();
    soft.soft = outputs.collect();
    soft
}
