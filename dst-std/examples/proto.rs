use dst_std::control::plants::*;
use dst_std::control::*;
use std::time::Instant;
fn main() {
    let plant = if std::env::args().nth(1).as_deref() == Some("q") {
        quadrotor().unwrap()
    } else {
        safety_filter()
    };
    let t = Instant::now();
    let p = &plant.program;
    let small = p.cast::<f32>();
    let test = plant.pool(9001, 5000).cast::<f32>();
    let jac = p.jacobi().unwrap();
    let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
    for (n, switches, tail, steps, hard, batch, clip, a0) in [
        (3000, vec![16, 48, 96], 0.3, 300, 8, 24, 1.0, 1.6),
        (3000, vec![16, 48, 96], 0.3, 300, 8, 24, 1e9, 1.6),
        (3000, vec![16, 48, 96], 0.3, 300, 8, 24, 0.2, 1.8),
        (3000, vec![16, 48], 1.0, 300, 8, 24, 1.0, 1.6),
        (3000, vec![], 1.0, 300, 8, 24, 1.0, 1.6),
        (3000, vec![24, 64], 0.3, 300, 8, 24, 1.0, 1.6),
    ] {
        for seed in 1..=3 {
            let pool64 = plant.pool(77 + seed, n);
            let ks = Knobset::levels_and_slopes(p, jac.clone(), &kinds, &switches);
            let th = ks.start(1.0, a0);
            let tr = tune(
                p,
                &ks,
                &th,
                &pool64,
                &Options {
                    tail,
                    seed,
                    steps,
                    hard,
                    batch,
                    clip,
                    ..Options::default()
                },
                |_| false,
            )
            .unwrap();
            let tuned: Tuned<f32> = ks.tuned(p, &tr.theta).unwrap().cast();
            let f = |s: Score| format!("{:.1}/{}/{}/{:.2}", s.mean, s.p99, s.max, s.at_cap);
            println!(
                "{n} {switches:?} tail {tail} steps {steps} hard {hard}/{batch} clip {clip} pool {} test {} t {:?} work {}",
                f(tr.score),
                f(Score::of(
                    &iterations(&small, &test, tuned.phases(), 500),
                    500
                )),
                t.elapsed(),
                tr.work
            );
        }
    }
}
