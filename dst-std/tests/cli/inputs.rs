//! Inputs of any size and content: refused before they fill the memory, and printed without their control characters. Options that
//! have no effect are refused.

use std::fs;
use std::process::{Command, Output};

use crate::support::{Scratch, dst, fails, program, text, usage};

const MOST: &str = "18446744073709551615";

/// Runs the program with at most 4 GB of address space; none without a shell.
fn limited(arguments: &[&str]) -> Option<Output> {
    limited_to("4000000", arguments)
}

/// The same with this number of kilobytes.
fn limited_to(kilobytes: &str, arguments: &[&str]) -> Option<Output> {
    let program = program();
    let mut shell = Command::new("sh");
    let line = format!("ulimit -v {kilobytes} && exec \"$@\"");
    shell.args(["-c", &line, "sh"]);
    shell.arg(program.get_program()).args(arguments);
    shell.env_remove("DST_DATA").output().ok()
}

/// Two examples whose vectors have 160 MB each: 20 bytes took 17 GB.
#[test]
fn sizes_beyond_the_memory_are_refused_with_a_remedy() {
    let scratch = Scratch::new("beyond");
    let wide = scratch.path("wide");
    fs::write(&wide, "1 20000000:1\n-1 1:1\n").unwrap();
    let out = scratch.path("out");
    let cases: [(&[&str], &str); 18] = [
        (&["tune", "--data", &wide, "--out", &out], "lower --starts"),
        (&["ola", "--data", &wide, "--out", &out], "features"),
        (&["ola", "--data", &wide, "--method", "adam"], "features"),
        (&["tune", "--starts", MOST, "--out", &out], "lower --starts"),
        (
            &["tune", "--held-out", MOST, "--out", &out],
            "lower --held-out",
        ),
        (
            &["tune", "--dim", MOST, "--out", &out],
            "lower --starts or --dim",
        ),
        (
            &[
                "tune",
                "--dim",
                MOST,
                "--problem",
                "rosenbrock",
                "--out",
                &out,
            ],
            "--dim",
        ),
        (&["l2o", "bench", "--repeat", MOST], "lower --repeat"),
        (&["l2o", "bench", "--batch", MOST], "lower --batch"),
        (&["l2o", "test", "--problems", MOST], "lower --problems"),
        (
            &["l2o", "test", "--steps", MOST],
            "lower --problems or --steps",
        ),
        (
            &["l2o", "train", "--batch", MOST, "--out", &out],
            "lower --batch",
        ),
        (
            &[
                "l2o",
                "train",
                "--segment-steps",
                MOST,
                "--segments",
                MOST,
                "--out",
                &out,
            ],
            "lower --segment-steps",
        ),
        (
            &[
                "l2o",
                "train",
                "--dim",
                MOST,
                "--samples",
                MOST,
                "--out",
                &out,
            ],
            "--dim",
        ),
        (&["validate", "--dim", MOST], "use --basis hh8"),
        (
            &["validate", "--dim", MOST, "--basis", "hh8"],
            "use a smaller --dim",
        ),
        (
            &["control", "export", "--late", "1e-12", "--out", &out],
            "raise --late",
        ),
        (
            &["checkpoints", "--slots", MOST, "--steps", MOST],
            "raise --slots or lower --steps",
        ),
    ];
    for (arguments, remedy) in cases {
        let Some(output) = limited(arguments) else {
            eprintln!("no shell: not run");
            return;
        };
        let (code, text) = fails(output);
        assert!(code == 1 || code == 2, "{text}");
        assert!(text.contains(remedy), "{arguments:?}: {text}");
        let sizes = text.contains("needs") && text.contains("are free");
        assert!(
            sizes || arguments[0] == "checkpoints",
            "{arguments:?}: {text}"
        );
    }
}

