//! The budgets: what was measured may not be more. One file, raised only in a change that somebody reads.

use std::fmt;
use std::path::Path;

use super::{descent, formula, ticks};

/// Measurements on one target: bytes, and instructions per step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) minimal_text: u64,
    pub(crate) minimal_rodata: u64,
    /// Beyond the workspace.
    pub(crate) minimal_stack: u64,
    pub(crate) workspace: u64,
    /// Code of both precisions together.
    pub(crate) suite_text: u64,
    /// Stack of the deeper one.
    pub(crate) suite_stack: u64,
    /// The forward run, divided by its steps: evaluation, stop check, checkpoints.
    pub(crate) euler_step: u64,
    /// The backward sweep, divided by its steps: recomputation included.
    pub(crate) backward_step: u64,
    /// The tuned controllers; only where there is a floating-point unit.
    pub(crate) ticks: Option<ticks::Measured>,
    /// The descents of 4 and of 14 parameters.
    pub(crate) descent: Option<descent::Measured>,
    /// A formula of 12 states and 8 parameters.
    pub(crate) formula: Option<formula::Measured>,
}

impl Measured {
    /// The names are the keys of the file.
    fn all(&self) -> Vec<(&'static str, u64)> {
        let mut all = vec![
            ("minimal_text", self.minimal_text),
            ("minimal_rodata", self.minimal_rodata),
            ("minimal_stack", self.minimal_stack),
            ("workspace", self.workspace),
            ("suite_text", self.suite_text),
            ("suite_stack", self.suite_stack),
            ("euler_step", self.euler_step),
            ("backward_step", self.backward_step),
        ];
        all.extend(self.ticks.iter().flat_map(ticks::Measured::all));
        all.extend(self.descent.iter().flat_map(descent::Measured::all));
        all.extend(self.formula.iter().flat_map(formula::Measured::all));
        all
    }

    /// Fails if anything is above its budget, or has none.
    pub(crate) fn check(&self, file: &Path, target: &str) -> Result<(), String> {
        check(file, target, &self.all())
    }

    /// For the summary.
    pub(crate) fn brief(&self) -> String {
        format!(
            "minimal .text {} stack {}, instructions {}/{}",
            self.minimal_text, self.minimal_stack, self.euler_step, self.backward_step
        )
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all()
            .iter()
            .try_for_each(|(name, value)| writeln!(f, "  {name:<22} {value:>8}"))
    }
}

/// The same for one number.
pub(crate) fn check_one(file: &Path, target: &str, name: &str, value: u64) -> Result<(), String> {
    check(file, target, &[(name, value)])
}

fn check(file: &Path, target: &str, measured: &[(&str, u64)]) -> Result<(), String> {
    let complain = |e: &dyn fmt::Display| format!("{}: {e}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| complain(&e))?;
    let table: toml::Table = text.parse().map_err(|e| complain(&e))?;
    let budgets = table
        .get(target)
        .and_then(toml::Value::as_table)
        .ok_or_else(|| complain(&format!("no budgets for {target}")))?;
    let over: Vec<String> = measured
        .iter()
        .filter_map(|&(name, value)| {
            let budget = budgets.get(name).and_then(toml::Value::as_integer);
            match budget.and_then(|b| u64::try_from(b).ok()) {
                Some(budget) if value <= budget => None,
                Some(budget) => Some(format!("{name} is {value}, its budget {budget}")),
                None => Some(format!("{name} is {value} and has no budget")),
            }
        })
        .collect();
    if over.is_empty() {
        Ok(())
    } else {
        Err(complain(&format!("{target}: {}", over.join("; "))))
    }
}
