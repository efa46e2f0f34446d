//! scratch
use dst_core::descent::{Coordinate, Descent, Verdict};
use dst_core::methods::HeavyBall;
use dst_core::{Crossing, Euler, Memory, formula};
use dst_models::Quadratic;
use std::cell::RefCell;

type Told<const P: usize> = Option<(f64, [f64; P])>;
fn descend<const P: usize>(name: &str, start: [f64; P], c: [Coordinate<f64>; P], f: impl Fn(&[f64; P]) -> Told<P>, target: f64) {
    for lazy in [false] {
        let mut d = Descent::new(start, c);
        let (mut within, mut grads, mut first) = (None, 0, None);
        let log = RefCell::new(String::new());
        while !d.finished() {
            let theta = *d.theta();
            let v = match f(&theta) {
                None => d.tell_failed(),
                Some((v, g)) => if lazy {
                    match d.tell_value(v) {
                        Ok(Verdict::GradientWanted) => { grads += 1; d.tell(v, &g) }
                        other => other,
                    }
                } else { grads += 1; d.tell(v, &g) },
            }.unwrap();
            if std::env::var("TRACE").is_ok() {
                log.borrow_mut().push_str(&format!("{:?} {theta:?} {v:?}\n", f(&theta).map(|x| x.0)));
            }
            if let Some((_, b)) = d.best() {
                first.get_or_insert(b);
                if within.is_none() && b <= target { within = Some(d.runs()); }
            }
        }
        let (b, v) = d.best().map_or(([f64::NAN; P], f64::NAN), |(a, b)| (*a, b));
        println!("{name:22} lazy {lazy:5}: runs {:3} grads {grads:3} within {within:?} value {v:.5} (target {target:.5}) from {first:?} at {b:.4?}", d.runs());
        if std::env::var("TRACE").is_ok() { println!("{}", log.borrow()); }
    }
}

fn ball(lambda: [f64; 10], l: f64, eps: f64, cap: usize) -> impl Fn(&[f64; 2]) -> Told<2> {
    move |theta| {
        let method = HeavyBall::new(Quadratic { lambda, coupling: 0.0 });
        let mut x0 = [0.0; 20];
        x0[..10].fill(1.0);
        let _ = l;
        let mut memory = Memory::<f64, 20, 2, 30>::new();
        let plan = Euler::new(1.0).until(eps).at_most(cap).crossing(Crossing::Interpolated);
        let s = plan.sensitivity(&method, theta, &x0, &mut memory).ok()?;
        Some((s.stop.time, [s.time_gradient()[0], s.time_gradient()[1]]))
    }
}

