//! Problems on which a penalty on the stopping time may help: small networks, trained with and without it on several kinds of problems,
//! seed by seed.
//!
//! At the paper's size the steps of a plain network are at their bound: nothing can be quicker. Here are kinds of problems on
//! which that is not so, or on which the stop means something else.

use serde::Serialize;

use super::super::common::list;
use super::{Context, Failure, step};
use crate::l2o::{
    Architecture, ComparedMethod, Evaluation, Family, LEVELS, Loss, MethodScore, Penalty, Recipe,
    Session, Trained, TrainingPlan,
};
use crate::progress::Counter;
use crate::report::{Section, Table, Verdict};

/// A kind of problems to look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its distinguishing property.
    pub name: String,
    /// The test.
    pub evaluation: Evaluation,
    /// Trainings without a penalty.
    pub plain: Vec<TrainingPlan>,
    /// The penalties to compare them with.
    pub penalties: Vec<Penalty>,
}

/// Scores of the networks with one penalty on the problems of a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The field.
    pub field: String,
    /// The penalty, in one word.
    pub penalty: &'static str,
    /// One score per seed.
    pub scores: Vec<MethodScore>,
}

impl Field {
    fn new(name: &str, family: Family, recipe: Recipe, seeds: impl Iterator<Item = u64>) -> Self {
        const STEPS: usize = 300;
        let recipe = Recipe { family, ..recipe };
        let plan = |seed| TrainingPlan {
            recipe,
            seed,
            steps: STEPS,
            validate_every: 25,
            validation_problems: recipe.batch,
        };
        Self {
            name: name.to_owned(),
            evaluation: Evaluation::new(family, 256, 2 * recipe.horizon()),
            plain: seeds.map(plan).collect(),
            penalties: vec![
                // To the logarithm belongs the second form, as on the rest of the page.
                match recipe.loss {
                    Loss::Mean => Penalty::Guarded { from: STEPS / 2 },
                    Loss::Log => Penalty::Carried { from: STEPS / 2 },
                },
                Penalty::Target {
                    level: 1e-4,
                    from: STEPS / 2,
                },
            ],
        }
    }
}

/// The fields of the full experiment, three seeds each.
pub(super) fn fields() -> Vec<Field> {
    let recipe = Recipe {
        batch: 16,
        ..Recipe::paper(Architecture::RnnProp)
    };
    let overdetermined = |spread| Family {
        spread,
        ..Family::new(32, 256)
    };
    [
        ("as in the paper, n = d/2", Family::new(64, 32), recipe),
        (
            "the same, trained on ln f",
            Family::new(64, 32),
            Recipe {
                loss: Loss::Log,
                ..recipe
            },
        ),
        (
            "steps a tenth as long, K = 200",
            Family {
                spread: 0.1,
                ..Family::new(64, 32)
            },
            Recipe {
                segments: 10,
                ..recipe
            },
        ),
        ("a minimum (n = 8d), far away", overdetermined(1.0), recipe),
        (
            "a minimum within reach of a few steps",
            overdetermined(5.0),
            recipe,
        ),
        (
            "the same, segments of 50 steps",
            overdetermined(5.0),
            Recipe {
                segments: 2,
                steps: 50,
                ..recipe
            },
        ),
    ]
    .into_iter()
    .map(|(name, family, recipe)| Field::new(name, family, recipe, 1..=3))
    .collect()
}

/// One that takes a second or two.
pub(super) fn small(seed: u64) -> Vec<Field> {
    let recipe = Recipe {
        batch: 4,
        segments: 2,
        steps: 15,
        ..Recipe::paper(Architecture::RnnProp)
    };
    let family = Family {
        spread: 5.0,
        ..Family::new(8, 64)
    };
    let mut field = Field::new("a minimum (n = 8d)", family, recipe, seed..=seed);
    field.evaluation = Evaluation::new(family, 16, 60);
    field.plain[0].steps = 60;
    field.penalties = vec![Penalty::Target {
        level: 1e-3,
        from: 30,
    }];
    vec![field]
}

/// Steps that the training with this penalty shares with the plain one.
fn shared(plain: &TrainingPlan, penalty: Penalty) -> usize {
    penalty.warm_up().unwrap_or(0).min(plain.steps)
}

/// Training steps of a field.
fn steps(field: &Field) -> usize {
    let of_seed = |plain: &TrainingPlan| -> usize {
        let own = |&penalty: &Penalty| plain.steps - shared(plain, penalty);
        plain.steps + field.penalties.iter().map(own).sum::<usize>()
    };
    field.plain.iter().map(of_seed).sum()
}

