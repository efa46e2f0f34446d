//! A symmetric linear map, however it is stored.

use super::two_pass::TwoPass;

/// x ↦ Qx with Q = Qᵀ.
pub trait Operator: Sync {
    /// Rows and columns.
    fn dim(&self) -> usize;

    /// Working memory of a product.
    fn scratch_len(&self) -> usize {
        0
    }

    /// out ← Qx, both of length [`dim`](Self::dim). `scratch` has at least [`scratch_len`](Self::scratch_len) entries, whose content
    /// does not matter and does not survive.
    fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]);

    /// The same product in two passes, for operators that need only a few sums over the whole of x.
    fn two_pass(&self) -> Option<&dyn TwoPass> {
        None
    }
}
