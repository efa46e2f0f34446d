//! The dual active set against an independent solver, on random programs; warm starts, deadlines, refusals.

mod adapter;
mod agreement;
mod deadline;
mod hard_cases;
mod refusals;
mod sensitivity;
mod table;
mod warm;