/// The networks of one seed: without a penalty, then with each of these. A penalty that begins later goes on from the plain training,
/// which it does not change until then.
fn trainings(
    plain: TrainingPlan,
    penalties: &[Penalty],
    context: &Context,
    task: &Counter,
) -> Result<Vec<Trained>, Failure> {
    let mut session = Session::new(plain);
    let mut penalised: Vec<Option<Session>> = penalties.iter().map(|_| None).collect();
    loop {
        for (&penalty, begun) in penalties.iter().zip(&mut penalised) {
            if session.done() == shared(&plain, penalty) {
                let mut plan = plain;
                plan.recipe.penalty = penalty;
                *begun = Some(match session.done() {
                    0 => Session::new(plan),
                    _ => session
                        .checkpoint()
                        .and_then(|bytes| Session::resume(plan, &bytes))
                        .map_err(Failure::NoAnswer)?,
                });
            }
        }
        if session.is_finished() {
            break;
        }
        step(&mut session, context, task)?;
    }
    let mut trained = vec![session.best()];
    for mut session in penalised.into_iter().flatten() {
        while !session.is_finished() {
            step(&mut session, context, task)?;
        }
        trained.push(session.best());
    }
    Ok(trained)
}

/// Trains and tests.
pub(super) fn run(fields: &[Field], context: &Context) -> Result<Vec<Finding>, Failure> {
    let task = context
        .progress
        .task("searching", fields.iter().map(steps).sum());
    let mut findings = Vec::new();
    for field in fields {
        let seeds = field.plain.iter();
        let networks = seeds
            .map(|&plain| trainings(plain, &field.penalties, context, &task))
            .collect::<Result<Vec<_>, _>>()?;
        for (number, penalty) in [Penalty::None].iter().chain(&field.penalties).enumerate() {
            let of_seeds = field.plain.iter().zip(&networks);
            let methods: Vec<_> = of_seeds
                .map(|(plain, networks)| {
                    let Trained { model, theta, .. } = &networks[number];
                    let method = ComparedMethod::Learned(*model, theta);
                    (format!("seed {}", plain.seed), method)
                })
                .collect();
            let progress = context.progress.unobserved();
            findings.push(Finding {
                field: field.name.clone(),
                penalty: penalty.name(),
                scores: field.evaluation.scores(&methods, &progress)?,
            });
        }
    }
    Ok(findings)
}

/// The penalty of the trainings that the others are compared with.
const NONE: &str = Penalty::None.name();

/// The level of which the claim speaks: the one that the target penalty aims at.
const AIM: usize = 1;

impl Finding {
    fn list(&self, of: impl Fn(&MethodScore) -> f64) -> String {
        list(&self.scores.iter().map(of).collect::<Vec<_>>())
    }

    /// True if every seed gets there sooner than without a penalty.
    fn is_sooner(&self, plain: &Self) -> bool {
        let pairs = self.scores.iter().zip(&plain.scores);
        pairs
            .into_iter()
            .all(|(ours, theirs)| ours.median_steps_to(AIM) < theirs.median_steps_to(AIM))
    }
}

/// The table and the claim.
pub(super) fn show(section: &mut Section, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    let plain = |finding: &Finding| {
        let mut all = findings.iter();
        all.find(|other| other.field == finding.field && other.penalty == NONE)
    };
    let penalised = findings.iter().filter(|finding| finding.penalty != NONE);
    let sooner = |finding: &&Finding| plain(finding).is_some_and(|plain| finding.is_sooner(plain));
    let places: Vec<String> = penalised
        .clone()
        .filter(sooner)
        .map(|finding| format!("{} ({})", finding.field, finding.penalty))
        .collect();
    let where_sooner = if places.is_empty() {
        "nowhere".to_owned()
    } else {
        places.join("; ")
    };
    section.claim(
        format!(
            "There are problems on which RNNprop with a penalty reaches inf f + {:e} sooner than without.",
            LEVELS[AIM]
        ),
        format!(
            "sooner in every seed: {where_sooner} ({} of {} combinations of problem and penalty)",
            places.len(),
            penalised.count()
        ),
        Verdict::of(!places.is_empty()),
        "Small networks, trained for this page; medians over fresh problems.",
    ).changed_by("other problem families or other penalties; only the combinations in the table were tried");
    let mut cells = Table::new()
        .left("problems")
        .left("penalty")
        .right("N median")
        .right("stops where f rises, %")
        .right("f at stop")
        .right("f at 100");
    for level in LEVELS {
        cells = cells.right(format!("to {level:e}"));
    }
    for finding in findings {
        let mut row = vec![
            finding.field.clone().into(),
            finding.penalty.into(),
            finding.list(MethodScore::median_stop).into(),
            finding.list(|score| (100.0 * score.rises).round()).into(),
            finding.list(MethodScore::median_f).into(),
            finding.list(|score| score.f_at_100).into(),
        ];
        row.extend((0..LEVELS.len()).map(|level| {
            let steps = finding.list(|score| score.median_steps_to(level));
            steps.into()
        }));
        cells.row(row);
    }
    section.table(
        "l2o-search",
        "Problems on which a penalty might help: one number per seed. Values of f are above inf f, which is zero where n < d. Guarded, carried: the \
         two forms above. Target: the time to inf f + 1e-4, which nothing but a lower f brings down.",
        cells,
    );
}
