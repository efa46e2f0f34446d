//! The report of one experiment: claims with their verdicts, paragraphs, figures, tables, settings.

use serde::Serialize;

use super::plot::Panels;
use super::table::Table;

/// The verdict on a claim by our own runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Yes.
    Holds,
    /// In some of the cases.
    Partly,
    /// No.
    DoesNotHold,
    /// There was no case to judge it by.
    NotJudged,
}

impl Verdict {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Partly => "partly",
            Self::DoesNotHold => "does not hold",
            Self::NotJudged => "not judged",
        }
    }

    /// `Holds` in all cases, `Partly` in some, `DoesNotHold` in none; `NotJudged` where there is no case.
    pub fn of_all(cases: impl IntoIterator<Item = bool>) -> Self {
        let (mut some, mut all) = (false, true);
        for holds in cases {
            some |= holds;
            all &= holds;
        }
        match (some, all) {
            (true, true) => Self::Holds,
            (true, false) => Self::Partly,
            (false, false) => Self::DoesNotHold,
            (false, true) => Self::NotJudged,
        }
    }

    /// `Holds` or `DoesNotHold`.
    pub const fn of(holds: bool) -> Self {
        if holds {
            Self::Holds
        } else {
            Self::DoesNotHold
        }
    }
}

/// A claim, the number that decides it, and the decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The claim in words.
    pub text: String,
    /// The measured values.
    pub measured: String,
    /// The decision.
    pub verdict: Verdict,
    /// The reason, in one line.
    pub why: String,
    /// The change that would alter the verdict, in one line; empty where nothing particular is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub change: String,
}

impl Claim {
    /// Says in one line what would change the verdict if it is not "holds".
    pub fn changed_by(&mut self, change: impl Into<String>) {
        self.change = change.into();
    }

    /// The line about what would change the verdict. Every claim that does not hold has one.
    pub(super) fn what_would_change_it(&self) -> Option<&str> {
        match self.verdict {
            Verdict::Holds => None,
            _ if !self.change.is_empty() => Some(&self.change),
            Verdict::DoesNotHold => {
                Some("Measured values that meet the claim in every case listed.")
            }
            Verdict::Partly => Some("Measured values that meet the claim in the other cases too."),
            Verdict::NotJudged => Some("A run with at least one case of this kind."),
        }
    }
}

/// A drawing with a caption; `name` is the name of its file, without the ending.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Small letters, digits and `-`.
    pub name: String,
    /// The caption.
    pub caption: String,
    /// The plots, one or several.
    pub plots: Panels,
}

/// A table with a caption; `name` is the name of its file, without the ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTable {
    /// Small letters, digits and `-`.
    pub name: String,
    /// The caption.
    pub caption: String,
    /// The table.
    pub table: Table,
    /// True if it is shown in the page as well, not only as a file. The points of a curve are for files.
    pub in_page: bool,
}

/// The report of one experiment.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The headline.
    pub title: String,
    /// The size of the run in a few words, for the table of contents.
    pub size: String,
    /// The claims and their measured values.
    pub claims: Vec<Claim>,
    /// Words, a paragraph each.
    pub paragraphs: Vec<String>,
    /// Drawings.
    pub figures: Vec<Figure>,
    /// Tables.
    pub tables: Vec<NamedTable>,
    /// The values it was run with, seeds included: name, value.
    pub config: Vec<(String, String)>,
    /// True if it was cut short. Its content is finished all the same.
    pub interrupted: bool,
}

impl Section {
    /// An empty section.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Adds a claim. [`Claim::changed_by`] on the result says what would change its verdict.
    pub fn claim(
        &mut self,
        text: impl Into<String>,
        measured: impl Into<String>,
        verdict: Verdict,
        why: impl Into<String>,
    ) -> &mut Claim {
        let next = self.claims.len();
        self.claims.push(Claim {
            text: text.into(),
            measured: measured.into(),
            verdict,
            why: why.into(),
            change: String::new(),
        });
        &mut self.claims[next]
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.paragraphs.push(text.into());
    }

    /// Adds a figure: a [`Plot`](super::Plot), or several as [`panels`](super::panels). The first one opens the section.
    pub fn figure(
        &mut self,
        name: impl Into<String>,
        caption: impl Into<String>,
        plots: impl Into<Panels>,
    ) {
        self.figures.push(Figure {
            name: name.into(),
            caption: caption.into(),
            plots: plots.into(),
        });
    }

    /// Adds a table to the page and to the files.
    pub fn table(&mut self, name: impl Into<String>, caption: impl Into<String>, table: Table) {
        self.tables.push(NamedTable {
            name: name.into(),
            caption: caption.into(),
            table,
            in_page: true,
        });
    }

    /// Adds a table to the files alone.
    pub fn data(&mut self, name: impl Into<String>, caption: impl Into<String>, table: Table) {
        self.table(name, caption, table);
        if let Some(last) = self.tables.last_mut() {
            last.in_page = false;
        }
    }

    /// Adds a value it was run with.
    pub fn setting(&mut self, name: impl Into<String>, value: impl std::fmt::Display) {
        self.config.push((name.into(), value.to_string()));
    }

    /// The files of this section: name and content.
    pub fn files(&self) -> impl Iterator<Item = (String, String)> {
        let figures = self.figures.iter();
        let figures = figures.map(|f| (format!("{}.svg", f.name), f.plots.to_svg()));
        let tables = self.tables.iter();
        figures.chain(tables.map(|t| (format!("{}.csv", t.name), t.table.to_csv())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_some_or_none() {
        let partly = Verdict::Partly;
        for (cases, verdict) in [
            (&[true, true][..], Verdict::Holds),
            (&[true, false], partly),
            (&[false, true, true], partly),
            (&[false, false], Verdict::DoesNotHold),
            (&[], Verdict::NotJudged),
        ] {
            assert_eq!(Verdict::of_all(cases.iter().copied()), verdict, "{cases:?}");
        }
    }
}
