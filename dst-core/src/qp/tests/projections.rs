//! Projections: known answers, the condition of the proximal map, refusals, and pullbacks against differences.

use std::vec;
use std::vec::Vec;

use crate::qp::{Ball, Clip, Cone, Projection, Rows, Set, Sets, SoftBounds};
use crate::{Argument, Error};

/// Weights, bounds and offset of three rows; `coupled` rows share R.
struct Group {
    lower: Vec<f64>,
    upper: Vec<f64>,
    weights: Vec<f64>,
}

impl Group {
    fn new(lower: [f64; 3], upper: [f64; 3], weights: [f64; 3]) -> Self {
        Self {
            lower: lower.to_vec(),
            upper: upper.to_vec(),
            weights: weights.to_vec(),
        }
    }

    fn project(&self, set: impl Projection<f64>, t: &[f64]) -> Vec<f64> {
        let reciprocals: Vec<f64> = self.weights.iter().map(|r| 1.0 / r).collect();
        let mut values = t.to_vec();
        set.project(self.rows(&reciprocals), &mut values);
        values
    }

    fn rows<'a>(&'a self, reciprocals: &'a [f64]) -> Rows<'a, f64> {
        Rows {
            lower: &self.lower,
            upper: &self.upper,
            weights: &self.weights,
            reciprocals,
        }
    }

