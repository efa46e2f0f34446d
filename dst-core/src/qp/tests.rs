//! The active set, products, projections and ADMM with them: known answers, then derivatives against differences.

mod active_set;
mod conditions;
mod infinite;
mod products;
mod projections;
mod stopping;
