//! The hot paths: small pieces of work that everything else is made of, timed by criterion (`cargo bench -p dst-bench`) and held
//! against an earlier commit by `cargo xtask bench`.

use std::fmt::Write;
use std::hint::black_box;

use dst_core::checkpoint::{Action, Mark, Schedule};
use dst_core::{Crossing, Euler, HeapMemory, Mode, Objective, formula};
use dst_std::data::{Shape, read_libsvm, synthetic};
use dst_std::l2o::{Architecture, Family, Recipe, Trainer};
use dst_std::linalg::Operator;
use dst_std::linalg::symmetric::Symmetric;
use dst_std::problems::{Margins, SmoothSvm};
use dst_std::validation::{Basis, InstanceSpec};

use crate::systems::{self, SystemName, engine};

/// A hot path.
#[derive(Clone, Copy)]
pub struct HotPath {
    /// On the command line and in the tables.
    pub name: &'static str,
    /// Description of one piece of work.
    pub what: &'static str,
    /// Pieces in one turn: some ten milliseconds.
    pub times: usize,
    /// Prepares it; every call does one piece of work and says whether that went well: what gives up early would count as fast.
    pub make: fn() -> Box<dyn FnMut() -> bool>,
}

/// All of them.
pub const ALL: &[HotPath] = &[
    HotPath {
        name: "euler-steps",
        what: "1000 Euler steps of Rosenbrock's flow",
        times: 500,
        make: euler_steps,
    },
    HotPath {
        name: "backward-steps",
        what: "run and adjoint of 1000 steps, all kept, formula by dual numbers",
        times: 200,
        make: backward_steps,
    },
    HotPath {
        name: "schedule",
        what: "decisions of 10 slots over 10 000 steps, there and back",
        times: 100,
        make: schedule,
    },
    HotPath {
        name: "symmetric-product",
        what: "a dense symmetric product, d = 512",
        times: 500,
        make: symmetric_product,
    },
    HotPath {
        name: "validation-steps",
        what: "10 Euler steps of the validation problem, d = 4096, hh8",
        times: 20,
        make: validation_steps,
    },
    HotPath {
        name: "svm-gradient",
        what: "f and its gradient on the shape of a1a",
        times: 1000,
        make: svm_gradient,
    },
    HotPath {
        name: "libsvm-reader",
        what: "reading 1605 lines of LIBSVM text",
        times: 40,
        make: libsvm_reader,
    },
    HotPath {
        name: "lstm-steps",
        what: "20 steps of RNNprop and their gradient, one problem, d = 64",
        times: 20,
        make: lstm_steps,
    },
];

fn euler_steps() -> Box<dyn FnMut() -> bool> {
    let system = SystemName::Rosenbrock;
    let problem = systems::Problem {
        max_steps: 1000,
        ..system.problem(0.0)
    };
    Box::new(move || black_box(engine(system, problem)).is_ok_and(|end| end.steps == 1000))
}

fn backward_steps() -> Box<dyn FnMut() -> bool> {
    let flow = formula!(
        |theta: 1, x: 2, _t| [x[0], theta[0] * (x[1] * 4.0)],
        |x| x[0] * x[0] + x[1] * x[1] * 16.0,
    );
    // Stops at the thousandth step, which the tests check.
    let plan = Euler::new(0.005)
        .until(BACKWARD_EPSILON)
        .crossing(Crossing::Paper)
        .mode(Mode::Adjoint);
    let mut memory = HeapMemory::new(&plan, &flow, 1000);
    Box::new(move || {
        let found = plan.sensitivity(&flow, &[0.5], &[1.0, 1.0], &mut memory);
        black_box(found).is_ok_and(|found| found.steps == 1000)
    })
}

/// J is 4.475e-5 before the thousandth step and 4.431e-5 after it.
const BACKWARD_EPSILON: f64 = 4.45e-5;

fn lstm_steps() -> Box<dyn FnMut() -> bool> {
    let recipe = Recipe {
        family: Family::new(64, 32),
        batch: 1,
        segments: 1,
        ..Recipe::paper(Architecture::RnnProp)
    };
    let theta = recipe.model.initial(1, |tensor| tensor.spread);
    let mut trainer = Trainer::<f32>::new(recipe, theta);
    trainer.draw(1);
    Box::new(move || black_box(trainer.step(0)).is_ok())
}

