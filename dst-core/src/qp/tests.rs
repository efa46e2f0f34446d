//! Products, projections and ADMM with them: known answers, then derivatives against differences.

mod conditions;
mod infinite;
mod products;
mod projections;
mod stopping;
