use std::cell::RefCell;
use std::fs;

use super::*;
use crate::progress::Progress;
use crate::report::Table;

fn good(context: &Context) -> Result<Section, experiments::Failure> {
    let mut section = Section::new("A good one");
    let mut table = Table::new().right("seed");
    table.row([context.seed.to_string().into()]);
    section.table("good-seed", "The seed", table);
    section.claim("It works.", "1", Verdict::Holds, "seen");
    section.claim("It flies.", "0", Verdict::DoesNotHold, "no wings");
    Ok(section)
}

fn last(_: &Context) -> Result<Section, experiments::Failure> {
    Ok(Section::new("The last"))
}

fn bad(_: &Context) -> Result<Section, experiments::Failure> {
    Err(experiments::Failure::NoAnswer(
        "no <answer> here".to_owned(),
    ))
}

fn broken(_: &Context) -> Result<Section, experiments::Failure> {
    panic!("index {} out of range", 7)
}

fn interrupting(context: &Context) -> Result<Section, experiments::Failure> {
    context.progress.interrupt().raise();
    let mut section = Section::new("Cut short");
    section.interrupted = true;
    Ok(section)
}

fn gives_up(context: &Context) -> Result<Section, experiments::Failure> {
    context.progress.interrupt().raise();
    Err(experiments::Failure::Interrupted)
}

fn entry(
    name: &'static str,
    run: fn(&Context) -> Result<Section, experiments::Failure>,
) -> Experiment {
    let title = name;
    Experiment { name, title, run }
}

/// Runs these in a directory of their own: the summary, the page, the lines.
fn try_out(name: &str, chosen: &[Experiment]) -> (Summary, String, Vec<String>) {
    try_out_at(true, name, chosen)
}

fn try_out_at(quick: bool, name: &str, chosen: &[Experiment]) -> (Summary, String, Vec<String>) {
    let path = std::env::temp_dir().join(format!("dst-reproduce-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    let context = Context {
        quick,
        seed: 5,
        threads: 1,
        progress: Progress::hidden(),
    };
    let out = std::sync::Arc::new(OutDir::create(&path).unwrap());
    let lines = RefCell::new(Vec::new());
    let summary = carry_out(chosen, &context, &out, |line| {
        lines.borrow_mut().push(line.to_owned());
    })
    .unwrap();
    let page = fs::read_to_string(&summary.page).unwrap();
    for file in &summary.files {
        assert!(path.join(file).is_file(), "{file}");
    }
    assert_eq!(fs::read_dir(&path).unwrap().count(), summary.files.len());
    fs::remove_dir_all(&path).unwrap();
    (summary, page, lines.into_inner())
}

#[test]
fn a_failure_does_not_stop_the_others() {
    let chosen = [
        entry("bad", bad),
        entry("broken", broken),
        entry("good", good),
        entry("last", last),
    ];
    let (summary, page, lines) = try_out("failure", &chosen);
    let errors: Vec<_> = summary.experiments.iter().map(|o| &o.error).collect();
    assert_eq!(errors[0].as_deref(), Some("no <answer> here"));
    assert!(errors[1].as_ref().unwrap().contains("index 7 out of range"));
    assert!(errors[2].is_none() && errors[3].is_none());
    assert!(page.contains("no &lt;answer&gt; here") && page.contains("A good one"));
    assert!(page.contains("good-seed.csv") && !page.contains("interrupted"));
    assert_eq!(summary.files, ["index.html", "good-seed.csv"]);
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines[1].contains("failed") && lines[3].contains("1 of 2 claims hold"));
    let end = verdict(&summary).unwrap_err();
    assert!(
        matches!(&end, CommandError::NoAnswer(text) if text.starts_with("2 of 4 experiments failed"))
    );
}

#[test]
fn an_interrupt_keeps_what_is_finished() {
    for (name, run) in [
        ("partial", interrupting as fn(&Context) -> _),
        ("nothing", gives_up),
    ] {
        let chosen = [entry("good", good), entry(name, run), entry("last", last)];
        let (summary, page, _) = try_out(name, &chosen);
        assert!(summary.interrupted);
        assert!(page.contains("A good one") && !page.contains("The last"));
        assert!(page.contains("This run was interrupted"), "{page}");
        assert_eq!(page.contains("Cut short"), name == "partial");
        assert!(matches!(
            verdict(&summary),
            Err(CommandError::Interrupted(_))
        ));
    }
}

#[test]
fn all_well_is_no_failure() {
    let (summary, page, lines) = try_out("well", &[entry("good", good)]);
    assert_eq!(verdict(&summary), Ok(()));
    assert!(!page.contains("Still running"));
    assert_eq!(lines.len(), 2);
    let mut text = Vec::new();
    show(&summary, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("does not hold  It flies.") && text.contains("page: "),
        "{text}"
    );
}

#[test]
fn the_page_cites_the_paper_and_only_a_quick_run_has_the_banner() {
    for quick in [true, false] {
        let name = if quick { "banner" } else { "no-banner" };
        let (_, page, _) = try_out_at(quick, name, &[entry("good", good)]);
        assert!(page.contains("Accelerating Optimization via Differentiable Stopping Time"));
        assert!(page.contains("Zhonglin Xie") && page.contains("1 experiment, seed 5, 1 thread."));
        assert!(page.contains("1 claim holds</a>") && page.contains("1 does not hold</a>"));
        assert_eq!(page.contains("id=\"banner\""), quick);
        assert_eq!(page.contains("Quick run"), quick);
    }
}

#[test]
fn names_are_one_word_and_different() {
    let mut names: Vec<&str> = ALL.iter().map(|experiment| experiment.name).collect();
    for name in &names {
        assert!(
            name.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        );
        assert_eq!(known(name).as_deref(), Ok(*name));
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(known("nonsense").unwrap_err().contains(names[0]));
}
