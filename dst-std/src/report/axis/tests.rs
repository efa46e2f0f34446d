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
