//! One HTML page with everything in it: no script, no font, no picture from elsewhere.
//!
//! The summary comes first, one line per claim, then a section per experiment. It follows the reader's choice of light or
//! dark, prints, and fits on a phone: figures stack, wide tables scroll inside their own box.

use std::fmt::Write;

use super::markup::escape;
use super::plot::NAMESPACE;
use super::section::{Claim, Section, Verdict};

/// How far the run that makes the page has come.
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
    stage: Stage,
    facts: Vec<(String, String)>,
    sections: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    content: Result<Section, (String, String)>,
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            stage: Stage::Running,
            facts: Vec::new(),
            sections: Vec::new(),
        }
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
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        match self.stage {
            Stage::Running => out.push_str("<p class=\"notice\">Still running: more follows.</p>\n"),
            Stage::Interrupted => out.push_str(
                "<p class=\"notice\">This run was interrupted. What is here is finished; the rest is missing.</p>\n",
            ),
            Stage::Complete => {}
        }
        self.summary(&mut out);
        for entry in &self.sections {
            let name = escape(&entry.name);
            let _ = writeln!(out, "<section id=\"{name}\">");
            match &entry.content {
                Ok(section) => body(&mut out, section),
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
        out + "</main>\n</body>\n</html>\n"
    }

    fn summary(&self, out: &mut String) {
        let claims = |entry: &'_ Entry| match &entry.content {
            Ok(section) => section.claims.len(),
            Err(_) => 1,
        };
        if self.sections.iter().map(claims).sum::<usize>() == 0 {
            return;
        }
        out.push_str(
            "<section id=\"summary\">\n<h2>Summary</h2>\n<div class=\"scroll\"><table class=\"claims\">\n<thead><tr>\
             <th>Experiment</th><th>Claim</th><th>Measured</th><th>Verdict</th></tr></thead>\n<tbody>\n",
        );
        for entry in &self.sections {
            let name = escape(&entry.name);
            let link = format!("<a href=\"#{name}\">{name}</a>");
            match &entry.content {
                Ok(section) => {
                    for claim in &section.claims {
                        row(out, &link, claim);
                    }
                }
                Err((title, reason)) => {
                    let _ = writeln!(
                        out,
                        "<tr><td>{link}</td><td>{}</td><td></td><td><b class=\"verdict no\">failed</b> {}</td></tr>",
                        escape(title),
                        escape(reason)
                    );
                }
            }
        }
        out.push_str("</tbody></table></div>\n</section>\n");
    }
}

fn row(out: &mut String, link: &str, claim: &Claim) {
    let class = match claim.verdict {
        Verdict::Holds => "yes",
        Verdict::Partly => "partly",
        Verdict::DoesNotHold => "no",
    };
    let _ = writeln!(
        out,
        "<tr><td>{link}</td><td>{}</td><td>{}</td><td><b class=\"verdict {class}\">{}</b> {}</td></tr>",
        escape(&claim.text),
        escape(&claim.measured),
        claim.verdict.words(),
        escape(&claim.why)
    );
}

