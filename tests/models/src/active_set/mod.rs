//! The controllers of the two plants with an active set. A test of dst-std (`active_set_controllers`) writes them; the same in C are in
//! `tests/c/active_set`.

pub mod quadrotor;
pub mod safety_filter;
