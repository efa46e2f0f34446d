//! The report as one HTML file: style sheet, script and figures are inside, and nothing is loaded from another place.
//!
//! The page opens with an abstract that counts the verdicts, a table of contents and the claims sorted by verdict. Then every
//! experiment has a section: its first figure, its claims, the method, further figures, tables, settings, files.
//!
//! Without the script the page is complete. With it, a plot shows values under the pointer and can be enlarged and moved.
//! The style sheet follows the reader's choice of light or dark, stacks panels on narrow screens, and prints.

use std::fmt::Write;

use super::markup::escape;
use super::section::{Claim, Figure, NamedTable, Section, Verdict};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The width in pixels of the text column, of one of two panels in it, and of a figure on a narrow screen.
const COLUMN: f64 = 780.0;
const PANEL: f64 = 384.0;
const NARROW: f64 = 368.0;
/// The greatest height in pixels of the data area of a figure as wide as the column.
const HIGHEST: f64 = 340.0;

/// The progress of the run that makes the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// There is more to come.
    Running,
    /// That is all.
    Complete,
    /// It was interrupted: what is here is finished, the rest is missing.
    Interrupted,
}

/// The page.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    opening: String,
    banner: Option<String>,
    stage: Stage,
    facts: Vec<(String, String)>,
    sections: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    content: Result<Section, (String, String)>,
}

impl Entry {
    fn title(&self) -> &str {
        match &self.content {
            Ok(section) => &section.title,
            Err((title, _)) => title,
        }
    }

    fn claims(&self) -> &[Claim] {
        match &self.content {
            Ok(section) => &section.claims,
            Err(_) => &[],
        }
    }
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            opening: String::new(),
            banner: None,
            stage: Stage::Running,
            facts: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Sets the first sentences of the abstract. The count of verdicts follows them.
    pub fn opening(&mut self, text: impl Into<String>) {
        self.opening = text.into();
    }

    /// Sets a notice at the top of the page.
    pub fn banner(&mut self, text: impl Into<String>) {
        self.banner = Some(text.into());
    }

