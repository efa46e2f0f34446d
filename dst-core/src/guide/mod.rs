#![doc = include_str!("README.md")]
// Text only: the module exists for rustdoc and its tests, and is not part of any build.

#[doc = include_str!("stopping_time.md")]
pub mod stopping_time {}

#[doc = include_str!("your_own_loop.md")]
pub mod your_own_loop {}

#[doc = include_str!("bring_your_own.md")]
pub mod bring_your_own {}

#[doc = include_str!("settling.md")]
pub mod settling {}

#[doc = include_str!("when_it_helps.md")]
pub mod when_it_helps {}

#[doc = include_str!("traps.md")]
pub mod traps {}

#[doc = include_str!("choosing.md")]
pub mod choosing {}

#[doc = include_str!("firmware.md")]
pub mod firmware {}

#[doc = include_str!("control.md")]
pub mod control {}

#[doc = include_str!("c.md")]
pub mod c {}
