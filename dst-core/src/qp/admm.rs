//! ADMM as a map: state (z, y), θ = (R, α) of every phase, J = logarithm of the larger residual divided by its tolerance.
//!
//! A run with [`Map`](crate::Map) and ε = 0 stops at the same iteration as the controller. J is a logarithm because residuals
//! fall geometrically, which makes the interpolated N\* smooth. J(x_k) is the residual of the step *from* x_k, so a run that
//! stops after N steps has evaluated N + 1 iterations.
//!
//! Pullback, with q = Gu, t = v + y/R, e = R∘((α − 1)(q − z) + z − z⁺) and bars for cotangents: t̄ is the pullback of z̄⁺ by the
//! [`Projection`]; a clipped entry contributes nothing. dK = −K·Gᵀ·dR·G·K turns the cotangent of u into one of R without forming a derivative of K: R̄ gains w̄∘(z − q),
//! where w̄ = G·K·ū. The maximum in J is differentiated at the entry that attains it.

use super::kernels::apply;
use super::program::{Instance, Qp, Shape, Tolerance};
use super::projection::{Clip, Projection};
use super::step::{Block, FLOOR, Phase, Phases, Solver, check_weights, clip, logarithm, target};
use crate::error::{Argument, Error, exact};
use crate::scalar::Scalar;
use crate::slices::{copy, pieces, pieces_mut, split, split_mut};
use crate::system::{Bar, Dims, Point, Reading, Seed, System};

/// ADMM on one instance, with the K of the θ of the run, and the sets of its rows: [`Clip`], or others by
/// [`with`](Admm::with).
#[derive(Clone, Copy, Debug)]
pub struct Admm<'a, S, P = Clip> {
    solver: Solver<'a, S, P>,
    /// K and 1/R of each phase, computed from exactly the θ of the run.
    inverses: &'a [S],
    switches: &'a [usize],
}

/// Lengths of the vectors of a run with this many phases and bounds on every row.
pub(crate) fn dims(shape: Shape, phases: usize) -> Dims {
    dims_with::<f32, Clip>(shape, phases)
}

/// Lengths of the vectors of a run with these sets. The pullback keeps q̄, ē, ū and K·ū of a block; for sets other than bounds
/// also t, z⁺ and t̄.
fn dims_with<S: Scalar, P: Projection<S>>(shape: Shape, phases: usize) -> Dims {
    let (m, n) = (shape.rows(), shape.variables());
    let kept = if P::BOX { 2 * m } else { 5 * m };
    Dims::new(shape.states(), phases * shape.phase_params())
        .with_tape(shape.blocks * m)
        .with_scratch(kept + 2 * n)
}

/// Entry that attains the larger residual.
#[derive(Clone, Copy)]
struct Worst<S> {
    ratio: S,
    block: usize,
    index: usize,
    dual: bool,
    /// Value with its sign, not scaled.
    value: S,
}

/// Numbers of one row at which the pullback is taken.
#[derive(Clone, Copy)]
struct Row<S> {
    alpha: S,
    r: S,
    /// 1/R
    i: S,
    z: S,
    y: S,
    q: S,
    /// z⁺
    next: S,
}

/// Cotangents of one row: of e and y⁺, which are given, and of its inputs.
#[derive(Clone, Copy)]
struct RowBar<S> {
    e: S,
    y_next: S,
    q: S,
    z: S,
    y: S,
    r: S,
    alpha: S,
}

impl<S: Scalar> Row<S> {
    /// Cotangent of z⁺ from that which reaches it directly.
    #[inline(always)]
    fn next_bar(&self, direct: S, e: S, y_next: S) -> S {
        direct - self.r * (e + y_next)
    }

