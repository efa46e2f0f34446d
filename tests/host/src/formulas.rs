//! Random formulas as source text, for the macro `formula!`.

use std::fmt::Write;

/// Numbers in a fixed sequence (xorshift), so that the text is the same on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// An expression in the text of a formula: operators with literals on either side, methods, branches, captured constants.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.below(8) {
                0..4 => format!("x[{}]", self.below(2)),
                4..6 => format!("theta[{}]", self.below(2)),
                6 => "t".to_owned(),
                _ => "c".to_owned(),
            };
        }
        let literal = |draw: &mut Self| format!("{:.1}", 0.1 + 0.3 * draw.below(9) as f64);
        match self.below(10) {
            0..4 => {
                let operator = self.one(&["+", "-", "*"]);
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                format!("({a} {operator} {b})")
            }
            4 => {
                let operator = self.one(&["+", "-", "*", "/"]);
                let (a, b) = (self.expression(depth - 1), literal(self));
                format!("({a} {operator} {b})")
            }
            5 => {
                let operator = self.one(&["+", "-", "*"]);
                let (a, b) = (literal(self), self.expression(depth - 1));
                format!("({a} {operator} {b})")
            }
            6 => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                format!("({a} / (1.5 + {b}.sin()))")
            }
            7 => {
                let method = self.one(&["sin", "cos", "tanh", "atan", "abs", "sinh", "exp_m1"]);
                format!("({} * 0.5).{method}()", self.expression(depth - 1))
            }
            8 => {
                let method = self.one(&[
                    "max(0.2)",
                    "min(1.5)",
                    "clamp(-1.0, 1.0)",
                    "powi(2)",
                    "atan2(2.0)",
                    "hypot(0.5)",
                ]);
                format!("{}.{method}", self.expression(depth - 1))
            }
            _ => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                format!("(if {a} > 0.3 {{ {b} }} else {{ {a} }})")
            }
        }
    }
}

/// Source text of this many cases, from a seed.
pub fn random_formulas(count: usize, seed: u64) -> String {
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15 ^ seed);
    let mut text =
        "//! Written by `cargo run -p dst-tests --example random_formulas`.\n\nuse super::*;\n\n\
                    pub(super) fn all() {\n"
            .to_owned();
    for _ in 0..count {
        let parts: Vec<String> = (0..3).map(|_| draw.expression(3)).collect();
        let [a, b, j] = parts.as_slice() else {
            continue;
        };
        // A and J.
        let _ = writeln!(text, "    case!(theta x t c; [{a}, {b}], {j});");
    }
    text.push_str("}\n");
    text
}
