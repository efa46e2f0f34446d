//! The results of the illustration as tables; those of the curves are for files.

use super::{Comparison, Curve, ErrorLine, Path};
use crate::report::{Cell, Table};

pub(super) fn twelve_ways(comparison: &Comparison) -> Table {
    let mut table = Table::new()
        .left("integrator")
        .left("crossing")
        .right("N")
        .right("T")
        .right("dT/dθ")
        .right("dN/dθ")
        .right("relative error")
        .right("rates")
        .right("pullbacks");
    for row in &comparison.runs {
        table.row([
            row.integrator.into(),
            row.crossing.into(),
            row.steps.into(),
            Cell::shown_as(row.time, format!("{:.6}", row.time)),
            Cell::shown_as(row.time_gradient, format!("{:.6}", row.time_gradient)),
            row.steps_gradient.into(),
            Cell::shown_as(row.relative_error, format!("{:.1e}", row.relative_error)),
            row.evaluations.rate.into(),
            row.evaluations.pullback.into(),
        ]);
    }
    table
}

pub(super) fn curves(curves: &[Curve]) -> Table {
    let mut table = Table::new()
        .right("epsilon")
        .right("theta")
        .right("T")
        .right("N")
        .right("N with half of the step");
    let count = |n: Option<usize>| n.map_or_else(|| "".into(), Cell::from);
    for curve in curves {
        for p in &curve.points {
            let cells = [curve.epsilon.into(), p.theta.into(), p.time.into()];
            let counts = [count(p.steps), count(p.half_steps)];
            table.row(cells.into_iter().chain(counts));
        }
    }
    table
}

pub(super) fn tangents(curves: &[Curve]) -> Table {
    let mut table = Table::new()
        .right("epsilon")
        .right("theta")
        .right("N*h")
        .right("dT/dtheta from the steps")
        .right("dT/dtheta exact");
    for curve in curves {
        for t in &curve.tangents {
            let cells = [curve.epsilon, t.theta, t.time, t.gradient, t.exact_gradient];
            table.row(cells.map(Cell::from));
        }
    }
    table
}

pub(super) fn paths(paths: &[Path]) -> Table {
    let mut table = Table::new()
        .right("theta")
        .left("path")
        .right("point")
        .right("x1")
        .right("x2");
    for path in paths {
        for (name, points) in [("flow", &path.flow), ("Euler", &path.steps)] {
            for (i, &(x1, x2)) in points.iter().enumerate() {
                table.row([
                    path.theta.into(),
                    name.into(),
                    i.into(),
                    x1.into(),
                    x2.into(),
                ]);
            }
        }
    }
    table
}

pub(super) fn errors(lines: &[ErrorLine]) -> Table {
    let mut table = Table::new()
        .left("integrator")
        .left("crossing")
        .right("h")
        .right("relative error");
    for line in lines {
        for &(h, error) in &line.points {
            table.row([
                line.integrator.into(),
                line.crossing.into(),
                h.into(),
                error.into(),
            ]);
        }
    }
    table
}
