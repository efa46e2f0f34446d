//! What people look at: plots, tables, the page, and how they come to disk.
//!
//! An experiment ends in a [`Section`]: claims with their verdicts, paragraphs, figures and tables. A [`Page`] shows
//! sections as one self-contained HTML file; an [`OutDir`] writes every file whole or not at all.
//!
//! ```text
//!  Plot ─► SVG ─┐                      ┌─► index.html
//!               ├─► Section ─► Page ───┤
//!  Table ───────┘                      └─► one .svg per figure, one .csv per table
//! ```
//! Everything but the files is text made from values, the same text every time.

mod axis;
#[cfg(test)]
#[path = "../../tests/markup/mod.rs"]
mod balance;
mod files;
mod frame;
mod markup;
mod page;
mod pen;
mod plot;
#[cfg(test)]
#[path = "../../tests/scratch/mod.rs"]
mod scratch;
mod section;
mod series;
mod table;

pub use crate::format::short;
pub use axis::Axis;
pub use files::OutDir;
pub use page::{Page, Stage};
pub use plot::{Plot, panels};
pub use section::{Claim, Figure, NamedTable, Section, Verdict};
pub use series::Series;
pub use table::{Cell, Table};
