//! `dst l2o train`: killed and resumed, refused, interrupted.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dst_std::l2o::{Architecture, Trained};

use crate::support::{Scratch, dst, fails, interrupt, program, succeeds};

/// A small training that writes to `out`.
fn training(out: &str, more: &[&str]) -> Command {
    let mut command = program();
    command.args([
        "l2o",
        "train",
        "--quiet",
        "--dim",
        "20",
        "--samples",
        "8",
        "--batch",
        "3",
    ]);
    command.args([
        "--segments",
        "2",
        "--segment-steps",
        "4",
        "--validate-every",
        "3",
    ]);
    command.args(["--out", out]).args(more);
    command
}

#[track_caller]
fn refuses(out: &str, more: &[&str], code: i32, words: &[&str]) {
    let (found, text) = fails(training(out, more).output().unwrap());
    assert_eq!(found, code, "{text}");
    for word in words {
        assert!(text.contains(word), "'{word}' is not in: {text}");
    }
}

#[track_caller]
fn works(out: &str, more: &[&str]) {
    succeeds(training(out, more).output().unwrap());
}

fn contents(out: &str) -> [Vec<u8>; 3] {
    let path = Path::new(out);
    ["safetensors", "csv", "checkpoint"].map(|kind| fs::read(path.with_extension(kind)).unwrap())
}

#[test]
fn a_training_leaves_weights_a_log_and_a_checkpoint() {
    let scratch = Scratch::new("leaves");
    for (name, model) in [("dm", Architecture::Dm), ("rnnprop", Architecture::RnnProp)] {
        let out = scratch.path(&format!("{name}.safetensors"));
        works(
            &out,
            &[
                "--model",
                name,
                "--steps",
                "4",
                "--penalty",
                "guarded",
                "--warm-up",
                "2",
            ],
        );
        let trained = Trained::load(Path::new(&out)).unwrap();
        assert_eq!(trained.model, model);
        assert_eq!(trained.notes["penalty"], "guarded from 2");
        let log = String::from_utf8(contents(&out)[1].clone()).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), 5, "{log}");
        assert!(
            lines.iter().all(|line| line.split(',').count() == 7),
            "{log}"
        );
    }
    assert_eq!(scratch.names().len(), 6, "{:?}", scratch.names());
}

