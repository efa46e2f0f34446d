//! Lines and markers of a plot with their colours; the bins of a histogram.
//!
//! Colours are those of Okabe and Ito without yellow, which people of every colour vision tell apart on white. Every
//! colour has a marker of its own, for black and white print; after the last colour the dashes change.

use super::markup::px;

/// Blue, vermilion, green, purple, orange, sky, black.
const PALETTE: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
/// Context that should not shout.
pub(super) const GREY: &str = "#8a8a8a";

/// A line through points, with or without markers.
///
/// ```
/// use dst_std::report::Series;
/// let errors = Series::new("Paper", [(0.1, 2e-2), (0.05, 1e-2)]).markers().dashed();
/// ```
#[derive(Clone, Debug)]
pub struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) colour: Option<Colour>,
    dash: Option<Dash>,
    width: f64,
    line: bool,
    pub(super) markers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Palette(usize),
    Grey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dash {
    Long,
    Dots,
    Mixed,
}

impl Series {
    /// A line; without a name it is left out of the legend. Points that are not finite interrupt it.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points: points.into_iter().collect(),
            colour: None,
            dash: None,
            width: 1.8,
            line: true,
            markers: false,
        }
    }

    /// Long dashes.
    pub fn dashed(self) -> Self {
        self.with_dash(Dash::Long)
    }

    /// Dots.
    pub fn dotted(self) -> Self {
        self.with_dash(Dash::Dots)
    }

    fn with_dash(self, dash: Dash) -> Self {
        Self {
            dash: Some(dash),
            ..self
        }
    }

    /// A thin line, for context.
    pub fn thin(self) -> Self {
        Self { width: 0.9, ..self }
    }

    /// A thick line.
    pub fn thick(self) -> Self {
        Self { width: 2.6, ..self }
    }

    /// A marker at every point.
    pub fn markers(self) -> Self {
        Self {
            markers: true,
            ..self
        }
    }

    /// Markers without a line.
    pub fn only_markers(self) -> Self {
        Self {
            markers: true,
            line: false,
            ..self
        }
    }

    /// Stays level until the next point, then jumps: for counts.
    pub fn stairs(self) -> Self {
        let corners = self.points.windows(2).flat_map(|pair| {
            let [from, to] = [pair[0], pair[1]];
            // A point that is not finite interrupts the stairs too.
            [from, (to.0, from.1)]
        });
        let points = corners.chain(self.points.last().copied()).collect();
        Self { points, ..self }
    }

    /// The colour and marker of this number; without it, the next that is free.
    pub fn colour(self, index: usize) -> Self {
        Self {
            colour: Some(Colour::Palette(index)),
            ..self
        }
    }

    /// Grey: context, with no colour of its own.
    pub fn grey(self) -> Self {
        Self {
            colour: Some(Colour::Grey),
            ..self
        }
    }

    /// The attributes of its line; `None` if it has only markers.
    pub(super) fn stroke(&self, colour: Colour) -> Option<String> {
        let wrapped = match colour {
            Colour::Palette(index) => {
                [None, Some(Dash::Long), Some(Dash::Mixed)][index / PALETTE.len() % 3]
            }
            Colour::Grey => None,
        };
        let dash = match self.dash.or(wrapped) {
            None => "",
            Some(Dash::Long) => " stroke-dasharray=\"7 4\"",
            Some(Dash::Dots) => " stroke-dasharray=\"1.5 3.5\"",
            Some(Dash::Mixed) => " stroke-dasharray=\"8 3 1.5 3\"",
        };
        self.line.then(|| {
            format!(
                "fill=\"none\" stroke=\"currentColor\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}",
                px(self.width)
            )
        })
    }
}

impl Colour {
    /// The attributes of a group in this colour. Its elements say `currentColor`, so that a style sheet can replace it.
    pub(super) fn attributes(self) -> String {
        match self {
            Self::Palette(index) => {
                let index = index % PALETTE.len();
                format!("class=\"c{index}\" color=\"{}\"", PALETTE[index])
            }
            Self::Grey => format!("class=\"grey\" color=\"{GREY}\""),
        }
    }

    /// The shape of this colour's marker, as path commands relative to its centre.
    pub(super) fn marker(self) -> &'static str {
        match self.shape() {
            0 => "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0Z",
            1 => "m-3 -3h6v6h-6Z",
            2 => "m0 -4.2l3.8 7h-7.6Z",
            3 => "m0 -4.4l4 4.4l-4 4.4l-4 -4.4Z",
            4 => "m0 4.2l3.8 -7h-7.6Z",
            5 => "m-1.2 -4l5.2 4l-5.2 4l-2 -4Z",
            _ => "m-3 -3l6 6m0 -6l-6 6",
        }
    }

    /// The attributes of its markers: filled, with a white rim that keeps crowded ones apart; crosses have no inside.
    pub(super) fn marker_style(self) -> &'static str {
        if self.shape() < 6 {
            "class=\"m rim\" fill=\"currentColor\" stroke=\"#fff\" stroke-width=\"0.6\""
        } else {
            "class=\"m\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\""
        }
    }

    fn shape(self) -> usize {
        match self {
            Self::Palette(index) => index % PALETTE.len(),
            Self::Grey => 0,
        }
    }
}

/// Counts in equal bins from the least to the largest finite value: (from, to, count).
pub(super) fn histogram(values: &[f64], bins: usize) -> Vec<(f64, f64, f64)> {
    let bins = bins.max(1);
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
        (l.min(v), h.max(v))
    });
    if low > high {
        return Vec::new();
    }
    let (low, width) = if low == high {
        (low - 0.5, 1.0)
    } else {
        (low, high - low)
    };
    let mut counts = vec![0.0; bins];
    for value in finite() {
        let bin = ((value - low) / width * bins as f64) as usize;
        counts[bin.min(bins - 1)] += 1.0;
    }
    let edge = |i: usize| low + width * i as f64 / bins as f64;
    counts
        .into_iter()
        .enumerate()
        .map(|(i, count)| (edge(i), edge(i + 1), count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_bin() {
        let values = [0.0, 0.1, 0.5, 1.0, 1.0, f64::NAN];
        let bins = histogram(&values, 2);
        assert_eq!(bins, [(0.0, 0.5, 2.0), (0.5, 1.0, 3.0)]);
        assert_eq!(histogram(&[3.0, 3.0], 1), [(2.5, 3.5, 2.0)]);
        assert!(histogram(&[], 4).is_empty());
        assert_eq!(histogram(&values, 0).len(), 1);
    }

    #[test]
    fn stairs_are_level_between_points() {
        let stairs = Series::new("", [(0.0, 3.0), (1.0, 2.0), (2.0, 2.0)]).stairs();
        let corners = [(0.0, 3.0), (1.0, 3.0), (1.0, 2.0), (2.0, 2.0), (2.0, 2.0)];
        assert_eq!(stairs.points, corners);
        assert!(Series::new("", []).stairs().points.is_empty());
    }

    #[test]
    fn the_eighth_line_differs_from_the_first_by_its_dashes() {
        let line = Series::new("", []);
        let stroke = |index| line.stroke(Colour::Palette(index)).unwrap();
        assert!(!stroke(0).contains("dasharray"));
        assert!(stroke(7).contains("dasharray"));
        let attributes = |index| Colour::Palette(index).attributes();
        assert!(attributes(7) == attributes(0) && attributes(0).contains(PALETTE[0]));
    }
}
