//! Axes: from numbers to a place on the paper, and the numbers worth a tick.
//!
//! A linear axis has steps of 1, 2 or 5 times a power of ten. The finest step that leaves at most eight ticks is taken; the
//! next finer one is at most 2.5 times as fine and has nine or more, eight gaps at least, so three ticks or more remain.
//! A logarithmic axis has powers of ten; over fewer than three of them also 2 and 5 times those, then every digit, and over
//! less still the ticks of a linear axis. However the numbers lie, there are between three and nine ticks.

use crate::format::trimmed;

/// Ticks on an axis, at most, where there is a choice.
const MOST: usize = 8;
/// No number beyond this is drawn: differences of larger ones overflow.
const HUGE: f64 = 1e300;

/// The scale of an axis, and its label.
#[derive(Clone, Debug)]
pub struct Axis {
    pub(super) label: String,
    scale: Scale,
    range: Option<(f64, f64)>,
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    Log,
}

impl Axis {
    /// Equal differences, equal lengths.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
            range: None,
            names: Vec::new(),
        }
    }

    /// Equal ratios, equal lengths. Numbers that are not positive are not drawn.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label)
        }
    }

    /// Names at 0, 1, 2, … instead of numbers.
    pub fn names<T: Into<String>>(
        label: impl Into<String>,
        names: impl IntoIterator<Item = T>,
    ) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let last = names.len().max(1) as f64 - 1.0;
        Self {
            range: Some((-0.6, last + 0.6)),
            names,
            ..Self::linear(label)
        }
    }

    /// Shows exactly this range, whatever the data; ignored where it makes no sense.
    pub fn range(self, low: f64, high: f64) -> Self {
        Self {
            range: Some((low, high)),
            ..self
        }
    }

    /// True if both axes show the same quantity in the same way.
    pub(super) fn same_quantity(&self, other: &Self) -> bool {
        self.label == other.label && self.scale == other.scale && self.names == other.names
    }

    /// This axis with a range that covers the ranges asked for by all of `axes`; without one where some axis asks for none.
    pub(super) fn covering<'a>(&self, axes: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut ranges = axes.into_iter().map(|axis| axis.range);
        let first = ranges.next().flatten();
        let range = ranges.fold(first, |sum, range| {
            let ((low, high), (other_low, other_high)) = (sum?, range?);
            Some((low.min(other_low), high.max(other_high)))
        });
        Self {
            range,
            ..self.clone()
        }
    }

    /// True if this number can be drawn.
    pub(super) fn takes(&self, value: f64) -> bool {
        value.is_finite() && value.abs() <= HUGE && (self.scale == Scale::Linear || value > 0.0)
    }

    /// The axis over these numbers; `from_zero` is for bars, which stand on the ground.
    pub(super) fn ruler(&self, values: impl Iterator<Item = f64>, from_zero: bool) -> Ruler {
        let (mut low, mut high) = values
            .filter(|&v| self.takes(v))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(v), high.max(v))
            });
        if from_zero && self.scale == Scale::Linear {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if low > high {
            (low, high) = match self.scale {
                Scale::Linear => (0.0, 1.0),
                Scale::Log => (1.0, 10.0),
            };
        }
        let fixed = self
            .range
            .filter(|&(low, high)| self.takes(low) && self.takes(high) && low < high);
        let (low, high) = match (fixed, self.scale) {
            (Some((low, high)), Scale::Linear) => spread(low, high),
            (Some((low, high)), Scale::Log) => spread_ratio(low, high),
            (None, Scale::Linear) => {
                let (low, high) = spread(low, high);
                let pad = 0.04 * (high - low);
                let ground = |v: f64| from_zero && v == 0.0;
                (
                    if ground(low) { low } else { low - pad },
                    if ground(high) { high } else { high + pad },
                )
            }
            (None, Scale::Log) => {
                let (low, high) = spread_ratio(low, high);
                let pad = libm::exp(0.04 * (libm::log(high) - libm::log(low)));
                ((low / pad).max(1e-305), (high * pad).min(1e305))
            }
        };
        let mut ruler = Ruler {
            log: self.scale == Scale::Log,
            low,
            high,
            major: Vec::new(),
            minor: Vec::new(),
            power: None,
        };
        if !self.names.is_empty() {
            ruler.major = self
                .names
                .iter()
                .enumerate()
                .map(|(i, name)| Tick {
                    value: i as f64,
                    label: Label::plain(name.clone()),
                })
                .collect();
        } else if ruler.log {
            ruler.log_ticks();
        } else {
            ruler.linear_ticks();
        }
        ruler
    }
}

