//! Certificates hold for exported controllers in C: fresh closed loops of six models, late runs within the bound, inputs within the
//! accuracy.
//!
//! The header is compiled by `cc -O2` with tests/c/loops.c. All runs of a model advance together: this program simulates the plants in
//! double precision and exchanges the parameters and inputs of a tick through pipes.
//! A quick export certifies with 300 runs: at most 1 % of the runs are late.

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dst_core::qp::Status;
use dst_std::control::export::{Exported, Request, SolverChoice, export};
use dst_std::control::{
    ExactSession, Model, Run, Scenario, exact_session, input_error, plants::quadrotor,
};
use dst_std::progress::Progress;

#[path = "scratch/mod.rs"]
mod scratch;

use scratch::Scratch;

const TICKS: usize = 60;
/// Fresh runs of a model.
const RUNS: usize = 10_000;
/// Runs whose inputs are compared with the exact solution.
const COMPARED: usize = 60;
/// A stream that no export draws from.
const FRESH: u64 = 0x0c0d_e5ee_d0c5;

/// A plant of `models`.
fn stored(name: &str) -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let model = Model::read(&folder.join(format!("{name}.json")));
    let model = model.unwrap_or_else(|e| panic!("{name}: {e}"));
    Scenario::of_model(name, &model).unwrap()
}

fn request() -> Request {
    Request {
        ticks: TICKS,
        solver: SolverChoice::ActiveSet,
        quick: true,
        ..Request::default()
    }
}

/// Writes the files of an export and compiles them.
fn compile(made: &Exported, folder: &Scratch) -> PathBuf {
    for (name, content) in &made.files {
        std::fs::write(folder.path(name), content).unwrap();
    }
    let program = folder.0.join("loops");
    let loops = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/c/loops.c");
    // The linker of Rust is a C compiler, so there is one.
    let status = Command::new("cc")
        .args(["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion"])
        .args(["-Wpedantic", "-Wshadow", "-Werror"])
        .arg(format!("-DCONTROLLER={}", made.name))
        .arg(format!("-DHEADER=\"{}.h\"", made.name))
        .arg("-I")
        .arg(&folder.0)
        .arg(loops)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(status.expect("a C compiler").success(), "{}", made.name);
    program
}

/// Result of a tick in C.
struct TickInC {
    solved: bool,
    softened: bool,
    steps: i32,
    inputs: Vec<f32>,
}

/// The controller in C, with a memory for every run.
struct Controllers {
    child: Child,
    to: Option<BufWriter<ChildStdin>>,
    from: BufReader<ChildStdout>,
    inputs: usize,
}

impl Controllers {
    fn start(program: &Path, inputs: usize, runs: usize, budget: u32) -> Self {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut to = BufWriter::new(child.stdin.take().unwrap());
        for size in [runs as i32, budget as i32] {
            to.write_all(&size.to_le_bytes()).unwrap();
        }
        Self {
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            to: Some(to),
            inputs,
        }
    }

    /// Sends the parameter of one run.
    fn send(&mut self, p: &[f32]) {
        let to = self.to.as_mut().unwrap();
        for p in p {
            to.write_all(&p.to_le_bytes()).unwrap();
        }
    }

    /// Ends a tick: C has read all of it before it answers.
    fn flush(&mut self) {
        self.to.as_mut().unwrap().flush().unwrap();
    }

