//! One run of one algorithm, and its result.

use dst_core::adapt::{
    GuardedConfig, NewtonConfig, OlaConfig, Window, WindowedOla, windowed_state_len,
};
use dst_core::{Error, Euler, HeapMemory, Objective};
use serde::Serialize;

use super::algorithm::{Algorithm, Setting};
use super::baselines::{Baseline, Update};
use super::rule::{Rule, Stepper};

/// The ends of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// Converged when max |∇f| is below this, tested before every update.
    pub tolerance: f64,
    /// The largest number of gradient tests, that is of updates.
    pub iterations: usize,
}

impl Default for Limits {
    /// Returns the limits of the paper.
    fn default() -> Self {
        Self {
            tolerance: 1e-4,
            iterations: 1000,
        }
    }
}

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OlaRun {
    /// The algorithm.
    pub method: Algorithm,
    /// The learning rate at the start.
    pub alpha0: f64,
    /// Gradient tests made, the last one included.
    pub iterations: usize,
    /// True if max |∇f| fell below the tolerance.
    pub converged: bool,
    /// True if the run left the finite numbers or ended above f(x0).
    pub diverged: bool,
    /// f at the returned point: the last finite one, or the best one of G-OLA.
    pub f: f64,
    /// max |∇f| at the last point.
    pub grad_inf: f64,
    /// The learning rate at the end.
    pub alpha_final: f64,
    /// Changes of the learning rate.
    pub adaptations: usize,
    /// Evaluations of f and ∇f.
    pub evaluations: usize,
    /// Hessian-vector products.
    pub hessian_products: usize,
    /// f before every update and at the end.
    #[serde(skip)]
    pub trace: Vec<f64>,
    /// The returned point.
    #[serde(skip)]
    pub weights: Vec<f64>,
}

impl OlaRun {
    /// Orders runs, the best first: converged before not converged before diverged, then fewer iterations, then lower f.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let key = |run: &Self| {
            let iterations = if run.converged { run.iterations } else { 0 };
            (run.diverged, !run.converged, iterations)
        };
        key(self).cmp(&key(other)).then(self.f.total_cmp(&other.f))
    }

    /// True if this run is better than the other.
    pub fn beats(&self, other: &Self) -> bool {
        self.order(other).is_lt()
    }
}

/// Runs an algorithm from `x0` until it converges or meets a limit.
///
/// # Errors
/// A hyperparameter or starting point that dst-core refuses.
pub fn run<O: Objective<f64>>(
    objective: &O,
    setting: Setting,
    x0: &[f64],
    limits: Limits,
) -> Result<OlaRun, Error> {
    let Setting {
        algorithm,
        alpha: alpha0,
    } = setting;
    let update = match algorithm {
        Algorithm::AdamOla { eta, descent } => {
            let rule = OlaConfig::new(alpha0, eta, descent);
            return adapt(rule, objective, setting, x0, limits);
        }
        Algorithm::GOla => {
            return adapt(GuardedConfig::new(alpha0), objective, setting, x0, limits);
        }
        Algorithm::NOla => {
            return adapt(NewtonConfig::new(alpha0), objective, setting, x0, limits);
        }
        Algorithm::WindowOla {
            eta,
            descent,
            window,
        } => {
            let mut config = OlaConfig::new(alpha0, eta, descent);
            config.tolerance = limits.tolerance;
            return windowed(objective, algorithm, config, window, x0, limits);
        }
        Algorithm::Gd => Update::GradientDescent,
        Algorithm::Hb { momentum } => Update::HeavyBall { momentum },
        Algorithm::Nag => Update::Nesterov,
        Algorithm::NagSc { extrapolation } => Update::NesterovStrong { extrapolation },
        Algorithm::Adagrad => Update::Adagrad,
        Algorithm::Adam => Update::Adam,
        Algorithm::AdamHd { rate } => Update::AdamHypergradient { rate },
    };
    let baseline = Baseline::new(update, objective, alpha0, x0);
    if !(baseline.value().is_finite() && baseline.gradient_max().is_finite()) {
        return Err(Error::NonFinite { step: 0 });
    }
    Ok(drive(baseline, setting, limits))
}

/// Runs an online adaptation of dst-core, whichever it is.
fn adapt<R: Rule, O: Objective<f64>>(
    rule: R,
    objective: &O,
    setting: Setting,
    x0: &[f64],
    limits: Limits,
) -> Result<OlaRun, Error> {
    let mut memory = vec![0.0; R::memory_len(&objective)];
    let rule = rule.tolerance(limits.tolerance);
    let stepper = rule.start(objective, x0, &mut memory)?;
    Ok(drive(stepper, setting, limits))
}

/// Iterates to the end.
fn drive(mut stepper: impl Stepper, setting: Setting, limits: Limits) -> OlaRun {
    let mut trace = vec![stepper.value()];
    let (mut f, mut grad_inf) = (stepper.value(), stepper.gradient_max());
    let mut iterations = 0;
    let (mut converged, mut finite) = (false, true);
    while iterations < limits.iterations && finite && !converged {
        iterations += 1;
        converged = grad_inf < limits.tolerance;
        if !converged {
            finite = stepper.step().is_ok();
            if finite {
                (f, grad_inf) = (stepper.value(), stepper.gradient_max());
                trace.push(f);
            }
        }
    }
    let weights = if converged || stepper.best() >= f {
        stepper.point().to_vec()
    } else {
        stepper.best_point().to_vec()
    };
    OlaRun {
        method: setting.algorithm,
        alpha0: setting.alpha,
        iterations,
        converged,
        diverged: !finite || f > trace[0],
        f: if converged { f } else { stepper.best().min(f) },
        grad_inf,
        alpha_final: stepper.alpha(),
        adaptations: stepper.adaptations(),
        evaluations: stepper.evaluations(),
        hessian_products: stepper.hessian_products(),
        trace,
        weights,
    }
}

/// The most states that the windowed method keeps.
pub(super) const MOST_SLOTS: usize = 64;

/// Runs the windowed method from trigger to trigger. The gradient is tested at the end of each window, and at the latest
/// after four window lengths.
fn windowed<O: Objective<f64>>(
    objective: &O,
    method: Algorithm,
    config: OlaConfig<f64>,
    window: usize,
    x0: &[f64],
    limits: Limits,
) -> Result<OlaRun, Error> {
    let mut z = vec![0.0; windowed_state_len(objective.dim())];
    let counted = Counted::new(objective);
    let mut ola = WindowedOla::new(config, &counted, window, x0, &mut z)?;
    let plan = Euler::new(1.0).until(0.0);
    let patience = window.saturating_mul(4).max(1);
    let slots = patience.min(MOST_SLOTS);
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
    Ok(OlaRun {
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
        weights: ola.state().to_vec(),
    })
}

/// An objective that counts its evaluations and products.
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

    #[test]
    fn the_windowed_method_reports_every_evaluation_of_its_objective() {
        let rosenbrock = Rosenbrock { dim: 2 };
        let seen = Counted::new(&rosenbrock);
        let limits = Limits {
            tolerance: 1e-4,
            iterations: 40,
        };
        let algorithm = Algorithm::WindowOla {
            eta: 1e-3,
            descent: 1e-4,
            window: 4,
        };
        let setting = Setting {
            algorithm,
            alpha: 0.01,
        };
        let run = run(&seen, setting, &[-1.2, 1.0], limits).unwrap();
        assert_eq!((run.evaluations, run.hessian_products), seen.counts());
    }
}
