//! Commands that divide instances among ranks: what they print and write is compared with one process without MPI.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::cargo::answer;

use super::{Bed, Job, files, same};

/// Ranks and threads of the job.
const SHAPE: [usize; 2] = [3, 1];

/// Small commands, with a file or a folder in OUT where they write.
const COMMANDS: [(&str, &str); 11] = [
    (
        "test",
        "l2o test --dim 10 --samples 24 --problems 7 --steps 40",
    ),
    (
        "tune",
        "tune --problem logistic --data a1a --method nesterov --starts 5 --held-out 7 --rounds 2 --max-steps 300 --quiet --out OUT",
    ),
    (
        "grid",
        "tune --method gd --dim 8 --starts 2 --held-out 3 --rounds 3 --save OUT/theta.json --quiet --out OUT",
    ),
    (
        "qp",
        "qp tune --problem PROGRAMS/boxes.json --accuracy 1e-4 --quick --out OUT",
    ),
    (
        "admm",
        "qp tune --problem PROGRAMS/boxes.json --accuracy 1e-4 --quick --solver admm --out OUT",
    ),
    (
        "export",
        "control export --model MODEL --late 0.05 --quiet --out OUT",
    ),
    (
        "quick",
        "control export --model MODEL --quick --quiet --out OUT",
    ),
    (
        "dense",
        "validate --dim 900 --basis hh8 --dense --no-truth --eps 1e-1 --quiet --gradient-out OUT/g.txt",
    ),
    (
        "validation",
        "reproduce --quick --only validation --quiet --out OUT",
    ),
    ("ola", "reproduce --quick --only ola --quiet --out OUT"),
    (
        "control",
        "reproduce --quick --only control --quiet --out OUT",
    ),
];

/// Fields of JSON that are measured, or name the directory.
const MEASURED: [&str; 9] = [
    "seconds",
    "seconds_gradient",
    "repetitions",
    "peak_rss_mb",
    "threads",
    "out",
    "page",
    "files",
    "plot",
];

/// Runs all; returns their number.
pub(super) fn run(bed: &Bed) -> Result<usize, String> {
    let model = bed.folder.join("model.json");
    let template = answer(Command::new(&bed.without).args(["control", "template"]))?;
    fs::write(&model, template).map_err(|e| format!("{}: {e}", model.display()))?;
    for (name, line) in COMMANDS {
        eprintln!("ranks: {name}");
        let [alone, ranks] = [Job::Without(2), Job::Ranks(SHAPE)].map(|job| {
            let place = bed.place(name)?;
            let text = bed.done(&job, &format!("{line} --json"), &place)?;
            let mut value: Value =
                serde_json::from_str(&text).map_err(|e| format!("dst {line}: {e}\n{text}"))?;
            forget(&mut value);
            let mut found = files(&place)?;
            // The page has times.
            found.retain(|(name, _)| name != "index.html");
            Ok::<_, String>((value, found))
        });
        let ((value, written), (over_ranks, found)) = (alone?, ranks?);
        let what = format!("dst {line} on {} ranks", SHAPE[0]);
        same(&written, &found, &what)?;
        if value != over_ranks {
            return Err(format!("{what} prints {over_ranks:#}\nand not {value:#}"));
        }
    }
    Ok(COMMANDS.len())
}

/// Removes what is measured.
fn forget(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !MEASURED.contains(&key.as_str()));
            map.values_mut().for_each(forget);
        }
        Value::Array(values) => values.iter_mut().for_each(forget),
        _ => {}
    }
}
