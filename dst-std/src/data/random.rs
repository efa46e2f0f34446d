//! Random numbers that any language can make again: splitmix64 with a counter, so that the i-th number of a seed is a
//! function of the two.

use std::f64::consts::PI;

/// The i-th uniform number of a seed, inside (0, 1).
pub fn uniform(seed: u64, i: u64) -> f64 {
    let mut z = seed.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    ((z >> 11) as f64 + 0.5) * 2f64.powi(-53)
}

/// The first `count` normal numbers of a seed, by Box and Muller, two from each pair of uniforms.
pub fn normals(seed: u64, count: usize) -> Vec<f64> {
    (0..count as u64)
        .map(|i| {
            let (first, second) = (i & !1, i | 1);
            let radius = (-2.0 * uniform(seed, first).ln()).sqrt();
            let angle = 2.0 * PI * uniform(seed, second);
            radius * if i == first { angle.cos() } else { angle.sin() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFORM_7001: [f64; 2] = [0.925445049250434, 0.5801572463167284];
    const NORMAL_7002: [f64; 3] = [0.6758774379379997, 0.7243936811026648, -0.7372919888489909];

    /// Against the numpy version of the same generator.
    #[test]
    fn known_numbers() {
        assert_eq!(uniform(7001, 0).to_bits(), UNIFORM_7001[0].to_bits());
        assert_eq!(uniform(7001, 1).to_bits(), UNIFORM_7001[1].to_bits());
        for (ours, theirs) in normals(7002, 3).iter().zip(NORMAL_7002) {
            assert!((ours - theirs).abs() < 1e-14, "{ours} {theirs}");
        }
    }
}
