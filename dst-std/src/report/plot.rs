//! Plots as SVG, good enough for a paper and for a page.
//!
//! A plot is a list of layers over two axes. Its data area has a fixed size and everything else grows around it: tick
//! labels to the left, title above, axis label and legend below, so that nothing ever covers data. Lines are
//! clipped here, not by the viewer, because clip paths need names and the names of two plots in a page would collide.
//! A white ground of its own lets it stand on a page of any colour.

use std::fmt::Write;

use super::axis::{Axis, Label, Ruler};
use super::markup::{escape, px, width, wrap};
use super::series::{Colour, GREY, Series, histogram};

const TEXT: f64 = 12.0;
const TITLE: f64 = 14.0;
const LINE: f64 = 17.0;
const PAD: f64 = 12.0;
const INK: &str = "#222";
/// The attribute that a file of its own must have and a drawing inside HTML need not.
pub(super) const NAMESPACE: &str = " xmlns=\"http://www.w3.org/2000/svg\"";

/// A plot: layers over two axes.
///
/// ```
/// use dst_std::report::{Axis, Plot, Series};
/// let svg = Plot::new("Error of the gradient")
///     .x(Axis::log("h"))
///     .y(Axis::log("relative error"))
///     .line(Series::new("Paper", [(0.1, 2e-2), (0.05, 1e-2), (0.025, 5e-3)]).markers())
///     .line(Series::new("slope 1", [(0.1, 1e-1), (0.025, 2.5e-2)]).grey().dashed())
///     .to_svg();
/// assert!(svg.starts_with("<svg"));
/// ```
#[derive(Clone, Debug)]
pub struct Plot {
    title: String,
    x: Axis,
    y: Axis,
    size: (f64, f64),
    layers: Vec<Layer>,
    legend_right: bool,
}

#[derive(Clone, Debug)]
enum Layer {
    Line(Series),
    Band {
        name: String,
        colour: usize,
        points: Vec<(f64, f64, f64)>,
    },
    Bars {
        name: String,
        bars: Vec<(f64, f64, f64)>,
    },
    Horizontal {
        name: String,
        y: f64,
    },
    Vertical {
        name: String,
        x: f64,
    },
    Note {
        x: f64,
        y: f64,
        text: String,
    },
}

impl Plot {
    /// An empty plot over linear axes.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            x: Axis::linear(""),
            y: Axis::linear(""),
            size: (380.0, 260.0),
            layers: Vec::new(),
            legend_right: false,
        }
    }

    /// The horizontal axis.
    pub fn x(self, axis: Axis) -> Self {
        Self { x: axis, ..self }
    }

    /// The vertical axis.
    pub fn y(self, axis: Axis) -> Self {
        Self { y: axis, ..self }
    }

    /// The size of the data area in pixels.
    pub fn size(self, width: f64, height: f64) -> Self {
        let sane = |v: f64| {
            if v.is_finite() {
                v.clamp(40.0, 4000.0)
            } else {
                300.0
            }
        };
        Self {
            size: (sane(width), sane(height)),
            ..self
        }
    }

    /// Puts the legend to the right instead of below.
    pub fn legend_right(self) -> Self {
        Self {
            legend_right: true,
            ..self
        }
    }

    fn layer(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// Adds a line, or markers.
    pub fn line(self, series: Series) -> Self {
        self.layer(Layer::Line(series))
    }

    /// Shades between two curves, given as (x, low, high), in the colour of this number.
    pub fn band(
        self,
        name: impl Into<String>,
        colour: usize,
        points: impl IntoIterator<Item = (f64, f64, f64)>,
    ) -> Self {
        self.layer(Layer::Band {
            name: name.into(),
            colour,
            points: points.into_iter().collect(),
        })
    }

    /// Adds bars, given as (from, to, height), in the next colour.
    pub fn bars(
        self,
        name: impl Into<String>,
        bars: impl IntoIterator<Item = (f64, f64, f64)>,
    ) -> Self {
        self.layer(Layer::Bars {
            name: name.into(),
            bars: bars.into_iter().collect(),
        })
    }

    /// Adds how many of the values fall into each of `bins` equal bins.
    pub fn histogram(self, name: impl Into<String>, values: &[f64], bins: usize) -> Self {
        self.bars(name, histogram(values, bins))
    }

    /// Adds a dashed line across, at this height.
    pub fn horizontal(self, name: impl Into<String>, y: f64) -> Self {
        self.layer(Layer::Horizontal {
            name: name.into(),
            y,
        })
    }

    /// Adds a dashed line from bottom to top, at this place.
    pub fn vertical(self, name: impl Into<String>, x: f64) -> Self {
        self.layer(Layer::Vertical {
            name: name.into(),
            x,
        })
    }

    /// Writes a few words just above and to the right of a point.
    pub fn note(self, x: f64, y: f64, text: impl Into<String>) -> Self {
        self.layer(Layer::Note {
            x,
            y,
            text: text.into(),
        })
    }

    /// The plot as an SVG document.
    pub fn to_svg(&self) -> String {
        document(&[self.draw()], 1, "")
    }

    fn draw(&self) -> Drawing {
        let colours = self.colours();
        let bars = self.layers.iter().any(|l| matches!(l, Layer::Bars { .. }));
        let xs = self.layers.iter().flat_map(Layer::xs);
        let ys = self.layers.iter().flat_map(Layer::ys);
        let (x, y) = (self.x.ruler(xs, false), self.y.ruler(ys, bars));
        let frame = Frame::around(self, &x, &y);
        let mut pen = Pen {
            plot: self,
            x: &x,
            y: &y,
            frame,
            svg: String::new(),
            drawn: false,
        };
        pen.grid();
        for (layer, &colour) in self.layers.iter().zip(&colours) {
            pen.layer(layer, colour);
        }
        pen.axes();
        let (right, bottom) = pen.legend(&colours);
        Drawing {
            width: right,
            height: bottom,
            body: pen.svg,
            name: self.title.clone(),
        }
    }

    /// The colour of every layer: what it asks for, or the next that is free.
    fn colours(&self) -> Vec<Colour> {
        let mut next = 0;
        let mut free = || {
            next += 1;
            Colour::Palette(next - 1)
        };
        self.layers
            .iter()
            .map(|layer| match layer {
                Layer::Line(series) => series.colour.unwrap_or_else(&mut free),
                Layer::Bars { .. } => free(),
                Layer::Band { colour, .. } => Colour::Palette(*colour),
                _ => Colour::Grey,
            })
            .collect()
    }
}

