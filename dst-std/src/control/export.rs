//! From a plant to files for the device: calibrated, compared, certified.
//!
//! [`export`] calibrates the active set to the accuracy asked for, compares it with settings of ADMM at the same accuracy on fresh ticks
//! of their own loops, and takes the solver with fewer counted operations. The budget comes from the calibration, the certificate from
//! fresh runs. The command `dst control export` prints [`Exported::statement`] and writes [`Exported::files`].

use super::calibrate::{Bench, BenchSizes, CalibratedSet, ITERATIONS, Measured};
use super::certify::{Certificate, CertificateFile, LIMITS, Requirement};
use super::contenders::{Contender, RoundSizes};
use super::controller_source::controller_source;
use super::device::{AdmmDevice, Device};
use super::program::Program;
use super::scenario::Scenario;
use super::simulate::TickStatistics;
use super::source::{identifier, texts};
use super::statement;
use super::stored::Stored;
pub use super::stored::regenerate;
use crate::Failure;
use crate::format::short;
use crate::progress::Progress;
use crate::qp::{Baseline, Instructions, Late, Summary};

/// Name and text of ADMM in C, which reads the headers of constants.
pub const RUNTIME: (&str, &str) = ("dst_controller.h", include_str!("dst_controller.h"));

/// Name and text of the active set in C.
pub const ACTIVE_SET_RUNTIME: (&str, &str) = ("dst_active_set.h", include_str!("dst_active_set.h"));

/// Solver to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SolverChoice {
    /// The one with fewer operations.
    #[default]
    Auto,
    /// Dual active set.
    ActiveSet,
    /// ADMM.
    Admm,
}

/// Requirements of an export.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Largest error of an input, as a part of half the width of its bounds.
    pub accuracy: f64,
    /// Largest probability that a run has a late tick.
    pub late: f64,
    /// Confidence of that.
    pub confidence: f64,
    /// Ticks of a run.
    pub ticks: usize,
    /// Solver.
    pub solver: SolverChoice,
    /// True for small sizes: a weaker certificate, and a shorter tuning.
    pub quick: bool,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            accuracy: 1e-3,
            late: 1e-3,
            confidence: 0.95,
            ticks: 100,
            solver: SolverChoice::Auto,
            quick: false,
            seed: 1,
        }
    }
}

/// An exported controller.
#[derive(Clone, Debug)]
pub struct Exported {
    /// Name of the plant.
    pub name: String,
    /// Numbers of the export.
    pub summary: Summary,
    /// Certificate.
    pub certificate: CertificateFile,
    /// Controller.
    pub device: Device,
    /// Lines that say all this to a reader.
    pub statement: Vec<String>,
    /// Name and content of every file.
    pub files: Vec<(String, String)>,
}

/// Part of the counts of the calibration that is added to the budget: one in this many, and a few.
const BUDGET_PART: u32 = 4;
const BUDGET_SPARE: u32 = 2;
/// Share of unsolved ticks above which ADMM counts as failing.
const ADMM_FAILS: f64 = 0.01;
/// An accuracy within this factor of what single precision reaches is warned of.
const NEAR: f64 = 10.0;

