//! Descent of the mean score by L-BFGS steps that never increase it.
//!
//! The score has kinks, where another mode becomes the slowest, and jumps, where the first crossing of an oscillating
//! criterion changes. A line search on forward runs therefore checks every step: it halves the step until the score falls,
//! or doubles it while the score keeps falling. The gradient is computed only at accepted points. If a step of the L-BFGS
//! model fails, the model is reset and the gradient is followed. If that fails too, a few moves of single coordinates are
//! tried, which can pass small jumps. If those fail, the descent ends.

use super::starts::{Mean, Starts};
use super::trial::{NoTrial, Work};

/// Pairs in the memory of the model.
const MEMORY: usize = 10;
/// The longest move of a coordinate in one step, and the first: factors of e and √e in a step size.
const LONGEST: f64 = 2.0;
const FIRST: f64 = 0.5;
/// Halvings of a step by the model, and by the gradient.
const DOUBTS: usize = 3;
const HALVINGS: usize = 6;
/// The fraction of the predicted decrease that a step must achieve.
const ARMIJO: f64 = 1e-4;
/// The least gain that counts (0.2 % of N), and the number of rounds without gain that end the descent.
const GAIN: f64 = 2e-3;
const PATIENCE: usize = 2;
/// The lengths of coordinate moves.
const MOVES: [f64; 2] = [0.3, 0.1];
/// Beyond this number, coordinates are moved only together.
const FEW: usize = 4;
/// The largest number of halvings of the step size until the initial run no longer overflows.
const RESCUES: usize = 100;

/// The reason for the end of the descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// No step brought a further gain.
    NoGain,
    /// The limit on rounds was met.
    Rounds,
    /// The user interrupted.
    Interrupted,
}

/// One accepted point of the descent.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) u: Vec<f64>,
    pub(super) score: f64,
    /// Evaluations spent up to this point.
    pub(super) work: Work,
}

/// The accepted points; the last one is the best.
#[derive(Debug)]
pub(super) struct Descent {
    pub(super) stages: Vec<Stage>,
    pub(super) end: End,
}

/// Descends from u for at most `rounds` rounds and calls `tick` after each.
pub(super) fn descend(
    starts: &mut Starts<'_>,
    u: Vec<f64>,
    rounds: usize,
    tick: impl FnMut(),
) -> Result<Descent, NoTrial> {
    let score = starts.mean(&u, false)?.score;
    let work = starts.work;
    let mut stages = vec![Stage { u, score, work }];
    let limit = starts.prepared.max_steps;
    let end = go(starts, &mut stages, rounds, tick);
    starts.prepared.max_steps = limit;
    let end = match end {
        Ok(end) => end,
        Err(NoTrial::Interrupted) => End::Interrupted,
        Err(other) => return Err(other),
    };
    Ok(Descent { stages, end })
}

fn go(
    starts: &mut Starts<'_>,
    stages: &mut Vec<Stage>,
    rounds: usize,
    mut tick: impl FnMut(),
) -> Result<End, NoTrial> {
    let Some(first) = stages.last() else {
        return Ok(End::NoGain);
    };
    let mut u = first.u.clone();
    if !first.score.is_finite() {
        let (safe, score) = rescue(starts, u)?;
        stages.push(stage(starts, &safe, score));
        u = safe;
    }
    let (limit, mut reach) = (starts.prepared.max_steps, FIRST);
    let mut model = Model::default();
    let mut before: Option<(Vec<f64>, Vec<f64>)> = None;
    let mut idle = 0;
    for _ in 0..rounds {
        let now = starts.mean(&u, true)?;
        // A candidate that takes much longer than the current point need not be run to its end.
        starts.prepared.max_steps = now.slowest.map_or(limit, |n| (n + n / 2 + 10).min(limit));
        if let Some((u_before, gradient_before)) = before.take() {
            model.learn(&u, &u_before, &now.gradient, &gradient_before);
        }
        let mut found = None;
        if !model.pairs.is_empty() {
            found = search(starts, &u, &now, model.direction(&now.gradient), DOUBTS)?;
        }
        if found.is_none() {
            model.pairs.clear();
            found = search(starts, &u, &now, downhill(&now.gradient, reach), HALVINGS)?;
        }
        let gain =
            |found: &Option<(Vec<f64>, f64)>| found.as_ref().map_or(0.0, |f| now.score - f.1);
        if gain(&found) < GAIN
            && let Some(plain) = poll(starts, &u, &now)?
        {
            found = Some(plain);
        }
        tick();
        idle = if gain(&found) < GAIN { idle + 1 } else { 0 };
        let Some((next, score)) = found else {
            return Ok(End::NoGain);
        };
        reach = (2.0 * largest(&moved(&next, -1.0, &u))).min(FIRST);
        before = Some((std::mem::replace(&mut u, next), now.gradient));
        stages.push(stage(starts, &u, score));
        if idle == PATIENCE {
            return Ok(End::NoGain);
        }
    }
    Ok(End::Rounds)
}

fn stage(starts: &Starts<'_>, u: &[f64], score: f64) -> Stage {
    Stage {
        u: u.to_vec(),
        score,
        work: starts.work,
    }
}

/// Halves the step sizes until every run stays finite.
fn rescue(starts: &mut Starts<'_>, mut u: Vec<f64>) -> Result<(Vec<f64>, f64), NoTrial> {
    let mut score = f64::INFINITY;
    for _ in 0..RESCUES {
        for (i, u) in u.iter_mut().enumerate() {
            if starts.method.role(i) == super::method::Role::Step {
                *u -= std::f64::consts::LN_2;
            }
        }
        score = starts.mean(&u, false)?.score;
        if score.is_finite() {
            break;
        }
    }
    Ok((u, score))
}

