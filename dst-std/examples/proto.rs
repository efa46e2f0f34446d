use dst_std::control::plants::*;
use dst_std::control::*;
use std::time::Instant;
fn main() {
    for plant in [safety_filter(), quadrotor().unwrap()] {
        let t = Instant::now();
        let p = &plant.program;
        let small = p.cast::<f32>();
        let test = plant.pool(9001, 2000).cast::<f32>();
        let pool64 = plant.pool(77, 300);
        let pool = pool64.cast::<f32>();
        let m = p.shape.rows();
        let jac = p.jacobi().unwrap();
        let run = |w: &[f64], a: f64, pool: &Pool<f32>| {
            let t: Tuned<f32> = Tuned::constant(p, w, a).unwrap().cast();
            Score::of(&iterations(&small, pool, t.phases(), 500), 500)
        };
        println!("{} rho100 {:?}", plant.name, run(&vec![100.0; m], 1.0, &test));
        println!("rho5 {:?}", run(&vec![5.0; m], 1.0, &test));
        for base in [vec![1.0; m], jac.clone()] {
            let mut best: Option<(f64, f64, Score)> = None;
            let mut bestb: Option<(f64, f64, Score)> = None;
            for k in 0..25 {
                let rho = if base == jac { 10f64.powf(-1.5 + k as f64 / 8.0) } else { 10f64.powf(k as f64 / 4.0 - 1.0) };
                for a in [1.0, 1.2, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9] {
                    let w: Vec<f64> = base.iter().map(|b| b * rho).collect();
                    let s = run(&w, a, &pool);
                    if best.is_none_or(|b| s.mean < b.2.mean) { best = Some((rho, a, s)); }
                    if bestb.is_none_or(|b| s.blend() < b.2.blend()) { bestb = Some((rho, a, s)); }
                }
            }
            for b in [best.unwrap(), bestb.unwrap()] {
                let w: Vec<f64> = base.iter().map(|x| x * b.0).collect();
                println!("grid {:?} test {:?} t {:?}", b, run(&w, b.1, &test), t.elapsed());
            }
        }
        let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
        for (switches, tail) in [(vec![], 0.3), (vec![16, 48], 0.3), (vec![16,48], 1.0)] {
            for seed in 1..=2 {
            let pool64 = plant.pool(77+seed, 300);
            let ks = Knobset::levels_and_slopes(p, jac.clone(), &kinds, &switches);
            let th = ks.start(1.0, 1.6);
            let tr = tune(p, &ks, &th, &pool64, &Options{tail, seed, ..Options::default()}, |_| false).unwrap();
            let tuned: Tuned<f32> = ks.tuned(p, &tr.theta).unwrap().cast();
            println!("{switches:?} {tail} start {:?}\n pool {:?}\n test {:?} t {:?} theta {:.2?}", tr.history[0].score, tr.score, Score::of(&iterations(&small, &test, tuned.phases(), 500), 500), t.elapsed(), tr.theta);
            }
        }
    }
}
