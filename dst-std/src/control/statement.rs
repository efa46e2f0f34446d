//! Words of an export: the lines that are printed, and the head of the exported files.

use super::certify::CertificateFile;
use super::device::Device;
use crate::format::{at_most, percent, short};
use crate::qp::Summary;

/// Unit of a count.
pub(super) fn unit(device: &Device) -> &'static str {
    match device {
        Device::ActiveSet(_) => "steps",
        Device::Admm(_) => "iterations",
    }
}

/// Lines for a reader. `comparison` has the other solvers with their largest counts.
pub(super) fn lines(
    summary: &Summary,
    certificate: &CertificateFile,
    comparison: &[(String, String)],
) -> Vec<String> {
    let unit = match summary.solver.as_str() {
        "admm" => "iterations",
        _ => "steps",
    };
    let solver = summary.solver.replace("admm", "ADMM");
    let others: Vec<String> = comparison
        .iter()
        .map(|(name, count)| format!("{name}: {count}"))
        .collect();
    let CertificateFile {
        ticks,
        runs,
        inaccurate_runs,
        bound,
        confidence,
        budget,
        ..
    } = certificate;
    let kept = match inaccurate_runs {
        0 => format!("in all of {runs} fresh closed-loop runs of {ticks} ticks"),
        missed => format!(
            "in {} of {runs} fresh closed-loop runs of {ticks} ticks",
            runs - missed
        ),
    };
    let left = [
        format!("{solver}, at most {budget} {unit} per tick"),
        format!(
            "inputs within {} of the exact solution",
            short(summary.accuracy)
        ),
        format!(
            "P(a run of {ticks} ticks has a late tick) ≤ {}",
            decimals(*bound)
        ),
    ];
    let right = [
        format!("({})", others.join("; ")),
        kept,
        format!(
            "with {} % confidence, budget {budget}",
            percent(*confidence)
        ),
    ];
    let width = left.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let mut lines: Vec<String> = left
        .iter()
        .zip(&right)
        .map(|(left, right)| {
            let gap = width - left.chars().count() + 3;
            format!("{left}{:gap$}{right}", "")
        })
        .collect();
    lines.push(costs(summary));
    lines.extend(summary.warnings.iter().map(|w| format!("warning: {w}")));
    lines
}

fn costs(summary: &Summary) -> String {
    format!(
        "Cortex-M4F, estimated: {} instructions per tick, {} at the budget; {} kB of flash, {} kB of RAM",
        thousands(summary.instructions.mean),
        thousands(summary.instructions.budget),
        kilobytes(summary.flash),
        kilobytes(summary.ram)
    )
}

/// Head of the exported files, line by line: how to call the controller, its certificate, its costs.
pub(super) fn header(device: &Device, summary: &Summary, certificate: &CertificateFile) -> String {
    let call = match device {
        Device::ActiveSet(_) => [
            "Rust: `let mut tick = memory.start()?;`, then at every tick `CONTROLLER.tick(&mut tick, &p, &[], BUDGET)?` and `tick.inputs()`.",
            "C: `dst_controller_tick(&NAME, numbers, words, p, NULL, BUDGET, u, &outcome)` of dst_active_set.h; p is the state, then set-points, then the previous input.",
        ],
        Device::Admm(_) => [
            "Rust: `CONTROLLER.tick(&mut tick, &p, &[], BUDGET)?`, then `tick.inputs()`.",
            "C: the same function of dst_controller.h; p is the state, then set-points, then the previous input.",
        ],
    };
    let CertificateFile {
        name,
        ticks,
        runs,
        late_runs,
        bound,
        confidence,
        budget,
        seed,
        model_hash,
        does_not_cover,
        ..
    } = certificate;
    let unit = unit(device);
    let budget_text = budget.to_string();
    let mut lines: Vec<String> = call
        .iter()
        .map(|line| line.replace("BUDGET", &budget_text).replace("NAME", name))
        .collect();
    lines.push(format!(
        "Budget: {budget} {unit} per tick. The inputs are within their bounds, whatever happens."
    ));
    lines.push(format!(
        "Certificate: P(a run of {ticks} ticks has a late tick) <= {} with {} % confidence ({late_runs} late of {runs} fresh runs, seed {seed}, model {model_hash}).",
        decimals(*bound),
        percent(*confidence)
    ));
    lines.push(format!("It does not cover {}.", does_not_cover.join("; ")));
    lines.push(format!(
        "{} bytes of flash (tables and code), {} bytes of RAM. {}",
        summary.flash,
        summary.ram,
        costs(summary)
    ));
    lines.join("\n")
}

/// A probability with four decimals, or in powers of ten; rounded up, so that it stays a bound.
fn decimals(value: f64) -> String {
    let scaled = (value * 1e4).ceil() / 1e4;
    if value >= 9.95e-4 {
        format!("{scaled:.4}")
    } else {
        at_most(value)
    }
}

/// A number of instructions with two significant digits and groups of three.
fn thousands(value: f64) -> String {
    let digits = libm::floor(libm::log10(value.max(1.0)));
    let unit = libm::pow(10.0, (digits - 1.0).max(0.0));
    let text = format!("{:.0}", (value / unit).round() * unit);
    let mut grouped = String::new();
    for (i, digit) in text.chars().enumerate() {
        if i > 0 && (text.len() - i).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

fn kilobytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!(thousands(21_234.0), "21 000");
        assert_eq!(thousands(1_234_567.0), "1 200 000");
        assert_eq!(thousands(7.4), "7");
        assert_eq!(kilobytes(9412), "9.4");
        assert_eq!(decimals(0.000_999_9), "0.0010");
        assert_eq!(decimals(0.009_94), "0.0100");
        assert_eq!(decimals(1.2e-5), "1.2e-5");
        assert_eq!(decimals(1.2341e-5), "1.235e-5");
    }
}