/// A range with room for ticks that differ: not a point, and not narrower than numbers of this size can resolve.
fn spread(low: f64, high: f64) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    if high - low > 1e-10 * size && size > 1e-290 {
        return (low, high);
    }
    let half = if size > 1e-290 { 0.05 * size } else { 1.0 };
    let middle = low + 0.5 * (high - low);
    (middle - half, middle + half)
}

/// The same for ratios.
fn spread_ratio(low: f64, high: f64) -> (f64, f64) {
    let low = low.max(1e-290);
    let high = high.max(low);
    if high / low > 1.0 + 1e-9 {
        (low, high)
    } else {
        (low / 2.0, high * 2.0)
    }
}

/// An axis over a definite range.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    log: bool,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) major: Vec<Tick>,
    pub(super) minor: Vec<f64>,
    /// All labels are to be multiplied by this power of ten.
    pub(super) power: Option<i32>,
}

/// A number worth a label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: Label,
}

/// A number in print: text, and maybe an exponent to raise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) text: String,
    pub(super) raised: Option<i32>,
}

impl Label {
    fn plain(text: String) -> Self {
        Self { text, raised: None }
    }

    pub(super) fn power(text: &str, exponent: i32) -> Self {
        Self {
            text: text.to_owned(),
            raised: Some(exponent),
        }
    }
}

impl Ruler {
    /// The position of a number along the axis: 0 at the low end, 1 at the high end, beyond them outside.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.log {
            // Not the logarithm of a ratio: that of 1e290 and 1e-290 overflows.
            (libm::log(value) - libm::log(self.low)) / (libm::log(self.high) - libm::log(self.low))
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// Scale and range for the script of the page, which reads values off the drawing.
    pub(super) fn describe(&self) -> String {
        let scale = if self.log { "log" } else { "linear" };
        format!("{scale} {:e} {:e}", self.low, self.high)
    }

    fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn linear_ticks(&mut self) {
        let step = Step::choose(self.low, self.high);
        let values = step.multiples(self.low, self.high, 1);
        let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let top = decimal_exponent(largest);
        // Very large and very small numbers share a power of ten, written once at the end of the axis.
        self.power = (largest > 0.0 && !(-4..5).contains(&top)).then_some(top);
        let shift = self.power.unwrap_or(0);
        let decimals = usize::try_from(shift - step.exponent).unwrap_or(0);
        self.major = values
            .iter()
            .map(|&value| {
                let text = format!("{:.decimals$}", scaled(value, -shift));
                Tick {
                    value,
                    label: Label::plain(text.replace('-', "−")),
                }
            })
            .collect();
        self.minor = step.multiples(self.low, self.high, step.parts);
    }

