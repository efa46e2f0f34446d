//! Trained weights on your own objective: `cargo run --release --example weights -- my.safetensors`. Without a file, a network
//! that comes with the program.
//!
//! Prints:
//! ```text
//! L2O-RNNprop: f from 22.2 to 8e-1 in 10 steps
//! ```
use std::path::Path;
use std::process::ExitCode;

use dst_core::{HeapMemory, Map, Objective, System};
use dst_std::l2o::{Asset, Feed, NetworkScratch, Optimiser, Trained};

/// f(x) = Σ ln cosh(xᵢ − bᵢ): flat far away, round at the bottom.
struct Valley(Vec<f32>);

impl Objective<f32> for Valley {
    fn dim(&self) -> usize {
        self.0.len()
    }
    fn value_gradient(&self, x: &[f32], g: &mut [f32], _: &mut [f32], _: &mut [f32]) -> f32 {
        let parts = x.iter().zip(&self.0).zip(g);
        parts.fold(0.0, |sum, ((x, b), g)| {
            *g = (x - b).tanh();
            sum + (x - b).cosh().ln()
        })
    }
    fn add_hessian_vector(&self, x: &[f32], v: &[f32], _: &[f32], to: &mut [f32], _: &mut [f32]) {
        for (((to, v), x), b) in to.iter_mut().zip(v).zip(x).zip(&self.0) {
            *to += v / (x - b).cosh().powi(2);
        }
    }
}

fn main() -> ExitCode {
    match run(std::env::args().nth(1).as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(file: Option<&str>) -> Result<(), String> {
    let trained = match file {
        Some(path) => Trained::load(Path::new(path))?,
        None => Asset::named("rnnprop-1").ok_or("no such network")?.load(),
    };
    let valley = Valley((0..100).map(|i| (i as f32 * 0.7).sin()).collect());
    let mut scratch = NetworkScratch::new(valley.dim(), 0);
    let optimiser = Optimiser::new(trained.model, &valley, Feed::Detached, &mut scratch);

    // Until f falls by less than 1e-5 in a step. No gradient is wanted: no slots.
    let plan = Map.until(1e-5).at_most(500);
    let mut memory = HeapMemory::new(&plan, &optimiser, 0);
    let mut start = vec![0.0; optimiser.dims().states];
    optimiser.start(&[0.0; 100], &mut start);
    let explain = |error: dst_core::Error| error.to_string();
    let problem = plan
        .on(&optimiser, &trained.theta, &start)
        .map_err(explain)?;
    problem.start(&mut memory).map_err(explain)?;
    let f0 = problem
        .advance(&mut memory, 0)
        .map_err(explain)?
        .iterate()
        .loss;
    let end = problem.complete(&mut memory).map_err(explain)?.iterate();
    println!(
        "{}: f from {f0:.1} to {:.0e} in {} steps",
        trained.model.title(),
        end.loss,
        end.steps
    );
    Ok(())
}
