//! The two plants of the control experiment, and the ticks that they meet.
//!
//! *Safety filter*: four equal axes, each a double integrator with h = 0.05. Keep |u| ≤ 3, |position| ≤ 1, |velocity| ≤ 1 over nine
//! stages and stay as close as possible to what a nominal PD controller wants, which follows a sine that leaves the box. A tick
//! starts anywhere from where braking in time is possible, a stage late even.
//!
//! *Quadrotor*: the Crazyflie, linearised at hover, twelve states at 20 Hz, |u| ≤ 0.5, nine stages. A, B and the weights are those
//! that TinyMPC publishes (`quadrotor_20hz`, MIT licence).

use dst_core::qp::{Shape, Tolerance};

use super::active_program::{ActiveProgram, RollOutData};
use super::model::{Limits, Model, ModelError};
use super::program::Program;
use crate::random::{bits, uniform};

/// A plant with the ticks that it meets.
#[derive(Clone, Debug)]
pub struct Plant {
    /// One word.
    pub name: &'static str,
    /// Its program for ADMM.
    pub program: Program<f64>,
    /// Its program for the active set.
    pub active: ActiveProgram<f64>,
    /// A: x⁺ = Ax + Bu, of one block, row by row.
    pub a: Vec<f64>,
    /// B, row by row.
    pub b: Vec<f64>,
    /// Names of the kinds of constraints, in the order of the rows of a stage: inputs, then outputs.
    pub kinds: &'static [(&'static str, usize)],
    /// The state and the extra term of g of tick `index` of a stream.
    pub draw: fn(u64, u64) -> (Vec<f64>, Vec<f64>),
}

impl Plant {
    /// The first `count` ticks of a stream.
    pub fn pool(&self, seed: u64, count: usize) -> super::Pool<f64> {
        let draws = (0..count as u64).map(|i| (self.draw)(seed, i));
        super::Pool::of_states(&self.program, draws)
    }

    /// x⁺ = Ax + Bu, for all blocks, in the order in which the firmware computes it.
    pub fn advance(&self, x: &mut [f32], u: &[f32]) {
        let (nx, nu) = (self.program.states, self.program.shape.inputs);
        for (x, u) in x.chunks_exact_mut(nx).zip(u.chunks_exact(nu)) {
            let old = x.to_vec();
            for (i, x) in x.iter_mut().enumerate() {
                let a = &self.a[i * nx..(i + 1) * nx];
                let b = &self.b[i * nu..(i + 1) * nu];
                let mut sum = 0.0;
                for (&a, &x) in a.iter().zip(&old) {
                    sum += a as f32 * x;
                }
                for (&b, &u) in b.iter().zip(u) {
                    sum += b as f32 * u;
                }
                *x = sum;
            }
        }
    }
}

