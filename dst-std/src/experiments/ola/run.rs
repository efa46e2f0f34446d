//! One run of one method, and what it ends with.

use dst_core::adapt::{
    AdamOla, GuardedConfig, GuardedOla, NewtonConfig, NewtonOla, OlaConfig, Window, WindowedOla,
    windowed_state_len,
};
use dst_core::{Error, Euler, HeapMemory, Objective};
use serde::Serialize;

use super::baselines::{Baseline, Rule};
use super::optimiser::Optimiser;
use super::{Config, Problem};

/// A method with its parameters; the learning rate is given beside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// Gradient descent.
    Gd,
    /// Heavy ball: v ← βv + αg, x ← x − v.
    Hb {
        /// β
        momentum: f64,
    },
    /// Nesterov's accelerated gradient with the FISTA sequence.
    Nag,
    /// Nesterov's accelerated gradient for strongly convex f.
    NagSc {
        /// β = (√L − √μ)/(√L + √μ)
        extrapolation: f64,
    },
    /// Adagrad.
    Adagrad,
    /// Adam with β = (0.9, 0.999).
    Adam,
    /// Adam with hypergradient descent on α.
    AdamHd {
        /// Change of α per unit of hypergradient.
        rate: f64,
    },
    /// The paper's Algorithm 2, to the letter.
    AdamOla {
        /// η_adapt
        eta: f64,
        /// ε_desc
        descent: f64,
    },
    /// Adam-OLA with the exact sensitivity through a window of steps.
    WindowOla {
        /// η_adapt
        eta: f64,
        /// ε_desc
        descent: f64,
        /// W, in steps.
        window: usize,
    },
    /// Adam with a guarded logarithmic step of α.
    GOla,
    /// α, β₁ and momentum by a Newton step on the stopping time.
    NOla,
}

impl Method {
    /// Nesterov's method for strongly convex f: μ is the regularisation or, without one, that of the configuration.
    pub fn nag_sc(problem: &Problem, config: &Config) -> Self {
        let mu = match problem.regularisation() {
            reg if reg > 0.0 => reg,
            _ => config.strong_convexity,
        };
        let (l, mu) = (problem.lipschitz().sqrt(), mu.sqrt());
        Self::NagSc {
            extrapolation: (l - mu) / (l + mu),
        }
    }

    /// The name people see.
    pub fn name(self) -> String {
        match self {
            Self::Gd => "GD".into(),
            Self::Hb { .. } => "HB".into(),
            Self::Nag => "NAG".into(),
            Self::NagSc { .. } => "NAG-SC".into(),
            Self::Adagrad => "Adagrad".into(),
            Self::Adam => "Adam".into(),
            Self::AdamHd { .. } => "Adam-HD".into(),
            Self::AdamOla { .. } => "Adam-OLA".into(),
            Self::WindowOla { window, .. } => format!("window {window}"),
            Self::GOla => "G-OLA".into(),
            Self::NOla => "N-OLA".into(),
        }
    }

    /// Its parameters in words; empty if it has none.
    pub fn parameters(self) -> String {
        match self {
            Self::Hb { momentum } => format!("β = {momentum}"),
            Self::NagSc { extrapolation } => format!("β = {extrapolation:.6}"),
            Self::AdamHd { rate } => format!("β = {rate}"),
            Self::AdamOla { eta, descent } | Self::WindowOla { eta, descent, .. } => {
                format!("η = {eta}, ε = {descent}")
            }
            _ => String::new(),
        }
    }

    /// One of the paper's baselines?
    pub fn is_baseline(self) -> bool {
        !matches!(
            self,
            Self::AdamOla { .. } | Self::WindowOla { .. } | Self::GOla | Self::NOla
        )
    }
}

/// When to end a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// Converged when max |∇f| is below this, tested before every update.
    pub tolerance: f64,
    /// Tests, that is updates, at most.
    pub iterations: usize,
}

impl Default for Limits {
    /// The paper's.
    fn default() -> Self {
        Self {
            tolerance: 1e-4,
            iterations: 1000,
        }
    }
}