    fn word(&mut self) -> [u8; 4] {
        let mut bytes = [0; 4];
        self.from.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Receives the result of one run.
    fn receive(&mut self) -> TickInC {
        let [refused, status, steps] = [(); 3].map(|()| i32::from_le_bytes(self.word()));
        let inputs = (0..self.inputs).map(|_| f32::from_le_bytes(self.word()));
        TickInC {
            inputs: inputs.collect(),
            solved: refused == 0 && status <= 1,
            softened: status == 1,
            steps,
        }
    }

    fn end(mut self) {
        self.to = None;
        assert!(self.child.wait().unwrap().success());
    }
}

/// Counts of the fresh runs.
#[derive(Debug, Default)]
struct Counts {
    runs: usize,
    late_runs: usize,
    most_steps: i32,
    compared: usize,
    worst: f64,
    /// True if no input left its bounds.
    within: bool,
}

/// Largest error of a run's inputs; ticks that exceed a soft bound are not part of the accuracy.
fn error(
    scenario: &Scenario,
    exact: &mut ExactSession<'_, '_>,
    p: &[f32],
    found: &TickInC,
) -> Option<f64> {
    let solution = exact.solve(p, &[])?;
    let kept = found.solved && !found.softened && solution.status == Status::Solved;
    kept.then(|| input_error(&scenario.active, &found.inputs, &solution.inputs))
}

/// Closed loops of the controller in C.
fn simulate(scenario: &Scenario, program: &Path, count: usize, budget: u32) -> Counts {
    let width = scenario.active.blocks * scenario.active.inputs;
    let mut controllers = Controllers::start(program, width, count, budget);
    let mut runs: Vec<Run> = (0..count)
        .map(|number| scenario.run(FRESH, number as u64))
        .collect();
    let mut late = vec![false; count];
    let mut counts = Counts {
        runs: count,
        within: true,
        ..Counts::default()
    };
    let sampled = |number: usize| number.is_multiple_of(count.div_ceil(COMPARED));
    let mut kept: Vec<(Vec<Vec<f32>>, Vec<TickInC>)> = Vec::new();
    kept.resize_with(count.div_ceil(count.div_ceil(COMPARED)), Default::default);
    for _ in 0..TICKS {
        let measured: Vec<Vec<f32>> = runs
            .iter_mut()
            .map(|run| scenario.measure(run, TICKS).0)
            .collect();
        measured.iter().for_each(|p| controllers.send(p));
        controllers.flush();
        for (number, (run, p)) in runs.iter_mut().zip(measured).enumerate() {
            let found = controllers.receive();
            late[number] |= !found.solved;
            counts.most_steps = counts.most_steps.max(found.steps);
            let bounds = scenario.active.lower.iter().zip(&scenario.active.upper);
            let mut bounded = found.inputs.iter().zip(bounds.take(width));
            counts.within &= bounded.all(|(&u, (&l, &h))| u >= l as f32 && u <= h as f32);
            scenario.advance(run, &found.inputs);
            if sampled(number) {
                let sample = &mut kept[number / count.div_ceil(COMPARED)];
                sample.0.push(p);
                sample.1.push(found);
            }
        }
    }
    controllers.end();
    counts.late_runs = late.iter().filter(|&&late| late).count();
    exact_session(&scenario.active, |exact| {
        for (parameters, ticks) in &kept {
            exact.reset();
            for (p, tick) in parameters.iter().zip(ticks) {
                if let Some(error) = error(scenario, exact, p, tick) {
                    counts.compared += 1;
                    counts.worst = counts.worst.max(error);
                }
            }
        }
    })
    .unwrap();
    counts
}

/// Exports, compiles, simulates, compares with the certificate.
fn check(scenario: &Scenario) {
    let name = &scenario.name;
    let request = request();
    let made = export(scenario, &request, &Progress::hidden()).unwrap();
    let late = made.summary.late;
    assert!(late.bound <= 1e-2, "{name}: {late:?}");
    let folder = Scratch::new(name);
    let program = compile(&made, &folder);
    let counts = simulate(scenario, &program, RUNS, made.summary.budget);
    println!(
        "{name}: budget {}, bound {:.4}, {counts:?}",
        made.summary.budget, late.bound
    );
    let share = counts.late_runs as f64 / counts.runs as f64;
    assert!(share <= late.bound, "{name}: {share} {late:?} {counts:?}");
    assert!(counts.within, "{name}: {counts:?}");
    assert!(counts.compared > 30 * TICKS, "{name}: {counts:?}");
    assert!(counts.worst <= request.accuracy, "{name}: {counts:?}");
    // The count can fail: with one step per tick, more runs are late than the certificate allows.
    let hasty = simulate(scenario, &program, 200, 1);
    let share = hasty.late_runs as f64 / hasty.runs as f64;
    assert!(share > late.bound, "{name}: {share} {late:?}");
    assert!(hasty.within, "{name}: {hasty:?}");
}

#[test]
fn known_models_keep_their_certificates_in_c() {
    let motor = include_str!("../../tests/c/controllers/motor.json");
    let motor = Model::from_json(motor).unwrap();
    check(&Scenario::of_model("motor", &motor).unwrap());
    check(&stored("pendulum"));
    check(&Scenario::of_plant(&quadrotor().unwrap()));
}

#[test]
fn a_room_a_vehicle_and_a_crane_keep_their_certificates_in_c() {
    for name in ["room", "vehicle", "crane"] {
        check(&stored(name));
    }
}
