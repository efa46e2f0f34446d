//! E3, the paper's Figure 3: learning to optimise logistic regression, with and without a penalty on the stopping time.
//!
//! The full experiment tests the networks that come with the program (`dst l2o train` made them, at the paper's size, three
//! seeds, and six where the guarded penalty is judged); the quick one trains small ones on the spot. Both compare them with classical methods on problems that nothing
//! was trained or tuned on, of the size of the training and four times as large.

mod search;
mod section;

use serde::Serialize;

use super::{Context, Failure};
use crate::l2o::{
    ASSETS, Asset, Contest, Course, EPSILON, Family, Feed, Loss, Model, Penalty, Recipe, Score,
    Session, Trained,
};
use crate::progress::Task;
use crate::report::Section;

pub use search::{Field, Finding};
pub use section::{section, table};

/// As the page calls it.
pub const TITLE: &str = "Learning to optimise, with a penalty on the stopping time (Figure 3)";

/// What to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The problems, each set with a name.
    pub contests: Vec<(String, Contest)>,
    /// Trainings to make; without any, the networks of the program.
    pub courses: Vec<Course>,
    /// Where to look for a penalty that helps.
    pub fields: Vec<Field>,
}

/// The paper's problems: half as many examples as variables.
const fn separable(dim: usize) -> Family {
    Family::new(dim, dim / 2)
}

impl Config {
    /// The paper's sizes, with the networks of the program.
    pub fn paper() -> Self {
        Self {
            contests: contests(512, 256, 1000),
            courses: Vec::new(),
            fields: search::fields(),
        }
    }

    /// Small networks, trained now.
    pub fn quick(seed: u64) -> Self {
        let course = |model, loss, penalty| Course {
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
            contests: contests(32, 32, 200),
            courses: vec![
                course(Model::Dm, Loss::Mean, Penalty::None),
                course(Model::RnnProp, Loss::Mean, Penalty::None),
                course(Model::RnnProp, Loss::Mean, Penalty::Literal { weight: 1.0 }),
                course(Model::RnnProp, Loss::Mean, Penalty::Guarded { from: 40 }),
                course(Model::RnnProp, Loss::Log, Penalty::None),
                course(Model::RnnProp, Loss::Log, Penalty::Carried { from: 40 }),
            ],
            fields: search::small(seed),
        }
    }
}

fn contests(dim: usize, problems: usize, steps: usize) -> Vec<(String, Contest)> {
    let contest = |dim| Contest::new(separable(dim), problems, steps);
    vec![
        (format!("d = {dim}, as trained"), contest(dim)),
        (
            format!("d = {}, four times as large", 4 * dim),
            contest(4 * dim),
        ),
    ]
}

/// What kind of method an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
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

impl Kind {
    /// Of a network, as its file tells.
    pub fn of(trained: &Trained) -> Self {
        let note = |key: &str| trained.notes.get(key).map_or("", String::as_str);
        let log = note("loss") == Loss::Log.name();
        match (trained.model, note("penalty").split(' ').next()) {
            (Model::Dm, _) => Self::Dm,
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
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Of a network, the seed of its training.
    pub seed: Option<u64>,
    /// What it is worth.
    pub score: Score,
}

/// A set of problems, and how all methods did on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Which problems.
    pub name: String,
    /// Variables.
    pub dim: usize,
    /// The methods.
    pub entries: Vec<Entry>,
}

impl Table {
    /// The entries of a kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Score> {
        let entries = self.entries.iter().filter(move |entry| entry.kind == kind);
        entries.map(|entry| &entry.score)
    }

    /// The same for one seed.
    pub fn of_seed(&self, kind: Kind, seed: u64) -> Option<&Score> {
        let mut entries = self.entries.iter();
        let entry = entries.find(|entry| (entry.kind, entry.seed) == (kind, Some(seed)));
        entry.map(|entry| &entry.score)
    }
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// One table per set of problems.
    pub tables: Vec<Table>,
    /// What the search for a penalty that helps has found.
    pub findings: Vec<Finding>,
    /// ε of the stop test.
    pub epsilon: f64,
    /// Was it cut short?
    pub interrupted: bool,
}

/// Runs it.
pub fn run(config: &Config, context: &Context) -> Result<Results, Failure> {
    let work =
        || networks(config, context).and_then(|networks| compare(config, &networks, context));
    crate::parallel::with(context.threads, work).map_err(Failure::NoAnswer)?
}

fn networks(config: &Config, context: &Context) -> Result<Vec<Trained>, Failure> {
    if config.courses.is_empty() {
        return Ok(ASSETS.iter().map(Asset::load).collect());
    }
    let steps = config.courses.iter().map(|course| course.steps).sum();
    let task = context.progress.task("training small networks", steps);
    let courses = config.courses.iter();
    courses
        .map(|&course| train(course, context, &task))
        .collect()
}

fn train(course: Course, context: &Context, task: &Task) -> Result<Trained, Failure> {
    let mut session = Session::new(course);
    while !session.is_finished() {
        if context.interrupted() {
            return Err(Failure::Interrupted);
        }
        session.step().map_err(Failure::NoAnswer)?;
        task.advance(1);
    }
    Ok(session.best())
}

fn compare(config: &Config, networks: &[Trained], context: &Context) -> Result<Results, Failure> {
    let mut results = Results {
        tables: Vec::new(),
        findings: Vec::new(),
        epsilon: EPSILON,
        interrupted: false,
    };
    let methods = config.contests.len() * (networks.len() + 4);
    let task = context.progress.task("testing optimisers", methods);
    for (name, contest) in &config.contests {
        let mut entries = Vec::new();
        for method in contest.classics() {
            if context.interrupted() {
                break;
            }
            entries.push(Entry {
                kind: Kind::Classical,
                seed: None,
                score: contest.classical(method),
            });
            task.advance(1);
        }
        for trained in networks {
            if context.interrupted() {
                break;
            }
            let kind = Kind::of(trained);
            let seed = trained.seed();
            let number = seed.map_or("?".to_owned(), |seed| seed.to_string());
            let name = format!("{}, seed {number}", kind.title());
            entries.push(Entry {
                kind,
                seed,
                score: contest.learned(name, trained.model, &trained.theta),
            });
            task.advance(1);
        }
        if context.interrupted() {
            results.interrupted = true;
            break;
        }
        results.tables.push(Table {
            name: name.clone(),
            dim: contest.family.dim,
            entries,
        });
    }
    if results.tables.is_empty() {
        return Err(Failure::Interrupted);
    }
    match search::run(&config.fields, context) {
        Err(Failure::Interrupted) => results.interrupted = true,
        found => results.findings = found?,
    }
    Ok(results)
}

/// The entry of the registry.
pub fn experiment(context: &Context) -> Result<Section, Failure> {
    let config = if context.quick {
        Config::quick(context.seed)
    } else {
        Config::paper()
    };
    let results = run(&config, context)?;
    Ok(section(&config, &results))
}