/// What a run ended with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The method.
    pub method: Method,
    /// The learning rate it started with.
    pub alpha0: f64,
    /// Gradient tests made, the last one included.
    pub iterations: usize,
    /// Did max |∇f| come below the tolerance?
    pub converged: bool,
    /// Did it leave the finite numbers, or end above f(x0)?
    pub diverged: bool,
    /// f at the point that is handed back: the last finite one; G-OLA keeps its best.
    pub f: f64,
    /// max |∇f| at the last point.
    pub grad_inf: f64,
    /// The learning rate at the end.
    pub alpha_final: f64,
    /// How often the learning rate was changed.
    pub adaptations: usize,
    /// Evaluations of f and ∇f.
    pub evaluations: usize,
    /// Hessian-vector products.
    pub hessian_products: usize,
    /// f before every update and at the end.
    #[serde(skip)]
    pub trace: Vec<f64>,
}

impl Run {
    /// Makes a run. The only error is a hyperparameter or starting point that dst-core refuses.
    pub fn new<O: Objective<f64>>(
        objective: &O,
        method: Method,
        alpha0: f64,
        x0: &[f64],
        limits: Limits,
    ) -> Result<Self, Error> {
        let memory = |len: usize| vec![0.0; len];
        let rule = match method {
            Method::AdamOla { eta, descent } => {
                let mut config = OlaConfig::new(alpha0, eta, descent);
                config.tolerance = limits.tolerance;
                let mut memory = memory(AdamOla::memory_len(&objective));
                let ola = AdamOla::new(config, objective, x0, &mut memory)?;
                return Ok(drive(method, alpha0, ola, limits));
            }
            Method::GOla => {
                let mut config = GuardedConfig::new(alpha0);
                config.tolerance = limits.tolerance;
                let mut memory = memory(GuardedOla::memory_len(&objective));
                let ola = GuardedOla::new(config, objective, x0, &mut memory)?;
                return Ok(drive(method, alpha0, ola, limits));
            }
            Method::NOla => {
                let mut config = NewtonConfig::new(alpha0);
                config.tolerance = limits.tolerance;
                let mut memory = memory(NewtonOla::memory_len(&objective));
                let ola = NewtonOla::new(config, objective, x0, &mut memory)?;
                return Ok(drive(method, alpha0, ola, limits));
            }
            Method::WindowOla {
                eta,
                descent,
                window,
            } => {
                let mut config = OlaConfig::new(alpha0, eta, descent);
                config.tolerance = limits.tolerance;
                return windowed(objective, method, config, window, x0, limits);
            }
            Method::Gd => Rule::GradientDescent,
            Method::Hb { momentum } => Rule::HeavyBall { momentum },
            Method::Nag => Rule::Nesterov,
            Method::NagSc { extrapolation } => Rule::NesterovStrong { extrapolation },
            Method::Adagrad => Rule::Adagrad,
            Method::Adam => Rule::Adam,
            Method::AdamHd { rate } => Rule::AdamHypergradient { rate },
        };
        let baseline = Baseline::new(rule, objective, alpha0, x0);
        if !(baseline.value().is_finite() && baseline.gradient_max().is_finite()) {
            return Err(Error::NonFinite { step: 0 });
        }
        Ok(drive(method, alpha0, baseline, limits))
    }
}

/// Iterates to the end.
fn drive(method: Method, alpha0: f64, mut optimiser: impl Optimiser, limits: Limits) -> Run {
    let mut trace = vec![optimiser.value()];
    let (mut f, mut grad_inf) = (optimiser.value(), optimiser.gradient_max());
    let mut iterations = 0;
    let (mut converged, mut finite) = (false, true);
    while iterations < limits.iterations && finite && !converged {
        iterations += 1;
        converged = grad_inf < limits.tolerance;
        if !converged {
            finite = optimiser.step().is_ok();
            if finite {
                (f, grad_inf) = (optimiser.value(), optimiser.gradient_max());
                trace.push(f);
            }
        }
    }
    Run {
        method,
        alpha0,
        iterations,
        converged,
        diverged: !finite || f > trace[0],
        f: if converged {
            f
        } else {
            optimiser.best().min(f)
        },
        grad_inf,
        alpha_final: optimiser.alpha(),
        adaptations: optimiser.adaptations(),
        evaluations: optimiser.evaluations(),
        hessian_products: optimiser.hessian_products(),
        trace,
    }
}