    /// Adds the contributions of e, y⁺ and t to the cotangents of the inputs.
    #[inline(always)]
    fn pull(&self, t_bar: S, bar: &mut RowBar<S>) {
        let d = self.q - self.z;
        let v = self.z + self.alpha * d;
        let beta = self.alpha - S::ONE;
        let s_bar = self.r * bar.e;
        let v_bar = self.r * bar.y_next + t_bar;
        let d_bar = beta * s_bar + self.alpha * v_bar;
        bar.q += d_bar;
        bar.z += s_bar + v_bar - d_bar;
        bar.y += bar.y_next + t_bar * self.i;
        bar.alpha += d * (s_bar + v_bar);
        let s = beta * d + (self.z - self.next);
        bar.r += bar.e * s + bar.y_next * (v - self.next) - t_bar * self.y * self.i * self.i;
    }
}

impl<'a, S: Scalar> Admm<'a, S> {
    /// Checks the instance. `inverses` must belong to the parameters θ of the run.
    pub fn new(
        qp: Qp<'a, S>,
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
        inverses: &'a [S],
        switches: &'a [usize],
    ) -> Result<Self, Error> {
        Self::with(qp, instance, tolerance, inverses, switches, Clip)
    }
}

impl<'a, S: Scalar, P: Projection<S>> Admm<'a, S, P> {
    /// Checks the instance, the sets, and that coupled rows have the same R. `inverses` must belong to the parameters θ of the
    /// run.
    pub fn with(
        qp: Qp<'a, S>,
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
        inverses: &'a [S],
        switches: &'a [usize],
        sets: P,
    ) -> Result<Self, Error> {
        let entries = (switches.len() + 1) * qp.shape.prepared_entries();
        exact(Argument::Model, entries, inverses.len())?;
        check_weights(qp.shape, inverses, &sets)?;
        Ok(Self {
            solver: Solver::with(qp, instance, tolerance, sets)?,
            inverses,
            switches,
        })
    }

    fn shape(&self) -> Shape {
        self.solver.qp.shape
    }

    /// Phase at time t; times are iteration numbers, from zero.
    fn number(&self, t: S) -> usize {
        // Exact below 2²⁴, more than any deadline.
        Phases::<S>::number(self.switches, t.to_f64() as usize)
    }

    fn phase<'t>(&'t self, theta: &'t [S], t: S) -> Phase<'t, S> {
        Phase::cut(self.shape(), theta, self.inverses, self.number(t))
    }

    /// Finds the largest residual at this point from the tape, with the ratios as `rate` computed them.
    fn worst(&self, phase: Phase<'_, S>, x: &[S], tape: &[S], scratch: &mut [S]) -> Worst<S> {
        let m = self.shape().rows();
        let (z, y) = split(x, x.len() / 2);
        let mut worst = Worst {
            ratio: S::ZERO,
            block: 0,
            index: 0,
            dual: false,
            value: S::ZERO,
        };
        let mut see = |value: S, scale: S, block: usize, index: usize, dual: bool| {
            let ratio = value.abs() * scale;
            if ratio > worst.ratio {
                worst = Worst {
                    ratio,
                    block,
                    index,
                    dual,
                    value,
                };
            }
        };
        let states = pieces(z, m).zip(pieces(y, m)).zip(pieces(tape, m));
        for (b, (block, ((z, y), q))) in self.solver.blocks().zip(states).enumerate() {
            let (errors, rest) = split_mut(scratch, m);
            let (dual, _) = split_mut(rest, self.shape().variables());
            self.solver.next(phase, &block, (z, y, q), errors);
            let rows = z
                .iter()
                .zip(q)
                .zip(phase.weights.iter().zip(errors.iter_mut()));
            let beta = phase.relaxation - S::ONE;
            for (i, ((&z, &q), (&r, e))) in rows.enumerate() {
                let next = *e;
                *e = r * (beta * (q - z) + (z - next));
                see(q - next, self.solver.primal_scale, b, i, false);
            }
            self.solver.qp.transposed(errors, dual);
            for (i, &e) in dual.iter().enumerate() {
                see(e, self.solver.dual_scale, b, i, true);
            }
        }
        worst
    }

