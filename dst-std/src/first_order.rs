//! The steps of gradient descent and of Nesterov's method, shared by every module that runs them.

use dst_core::Scalar;

/// Gradient descent: x ← x − αg.
pub(crate) fn gradient_step<T: Scalar>(x: &mut [T], gradient: &[T], alpha: T) {
    for (x, &g) in x.iter_mut().zip(gradient) {
        *x -= alpha * g;
    }
}

/// Nesterov's method, with the gradient taken at the extrapolated point y: x₊ = y − αg, y ← x₊ + β(x₊ − x), x ← x₊.
pub(crate) fn nesterov_step<T: Scalar>(
    x: &mut [T],
    y: &mut [T],
    gradient: &[T],
    alpha: T,
    momentum: T,
) {
    for ((x, y), &g) in x.iter_mut().zip(y).zip(gradient) {
        let next = *y - alpha * g;
        *y = next + momentum * (next - *x);
        *x = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// f = ½·10x²: with α = 1/L both land on the minimum at once, and Nesterov's method then overshoots by its momentum.
    #[test]
    fn a_step_of_one_over_l_finds_the_minimum_of_a_parabola() {
        let (mut x, alpha) = ([3.0], 0.1);
        gradient_step(&mut x, &[30.0], alpha);
        assert_eq!(x, [0.0]);
        let (mut x, mut y) = ([3.0_f64], [3.0]);
        nesterov_step(&mut x, &mut y, &[30.0], alpha, 0.5);
        assert_eq!((x, y), ([0.0], [-1.5]));
    }
}