/// Calibrates, compares, certifies and writes the controller of a plant.
pub fn export(
    scenario: &Scenario,
    request: &Request,
    progress: &Progress,
) -> Result<Exported, Failure> {
    let required = Requirement {
        late: request.late,
        confidence: request.confidence,
        quick: request.quick,
    };
    required.must_fit(request.ticks)?;
    let (sizes, rounds) = sizes(request.quick);
    let bench = Bench {
        scenario,
        seed: request.seed,
        ticks: request.ticks,
        sizes,
        strict: request.solver == SolverChoice::Admm,
        progress,
    };
    if request.solver == SolverChoice::Admm && scenario.input_map.is_some() {
        return Err(Failure::NoAnswer(
            "ADMM cannot be exported for a plant that is unstable over the horizon; take the active set".to_owned(),
        ));
    }
    let set = bench.calibrate_set(request.accuracy)?;
    let active = Device::ActiveSet(set.device.clone());
    let score = bench.scoring(&active, bench.most_steps())?;
    let mut field = vec![Rival {
        name: "active set",
        device: active,
        score,
        contender: None,
    }];
    let mut absent = Vec::new();
    for contender in contenders(&bench, request, rounds)? {
        let name = contender.name;
        match contender.device.clone() {
            Some(device) => {
                let device = Device::Admm(device);
                let score = bench.scoring_with_few(&device)?;
                field.push(Rival {
                    name,
                    device,
                    score,
                    contender: Some(contender),
                });
            }
            None => absent.push(name),
        }
    }
    let chosen = choose(&field, request.solver).ok_or_else(|| {
        Failure::NoAnswer(format!(
            "ADMM does not reach an accuracy of {} in single precision within {ITERATIONS} iterations; take the active set",
            short(request.accuracy)
        ))
    })?;
    let mut winner = field.remove(chosen);
    let worst = match &winner.device {
        Device::ActiveSet(_) => set.measured.largest(),
        Device::Admm(_) => {
            winner.score = bench.scoring(&winner.device, ITERATIONS)?;
            bench.calibration(&winner.device, ITERATIONS)?.largest()
        }
    };
    let worst = worst.max(winner.score.largest());
    let budget = worst + worst / BUDGET_PART + BUDGET_SPARE;
    let certificate = bench.certify(&mut winner.device, budget, request.accuracy, required)?;
    let subject = Subject {
        bench: &bench,
        request,
        set: &set,
        winner: &winner,
        others: &field,
        absent: &absent,
        certificate: &certificate,
    };
    subject.exported()
}

fn sizes(quick: bool) -> (BenchSizes, RoundSizes) {
    match quick {
        true => (
            BenchSizes {
                runs: 200,
                cold: 1000,
                few: 10,
                work: 1e8,
            },
            RoundSizes {
                rounds: 1,
                steps: 60,
                pool: 150,
                choice: 200,
            },
        ),
        false => (
            BenchSizes {
                runs: 400,
                cold: 4000,
                few: 40,
                work: 1e9,
            },
            RoundSizes {
                rounds: 3,
                steps: 150,
                pool: 500,
                choice: 1000,
            },
        ),
    }
}

/// A solver with its score on fresh ticks.
struct Rival {
    name: &'static str,
    device: Device,
    score: Measured,
    contender: Option<Contender>,
}

fn contenders(
    bench: &Bench<'_>,
    request: &Request,
    rounds: RoundSizes,
) -> Result<Vec<Contender>, Failure> {
    let (grid, rho) = bench.jacobi_grid(request.accuracy)?;
    let mut all = Vec::new();
    if let (Some(device), true) = (&grid.device, request.solver != SolverChoice::ActiveSet) {
        all.push(bench.tuned_admm((device, rho), request.accuracy, rounds)?);
    }
    all.push(grid);
    all.push(bench.osqp_defaults(request.accuracy)?);
    Ok(all)
}

/// The place of the solver to export: fewer missed ticks first, then mean and p99 of the operations.
fn choose(field: &[Rival], solver: SolverChoice) -> Option<usize> {
    let admm = |rival: &Rival| matches!(rival.device, Device::Admm(_));
    let allowed = |rival: &&Rival| match solver {
        SolverChoice::Auto => true,
        SolverChoice::ActiveSet => !admm(rival),
        SolverChoice::Admm => admm(rival),
    };
    let exportable = |rival: &&Rival| match &rival.device {
        Device::Admm(device) => device.input_map.is_none(),
        Device::ActiveSet(_) => true,
    };
    let key = |rival: &Rival| {
        let found = rival.score.statistics();
        (
            rival.score.missed(),
            found.mean_operations + found.p99_operations,
        )
    };
    let all = field.iter().filter(allowed).filter(exportable);
    let best = all.min_by(|a, b| {
        let ((a, x), (b, y)) = (key(a), key(b));
        a.cmp(&b).then(x.total_cmp(&y))
    })?;
    field.iter().position(|rival| std::ptr::eq(rival, best))
}

/// All that an export says.
struct Subject<'a> {
    bench: &'a Bench<'a>,
    request: &'a Request,
    set: &'a CalibratedSet,
    winner: &'a Rival,
    others: &'a [Rival],
    absent: &'a [&'static str],
    certificate: &'a Certificate,
}

