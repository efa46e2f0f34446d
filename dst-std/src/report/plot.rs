//! Plots as SVG, good enough for a paper and for a page.
//!
//! A plot is a list of layers over two axes. Its data area has a fixed size and everything else grows around it: tick
//! labels to the left, title above, axis label and legend below, so that nothing ever covers data. Lines are
//! clipped here, not by the viewer, because clip paths need names and the names of two plots in a page would collide.
//! As a file it has a white ground of its own, so that it can stand on a page of any colour. In the report page the style
//! sheet replaces colours by class, and the script reads frame, scales and ranges from the `data-` attributes of a plot.

use std::fmt::Write;

use super::axis::{Axis, Ruler};
use super::markup::{escape, px};
use super::pen::{INK, Pen, TEXT, frame};
use super::series::{Colour, Series, histogram};

/// The attribute that a file of its own must have and a drawing inside HTML need not.
const NAMESPACE: &str = " xmlns=\"http://www.w3.org/2000/svg\"";

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
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) size: (f64, f64),
    pub(super) layers: Vec<Layer>,
    pub(super) legend_right: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Layer {
    Line(Series),
    Bars {
        name: String,
        bars: Vec<(f64, f64, f64)>,
    },
    Horizontal {
        name: String,
        y: f64,
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

    /// The plot as an SVG document.
    pub fn to_svg(&self) -> String {
        document(&[self.draw()], 1)
    }

    /// The plot as an `<svg>` element for a page, `total` pixels wide. `highest` bounds the height of the data area.
    pub(super) fn element(&self, class: &str, total: f64, highest: f64) -> String {
        let mut plot = self.clone();
        // Beside a narrow data area there is no room for a legend.
        plot.legend_right &= total > 500.0;
        let ratio = self.size.1 / self.size.0;
        let mut width = total - 70.0;
        let mut drawing;
        let mut rounds = 0;
        loop {
            plot.size = (width, (ratio * width).min(highest));
            drawing = plot.draw();
            rounds += 1;
            // The room beside the data depends on the labels, and those a little on the width.
            let over = drawing.width - total;
            if over.abs() < 0.5 || rounds == 4 || width - over < 120.0 {
                break;
            }
            width -= over;
        }
        let (w, h) = (px(drawing.width.max(total)), px(drawing.height.ceil()));
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{}\" \
             font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{TEXT}\" fill=\"{INK}\">\n{}</svg>\n",
            escape(&self.title),
            drawing.body
        )
    }

    /// The two axes over the data of this plot.
    fn rulers(&self) -> (Ruler, Ruler) {
        let xs = self.layers.iter().flat_map(Layer::xs);
        let ys = self.layers.iter().flat_map(Layer::ys);
        (
            self.x.ruler(xs, false),
            self.y.ruler(ys, self.stands_on_zero()),
        )
    }

    fn stands_on_zero(&self) -> bool {
        self.layers.iter().any(|l| matches!(l, Layer::Bars { .. }))
    }

    fn draw(&self) -> Drawing {
        let colours = self.colours();
        let (x, y) = self.rulers();
        let frame = frame(self, &x, &y);
        let mut pen = Pen {
            plot: self,
            x: &x,
            y: &y,
            frame,
            svg: String::new(),
            drawn: false,
        };
        let edges = [frame.left, frame.top, frame.right, frame.bottom].map(px);
        let _ = writeln!(
            pen.svg,
            "<g class=\"plot\" data-frame=\"{}\" data-x=\"{}\" data-y=\"{}\" data-names=\"{}|{}\">",
            edges.join(" "),
            x.describe(),
            y.describe(),
            escape(&self.x.label),
            escape(&self.y.label)
        );
        pen.grid();
        pen.svg.push_str("<g class=\"layers\">\n");
        for (layer, &colour) in self.layers.iter().zip(&colours) {
            pen.layer(layer, colour);
        }
        pen.svg.push_str("</g>\n");
        pen.axes();
        pen.words();
        pen.svg.push_str("</g>\n");
        let (right, bottom) = pen.legend(&colours);
        Drawing {
            width: right,
            height: bottom,
            top: frame.top,
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
                Layer::Horizontal { .. } => Colour::Grey,
            })
            .collect()
    }
}

