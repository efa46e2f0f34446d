//! ADMM as a map: state (z, y), θ = (R, α) of every phase, J = logarithm of the larger residual divided by its tolerance.
//!
//! A run with [`Map`](crate::Map) and ε = 0 stops at the same iteration as the controller. J is a logarithm because residuals
//! fall geometrically, which makes the interpolated N\* smooth. J(x_k) is the residual of the step *from* x_k, so a run that
//! stops after N steps has evaluated N + 1 iterations.
//!
//! Pullback, with q = Gu, t = v + y/R, e = R∘((α − 1)(q − z) + z − z⁺) and bars for cotangents: a clipped entry of t contributes
//! nothing. dK = −K·Gᵀ·dR·G·K turns the cotangent of u into one of R without forming a derivative of K: R̄ gains w̄∘(z − q),
//! where w̄ = G·K·ū. The maximum in J is differentiated at the entry that attains it.

use super::program::{Instance, Qp, Shape, Tolerance};
use super::step::{FLOOR, Phase, Phases, Solver, apply, clip, logarithm};
use crate::error::{Argument, Error, exact};
use crate::scalar::Scalar;
use crate::slices::{copy, pieces, pieces_mut, split, split_mut};
use crate::system::{Bar, Dims, Point, Reading, Seed, System};

/// ADMM on one instance, with the K of the θ of the run.
#[derive(Clone, Copy, Debug)]
pub struct Admm<'a, S> {
    solver: Solver<'a, S>,
    /// K of each phase, computed from exactly the θ of the run.
    inverses: &'a [S],
    switches: &'a [usize],
}

/// Lengths of the vectors of a run with this many phases.
pub(crate) fn dims(shape: Shape, phases: usize) -> Dims {
    Dims::new(shape.states(), phases * shape.phase_params())
        .with_tape(shape.blocks * shape.rows())
        .with_scratch(shape.scratch())
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

impl<'a, S: Scalar> Admm<'a, S> {
    /// Checks the instance. `inverses` must belong to the parameters θ of the run.
    pub fn new(
        qp: Qp<'a, S>,
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
        inverses: &'a [S],
        switches: &'a [usize],
    ) -> Result<Self, Error> {
        let entries = (switches.len() + 1) * qp.shape.inverse_entries();
        exact(Argument::Model, entries, inverses.len())?;
        Ok(Self {
            solver: Solver::new(qp, instance, tolerance)?,
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
            let (stationarity, rest) = split_mut(scratch, m);
            let (dual, _) = split_mut(rest, self.shape().variables());
            let data = phase.weights.iter().zip(block.lower).zip(block.upper);
            let rows = z
                .iter()
                .zip(y)
                .zip(q)
                .zip(data.zip(stationarity.iter_mut()));
            for (i, (((&z, &y), &q), (((&r, &lo), &hi), e))) in rows.enumerate() {
                let alpha = phase.relaxation;
                let next = clip(alpha * q + (S::ONE - alpha) * z + y / r, lo, hi);
                *e = r * ((alpha - S::ONE) * (q - z) + (z - next));
                see(q - next, self.solver.primal_scale, b, i, false);
            }
            self.solver.qp.transposed(stationarity, dual);
            for (i, &e) in dual.iter().enumerate() {
                see(e, self.solver.dual_scale, b, i, true);
            }
        }
        worst
    }
}

impl<S: Scalar> System<S> for Admm<'_, S> {
    fn dims(&self) -> Dims {
        dims(self.shape(), self.switches.len() + 1)
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
        let alpha = phase.relaxation;
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
            let (right_bar, _) = split_mut(rest, n);
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
            let data = phase.weights.iter().zip(block.lower).zip(block.upper);
            let rows = z.iter().zip(y).zip(q).zip(az.iter().zip(ay)).zip(data);
            let outputs = z_bar
                .iter_mut()
                .zip(y_bar.iter_mut())
                .zip(weights_bar.iter_mut());
            let outputs = outputs.zip(q_bar.iter_mut().zip(e_bar.iter()));
            for (
                i,
                (((((&z, &y), &q), (&az, &ay)), ((&r, &lo), &hi)), (((zb, yb), rb), (qb, &eb))),
            ) in rows.zip(outputs).enumerate()
            {
                let v = alpha * q + (S::ONE - alpha) * z;
                let t = v + y / r;
                let next = clip(t, lo, hi);
                let (mut next_bar, y_next_bar) = (az, ay);
                let mut q_bar = S::ZERO;
                if let Some(w) = primal.filter(|w| w.index == i) {
                    let factor = reading / w.value;
                    q_bar += factor;
                    next_bar -= factor;
                }
                let s = (alpha - S::ONE) * (q - z) + (z - next);
                let s_bar = r * eb;
                let mut z_sum = (S::TWO - alpha) * s_bar;
                q_bar += (alpha - S::ONE) * s_bar;
                next_bar -= s_bar + r * y_next_bar;
                relaxation_bar += s_bar * (q - z);
                let mut r_sum = eb * s + y_next_bar * (v - next);
                let mut v_bar = r * y_next_bar;
                let mut y_sum = y_next_bar;
                if t >= lo && t <= hi {
                    v_bar += next_bar;
                    y_sum += next_bar / r;
                    r_sum -= next_bar * y / (r * r);
                }
                q_bar += alpha * v_bar;
                z_sum += (S::ONE - alpha) * v_bar;
                relaxation_bar += v_bar * (q - z);
                *zb += z_sum;
                *yb += y_sum;
                *rb += r_sum;
                *qb = q_bar;
            }
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
