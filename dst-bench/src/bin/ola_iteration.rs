//! Time of one Adam-OLA iteration on the smooth SVM, over the two data shapes that the numpy/scipy script uses.
//!
//! Same data, same starting point, same parameters as that script, so that f at the end agrees too; run both, one after
//! the other, on a quiet machine, and compare `us_per_iteration`.

use std::time::Instant;

use clap::Parser;
use dst_core::Objective;
use dst_core::adapt::{AdamOla, OlaConfig};
use dst_std::data::{Shape, synthetic};
use dst_std::problems::{Margins, SmoothSvm};

/// Times Adam-OLA on the smooth SVM.
#[derive(Parser)]
struct Args {
    /// Iterations of one run.
    #[arg(long, default_value_t = 1000)]
    iterations: usize,
    /// Runs; the median counts.
    #[arg(long, default_value_t = 7)]
    repeat: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    for (name, shape) in [("a1a", Shape::A1A), ("w3a", Shape::W3A)] {
        let svm = SmoothSvm::new(Margins::new(synthetic(shape, 7001))?, 1e-2);
        let x0 = vec![0.0; svm.dim()];
        let mut memory = vec![0.0; AdamOla::memory_len(&svm)];
        // The script has no tolerance; and the first run warms the caches.
        let mut config = OlaConfig::new(1e-2, 1e-5, 1e-5);
        config.tolerance = 0.0;
        let (mut times, mut end) = (Vec::new(), (0.0, 0.0, 0));
        for _ in 0..=args.repeat {
            let mut ola = AdamOla::new(config, &svm, &x0, &mut memory)?;
            let start = Instant::now();
            ola.advance(args.iterations)?;
            times.push(1e6 * start.elapsed().as_secs_f64() / args.iterations as f64);
            end = (ola.value(), ola.alpha(), ola.adaptations());
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let (f, alpha, adaptations) = end;
        println!(
            "{name}: us_per_iteration {:.2} (min {:.2}, max {:.2}), f_end {f}, alpha_end {alpha}, adaptations {adaptations}, L {}",
            times[times.len() / 2],
            times[0],
            times[times.len() - 1],
            svm.lipschitz()
        );
    }
    Ok(())
}