fn schedule() -> Box<dyn FnMut() -> bool> {
    const STEPS: usize = 10_000;
    Box::new(|| {
        let mut marks = [Mark::EMPTY; 10];
        let mut schedule = Schedule::new(marks.len());
        while schedule.next_save().saturating_add(1) < black_box(STEPS) {
            schedule.save(&mut marks);
        }
        let mut reversal = schedule.reverse(&mut marks, STEPS);
        while black_box(reversal.next_action(&mut marks)) != Action::Done {}
        true
    })
}

fn symmetric_product() -> Box<dyn FnMut() -> bool> {
    let dim = 512;
    let q = Symmetric::from_fn(dim, |i, j| 1.0 / (1 + i + j) as f64);
    let (x, mut y) = (vec![1.0; dim], vec![0.0; dim]);
    let mut scratch = vec![0.0; q.scratch_len()];
    Box::new(move || {
        q.apply(black_box(&x), black_box(&mut y), &mut scratch);
        true
    })
}

fn validation_steps() -> Box<dyn FnMut() -> bool> {
    let problem = InstanceSpec {
        dim: 4096,
        basis: Basis::Reflections(8),
        dense: false,
        seed: 1,
    };
    let instance = problem.build().expect("2 MB are always there");
    let plan = Euler::new(0.1).until(1e-300).at_most(10);
    let mut memory = HeapMemory::new(&plan, &instance.system, 0);
    Box::new(move || {
        let problem = plan.on(&instance.system, &instance.theta, &instance.x0);
        let steps = problem.and_then(|problem| {
            problem.start(&mut memory)?;
            Ok(problem.complete(&mut memory)?.iterate().steps)
        });
        black_box(steps) == Ok(10)
    })
}

fn svm_gradient() -> Box<dyn FnMut() -> bool> {
    let margins = Margins::new(synthetic(Shape::A1A, 7001)).expect("a synthetic set is in order");
    let svm = SmoothSvm::new(margins, 1e-2);
    let (x, mut g) = (vec![0.01; svm.dim()], vec![0.0; svm.dim()]);
    let (mut tape, mut scratch) = (vec![0.0; svm.tape_len()], vec![0.0; svm.scratch_len()]);
    Box::new(move || {
        let f = svm.value_gradient(black_box(&x), &mut g, &mut tape, &mut scratch);
        black_box(f).is_finite()
    })
}

fn libsvm_reader() -> Box<dyn FnMut() -> bool> {
    let examples = synthetic(Shape::A1A, 7001);
    let mut text = String::new();
    for (row, label) in examples.rows.iter().zip(&examples.labels) {
        let _ = write!(text, "{label:+}");
        for index in row.indices {
            let _ = write!(text, " {}:1", index + 1);
        }
        text.push('\n');
    }
    Box::new(move || black_box(read_libsvm(text.as_bytes(), "text")).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_can_be_run_and_has_a_name_of_its_own() {
        for (i, path) in ALL.iter().enumerate() {
            let mut work = (path.make)();
            assert!(work() && work(), "{}", path.name);
            assert!(ALL[..i].iter().all(|other| other.name != path.name));
        }
    }

    #[test]
    fn the_backward_path_has_a_thousand_steps() {
        let flow = formula!(
            |theta: 1, x: 2, _t| [x[0], theta[0] * (x[1] * 4.0)],
            |x| x[0] * x[0] + x[1] * x[1] * 16.0,
        );
        let plan = Euler::new(0.005).until(BACKWARD_EPSILON);
        let mut memory = HeapMemory::new(&plan, &flow, 0);
        let problem = plan.on(&flow, &[0.5], &[1.0, 1.0]).unwrap();
        problem.start(&mut memory).unwrap();
        let end = problem.complete(&mut memory).unwrap();
        assert!(end.is_reached());
        assert_eq!(end.iterate().steps, 1000);
    }
}