    /// Says how far the run has come.
    pub fn stage(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// Adds a fact about the whole run: name, value.
    pub fn fact(&mut self, name: impl Into<String>, value: impl std::fmt::Display) {
        self.facts.push((name.into(), value.to_string()));
    }

    /// Adds a finished experiment; `name` is its anchor.
    pub fn section(&mut self, name: impl Into<String>, section: Section) {
        self.sections.push(Entry {
            name: name.into(),
            content: Ok(section),
        });
    }

    /// Adds an experiment that failed, with the reason.
    pub fn failure(
        &mut self,
        name: impl Into<String>,
        title: impl Into<String>,
        reason: impl Into<String>,
    ) {
        self.sections.push(Entry {
            name: name.into(),
            content: Err((title.into(), reason.into())),
        });
    }

    /// The page as HTML.
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        );
        let _ = writeln!(out, "<main>\n<h1>{title}</h1>");
        self.notices(&mut out);
        self.summary(&mut out);
        self.contents(&mut out);
        self.verdicts(&mut out);
        for entry in &self.sections {
            let name = escape(&entry.name);
            let _ = writeln!(out, "<section id=\"{name}\">");
            match &entry.content {
                Ok(section) => body(&mut out, &name, section),
                Err((title, reason)) => {
                    let _ = write!(
                        out,
                        "<h2>{}</h2>\n<p class=\"notice\">This experiment failed: {}</p>\n",
                        escape(title),
                        escape(reason)
                    );
                }
            }
            out.push_str("</section>\n");
        }
        if !self.facts.is_empty() {
            out.push_str("<section id=\"run\">\n<h2>This run</h2>\n");
            pairs(&mut out, &self.facts);
            out.push_str("</section>\n");
        }
        let _ = write!(
            out,
            "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
        );
        out
    }

    fn notices(&self, out: &mut String) {
        if let Some(banner) = &self.banner {
            let banner = escape(banner);
            let _ = writeln!(out, "<p class=\"notice\" id=\"banner\">{banner}</p>");
        }
        match self.stage {
            Stage::Running => out.push_str("<p class=\"notice\">Still running: more follows.</p>\n"),
            Stage::Interrupted => out.push_str(
                "<p class=\"notice\">This run was interrupted. What is here is finished; the rest is missing.</p>\n",
            ),
            Stage::Complete => {}
        }
    }

    /// The table of contents.
    fn contents(&self, out: &mut String) {
        out.push_str("<nav aria-label=\"Contents\">\n<strong>Contents</strong>\n<ol>\n");
        for entry in &self.sections {
            let claims = entry.claims();
            let holding = claims.iter().filter(|c| c.verdict == Verdict::Holds);
            let note = match &entry.content {
                Err(_) => "failed".to_owned(),
                Ok(section) => {
                    let mut notes = Vec::new();
                    if !claims.is_empty() {
                        notes.push(format!("{} of {} hold", holding.count(), claims.len()));
                    }
                    if !section.size.is_empty() {
                        notes.push(escape(&section.size));
                    }
                    notes.join(" · ")
                }
            };
            let _ = writeln!(
                out,
                "<li><a href=\"#{}\">{}</a> <small>{note}</small></li>",
                escape(&entry.name),
                escape(entry.title())
            );
        }
        if !self.facts.is_empty() {
            out.push_str("<li><a href=\"#run\">This run</a></li>\n");
        }
        out.push_str("</ol>\n</nav>\n");
    }

    /// The abstract: the opening, then the number of claims of each verdict, with links.
    fn summary(&self, out: &mut String) {
        let mut counts: Vec<String> = Vec::new();
        for verdict in ORDER {
            let count = self.of(verdict).count();
            if count > 0 {
                // The first count names what is counted.
                let what = if counts.is_empty() { " claim" } else { "" };
                let words = number_words(verdict, count, what);
                counts.push(format!("<a href=\"#{}\">{words}</a>", anchor(verdict)));
            }
        }
        for entry in self.sections.iter().filter(|entry| entry.content.is_err()) {
            let name = escape(&entry.name);
            counts.push(format!("<a href=\"#{name}\">{name} failed</a>"));
        }
        let counts = match counts.as_slice() {
            [] => String::new(),
            counts => format!(" Result: {}.", counts.join(", ")),
        };
        let _ = write!(
            out,
            "<p id=\"abstract\">{}{counts}</p>\n<p class=\"hint\" hidden>In every plot, the pointer shows the values of a curve. \
             Drag to enlarge a rectangle, Shift-drag to move, double-click to reset; by keyboard +, − and 0.</p>\n",
            escape(&self.opening)
        );
    }

    /// The claims with this verdict: the name of the experiment, the number of the claim there, the claim.
    fn of(&self, verdict: Verdict) -> impl Iterator<Item = (&str, usize, &Claim)> {
        self.sections.iter().flat_map(move |entry| {
            let claims = entry.claims().iter().enumerate();
            let wanted = claims.filter(move |(_, claim)| claim.verdict == verdict);
            wanted.map(|(i, claim)| (entry.name.as_str(), i + 1, claim))
        })
    }

    /// All claims, sorted by verdict, as links to their sections.
    fn verdicts(&self, out: &mut String) {
        // What needs attention comes first.
        let mut order = ORDER;
        order.rotate_left(1);
        for verdict in order {
            let mut claims = self.of(verdict).peekable();
            if claims.peek().is_none() {
                continue;
            }
            // What holds is a long list: folded, and opened by the link of the abstract to the list inside.
            let folded = verdict == Verdict::Holds;
            let (class, heading) = (class(verdict), heading(verdict));
            let _ = if folded {
                writeln!(
                    out,
                    "<details><summary class=\"verdicts {class}\">{heading}</summary>"
                )
            } else {
                writeln!(out, "<h3 class=\"{class}\">{heading}</h3>")
            };
            let _ = writeln!(out, "<ul class=\"list\" id=\"{}\">", anchor(verdict));
            for (name, number, claim) in claims {
                let name = escape(name);
                let text = escape(&sentence(&claim.text));
                let _ = writeln!(out, "<li><a href=\"#{name}-{number}\">{text}</a></li>");
            }
            out.push_str(if folded {
                "</ul></details>\n"
            } else {
                "</ul>\n"
            });
        }
    }
}

/// Verdicts in the order of the abstract.
const ORDER: [Verdict; 4] = [
    Verdict::Holds,
    Verdict::DoesNotHold,
    Verdict::Partly,
    Verdict::NotJudged,
];

fn anchor(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Partly => "holds-in-part",
        Verdict::DoesNotHold => "does-not-hold",
        Verdict::NotJudged => "not-judged",
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "yes",
        Verdict::Partly => "partly",
        Verdict::DoesNotHold => "no",
        Verdict::NotJudged => "open",
    }
}

fn heading(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "Claims that hold",
        Verdict::Partly => "Claims that hold in some cases",
        Verdict::DoesNotHold => "Claims that do not hold",
        Verdict::NotJudged => "Claims that were not judged",
    }
}

/// "31 claims hold", "1 does not hold".
fn number_words(verdict: Verdict, count: usize, what: &str) -> String {
    let one = count == 1;
    let s = if one || what.is_empty() { "" } else { "s" };
    let words = match (verdict, one) {
        (Verdict::Holds, true) => "holds",
        (Verdict::Holds, false) => "hold",
        (Verdict::Partly, true) => "holds in some cases",
        (Verdict::Partly, false) => "hold in some cases",
        (Verdict::DoesNotHold, true) => "does not hold",
        (Verdict::DoesNotHold, false) => "do not hold",
        (Verdict::NotJudged, true) => "was not judged",
        (Verdict::NotJudged, false) => "were not judged",
    };
    format!("{count}{what}{s} {words}")
}

