//! Rows of the baselines. Each searches its settings on the pool, and the same ticks decide as in the trainings by the gradient.

use super::ControlConfig;
use super::rows::Rows;
use crate::control::baselines::{
    Balancing, Baselines, FixedSetting, Key, best_setting, grid, ruiz,
};
use crate::control::plants::Plant;
use crate::control::{Pool, Score};
use crate::format::short;

/// The setting that the source of the plant publishes.
pub(super) fn published(plant: &Plant) -> FixedSetting {
    let rho = if plant.program.shape.outputs > 0 {
        100.0
    } else {
        5.0
    };
    FixedSetting { rho, alpha: 1.0 }
}

/// Adds a row per baseline, tuned on the ticks of one training. Returns the Jacobi setting that is best by ½ mean + ½ p99.
pub(super) fn add_baselines(
    table: &mut Rows<'_>,
    bench: &Baselines<'_>,
    jacobi: &[f64],
    ticks: &[Pool<f64>; 2],
) -> FixedSetting {
    let config = table.config;
    let rounds = rounds(ticks, config);
    let (ones, ruiz) = (vec![1.0; jacobi.len()], ruiz(bench.program));
    let alphas: &[f64] = if config.coarse {
        &[1.0, 1.6, 1.8]
    } else {
        &[1.0, 1.3, 1.5, 1.6, 1.7, 1.8, 1.9]
    };
    let by: [(&str, Key); 2] = [("mean", |s| s.mean), ("mean + p99", Score::blend)];
    let mut jacobi_best = FixedSetting {
        rho: 1.0,
        alpha: 1.6,
    };
    for (base, name, from) in [
        (&ones[..], "(ρ, α) by grid", 0.0),
        (jacobi, "Jacobi scaling, (ρ, α) by grid", -1.5),
    ] {
        // The published ρ lie inside.
        let settings = grid(from, 18, alphas);
        for (what, key) in by {
            let counts = |s: &FixedSetting, p: &Pool<f32>| bench.fixed(base, *s, p);
            if let Some((setting, _)) = best_setting(&settings, &rounds, config.cap, key, counts) {
                let counts = bench.fixed(base, setting, table.test);
                table.add(
                    &format!("{name}, by {what}"),
                    false,
                    setting.words(),
                    &counts,
                );
                if from < 0.0 {
                    jacobi_best = setting;
                }
            }
        }
    }
    // Rules start around the best fixed ρ of their base.
    let factors: &[f64] = if config.coarse {
        &[1.0]
    } else {
        &[0.2, 1.0, 5.0]
    };
    for (base, name, intervals, threshold, reach) in [
        (
            &ones[..],
            "OSQP residual balancing",
            &[10, 25, 50][..],
            2.0,
            1e6,
        ),
        (&ruiz, "the same + Ruiz", &[10, 25, 50], 2.0, 1e6),
        (jacobi, "the same + Jacobi", &[10, 25, 50], 2.0, 1e6),
        // Bounded, without a threshold, looked at often; K exact, where TinyMPC has a first-order update.
        (&ones, "TinyMPC-style adaptive ρ", &[5, 10], 1.0, 10.0),
    ] {
        let settings = grid(-2.0, 28, &[1.6]);
        let few = rounds.get(..1).unwrap_or_default();
        let counts = |s: &FixedSetting, p: &Pool<f32>| bench.fixed(base, *s, p);
        let middle = best_setting(&settings, few, config.cap, |s| s.mean, counts);
        let middle = middle.map_or(1.0, |found| found.0.rho);
        let rules = rules(factors, middle, intervals, threshold, reach, config.coarse);
        add_balancing(table, bench, base, name, &rules, &rounds);
    }
    jacobi_best
}

fn rules(
    rhos: &[f64],
    scale: f64,
    intervals: &[u32],
    threshold: f64,
    reach: f64,
    coarse: bool,
) -> Vec<Balancing> {
    let alphas: &[f64] = if coarse { &[1.6] } else { &[1.0, 1.6, 1.8] };
    let mut rules = Vec::new();
    for rho in rhos {
        for &alpha in alphas {
            for &interval in intervals {
                rules.push(Balancing {
                    rho: rho * scale,
                    alpha,
                    interval,
                    threshold,
                    reach,
                });
            }
        }
    }
    rules
}

fn add_balancing(
    table: &mut Rows<'_>,
    bench: &Baselines<'_>,
    base: &[f64],
    name: &str,
    rules: &[Balancing],
    rounds: &[Pool<f32>],
) {
    let counts = |rule: &Balancing, p: &Pool<f32>| bench.balanced(base, rule, p);
    if let Some((rule, _)) = best_setting(rules, rounds, table.config.cap, Score::blend, counts) {
        let words = format!(
            "ρ0 = {}, α = {}, every {}",
            short(rule.rho),
            short(rule.alpha),
            rule.interval
        );
        table.add(name, false, words, &bench.balanced(base, &rule, table.test));
    }
}

/// A few ticks of the pool, more, all of it, and those that decide.
fn rounds([pool, choice]: &[Pool<f64>; 2], config: &ControlConfig) -> Vec<Pool<f32>> {
    let few = if config.coarse { 24 } else { 60 };
    let heads = [pool.head(few), pool.head(300), pool.clone(), choice.clone()];
    heads.iter().map(Pool::cast).collect()
}