/// Several plots in one document, `columns` side by side.
pub fn panels(plots: &[Plot], columns: usize) -> String {
    let drawings: Vec<Drawing> = plots.iter().map(Plot::draw).collect();
    document(&drawings, columns.max(1), " class=\"wide\"")
}

/// A plot that is drawn, with its size.
struct Drawing {
    width: f64,
    height: f64,
    body: String,
    name: String,
}

fn document(drawings: &[Drawing], columns: usize, class: &str) -> String {
    let (mut body, mut width, mut y) = (String::new(), 0.0_f64, 0.0);
    let widths: Vec<f64> = (0..columns)
        .map(|c| {
            let column = drawings.iter().skip(c).step_by(columns);
            column.fold(0.0, |w: f64, d| w.max(d.width))
        })
        .collect();
    for row in drawings.chunks(columns) {
        let mut x = 0.0;
        for (drawing, w) in row.iter().zip(&widths) {
            let _ = writeln!(body, "<g transform=\"translate({} {})\">", px(x), px(y));
            body.push_str(&drawing.body);
            body.push_str("</g>\n");
            x += w;
        }
        width = width.max(x);
        y += row.iter().fold(0.0, |h: f64, d| h.max(d.height));
    }
    let names: Vec<&str> = drawings.iter().map(|d| d.name.as_str()).collect();
    let (w, h) = (px(width.ceil().max(1.0)), px(f64::ceil(y).max(1.0)));
    format!(
        "<svg{NAMESPACE}{class} viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{TEXT}\" fill=\"{INK}\">\n\
         <title>{}</title>\n\
         <rect width=\"{w}\" height=\"{h}\" rx=\"8\" fill=\"#fff\"/>\n{body}</svg>\n",
        escape(&names.join("; "))
    )
}

impl Layer {
    fn xs(&self) -> Vec<f64> {
        match self {
            Self::Line(series) => series.points.iter().map(|p| p.0).collect(),
            Self::Band { points, .. } => points.iter().map(|p| p.0).collect(),
            Self::Bars { bars, .. } => bars.iter().flat_map(|b| [b.0, b.1]).collect(),
            Self::Vertical { x, .. } | Self::Note { x, .. } => vec![*x],
            Self::Horizontal { .. } => Vec::new(),
        }
    }

