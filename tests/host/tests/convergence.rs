//! Order in h of every crossing, measured against the closed-form answer of Figure 1.

use dst_core::system::Derived;
use dst_core::{Crossing, Euler, Heun, Integrator, Plan, Rk4};
use dst_models::{Figure1, relative_distance};
use dst_tests::answer;

const THETA: f64 = 0.7;
const X0: [f64; 2] = [1.0, 0.8];

/// Errors of ∂T/∂(θ, x0), root mean square over several ε: a single one depends on its position in the last step.
fn errors<I: Integrator<f64>>(
    make: impl Fn(f64) -> I,
    crossing: Crossing,
    steps: &[f64],
) -> Vec<f64> {
    let epsilons: Vec<f64> = (0..16).map(|i| 1e-2 * 1.1_f64.powi(i)).collect();
    steps
        .iter()
        .map(|&h| {
            let squares = epsilons.iter().map(|&epsilon| {
                let (_, d_theta, d_x0, _) = Figure1::answer(THETA, X0, epsilon);
                let plan = Plan::new(make(h), epsilon).crossing(crossing);
                let a = answer(plan, &Derived::<_, 2, 1>::new(Figure1), &[THETA], &X0, 10);
                relative_distance(
                    &[a.theta[0], a.x0[0], a.x0[1]],
                    &[d_theta, d_x0[0], d_x0[1]],
                )
                .powi(2)
            });
            (squares.sum::<f64>() / epsilons.len() as f64).sqrt()
        })
        .collect()
}

/// Least-squares slope of log error over log h.
fn order<I: Integrator<f64>>(name: &str, make: impl Fn(f64) -> I, crossing: Crossing) -> f64 {
    let steps = [0.04, 0.02, 0.01, 0.005];
    let errors = errors(make, crossing, &steps);
    let (x, y): (Vec<f64>, Vec<f64>) = steps
        .iter()
        .zip(&errors)
        .map(|(h, e)| (h.ln(), e.ln()))
        .unzip();
    let (mx, my) = (x.iter().sum::<f64>() / 4.0, y.iter().sum::<f64>() / 4.0);
    let covariance: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
    let slope = covariance / x.iter().map(|x| (x - mx).powi(2)).sum::<f64>();
    println!("{name} + {crossing:?}: order {slope:.3}, errors {errors:?}");
    slope
}

#[test]
fn euler_is_first_order_with_paper_and_interpolated() {
    for crossing in [Crossing::Paper, Crossing::Interpolated] {
        let order = order("Euler", Euler::new, crossing);
        assert!((order - 1.0).abs() < 0.1, "{crossing:?}: {order}");
    }
}

#[test]
fn a_higher_order_integrator_does_not_improve_the_paper_crossing() {
    assert!(order("Heun", Heun::new, Crossing::Paper) < 1.2);
    assert!(order("RK4", Rk4::new, Crossing::Paper) < 1.2);
}

#[test]
fn slope_with_heun_is_second_order() {
    let order = order("Heun", Heun::new, Crossing::Slope);
    assert!(order >= 1.9, "{order}");
}

#[test]
fn hermite_with_rk4_is_third_order() {
    let order = order("RK4", Rk4::new, Crossing::Hermite);
    assert!(order >= 2.9, "{order}");
}
