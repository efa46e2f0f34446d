//! Online adaptation: change the learning rate while the algorithm runs, by the sensitivity of its stopping time.
//!
//! When f has fallen by more than a threshold since the last adaptation, that fall is a stop; its time N depends
//! on the learning rate α, and α moves against ∂N/∂α. [`AdamOla`] is the paper's Algorithm 2, which keeps the last
//! step of that dependence only. [`WindowedOla`] backpropagates from the trigger to the last adaptation, through the same
//! engine as everything else.
//!
//! Both are literal: nothing keeps α positive or the iteration stable.

mod adam_ola;
mod windowed;

pub use adam_ola::{AdamOla, OlaConfig, OlaStatus};
pub use windowed::{Window, WindowedOla, windowed_state_len};
