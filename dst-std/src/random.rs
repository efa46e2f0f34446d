//! Random numbers that any language can reproduce: counter-based splitmix64 and Box–Muller.
//!
//! Number i of stream S is a hash of S + (i + 1)·γ, so there is no state, and any part of a stream can be computed alone.

/// 2⁶⁴ divided by the golden ratio, odd.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Number `index` of stream `seed`: 64 random bits.
pub fn bits(seed: u64, index: u64) -> u64 {
    let z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GAMMA));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Uniform in (0, 1), never one of the ends.
pub fn uniform(seed: u64, index: u64) -> f64 {
    let u = ((bits(seed, index) >> 11) as f64 + 0.5) * f64::powi(2.0, -53);
    // The largest of them is halfway to 1, and rounded to it.
    u.min(1.0 - f64::EPSILON / 2.0)
}

/// Number `index` of the standard normal numbers of a stream: pairs by Box–Muller.
pub fn normal(seed: u64, index: u64) -> f64 {
    let [first, second] = pair(seed, index / 2);
    if index.is_multiple_of(2) {
        first
    } else {
        second
    }
}

fn pair(seed: u64, number: u64) -> [f64; 2] {
    let radius = (-2.0 * libm::log(uniform(seed, 2 * number))).sqrt();
    let (sin, cos) = libm::sincos(std::f64::consts::TAU * uniform(seed, 2 * number + 1));
    [radius * cos, radius * sin]
}

/// The first `count` standard normal numbers of a stream.
pub fn normals(seed: u64, count: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; count];
    fill_normals(seed, &mut numbers);
    numbers
}

/// The same, into a slice.
pub fn fill_normals(seed: u64, numbers: &mut [f64]) {
    fill_normals_from(seed, 0, numbers);
}

/// The same, from number `first` of the stream on.
pub fn fill_normals_from(seed: u64, first: u64, numbers: &mut [f64]) {
    // The second of a pair may come first.
    let (alone, pairs) = numbers.split_at_mut((first as usize & 1).min(numbers.len()));
    for to in alone {
        *to = normal(seed, first);
    }
    for (number, to) in (first.div_ceil(2)..).zip(pairs.chunks_mut(2)) {
        to.copy_from_slice(&pair(seed, number)[..to.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The first outputs of splitmix64 from state 0, as published with it.
        assert_eq!(bits(0, 0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(bits(0, 1), 0x6E78_9E6A_A1B9_65F4);
    }

    /// Seeds whose first bits are all zero and all one.
    #[test]
    fn the_ends_are_left_out() {
        let (zeros, ones) = (0x61C8_8646_80B5_83EB, 0x3162_8AF6_7B21_31AB);
        assert_eq!((bits(zeros, 0), bits(ones, 0)), (0, u64::MAX));
        assert!(uniform(zeros, 0) > 0.0);
        assert!(uniform(ones, 0) < 1.0, "{}", uniform(ones, 0));
    }

    /// The same in numpy.
    #[test]
    fn another_language_makes_the_same_numbers() {
        assert_eq!(uniform(7001, 0), 0.925445049250434);
        assert_eq!(uniform(7001, 1), 0.5801572463167284);
        let numpy = [0.6758774379379997, 0.7243936811026648, -0.7372919888489909];
        for (ours, theirs) in normals(7002, 3).iter().zip(numpy) {
            assert!((ours - theirs).abs() < 1e-14, "{ours} {theirs}");
        }
    }

    #[test]
    fn the_normals_are_normal() {
        let n = 200_000;
        let x = normals(3, n);
        let moment = |p: i32| x.iter().map(|x| x.powi(p)).sum::<f64>() / n as f64;
        let close = |a: f64, b: f64, sigma: f64| (a - b).abs() < 4.0 * sigma / (n as f64).sqrt();
        assert!(close(moment(1), 0.0, 1.0), "{}", moment(1));
        assert!(close(moment(2), 1.0, 2f64.sqrt()), "{}", moment(2));
        assert!(close(moment(4), 3.0, 96f64.sqrt()), "{}", moment(4));
        assert_eq!(normal(3, 17), x[17]);
        assert_eq!(normals(3, 5), x[..5]);
        for (first, count) in [(0, 4), (6, 5), (7, 1), (7, 0), (9, 6)] {
            let mut part = vec![0.0; count];
            fill_normals_from(3, first as u64, &mut part);
            assert_eq!(part, x[first..first + count]);
        }
    }
}
