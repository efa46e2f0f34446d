//! Sequences with slowly changing q, l and h, solved with one memory: the answers of the reference at every tick.

use dst_core::Scalar;
use dst_core::qp::Status;
use dst_tests::interior_point::{Verdict, decide};
use dst_tests::programs::{Draw, Precision, Program, program};

use super::adapter::{Data, Prepared, distance, outside};
use super::sensitivity::is_sensitive;

const SEQUENCES: u64 = 300;
const TICKS: usize = 15;

/// Moves the bounds with a point, and the minimiser without rows at random.
fn next(program: &mut Program, draw: &mut Draw) {
    let n = program.variables();
    let point: Vec<f64> = (0..n).map(|_| draw.dyadic(-0.1, 0.1)).collect();
    for (j, s) in program.products(&point).into_iter().enumerate() {
        program.lower[j] += s;
        program.upper[j] += s;
    }
    // The minimiser without rows moves as slowly as the bounds.
    let away: Vec<f64> = point.iter().map(|p| p + 0.2 * draw.normal()).collect();
    for (q, row) in program.linear.iter_mut().zip(program.hessian.chunks(n)) {
        let change: f64 = row.iter().zip(&away).map(|(p, d)| p * d).sum();
        *q = f64::from((*q - change) as f32);
    }
}

/// The program with one hard box empty; `None` if the row drawn is soft or has one bound.
fn emptied(program: &Program, draw: &mut Draw) -> Option<Program> {
    let j = draw.below(program.count());
    let bounds = (program.lower[j], program.upper[j]);
    if program.is_soft(j) || !bounds.0.is_finite() || !bounds.1.is_finite() {
        return None;
    }
    let mut copy = program.clone();
    (copy.lower[j], copy.upper[j]) = (bounds.1 + 0.5, bounds.0);
    Some(copy)
}

fn sequences<S: Scalar>(precision: Precision, accuracy: f64) {
    let (mut warm_steps, mut cold_steps, mut cold_late) = (0, 0, 0);
    let (mut ticks, mut late, mut none, mut undecided) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in 2_000_000..2_000_000 + SEQUENCES {
        let mut program = program(seed, precision);
        if !program.kind.feasible() {
            continue;
        }
        let mut draw = Draw::new(seed);
        let prepared = Prepared::<S>::new(&program);
        let mut memory = prepared.memory(prepared.capacity());
        let mut solver = memory.solver();
        for tick in 0..TICKS {
            let empty = (tick % 5 == 3)
                .then(|| emptied(&program, &mut draw))
                .flatten();
            let now = empty.as_ref().unwrap_or(&program);
            let data = Data::of(now);
            let warm = solver.solve(&data, prepared.patience()).unwrap();
            assert_eq!(outside(now, &data, &warm.u), 0, "seed {seed} tick {tick}");
            let status = warm.outcome.status;
            let error = match decide(now) {
                Verdict::Undecided => {
                    undecided += 1;
                    0.0
                }
                Verdict::Infeasible { .. } => {
                    none += 1;
                    if status == Status::Infeasible {
                        0.0
                    } else {
                        1.0
                    }
                }
                Verdict::Solution(_) if status == Status::Late => {
                    late += 1;
                    0.0
                }
                Verdict::Solution(reference) if status.is_solved() => {
                    let error = distance(&warm.u, &reference.u);
                    match error > accuracy && is_sensitive::<S>(now, &reference, error) {
                        true => 0.0,
                        false => error,
                    }
                }
                Verdict::Solution(_) => 1.0,
            };
            if error > accuracy {
                failures.push(format!("seed {seed} tick {tick}: {status:?}, {error:.1e}"));
            }
            ticks += 1;
            warm_steps += warm.outcome.steps;
            let cold = prepared.solve(&data).outcome;
            cold_steps += cold.steps;
            cold_late += usize::from(cold.status == Status::Late);
            next(&mut program, &mut draw);
        }
    }
    println!(
        "{ticks} ticks, {none} infeasible, {late} late ({cold_late} cold), {undecided} undecided; steps {warm_steps} warm, {cold_steps} cold"
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // The moved programs are harder than those of the large test, so a cold start is the measure.
    assert!(late <= cold_late + ticks / 200);
    assert!(none > 100 && undecided * 100 <= ticks);
    assert!(warm_steps < cold_steps);
}

#[test]
fn warm_starts_give_the_same_answers_in_f64() {
    sequences::<f64>(Precision::Double, 1e-9);
}

#[test]
fn warm_starts_give_the_same_answers_in_f32() {
    sequences::<f32>(Precision::Single, 1e-4);
}