    fn log_ticks(&mut self) {
        // One more at both ends: the logarithm may be off by a rounding.
        let first = decimal_exponent(self.low) - 1;
        let last = decimal_exponent(self.high) + 1;
        let within = |stride: i32| -> Vec<i32> {
            (first..=last)
                .filter(|e| e.rem_euclid(stride) == 0 && self.holds(scaled(1.0, *e)))
                .collect()
        };
        let powers = within(1);
        if powers.len() >= 3 {
            let mut stride = 1;
            let mut kept = powers.clone();
            while kept.len() > MOST {
                stride += 1;
                kept = within(stride);
            }
            let minor = if stride == 1 {
                self.digits(first, last, &[2, 3, 4, 5, 6, 7, 8, 9])
            } else if powers.len() <= 60 {
                powers.iter().map(|&e| scaled(1.0, e)).collect()
            } else {
                Vec::new()
            };
            self.minor = minor;
            self.major = kept
                .into_iter()
                .map(|e| Tick {
                    value: scaled(1.0, e),
                    label: Label::power("10", e),
                })
                .collect();
            return;
        }
        for digits in [[1, 2, 5].as_slice(), &[1, 2, 3, 4, 5, 6, 7, 8, 9]] {
            let values = self.digits(first, last, digits);
            if values.len() >= 3 {
                let plain = self.low >= 1e-4 && self.high <= 1e5;
                self.minor = self.digits(first, last, &[2, 3, 4, 5, 6, 7, 8, 9]);
                self.major = values
                    .into_iter()
                    .map(|value| Tick {
                        value,
                        label: digit_label(value, plain),
                    })
                    .collect();
                return;
            }
        }
        self.linear_ticks();
        self.minor.retain(|&value| value > 0.0);
    }

    /// d·10^e for these digits, inside the range, rising.
    fn digits(&self, first: i32, last: i32, digits: &[i32]) -> Vec<f64> {
        (first..=last)
            .flat_map(|e| digits.iter().map(move |&d| scaled(f64::from(d), e)))
            .filter(|&value| self.holds(value))
            .collect()
    }
}

fn digit_label(value: f64, plain: bool) -> Label {
    if plain {
        return Label::plain(trimmed(&format!("{value:.5}")).to_owned());
    }
    let exponent = decimal_exponent(value);
    match scaled(value, -exponent).round() {
        1.0 => Label::power("10", exponent),
        digit => Label::power(&format!("{digit}·10"), exponent),
    }
}

/// A step between ticks: `mantissa`·10^`exponent`.
struct Step {
    mantissa: f64,
    exponent: i32,
    /// Parts between two ticks that minor ticks show.
    parts: i32,
}

impl Step {
    /// The finest that leaves few enough ticks.
    fn choose(low: f64, high: f64) -> Self {
        let start = decimal_exponent((high - low) / 20.0);
        let steps = (start..start + 4).flat_map(|exponent| {
            [(1.0, 5), (2.0, 4), (5.0, 5)].map(|(mantissa, parts)| Self {
                mantissa,
                exponent,
                parts,
            })
        });
        let mut steps = steps.filter(|step| step.multiples(low, high, 1).len() <= MOST);
        steps.next().unwrap_or(Self {
            mantissa: 1.0,
            exponent: start,
            parts: 5,
        })
    }

    /// The multiples of 1/`parts` of this step inside a range.
    fn multiples(&self, low: f64, high: f64, parts: i32) -> Vec<f64> {
        let step = scaled(self.mantissa, self.exponent) / f64::from(parts);
        // A hair of tolerance: 0.3 is a multiple of 0.1, whatever the last bit says.
        let first = (low / step - 1e-9).ceil();
        let last = (high / step + 1e-9).floor();
        let count = (last - first).clamp(-1.0, 200.0) as i32;
        (0..=count)
            .map(|i| {
                let n = first + f64::from(i);
                // Dividing by 10^k is exact to the last bit where multiplying by 10^−k is not.
                let value = scaled(n * self.mantissa / f64::from(parts), self.exponent) + 0.0;
                value.clamp(low, high)
            })
            .collect()
    }
}

/// ⌊log₁₀ |value|⌋, exact at powers of ten.
fn decimal_exponent(value: f64) -> i32 {
    let text = format!("{:e}", value.abs());
    text.split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0)
}

/// value·10^exponent, with the nearest power of ten.
fn scaled(value: f64, exponent: i32) -> f64 {
    let power = |e: i32| format!("1e{e}").parse::<f64>().unwrap_or(f64::NAN);
    match exponent {
        0.. => value * power(exponent),
        // 10^300 is in range, 10^320 is not.
        -300..0 => value / power(-exponent),
        _ => value / power(300) / power(-exponent - 300),
    }
}

#[cfg(test)]
mod tests;