/// A fragment with a capital letter, unless it begins with a symbol.
fn capital(text: &str) -> String {
    let text = text.trim();
    let word = text.split(|c: char| !c.is_alphabetic()).next();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if word.is_some_and(|word| word.chars().count() > 1 || word == "a") => {
            first.to_uppercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// A fragment as a sentence: a capital letter unless it begins with a symbol, and a full stop.
fn sentence(text: &str) -> String {
    let mut out = capital(text);
    if !out.is_empty() && !out.ends_with(['.', '!', '?', ':']) {
        out.push('.');
    }
    out
}

fn body(out: &mut String, name: &str, section: &Section) {
    let _ = writeln!(out, "<h2>{}</h2>", escape(&section.title));
    if section.interrupted {
        out.push_str(
            "<p class=\"notice\">Interrupted: the rest of this experiment is missing.</p>\n",
        );
    }
    let (first, others) = section
        .figures
        .split_first()
        .map_or((None, &[][..]), |(first, others)| (Some(first), others));
    if let Some(first) = first {
        figure(out, first);
    }
    claims(out, name, &section.claims);
    if !section.paragraphs.is_empty() {
        out.push_str("<h3>Method</h3>\n");
    }
    for paragraph in &section.paragraphs {
        let _ = writeln!(out, "<p>{}</p>", escape(paragraph));
    }
    for other in others {
        figure(out, other);
    }
    for table in section.tables.iter().filter(|table| table.in_page) {
        show_table(out, table);
    }
    if !section.config.is_empty() {
        out.push_str("<details><summary>Settings</summary>\n");
        pairs(out, &section.config);
        out.push_str("</details>\n");
    }
    files(out, section);
}

fn figure(out: &mut String, figure: &Figure) {
    match figure.plots.plots.as_slice() {
        [plot] => {
            // Scaling one drawing from a phone to a desk would scale its text, too.
            out.push_str("<figure><div class=\"plots single\">\n");
            out.push_str(&plot.element("wide", COLUMN, HIGHEST));
            out.push_str(&plot.element("narrow", NARROW, HIGHEST));
        }
        plots => {
            out.push_str("<figure><div class=\"plots\">\n");
            for plot in plots {
                out.push_str(&plot.element("panel", PANEL, f64::INFINITY));
            }
        }
    }
    let caption = escape(&sentence(&figure.caption));
    let _ = writeln!(out, "</div><figcaption>{caption}</figcaption></figure>");
}

fn claims(out: &mut String, name: &str, claims: &[Claim]) {
    if claims.is_empty() {
        return;
    }
    out.push_str("<ol class=\"claims\">\n");
    for (i, claim) in claims.iter().enumerate() {
        let _ = write!(
            out,
            "<li id=\"{name}-{}\"><p><b class=\"verdict {}\">{}</b> {}</p>\n<p class=\"measured\">Measured: {}</p>\n",
            i + 1,
            class(claim.verdict),
            claim.verdict.words(),
            escape(&sentence(&claim.text)),
            escape(&sentence_end(&claim.measured))
        );
        if !claim.why.is_empty() {
            let why = escape(&sentence(&claim.why));
            let _ = writeln!(out, "<p class=\"why\">{why}</p>");
        }
        if let Some(change) = claim.what_would_change_it() {
            let change = escape(&sentence(change));
            let _ = writeln!(
                out,
                "<p class=\"change\"><b>What would change this:</b> {change}</p>"
            );
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ol>\n");
}

/// With a full stop.
fn sentence_end(text: &str) -> String {
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{text}{stop}")
}

fn show_table(out: &mut String, table: &NamedTable) {
    let _ = write!(
        out,
        "<h3>{}</h3>\n<div class=\"scroll\" tabindex=\"0\">{}</div>\n",
        escape(&capital(&table.caption)),
        table.table.to_html()
    );
}

fn files(out: &mut String, section: &Section) {
    let tables = section.tables.iter();
    let tables = tables.map(|t| (format!("{}.csv", t.name), t.caption.as_str()));
    let figures = section.figures.iter();
    let figures = figures.map(|f| (format!("{}.svg", f.name), f.caption.as_str()));
    let mut files = tables.chain(figures).peekable();
    if files.peek().is_none() {
        return;
    }
    out.push_str("<details class=\"files\"><summary>Files</summary>\n<ul>\n");
    for (file, caption) in files {
        let file = escape(&file);
        let caption = escape(caption);
        let _ = writeln!(out, "<li><a href=\"{file}\">{file}</a> {caption}</li>");
    }
    out.push_str("</ul>\n</details>\n");
}

fn pairs(out: &mut String, pairs: &[(String, String)]) {
    out.push_str("<div class=\"scroll\"><table class=\"pairs\"><tbody>\n");
    for (name, value) in pairs {
        let _ = writeln!(
            out,
            "<tr><th>{}</th><td>{}</td></tr>",
            escape(name),
            escape(value)
        );
    }
    out.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests;