impl Subject<'_> {
    fn exported(&self) -> Result<Exported, Failure> {
        let name = identifier(&self.bench.scenario.name);
        let summary = self.summary();
        let certificate = self.certificate_file();
        let comparison = self.comparison();
        let statement = statement::lines(&summary, &certificate, &comparison);
        let note = statement::header(&self.winner.device, &summary, &certificate);
        let files = self.files(&name, &certificate, &note)?;
        Ok(Exported {
            name,
            summary,
            certificate,
            device: self.winner.device.clone(),
            statement,
            files,
        })
    }

    /// Names and largest counts of the others.
    fn comparison(&self) -> Vec<(String, String)> {
        let known = self.others.iter().map(|rival| {
            let counts = rival.score.statistics().counts;
            let more = if counts.unsolved > 0 { "+" } else { "" };
            let most = match (&rival.device, counts.unsolved) {
                (Device::Admm(_), 1..) => ITERATIONS,
                _ => counts.max,
            };
            (rival.name.to_owned(), format!("{most}{more}"))
        });
        let absent = self.absent.iter().map(|name| {
            let reason = "not at this accuracy".to_owned();
            ((*name).to_owned(), reason)
        });
        known.chain(absent).collect()
    }

    fn summary(&self) -> Summary {
        let Self {
            certificate,
            winner,
            request,
            ..
        } = self;
        let device = &winner.device;
        let loops = || winner.score.loops.iter().flatten();
        let baseline = |rival: &Rival| Baseline {
            name: rival.name.to_owned(),
            looped: Some(TickStatistics::of(rival.score.loops.iter().flatten()).counts),
            cold: Some(TickStatistics::of(&rival.score.cold).counts),
            held_out: None,
        };
        Summary {
            held_out_warm: None,
            solver: device.solver().to_lowercase(),
            budget: certificate.budget,
            accuracy: request.accuracy,
            late: Late {
                bound: certificate.bound,
                confidence: certificate.confidence,
                runs: certificate.runs,
                late_runs: certificate.late_runs,
            },
            looped: Some(certificate.statistics.counts),
            cold: Some(TickStatistics::of(&winner.score.cold).counts),
            held_out: None,
            input_error: certificate.statistics.errors,
            baselines: self.others.iter().map(baseline).collect(),
            flash: device.flash(),
            ram: device.ram(),
            instructions: Instructions {
                mean: device.mean_instructions(loops()),
                budget: device.instructions_at_budget(loops(), certificate.budget),
            },
            warnings: self.warnings(),
        }
    }

    fn certificate_file(&self) -> CertificateFile {
        let Self {
            certificate,
            request,
            bench,
            ..
        } = self;
        CertificateFile {
            name: identifier(&bench.scenario.name),
            model_hash: bench.scenario.hash(),
            seed: request.seed,
            solver: self.winner.device.solver().to_lowercase(),
            budget: certificate.budget,
            ticks: request.ticks,
            runs: certificate.runs,
            late_runs: certificate.late_runs,
            attempt: certificate.attempt,
            bound: certificate.bound,
            confidence: certificate.confidence,
            asked: request.late,
            accuracy: request.accuracy,
            inaccurate_runs: certificate.inaccurate_runs,
            does_not_cover: LIMITS,
        }
    }

    fn files(
        &self,
        name: &str,
        certificate: &CertificateFile,
        note: &str,
    ) -> Result<Vec<(String, String)>, Failure> {
        let json = |text: serde_json::Result<String>| {
            text.map(|t| t + "\n")
                .map_err(|e| Failure::NoAnswer(format!("{name}: {e}")))
        };
        let (runtime, content) = match &self.winner.device {
            Device::ActiveSet(_) => ACTIVE_SET_RUNTIME,
            Device::Admm(_) => RUNTIME,
        };
        let mut files = Vec::new();
        match &self.winner.device {
            Device::ActiveSet(device) => {
                let single = |v: &[f64]| -> Vec<f32> { v.iter().map(|&v| v as f32).collect() };
                let (a, b) = &self.bench.scenario.plant;
                let plant = (single(a), single(b));
                let plant = (&plant.0[..], &plant.1[..]);
                files.extend(controller_source(name, &device.controller(), plant, note));
            }
            Device::Admm(AdmmDevice { program, tuned, .. }) => {
                let program = Program {
                    tolerance: program.cast().tolerance,
                    ..self.bench.scenario.program.clone()
                };
                let plant = &self.bench.scenario.plant;
                files.extend(texts(name, &program, tuned, plant, note));
                let knobs = self
                    .winner
                    .contender
                    .as_ref()
                    .and_then(|c| c.knobs.as_ref());
                if let Some((knobs, theta)) = knobs {
                    let stored = Stored {
                        note: note.to_owned(),
                        switches: knobs.switches.clone(),
                        theta: theta.clone(),
                    };
                    let text = json(serde_json::to_string_pretty(&stored))?;
                    // Not `name.json`: that may be the model, in the same directory.
                    files.push((format!("{name}.knobs.json"), text));
                }
            }
        }
        files.push((runtime.to_owned(), content.to_owned()));
        let text = json(serde_json::to_string_pretty(certificate))?;
        files.push((format!("{name}_certificate.json"), text));
        Ok(files)
    }

    fn warnings(&self) -> Vec<String> {
        let Self {
            certificate,
            request,
            bench,
            ..
        } = self;
        let scenario = bench.scenario;
        let mut warnings = Vec::new();
        let (starts, first) = certificate.infeasible_starts;
        if let Some(first) = first {
            warnings.push(format!(
                "{starts} of {} runs from {} begin where the hard bounds cannot be kept, such as {}; make the bounds soft or the start set smaller",
                certificate.runs,
                scenario.start_words(),
                scenario.state_words(certificate.stream, first)
            ));
        }
        let counts = certificate.statistics.counts;
        let infeasible = certificate.infeasible_ticks;
        if infeasible > 0 {
            warnings.push(format!(
                "in {infeasible} of {} ticks of the loop the hard bounds cannot be kept, in {} of {} runs; make them soft",
                counts.ticks, certificate.infeasible_runs, certificate.runs
            ));
        }
        if counts.unsolved > infeasible {
            warnings.push(format!(
                "{} of {} ticks of the loop were late, at a budget of {} {} and {} active rows",
                counts.unsolved - infeasible,
                counts.ticks,
                certificate.budget,
                statement::unit(&self.winner.device),
                match &self.winner.device {
                    Device::ActiveSet(device) => device.capacity.to_string(),
                    Device::Admm(_) => "any number of".to_owned(),
                }
            ));
        }
        let bound = certificate.bound;
        if bound > request.late && !request.quick {
            warnings.push(format!(
                "the certificate does not reach --late {}: {} of {} fresh runs have a late tick",
                short(request.late),
                certificate.late_runs,
                certificate.runs
            ));
        }
        if certificate.inaccurate_runs > 0 {
            warnings.push(format!(
                "in {} of {} fresh runs an input misses the accuracy, by up to {}",
                certificate.inaccurate_runs,
                certificate.runs,
                short(certificate.statistics.errors.max)
            ));
        }
        let soft_error = certificate.statistics.soft_error;
        if soft_error > request.accuracy {
            warnings.push(format!(
                "where the plan exceeds a soft bound, inputs are within {} of the exact solution only; smaller weights of the soft bounds help",
                short(soft_error)
            ));
        }
        if self.set.floor * NEAR > request.accuracy {
            warnings.push(format!(
                "an accuracy of {} is near what single precision resolves for this model, {}",
                short(request.accuracy),
                short(self.set.floor)
            ));
        }
        for (kind, &share) in certificate.softened.iter().enumerate() {
            if share > 0.0 {
                warnings.push(format!(
                    "the plan exceeds the soft bound of {} in {} of the ticks",
                    scenario.active.names[kind],
                    percent(share)
                ));
            }
        }
        let tuned = |rival: &&Rival| rival.contender.as_ref().is_some_and(|c| c.knobs.is_some());
        for rival in self.others.iter().filter(tuned) {
            let counts = rival.score.statistics().counts;
            let share = counts.unsolved as f64 / counts.ticks.max(1) as f64;
            if share > ADMM_FAILS {
                warnings.push(format!(
                    "ADMM fails on this model: {} of its ticks are not solved after {ITERATIONS} iterations",
                    percent(share)
                ));
            }
        }
        for name in self.absent {
            warnings.push(format!(
                "{name} does not reach the accuracy in single precision"
            ));
        }
        warnings
    }
}

/// A share in percent.
fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent < 0.01 => "less than 0.01 %".to_owned(),
        percent => format!("{percent:.2} %"),
    }
}