/// Plots that belong together, `columns` side by side.
///
/// Axes of one quantity have one range, so that plots can be compared by eye: two axes show the same quantity if
/// their labels and scales are equal.
#[derive(Clone, Debug)]
pub struct Panels {
    pub(super) plots: Vec<Plot>,
    columns: usize,
}

/// Plots side by side, with equal ranges on axes of equal label and scale.
pub fn panels(plots: &[Plot], columns: usize) -> Panels {
    let equal = |of: fn(&Plot) -> &Axis, values: fn(&Layer) -> Vec<f64>, axis: &Axis, upright| {
        let same: Vec<&Plot> = plots
            .iter()
            .filter(|plot| of(plot).same_quantity(axis))
            .collect();
        let layers = same.iter().flat_map(|plot| &plot.layers);
        let from_zero = upright && same.iter().any(|plot| plot.stands_on_zero());
        let axis = axis.covering(same.iter().map(|plot| of(plot)));
        let ruler = axis.ruler(layers.flat_map(values), from_zero);
        axis.range(ruler.low, ruler.high)
    };
    let equalised = plots.iter().map(|plot| {
        let x = equal(|plot| &plot.x, Layer::xs, &plot.x, false);
        let y = equal(|plot| &plot.y, Layer::ys, &plot.y, true);
        plot.clone().x(x).y(y)
    });
    Panels {
        plots: equalised.collect(),
        columns: columns.max(1),
    }
}

impl Panels {
    /// All plots in one SVG document.
    pub fn to_svg(&self) -> String {
        let drawings: Vec<Drawing> = self.plots.iter().map(Plot::draw).collect();
        document(&drawings, self.columns)
    }
}

impl From<Plot> for Panels {
    fn from(plot: Plot) -> Self {
        Self {
            plots: vec![plot],
            columns: 1,
        }
    }
}

/// A plot that is drawn, with its size.
struct Drawing {
    width: f64,
    height: f64,
    /// The left edge of its data area.
    top: f64,
    body: String,
    name: String,
}

fn document(drawings: &[Drawing], columns: usize) -> String {
    let (mut body, mut width, mut y) = (String::new(), 0.0_f64, 0.0);
    let widths: Vec<f64> = (0..columns)
        .map(|c| {
            let column = drawings.iter().skip(c).step_by(columns);
            column.fold(0.0, |w: f64, d| w.max(d.width))
        })
        .collect();
    for row in drawings.chunks(columns) {
        // Data areas side by side begin at one height, whatever the lines of their titles.
        let top = row.iter().fold(0.0, |t: f64, d| t.max(d.top));
        let (mut x, mut height) = (0.0, 0.0_f64);
        for (drawing, w) in row.iter().zip(&widths) {
            let down = top - drawing.top;
            let (x_text, y_text) = (px(x), px(y + down));
            let _ = writeln!(body, "<g transform=\"translate({x_text} {y_text})\">");
            body.push_str(&drawing.body);
            body.push_str("</g>\n");
            x += w;
            height = height.max(drawing.height + down);
        }
        width = width.max(x);
        y += height;
    }
    let names: Vec<&str> = drawings.iter().map(|d| d.name.as_str()).collect();
    let (w, h) = (px(width.ceil().max(1.0)), px(f64::ceil(y).max(1.0)));
    format!(
        "<svg{NAMESPACE} viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
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
            Self::Bars { bars, .. } => bars.iter().flat_map(|b| [b.0, b.1]).collect(),
            Self::Horizontal { .. } => Vec::new(),
        }
    }

    fn ys(&self) -> Vec<f64> {
        match self {
            Self::Line(series) => series.points.iter().map(|p| p.1).collect(),
            Self::Bars { bars, .. } => bars.iter().map(|b| b.2).collect(),
            Self::Horizontal { y, .. } => vec![*y],
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Line(Series { name, .. })
            | Self::Bars { name, .. }
            | Self::Horizontal { name, .. } => name,
        }
    }
}

#[cfg(test)]
mod tests;
