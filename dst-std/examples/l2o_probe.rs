use dst_std::l2o::*;
use std::time::Instant;
fn main() {
    let threads: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(2);
    dst_std::linalg::threads::with(threads, || {
        let recipe = Recipe { rate: 1e-3, ..Recipe::paper(Model::RnnProp) };
        let theta = Model::RnnProp.initial::<f32>(2001, |_| 1.0 / 30f64.sqrt());
        let mut t = Trainer::new(recipe, theta);
        let s = Instant::now();
        t.draw(0);
        println!("draw {:.3}", s.elapsed().as_secs_f64());
        for _ in 0..4 {
            let s = Instant::now();
            let r = t.step(0).unwrap().clone();
            println!("{:.3} s {:?}", s.elapsed().as_secs_f64(), r.losses);
        }
    }).unwrap();
}