    /// Pullback of one block through z⁺, y⁺ and e. `seeds` are the cotangents of z⁺, y⁺ and e, `direct` that of one entry of
    /// q − z⁺ with its number; `bars` those of z, y, R and q, which are added to. Returns the cotangent of α.
    fn rows(
        &self,
        phase: Phase<'_, S>,
        block: &Block<'_, S>,
        states: (&[S], &[S], &[S]),
        seeds: (&[S], &[S], &[S]),
        direct: (S, usize),
        bars: (&mut [S], &mut [S], &mut [S], &mut [S]),
        scratch: &mut [S],
    ) -> S {
        let m = self.shape().rows();
        let (z, y, q) = states;
        let (az, ay, e_bar) = seeds;
        let (z_bar, y_bar, weights_bar, q_bar) = bars;
        let alpha = phase.relaxation;
        let weights = phase.weights.iter().zip(phase.reciprocals);
        let rows = z.iter().zip(y).zip(q).zip(weights);
        let rows = rows.map(|(((&z, &y), &q), (&r, &i))| Row {
            alpha,
            r,
            i,
            z,
            y,
            q,
            next: S::ZERO,
        });
        let cotangents = az.iter().zip(ay).zip(e_bar);
        let next_bar = |k: usize, row: &Row<S>, az: S, ay: S, eb: S| {
            let direct = if k == direct.1 { direct.0 } else { S::ZERO };
            row.next_bar(az - direct, eb, ay)
        };
        // For sets other than bounds: t, z⁺ and t̄ of all rows first.
        let (t, rest) = split_mut(scratch, m);
        let (next, rest) = split_mut(rest, m);
        let (t_bar, _) = split_mut(rest, m);
        if !P::BOX {
            target(phase, states, t);
            self.solver.next(phase, block, states, next);
            let all = t_bar.iter_mut().zip(rows.clone().zip(cotangents.clone()));
            for (k, (out, (row, ((&az, &ay), &eb)))) in all.enumerate() {
                *out = next_bar(k, &row, az, ay, eb);
            }
            self.solver
                .sets
                .pull(block.rows(phase), t, t_bar, weights_bar);
        }
        let bounds = block.lower.iter().zip(block.upper);
        let mut kept = next.iter().zip(t_bar.iter());
        let outputs = z_bar
            .iter_mut()
            .zip(y_bar)
            .zip(weights_bar.iter_mut().zip(q_bar));
        let all = rows.zip(cotangents).zip(bounds).zip(outputs).enumerate();
        let mut sum = S::ZERO;
        for (k, (((row, ((&az, &ay), &eb)), (&lo, &hi)), ((zb, yb), (rb, qb)))) in all {
            let (next, t_bar) = if P::BOX {
                let t = row.z + alpha * (row.q - row.z) + row.y * row.i;
                let inside = t >= lo && t <= hi;
                let next_bar = next_bar(k, &row, az, ay, eb);
                (clip(t, lo, hi), if inside { next_bar } else { S::ZERO })
            } else {
                kept.next().map_or((S::NAN, S::NAN), |(&a, &b)| (a, b))
            };
            let mut bar = RowBar {
                e: eb,
                y_next: ay,
                q: *qb,
                z: *zb,
                y: *yb,
                r: *rb,
                alpha: sum,
            };
            Row { next, ..row }.pull(t_bar, &mut bar);
            (*qb, *zb, *yb, *rb, sum) = (bar.q, bar.z, bar.y, bar.r, bar.alpha);
        }
        sum
    }
}

