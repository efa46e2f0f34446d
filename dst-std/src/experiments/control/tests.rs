//! A small version.