/// Position, attitude (Rodrigues), velocity, rates; x⁺ = Ax + Bu at 20 Hz.
#[rustfmt::skip]
const CRAZYFLIE_A: [[f64; 12]; 12] = [
    [1.0, 0.0, 0.0, 0.0, 0.024525, 0.0, 0.05, 0.0, 0.0, 0.0, 0.0002044, 0.0],
    [0.0, 1.0, 0.0, -0.024525, 0.0, 0.0, 0.0, 0.05, 0.0, -0.0002044, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.025, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.025, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.025],
    [0.0, 0.0, 0.0, 0.0, 0.981, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0122625, 0.0],
    [0.0, 0.0, 0.0, -0.981, 0.0, 0.0, 0.0, 1.0, 0.0, -0.0122625, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
];
/// Four motors.
#[rustfmt::skip]
const CRAZYFLIE_B: [[f64; 4]; 12] = [
    [-0.0007069, 0.0007773, 0.0007091, -0.0007795],
    [0.0007034, 0.0007747, -0.0007042, -0.0007739],
    [0.0052554, 0.0052554, 0.0052554, 0.0052554],
    [-0.1720966, -0.1895213, 0.1722891, 0.1893288],
    [-0.1729419, 0.190174, 0.1734809, -0.1907131],
    [0.0123423, -0.0045148, -0.0174024, 0.0095748],
    [-0.056552, 0.0621869, 0.0567283, -0.0623632],
    [0.0562756, 0.0619735, -0.0563386, -0.0619105],
    [0.2102143, 0.2102143, 0.2102143, 0.2102143],
    [-13.7677303, -15.1617018, 13.7831318, 15.1463003],
    [-13.8353509, 15.2139209, 13.8784751, -15.2570451],
    [0.9873856, -0.361182, -1.392188, 0.7659845],
];
const CRAZYFLIE_Q: [f64; 12] = [
    100.0, 100.0, 100.0, 4.0, 4.0, 400.0, 4.0, 4.0, 4.0, 2.0408163, 2.0408163, 4.0,
];
const CRAZYFLIE_R: [f64; 4] = [4.0; 4];

/// The Crazyflie as anybody would write down their own plant.
pub fn quadrotor_model() -> Model {
    Model {
        a: CRAZYFLIE_A.iter().map(|row| row.to_vec()).collect(),
        b: CRAZYFLIE_B.iter().map(|row| row.to_vec()).collect(),
        q: CRAZYFLIE_Q.to_vec().into(),
        r: CRAZYFLIE_R.to_vec().into(),
        inputs: vec![Limits::between(-0.5, 0.5); 4],
        start: vec![1.0, 1.0, 1.0, 0.3, 0.3, 0.3, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0].into(),
        horizon: 9,
        primal_tolerance: Some(1e-3),
        dual_tolerance: Some(0.04),
        ..Model::default()
    }
}

/// Both plants: safety filter, quadrotor.
pub fn plants() -> Result<[Plant; 2], ModelError> {
    Ok([safety_filter(), quadrotor()?])
}

/// The quadrotor.
pub fn quadrotor() -> Result<Plant, ModelError> {
    Ok(Plant {
        name: "quadrotor",
        program: quadrotor_model().program()?,
        active: quadrotor_model().active_program()?,
        a: CRAZYFLIE_A.as_flattened().to_vec(),
        b: CRAZYFLIE_B.as_flattened().to_vec(),
        kinds: &[("inputs", 4)],
        draw: quadrotor_state,
    })
}

/// Uniform in ±(1, 1, 1, .3, .3, .3, 1, …) times a uniform scale of 0.05–1.
fn quadrotor_state(seed: u64, index: u64) -> (Vec<f64>, Vec<f64>) {
    let stream = bits(seed, index);
    let scale = 0.05 + 0.95 * uniform(stream, 0);
    let entry = |i: u64| {
        let range = if (3..6).contains(&i) { 0.3 } else { 1.0 };
        scale * range * (2.0 * uniform(stream, i + 1) - 1.0)
    };
    ((0..12).map(entry).collect(), Vec::new())
}

/// Seconds of a stage.
const H: f64 = 0.05;
const AXES: usize = 4;
const STAGES: usize = 9;
const ACCELERATION: f64 = 3.0;
/// Position and velocity.
const LIMIT: f64 = 1.0;
/// The cost is EFFORT·‖u − u_nominal‖².
const EFFORT: f64 = 100.0;
/// Gains of the nominal controller.
const GAINS: (f64, f64) = (7.0, 3.0);

/// The sine that the nominal controller of one axis follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sine {
    /// The position's.
    pub amplitude: f64,
    /// In radians per second.
    pub frequency: f64,
    /// At time zero.
    pub phase: f64,
}

impl Sine {
    /// Random: amplitude 1–2.5, frequency 0.5–2, any phase.
    pub fn random(seed: u64) -> Self {
        Self {
            amplitude: 1.0 + 1.5 * uniform(seed, 0),
            frequency: 0.5 + 1.5 * uniform(seed, 1),
            phase: std::f64::consts::TAU * uniform(seed, 2),
        }
    }

    /// Input of the PD controller at this time and state.
    fn wanted(&self, t: f64, (p, v): (f64, f64)) -> f64 {
        let (sin, cos) = libm::sincos(self.frequency * t + self.phase);
        let (target, speed) = (self.amplitude * sin, self.amplitude * self.frequency * cos);
        GAINS.0 * (target - p) + GAINS.1 * (speed - v)
    }

    /// −H·u_nominal over the horizon: the nominal controller carried forward from this state.
    pub fn linear(&self, start: f64, (mut p, mut v): (f64, f64)) -> [f64; STAGES] {
        std::array::from_fn(|k| {
            let u = self.wanted(start + k as f64 * H, (p, v));
            p += H * v + 0.5 * H * H * u;
            v += H * u;
            -2.0 * EFFORT * u
        })
    }
}

