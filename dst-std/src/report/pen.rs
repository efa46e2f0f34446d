//! The drawing of one plot: grid, layers, axes, words, legend.

use std::fmt::Write;

use super::axis::{Label, Ruler};
use super::frame::{Frame, Place, polyline};
use super::markup::{escape, px, width, wrap};
use super::plot::{Layer, Plot};
use super::series::{Colour, Series};

pub(super) const TEXT: f64 = 12.0;
pub(super) const INK: &str = "#222";
const TITLE: f64 = 14.0;
const LINE: f64 = 17.0;
const PAD: f64 = 12.0;

/// The frame of a plot, with room around it for all words.
pub(super) fn frame(plot: &Plot, x: &Ruler, y: &Ruler) -> Frame {
    let labels = y.major.iter().map(|tick| label_width(&tick.label));
    let labels = labels.fold(0.0, f64::max);
    let name = if plot.y.label.is_empty() { 0.0 } else { LINE };
    // Half of the first label of the horizontal axis sticks out to the left.
    let first = x.major.first().map_or(0.0, |tick| {
        label_width(&tick.label) / 2.0 - x.place(tick.value) * plot.size.0
    });
    let left = (PAD + name + labels + 8.0).max(PAD + first);
    let title = wrap(&plot.title, TITLE, plot.size.0).len() as f64 * (LINE + 2.0);
    let power = if y.power.is_some() { LINE } else { 0.0 };
    let top = PAD + title + power;
    Frame {
        left,
        top,
        right: left + plot.size.0,
        bottom: top + plot.size.1,
    }
}

fn label_width(label: &Label) -> f64 {
    let raised = label.raised.map_or(0.0, |e| width(&e.to_string(), 9.0));
    width(&label.text, TEXT) + raised
}

/// The text of a label, its exponent raised.
fn label_markup(label: &Label) -> String {
    let text = escape(&label.text);
    match label.raised {
        None => text,
        Some(e) => {
            let e = e.to_string().replace('-', "−");
            format!("{text}<tspan dy=\"-5\" font-size=\"9\">{e}</tspan>")
        }
    }
}

/// The state that draws one plot.
pub(super) struct Pen<'a> {
    pub(super) plot: &'a Plot,
    pub(super) x: &'a Ruler,
    pub(super) y: &'a Ruler,
    pub(super) frame: Frame,
    pub(super) svg: String,
    /// True if anything visible was drawn.
    pub(super) drawn: bool,
}