/// Returns a descent direction of this length: −gradient for a few coordinates. For many, the square roots of the entries, so
/// that not only the largest entries move.
fn downhill(gradient: &[f64], length: f64) -> Vec<f64> {
    let size = largest(gradient);
    if size == 0.0 {
        return vec![0.0; gradient.len()];
    }
    let part = |g: &f64| {
        let part = if gradient.len() > FEW {
            (g.abs() / size).sqrt()
        } else {
            g.abs() / size
        };
        -length * part.copysign(*g)
    };
    gradient.iter().map(part).collect()
}

/// Searches for a better point along a direction, by halving or by doubling from the full step.
fn search(
    starts: &mut Starts<'_>,
    u: &[f64],
    now: &Mean,
    mut direction: Vec<f64>,
    halvings: usize,
) -> Result<Option<(Vec<f64>, f64)>, NoTrial> {
    let size = largest(&direction);
    if size > LONGEST {
        direction.iter_mut().for_each(|d| *d *= LONGEST / size);
    }
    let slope = dot(&now.gradient, &direction);
    // Not below zero, or not a number: no descent direction.
    if !(slope < 0.0 && slope.is_finite()) {
        return Ok(None);
    }
    let mut at = |length: f64| -> Result<Option<(Vec<f64>, f64)>, NoTrial> {
        let next = moved(u, length, &direction);
        let found = starts.candidate(&next, now)?;
        Ok(found.map(|mean| (next, mean.score)))
    };
    let mut length = 1.0;
    for _ in 0..=halvings {
        if let Some(mut best) = at(length)?
            && best.1 <= now.score + ARMIJO * length * slope
        {
            while length >= 1.0 && 2.0 * length * size.min(LONGEST) <= LONGEST {
                length *= 2.0;
                match at(length)? {
                    Some(further) if further.1 < best.1 => best = further,
                    _ => break,
                }
            }
            return Ok(Some(best));
        }
        length *= 0.5;
    }
    Ok(None)
}

/// Tries moves of single coordinates, or of all together if there are many.
fn poll(
    starts: &mut Starts<'_>,
    u: &[f64],
    now: &Mean,
) -> Result<Option<(Vec<f64>, f64)>, NoTrial> {
    let axes = if u.len() > FEW { 1 } else { u.len() };
    for length in MOVES {
        for axis in 0..axes {
            let direction: Vec<f64> = (0..u.len())
                .map(|i| if axes == 1 || i == axis { 1.0 } else { 0.0 })
                .collect();
            for length in [length, -length] {
                let next = moved(u, length, &direction);
                match starts.candidate(&next, now)? {
                    Some(found) if found.score < now.score - GAIN => {
                        return Ok(Some((next, found.score)));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(None)
}

/// The memory of L-BFGS: moves s and the changes y of the gradient over them, the oldest first.
#[derive(Default)]
struct Model {
    pairs: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Model {
    fn learn(&mut self, u: &[f64], u_before: &[f64], g: &[f64], g_before: &[f64]) {
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        let (s, y): (Vec<f64>, Vec<f64>) = (difference(u, u_before), difference(g, g_before));
        // Along s the slope must have risen, or the model would have no minimum.
        if dot(&s, &y) > 1e-10 * dot(&s, &s) {
            if self.pairs.len() == MEMORY {
                self.pairs.remove(0);
            }
            self.pairs.push((s, y));
        }
    }

    /// −H·g by the two loops of L-BFGS.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut q = gradient.to_vec();
        let mut factors = Vec::with_capacity(self.pairs.len());
        for (s, y) in self.pairs.iter().rev() {
            let factor = dot(s, &q) / dot(s, y);
            q = moved(&q, -factor, y);
            factors.push(factor);
        }
        if let Some((s, y)) = self.pairs.last() {
            let scale = dot(s, y) / dot(y, y);
            q.iter_mut().for_each(|q| *q *= scale);
        }
        for ((s, y), factor) in self.pairs.iter().zip(factors.iter().rev()) {
            let back = dot(y, &q) / dot(s, y);
            q = moved(&q, factor - back, s);
        }
        q.iter_mut().for_each(|q| *q = -*q);
        q
    }
}

fn moved(u: &[f64], length: f64, direction: &[f64]) -> Vec<f64> {
    u.iter()
        .zip(direction)
        .map(|(u, d)| u + length * d)
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |max, v| max.max(v.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a quadratic, with exact steps, the model learns the inverse Hessian.
    #[test]
    fn the_model_knows_what_it_has_seen() {
        let hessian = [3.0, 0.5];
        let gradient =
            |u: &[f64]| -> Vec<f64> { u.iter().zip(hessian).map(|(u, h)| h * u).collect() };
        let mut model = Model::default();
        let points = [[1.0, 1.0], [0.0, 1.0], [0.0, -1.0]];
        for pair in points.windows(2) {
            model.learn(&pair[1], &pair[0], &gradient(&pair[1]), &gradient(&pair[0]));
        }
        let at = [2.0, -4.0];
        let direction = model.direction(&gradient(&at));
        for (d, u) in direction.iter().zip(at) {
            assert!((d + u).abs() < 1e-12, "{direction:?}");
        }
        // A pair along which the slope fell is rejected.
        model.learn(&[1.0, 0.0], &[0.0, 0.0], &[-1.0, 0.0], &[0.0, 0.0]);
        assert_eq!(model.pairs.len(), 2);
    }
}
