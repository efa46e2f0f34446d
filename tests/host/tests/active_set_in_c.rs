//! The controller in C (`dst_active_set.h`) and in Rust: the same status, steps and bits on random controllers and ticks.
//!
//! Soft rows, equations, one-sided and empty bounds, bounds that change, small budgets and capacities, states that overflow, NaN, and
//! words of memory that are no set. The C program runs under sanitizers.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use dst_core::mpc::{Controller, Response, RollOut, Tick};
use dst_core::qp::{ActiveSet, Bounds, Status};

const CASES: u64 = 400;
const TICKS: usize = 25;

/// Tables of a random controller.
#[derive(Default)]
struct Tables {
    inputs: usize,
    parameters: usize,
    blocks: usize,
    capacity: usize,
    stages: usize,
    gram: Vec<f32>,
    scale: Vec<f32>,
    caps: Vec<f32>,
    lifts: Vec<f32>,
    lower: Vec<f32>,
    upper: Vec<f32>,
    map: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
    feedback: Vec<f32>,
    outputs: Vec<f32>,
    feed: Vec<f32>,
}

/// Random numbers (SplitMix64).
struct Draw(u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, count: usize) -> usize {
        (self.bits() % count as u64) as usize
    }
    fn often(&mut self, share: f64) -> bool {
        ((self.bits() >> 11) as f64) < share * (1_u64 << 53) as f64
    }
    /// From −1 to 1.
    fn number(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
    fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.number()).collect()
    }

    /// Bounds of the rows of a stage: both, one, none, equal.
    fn bounds(&mut self, kinds: usize) -> (Vec<f32>, Vec<f32>) {
        let pair = |_| {
            let (a, b) = (self.number(), self.number());
            let (lower, upper) = (a.min(b), a.max(b));
            match self.below(8) {
                0 => (f32::NEG_INFINITY, upper),
                1 => (lower, f32::INFINITY),
                2 => (f32::MIN, f32::MAX),
                3 => (lower, lower),
                _ => (lower - 0.1, upper + 0.1),
            }
        };
        (0..kinds).map(pair).unzip()
    }

    fn tables(&mut self) -> Tables {
        let (inputs, stages) = (1 + self.below(3), 1 + self.below(5));
        let outputs = self.below(3);
        let (kinds, n) = (inputs + outputs, inputs * stages);
        let m = kinds * stages;
        // Rows of A: those of the inputs are the identity. P is the identity, so that W = A·Aᵀ.
        let rows: Vec<Vec<f32>> = (0..m)
            .map(|row| {
                let (stage, kind) = (row / kinds, row % kinds);
                if kind < inputs {
                    let own = stage * inputs + kind;
                    return (0..n).map(|j| f32::from(u8::from(j == own))).collect();
                }
                self.numbers(n)
            })
            .collect();
        let (lower, upper) = self.bounds(kinds);
        let soft = self.often(0.4);
        let lifted = self.often(0.3);
        let caps = |draw: &mut Self, kind: usize| {
            if kind < inputs || draw.often(0.3) {
                f32::INFINITY
            } else {
                draw.number().abs()
            }
        };
        let caps: Vec<f32> = (0..if soft { kinds } else { 0 })
            .map(|kind| caps(self, kind))
            .collect();
        let lifts: Vec<f32> = (0..if lifted { kinds } else { 0 })
            .map(|kind| if kind < inputs { 0.0 } else { 0.3 })
            .collect();
        let mut gram = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..m {
                gram[i * m + j] = rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum();
            }
            gram[i * (m + 1)] += lifts.get(i % kinds).copied().unwrap_or_default();
        }
        let scale = (0..m).map(|i| 1.0 / gram[i * (m + 1)].sqrt()).collect();
        let parameters = 1 + self.below(9);
        let mut tables = Tables {
            inputs,
            parameters,
            blocks: 1 + self.below(2),
            capacity: 1 + self.below(n + 2),
            stages,
            gram,
            scale,
            caps,
            lifts,
            lower,
            upper,
            ..Tables::default()
        };
        if self.often(0.5) {
            tables.map = self.numbers(m * parameters);
        } else {
            tables.a = self.numbers(parameters * parameters);
            tables.b = self.numbers(parameters * inputs);
            tables.outputs = self.numbers(outputs * parameters);
            if self.often(0.5) {
                tables.feedback = self.numbers(inputs * parameters);
            }
            if self.often(0.5) {
                tables.feed = self.numbers(inputs * inputs);
            }
        }
        tables
    }
}

