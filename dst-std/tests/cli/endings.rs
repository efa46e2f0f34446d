//! Signals and locks: every command ends soon after it is asked to, wherever it is, and leaves nothing half-written.

#![cfg(unix)]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Scratch, dst, fails, interrupt, program, succeeds};

/// 1.2 seconds by itself; the rest is for a machine that does other things as well.
const SLACK: Duration = Duration::from_secs(20);

fn start(folder: &Scratch, arguments: &[&str]) -> Child {
    let mut command = program();
    command.current_dir(&folder.0).args(arguments);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Sends a signal. False if there is no `kill` on this machine.
fn signal(child: &Child, name: &str) -> bool {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([name, &id]).status();
    sent.is_ok_and(|status| status.success())
}

/// The program, once it has ended; none if it does not.
fn end_of(mut child: Child) -> Option<std::process::Output> {
    let asked = Instant::now();
    while asked.elapsed() < SLACK {
        if child.try_wait().unwrap().is_some() {
            return Some(child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Each of these takes minutes, or waits for ever, on one thread.
#[test]
fn every_command_ends_soon_after_a_signal() {
    let folder = Scratch::new("signals");
    let wide: String = (0..4000)
        .map(|i| format!("{} {}:1 {}:0.5\n", i % 2, 1 + i, 200_000 + 7 * i))
        .collect();
    fs::write(folder.path("wide"), wide).unwrap();
    for pipe in ["pipe", "pipe.json"] {
        let made = Command::new("mkfifo").arg(folder.path(pipe)).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("no mkfifo: not run");
            return;
        }
    }
    let commands: [&[&str]; 17] = [
        &[
            "tune",
            "--dim",
            "20000",
            "--method",
            "preconditioned",
            "--tolerance",
            "1e-12",
            "--max-steps",
            "100000",
            "--out",
            "out0",
        ],
        &[
            "tune",
            "--data",
            "wide",
            "--tolerance",
            "1e-9",
            "--out",
            "out1",
        ],
        &["tune", "--data", "pipe", "--out", "out2"],
        &["tune", "--from", "pipe", "--out", "out8"],
        &[
            "ola",
            "--data",
            "wide",
            "--max-iterations",
            "1000000",
            "--tolerance",
            "1e-300",
            "--out",
            "out3",
        ],
        &[
            "ola",
            "--data",
            "wide",
            "--method",
            "adam",
            // Without it the data are separated exactly, and the run ends.
            "--reg",
            "1e-3",
            "--max-iterations",
            "1000000000",
            "--tolerance",
            "1e-300",
        ],
        &["ola", "--data", "pipe", "--method", "gd"],
        &["validate", "--dim", "5000", "--no-truth"],
        &[
            "validate",
            "--dim",
            "100000",
            "--basis",
            "hh8",
            "--eps",
            "1e-12",
            "--gradient-out",
            "gradient",
        ],
        &[
            "l2o",
            "train",
            "--out",
            "run.safetensors",
            "--dim",
            "400",
            "--samples",
            "100",
            "--segment-steps",
            "200",
        ],
        &["l2o", "test", "--problems", "4000", "--dim", "1024"],
        &["l2o", "bench", "--repeat", "100000"],
        &["control", "--out", "out4"],
        &["control", "export", "--out", "out5"],
        &["control", "export", "--model", "pipe", "--out", "out6"],
        &["qp", "tune", "--problem", "pipe.json", "--out", "out7"],
        &["reproduce", "--only", "validation", "--out", "report"],
    ];
    let started: Vec<(usize, Child)> = commands
        .iter()
        .map(|arguments| {
            let one = ["--threads", "1"];
            // One run of dst ola has one thread anyway.
            let one_run = arguments[0] == "ola" && arguments.contains(&"--method");
            let more = if one_run { &[][..] } else { &one };
            start(&folder, &[*arguments, more].concat())
        })
        .enumerate()
        .collect();
    // The training has begun, and the others are somewhere.
    let begun = Instant::now();
    while !folder.0.join("run.lock").exists() && begun.elapsed() < SLACK {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(1500));
    let asked = Instant::now();
    for (number, child) in &started {
        let name = if number % 2 == 0 { "-INT" } else { "-TERM" };
        assert!(signal(child, name), "{:?} ended before", commands[*number]);
    }
    let mut late = Vec::new();
    for (number, child) in started {
        let arguments = commands[number];
        let Some(output) = end_of(child) else {
            late.push(arguments);
            continue;
        };
        println!("{:>5.2} s  {arguments:?}", asked.elapsed().as_secs_f64());
        assert_eq!(output.status.code(), Some(130), "{arguments:?}: {output:?}");
        assert!(
            output.stdout.is_empty() || arguments[0] == "reproduce",
            "{output:?}"
        );
    }
    assert!(late.is_empty(), "{late:?}");
    // Nothing half-written, no temporary file, no lock.
    let mut names = folder.names();
    names.retain(|name| {
        !["out", "report", "pipe", "wide"]
            .iter()
            .any(|n| name.starts_with(n))
    });
    // A training that could not end its step in time leaves the checkpoint alone.
    assert!(names.contains(&"run.checkpoint".to_owned()), "{names:?}");
    let files = ["run.checkpoint", "run.csv", "run.safetensors"];
    assert!(
        names.iter().all(|name| files.contains(&name.as_str())),
        "{names:?}"
    );
    for name in folder.names().iter().filter(|name| name.starts_with("out")) {
        assert_eq!(
            fs::read_dir(folder.0.join(name)).unwrap().count(),
            0,
            "{name}"
        );
    }
    let page = fs::read_to_string(folder.path("report/index.html")).unwrap();
    assert!(
        page.ends_with("</html>\n") && page.contains("nterrupted"),
        "{page}"
    );
}

/// A terminal that was stopped takes no words, and a page that is a pipe without a reader takes no page. Neither keeps a command alive.
#[test]
fn an_end_waits_for_no_reader() {
    let folder = Scratch::new("no-reader");
    fs::create_dir(folder.0.join("report")).unwrap();
    for pipe in ["errors", "report/index.html"] {
        let made = Command::new("mkfifo").arg(folder.path(pipe)).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("no mkfifo: not run");
            return;
        }
    }
    // `timeout` ends the writer once the pipe is full.
    let full = "exec 3<>errors; timeout 1 cat /dev/zero >&3; touch full; exec \"$0\" \"$@\" 2>&3";
    for (arguments, reader) in [
        (&["validate", "--dim", "5000", "--no-truth"][..], false),
        (&["reproduce", "--only", "validation", "--quiet"], true),
    ] {
        let child = if reader {
            start(&folder, arguments)
        } else {
            let mut shell = Command::new("sh");
            shell.current_dir(&folder.0).args(["-c", full]);
            shell.arg(program().get_program()).args(arguments);
            shell.stdout(Stdio::piped()).spawn().unwrap()
        };
        let begun = Instant::now();
        while !reader && !folder.0.join("full").exists() && begun.elapsed() < SLACK {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(1000));
        assert!(signal(&child, "-INT"), "{arguments:?} ended before");
        let Some(output) = end_of(child) else {
            panic!("{arguments:?} does not end");
        };
        assert_eq!(output.status.code(), Some(130), "{arguments:?}: {output:?}");
    }
}

/// A small training of this many steps; 90 000 take minutes.
fn training<'a>(out: &'a str, steps: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let sizes = [
        "l2o",
        "train",
        "--quiet",
        "--dim",
        "20",
        "--samples",
        "8",
        "--segments",
        "2",
        "--segment-steps",
        "4",
    ];
    [&sizes[..], &["--out", out, "--steps", steps], more].concat()
}

const LONG: &str = "90000";

#[test]
fn a_second_training_on_the_same_files_is_refused() {
    let folder = Scratch::new("twice");
    let out = folder.path("run.safetensors");
    let first = start(&folder, &training(&out, LONG, &[]));
    let begun = Instant::now();
    while !folder.0.join("run.lock").exists() && begun.elapsed() < SLACK {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::os::unix::fs::symlink("run.safetensors", folder.path("link")).unwrap();
    // Under another name that has the same log, by a link to the weights, and again.
    for name in ["run.safetensors", "run", "link", "./run.safetensors"] {
        let out = folder.path(name);
        let (code, text) = fails(dst(&training(&out, LONG, &[])));
        assert!(
            code == 1 && text.contains("another training writes to --out"),
            "{text}"
        );
    }
    assert!(interrupt(&first));
    let output = end_of(first).expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let expected = ["link", "run.checkpoint", "run.csv", "run.safetensors"];
    assert_eq!(folder.names(), expected);
    // And what a killed process left is removed.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in b"run.checkpoint" {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    fs::write(folder.path(&format!(".dst-{hash:016x}-99-0.tmp")), "half").unwrap();
    fs::write(folder.path("run.lock"), "").unwrap();
    let done = fs::read_to_string(folder.path("run.csv"))
        .unwrap()
        .lines()
        .count()
        - 1;
    let steps = (done + 1).to_string();
    succeeds(dst(&training(&out, &steps, &["--resume"])));
    assert_eq!(folder.names(), expected);
}

/// `run0.1` is a name, not `run0` with an extension.
#[test]
fn extensions_are_appended() {
    let folder = Scratch::new("append");
    fs::write(folder.path("run0.csv"), "mine").unwrap();
    let out = folder.path("run0.1");
    succeeds(dst(&training(&out, "1", &[])));
    assert_eq!(fs::read_to_string(folder.path("run0.csv")).unwrap(), "mine");
    assert_eq!(
        folder.names(),
        ["run0.1", "run0.1.checkpoint", "run0.1.csv", "run0.csv"]
    );
}

/// Files beside the weights that another program made are not written over and not removed.
#[test]
fn files_of_others_stay() {
    let folder = Scratch::new("others");
    for (name, reason) in [
        ("run.lock", "it is no lock of a training"),
        ("run.csv", "is no log of a training"),
    ] {
        fs::write(folder.path(name), "mine\n").unwrap();
        let out = folder.path("run.safetensors");
        for more in [&[][..], &["--resume"]] {
            let (code, text) = fails(dst(&training(&out, "1", more)));
            assert!(code == 2 && text.contains(reason), "{text}");
            assert!(
                text.contains(name) && text.ends_with("choose another name"),
                "{text}"
            );
            assert_eq!(fs::read_to_string(folder.path(name)).unwrap(), "mine\n");
            assert_eq!(folder.names(), [name]);
        }
        fs::remove_file(folder.path(name)).unwrap();
    }
}

/// Every option that changes the result must be that of the checkpoint.
#[test]
fn a_resumed_training_is_the_same_training() {
    let folder = Scratch::new("same");
    let out = folder.path("run.safetensors");
    let run = |steps, more: &[&str]| dst(&training(&out, steps, more));
    succeeds(run("2", &["--batch", "3"]));
    let changes: [&[&str]; 9] = [
        &["--batch", "3", "--validate-every", "7"],
        &["--batch", "4"],
        &["--batch", "3", "--rate", "1e-3"],
        &["--batch", "3", "--seed", "2"],
        &["--batch", "3", "--spread", "0.5"],
        &["--batch", "3", "--second-order"],
        &["--batch", "3", "--loss", "log"],
        &["--batch", "3", "--penalty", "literal"],
        &["--batch", "3", "--model", "dm"],
    ];
    for change in changes {
        let (code, text) = fails(run("3", &[change, &["--resume"]].concat()));
        assert_eq!(code, 1, "{text}");
        let said = text.contains("belongs to another training");
        assert!(said, "{change:?}: {text}");
    }
    succeeds(run("3", &["--batch", "3", "--resume"]));
}

/// On a terminal, a task that takes long has a bar, even one without countable parts; none with --quiet.
#[test]
fn long_commands_show_progress_on_a_terminal() {
    let folder = Scratch::new("bars");
    // Arguments, and the words beside the bar.
    let commands = [
        ("validate --dim 5000 --no-truth", "making the problem"),
        ("l2o bench --repeat 100000", "measuring"),
        ("l2o test --problems 4000", "tuning Adam|testing"),
        ("l2o train --out run.safetensors", "training"),
        ("control --out figures", "control"),
        ("control export --late 1e-5", "simulating the active set"),
        (
            "tune --dim 4000 --method preconditioned --out out",
            "the problem|tuning preconditioned",
        ),
        (
            "ola --data a1a --tolerance 1e-300 --max-iterations 1000000 --out runs",
            "ola",
        ),
        (
            "ola --data a1a --method adam --reg 1e-3 --tolerance 1e-300 --max-iterations 1000000000",
            "running adam",
        ),
        ("reproduce --only validation --out report", "validation"),
    ];
    let start = |arguments: &str| {
        let program = env!("CARGO_BIN_EXE_dst");
        // `timeout` is of the same package as `kill` and `mkfifo`.
        let command = format!("timeout -s INT 6 {program} {arguments}");
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]);
        let script = script.current_dir(&folder.0).stdin(Stdio::null());
        script.stdout(Stdio::piped()).spawn().ok()
    };
    let text = |child: Option<Child>| {
        let output = child?.wait_with_output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let quiet = start(&format!("{} --quiet", commands[0].0));
    let loud = commands.map(|(arguments, words)| (start(arguments), words));
    let Some(quiet) = text(quiet) else {
        eprintln!("no terminal to be had: not run");
        return;
    };
    assert!(!quiet.contains(commands[0].1), "{quiet:?}");
    for (child, words) in loud {
        let shown = text(child).expect("a terminal");
        assert!(
            words.split('|').any(|words| shown.contains(words)),
            "{words}: {shown:?}"
        );
    }
}
