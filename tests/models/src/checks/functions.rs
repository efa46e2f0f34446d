//! Elementary functions: all other results depend on their bits.

use dst_core::Scalar;

use super::outcome::Outcome;

pub(super) fn elementary<S: Scalar>(out: &mut Outcome) {
    for x in [1e-3, 0.3, 0.7, 1.9] {
        let x = S::from_f64(x);
        out.numbers(&[x.exp(), x.ln(), x.ln_1p(), x.sqrt()]);
        out.numbers(&[x.sin(), x.cos(), x.tan(), x.atan(), x.tanh()]);
        out.numbers(&[x.powf(x), (-x).exp(), (-x).tanh(), x.next_down()]);
        let [s, c] = [x.sin(), x.cos()];
        out.near("sin² + cos²", s * s + c * c, 1.0, [1e-6, 1e-14]);
        out.near("ln(exp x)", x.exp().ln() / x, 1.0, [1e-3, 1e-12]);
        out.near("tan(atan x)", x.atan().tan() / x, 1.0, [1e-6, 1e-14]);
        out.near("x^2", x.powf(S::TWO) / (x * x), 1.0, [1e-6, 1e-14]);
    }
    // Subnormal numbers are not flushed to zero.
    let tiny = S::from_f64(if super::outcome::is_double::<S>() {
        1e-310
    } else {
        1e-40
    });
    out.number(tiny);
    out.holds("subnormal", tiny > S::ZERO && tiny * S::TWO > tiny);
}
