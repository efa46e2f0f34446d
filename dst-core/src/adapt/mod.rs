//! Online adaptation: changes the learning rate during the run, using the sensitivity of the stopping time.
//!
//! A decrease of f by more than a threshold since the last adaptation counts as a stop. Its time N depends on the learning rate
//! α, and α moves against ∂N/∂α. [`AdamOla`] is the paper's Algorithm 2, which keeps only the last step of that dependence.
//! [`WindowedOla`] backpropagates from the trigger to the last adaptation, with the same engine as every other gradient.
//!
//! Both are literal: nothing keeps α positive or the iteration stable. Two variants add safeguards:
//!
//! | | adapts | per iteration | |
//! |---|---|---|---|
//! | [`AdamOla`] | α | 1 gradient | Algorithm 2, literally |
//! | [`WindowedOla`] | α | 1 gradient + the backward sweep of a window | the exact ∂N/∂α |
//! | [`GuardedOla`], G-OLA | ln α | 1 gradient | finite from every α₀; its page explains why the literal algorithm fails |
//! | [`NewtonOla`], N-OLA | α, β₁ and momentum at once | 1 gradient + 2 Hessian-vector products | sets ∂N/∂θ to zero by a Newton step: in effect preconditioned nonlinear conjugate gradients |

mod adam_ola;
mod eigen;
mod guarded;
mod moments;
mod newton_ola;
mod point;
mod windowed;

pub use adam_ola::{AdamOla, OlaConfig, OlaCursor, OlaStatus};
pub use guarded::{GuardedConfig, GuardedOla};
pub use newton_ola::{NewtonConfig, NewtonOla};
pub use windowed::{Window, WindowedOla, windowed_state_len};
