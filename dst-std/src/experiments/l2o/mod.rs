//! E3, the paper's Figure 3: learning to optimise logistic regression, with and without a penalty on the stopping time.
//!
//! The full experiment tests the networks that come with the program (`dst l2o train` made them, at the paper's size, three
//! seeds, and six where the guarded penalty is judged); the quick one trains small ones on the spot. Both compare them with classical methods on problems that nothing
//! was trained or tuned on, of the size of the training and four times as large.

mod penalty_study;
mod section;

use serde::Serialize;

use super::{Context, Failure};
use crate::l2o::{
    ASSETS, Architecture, Asset, Classical, ComparedMethod, EPSILON, Evaluation, Family, Feed,
    Loss, MethodScore, Penalty, Recipe, Session, Trained, TrainingPlan,
};
use crate::progress::{Counter, Progress};
use crate::report::Section;

pub use penalty_study::{Field, Finding};
pub use section::{section, table};

/// As the page calls it.
pub const TITLE: &str = "Learning to optimise, with a penalty on the stopping time (Figure 3)";

/// Configuration of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct L2oConfig {
    /// The problems, each set with a name.
    pub evaluations: Vec<(String, Evaluation)>,
    /// Trainings to make; without any, the networks of the program.
    pub plans: Vec<TrainingPlan>,
    /// Kinds of problems on which penalties are compared.
    pub fields: Vec<Field>,
}

/// The paper's problems: half as many examples as variables.
const fn separable(dim: usize) -> Family {
    Family::new(dim, dim / 2)
}

impl L2oConfig {
    /// The paper's sizes, with the networks of the program.
    pub fn paper() -> Self {
        Self {
            evaluations: evaluations(512, 256, 1000),
            plans: Vec::new(),
            fields: penalty_study::fields(),
        }
    }

    /// Small networks, trained now.
    pub fn quick(seed: u64) -> Self {
        let plan = |model, loss, penalty| TrainingPlan {
            recipe: Recipe {
                loss,
                penalty,
                family: separable(32),
                batch: 8,
                segments: 4,
                steps: 10,
                feed: Feed::Detached,
                ..Recipe::paper(model)
            },
            seed,
            steps: 80,
            validate_every: 20,
            validation_problems: 8,
        };
        Self {
            evaluations: evaluations(32, 32, 200),
            plans: vec![
                plan(Architecture::Dm, Loss::Mean, Penalty::None),
                plan(Architecture::RnnProp, Loss::Mean, Penalty::None),
                plan(
                    Architecture::RnnProp,
                    Loss::Mean,
                    Penalty::Literal { weight: 1.0 },
                ),
                plan(
                    Architecture::RnnProp,
                    Loss::Mean,
                    Penalty::Guarded { from: 40 },
                ),
                plan(Architecture::RnnProp, Loss::Log, Penalty::None),
                plan(
                    Architecture::RnnProp,
                    Loss::Log,
                    Penalty::Carried { from: 40 },
                ),
            ],
            fields: penalty_study::small(seed),
        }
    }
}

fn evaluations(dim: usize, problems: usize, steps: usize) -> Vec<(String, Evaluation)> {
    let evaluation = |dim| Evaluation::new(separable(dim), problems, steps);
    vec![
        (format!("d = {dim}, as trained"), evaluation(dim)),
        (
            format!("d = {}, four times as large", 4 * dim),
            evaluation(4 * dim),
        ),
    ]
}

/// Kind of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodKind {
    /// GD, NAG or Adam.
    Classical,
    /// L2O-DM.
    Dm,
    /// L2O-RNNprop.
    Plain,
    /// The same with λ·N.
    Literal,
    /// The same with the guarded penalty.
    Guarded,
    /// The same with the guarded penalty, the last step taken as given.
    Carried,
    /// The same with the time to a level of f.
    Target,
    /// L2O-RNNprop trained on ln f.
    Log,
    /// The same with a penalty.
    LogTime,
}

impl MethodKind {
    /// The description in the file of a network.
    pub fn of(trained: &Trained) -> Self {
        let note = |key: &str| trained.notes.get(key).map_or("", String::as_str);
        let log = note("loss") == Loss::Log.name();
        match (trained.model, note("penalty").split(' ').next()) {
            (Architecture::Dm, _) => Self::Dm,
            (_, Some("none")) if log => Self::Log,
            _ if log => Self::LogTime,
            (_, Some("literal")) => Self::Literal,
            (_, Some("guarded")) => Self::Guarded,
            (_, Some("carried")) => Self::Carried,
            (_, Some("target")) => Self::Target,
            _ => Self::Plain,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Classical => "classical",
            Self::Dm => "L2O-DM",
            Self::Plain => "RNNprop",
            Self::Literal => "RNNprop-Time, literal",
            Self::Guarded => "RNNprop-Time, guarded",
            Self::Carried => "RNNprop-Time, carried",
            Self::Target => "RNNprop-Time, target",
            Self::Log => "RNNprop, ln f",
            Self::LogTime => "RNNprop-Time, ln f",
        }
    }
}

/// A method on a set of problems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodEntry {
    /// Kind of the method.
    pub kind: MethodKind,
    /// The training seed of a network.
    pub seed: Option<u64>,
    /// Its score.
    pub score: MethodScore,
}