    fn ys(&self) -> Vec<f64> {
        match self {
            Self::Line(series) => series.points.iter().map(|p| p.1).collect(),
            Self::Band { points, .. } => points.iter().flat_map(|p| [p.1, p.2]).collect(),
            Self::Bars { bars, .. } => bars.iter().map(|b| b.2).collect(),
            Self::Horizontal { y, .. } | Self::Note { y, .. } => vec![*y],
            Self::Vertical { .. } => Vec::new(),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Line(Series { name, .. })
            | Self::Band { name, .. }
            | Self::Bars { name, .. }
            | Self::Horizontal { name, .. }
            | Self::Vertical { name, .. } => name,
            Self::Note { .. } => "",
        }
    }
}

/// Where the data area lies.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn around(plot: &Plot, x: &Ruler, y: &Ruler) -> Self {
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
        Self {
            left,
            top,
            right: left + plot.size.0,
            bottom: top + plot.size.1,
        }
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

/// What draws one plot.
struct Pen<'a> {
    plot: &'a Plot,
    x: &'a Ruler,
    y: &'a Ruler,
    frame: Frame,
    svg: String,
    drawn: bool,
}

impl Pen<'_> {
    /// Where a point lies on the paper; `None` if it cannot be drawn.
    fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let Frame {
            left,
            top,
            right,
            bottom,
        } = self.frame;
        (self.plot.x.takes(x) && self.plot.y.takes(y)).then(|| {
            (
                left + self.x.place(x) * (right - left),
                bottom - self.y.place(y) * (bottom - top),
            )
        })
    }

    fn inside(&self, (x, y): (f64, f64)) -> bool {
        let Frame {
            left,
            top,
            right,
            bottom,
        } = self.frame;
        x >= left - 0.01 && x <= right + 0.01 && y >= top - 0.01 && y <= bottom + 0.01
    }

    fn clamp(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let Frame {
            left,
            top,
            right,
            bottom,
        } = self.frame;
        (x.clamp(left, right), y.clamp(top, bottom))
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

    fn grid(&mut self) {
        let Frame {
            left,
            top,
            right,
            bottom,
        } = self.frame;
        let mut d = String::new();
        for tick in &self.x.major {
            let x = left + self.x.place(tick.value) * (right - left);
            let _ = write!(d, "M{} {}V{}", px(x), px(top), px(bottom));
        }
        for tick in &self.y.major {
            let y = bottom - self.y.place(tick.value) * (bottom - top);
            let _ = write!(d, "M{} {}H{}", px(left), px(y), px(right));
        }
        self.path(&d, "fill=\"none\" stroke=\"#e6e6e6\" stroke-width=\"0.8\"");
    }

    fn axes(&mut self) {
        let Frame {
            left,
            top,
            right,
            bottom,
        } = self.frame;
        let middle = 0.5 * (left + right);
        if !self.drawn {
            let y = 0.5 * (top + bottom);
            self.text(middle, y, "middle", &format!(" fill=\"{GREY}\""), "no data");
        }
        let across = |v: f64| px(left + self.x.place(v) * (right - left));
        let up = |v: f64| px(bottom - self.y.place(v) * (bottom - top));
        let mut d = format!(
            "M{} {}H{}V{}H{}Z",
            px(left),
            px(top),
            px(right),
            px(bottom),
            px(left)
        );
        for (values, length) in [
            (self.x.minor.clone(), 3),
            (self.x.major.iter().map(|t| t.value).collect(), 6),
        ] {
            for value in values {
                let _ = write!(d, "M{} {}v-{length}", across(value), px(bottom));
            }
        }
        for (values, length) in [
            (self.y.minor.clone(), 3),
            (self.y.major.iter().map(|t| t.value).collect(), 6),
        ] {
            for value in values {
                let _ = write!(d, "M{} {}h{length}", px(left), up(value));
            }
        }
        self.path(
            &d,
            &format!("fill=\"none\" stroke=\"{INK}\" stroke-width=\"0.8\""),
        );
        for tick in &self.x.major {
            let x = left + self.x.place(tick.value) * (right - left);
            let label = label_markup(&tick.label);
            self.text(x, bottom + 16.0, "middle", "", &label);
        }
        for tick in &self.y.major {
            let y = bottom - self.y.place(tick.value) * (bottom - top);
            let label = label_markup(&tick.label);
            self.text(left - 6.0, y + 4.0, "end", "", &label);
        }
        let power = |e| {
            label_markup(&Label {
                text: "×10".to_owned(),
                raised: Some(e),
            })
        };
        if let Some(e) = self.y.power {
            self.text(left, top - 6.0, "start", "", &power(e));
        }
        if let Some(e) = self.x.power {
            self.text(right, bottom + 33.0, "end", "", &power(e));
        }
        let label = escape(&self.plot.x.label);
        if !label.is_empty() {
            self.text(middle, bottom + 34.0, "middle", "", &label);
        }
        let label = escape(&self.plot.y.label);
        if !label.is_empty() {
            let (x, y) = (PAD + 9.0, 0.5 * (top + bottom));
            let turn = format!(" transform=\"rotate(-90 {} {})\"", px(x), px(y));
            self.text(x, y, "middle", &turn, &label);
        }
        let title = wrap(&self.plot.title, TITLE, self.plot.size.0);
        for (i, line) in title.iter().enumerate() {
            let style = format!(" font-size=\"{TITLE}\" font-weight=\"600\"");
            let y = PAD + 11.0 + i as f64 * (LINE + 2.0);
            self.text(middle, y, "middle", &style, &escape(line));
        }
    }

    fn layer(&mut self, layer: &Layer, colour: Colour) {
        match layer {
            Layer::Line(series) => self.series(series, colour),
            Layer::Band { points, .. } => {
                let place = |p: &Self, y: fn(&(f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
                    let drawable = points.iter().filter(|q| {
                        p.plot.x.takes(q.0) && p.plot.y.takes(q.1) && p.plot.y.takes(q.2)
                    });
                    let at = drawable.filter_map(|q| p.at(q.0, y(q)));
                    at.map(|q| p.clamp(q)).collect()
                };
                let mut outline = place(self, |q| q.1);
                outline.extend(place(self, |q| q.2).into_iter().rev());
                if outline.len() > 3 {
                    self.drawn = true;
                    let d = polyline(&outline) + "Z";
                    self.path(
                        &d,
                        &format!("fill=\"{}\" fill-opacity=\"0.18\"", colour.code()),
                    );
                }
            }
            Layer::Bars { bars, .. } => {
                for &(from, to, height) in bars {
                    // On a logarithmic axis the ground is the lower edge.
                    let ground = if self.plot.y.takes(0.0) {
                        0.0
                    } else {
                        self.y.low
                    };
                    if let (Some(a), Some(b)) = (self.at(from, ground), self.at(to, height)) {
                        self.drawn = true;
                        let (a, b) = (self.clamp(a), self.clamp(b));
                        let _ = writeln!(
                            self.svg,
                            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" \
                             fill-opacity=\"0.75\" stroke=\"#fff\" stroke-width=\"0.5\"/>",
                            px(a.0.min(b.0)),
                            px(a.1.min(b.1)),
                            px((a.0 - b.0).abs()),
                            px((a.1 - b.1).abs()),
                            colour.code()
                        );
                    }
                }
            }
            Layer::Horizontal { y, .. } => {
                if let Some(at) = self.at(self.x.low, *y).filter(|&at| self.inside(at)) {
                    self.drawn = true;
                    let d = format!("M{} {}H{}", px(at.0), px(at.1), px(self.frame.right));
                    self.path(&d, &reference());
                }
            }
            Layer::Vertical { x, .. } => {
                if let Some(at) = self.at(*x, self.y.low).filter(|&at| self.inside(at)) {
                    self.drawn = true;
                    let d = format!("M{} {}V{}", px(at.0), px(at.1), px(self.frame.top));
                    self.path(&d, &reference());
                }
            }
            Layer::Note { x, y, text } => {
                if let Some(at) = self.at(*x, *y).filter(|&at| self.inside(at)) {
                    // A white rim keeps it readable on top of lines.
                    let rim = " font-size=\"11\" paint-order=\"stroke\" stroke=\"#fff\" \
                               stroke-width=\"3\" stroke-linejoin=\"round\"";
                    self.text(at.0 + 5.0, at.1 - 5.0, "start", rim, &escape(text));
                }
            }
        }
    }

    fn series(&mut self, series: &Series, colour: Colour) {
        let points: Vec<_> = series.points.iter().map(|p| self.at(p.0, p.1)).collect();
        self.drawn |= points.iter().flatten().next().is_some();
        if let Some(style) = series.stroke(colour) {
            let mut d = String::new();
            for run in points.split(Option::is_none) {
                let run: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
                for piece in clip(&run, self.frame) {
                    d.push_str(&polyline(&piece));
                }
            }
            self.path(&d, &style);
        }
        if series.markers {
            for at in points.into_iter().flatten() {
                if self.inside(at) {
                    colour.marker(&mut self.svg, at.0, at.1);
                }
            }
            self.svg.push('\n');
        }
    }

    /// Draws the legend and returns the right and lower edge of the whole plot.
    fn legend(&mut self, colours: &[Colour]) -> (f64, f64) {
        let Frame {
            left,
            top,
            right,
            bottom,
        } = self.frame;
        let below = bottom
            + if self.plot.x.label.is_empty() {
                22.0
            } else {
                40.0
            };
        let plot = self.plot;
        let named = || {
            let layers = plot.layers.iter().zip(colours);
            layers.filter(|(layer, _)| !layer.name().is_empty())
        };
        // Equal columns look tidier than words one after the other.
        let cell = named().fold(0.0, |w: f64, (l, _)| w.max(width(l.name(), TEXT))) + 50.0;
        // The last label of the horizontal axis may stick out to the right.
        let last = self.x.major.last().map_or(0.0, |tick| {
            let x = left + self.x.place(tick.value) * (right - left);
            x + label_width(&tick.label) / 2.0
        });
        let mut edge = right.max(last) + PAD;
        let (x0, y0, columns) = if plot.legend_right {
            (right + 14.0, top + 8.0, 1)
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
        match layer {
            Layer::Line(series) => {
                if let Some(style) = series.stroke(colour) {
                    self.path(&line, &style);
                }
                if series.markers {
                    colour.marker(&mut self.svg, x + 13.0, y);
                }
            }
            Layer::Horizontal { .. } | Layer::Vertical { .. } => self.path(&line, &reference()),
            Layer::Band { .. } | Layer::Bars { .. } => {
                let opacity = if matches!(layer, Layer::Band { .. }) {
                    "0.18"
                } else {
                    "0.75"
                };
                let d = format!("M{} {}h26v10h-26Z", px(x), px(y - 5.0));
                let style = format!("fill=\"{}\" fill-opacity=\"{opacity}\"", colour.code());
                self.path(&d, &style);
            }
            Layer::Note { .. } => {}
        }
    }
}

fn reference() -> String {
    format!("fill=\"none\" stroke=\"{GREY}\" stroke-width=\"1.2\" stroke-dasharray=\"5 4\"")
}

/// `M x y L …`, without the points that lie on the one before: nobody sees a third of a pixel.
fn polyline(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    let mut last: Option<(f64, f64)> = None;
    for (i, &(x, y)) in points.iter().enumerate() {
        let close = |(a, b): (f64, f64)| (a - x).abs() < 0.3 && (b - y).abs() < 0.3;
        let end = i + 1 == points.len();
        if last.is_some_and(close) && !end {
            continue;
        }
        let verb = if last.is_none() { 'M' } else { 'L' };
        let _ = write!(d, "{verb}{} {}", px(x), px(y));
        last = Some((x, y));
    }
    d
}

/// The pieces of a line that lie inside the frame.
fn clip(points: &[(f64, f64)], frame: Frame) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut open = false;
    for pair in points.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        match segment(a, b, frame) {
            Some((from, to, leaves)) => {
                match pieces.last_mut() {
                    Some(piece) if open && from == a => piece.push(to),
                    _ => pieces.push(vec![from, to]),
                }
                open = !leaves;
            }
            None => open = false,
        }
    }
    pieces
}

type Place = (f64, f64);

/// The part of a segment inside the frame, and whether the segment goes on outside of it.
fn segment(a: Place, b: Place, frame: Frame) -> Option<(Place, Place, bool)> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    // Liang and Barsky: every edge bounds the parameter from one side.
    for (direction, room) in [
        (-dx, a.0 - frame.left),
        (dx, frame.right - a.0),
        (-dy, a.1 - frame.top),
        (dy, frame.bottom - a.1),
    ] {
        if direction == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if direction < 0.0 {
            enter = enter.max(room / direction);
        } else {
            leave = leave.min(room / direction);
        }
    }
    if !(enter <= leave) {
        return None;
    }
    let at = |s: f64| (a.0 + s * dx, a.1 + s * dy);
    let from = if enter == 0.0 { a } else { at(enter) };
    let to = if leave == 1.0 { b } else { at(leave) };
    Some((from, to, leave < 1.0))
}

#[cfg(test)]
mod tests;
