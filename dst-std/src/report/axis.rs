//! Axes: from numbers to a place on the paper, and the numbers worth a tick.
//!
//! A linear axis has steps of 1, 2, 2.5 or 5 times a power of ten. The finest step that leaves at most seven ticks is
//! taken; the next finer one is at most twice as fine and leaves eight or more, so at least three remain.
//! A logarithmic axis has powers of ten; over fewer than three of them also 2 and 5 times those, then every digit, and over
//! less still the ticks of a linear axis. However the numbers lie, there are between three and nine ticks.

use super::number::trimmed;

/// Ticks on an axis, at most, where there is a choice.
const MOST: usize = 7;
/// No number beyond this is drawn: differences of larger ones overflow.
const HUGE: f64 = 1e300;

/// How numbers are laid out along an axis, and what stands beside it.
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

    /// Can this number be drawn?
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
                let pad = (0.04 * (high.ln() - low.ln())).exp();
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

    fn power(text: &str, exponent: i32) -> Self {
        Self {
            text: text.to_owned(),
            raised: Some(exponent),
        }
    }
}

impl Ruler {
    /// Where a number is along the axis: 0 at the low end, 1 at the high end, beyond them outside.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.log {
            // Not the logarithm of a ratio: that of 1e290 and 1e-290 overflows.
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        }
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
        let decimals = usize::try_from(shift - step.exponent).unwrap_or(0) + step.extra;
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
    /// Decimals that the mantissa needs.
    extra: usize,
    /// Parts between two ticks that minor ticks show.
    parts: i32,
}

impl Step {
    /// The finest that leaves few enough ticks.
    fn choose(low: f64, high: f64) -> Self {
        let start = decimal_exponent((high - low) / 20.0);
        let steps = (start..start + 4).flat_map(|exponent| {
            [(1.0, 0, 5), (2.0, 0, 4), (2.5, 1, 5), (5.0, 0, 5)].map(|(mantissa, extra, parts)| {
                Self {
                    mantissa,
                    exponent,
                    extra,
                    parts,
                }
            })
        });
        let mut steps = steps.filter(|step| step.multiples(low, high, 1).len() <= MOST);
        steps.next().unwrap_or(Self {
            mantissa: 1.0,
            exponent: start,
            extra: 0,
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
mod tests {
    use super::*;

    fn values(ruler: &Ruler) -> Vec<f64> {
        ruler.major.iter().map(|tick| tick.value).collect()
    }

    fn texts(ruler: &Ruler) -> Vec<String> {
        let print = |label: &Label| match label.raised {
            Some(e) => format!("{}^{e}", label.text),
            None => label.text.clone(),
        };
        ruler.major.iter().map(|tick| print(&tick.label)).collect()
    }

    fn fixed(axis: Axis, low: f64, high: f64) -> Ruler {
        axis.range(low, high).ruler(std::iter::empty(), false)
    }

    #[test]
    fn known_ticks() {
        let linear = |low, high| texts(&fixed(Axis::linear(""), low, high));
        assert_eq!(linear(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(linear(-1.0, 1.0), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(
            linear(0.0, 120.0),
            ["0", "20", "40", "60", "80", "100", "120"]
        );
        assert_eq!(
            linear(0.0, 3e-7),
            ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"]
        );
        let log = |low, high| texts(&fixed(Axis::log(""), low, high));
        assert_eq!(log(1e-4, 1.0), ["10^-4", "10^-3", "10^-2", "10^-1", "10^0"]);
        assert_eq!(
            log(1e-12, 1.0),
            [
                "10^-12", "10^-10", "10^-8", "10^-6", "10^-4", "10^-2", "10^0"
            ]
        );
        assert_eq!(log(0.01, 0.2), ["0.01", "0.02", "0.05", "0.1", "0.2"]);
        assert_eq!(log(2.0, 5.0), ["2", "3", "4", "5"]);
        assert_eq!(
            log(1.5e-7, 3e-6),
            ["2·10^-7", "5·10^-7", "10^-6", "2·10^-6"]
        );
        assert_eq!(fixed(Axis::linear(""), 0.0, 3e-7).power, Some(-7));
        assert_eq!(fixed(Axis::linear(""), 0.0, 25_000.0).power, None);
    }

    /// A small generator of the tests: xorshift.
    struct Random(u64);

    impl Random {
        fn unit(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    fn check(ruler: &Ruler, what: &str) {
        let ticks = values(ruler);
        assert!((3..=9).contains(&ticks.len()), "{what}: {ticks:?}");
        assert!(ticks.iter().all(|&t| ruler.holds(t)), "{what}: {ticks:?}");
        assert!(
            ticks.windows(2).all(|pair| pair[0] < pair[1]),
            "{what}: {ticks:?}"
        );
        assert!(
            ruler.minor.iter().all(|&t| ruler.holds(t)),
            "{what}: {ruler:?}"
        );
        assert!(ruler.minor.len() < 90, "{what}: {}", ruler.minor.len());
        let mut labels = texts(ruler);
        assert!(
            labels.iter().all(|label| label.chars().count() < 18),
            "{what}: {labels:?}"
        );
        labels.dedup();
        assert_eq!(labels.len(), ticks.len(), "{what}: {labels:?}");
        let ends = (ruler.place(ruler.low), ruler.place(ruler.high));
        assert!(
            ends.0.abs() < 1e-12 && (ends.1 - 1.0).abs() < 1e-12,
            "{what}: {ends:?}"
        );
    }

    #[test]
    fn three_to_nine_ticks_inside_any_range() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for round in 0..20_000 {
            let magnitude = 10f64.powf(560.0 * random.unit() - 280.0);
            let span = 10f64.powf(-9.0 * random.unit());
            let low = magnitude * (2.0 * random.unit() - 1.0);
            let high = low + magnitude * span;
            let data = [low, high];
            check(
                &Axis::linear("").ruler(data.into_iter(), false),
                &format!("round {round}, linear {data:?}"),
            );
            let low = magnitude;
            let high = low * 10f64.powf(20.0 * random.unit() * random.unit() * span);
            check(
                &Axis::log("").ruler([low, high].into_iter(), false),
                &format!("round {round}, log {low:e} {high:e}"),
            );
        }
    }

    #[test]
    fn degenerate_ranges_have_ticks_all_the_same() {
        let odd = [
            vec![],
            vec![0.0],
            vec![1.0],
            vec![-5e-324, 5e-324],
            vec![1e300, -1e300],
            vec![1.0, 1.0 + f64::EPSILON],
            vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY],
            vec![f64::MAX, f64::MIN],
            vec![1e-320, 1e-300],
            vec![-3.0, -3.0],
            vec![1e16, 1e16 + 2.0],
            vec![1e-290, 1e290],
        ];
        for data in odd {
            for axis in [Axis::linear(""), Axis::log("")] {
                for from_zero in [false, true] {
                    let ruler = axis.ruler(data.iter().copied(), from_zero);
                    check(&ruler, &format!("{data:?} {:?} {from_zero}", axis.scale));
                }
            }
        }
        for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (-1.0, 10.0)] {
            check(&fixed(Axis::log(""), low, high), "a range of no sense");
        }
    }

    #[test]
    fn bars_stand_on_the_ground() {
        let ruler = Axis::linear("").ruler([3.0, 7.0].into_iter(), true);
        assert_eq!(ruler.low, 0.0);
        assert!(ruler.high > 7.0);
    }
}
