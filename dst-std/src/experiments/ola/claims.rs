//! The claims of the experiment and their verdicts.

use crate::ola::{OlaRun, SvmComparison};
use crate::report::{Section, Verdict};

/// Returns the iterations of a run, or its gap where it did not converge.
pub(super) fn outcome(comparison: &SvmComparison, run: &OlaRun) -> String {
    let star = if run.diverged { "*" } else { "" };
    if run.converged {
        run.iterations.to_string()
    } else {
        format!("{:.1e}{star}", comparison.gap(run.f))
    }
}

/// The name of a method with its iterations, or its gap at the end.
fn result(comparison: &SvmComparison, run: &OlaRun) -> String {
    let name = run.method.name();
    let outcome = outcome(comparison, run);
    if run.converged {
        format!("{name} {outcome} iterations")
    } else {
        format!("{name} gap {outcome}")
    }
}

fn named(all: &[SvmComparison], tell: impl Fn(&SvmComparison) -> Option<String>) -> String {
    let parts = all
        .iter()
        .filter_map(|c| Some(format!("{}: {}", c.name, tell(c)?)));
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns the verdict over all data sets.
fn verdict(all: &[SvmComparison], holds: impl Fn(&SvmComparison) -> bool) -> Verdict {
    Verdict::of_all(all.iter().map(holds))
}

/// Adds the claims of the paper and ours, each with its measurement.
pub(super) fn claims(section: &mut Section, all: &[SvmComparison]) {
    let best_baseline = |c: &SvmComparison| {
        let runs = c.runs.iter().filter(|run| run.method.is_baseline());
        runs.min_by(|a, b| a.order(b)).cloned()
    };
    let wins = |c: &SvmComparison, name: &str| {
        let (ours, theirs) = (c.best(name), best_baseline(c));
        matches!((ours, theirs), (Some(ours), Some(theirs)) if ours.beats(&theirs))
    };
    section.claim(
        "Adam-OLA outperforms the baselines on every data set (the paper), each with its best setting.",
        named(all, |c| {
            let theirs = best_baseline(c)?;
            let ours = result(c, c.best("Adam-OLA")?);
            Some(format!("{ours}, {}", result(c, &theirs)))
        }),
        verdict(all, |c| wins(c, "Adam-OLA")),
        "iterations, or the gap at the end where the tolerance is not reached",
    ).changed_by("other settings than those of the paper's Table 1, or a smaller grid for the baselines");
    let adam = |c: &SvmComparison| c.best("Adam").cloned();
    section.claim(
        "Adam-OLA beats Adam, each with its best learning rate to start with.",
        named(all, |c| {
            Some(format!("{}, {}", result(c, c.best("Adam-OLA")?), result(c, &adam(c)?)))
        }),
        verdict(all, |c| {
            matches!((c.best("Adam-OLA"), adam(c)), (Some(ours), Some(adam)) if ours.beats(&adam))
        }),
        "the learning rate is chosen from the same grid for both",
    ).changed_by("other settings than those of the paper's Table 1");
    let diverged = |c: &SvmComparison, name: &str| c.of(name).filter(|run| run.diverged).count();
    section.claim(
        "Adapting α makes the literal algorithm indifferent to α₀: it is stable for every α₀ of the grid.",
        named(all, |c| {
            Some(format!("Adam-OLA diverges from {} of {} α₀", diverged(c, "Adam-OLA"), c.of("Adam-OLA").count()))
        }),
        verdict(all, |c| diverged(c, "Adam-OLA") == 0),
        "S is unbounded where f hardly falls: α becomes negative, f rises, and the trigger never fires again",
    ).changed_by("a bounded sensitivity, as in G-OLA");
    section
        .claim(
            "G-OLA (ours, one setting) stays finite and lowers f from every α₀ of the grid.",
            named(all, |c| {
                let worst = c.of("G-OLA").max_by(|a, b| a.order(b))?;
                Some(format!("worst α₀: {}", result(c, worst)))
            }),
            verdict(all, |c| {
                c.of("G-OLA").all(|run| !run.diverged && run.f < c.f0)
            }),
            "a clipped step of ln α cannot overshoot below zero",
        )
        .changed_by("a finite run that lowers f from every α₀");
    section.claim(
        "G-OLA beats the best-tuned Adam from every α₀ of the grid.",
        named(all, |c| {
            let wins = c.of("G-OLA").filter(|run| adam(c).is_some_and(|adam| run.beats(&adam)));
            Some(format!("G-OLA beats Adam from {} of {} α₀", wins.count(), c.of("G-OLA").count()))
        }),
        verdict(all, |c| {
            c.of("G-OLA")
                .all(|run| adam(c).is_some_and(|adam| run.beats(&adam)))
        }),
        "one learning rate for all coordinates has a limit, even when it is optimal in every step",
    ).changed_by("learning rates per coordinate, or momentum adapted as well, as in N-OLA");
    section.claim(
        "N-OLA (ours, one setting) beats the best-tuned Adam from every α₀ of the grid, in iterations.",
        named(all, |c| {
            let worst = c.of("N-OLA").max_by(|a, b| a.order(b))?;
            Some(format!("worst α₀: {}, {}", result(c, worst), result(c, &adam(c)?)))
        }),
        verdict(all, |c| c.of("N-OLA").all(|run| adam(c).is_some_and(|adam| run.beats(&adam)))),
        "a Newton step on three parameters; in effect preconditioned nonlinear conjugate gradients",
    ).changed_by("a faster decay of the second moment (β₂ = 0.9) on the sets where Adam wins");
    section.claim(
        "N-OLA beats the best-tuned Adam at equal cost too, a Hessian-vector product counted as a gradient.",
        named(all, |c| {
            let wins = c.of("N-OLA").filter(|run| adam(c).is_some_and(|adam| beats_at_cost(run, &adam)));
            Some(format!("N-OLA beats Adam from {} of {} α₀", wins.count(), c.of("N-OLA").count()))
        }),
        verdict(all, |c| {
            c.of("N-OLA").all(|run| adam(c).is_some_and(|adam| beats_at_cost(run, &adam)))
        }),
        "three evaluations per iteration instead of one",
    ).changed_by("products with the data shared between the gradient and the Hessian-vector products");
    if let Some(window) = all
        .first()
        .and_then(|c| c.methods().into_iter().find(|m| m.starts_with("window")))
    {
        section.claim(
            format!("Backpropagating through more steps ({window}) beats the one-step sensitivity."),
            named(all, |c| {
                Some(format!("{}, {}", result(c, c.best(&window)?), result(c, c.best("Adam-OLA")?)))
            }),
            verdict(all, |c| {
                matches!((c.best(&window), c.best("Adam-OLA")), (Some(w), Some(one)) if w.beats(one))
            }),
            "the same trigger, the same parameters; the sensitivity is exact through the window",
        ).changed_by("a trigger and parameters tuned for the window instead of those of the paper");
    }
}

/// True if our run beats Adam within the evaluations that Adam used.
fn beats_at_cost(ours: &OlaRun, adam: &OlaRun) -> bool {
    let total = ours.evaluations + ours.hessian_products;
    if adam.converged {
        return ours.converged && total < adam.evaluations;
    }
    let share = ours.iterations.max(1) as f64 / total as f64;
    let affordable = (adam.evaluations as f64 * share) as usize;
    let f = ours.trace.get(affordable).or(ours.trace.last());
    f.is_some_and(|&f| f < adam.f)
}
