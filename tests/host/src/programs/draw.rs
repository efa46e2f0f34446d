//! Numbers in a fixed sequence.

/// Generator of numbers (splitmix64), so that a seed gives the same program on every machine.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// Creates a sequence.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// Returns 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }

    /// Returns a number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number in [a, b).
    pub fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * self.unit()
    }

    /// Returns an integer in 0 … n − 1; 0 if n is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns 1 or −1.
    pub fn sign(&mut self) -> f64 {
        if self.chance(0.5) { 1.0 } else { -1.0 }
    }

    /// Returns a number near the normal distribution.
    pub fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.between(-0.5, 0.5)).sum::<f64>() * 2.0_f64.sqrt()
    }

    /// Returns a multiple of 2⁻⁸ in [a, b].
    pub fn dyadic(&mut self, a: f64, b: f64) -> f64 {
        dyadic(self.between(a, b))
    }
}

/// Nearest multiple of 2⁻⁸.
pub(super) fn dyadic(x: f64) -> f64 {
    (x * 256.0).round() / 256.0
}
