//! Counts by precision and kind, printed as a table.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Result};

use dst_tests::programs::Kind;

/// Results of the programs of one kind in one precision.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) feasible: usize,
    pub(crate) solved: usize,
    pub(crate) late: usize,
    /// Feasible programs reported as infeasible.
    pub(crate) denied: usize,
    pub(crate) infeasible: usize,
    /// Infeasible programs not reported as such.
    pub(crate) missed: usize,
    /// Solutions beyond the accuracy.
    pub(crate) inaccurate: usize,
    /// Solutions beyond the accuracy that rounding of the data alone moves as much.
    pub(crate) sensitive: usize,
    /// Statuses that are wrong about softened rows.
    pub(crate) mislabelled: usize,
    /// Programs with an input outside its bounds.
    pub(crate) outside: usize,
    /// Programs without a certificate of the reference.
    pub(crate) undecided: usize,
    pub(crate) worst: f64,
    pub(crate) steps: usize,
    pub(crate) most_steps: usize,
}

impl Counts {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.feasible += other.feasible;
        self.solved += other.solved;
        self.late += other.late;
        self.denied += other.denied;
        self.infeasible += other.infeasible;
        self.missed += other.missed;
        self.inaccurate += other.inaccurate;
        self.sensitive += other.sensitive;
        self.mislabelled += other.mislabelled;
        self.outside += other.outside;
        self.undecided += other.undecided;
        self.worst = self.worst.max(other.worst);
        self.steps += other.steps;
        self.most_steps = self.most_steps.max(other.most_steps);
    }
}

/// Counts by (precision, kind), and the programs that failed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) counts: BTreeMap<(&'static str, Kind), Counts>,
    pub(crate) failures: Vec<String>,
}

impl Table {
    pub(crate) fn merge(&mut self, other: Self) {
        for (key, counts) in &other.counts {
            self.counts.entry(*key).or_default().merge(counts);
        }
        self.failures.extend(other.failures);
        self.failures.sort();
    }

    /// Sums over the kinds of a precision.
    pub(crate) fn total(&self, precision: &str) -> Counts {
        let mut total = Counts::default();
        let rows = self.counts.iter().filter(|(key, _)| key.0 == precision);
        rows.for_each(|(_, counts)| total.merge(counts));
        total
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(
            f,
            "{:4} {:14} {:>8} {:>8} {:>5} {:>6} {:>10} {:>6} {:>10} {:>9} {:>11} {:>7} {:>9} {:>9} {:>6} {:>5}",
            "",
            "kind",
            "feasible",
            "solved",
            "late",
            "denied",
            "infeasible",
            "missed",
            "inaccurate",
            "sensitive",
            "mislabelled",
            "outside",
            "undecided",
            "worst",
            "steps",
            "most"
        )?;
        let mut line = |precision: &str, kind: &str, c: &Counts| {
            let mean = c.steps as f64 / (c.feasible + c.infeasible).max(1) as f64;
            writeln!(
                f,
                "{precision:4} {kind:14} {:8} {:8} {:5} {:6} {:10} {:6} {:10} {:9} {:11} {:7} {:9} {:9.1e} {mean:6.1} {:5}",
                c.feasible,
                c.solved,
                c.late,
                c.denied,
                c.infeasible,
                c.missed,
                c.inaccurate,
                c.sensitive,
                c.mislabelled,
                c.outside,
                c.undecided,
                c.worst,
                c.most_steps
            )
        };
        for ((precision, kind), counts) in &self.counts {
            line(precision, &format!("{kind:?}"), counts)?;
        }
        for precision in ["f32", "f64"] {
            line(precision, "all", &self.total(precision))?;
        }
        for failure in self.failures.iter().take(40) {
            writeln!(f, "{failure}")?;
        }
        Ok(())
    }
}
