//! What people look at: tables, plots, files, the page.
