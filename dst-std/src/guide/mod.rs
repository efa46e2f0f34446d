#![doc = include_str!("README.md")]
// Text only: the module exists for rustdoc and its tests, and is not part of any build.

#[doc = include_str!("tuning.md")]
pub mod tuning {}

#[doc = include_str!("families.md")]
pub mod families {}

#[doc = include_str!("control.md")]
pub mod control {}

#[doc = include_str!("online_adaptation.md")]
pub mod online_adaptation {}

#[doc = include_str!("learned_optimisers.md")]
pub mod learned_optimisers {}

#[doc = include_str!("report.md")]
pub mod report {}

#[doc = include_str!("large_runs.md")]
pub mod large_runs {}
