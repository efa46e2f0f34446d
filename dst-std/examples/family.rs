//! A family of plants with scatter: PID gains of a motor whose actuator gain and drag vary, tuned by the settling time.
//!
//! The scatter of the actuator gain is the stability margin: gains that are right for the mean plant alone fail on others.
//!
//! Prints:
//! ```text
//! before: kp = 1.00, ki = 0.37, kd = 1.00
//!   166 of 300 fresh plants settle, the slowest of them after 14.9 s
//!   more than 10 s: at most 94.4 % of plants, with 95 % confidence
//! tuned: kp = 15.72, ki = 8.95, kd = 14.81
//!   300 of 300 fresh plants settle, the slowest of them after 8.3 s
//!   more than 10 s: at most 1.0 % of plants, with 95 % confidence
//! work: 8982469 plant steps, 3044739 of them backward
//! ```
use dst_core::{Euler, HeapMemory, formula};
use dst_std::Failure;
use dst_std::family::{
    Evaluator, Family, Instance, Request, Restarts, Sample, Score, Stream, Work, certificate,
    choose,
};
use dst_std::progress::Interrupt;
use dst_std::random::uniform;

/// Step size in seconds and steps of a run.
const H: f64 = 0.01;
const HORIZON: usize = 1500;

/// The specification: a plant that settles later is late; seconds.
const LIMIT: f64 = 10.0;

struct Motors;

impl Family for Motors {
    /// ln kp, ln ki, ln kd.
    fn parameters(&self) -> usize {
        3
    }

    fn run(&self, plant: Instance, u: &[f64], request: &Request<'_>) -> Result<Sample, Failure> {
        // Error e, velocity v, torque a with a lag of 0.5 s, integral of e; then the actuator's gain and the drag, which stay.
        let motor = formula!(
            |theta: 3, x: 6, _t| [
                -x[1],
                x[5] * x[1] - x[4] * x[2],
                (x[2] + theta[0] * x[0] + theta[1] * x[3] + theta[2] * x[1]) * 2.0,
                -x[0],
                x[4] * 0.0,
                x[5] * 0.0,
            ],
            |x| x[0] * x[0],
        );
        let gain = 0.6 + 0.8 * uniform(plant.key, 0);
        let drag = 0.2 + 0.6 * uniform(plant.key, 1);
        let theta: Vec<f64> = u.iter().map(|u| u.exp()).collect();
        let plan = Euler::new(H).until(4e-4).at_most(HORIZON);
        let plan = plan.staying_to_the_end().theta_only();
        let slots = if request.gradient { 64 } else { 0 };
        let mut memory = HeapMemory::new(&plan, &motor, slots);
        let start = [1.0, 0.0, 0.0, 0.0, gain, drag];
        let explain = |error: dst_core::Error| Failure::NoAnswer(error.to_string());
        let problem = plan.on(&motor, &theta, &start).map_err(explain)?;
        problem.start(&mut memory).map_err(explain)?;
        let mut late = 0.0;
        let ended = problem.watch(&mut memory, HORIZON + 1, |k, seen| {
            if 4 * k > 3 * HORIZON {
                late += (seen.criterion / 4e-4).ln() / (HORIZON / 4) as f64;
            }
        });
        let forward = HORIZON + 1;
        let Some(entry) = ended.ok().and_then(|status| status.iterate().entry) else {
            // Never settles, or leaves the finite numbers: beyond the horizon, by how far the error is from the band.
            let value = H * HORIZON as f64 + 5.0 + late.clamp(0.0, 20.0);
            let work = Work {
                forward,
                backward: 0,
            };
            return Ok(Sample {
                value,
                work,
                ..Sample::default()
            });
        };
        let mut sample = Sample {
            value: H * entry as f64,
            steps: Some(entry),
            gradient: Vec::new(),
            work: Work {
                forward,
                backward: 0,
            },
        };
        if request.gradient
            && let Ok(found) = plan.sensitivity(&motor, &theta, &start, &mut memory)
        {
            sample.value = found.stop.time;
            let slopes = found.time_gradient().iter().zip(&theta);
            sample.gradient = slopes.map(|(slope, theta)| slope * theta).collect();
            let spent = found.evaluations;
            sample.work.forward += spent.rate;
            sample.work.backward = spent.pullback + spent.pushforward;
        }
        Ok(sample)
    }
}

fn main() -> Result<(), Failure> {
    let interrupt = Interrupt::never();
    let plants = |stream: Stream, count| {
        Evaluator::new(&Motors, stream.instances(1, count), Score::HALF, &interrupt)
    };
    let show = |name: &str, u: &[f64]| -> Result<(), Failure> {
        let tested = plants(Stream::Testing, 300).all(u, false)?;
        let [kp, ki, kd] = [0, 1, 2].map(|i| u[i].exp());
        let settled = tested.samples.iter().filter_map(|s| s.steps);
        let (count, slowest) = settled.fold((0, 0), |(n, max), steps| (n + 1, max.max(steps)));
        let slow = tested.values().iter().filter(|&&t| t > LIMIT).count();
        println!("{name}: kp = {kp:.2}, ki = {ki:.2}, kd = {kd:.2}");
        let slowest = H * slowest as f64;
        println!("  {count} of 300 fresh plants settle, the slowest of them after {slowest:.1} s");
        let bound = certificate::bound(300, slow, 0.95).unwrap_or(1.0);
        println!(
            "  more than {LIMIT} s: at most {:.1} % of plants, with 95 % confidence",
            100.0 * bound
        );
        Ok(())
    };
    let first = vec![0.0, -1.0, 0.0];
    show("before", &first)?;
    let mut tuning = plants(Stream::Tuning, 24);
    let found = Restarts::default().descend(&mut tuning, &[first], 1, || ())?;
    let points = found.iter().flat_map(|descent| descent.points.iter().rev());
    let candidates: Vec<Vec<f64>> = points.map(|point| point.u.clone()).collect();
    let place = choose(&mut plants(Stream::Choosing, 48), &candidates, 4)?;
    show("tuned", &candidates[place])?;
    println!(
        "work: {} plant steps, {} of them backward",
        tuning.work.total(),
        tuning.work.backward
    );
    Ok(())
}