impl Pen<'_> {
    /// The position of a point in the picture; `None` if it cannot be drawn.
    fn at(&self, x: f64, y: f64) -> Option<Place> {
        let frame = self.frame;
        (self.plot.x.takes(x) && self.plot.y.takes(y))
            .then(|| (frame.across(self.x, x), frame.up(self.y, y)))
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, more: &str, markup: &str) {
        let _ = writeln!(
            self.svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\"{more}>{markup}</text>",
            px(x),
            px(y)
        );
    }

    fn path(&mut self, d: &str, style: &str) {
        if !d.is_empty() {
            let _ = writeln!(self.svg, "<path d=\"{d}\" {style}/>");
        }
    }

    pub(super) fn grid(&mut self) {
        let frame = self.frame;
        let mut d = String::new();
        for tick in &self.x.major {
            let x = frame.across(self.x, tick.value);
            let _ = write!(d, "M{} {}V{}", px(x), px(frame.top), px(frame.bottom));
        }
        for tick in &self.y.major {
            let y = frame.up(self.y, tick.value);
            let _ = write!(d, "M{} {}H{}", px(frame.left), px(y), px(frame.right));
        }
        self.path(
            &d,
            "class=\"grid\" fill=\"none\" stroke=\"#e6e6e6\" stroke-width=\"0.8\"",
        );
    }

    pub(super) fn axes(&mut self) {
        let frame = self.frame;
        let Frame { left, bottom, .. } = frame;
        let (mut d, mut labels) = (String::new(), Vec::new());
        let corners = [frame.top, frame.right, bottom, left].map(px);
        let [top, right, low, start] = &corners;
        for &value in &self.x.minor {
            let _ = write!(d, "M{} {low}v-3", px(frame.across(self.x, value)));
        }
        for tick in &self.x.major {
            let x = frame.across(self.x, tick.value);
            let _ = write!(d, "M{} {low}v-6", px(x));
            labels.push((x, bottom + 16.0, "middle", &tick.label));
        }
        for &value in &self.y.minor {
            let _ = write!(d, "M{start} {}h3", px(frame.up(self.y, value)));
        }
        for tick in &self.y.major {
            let y = frame.up(self.y, tick.value);
            let _ = write!(d, "M{start} {}h6", px(y));
            labels.push((left - 6.0, y + 4.0, "end", &tick.label));
        }
        let ink = format!("class=\"ink\" fill=\"none\" stroke=\"{INK}\" stroke-width=\"0.8\"");
        // The ticks are a group of their own: after a zoom the script of the page replaces it.
        self.svg.push_str("<g class=\"ticks\">\n");
        self.path(&d, &ink);
        for (x, y, anchor, label) in labels {
            self.text(x, y, anchor, "", &label_markup(label));
        }
        if let Some(e) = self.y.power {
            let power = label_markup(&Label::power("×10", e));
            self.text(left, frame.top - 6.0, "start", "", &power);
        }
        if let Some(e) = self.x.power {
            let power = label_markup(&Label::power("×10", e));
            self.text(frame.right, bottom + 33.0, "end", "", &power);
        }
        self.svg.push_str("</g>\n");
        self.path(&format!("M{start} {top}H{right}V{low}H{start}Z"), &ink);
    }

    /// The title, the names of the axes, and a word where there is nothing to see.
    pub(super) fn words(&mut self) {
        let (frame, plot) = (self.frame, self.plot);
        let (middle, height) = frame.middle();
        let title = wrap(&plot.title, TITLE, plot.size.0);
        for (i, line) in title.iter().enumerate() {
            let style = format!(" font-size=\"{TITLE}\" font-weight=\"600\"");
            let y = PAD + 11.0 + i as f64 * (LINE + 2.0);
            self.text(middle, y, "middle", &style, &escape(line));
        }
        if !plot.x.label.is_empty() {
            let y = frame.bottom + 34.0;
            self.text(middle, y, "middle", "", &escape(&plot.x.label));
        }
        if !plot.y.label.is_empty() {
            let x = PAD + 9.0;
            let turn = format!(" transform=\"rotate(-90 {} {})\"", px(x), px(height));
            self.text(x, height, "middle", &turn, &escape(&plot.y.label));
        }
        if !self.drawn {
            self.text(middle, height, "middle", " opacity=\"0.6\"", "no data");
        }
    }

    /// Draws a layer as a group in its colour. Its paths consist of absolute `M`, `L` and `Z`, and of markers, which are an
    /// absolute `M` and then relative commands: the script of the page reads and moves exactly these.
    pub(super) fn layer(&mut self, layer: &Layer, colour: Colour) {
        // Grey lines without a name are context, and tell no values.
        let silent = layer.name().is_empty() && colour == Colour::Grey;
        let name = if silent {
            String::new()
        } else {
            format!(" data-name=\"{}\"", escape(layer.name()))
        };
        let _ = writeln!(self.svg, "<g {}{name}>", colour.attributes());
        match layer {
            Layer::Line(series) => self.series(series, colour),
            Layer::Bars { bars, .. } => {
                let d: String = bars.iter().filter_map(|&bar| self.bar(bar)).collect();
                self.drawn |= !d.is_empty();
                self.path(&d, BARS);
            }
            Layer::Horizontal { y, .. } => {
                if let Some(at) = self.at(self.x.low, *y).filter(|&at| self.frame.holds(at)) {
                    self.drawn = true;
                    let (x, y) = (px(at.0), px(at.1));
                    let d = format!("M{x} {y}L{} {y}", px(self.frame.right));
                    self.path(&d, REFERENCE);
                }
            }
        }
        self.svg.push_str("</g>\n");
    }

    fn bar(&self, (from, to, height): (f64, f64, f64)) -> Option<String> {
        // On a logarithmic axis the ground is the lower edge.
        let zero = self.plot.y.takes(0.0);
        let ground = if zero { 0.0 } else { self.y.low };
        let (a, b) = (self.at(from, ground)?, self.at(to, height)?);
        let (a, b) = (self.frame.nearest(a), self.frame.nearest(b));
        let [x0, y0, x1, y1] = [a.0, a.1, b.0, b.1].map(px);
        Some(format!("M{x0} {y0}L{x0} {y1}L{x1} {y1}L{x1} {y0}Z"))
    }

    fn series(&mut self, series: &Series, colour: Colour) {
        let points: Vec<_> = series.points.iter().map(|p| self.at(p.0, p.1)).collect();
        self.drawn |= points.iter().flatten().next().is_some();
        if let Some(style) = series.stroke(colour) {
            let mut d = String::new();
            for run in points.split(Option::is_none) {
                let run: Vec<Place> = run.iter().flatten().copied().collect();
                for piece in self.frame.clip(&run) {
                    d.push_str(&polyline(&piece));
                }
            }
            self.path(&d, &style);
        }
        if series.markers {
            let mut d = String::new();
            let points = points.into_iter().flatten();
            for (x, y) in points.filter(|&at| self.frame.holds(at)) {
                let _ = write!(d, "M{} {}{}", px(x), px(y), colour.marker());
            }
            self.path(&d, colour.marker_style());
        }
    }

    /// Draws the legend and returns the right and lower edge of the whole plot.
    pub(super) fn legend(&mut self, colours: &[Colour]) -> (f64, f64) {
        let (plot, frame) = (self.plot, self.frame);
        let Frame { left, right, .. } = frame;
        let bare = plot.x.label.is_empty() && self.x.power.is_none();
        let below = frame.bottom + if bare { 22.0 } else { 40.0 };
        let named = || {
            let layers = plot.layers.iter().zip(colours);
            layers.filter(|(layer, _)| !layer.name().is_empty())
        };
        // Equal columns look tidier than words one after the other.
        let cell = named().fold(0.0, |w: f64, (l, _)| w.max(width(l.name(), TEXT))) + 50.0;
        // The last label of the horizontal axis may stick out to the right.
        let last = self.x.major.last().map_or(0.0, |tick| {
            frame.across(self.x, tick.value) + label_width(&tick.label) / 2.0
        });
        let mut edge = right.max(last) + PAD;
        let (x0, y0, columns) = if plot.legend_right {
            (right + 14.0, frame.top + 8.0, 1)
        } else {
            let columns = ((right - left) / cell).floor().max(1.0) as usize;
            (left, below + 14.0, columns.min(named().count().max(1)))
        };
        let mut lowest = below;
        for (i, (layer, &colour)) in named().enumerate() {
            let x = x0 + (i % columns) as f64 * cell;
            let y = y0 + (i / columns) as f64 * LINE;
            self.sample(layer, colour, x, y);
            let name = escape(layer.name());
            self.text(x + 32.0, y + 4.0, "start", "", &name);
            edge = edge.max(x + cell - 18.0 + PAD);
            lowest = lowest.max(y + 8.0);
        }
        (edge, lowest + PAD - 4.0)
    }

    fn sample(&mut self, layer: &Layer, colour: Colour, x: f64, y: f64) {
        let line = format!("M{} {}h26", px(x), px(y));
        let _ = write!(self.svg, "<g {}>", colour.attributes());
        match layer {
            Layer::Line(series) => {
                if let Some(style) = series.stroke(colour) {
                    self.path(&line, &style);
                }
                if series.markers {
                    let d = format!("M{} {}{}", px(x + 13.0), px(y), colour.marker());
                    self.path(&d, colour.marker_style());
                }
            }
            Layer::Horizontal { .. } => self.path(&line, REFERENCE),
            Layer::Bars { .. } => {
                let d = format!("M{} {}h26v10h-26Z", px(x), px(y - 5.0));
                self.path(&d, BARS);
            }
        }
        self.svg.push_str("</g>");
    }
}

const REFERENCE: &str =
    "fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.2\" stroke-dasharray=\"5 4\"";
const BARS: &str = "class=\"bars rim\" fill=\"currentColor\" fill-opacity=\"0.75\" stroke=\"#fff\" stroke-width=\"0.5\"";
