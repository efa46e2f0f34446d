//! f(x) = ½xᵀQx with Q symmetric, however it is stored.

use dst_core::Objective;

use crate::linalg::Operator;

/// The quadratic form of an operator.
#[derive(Clone, Debug)]
pub struct Form<Q>(pub Q);

impl<Q: Operator> Objective<f64> for Form<Q> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn scratch_len(&self) -> usize {
        self.0.dim() + self.0.scratch_len()
    }

    fn value_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        self.0.apply(x, gradient, scratch);
        0.5 * x.iter().zip(&*gradient).map(|(x, g)| x * g).sum::<f64>()
    }

    fn add_hessian_vector(
        &self,
        _: &[f64],
        v: &[f64],
        _: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        let (product, scratch) = scratch.split_at_mut(v.len());
        self.0.apply(v, product, scratch);
        for (out, product) in out.iter_mut().zip(product) {
            *out += *product;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{differences, quadratic};
    use super::*;

    #[test]
    fn derivatives() {
        let form = Form(quadratic::reflected(12, 3, 1));
        differences::check(&form, &quadratic::start(12, 1));
    }
}
