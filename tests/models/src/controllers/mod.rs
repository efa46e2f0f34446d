//! The two tuned controllers, as `dst control export --out DIR` wrote them; their headers are in `tests/c/controllers`.
//! To renew them: export, copy, and compare the budgets. A test of dst-std writes them again from the knobs stored beside the headers.

pub mod quadrotor;
pub mod safety_filter;
