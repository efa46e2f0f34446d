//! The report: plots, tables, the page, and the files that hold them.
//!
//! An experiment ends in a [`Section`]: claims with their verdicts, paragraphs, figures and tables. A [`Page`] shows
//! sections as one self-contained HTML file; an [`OutDir`] writes every file whole or not at all.
//!
//! ```text
//!  Plot ─► Panels ─┐                      ┌─► index.html
//!                  ├─► Section ─► Page ───┤
//!  Table ──────────┘                      └─► one .svg per figure, one .csv per table
//! ```
//! Everything but the files is text made from values, the same text every time.
//!
//! # Why there is no plotting crate
//! The plots need text as text, a CSS class for every colour (dark mode), log axes down to 1e-16 with at most nine ticks,
//! lines that break at NaN, equal axes in panels, one layout for a column and one for a phone, and few dependencies.
//! Examined in their source or documentation, and what each lacks:
//!
//! - `kuva` 0.6: closest, with text, log axes and a script for hover and zoom. Colours are written into every element without
//!   a class, log ticks are clamped at 1e-10, the script is repeated in every SVG, and it is 95 000 lines with
//!   `chrono` and `colorous`.
//! - `plotters` 0.3: colours inline without classes, ticks of log axes by its own rule, no hover; text layout needs a font
//!   library or guesses.
//! - `poloto` 19: styled by CSS, but has no log axes and no panels.
//! - `charming` 0.6: draws with ECharts, about 1 MB of script, loaded from a network address or run in `deno_core`.

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
mod section;
mod series;
mod table;

pub use crate::format::short;
pub use axis::Axis;
pub use files::OutDir;
pub use page::{Page, Stage};
pub use plot::{Panels, Plot, panels};
pub use section::{Claim, Figure, NamedTable, Section, Verdict};
pub use series::Series;
pub use table::{Cell, Table};