    /// Compares the pullback with differences, by t and by R.
    fn differences(&self, set: impl Projection<f64>, t: &[f64]) {
        let seed = [0.7, -1.3, 0.4];
        let value = |group: &Self, t: &[f64]| -> f64 {
            let z = group.project(set, t);
            z.iter().zip(seed).map(|(z, s)| z * s).sum()
        };
        let reciprocals: Vec<f64> = self.weights.iter().map(|r| 1.0 / r).collect();
        let (mut bars, mut weights_bar) = (seed.to_vec(), vec![10.0; 3]);
        set.pull(self.rows(&reciprocals), t, &mut bars, &mut weights_bar);
        let h = 1e-6;
        for j in 0..3 {
            let moved = |d: f64| {
                let mut t = t.to_vec();
                t[j] += d;
                value(self, &t)
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            assert!(
                (difference - bars[j]).abs() < 1e-8,
                "t {t:?} {j}: {difference} {}",
                bars[j]
            );
            let moved = |d: f64| {
                let mut weights = self.weights.clone();
                weights[j] += d;
                let (lower, upper) = (self.lower.clone(), self.upper.clone());
                value(
                    &Self {
                        lower,
                        upper,
                        weights,
                    },
                    t,
                )
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            // The cotangent is added to what was there.
            let found = weights_bar[j] - 10.0;
            assert!(
                (difference - found).abs() < 1e-8,
                "R {t:?} {j}: {difference} {found}"
            );
        }
    }
}

const INFINITE: f64 = f64::INFINITY;

fn close(found: &[f64], expected: &[f64]) {
    for (a, b) in found.iter().zip(expected) {
        assert!(
            (a - b).abs() <= 1e-15 * (1.0 + b.abs()),
            "{found:?} {expected:?}"
        );
    }
}

#[test]
fn known_answers() {
    let group = Group::new([-1.0; 3], [1.0; 3], [2.0; 3]);
    assert_eq!(group.project(Clip, &[0.5, 3.0, -4.0]), [0.5, 1.0, -1.0]);
    // λ = min(R(t − h), 1): 1, 0.4, 1.
    let capped = SoftBounds::capped(1.0);
    close(&group.project(capped, &[3.0, 1.2, -4.0]), &[2.5, 1.0, -3.5]);
    // ρs = R(t − z): 3·0.8 = 2·1.2
    let quadratic = SoftBounds::quadratic(3.0);
    close(
        &group.project(quadratic, &[3.0, 0.3, -3.0]),
        &[1.8, 0.3, -1.8],
    );
    let both = SoftBounds {
        penalty: 3.0,
        cap: 1.0,
    };
    close(&group.project(both, &[3.0, 1.5, 0.0]), &[2.5, 1.2, 0.0]);
    let origin = Group::new([0.0; 3], [0.0; 3], [2.0; 3]);
    let ball = Ball { radius: 2.0 };
    close(&origin.project(ball, &[3.0, 0.0, 4.0]), &[1.2, 0.0, 1.6]);
    assert_eq!(origin.project(ball, &[1.0, 0.5, -1.0]), [1.0, 0.5, -1.0]);
    let shifted = Group::new([1.0, 2.0, 3.0], [INFINITE; 3], [2.0; 3]);
    close(&shifted.project(ball, &[4.0, 2.0, 7.0]), &[2.2, 2.0, 4.6]);
    close(&origin.project(Cone, &[1.0, 3.0, 4.0]), &[3.0, 1.8, 2.4]);
    assert_eq!(origin.project(Cone, &[6.0, 3.0, 4.0]), [6.0, 3.0, 4.0]);
    assert_eq!(origin.project(Cone, &[-6.0, 3.0, 4.0]), [0.0; 3]);
    close(&shifted.project(Cone, &[2.0, 5.0, 7.0]), &[4.0, 3.8, 5.4]);
}

#[test]
fn sizes_at_the_end_of_the_range() {
    let origin = Group::new([0.0; 3], [0.0; 3], [1.0; 3]);
    for size in [1e-200, 1e-310, 1e200] {
        let t = [3.0 * size, 0.0, 4.0 * size];
        let ball = Ball { radius: size };
        let cone = origin.project(Cone, &[size, 3.0 * size, 4.0 * size]);
        let scaled = |z: Vec<f64>| z.into_iter().map(|z| z / size).collect::<Vec<_>>();
        for (found, expected) in [
            (scaled(origin.project(ball, &t)), [0.6, 0.0, 0.8]),
            (scaled(cone), [3.0, 1.8, 2.4]),
        ] {
            for (a, b) in found.iter().zip(expected) {
                assert!((a - b).abs() < 1e-10, "{size} {found:?}");
            }
        }
    }
    assert_eq!(origin.project(Ball { radius: 0.0 }, &[0.0; 3]), [0.0; 3]);
}

#[test]
fn a_nan_stays() {
    let group = Group::new([-1.0; 3], [1.0; 3], [2.0; 3]);
    for place in 0..3 {
        let mut t = [0.5, 3.0, -4.0];
        t[place] = f64::NAN;
        let nan = |z: Vec<f64>| z.iter().any(|z| z.is_nan());
        assert!(nan(group.project(Clip, &t)));
        assert!(nan(group.project(SoftBounds::capped(1.0), &t)));
        assert!(nan(group.project(Ball { radius: 1.0 }, &t)));
        assert!(nan(group.project(Cone, &t)));
    }
}

/// λ = R(t − z⁺) is the slope of the penalty at z⁺.
#[test]
fn soft_bounds_meet_the_condition_of_their_map() {
    let set = SoftBounds {
        penalty: 1.7,
        cap: 0.9,
    };
    for k in 0..400 {
        let t = 0.02 * f64::from(k) - 4.0;
        let r = 0.3 + 0.01 * f64::from(k);
        let group = Group::new([-1.0; 3], [1.5; 3], [r; 3]);
        let z = group.project(set, &[t; 3])[0];
        let beyond = if z > 1.5 { z - 1.5 } else { z + 1.0 };
        let slope = if (-1.0..=1.5).contains(&z) {
            0.0
        } else {
            (1.7 * beyond).clamp(-0.9, 0.9)
        };
        assert!((r * (t - z) - slope).abs() < 1e-12, "{t} {z}");
    }
}

#[test]
fn pullbacks_match_differences() {
    let group = Group::new([-1.0, -0.5, -2.0], [1.0, 0.5, 0.2], [1.4, 2.0, 0.7]);
    let points = [[0.3, -1.4, 2.6], [-1.2, 0.7, 0.4], [5.0, -7.0, 6.0]];
    for t in points {
        group.differences(Clip, &t);
        group.differences(SoftBounds::capped(0.8), &t);
        group.differences(SoftBounds::quadratic(2.2), &t);
        group.differences(
            SoftBounds {
                penalty: 2.2,
                cap: 0.8,
            },
            &t,
        );
        for offset in [[0.0; 3], [0.2, -0.3, 0.5]] {
            let coupled = Group::new(offset, offset, [1.4; 3]);
            coupled.differences(Ball { radius: 1.1 }, &t);
            coupled.differences(Ball { radius: 50.0 }, &t);
            coupled.differences(Cone, &t);
            // Inside the cone, and inside its polar.
            coupled.differences(Cone, &[9.0, t[1] / 2.0, t[2] / 2.0]);
            coupled.differences(Cone, &[-9.0, t[1] / 2.0, t[2] / 2.0]);
        }
    }
}

#[test]
fn bad_sets_are_named() {
    let bounds = Err(Error::Invalid(Argument::Bounds));
    let (lower, upper) = ([-1.0; 3], [1.0; 3]);
    let check = |set: Set<f64>, lower: &[f64], upper: &[f64]| Sets(&[(3, set)]).check(lower, upper);
    for soft in [
        SoftBounds {
            penalty: 0.0,
            cap: 1.0,
        },
        SoftBounds {
            penalty: f64::NAN,
            cap: 1.0,
        },
        SoftBounds {
            penalty: 1.0,
            cap: -1.0,
        },
        SoftBounds {
            penalty: 1.0,
            cap: f64::NAN,
        },
    ] {
        assert_eq!(check(Set::Soft(soft), &lower, &upper), bounds, "{soft:?}");
    }
    for radius in [-1.0, f64::NAN, INFINITE] {
        assert_eq!(check(Set::Ball(Ball { radius }), &lower, &upper), bounds);
    }
    let far = [-INFINITE; 3];
    assert_eq!(check(Set::Cone, &far, &upper), bounds);
    assert_eq!(check(Set::Ball(Ball { radius: 1.0 }), &far, &upper), bounds);
    assert_eq!(check(Set::Clip, &far, &upper), Ok(()));
    assert_eq!(check(Set::Clip, &upper, &lower), bounds);
    let length = Error::Length {
        argument: Argument::Bounds,
        needed: 4,
        given: 3,
    };
    assert_eq!(check(Set::Clip, &[0.0; 4], &[0.0; 4]), Err(length));
    let sets = Sets(&[(1, Set::Clip), (2, Set::Cone)]);
    assert_eq!(sets.check_weights(&[1.0, 2.0, 2.0]), Ok(()));
    assert_eq!(
        sets.check_weights(&[1.0, 2.0, 2.5]),
        Err(Error::UnequalWeights)
    );
}

/// Groups act one after the other, each on its own rows.
#[test]
fn groups_share_nothing() {
    let group = Group::new([0.0, 0.0, -1.0], [0.0, 0.0, 1.0], [2.0, 2.0, 0.5]);
    let groups = [
        (2, Set::Ball(Ball { radius: 1.0 })),
        (1, Set::Soft(SoftBounds::capped(0.25))),
    ];
    close(
        &group.project(Sets(&groups), &[3.0, -4.0, 3.0]),
        &[0.6, -0.8, 2.5],
    );
    group.differences(Sets(&groups), &[3.0, -4.0, 3.0]);
    group.differences(Sets(&groups), &[0.3, -0.4, 1.1]);
}