fn main() {
    use Coordinate::{Between, Free, Log, Logit};
    descend("bowl", [3.0, -2.0, 1.0], [Free(1.0); 3], |t| {
        let k = [1.0, 30.0, 7.0];
        let v = 1.0 + (0..3).map(|i| 0.5 * k[i] * t[i] * t[i]).sum::<f64>();
        Some((v, [k[0] * t[0], k[1] * t[1], k[2] * t[2]]))
    }, 1.001);
    let rosen = |a: f64, b: f64| (1.0 + (1.0 - a).powi(2) + 100.0 * (b - a * a).powi(2), [-2.0 * (1.0 - a) - 400.0 * a * (b - a * a), 200.0 * (b - a * a)]);
    descend("rosenbrock", [-1.2, 1.0], [Free(1.0); 2], |t| Some(rosen(t[0], t[1])), 1.01);
    descend("rosen log", [0.2f64.exp(), (-1.0f64).exp()], [Log; 2], |t| { let (v, g) = rosen(t[0].ln(), t[1].ln()); Some((v, [g[0] / t[0], g[1] / t[1]])) }, 1.01);
    let opt = [3e-6, 2e-3, 1.0, 5e2, 4e5, 1e6];
    descend("ill scaled", [1e-6, 1e-2, 3.0, 1e1, 1e6, 1e5], [Log; 6], |t| {
        let (mut v, mut g) = (10.0, [0.0; 6]);
        for i in 0..6 {
            let e = (t[i] / opt[i]).ln();
            let k = [1.0, 20.0, 5.0, 1.0, 50.0, 3.0][i];
            v += k * (e.cosh() - 1.0);
            g[i] = k * e.sinh() / t[i];
        }
        Some((v, g))
    }, 10.1);
    // |x|-valley: nonsmooth
    descend("kink", [2.0, 1.5], [Free(1.0); 2], |t| {
        let (a, b) = (t[0] + t[1] - 1.0, t[0] - 2.0 * t[1]);
        Some((1.0 + 10.0 * a.abs() + 0.1 * b * b, [10.0 * a.signum() + 0.2 * b, 10.0 * a.signum() - 0.4 * b]))
    }, 1.01);
    for (kappa, cap) in [(100.0, 100_000), (1e4, 100_000)] {
        let lambda = std::array::from_fn(|i| kappa * f64::powf(1.0 / kappa, i as f64 / 9.0));
        let f = ball(lambda, kappa, 1e-8, cap);
        // grid
        let mut best = (f64::INFINITY, [0.0; 2]);
        let (mut ca, mut cb) = ((4.0 / kappa).ln() - 0.5, ((1.0f64 - ((kappa.sqrt() - 1.0) / (kappa.sqrt() + 1.0)).powi(2))).ln());
        for level in 0..5 {
            let w = 1.5 / 6f64.powi(level);
            let mut b = best;
            for i in -20..=20 { for j in -20..=20 {
                let th = [(ca + w * i as f64 / 20.0).exp(), 1.0 - (cb + w * j as f64 / 20.0).exp()];
                if th[1] < 0.0 { continue; }
                let method = HeavyBall::new(Quadratic { lambda, coupling: 0.0 });
                let mut x0 = [0.0; 20]; x0[..10].fill(1.0);
                let mut memory = Memory::<f64, 20, 2, 1>::new();
                let p = Euler::new(1.0).until(1e-8).at_most((b.0.min(5000.0)) as usize + 1);
                let pr = p.on(&method, &th, &x0).unwrap();
                pr.start(&mut memory).unwrap();
                if let Ok(st) = pr.complete(&mut memory) && st.is_reached() && (st.iterate().steps as f64) < b.0 { b = (st.iterate().steps as f64, th); }
            } }
            best = b;
            (ca, cb) = (b.1[0].ln(), (1.0 - b.1[1]).ln());
        }
        println!("grid {best:?}");
        descend(&format!("ball {kappa} logit"), [1.0 / kappa, 0.9], [Log, Logit(0.0, 1.0)], &f, best.0 * 1.03);
        descend(&format!("ball {kappa} between"), [1.0 / kappa, 0.9], [Log, Between(0.0, 0.999)], &f, best.0 * 1.03);
    }
    // cliffs
    let cliff = |f: fn(&[f64; 2]) -> (f64, [f64; 2]), wall: fn(&[f64; 2]) -> bool| move |t: &[f64; 2]| (!wall(t)).then(|| f(t));
    fn lin(t: &[f64; 2]) -> (f64, [f64; 2]) { (10.0 - t[0] - 2.0 * t[1] + 0.2 * (t[0] * t[0] + t[1] * t[1]), [-1.0 + 0.4 * t[0], -2.0 + 0.4 * t[1]]) }
    // min of bowl centred (2.5, 5), value 3.75+... wall x+y<=1
    let constrained = |wall: &dyn Fn(&[f64; 2]) -> bool| { let mut b = (f64::INFINITY, [0.0; 2]); for i in -400..=400 { for j in -400..=400 { let t = [i as f64 * 0.01, j as f64 * 0.01]; if !wall(&t) { let v = lin(&t).0; if v < b.0 { b = (v, t); } } } } b };
    let walls: [(&str, fn(&[f64; 2]) -> bool); 4] = [
        ("oblique", |t| t[0] + t[1] > 1.0),
        ("circle", |t| t[0] * t[0] + t[1] * t[1] > 2.0),
        ("axis", |t| t[1] > 1.0),
        ("concave", |t| t[0] * t[1] > 0.5 && t[0] > 0.0),
    ];
    for (name, wall) in walls {
        let b = constrained(&wall);
        println!("{name} {b:?}");
        for start in [[0.0, 0.0], [-1.0, 0.5], [0.3, -1.0]] {
            descend(&format!("cliff {name}"), start, [Free(1.0); 2], cliff(lin, wall), b.0 * 1.03);
        }
    }
    // four dims cliff
    descend("cliff4", [0.0; 4], [Free(1.0); 4], |t| {
        if t.iter().sum::<f64>() > 1.0 { return None; }
        let c = [1.0, 2.0, -1.0, 0.5];
        let v = 5.0 + (0..4).map(|i| (t[i] - c[i]).powi(2)).sum::<f64>();
        Some((v, std::array::from_fn(|i| 2.0 * (t[i] - c[i]))))
    }, (5.0 + 4.0 * (1.5f64 / 4.0).powi(2)) * 1.03);
    // PID
    let motor = formula!(
        |theta: 3, x: 3, _t| [x[1], (theta[2] + 0.5) * x[1] - theta[0] * x[0] - theta[1] * x[2], -x[0]],
        |x| x[0] * x[0],
    );
    let plan = Euler::new(0.01).until(4e-4).at_most(2000).staying_to_the_end();
    for (n, c) in [("log", [Log; 3]), ("free", [Free(1.0); 3])] {
        descend(&format!("pid {n}"), [2.0, 0.8, 1.5], c, |t| {
            let mut memory = Memory::<f64, 3, 3, 20>::new();
            let s = plan.sensitivity(&motor, t, &[1.0, 0.0, 0.0], &mut memory).ok()?;
            Some((s.stop.time, [s.time_gradient()[0], s.time_gradient()[1], s.time_gradient()[2]]))
        }, 3.67);
    }
}