/// A file of two megabytes with bounds for all of its instances: 16 GB.
#[test]
fn bounds_of_many_instances_are_refused_with_a_remedy() {
    let scratch = Scratch::new("instances");
    let file = scratch.path("many.json");
    let rows = |row: &str, count: usize| vec![row; count].join(",");
    let (row, bound) = (rows("[1]", 4000), rows("1", 4000));
    let instances = rows("[1]", 250_000);
    let text = format!(r#"{{"P":[[1]],"A":[{row}],"q":[{instances}],"u":[[{bound}]]}}"#);
    fs::write(&file, text).unwrap();
    let Some(output) = limited(&["qp", "tune", "--problem", &file]) else {
        eprintln!("no shell: not run");
        return;
    };
    let (code, text) = fails(output);
    assert!(
        code == 1 && text.contains("needs 14.9 GiB") && text.contains("give fewer instances"),
        "{text}"
    );
}

/// Files of a few megabytes whose numbers take many times as much, while there is little.
#[test]
fn files_that_grow_in_memory_are_refused_with_a_remedy() {
    let scratch = Scratch::new("growing");
    let digits = |text: &str, count: usize| vec![text; count].concat();
    let write = |name: &str, content: &[u8]| {
        let path = scratch.path(name);
        fs::write(&path, content).unwrap();
        path
    };
    let motor = include_str!("../../../tests/c/controllers/motor.json");
    let states = write("states.csv", digits("1\n", 12_000_000).as_bytes());
    let start = motor.replace("[1.0, 0.6],", r#"{"file": "states.csv"},"#);
    assert_ne!(start, motor);
    let model = write("model.json", start.as_bytes());
    let list = format!(r#"{{"a": [[{}0]]}}"#, digits("0,", 8_000_000));
    let large = write("large.json", list.as_bytes());
    let rows = digits("[1],", 6_000_000);
    let rows = format!(r#"{{"P":[[1]],"A":[[1]],"q":[{rows}[1]],"u":[[1]]}}"#);
    let program = write("rows.json", rows.as_bytes());
    let theta = format!(r#"{{"theta": [{}0]}}"#, digits("0,", 20_000_000));
    let theta = write("theta.json", theta.as_bytes());
    let array = write("array.npz", &array(80_000_000));
    let out = scratch.path("out");
    let cases: [(&str, &[&str], &str); 5] = [
        (
            "900000",
            &["control", "export", "--model", &model],
            "give fewer states",
        ),
        (
            "500000",
            &["control", "export", "--model", &large],
            "give fewer",
        ),
        (
            "600000",
            &["qp", "tune", "--problem", &program],
            "write an .npz file",
        ),
        (
            "400000",
            &["tune", "--from", &theta, "--out", &out],
            "give fewer",
        ),
        ("300000", &["qp", "tune", "--problem", &array], "give fewer"),
    ];
    for (kilobytes, arguments, remedy) in cases {
        let Some(output) = limited_to(kilobytes, arguments) else {
            eprintln!("no shell: not run");
            return;
        };
        let (code, text) = fails(output);
        assert!(
            code == 1 && text.contains("are free"),
            "{arguments:?}: {text}"
        );
        assert!(text.contains(remedy), "{arguments:?}: {text}");
    }
    fs::remove_file(states).unwrap();
}

/// An archive of numpy with a `P` of this many bytes, numbers of four each.
fn array(bytes: usize) -> Vec<u8> {
    let (name, columns) = (b"P.npy", bytes / 4);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {columns}), }}\n");
    let mut content = b"\x93NUMPY\x01\x00".to_vec();
    content.extend((header.len() as u16).to_le_bytes());
    content.extend(header.as_bytes());
    content.resize(content.len() + bytes, 0);
    let (size, length) = (
        (content.len() as u32).to_le_bytes(),
        (name.len() as u16).to_le_bytes(),
    );
    let mut archive = [&b"PK\x03\x04"[..], &[0; 22], &length, &[0; 2], name].concat();
    archive.extend(content);
    let list = archive.len() as u32;
    let entry = [
        &b"PK\x01\x02"[..],
        &[0; 16],
        &size,
        &size,
        &length,
        &[0; 16],
        name,
    ]
    .concat();
    archive.extend(&entry);
    archive.extend([&b"PK\x05\x06"[..], &[0; 4], &[1, 0, 1, 0]].concat());
    archive.extend((entry.len() as u32).to_le_bytes());
    archive.extend(list.to_le_bytes());
    archive.extend([0; 2]);
    archive
}

/// Numbers near 2⁶⁴ that take no memory are only large numbers.
#[test]
fn large_numbers_that_cost_nothing_are_allowed() {
    let out = Scratch::new("large");
    let cases: [&[&str]; 6] = [
        // Its search reaches infinity.
        &[
            "tune",
            "--dim",
            "4",
            "--method",
            "gd",
            "--alpha",
            "1e308",
            "--starts",
            "2",
            "--held-out",
            "2",
            "--out",
            out.text(),
        ],
        &[
            "tune",
            "--dim",
            "4",
            "--rounds",
            MOST,
            "--starts",
            "2",
            "--held-out",
            "2",
            "--out",
            out.text(),
        ],
        &[
            "tune",
            "--dim",
            "4",
            "--max-steps",
            MOST,
            "--starts",
            "2",
            "--held-out",
            "2",
            "--out",
            out.text(),
        ],
        &[
            "validate",
            "--dim",
            "4",
            "--slots",
            MOST,
            "--max-steps",
            MOST,
        ],
        &["illustrate", "--slots", MOST],
        &[
            "ola",
            "--data",
            "a1a",
            "--method",
            "adam-ola",
            "--window",
            MOST,
            "--max-iterations",
            "20",
        ],
    ];
    for arguments in cases {
        text(arguments);
    }
}

#[cfg(unix)]
#[test]
fn files_without_end_are_refused() {
    let scratch = Scratch::new("endless");
    let (qp, out) = (scratch.path("endless.json"), scratch.path("out"));
    std::os::unix::fs::symlink("/dev/zero", &qp).unwrap();
    let cases: [&[&str]; 7] = [
        &["l2o", "test", "--weights", "/dev/zero"],
        &["l2o", "train", "--out", &out, "--from", "/dev/zero"],
        &["tune", "--from", "/dev/zero", "--out", &out],
        &[
            "ola",
            "--data",
            "a1a",
            "--method",
            "gd",
            "--x0",
            "/dev/zero",
        ],
        &["control", "export", "--model", "/dev/zero"],
        &["qp", "tune", "--problem", &qp],
        &["tune", "--data", "/dev/zero", "--out", &out],
    ];
    for arguments in cases {
        let (code, text) = fails(dst(arguments));
        let bound = text.contains("it has more than ") || text.contains("a word of 1024 bytes");
        assert!(code == 1 && bound, "{arguments:?}: {text}");
    }
    // The checkpoint of a training.
    std::os::unix::fs::symlink("/dev/zero", scratch.path("run.checkpoint")).unwrap();
    let run = scratch.path("run.safetensors");
    let (code, text) = fails(dst(&["l2o", "train", "--out", &run, "--resume"]));
    assert!(
        code == 1 && text.contains("it has more than 256 MiB"),
        "{text}"
    );
    // And a file that grows only where it is read.
    let model = scratch.path("model.json");
    let file = fs::File::create(&model).unwrap();
    file.set_len(1 << 40).unwrap();
    let (code, text) = fails(dst(&["control", "export", "--model", &model]));
    assert!(
        code == 1 && text.contains("it has more than 16.0 MiB"),
        "{text}"
    );
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let scratch = Scratch::new("escapes");
    let evil = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}1m\u{202e}";
    let path = scratch.path(&format!("{evil}.json"));
    let write = |text: &str| fs::write(&path, text).unwrap();
    let clean = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(bad), "{text:?}");
        text
    };
    let refused = |arguments: &[&str]| {
        let output = dst(arguments);
        assert_ne!(output.status.code(), Some(0));
        let text = clean(&output.stderr);
        assert!(text.contains("\\u{1b}"), "{text}");
    };
    let out = scratch.path("out");
    let key = r#"{"\u001b[2J\u009b": 1}"#;
    for content in [key, "1 \u{1b}[2J\n"] {
        write(content);
        refused(&["control", "export", "--model", &path]);
        refused(&["qp", "tune", "--problem", &path]);
        refused(&["tune", "--from", &path, "--out", &out]);
        refused(&["tune", "--data", &path, "--out", &out]);
        refused(&["ola", "--data", "a1a", "--method", "gd", "--x0", &path]);
        refused(&["l2o", "test", "--weights", &path]);
    }
    // A result that names a file.
    write("1 1:1\n-1 2:1\n");
    let run = ["ola", "--data", &path, "--method", "gd"];
    let output = dst(&run);
    assert!(clean(&output.stdout).starts_with("GD on \\u{1b}]0;title"));
    let output = dst(&[&run[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&clean(&output.stdout)).unwrap();
    assert_eq!(report["data"], format!("{evil}.json"));
}

/// Options that would have no effect.
#[test]
fn options_without_effect_are_refused() {
    let scratch = Scratch::new("no-effect");
    let data = scratch.path("data");
    fs::write(&data, "1 1:1\n-1 2:1\n").unwrap();
    let out = scratch.path("out");
    let train = ["l2o", "train", "--out", &out];
    let with = |more: &[&'static str]| [&train[..], more].concat();
    let cases = [
        (
            with(&["--target", "1e-3"]),
            "--target is for --penalty target",
        ),
        (
            with(&["--penalty", "guarded", "--target", "1e-3"]),
            "--target is for --penalty target",
        ),
        (
            with(&["--warm-up", "3"]),
            "--warm-up is for --penalty guarded, carried or target",
        ),
        (
            with(&["--penalty", "2", "--warm-up", "3"]),
            "--warm-up is for --penalty guarded, carried or target",
        ),
    ];
    for (arguments, words) in &cases {
        usage(arguments, words).check_between(&[], &[]);
    }
    for case in [
        usage(
            &[
                "tune",
                "--problem",
                "quadratic",
                "--dim",
                "4",
                "--data",
                &data,
            ],
            "--data is for the problems logistic and svm",
        ),
        usage(
            &["validate", "--no-truth", "--rtol", "1e-6"],
            "--rtol is for the adaptive solver",
        ),
        usage(&["validate", "--dense"], "--dense is for an hhM basis"),
        usage(
            &["ola", "--method", "gd", "--threads", "2"],
            "--threads does not go with --method gd",
        ),
        usage(
            &[
                "ola", "--method", "adam-ola", "--guard", "log", "--eta", "1",
            ],
            "--eta and --descent go with --guard none",
        ),
    ] {
        case.check_between(&[], &[]);
    }
    let output = dst(&["control", "--quick", "template"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
