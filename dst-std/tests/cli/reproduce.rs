//! `dst reproduce`: the page, the files, the errors, Ctrl-C.

use std::fs;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::Command;

use serde_json::Value;

use crate::support::{Scratch, json, markup, no_result, text, usage};

/// Checks that the page is well-formed and that every file it links to exists.
fn check_page(directory: &Path) -> String {
    let html = fs::read_to_string(directory.join("index.html")).unwrap();
    markup::check(&html).unwrap();
    // The script names a clip path of the page, which is no address.
    let outside_links = html.replace("url(#", "");
    for word in ["http", "src=", "@import", "url("] {
        assert!(!outside_links.contains(word), "{word}");
    }
    assert_eq!(html.matches("<script>").count(), 1);
    for link in html.split("href=\"").skip(1) {
        let target = link.split('"').next().unwrap();
        match target.strip_prefix('#') {
            Some(anchor) => assert!(html.contains(&format!("id=\"{anchor}\"")), "{target}"),
            None => assert!(directory.join(target).is_file(), "{target}"),
        }
    }
    html
}

#[test]
fn a_quick_run_writes_a_whole_page() {
    let scratch = Scratch::new("quick");
    // Without a terminal there are no bars on standard error.
    let text = text(&[
        "reproduce",
        "--quick",
        "--only",
        "illustration",
        "--out",
        scratch.text(),
        "--threads",
        "2",
    ]);
    assert!(
        text.starts_with("quick run of 1 experiment, 2 threads, seed 1"),
        "{text}"
    );
    assert!(text.contains("4 of 4 claims hold"), "{text}");
    let page = scratch.0.join("index.html");
    assert!(
        text.ends_with(&format!("page: {}\n", page.display())),
        "{text}"
    );
    let html = check_page(&scratch.0);
    // Figure 1 has two panels; the figure of errors is there once for wide and once for narrow screens.
    assert_eq!(html.matches("<svg").count(), 4);
    assert!(html.contains("id=\"banner\""), "a quick run says so");
    assert_eq!(html.matches("class=\"verdict yes\"").count(), 4);
    assert!(!html.contains("Still running") && !html.contains("interrupted"));
    for name in scratch.names() {
        let content = fs::read_to_string(scratch.0.join(&name)).unwrap();
        if name.ends_with(".svg") {
            markup::check(&content).unwrap();
            assert!(content.starts_with("<svg xmlns="), "{name}");
        } else if name.ends_with(".csv") {
            let mut lines = content.split_terminator("\r\n");
            let fields = lines.next().unwrap().split(',').count();
            assert!(
                lines.all(|line| line.split(',').count() == fields),
                "{name}"
            );
        } else {
            assert_eq!(name, "index.html");
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let files = |threads: &str| {
        let scratch = Scratch::new(&format!("threads-{threads}"));
        let out = scratch.text();
        text(&[
            "reproduce",
            "--quick",
            "--only",
            "illustration",
            "--threads",
            threads,
            "--out",
            out,
        ]);
        let read = |name: String| {
            let content = fs::read_to_string(scratch.0.join(&name)).unwrap();
            (name, content)
        };
        let names = scratch.names().into_iter();
        // The page names the threads; the results are in the others.
        let files: Vec<_> = names.filter(|n| n != "index.html").map(read).collect();
        assert!(files.len() > 5);
        files
    };
    assert_eq!(files("1"), files("3"));
}

#[test]
fn the_json_object_lists_claims_and_files() {
    let scratch = Scratch::new("json");
    let out = scratch.text();
    let summary = json(&[
        "reproduce",
        "--quick",
        "--only",
        "illustration",
        "--json",
        "--seed",
        "7",
        "--out",
        out,
    ]);
    assert_eq!(summary["seed"], 7);
    assert_eq!(summary["interrupted"], false);
    let experiment = &summary["experiments"][0];
    assert_eq!(experiment["name"], "illustration");
    assert_eq!(experiment["error"], Value::Null);
    assert_eq!(experiment["claims"][0]["verdict"], "holds");
    let mut files: Vec<&str> = summary["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    files.sort_unstable();
    assert_eq!(files, scratch.names());
}

#[test]
fn quiet_prints_only_the_result() {
    let scratch = Scratch::new("quiet");
    let text = text(&[
        "reproduce",
        "--quick",
        "--only",
        "illustration",
        "--quiet",
        "--out",
        scratch.text(),
    ]);
    assert!(
        !text.contains("quick run") && text.contains("page: "),
        "{text}"
    );
}

#[test]
fn bad_values_are_refused_and_nothing_is_written() {
    let scratch = Scratch::new("refused");
    let file = scratch.path("file");
    fs::write(&file, "x").unwrap();
    for case in [
        usage(
            &["--threads", "0"],
            "error: --threads must be at least 1, got '0'",
        ),
        usage(
            &["--threads", "-2"],
            "error: --threads must be at least 1, got '-2'",
        ),
        usage(
            &["--threads", "100000"],
            "error: --threads must be at most 1024, got '100000'",
        ),
        usage(
            &["--seed", "x"],
            "error: --seed must be a whole number, got 'x'",
        ),
        usage(&["--only", "nonsense"], "error: --only must be "),
    ] {
        case.check("reproduce");
    }
    for subcommand in ["reproduce", "illustrate"] {
        no_result(&["--out", &file], "error: the directory '").check(subcommand);
    }
    assert_eq!(scratch.names(), ["file"]);
}

/// Files that are not temporary.
#[cfg(target_os = "linux")]
fn final_names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect()
}

/// A limit on file sizes stands for a full disk: a write fails half-way.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_partial_file() {
    let scratch = Scratch::new("full");
    for command in ["reproduce --quick", "illustrate"] {
        let script = format!("trap '' XFSZ; ulimit -f 2; exec \"$0\" {command} --out \"$1\"");
        let output = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_dst"), scratch.text()])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.starts_with("error: '") && text.lines().count() == 1,
            "{text}"
        );
        assert!(
            text.ends_with("cannot be written: file too large\n"),
            "{text}"
        );
        assert!(final_names(&scratch.0).is_empty());
        assert!(scratch.names().is_empty(), "{:?}", scratch.names());
    }
}

