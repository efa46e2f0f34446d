//! Instruction set of the kernels: that of the machine, or one arithmetic for all machines.
//!
//! A kernel sums in as many numbers at a time as a register holds, and rounds a·b + c once or twice: with [`Arithmetic::Native`] its
//! last bits depend on the instruction set. [`Arithmetic::Portable`] is the arithmetic of AVX2 with FMA everywhere, 256 bits and one
//! rounding. A processor that has no such instructions computes the same bits without them: aarch64 at its usual speed, because it
//! rounds once too; x86-64 before 2013 slowly.

use std::sync::OnceLock;

use pulp::{Arch, NullaryFnOnce, Scalar256b, Simd, WithSimd};

/// Arithmetic of the kernels, one for the whole process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// The fastest instructions of this machine. Results have the same bits on machines with the same instruction set.
    #[default]
    Native,
    /// The same bits on every x86-64 and aarch64.
    Portable,
}

/// The choice. The first kernel makes it, if nothing else has: one process never mixes two.
static CHOSEN: OnceLock<Arithmetic> = OnceLock::new();

impl Arithmetic {
    /// Chooses the arithmetic of this process, before its first kernel. An error returns the one that it already has.
    ///
    /// ```
    /// use dst_std::linalg::Arithmetic;
    ///
    /// assert_eq!(Arithmetic::Portable.choose(), Ok(()));
    /// assert_eq!(Arithmetic::Native.choose(), Err(Arithmetic::Portable));
    /// ```
    pub fn choose(self) -> Result<(), Self> {
        match *CHOSEN.get_or_init(|| self) {
            chosen if chosen == self => Ok(()),
            other => Err(other),
        }
    }

    /// The arithmetic of this process; [`Native`](Self::Native) if none was chosen, from now on.
    pub fn current() -> Self {
        *CHOSEN.get_or_init(Self::default)
    }

    /// Runs a kernel.
    #[inline]
    fn run<W: WithSimd>(self, kernel: W) -> W::Output {
        match self {
            Self::Native => Arch::new().dispatch(kernel),
            Self::Portable => portable(kernel),
        }
    }
}

/// Runs a kernel in the arithmetic of this process.
#[inline]
pub(crate) fn dispatch<W: WithSimd>(kernel: W) -> W::Output {
    Arithmetic::current().run(kernel)
}

/// By the instructions themselves, where the processor has them.
#[inline]
fn portable<W: WithSimd>(kernel: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(With { kernel, simd });
    }
    let simd = Scalar256b;
    With { kernel, simd }.call()
}

/// A kernel with its vectors, to be compiled for their instruction set.
struct With<W, S> {
    kernel: W,
    simd: S,
}

impl<W: WithSimd, S: Simd> NullaryFnOnce for With<W, S> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.kernel.with_simd(self.simd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Real;
    use crate::random::normals;

    /// All operations of [`Lanes`], over whole vectors.
    struct Mixed<'a, T>(&'a [T]);

    impl<T: Real> WithSimd for Mixed<'_, T> {
        type Output = T;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> T {
            let mut sum = T::splat(simd, T::ZERO);
            for &v in T::vectors::<S>(self.0) {
                let product = T::mul_add(simd, v, v, sum);
                sum = T::sub_mul(simd, T::times(simd, v, product), v, T::plus(simd, v, sum));
            }
            T::sum(simd, sum)
        }
    }

    /// The emulation has the bits of the instructions; `cargo xtask portable` compares whole commands on other processors.
    #[test]
    fn emulated_and_real_instructions_have_the_same_bits() {
        let numbers = normals(3, 4096);
        let single: Vec<f32> = numbers.iter().map(|&v| v as f32).collect();
        for length in [8, 64, 1000, 4096] {
            let (x, y) = (&numbers[..length], &single[..length]);
            let double = Arithmetic::Portable.run(Mixed(x));
            assert_eq!(double.to_bits(), Mixed(x).with_simd(Scalar256b).to_bits());
            let single = Arithmetic::Portable.run(Mixed(y));
            assert_eq!(single.to_bits(), Mixed(y).with_simd(Scalar256b).to_bits());
        }
    }
}