fn body(out: &mut String, section: &Section) {
    let _ = writeln!(out, "<h2>{}</h2>", escape(&section.title));
    if section.interrupted {
        out.push_str(
            "<p class=\"notice\">Interrupted: the rest of this experiment is missing.</p>\n",
        );
    }
    for paragraph in &section.paragraphs {
        let _ = writeln!(out, "<p>{}</p>", escape(paragraph));
    }
    if !section.figures.is_empty() {
        out.push_str("<div class=\"figures\">\n");
        for figure in &section.figures {
            // Inside HTML the drawing needs no namespace.
            let svg = figure.svg.replacen(NAMESPACE, "", 1);
            let _ = writeln!(
                out,
                "<figure><div class=\"scroll\">{svg}</div><figcaption>{}</figcaption></figure>",
                escape(&figure.caption)
            );
        }
        out.push_str("</div>\n");
    }
    for table in section.tables.iter().filter(|table| table.in_page) {
        let _ = write!(
            out,
            "<h3>{}</h3>\n<div class=\"scroll\">{}</div>\n",
            escape(&table.caption),
            table.table.to_html()
        );
    }
    if !section.config.is_empty() {
        out.push_str("<details><summary>Run with</summary>\n");
        pairs(out, &section.config);
        out.push_str("</details>\n");
    }
    let files: Vec<(String, &str)> = section
        .tables
        .iter()
        .map(|t| (format!("{}.csv", t.name), t.caption.as_str()))
        .chain(
            section
                .figures
                .iter()
                .map(|f| (format!("{}.svg", f.name), f.caption.as_str())),
        )
        .collect();
    if !files.is_empty() {
        out.push_str("<details><summary>Files</summary>\n<ul>\n");
        for (file, caption) in files {
            let file = escape(&file);
            let _ = writeln!(
                out,
                "<li><a href=\"{file}\">{file}</a> {}</li>",
                escape(caption)
            );
        }
        out.push_str("</ul>\n</details>\n");
    }
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

const STYLE: &str = "
:root{--ink:#1d1d1f;--soft:#5c5f66;--ground:#fff;--line:#d9dbe0;--tint:#f4f5f7;--link:#0a58ca;--yes:#0b6b3a;--no:#b3261e;--partly:#8a5300}
@media(prefers-color-scheme:dark){:root{--ink:#e8e8ea;--soft:#a5a8b0;--ground:#17181b;--line:#3a3c42;--tint:#222429;--link:#8ab4f8;--yes:#6fd39b;--no:#ff8a80;--partly:#f0b95a}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}
main{max-width:66rem;margin:0 auto;padding:1.25rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0 1rem}
h2{font-size:1.3rem;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.4rem 0 .4rem}
p{max-width:46rem;margin:.6rem 0}
a{color:var(--link)}
.notice{padding:.6rem .9rem;background:var(--tint);border-left:4px solid var(--partly)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{background:var(--tint)}
.number{text-align:right;white-space:nowrap}
.claims{width:100%;min-width:34rem}
.pairs th{font-weight:500;color:var(--soft);white-space:nowrap}
.verdict{white-space:nowrap;margin-right:.3rem}
.yes{color:var(--yes)}.no{color:var(--no)}.partly{color:var(--partly)}
.figures{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start;margin:1rem 0}
figure{margin:0;max-width:100%}
figure svg{display:block;max-width:100%;height:auto}
figure svg.wide{min-width:44rem}
figcaption{font-size:.85rem;color:var(--soft);max-width:30rem;margin:.3rem .2rem}
details{margin:.8rem 0}
summary{cursor:pointer;color:var(--soft)}
li{margin:.2rem 0;overflow-wrap:anywhere}
@media(max-width:44rem){.claims{min-width:0}.claims thead{display:none}.claims tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--line)}.claims td{display:block;border:0;padding:.1rem 0}}
@media print{body{font-size:11px}main{max-width:none;padding:0}figure,tr{break-inside:avoid}h2,h3{break-after:avoid}.scroll{overflow:visible}}
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Axis, Plot, Series, Table, balance};

    fn hostile() -> Page {
        let evil = "<script>alert('x')</script> & \"quotes\"";
        let mut section = Section::new(evil);
        section.claim(evil, evil, Verdict::Partly, evil);
        section.paragraph(evil);
        let plot = Plot::new(evil)
            .x(Axis::linear(evil))
            .line(Series::new(evil, [(0.0, 1.0), (1.0, 2.0)]));
        section.figure("figure", evil, plot.to_svg());
        let mut table = Table::new().left(evil);
        table.row([evil.into()]);
        section.table("table", evil, table.clone());
        section.data("data", evil, table);
        section.setting(evil, evil);
        let mut page = Page::new(evil);
        page.section("one", section);
        page.failure("two", evil, evil);
        page.fact(evil, evil);
        page
    }

    #[test]
    fn everything_is_escaped_and_nothing_comes_from_elsewhere() {
        let html = hostile().to_html();
        balance::check(&html).unwrap();
        assert!(!html.contains("<script"), "{html}");
        assert!(!html.contains("http") && !html.contains("src="), "{html}");
        assert!(html.contains("href=\"data.csv\"") && html.contains("href=\"table.csv\""));
        // The table that is only a file is not in the page: header and cell, once.
        assert_eq!(html.matches("<thead>").count(), 2);
    }

    #[test]
    fn the_page_says_how_far_it_came() {
        let mut page = hostile();
        assert!(page.to_html().contains("Still running"));
        page.stage(Stage::Interrupted);
        assert!(page.to_html().contains("was interrupted"));
        page.stage(Stage::Complete);
        let html = page.to_html();
        assert!(!html.contains("interrupted") && !html.contains("Still running"));
    }

    #[test]
    fn an_empty_page_is_a_page() {
        balance::check(&Page::new("nothing").to_html()).unwrap();
    }
}
