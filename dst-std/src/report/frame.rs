//! The data area on the paper: where numbers lie in it, and which parts of a line lie inside.

use std::fmt::Write;

use super::axis::Ruler;
use super::markup::px;

/// A place on the paper.
pub(super) type Place = (f64, f64);

/// The rectangle of the data area.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Frame {
    /// The position of a number of the horizontal axis.
    pub(super) fn across(&self, ruler: &Ruler, value: f64) -> f64 {
        self.left + ruler.place(value) * (self.right - self.left)
    }

    /// The position of a number of the vertical axis.
    pub(super) fn up(&self, ruler: &Ruler, value: f64) -> f64 {
        self.bottom - ruler.place(value) * (self.bottom - self.top)
    }

    /// The middle.
    pub(super) fn middle(&self) -> Place {
        (
            0.5 * (self.left + self.right),
            0.5 * (self.top + self.bottom),
        )
    }

    /// Inside, or on the edge but for rounding?
    pub(super) fn holds(&self, (x, y): Place) -> bool {
        let within = |low: f64, v: f64, high: f64| v >= low - 0.01 && v <= high + 0.01;
        within(self.left, x, self.right) && within(self.top, y, self.bottom)
    }

    /// The nearest place inside.
    pub(super) fn nearest(&self, (x, y): Place) -> Place {
        (
            x.clamp(self.left, self.right),
            y.clamp(self.top, self.bottom),
        )
    }

    /// The pieces of a line that lie inside the frame.
    pub(super) fn clip(&self, points: &[Place]) -> Vec<Vec<Place>> {
        let mut pieces: Vec<Vec<Place>> = Vec::new();
        let mut open = false;
        for pair in points.windows(2) {
            let [a, b] = [pair[0], pair[1]];
            match self.segment(a, b) {
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

    /// The part of a segment inside the frame, and whether the segment goes on outside of it.
    fn segment(&self, a: Place, b: Place) -> Option<(Place, Place, bool)> {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        // Liang and Barsky: every edge bounds the parameter from one side.
        for (direction, room) in [
            (-dx, a.0 - self.left),
            (dx, self.right - a.0),
            (-dy, a.1 - self.top),
            (dy, self.bottom - a.1),
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
        if enter > leave {
            return None;
        }
        let at = |s: f64| (a.0 + s * dx, a.1 + s * dy);
        let from = if enter == 0.0 { a } else { at(enter) };
        let to = if leave == 1.0 { b } else { at(leave) };
        Some((from, to, leave < 1.0))
    }
}

/// `M x y L …`, without the points that lie on the one before: a third of a pixel is not visible.
pub(super) fn polyline(points: &[Place]) -> String {
    let mut d = String::new();
    let mut last: Option<Place> = None;
    for (i, &(x, y)) in points.iter().enumerate() {
        let close = |(a, b): Place| (a - x).abs() < 0.3 && (b - y).abs() < 0.3;
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
