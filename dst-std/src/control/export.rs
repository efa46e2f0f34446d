//! The tuned controller as source text.