#[test]
fn help_lists_every_option() {
    let text = text(&["reproduce", "--help"]);
    for word in [
        "Examples:",
        "--quick",
        "--only",
        "--out",
        "--threads",
        "--seed",
        "--json",
        "--quiet",
        "Ctrl-C",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

/// Ctrl-C, as a terminal sends it, at a fixed moment. Standard output is a full pipe, so the program blocks on its first
/// line, which comes before the first experiment, until the test reads.
#[cfg(target_os = "linux")]
mod ctrl_c {
    use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
    use std::process::{Child, ChildStderr, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::support::{interrupt, program};

    const MOMENT: Duration = Duration::from_millis(50);

    struct Waiting {
        child: Child,
        complaints: BufReader<ChildStderr>,
        stdout: PipeReader,
    }

    /// Starts a run that waits before its first experiment.
    fn waiting(out: &Path) -> Waiting {
        let (reader, writer) = io::pipe().unwrap();
        let mut filler = writer.try_clone().unwrap();
        let filled = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&filled);
        // More than any pipe holds; the thread ends when the pipe is read, or closed.
        thread::spawn(move || {
            while counter.load(Ordering::SeqCst) < 4096 && filler.write_all(&[b'x'; 1024]).is_ok() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        let mut before = 0;
        loop {
            thread::sleep(MOMENT);
            let now = filled.load(Ordering::SeqCst);
            if now > 0 && now == before {
                break;
            }
            before = now;
        }
        let mut child = program()
            .args(["reproduce", "--quick", "--only", "illustration", "--out"])
            .arg(out)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The directory is made when the handler is in place.
        while !out.is_dir() {
            assert!(child.try_wait().unwrap().is_none(), "it ended too early");
            thread::sleep(MOMENT);
        }
        let complaints = BufReader::new(child.stderr.take().unwrap());
        Waiting {
            child,
            complaints,
            stdout: reader,
        }
    }

    impl Waiting {
        fn interrupt(&self) -> bool {
            interrupt(&self.child)
        }

        fn complaint(&mut self) -> String {
            let mut line = String::new();
            self.complaints.read_line(&mut line).unwrap();
            line
        }

        fn give_up(mut self) {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }

    #[test]
    fn one_ctrl_c_keeps_the_finished_experiments() {
        let scratch = Scratch::new("ctrl-c");
        let out = scratch.0.join("report");
        let mut run = waiting(&out);
        if !run.interrupt() {
            return run.give_up();
        }
        let line = run.complaint();
        assert!(line.starts_with("interrupted: "), "{line}");
        let Waiting {
            mut child,
            mut complaints,
            mut stdout,
        } = run;
        // Reading lets it go on.
        let reader = thread::spawn(move || stdout.read_to_end(&mut Vec::new()));
        let mut rest = String::new();
        complaints.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
        assert!(rest.contains("what is finished is in"), "{rest}");
        reader.join().unwrap().unwrap();
        let html = check_page(&out);
        assert!(html.contains("This run was interrupted"), "{html}");
        assert!(!html.contains("<svg"), "no experiment was to begin");
        let names: Vec<_> = fs::read_dir(&out).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn two_ctrl_c_end_at_once() {
        let scratch = Scratch::new("ctrl-c-twice");
        let out = scratch.0.join("report");
        let mut run = waiting(&out);
        if !run.interrupt() {
            return run.give_up();
        }
        run.complaint();
        assert!(run.interrupt());
        assert_eq!(run.child.wait().unwrap().code(), Some(130));
        assert!(final_names(&out).is_empty());
    }
}
