//! Products with G and Gᵀ against a dense G, bit by bit: every shape has its own mixture of fours, heads and single rows.

use std::vec;
use std::vec::Vec;

use crate::qp::{Qp, Shape};

/// Shapes with a column for every remainder, and an entry of C for every place below the block diagonal.
fn shapes() -> impl Iterator<Item = Shape> {
    (1..5).flat_map(|inputs| {
        (0..6).flat_map(move |outputs| {
            (1..8).map(move |stages| Shape {
                inputs,
                outputs,
                stages,
                blocks: 1,
            })
        })
    })
}

fn entry(i: usize, j: usize) -> f32 {
    ((7 * i + 3 * j + i * j) as f32 * 0.7).sin()
}

fn stored(shape: Shape) -> Vec<f32> {
    (0..shape.variables())
        .flat_map(|j| {
            let zeros = j / shape.inputs * shape.outputs;
            (zeros..shape.outputs * shape.stages).map(move |i| entry(i, j))
        })
        .collect()
}

#[test]
fn products_with_outputs_are_the_plain_sums() {
    for shape in shapes() {
        let columns = stored(shape);
        let qp = Qp::new(shape, &columns).unwrap();
        let (n, m) = (shape.variables(), shape.rows());
        let mut rows: Vec<f32> = (0..m).map(|i| (i as f32 * 1.7).cos()).collect();
        let mut u = vec![f32::NAN; n];
        qp.transposed(&rows, &mut u);
        for j in 0..n {
            let mut sum = 0.0;
            for i in j / shape.inputs * shape.outputs..m - n {
                sum += entry(i, j) * rows[n + i];
            }
            assert_eq!(u[j], rows[j] + sum, "{shape:?} {j}");
        }
        qp.extend(&mut rows);
        for i in 0..m - n {
            let mut sum = 0.0;
            let reach = (i / shape.outputs + 1) * shape.inputs;
            for (j, u) in rows[..reach].iter().enumerate() {
                sum += u * entry(i, j);
            }
            assert_eq!(rows[n + i], sum, "{shape:?} {i}");
        }
    }
}
