//! The two tuned controllers, as `dst control export --out DIR` wrote them; their headers are in `tests/c/controllers`.
//! To renew them: export, copy, and compare the budgets.

pub mod quadrotor;
pub mod safety_filter;
