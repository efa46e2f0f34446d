//! Known answers first.