/// Waits until the log has this many lines, or the program has ended.
fn wait_for(child: &mut Child, log: &Path, lines: usize) {
    let begin = Instant::now();
    while fs::read_to_string(log).map_or(0, |text| text.lines().count()) < lines {
        if child.try_wait().unwrap().is_some() {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(300), "no progress");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_training_resumes_to_the_same_bytes() {
    let scratch = Scratch::new("killed");
    let (whole, cut) = (
        scratch.path("whole.safetensors"),
        scratch.path("cut.safetensors"),
    );
    let steps = ["--steps", "150", "--penalty", "literal", "--threads", "1"];
    works(&whole, &steps);
    let log = Path::new(&cut).with_extension("csv");
    let mut killed = 0;
    for lines in [4, 20, 50] {
        let mut arguments = vec![
            "--steps",
            "150",
            "--penalty",
            "literal",
            "--checkpoint-every",
            "0",
        ];
        arguments.extend(["--threads", if lines == 20 { "2" } else { "1" }]);
        if lines > 4 {
            arguments.push("--resume");
        }
        let mut child = training(&cut, &arguments).spawn().unwrap();
        wait_for(&mut child, &log, lines);
        // SIGKILL: nothing can be tidied up.
        child.kill().unwrap();
        killed += usize::from(!child.wait().unwrap().success());
    }
    assert!(killed > 0, "the program was at work when it was killed");
    works(&cut, &[&steps[..], &["--resume"]].concat());
    assert!(contents(&cut) == contents(&whole));
    // A training that is done stays done.
    works(&cut, &[&steps[..], &["--resume"]].concat());
    assert!(contents(&cut) == contents(&whole));
}

#[test]
fn an_interrupted_training_says_so_and_resumes() {
    let scratch = Scratch::new("interrupted");
    let (whole, cut) = (
        scratch.path("whole.safetensors"),
        scratch.path("cut.safetensors"),
    );
    works(&whole, &["--steps", "300"]);
    let mut command = training(&cut, &["--steps", "300", "--checkpoint-every", "0"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&mut child, &Path::new(&cut).with_extension("csv"), 5);
    if !interrupt(&child) {
        child.kill().unwrap();
        return;
    }
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    // First that the signal was heard, at the end where the training stands.
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("error: interrupted after "), "{text}");
    assert!(
        last.ends_with(" of 300 steps; go on with --resume"),
        "{text}"
    );
    works(&cut, &["--steps", "300", "--resume"]);
    assert!(contents(&cut) == contents(&whole));
}

#[test]
fn an_out_that_cannot_be_written_is_refused() {
    let scratch = Scratch::new("places");
    let out = scratch.path("no such directory/a.safetensors");
    refuses(
        &out,
        &["--steps", "1"],
        2,
        &["a.safetensors", "cannot be written"],
    );
    refuses(scratch.text(), &["--steps", "1"], 2, &["cannot be written"]);
    fs::write(scratch.0.join("file"), "").unwrap();
    refuses(
        &scratch.path("file/a.safetensors"),
        &["--steps", "1"],
        2,
        &["cannot be written"],
    );
    // The log and the checkpoint need a name of their own.
    for name in ["a.csv", "a.checkpoint"] {
        refuses(
            &scratch.path(name),
            &["--steps", "1"],
            2,
            &["--out must not end in"],
        );
    }
    fs::create_dir(scratch.0.join("b.checkpoint")).unwrap();
    refuses(
        &scratch.path("b.safetensors"),
        &["--steps", "1"],
        2,
        &["b.checkpoint", "cannot be written"],
    );
    refuses(
        &scratch.path("c.safetensors"),
        &["--checkpoint-every", "-1"],
        2,
        &["--checkpoint-every must be"],
    );
    assert_eq!(scratch.names(), ["b.checkpoint", "file"]);
}

/// Sizes beyond any machine's memory are refused, and a seed is any number.
#[test]
fn sizes_beyond_memory_are_refused_and_any_seed_works() {
    let scratch = Scratch::new("ends");
    let out = scratch.path("a.safetensors");
    let most = usize::MAX.to_string();
    for arguments in [
        &["train", "--out", &out, "--dim", &most][..],
        &[
            "train",
            "--out",
            &out,
            "--dim",
            "10000000",
            "--samples",
            "10000000",
        ],
        &["train", "--out", &out, "--batch", &most],
        &["train", "--out", &out, "--segments", &most],
        &["train", "--out", &out, "--segment-steps", &most],
        &["test", "--steps", &most],
        &["test", "--problems", &most],
        &["test", "--dim", &most, "--samples", &most],
        &["bench", "--dim", &most],
        &["bench", "--batch", &most],
    ] {
        let (code, text) = fails(dst(&[&["l2o"], arguments].concat()));
        assert_eq!(code, 2, "{arguments:?}: {text}");
        assert!(
            text.contains("needs") && text.contains("; lower --"),
            "{arguments:?}: {text}"
        );
    }
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
    works(&out, &["--steps", "1", "--seed", &u64::MAX.to_string()]);
}

#[test]
fn foreign_and_damaged_checkpoints_are_refused() {
    let scratch = Scratch::new("checkpoints");
    let out = scratch.path("a.safetensors");
    // None yet: killed before its first, a training begins again.
    works(&out, &["--steps", "2", "--resume"]);
    let before = contents(&out);
    let resume = |more: &[&str], words: &[&str]| {
        refuses(
            &out,
            &[&["--steps", "3", "--resume"], more].concat(),
            1,
            words,
        );
    };
    resume(
        &["--seed", "2"],
        &["belongs to another training", "seed is 1, not 2"],
    );
    resume(
        &["--model", "dm"],
        &["belongs to another training", "model is rnnprop, not dm"],
    );
    resume(
        &["--penalty", "guarded", "--warm-up", "1"],
        &["penalty is none, not guarded from 1"],
    );
    assert!(contents(&out) == before);
    let checkpoint = scratch.0.join("a.checkpoint");
    fs::write(&checkpoint, &before[2][..1000]).unwrap();
    resume(&[], &["a.checkpoint", "is not a whole safetensors file"]);
    let mut flipped = before[2].clone();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(&checkpoint, &flipped).unwrap();
    resume(&[], &["a.checkpoint", "is damaged"]);
    // Nothing was lost: with the checkpoint back in its place the training goes on.
    fs::write(&checkpoint, &before[2]).unwrap();
    works(&out, &["--steps", "3", "--resume"]);
}

/// From weights of another training, or of the program; cut in two, it ends with the same bytes.
#[test]
fn a_training_from_weights_resumes_to_the_same_bytes() {
    let scratch = Scratch::new("from");
    let [first, whole, cut, other] =
        ["first", "whole", "cut", "other"].map(|name| scratch.path(&format!("{name}.safetensors")));
    works(&first, &["--steps", "3", "--loss", "log"]);
    let notes = |out: &str| Trained::load(Path::new(out)).unwrap().notes;
    let begun = notes(&first);
    assert_eq!(
        [&begun["loss"], &begun["start"]].map(String::as_str),
        ["log", "random"]
    );
    let mut arguments = vec!["--loss", "log", "--penalty", "carried", "--warm-up", "0"];
    arguments.extend(["--rate", "3e-4", "--from", first.as_str()]);
    let with = |more: &[&'static str]| -> Vec<&str> { [&arguments, more].concat() };
    works(&whole, &with(&["--steps", "6"]));
    assert_ne!(notes(&whole)["start"], "random");
    works(&cut, &with(&["--steps", "3"]));
    works(&cut, &with(&["--steps", "6", "--resume"]));
    assert!(contents(&cut) == contents(&whole));
    arguments.pop();
    arguments.push("rnnprop-1");
    refuses(
        &cut,
        &[arguments.as_slice(), &["--steps", "9", "--resume"]].concat(),
        2,
        &["did not begin from --from rnnprop-1", "--out"],
    );
    assert!(contents(&cut) == contents(&whole));
    for (from, code, word) in [
        ("dm-1", 2, "--from must name weights of --model rnnprop"),
        ("nothing", 1, "'nothing'"),
    ] {
        refuses(&other, &["--from", from], code, &[word]);
    }
    assert_eq!(scratch.names().len(), 9, "{:?}", scratch.names());
}

/// Numbers that are not finite: a sentence, and what was there before remains.
#[test]
fn a_failed_training_keeps_the_earlier_files() {
    let scratch = Scratch::new("fails");
    let out = scratch.path("a.safetensors");
    refuses(
        &out,
        &["--steps", "5", "--rate", "1e38"],
        1,
        &["training step 1", "no finite"],
    );
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
    works(&out, &["--steps", "2"]);
    let before = contents(&out);
    // Nor does another training begin in its place.
    refuses(
        &out,
        &["--steps", "5"],
        2,
        &["checkpoint of an earlier training", "--resume"],
    );
    assert!(contents(&out) == before);
}

/// A disk that is full, as a limit on the size of files, which needs no rights: what was written before remains whole.
#[test]
fn a_full_disk_keeps_the_earlier_files() {
    let scratch = Scratch::new("full");
    let out = scratch.path("a.safetensors");
    works(&out, &["--steps", "2"]);
    let (before, names) = (contents(&out), scratch.names());
    let whole = training(&out, &["--steps", "4", "--resume"]);
    let mut limited = Command::new("sh");
    // The signal that would end the program is ignored, so that it sees the error.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 8 && exec \"$@\"", "sh"]);
    limited.arg(whole.get_program()).args(whole.get_args());
    let (code, text) = match limited.output() {
        Ok(output) => fails(output),
        Err(_) => {
            eprintln!("there is no `sh` here: nothing to test");
            return;
        }
    };
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("a.checkpoint' cannot be written"), "{text}");
    assert!(contents(&out) == before && scratch.names() == names);
    works(&out, &["--steps", "4", "--resume"]);
}

#[test]
fn a_training_goes_on_in_its_own_arithmetic_only() {
    let scratch = Scratch::new("arithmetic");
    for (name, first, then, words) in [
        ("a", "--portable", "--quiet", "with --portable; give that"),
        ("b", "--quiet", "--portable", "without --portable; leave"),
    ] {
        let out = scratch.path(&format!("{name}.safetensors"));
        let common = |steps: &'static str| -> Vec<&'static str> {
            vec![
                "l2o",
                "train",
                "--dim",
                "8",
                "--samples",
                "4",
                "--batch",
                "2",
                "--segments",
                "1",
                "--steps",
                steps,
            ]
        };
        let train = |steps, arithmetic: &str, more: &[&str]| {
            let mut command = program();
            command
                .args(common(steps))
                .args(["--segment-steps", "3", "--json", "--out", &out]);
            command.arg(arithmetic).args(more).output().unwrap()
        };
        assert!(train("2", first, &[]).status.success());
        let refused = train("3", then, &["--resume"]);
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{text}");
        assert!(text.contains(words), "{text}");
        assert!(train("3", first, &["--resume"]).status.success());
    }
}