/// The windowed method goes from trigger to trigger; the gradient is tested at the end of each window, and at the latest
/// after four times the length that a sensitivity reaches back.
fn windowed<O: Objective<f64>>(
    objective: &O,
    method: Method,
    config: OlaConfig<f64>,
    window: usize,
    x0: &[f64],
    limits: Limits,
) -> Result<Run, Error> {
    let mut z = vec![0.0; windowed_state_len(objective.dim())];
    let counted = Counted::new(objective);
    let mut ola = WindowedOla::new(config, &counted, window, x0, &mut z)?;
    let plan = Euler::new(1.0).until(0.0);
    let patience = window.saturating_mul(4).max(1);
    let slots = patience.min(64);
    let mut memory = HeapMemory::with_records(&plan, ola.method(), slots);
    let mut gradient = vec![0.0; objective.dim()];
    let mut tape = vec![0.0; objective.tape_len()];
    let mut scratch = vec![0.0; objective.scratch_len()];
    let mut look = |x: &[f64]| {
        let f = counted.value_gradient(x, &mut gradient, &mut tape, &mut scratch);
        (f, gradient.iter().fold(0.0_f64, |max, g| max.max(g.abs())))
    };
    let (start, mut grad_inf) = look(x0);
    let (mut f, mut finite, mut trace) = (start, true, vec![start]);
    let mut converged = grad_inf < limits.tolerance;
    let mut adaptations = 0;
    while finite && !converged && ola.iterations() < limits.iterations {
        let left = limits.iterations - ola.iterations();
        match ola.advance(left.min(patience), &mut memory) {
            Ok(done) => {
                adaptations += usize::from(matches!(done, Window::Adapted { .. }));
                (f, grad_inf) = look(ola.state());
                converged = grad_inf < limits.tolerance;
                trace.resize(ola.iterations() + 1, f);
            }
            Err(Error::NonFinite { .. }) => finite = false,
            Err(error) => return Err(error),
        }
    }
    let tests = ola.iterations() + usize::from(converged);
    let (alpha_final, iterations) = (ola.alpha(), tests.min(limits.iterations));
    let (evaluations, hessian_products) = counted.counts();
    Ok(Run {
        method,
        alpha0: config.alpha,
        iterations,
        converged,
        diverged: !finite || f > start,
        f,
        grad_inf,
        alpha_final,
        adaptations,
        evaluations,
        hessian_products,
        trace,
    })
}

/// Counts what is asked of an objective.
struct Counted<'o, O> {
    inner: &'o O,
    evaluations: std::cell::Cell<usize>,
    products: std::cell::Cell<usize>,
}

impl<'o, O> Counted<'o, O> {
    fn new(inner: &'o O) -> Self {
        Self {
            inner,
            evaluations: std::cell::Cell::new(0),
            products: std::cell::Cell::new(0),
        }
    }

    fn counts(&self) -> (usize, usize) {
        (self.evaluations.get(), self.products.get())
    }
}

impl<O: Objective<f64>> Objective<f64> for Counted<'_, O> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn tape_len(&self) -> usize {
        self.inner.tape_len()
    }
    fn scratch_len(&self) -> usize {
        self.inner.scratch_len()
    }
    fn value_gradient(&self, x: &[f64], g: &mut [f64], tape: &mut [f64], s: &mut [f64]) -> f64 {
        self.evaluations.set(self.evaluations.get() + 1);
        self.inner.value_gradient(x, g, tape, s)
    }
    fn add_hessian_vector(
        &self,
        x: &[f64],
        v: &[f64],
        tape: &[f64],
        out: &mut [f64],
        s: &mut [f64],
    ) {
        self.products.set(self.products.get() + 1);
        self.inner.add_hessian_vector(x, v, tape, out, s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::Rosenbrock;

    /// What the windowed method says is what its objective has seen.
    #[test]
    fn tests_of_the_gradient_are_counted() {
        let rosenbrock = Rosenbrock { dim: 2 };
        let seen = Counted::new(&rosenbrock);
        let limits = Limits {
            tolerance: 1e-4,
            iterations: 40,
        };
        let method = Method::WindowOla {
            eta: 1e-3,
            descent: 1e-4,
            window: 4,
        };
        let run = Run::new(&seen, method, 0.01, &[-1.2, 1.0], limits).unwrap();
        assert_eq!((run.evaluations, run.hessian_products), seen.counts());
    }
}