impl<S: Scalar, P: Projection<S>> System<S> for Admm<'_, S, P> {
    fn dims(&self) -> Dims {
        dims_with::<S, P>(self.shape(), self.switches.len() + 1)
    }

    fn check(&self, map: bool) -> Result<(), Error> {
        if map { Ok(()) } else { Err(Error::WrongStep) }
    }

    fn rate(
        &self,
        at: Point<'_, S>,
        next: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        copy(next, at.x);
        let (z, y) = split_mut(next, at.x.len() / 2);
        let phase = self.phase(at.theta, at.t);
        let residual = self.solver.iterate(phase, z, y, tape, scratch);
        let criterion = logarithm(residual.ratio());
        Reading {
            criterion,
            loss: criterion,
        }
    }

    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        let shape = self.shape();
        let (m, n) = (shape.rows(), shape.variables());
        let number = self.number(at.t);
        let phase = self.phase(at.theta, at.t);
        // The running loss is also J.
        let reading = seed.criterion + seed.loss;
        let worst = if reading == S::ZERO {
            None
        } else {
            let worst = self.worst(phase, at.x, tape, scratch);
            (worst.ratio > S::from_f64(FLOOR)).then_some(worst)
        };
        let params = pieces_mut(bar.theta, shape.phase_params()).nth(number);
        let (weights_bar, alpha_bar) = split_mut(params.unwrap_or_default(), shape.rows());
        let mut relaxation_bar = S::ZERO;

        let half = at.x.len() / 2;
        let (z, y) = split(at.x, half);
        let (rate_z, rate_y) = split(seed.rate, half);
        let (z_bar, y_bar) = split_mut(bar.x, half);
        let inputs = pieces(z, m).zip(pieces(y, m)).zip(pieces(tape, m));
        let seeds = pieces(rate_z, m).zip(pieces(rate_y, m));
        let bars = pieces_mut(z_bar, m).zip(pieces_mut(y_bar, m));
        let blocks = self.solver.blocks().zip(inputs).zip(seeds.zip(bars));
        for (b, ((block, ((z, y), q)), ((az, ay), (z_bar, y_bar)))) in blocks.enumerate() {
            let (q_bar, rest) = split_mut(scratch, m);
            let (e_bar, rest) = split_mut(rest, m);
            let (u_bar, rest) = split_mut(rest, n);
            let (right_bar, rest) = split_mut(rest, n);
            // d ln|value| = d value/value, at the entry that attains the maximum.
            let here = worst.filter(|w| w.block == b);
            e_bar.fill(S::ZERO);
            if let Some(w) = here.filter(|w| w.dual) {
                u_bar.fill(S::ZERO);
                if let Some(entry) = u_bar.get_mut(w.index) {
                    *entry = reading / w.value;
                }
                let (head, _) = split_mut(e_bar, n);
                copy(head, u_bar);
                self.solver.qp.extend(e_bar);
            }
            let primal = here.filter(|w| !w.dual);
            q_bar.fill(S::ZERO);
            let mut direct = (S::ZERO, usize::MAX);
            if let Some(w) = primal {
                direct = (reading / w.value, w.index);
                if let Some(entry) = q_bar.get_mut(w.index) {
                    *entry = direct.0;
                }
            }
            let seeds = (az, ay, &*e_bar);
            let bars = (&mut *z_bar, &mut *y_bar, &mut *weights_bar, &mut *q_bar);
            relaxation_bar += self.rows(phase, &block, (z, y, q), seeds, direct, bars, rest);
            self.solver.qp.transposed(q_bar, u_bar);
            apply(phase.inverse, u_bar, right_bar);
            // w̄ = G·K·ū
            let (head, _) = split_mut(q_bar, n);
            copy(head, right_bar);
            self.solver.qp.extend(q_bar);
            let rows = z.iter().zip(q).zip(q_bar.iter()).zip(phase.weights);
            let outputs = z_bar
                .iter_mut()
                .zip(y_bar.iter_mut())
                .zip(weights_bar.iter_mut());
            for ((((&z, &q), &wb), &r), ((zb, yb), rb)) in rows.zip(outputs) {
                *zb += r * wb;
                *yb -= wb;
                *rb += wb * (z - q);
            }
        }
        if let Some(entry) = alpha_bar.first_mut() {
            *entry += relaxation_bar;
        }
    }
}
