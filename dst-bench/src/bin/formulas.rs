//! Counts the instructions of a formula's pullback against those of a plain evaluation.

use std::process::ExitCode;

use clap::Parser;
use dst_bench::formulas::{Kind, Way, evaluate, valley};
use dst_bench::valgrind::{count, ensure};

/// Evaluations of the shorter run; the longer one makes twice as many.
const TIMES: usize = 4;
/// Limits of `--check`: instructions of a pullback over those of a plain evaluation, and their variation between 100 and 10 000
/// inputs.
const LIMITS: [(Kind, f64); 2] = [(Kind::Products, 25.0), (Kind::Functions, 6.0)];
const VARIATION: f64 = 1.2;
/// Limit on a Hessian-vector product from f alone, in gradients.
const PRODUCT_LIMIT: f64 = 3.0;
/// Names of the objective and of its two evaluations.
const VALLEY: &str = "rosenbrock";
const GRADIENT: &str = "gradient";
const PRODUCT: &str = "product";

/// Counts the instructions of a formula's pullback, by dual numbers and by a trace, against those of a plain evaluation.
#[derive(Parser)]
struct Args {
    /// Exit with 1 if a limit is exceeded: 25 plain evaluations for sums and products, 6 with functions, 20 % of variation;
    /// or if a Hessian-vector product takes more than 3 gradients.
    #[arg(long)]
    check: bool,
    /// Evaluate once under the counter: what this program runs itself with.
    #[arg(long, num_args = 4, value_names = ["KIND", "WAY", "INPUTS", "TIMES"], hide = true)]
    run: Option<Vec<String>>,
}

fn main() -> ExitCode {
    match go(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn go(args: &Args) -> Result<bool, String> {
    if let Some([kind, way, inputs, times]) = args.run.as_deref() {
        let number = |text: &String| text.parse().map_err(|_| format!("not a number: {text}"));
        if kind == VALLEY {
            println!(
                "{:?}",
                valley(way == PRODUCT, number(inputs)?, number(times)?)
            );
            return Ok(true);
        }
        let (kind, way) = (parse::<Kind>(kind)?, parse::<Way>(way)?);
        println!("{:?}", evaluate(kind, way, number(inputs)?, number(times)?));
        return Ok(true);
    }
    ensure()?;
    println!("instructions of a pullback over those of a plain evaluation, counted by callgrind");
    println!(
        "{:<10} {:>7} {:>12} {:>9} {:>9}",
        "formula", "D + P", "plain", "dual", "trace"
    );
    let mut holds = true;
    for (kind, limit) in LIMITS {
        let mut ratios = Vec::new();
        for inputs in [20, 100, 1000, 10_000] {
            let plain = instructions(name(kind), "plain", inputs)?;
            // Dual numbers at 10 000 inputs would take minutes; their cost is proportional to the inputs.
            let dual = if inputs > 1000 {
                "-".to_owned()
            } else {
                format!("{:.1}", instructions(name(kind), "dual", inputs)? / plain)
            };
            let reverse = instructions(name(kind), "reverse", inputs)? / plain;
            println!(
                "{:<10} {inputs:>7} {plain:>12.0} {dual:>9} {reverse:>9.1}",
                name(kind)
            );
            if inputs >= 100 {
                ratios.push(reverse);
            }
        }
        let (least, most) = ratios
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(a, b), &r| (a.min(r), b.max(r)));
        if most > limit || most > VARIATION * least {
            eprintln!(
                "error: {} takes {least:.1} to {most:.1}; the limit is {limit}",
                name(kind)
            );
            holds = false;
        }
    }
    let gradient = instructions(VALLEY, GRADIENT, 50)?;
    let ratio = instructions(VALLEY, PRODUCT, 50)? / gradient;
    println!(
        "Rosenbrock in 50 variables: gradient {gradient:.0}, Hessian-vector product {ratio:.2} gradients"
    );
    if ratio > PRODUCT_LIMIT {
        eprintln!("error: a product takes {ratio:.2} gradients; the limit is {PRODUCT_LIMIT}");
        holds = false;
    }
    Ok(holds || !args.check)
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Products => "products",
        Kind::Functions => "functions",
    }
}

fn parse<T: clap::ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, true)
}

/// Instructions of one evaluation: the difference of two runs, so that start-up does not count.
fn instructions(kind: &str, way: &str, inputs: usize) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let total = |times: usize| {
        let (inputs, times) = (inputs.to_string(), times.to_string());
        let arguments = ["--run", kind, way, &inputs, &times];
        count(&program, &arguments).map(|counted| counted.instructions as f64)
    };
    Ok((total(2 * TIMES)? - total(TIMES)?) / TIMES as f64)
}