/// The safety filter.
pub fn safety_filter() -> Plant {
    let shape = Shape {
        inputs: 1,
        outputs: 2,
        stages: STAGES,
        blocks: AXES,
    };
    let mut hessian = vec![0.0; STAGES * STAGES];
    (0..STAGES).for_each(|i| hessian[i * STAGES + i] = 2.0 * EFFORT);
    // Stage k after an input at stage j: position h²(k − j + ½), velocity h.
    let effect = |steps: usize| [H * H * (steps as f64 + 0.5), H];
    let outputs = (0..STAGES).flat_map(|j| (0..STAGES - j).flat_map(effect));
    let free = [[1.0, 0.0]; STAGES].into_iter().flatten();
    let drift = (1..=STAGES).flat_map(|k| [k as f64 * H, 1.0]);
    let upper = vec![ACCELERATION, LIMIT, LIMIT];
    let program = Program {
        shape,
        states: 2,
        hessian,
        outputs: outputs.collect(),
        linear: Vec::new(),
        free: free.chain(drift).collect(),
        lower: upper.iter().map(|b| -b).collect(),
        upper,
        tolerance: Tolerance {
            primal: 1e-3,
            dual: 1e-3,
            dual_relative: 1e-3,
        },
    };
    Plant {
        name: "safety filter",
        active: safety_filter_active(&program),
        program,
        a: vec![1.0, H, 0.0, 1.0],
        b: vec![0.5 * H * H, H],
        kinds: &[("inputs", 1), ("positions", 1), ("velocities", 1)],
        draw: safety_tick,
    }
}

/// The same for the active set: P = 2·EFFORT·I, so W = A·Aᵀ/(2·EFFORT) and the unconstrained solution is the nominal one.
fn safety_filter_active(program: &Program<f64>) -> ActiveProgram<f64> {
    let (kinds, stages) = (3, STAGES);
    // The rows of the program are the inputs of all stages, then the outputs; here they are ordered stage by stage.
    let rows = program.constraint_rows();
    let row = |j: usize| match (j / kinds, j % kinds) {
        (stage, 0) => &rows[stage],
        (stage, kind) => &rows[stages + 2 * stage + kind - 1],
    };
    let m = kinds * stages;
    let entry = |i: usize, j: usize| {
        let products = row(i).iter().zip(row(j)).map(|(a, b)| a * b);
        products.sum::<f64>() / (2.0 * EFFORT)
    };
    let gram: Vec<f64> = (0..m * m).map(|k| entry(k / m, k % m)).collect();
    ActiveProgram {
        inputs: 1,
        parameters: 2,
        stages,
        blocks: AXES,
        kinds,
        scale: (0..m).map(|j| 1.0 / gram[j * m + j].sqrt()).collect(),
        gram,
        caps: Vec::new(),
        lifts: Vec::new(),
        lower: program.lower.clone(),
        upper: program.upper.clone(),
        // The rows depend on the nominal inputs, and a map from state and nominal inputs would have 27 × 11 entries.
        response: Vec::new(),
        roll_out: Some(RollOutData {
            a: vec![1.0, H, 0.0, 1.0],
            b: vec![0.5 * H * H, H],
            feedback: Vec::new(),
            outputs: Vec::new(),
            feed: vec![0.5 / EFFORT],
        }),
        names: ["input", "position", "velocity"].map(str::to_owned).into(),
        soft: Vec::new(),
    }
}

/// One axis with a regulator and bounded inputs only: well conditioned, so that projected gradient has a chance. (The condition
/// number of the quadrotor's H is 3·10⁵, which no momentum makes up for.)
pub fn axis_model() -> Model {
    Model {
        a: vec![vec![1.0, H], vec![0.0, 1.0]],
        b: vec![vec![0.5 * H * H], vec![H]],
        q: vec![50.0, 5.0].into(),
        r: vec![1.0].into(),
        inputs: vec![Limits::between(-ACCELERATION, ACCELERATION)],
        start: vec![1.0, 1.0].into(),
        horizon: 20,
        primal_tolerance: Some(1e-3),
        dual_tolerance: Some(1e-3),
        ..Model::default()
    }
}

/// Distance until an axis stands, if it brakes at the bound from the next stage on.
fn braking_distance(speed: f64) -> f64 {
    H * speed + 0.5 * speed * speed / ACCELERATION
}

fn safety_tick(seed: u64, index: u64) -> (Vec<f64>, Vec<f64>) {
    let stream = bits(seed, index);
    let (mut x, mut extra) = (Vec::new(), Vec::new());
    for axis in 0..AXES as u64 {
        let stream = bits(stream, axis);
        let side = |i: u64| 2.0 * uniform(stream, i) - 1.0;
        // Drawn until braking in time is possible.
        let draw = |k: u64| (LIMIT * side(2 * k + 3), LIMIT * side(2 * k + 4));
        let safe = |&(p, v): &(f64, f64)| {
            let end = p + v.signum() * braking_distance(v.abs());
            end.abs() <= LIMIT
        };
        let (p, v) = (0..).map(draw).find(safe).unwrap_or((0.0, 0.0));
        x.extend([p, v]);
        extra.extend(Sine::random(stream).linear(0.0, (p, v)));
    }
    (x, extra)
}
