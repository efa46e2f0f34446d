use super::*;
use crate::report::balance;
use crate::report::frame::Frame;

fn svg(plot: &Plot) -> String {
    let svg = plot.to_svg();
    balance::check(&svg).unwrap();
    assert_eq!(svg, plot.to_svg(), "the same text every time");
    for word in ["NaN", "inf"] {
        assert!(!svg.contains(word), "{word} in {svg}");
    }
    svg
}

/// The numbers of every path, marker and text.
fn places(svg: &str) -> Vec<f64> {
    svg.split("d=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .flat_map(|d| d.split(|c: char| c.is_ascii_alphabetic() || c == ' '))
        .filter_map(|number| number.parse().ok())
        .collect()
}

#[test]
fn what_cannot_be_drawn_is_left_out() {
    let points = [
        (1.0, 1.0),
        (2.0, 0.1),
        (3.0, f64::NAN),
        (4.0, -1.0),
        (5.0, 0.0),
        (6.0, 1e-3),
        (7.0, 1e-4),
        (8.0, f64::INFINITY),
    ];
    let plot = Plot::new("errors")
        .y(Axis::log("error"))
        .line(Series::new("line", points).markers());
    let text = svg(&plot);
    // Four points can be drawn, and the legend shows a fifth marker.
    assert_eq!(text.matches(Colour::Palette(0).marker()).count(), 5);
    let layer = text.split("data-name=\"line\"").nth(1).unwrap();
    let d = layer.split("d=\"").nth(1).unwrap();
    let d = d.split('"').next().unwrap();
    assert_eq!(d.matches('M').count(), 2, "two pieces: {d}");
    assert_eq!(d.matches('L').count(), 2, "{d}");
}

#[test]
fn nothing_to_draw_is_said() {
    for plot in [
        Plot::new(""),
        Plot::new("t").line(Series::new("a", [])),
        Plot::new("t")
            .x(Axis::log("x"))
            .line(Series::new("a", [(-1.0, 1.0)]))
            .bars("c", [(0.0, f64::NAN, 1.0)])
            .horizontal("d", f64::NAN),
    ] {
        assert!(svg(&plot).contains("no data"));
    }
}

#[test]
fn lines_end_at_the_frame() {
    let plot = Plot::new("clipped")
        .x(Axis::linear("x").range(0.0, 1.0))
        .y(Axis::linear("y").range(0.0, 1.0))
        .line(Series::new("far", [(-1e9, -1e9), (1e9, 1e9)]).markers())
        .line(Series::new("", [(0.5, -3.0), (0.5, 4.0)]))
        .line(Series::new("", [(-2.0, 0.5), (-1.0, 0.5)]))
        .bars("bars", [(-5.0, 5.0, 100.0)]);
    let text = svg(&plot);
    let largest = places(&text).into_iter().fold(0.0, f64::max);
    assert!(largest < 600.0, "{largest}");
    let frame = Frame {
        left: 0.0,
        top: 0.0,
        right: 1.0,
        bottom: 1.0,
    };
    let zigzag = [
        (-1.0, 0.5),
        (0.5, 0.5),
        (2.0, 0.5),
        (0.5, 0.75),
        (0.25, 0.25),
    ];
    let pieces = frame.clip(&zigzag);
    assert_eq!(pieces.len(), 2, "{pieces:?}");
    assert_eq!(pieces[0], [(0.0, 0.5), (0.5, 0.5), (1.0, 0.5)]);
    assert_eq!(pieces[1].len(), 3);
    assert_eq!(pieces[1].last(), Some(&(0.25, 0.25)));
}

#[test]
fn text_is_escaped() {
    let evil = "</text><script>&\"'";
    let plot = Plot::new(evil)
        .x(Axis::names(evil, [evil, evil]))
        .y(Axis::linear(evil))
        .line(Series::new(evil, [(0.0, 1.0), (1.0, 2.0)]));
    let text = svg(&plot);
    assert!(!text.contains("<script"), "{text}");
    // The name of the drawing, its title, two axes, two names, the legend; for the script two axes and the layer.
    assert_eq!(text.matches("&lt;script&gt;").count(), 10);
}

#[test]
fn the_legend_is_outside_of_the_data() {
    let many = |plot: Plot| {
        (0..9).fold(plot, |plot, i| {
            plot.line(Series::new(format!("series number {i}"), [(0.0, 0.0), (1.0, 1.0)]).markers())
        })
    };
    let legend = |text: &str, attribute: &str| -> Vec<f64> {
        let lines = text.lines().filter(|line| line.contains("series number"));
        let rest = lines.filter_map(|line| line.split(&format!(" {attribute}=\"")).nth(1));
        rest.filter_map(|rest| rest.split('"').next()?.parse().ok())
            .collect()
    };
    let below = svg(&many(Plot::new("").size(300.0, 200.0)));
    let ys = legend(&below, "y");
    assert!(ys.len() == 9 && ys.iter().all(|&y| y > 212.0), "{ys:?}");
    let right = svg(&many(Plot::new("").size(300.0, 200.0).legend_right()));
    let xs = legend(&right, "x");
    assert!(xs.len() == 9 && xs.iter().all(|&x| x > 300.0), "{xs:?}");
}

#[test]
fn every_kind_of_layer_is_drawn() {
    let plot = Plot::new("all")
        .histogram("histogram", &[0.0, 0.2, 0.4, 0.9], 4)
        .horizontal("level", 2.5)
        .line(Series::new("dots", [(0.0, 1.0), (1.0, 3.0)]).dotted());
    let text = svg(&plot);
    assert_eq!(text.matches("fill-opacity=\"0.75\"").count(), 1 + 1);
    let bars = text.split("data-name=\"histogram\"").nth(1).unwrap();
    assert_eq!(bars.split('>').nth(1).unwrap().matches('M').count(), 4);
    assert_eq!(text.matches("stroke-dasharray=\"5 4\"").count(), 1 + 1);
    assert_eq!(text.matches("stroke-dasharray=\"1.5 3.5\"").count(), 1 + 1);
    for name in ["histogram", "level", "dots"] {
        assert!(text.contains(&format!(">{name}</text>")), "{name}");
    }
    assert!(!text.contains("no data"));
}

#[test]
fn a_known_plot_has_known_text() {
    let plot = Plot::new("A")
        .size(100.0, 100.0)
        .line(Series::new("", [(0.0, 0.0), (0.5, 1.0), (1.0, 0.0)]));
    let text = svg(&plot);
    let mut lines = text.lines().skip_while(|line| !line.contains("#0072b2"));
    let line = lines.nth(1).unwrap();
    // 12 of padding, 8 beside the labels "0.0" of two digits and a point; 4 % of room around the data.
    let left = 12.0 + 8.0 + 12.0 * (0.57 * 2.0 + 0.28);
    let (x, y) = (
        |s: f64| px(left + 100.0 * (s + 0.04) / 1.08),
        |s: f64| px(31.0 + 100.0 - 100.0 * (s + 0.04) / 1.08),
    );
    let d = format!(
        "M{} {}L{} {}L{} {}",
        x(0.0),
        y(0.0),
        x(0.5),
        y(1.0),
        x(1.0),
        y(0.0)
    );
    assert!(line.contains(&d), "{line}\n{d}");
}

#[test]
fn panels_stand_side_by_side() {
    let plot = Plot::new("panel").line(Series::new("a", [(0.0, 0.0), (1.0, 1.0)]));
    let size = |svg: &str, name: &str| -> f64 {
        let rest = svg.split(&format!(" {name}=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    let one = plot.to_svg();
    let four = panels(&vec![plot; 4], 2).to_svg();
    balance::check(&four).unwrap();
    assert_eq!(four.matches("<g transform=").count(), 4);
    for name in ["width", "height"] {
        let ratio = size(&four, name) / size(&one, name);
        assert!((ratio - 2.0).abs() < 0.02, "{name}: {ratio}");
    }
    balance::check(&panels(&[], 0).to_svg()).unwrap();
}

#[test]
fn panels_of_one_quantity_have_equal_axes() {
    let plot = |label: &str, top: f64| {
        Plot::new("panel")
            .x(Axis::linear("iterations"))
            .y(Axis::log(label))
            .line(Series::new("a", [(0.0, 1.0), (top, top)]))
    };
    let together = panels(&[plot("f", 10.0), plot("f", 1000.0), plot("g", 20.0)], 3);
    let ranges: Vec<_> = together.plots.iter().map(Plot::rulers).collect();
    let span = |ruler: &Ruler| (ruler.low, ruler.high);
    let alone = plot("f", 1000.0).rulers();
    assert!(ranges.iter().all(|r| span(&r.0) == span(&alone.0)));
    assert_eq!(span(&ranges[0].1), span(&alone.1));
    assert_eq!(span(&ranges[1].1), span(&alone.1));
    assert_ne!(span(&ranges[2].1), span(&alone.1));
    // Ranges that were asked for are covered; one that was not leaves it to the data.
    let asked = |low, high| plot("f", 10.0).y(Axis::log("f").range(low, high));
    let both = panels(&[asked(1e-3, 1.0), asked(1e-2, 5.0)], 2);
    assert_eq!(span(&both.plots[0].rulers().1), (1e-3, 5.0));
    assert_eq!(span(&both.plots[1].rulers().1), (1e-3, 5.0));
}

#[test]
fn a_plot_tells_the_script_its_frame_scales_and_names() {
    let plot = Plot::new("A")
        .x(Axis::linear("x").range(0.0, 2.0))
        .y(Axis::log("y").range(1e-3, 10.0))
        .line(Series::new("named", [(0.0, 1.0), (1.0, 2.0)]))
        .line(Series::new("", [(0.0, 1.0), (1.0, 2.0)]).grey());
    let text = svg(&plot);
    assert!(
        text.contains("data-x=\"linear 0e0 2e0\" data-y=\"log 1e-3 1e1\" data-names=\"x|y\""),
        "{text}"
    );
    // Context in grey without a name tells no values.
    assert_eq!(text.matches("data-name=").count(), 1);
}