/// A set of problems, and how all methods did on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodTable {
    /// The problems.
    pub name: String,
    /// Variables.
    pub dim: usize,
    /// The methods.
    pub entries: Vec<MethodEntry>,
}

impl MethodTable {
    /// The entries of a kind.
    pub fn of(&self, kind: MethodKind) -> impl Iterator<Item = &MethodScore> {
        let entries = self.entries.iter().filter(move |entry| entry.kind == kind);
        entries.map(|entry| &entry.score)
    }

    /// The same for one seed.
    pub fn of_seed(&self, kind: MethodKind, seed: u64) -> Option<&MethodScore> {
        let mut entries = self.entries.iter();
        let entry = entries.find(|entry| (entry.kind, entry.seed) == (kind, Some(seed)));
        entry.map(|entry| &entry.score)
    }
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct L2oResults {
    /// One table per set of problems.
    pub tables: Vec<MethodTable>,
    /// Scores with each penalty, per kind of problems.
    pub findings: Vec<Finding>,
    /// ε of the stop test.
    pub epsilon: f64,
    /// True if it was interrupted.
    pub interrupted: bool,
}

/// Runs it.
pub fn run(config: &L2oConfig, context: &Context) -> Result<L2oResults, Failure> {
    let work =
        || networks(config, context).and_then(|networks| compare(config, &networks, context));
    crate::parallel::with(context.threads, work).map_err(Failure::NoAnswer)?
}

fn networks(config: &L2oConfig, context: &Context) -> Result<Vec<Trained>, Failure> {
    if config.plans.is_empty() {
        return Ok(ASSETS.iter().map(Asset::load).collect());
    }
    let steps = config.plans.iter().map(|plan| plan.steps).sum();
    let task = context.progress.task("training small networks", steps);
    let plans = config.plans.iter();
    plans.map(|&plan| train(plan, context, &task)).collect()
}

fn train(plan: TrainingPlan, context: &Context, task: &Counter) -> Result<Trained, Failure> {
    let mut session = Session::new(plan);
    while !session.is_finished() {
        step(&mut session, context, task)?;
    }
    Ok(session.best())
}

/// One training step.
fn step(session: &mut Session, context: &Context, task: &Counter) -> Result<(), Failure> {
    context.progress.check()?;
    session.step().map_err(Failure::NoAnswer)?;
    task.advance(1);
    Ok(())
}

/// The classical methods and these networks on the problems of an evaluation.
fn entries(
    evaluation: &Evaluation,
    networks: &[Trained],
    context: &Context,
) -> Result<Vec<MethodEntry>, Failure> {
    let networks: Vec<(String, &Trained)> = networks
        .iter()
        .map(|trained| {
            let seed = trained
                .seed()
                .map_or("?".to_owned(), |seed| seed.to_string());
            let kind = MethodKind::of(trained);
            (format!("{}, seed {seed}", kind.title()), trained)
        })
        .collect();
    let classics = evaluation.classics(&context.progress)?;
    test(evaluation, &classics, &networks, &context.progress)
}

/// Tests these methods, side by side.
pub fn test(
    evaluation: &Evaluation,
    classics: &[Classical],
    networks: &[(String, &Trained)],
    progress: &Progress,
) -> Result<Vec<MethodEntry>, Failure> {
    let classics = classics.iter().map(|&method| {
        let entry = (MethodKind::Classical, None);
        (entry, (method.title(), ComparedMethod::Classical(method)))
    });
    let networks = networks.iter().map(|(name, trained)| {
        let entry = (MethodKind::of(trained), trained.seed());
        let method = ComparedMethod::Learned(trained.model, &trained.theta);
        (entry, (name.clone(), method))
    });
    let (kinds, methods): (Vec<_>, Vec<_>) = classics.chain(networks).unzip();
    let scores = evaluation.scores(&methods, progress)?;
    let entries = kinds.into_iter().zip(scores);
    Ok(entries
        .map(|((kind, seed), score)| MethodEntry { kind, seed, score })
        .collect())
}

fn compare(
    config: &L2oConfig,
    networks: &[Trained],
    context: &Context,
) -> Result<L2oResults, Failure> {
    let mut results = L2oResults {
        tables: Vec::new(),
        findings: Vec::new(),
        epsilon: EPSILON,
        interrupted: false,
    };
    for (name, evaluation) in &config.evaluations {
        match entries(evaluation, networks, context) {
            Err(Failure::Interrupted) => {
                results.interrupted = true;
                break;
            }
            entries => results.tables.push(MethodTable {
                name: name.clone(),
                dim: evaluation.family.dim,
                entries: entries?,
            }),
        }
    }
    if results.tables.is_empty() {
        return Err(Failure::Interrupted);
    }
    match penalty_study::run(&config.fields, context) {
        Err(Failure::Interrupted) => results.interrupted = true,
        found => results.findings = found?,
    }
    Ok(results)
}

/// The entry of the registry.
pub fn experiment(context: &Context) -> Result<Section, Failure> {
    let config = if context.quick {
        L2oConfig::quick(context.seed)
    } else {
        L2oConfig::paper()
    };
    let results = run(&config, context)?;
    Ok(section(&config, &results))
}