impl Tables {
    fn controller(&self) -> Controller<'_, f32> {
        Controller {
            inputs: self.inputs,
            parameters: self.parameters,
            blocks: self.blocks,
            capacity: self.capacity,
            set: ActiveSet {
                gram: &self.gram,
                scale: &self.scale,
                caps: &self.caps,
                lifts: &self.lifts,
                tolerance: 1e-6,
            },
            response: if self.map.is_empty() {
                Response::RollOut(RollOut {
                    a: &self.a,
                    b: &self.b,
                    feedback: &self.feedback,
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

/// Numbers for the C program.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn word(&mut self, value: i32) {
        self.0.extend(value.to_le_bytes());
    }
    fn numbers(&mut self, values: &[f32]) {
        self.word(values.len() as i32);
        for value in values {
            self.0.extend(value.to_le_bytes());
        }
    }
}

/// Result of a tick that C must return, or the bounds of the inputs if Rust cannot run it.
enum Expected {
    Same(Vec<i32>),
    Within(Vec<(f32, f32)>),
}

fn code(status: Status) -> i32 {
    match status {
        Status::Solved => 0,
        Status::Softened => 1,
        Status::Late => 2,
        Status::Infeasible => 3,
    }
}

/// Draws a controller with its ticks; returns what to expect and counts the statuses.
fn case(seed: u64, to: &mut Message, seen: &mut [usize; 5]) -> Vec<Expected> {
    let mut draw = Draw(seed);
    let tables = draw.tables();
    let controller = tables.controller();
    controller.check().expect("a valid controller");
    let kinds = tables.lower.len();
    let sizes = [
        tables.inputs,
        tables.parameters,
        tables.blocks,
        tables.capacity,
        kinds * tables.stages,
        kinds,
    ];
    sizes.iter().for_each(|&size| to.word(size as i32));
    for table in [
        &tables.gram,
        &tables.scale,
        &tables.caps,
        &tables.lifts,
        &tables.lower,
        &tables.upper,
        &tables.map,
        &tables.a,
        &tables.b,
        &tables.feedback,
        &tables.outputs,
        &tables.feed,
    ] {
        to.numbers(table);
    }
    to.0.extend(1e-6_f32.to_le_bytes());
    to.word(TICKS as i32);
    let mut numbers = vec![0.0; Tick::<f32>::numbers(&controller)];
    let mut words = vec![0; Tick::<f32>::words(&controller)];
    let count = words.len();
    let mut memory = Tick::new(&controller, &mut numbers, &mut words).expect("memory");
    let mut p = draw.numbers(tables.blocks * tables.parameters);
    let mut expected = Vec::new();
    for tick in 0..TICKS {
        // Words that are no set are for C alone, so these ticks are the last.
        let how = match draw.below(10) {
            _ if tick + 5 >= TICKS => 2,
            0 => 1,
            _ => 0,
        };
        let budget = if draw.often(0.2) { draw.below(5) } else { 100 };
        for p in &mut p {
            *p += 0.3 * draw.number();
        }
        let mut given = p.clone();
        match draw.below(25) {
            0 => given[0] = f32::NAN,
            1 => given[0] = 3e38,
            2 => given[0] = f32::INFINITY,
            3 => given.iter_mut().for_each(|p| *p = 0.0),
            _ => {}
        }
        let mut extra = Vec::new();
        if !tables.feed.is_empty() && draw.often(0.7) {
            extra = draw.numbers(tables.blocks * tables.inputs * tables.stages);
        }
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        if draw.often(0.3) {
            (lower, upper) = draw.bounds(kinds);
            match draw.below(12) {
                0 => lower[0] = f32::NAN,
                1 => lower[0] = upper[0].min(1.0) + 1.0,
                _ => {}
            }
        }
        to.word(how);
        to.word(budget as i32);
        [&given, &extra, &lower, &upper]
            .iter()
            .for_each(|values| to.numbers(values));
        let used = if lower.is_empty() {
            (&tables.lower, &tables.upper)
        } else {
            (&lower, &upper)
        };
        if how == 2 {
            (0..count).for_each(|_| to.word(draw.below(1 << 16) as i32));
            let pairs = used.0.iter().zip(used.1).take(tables.inputs);
            let all = std::iter::repeat_n(pairs.map(|(&l, &u)| (l, u)), tables.blocks);
            expected.push(Expected::Within(all.flatten().collect()));
            continue;
        }
        if how == 1 {
            memory.reset();
        }
        let bounds = Bounds {
            lower: used.0,
            upper: used.1,
        };
        let mut result = match controller.tick_within(&mut memory, &given, &extra, bounds, budget) {
            Ok(outcome) => {
                seen[code(outcome.status) as usize] += 1;
                vec![0, code(outcome.status), outcome.steps as i32]
            }
            Err(_) => {
                seen[4] += 1;
                vec![1, 0, -1]
            }
        };
        result.extend(memory.inputs().iter().map(|u| u.to_bits() as i32));
        expected.push(Expected::Same(result));
    }
    expected
}

fn compile(folder: &Path) -> std::path::PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = folder.join("replay");
    // The linker of Rust is a C compiler, so there is one.
    let status = Command::new("cc")
        .args(["-std=c99", "-O1", "-g", "-ffp-contract=off"])
        .args(["-Wall", "-Wextra", "-Wconversion", "-Wpedantic"])
        .args(["-Wshadow", "-Werror"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        .arg("-I")
        .arg(root.join("dst-std/src/control"))
        .arg(root.join("tests/c/replay.c"))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(status.expect("a C compiler").success());
    program
}

#[test]
fn c_and_rust_have_the_same_bits() {
    let program = compile(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let mut message = Message::default();
    let mut seen = [0; 5];
    message.word(CASES as i32);
    let expected: Vec<Vec<Expected>> = (0..CASES)
        .map(|seed| case(seed, &mut message, &mut seen))
        .collect();
    // Every status occurs, or the comparison says little.
    assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the C program");
    let mut input = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || input.write_all(&message.0));
    let output = child.wait_with_output().expect("its output");
    assert!(output.status.success());
    writer.join().expect("a thread").expect("all of it is read");
    let mut words = output
        .stdout
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| i32::from_le_bytes(*bytes));
    for (number, ticks) in expected.iter().enumerate() {
        for (tick, expected) in ticks.iter().enumerate() {
            match expected {
                Expected::Same(expected) => {
                    let found: Vec<i32> = words.by_ref().take(expected.len()).collect();
                    assert_eq!(&found, expected, "controller {number}, tick {tick}");
                }
                Expected::Within(bounds) => {
                    let found: Vec<i32> = words.by_ref().take(3 + bounds.len()).collect();
                    for (&bits, &(lower, upper)) in found[3..].iter().zip(bounds) {
                        let u = f32::from_bits(bits as u32);
                        let empty = lower.is_nan() || lower > upper;
                        let within = lower <= u && u <= upper;
                        assert!(found[0] == 1 || empty || within, "{number}, {tick}: {u}");
                    }
                }
            }
        }
    }
    assert_eq!(words.next(), None);
}
