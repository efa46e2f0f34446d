//! Picture of the comparison on the chip.

use dst_std::report::{Axis, Plot, Series, panels};

use super::runs::Run;
use super::section::{CHIP, PLANTS, kinds};

/// Instructions of a tick against the error of u0: a panel for each plant, cold and in the loop, a point per system and setting.
pub fn picture(runs: &[Run]) -> String {
    let mut plots = Vec::new();
    for (case, title, _) in PLANTS {
        for (kind, part) in kinds() {
            let mut plot = Plot::new(format!("{title}, {kind}"))
                .x(Axis::log("error of u0, 99th percentile"))
                .y(Axis::log("instructions per tick"))
                .size(430.0, 260.0);
            for (colour, system) in ["dst", "DAQP", "OSQP", "TinyMPC"].into_iter().enumerate() {
                let of_chip = runs.iter().filter(|r| r.chip == CHIP);
                let of_system = of_chip.filter(|r| r.case == case && r.system == system);
                let points: Vec<(f64, f64)> = of_system
                    .filter_map(|r| {
                        let ticks = part(r)?;
                        Some((ticks.error.p99, ticks.instructions.mean))
                    })
                    .collect();
                if !points.is_empty() {
                    let series = Series::new(system, points);
                    plot = plot.line(series.colour(colour).only_markers());
                }
            }
            plots.push(plot);
        }
    }
    panels(&plots, 2).to_svg()
}
