//! Tables: once as values, then as text for a terminal, as HTML, as CSV and as Markdown.
//!
//! A number is shown with the digits people want to read and goes to CSV with all of its digits.

use std::fmt::Write;

use super::markup::escape;
use crate::format::short;

/// On which side the cells of a column line up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The content of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    shown: String,
    /// The same for machines, where it differs.
    exact: Option<String>,
}

impl Cell {
    /// A number shown as `shown`, with all digits in CSV.
    pub fn shown_as(value: f64, shown: impl Into<String>) -> Self {
        Self {
            shown: shown.into(),
            exact: Some(if value.is_nan() {
                String::new()
            } else {
                format!("{value:?}")
            }),
        }
    }

    fn exact(&self) -> &str {
        self.exact.as_deref().unwrap_or(&self.shown)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Cell {
    fn from(shown: String) -> Self {
        Self { shown, exact: None }
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        count.to_string().into()
    }
}

/// Four significant digits for people, all of them in CSV; NaN is an empty field there.
impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::shown_as(value, short(value))
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.unwrap_or(f64::NAN).into()
    }
}

/// A table.
///
/// ```
/// use dst_std::report::Table;
/// let mut table = Table::new().left("crossing").right("relative error");
/// table.row(["Paper".into(), 0.0123456.into()]);
/// assert_eq!(table.to_csv(), "crossing,relative error\r\nPaper,0.0123456\r\n");
/// assert!(table.to_text().contains("0.01235"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Without columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column of words.
    pub fn left(self, header: impl Into<String>) -> Self {
        self.column(header, Align::Left)
    }

    /// Adds a column of numbers.
    pub fn right(self, header: impl Into<String>) -> Self {
        self.column(header, Align::Right)
    }

    fn column(mut self, header: impl Into<String>, align: Align) -> Self {
        self.columns.push((header.into(), align));
        self
    }

    /// Adds a row. Missing cells are empty; those beyond the last column make one without a header.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        while self.columns.len() < cells.len() {
            self.columns.push((String::new(), Align::Left));
        }
        self.rows.push(cells);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Without a row?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All rows with the header first, as `text` reads a cell; every row of full length.
    fn grid<'a>(&'a self, text: impl Fn(&'a Cell) -> &'a str) -> Vec<Vec<&'a str>> {
        let header = self.columns.iter().map(|c| c.0.as_str()).collect();
        let full = |row: &'a Vec<Cell>| {
            let cell = |i| row.get(i).map_or("", &text);
            (0..self.columns.len()).map(cell).collect()
        };
        std::iter::once(header)
            .chain(self.rows.iter().map(full))
            .collect()
    }

    /// Columns side by side, for a terminal.
    pub fn to_text(&self) -> String {
        let grid = self.grid(|cell| &cell.shown);
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|c| grid.iter().map(move |row| one_line(row[c]).chars().count()))
            .map(|lengths| lengths.max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for row in &grid {
            let mut line = String::new();
            for ((cell, (_, align)), &width) in row.iter().zip(&self.columns).zip(&widths) {
                let cell = one_line(cell);
                let _ = match align {
                    Align::Left => write!(line, "{cell:<width$}  "),
                    Align::Right => write!(line, "{cell:>width$}  "),
                };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// An HTML table.
    pub fn to_html(&self) -> String {
        let mut out = String::from("<table>\n");
        for (i, row) in self.grid(|cell| &cell.shown).iter().enumerate() {
            let tag = if i == 0 { "th" } else { "td" };
            if i < 2 {
                out.push_str(["<thead>", "<tbody>"][i]);
            }
            out.push_str("<tr>");
            for (cell, (_, align)) in row.iter().zip(&self.columns) {
                let class = match align {
                    Align::Left => "",
                    Align::Right => " class=\"number\"",
                };
                let text = if i == 0 { heading(cell) } else { escape(cell) };
                let _ = write!(out, "<{tag}{class}>{text}</{tag}>");
            }
            out.push_str("</tr>");
            out.push_str(if i == 0 { "</thead>\n" } else { "\n" });
        }
        if !self.rows.is_empty() {
            out.push_str("</tbody>");
        }
        out + "</table>\n"
    }

    /// Comma-separated values after RFC 4180, numbers with all of their digits.
    pub fn to_csv(&self) -> String {
        let mut out = String::new();
        for row in self.grid(Cell::exact) {
            let fields: Vec<String> = row.into_iter().map(quoted).collect();
            out.push_str(&fields.join(","));
            out.push_str("\r\n");
        }
        out
    }

    /// A table of GitHub's Markdown.
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        for (i, row) in self.grid(|cell| &cell.shown).iter().enumerate() {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| one_line(cell).replace('\\', "\\\\").replace('|', "\\|"))
                .collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
            if i == 0 {
                let rule = self.columns.iter().map(|(_, align)| match align {
                    Align::Left => "---",
                    Align::Right => "---:",
                });
                let _ = writeln!(out, "|{}|", rule.collect::<Vec<_>>().join("|"));
            }
        }
        out
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\r', '\n', '\t'], " ")
}

/// A field of CSV, quoted where it must be.
fn quoted(field: &str) -> String {
    let plain =
        !field.contains(['"', ',', '\r', '\n']) && !field.starts_with(' ') && !field.ends_with(' ');
    if plain {
        field.to_owned()
    } else {
        format!("\"{}\"", field.replace('"', "\"\""))
    }
}

/// A heading that a browser may break at spaces but not at the hyphen of a number like 1e-5.
fn heading(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.contains('-') {
        true => format!("<span>{}</span>", escape(word)),
        false => escape(word),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new().left("name").right("value");
        table.row(["a, \"b\"".into(), (1.0 / 3.0).into()]);
        table.row(["<x>|y".into(), f64::NAN.into()]);
        table.row(["two\nlines".into()]);
        table
    }

    #[test]
    fn csv_after_rfc_4180() {
        let text =
            "name,value\r\n\"a, \"\"b\"\"\",0.3333333333333333\r\n<x>|y,\r\n\"two\nlines\",\r\n";
        assert_eq!(example().to_csv(), text);
    }

    #[test]
    fn text_lines_up() {
        let text = "name        value\na, \"b\"     0.3333\n<x>|y           –\ntwo lines\n";
        assert_eq!(example().to_text(), text);
    }

    #[test]
    fn html_is_escaped() {
        let html = example().to_html();
        assert!(html.contains("<td>&lt;x&gt;|y</td>"), "{html}");
        assert!(html.contains("<td class=\"number\">0.3333</td>"), "{html}");
        crate::report::balance::check(&html).unwrap();
        crate::report::balance::check(&Table::new().to_html()).unwrap();
        let html = Table::new().right("to 1e-5").to_html();
        assert!(html.contains(">to <span>1e-5</span></th>"), "{html}");
    }

    #[test]
    fn markdown_keeps_its_columns() {
        let text = example().to_markdown();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "|---|---:|");
        assert_eq!(lines[3], "| <x>\\|y | – |");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn a_long_row_loses_nothing() {
        let mut table = Table::new().left("a");
        table.row(["1".into(), "2".into()]);
        assert_eq!(table.to_csv(), "a,\r\n1,2\r\n");
        assert_eq!((table.len(), table.is_empty()), (1, false));
    }
}
