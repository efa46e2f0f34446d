//! Places that a result may be written to, whatever they are: one mechanism serves every command.

#![cfg(unix)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Scratch, dst, fails, program, succeeds};

/// A run that writes ten numbers to `file`.
fn gradient(file: &str) -> Vec<&str> {
    let run = ["validate", "--dim", "4", "--no-truth", "--quiet"];
    [&run[..], &["--gradient-out", file]].concat()
}

fn numbers(text: &str) -> usize {
    text.lines()
        .filter(|line| line.parse::<f64>().is_ok())
        .count()
}

/// Every command that writes a file, with the file. They take an instant.
fn writers(out: &str, model: &str) -> Vec<Vec<String>> {
    let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        texts(&gradient(out)),
        texts(&[
            "ola",
            "--data",
            model,
            "--method",
            "gd",
            "--quiet",
            "--save-weights",
            out,
        ]),
        texts(&[
            "tune",
            "--quiet",
            "--method",
            "gd",
            "--dim",
            "4",
            "--starts",
            "2",
            "--held-out",
            "2",
            "--rounds",
            "2",
            "--out",
            "figures",
            "--save",
            out,
        ]),
        texts(&[
            "l2o",
            "train",
            "--quiet",
            "--dim",
            "4",
            "--samples",
            "2",
            "--batch",
            "1",
            "--steps",
            "1",
            "--segments",
            "1",
            "--segment-steps",
            "2",
            "--out",
            out,
        ]),
    ]
}

#[test]
fn a_link_stays_a_link_and_a_file_keeps_its_mode() {
    let scratch = Scratch::new("kept");
    let data = scratch.path("data");
    fs::write(&data, "1 1:1\n-1 2:1\n").unwrap();
    for (number, arguments) in writers(&scratch.path("link"), &data).iter().enumerate() {
        let (file, link) = (scratch.0.join("file"), scratch.0.join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        symlink("file", &link).unwrap();
        let output = program().current_dir(&scratch.0).args(arguments).output();
        succeeds(output.unwrap());
        assert!(
            fs::symlink_metadata(&link).unwrap().is_symlink(),
            "{number}"
        );
        assert_ne!(fs::read(&file).unwrap(), b"old", "{number}");
        assert_eq!(
            fs::metadata(&file).unwrap().mode() & 0o777,
            0o600,
            "{number}"
        );
        for name in scratch.names() {
            if name != "data" && name != "figures" {
                fs::remove_file(scratch.0.join(name)).unwrap();
            }
        }
    }
}

#[test]
fn read_only_files_directories_and_sockets_are_refused_before_the_work() {
    let scratch = Scratch::new("refused-places");
    let data = scratch.path("data");
    fs::write(&data, "1 1:1\n-1 2:1\n").unwrap();
    let (file, socket) = (scratch.path("file"), scratch.path("socket"));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let long = scratch.path(&"x".repeat(256));
    let before = scratch.names();
    for (place, words) in [
        (file.as_str(), "it is read-only"),
        (&socket, "it is a socket"),
        (scratch.text(), "is a directory"),
        (&long, "file name too long"),
        ("/nowhere/file", "no such file or directory"),
    ] {
        for arguments in writers(place, &data) {
            let output = program().current_dir(&scratch.0).args(&arguments).output();
            let (code, text) = fails(output.unwrap());
            assert!(code == 1 || code == 2, "{text}");
            assert!(text.contains(words), "{arguments:?}: {text}");
            assert_eq!(scratch.names(), before, "{arguments:?}");
        }
    }
    assert_eq!(fs::read(&file).unwrap(), b"old");
}

#[test]
fn devices_and_pipes_are_written_to() {
    let scratch = Scratch::new("devices");
    succeeds(dst(&gradient("/dev/null")));
    let found = fs::metadata("/dev/null").unwrap();
    assert!(found.file_type().is_char_device());
    if Path::new("/dev/full").exists() {
        let (code, text) = fails(dst(&gradient("/dev/full")));
        assert!(
            code == 1 && text.contains("no space left on device"),
            "{text}"
        );
        assert!(
            fs::metadata("/dev/full")
                .unwrap()
                .file_type()
                .is_char_device()
        );
    }
    // Standard output as a pipe, and as a file that is not written over.
    let text = succeeds(dst(&gradient("/dev/stdout")));
    assert_eq!(numbers(&text), 40, "{text}");
    assert!(text.contains("stops after N"), "{text}");
    let path = scratch.0.join("all");
    let status = program()
        .args(gradient("/dev/stdout"))
        .stdout(File::create(&path).unwrap())
        .status();
    assert!(status.unwrap().success());
    assert_eq!(
        fs::read_to_string(&path).unwrap().lines().count(),
        text.lines().count()
    );
    // A pipe with a name.
    let pipe = scratch.path("pipe");
    if !Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .is_ok_and(|s| s.success())
    {
        eprintln!("no mkfifo: not run");
        return;
    }
    let child = program()
        .args(gradient(&pipe))
        .stdout(Stdio::null())
        .spawn();
    let read = fs::read_to_string(&pipe).unwrap();
    assert!(child.unwrap().wait().unwrap().success());
    assert_eq!(numbers(&read), 40);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

/// Files of an export belong together: none is new if one of them stays old.
#[test]
fn an_export_beside_a_protected_file_writes_nothing() {
    let scratch = Scratch::new("protected");
    let program = scratch.path("boxes.json");
    fs::write(
        &program,
        include_str!("../../../tests/c/programs/boxes.json"),
    )
    .unwrap();
    let export = ["qp", "tune", "--quick", "--problem", &program, "--out"];
    let control = [
        "control",
        "export",
        "--quick",
        "--ticks",
        "5",
        "--solver",
        "active-set",
        "--out",
    ];
    for (arguments, file) in [
        (&export[..], "boxes.h"),
        (&control, "quadrotor.h"),
        (&control, "dst_active_set.h"),
    ] {
        let out = scratch.0.join(file.replace('.', "-"));
        fs::create_dir(&out).unwrap();
        fs::write(out.join(file), "old").unwrap();
        fs::set_permissions(out.join(file), Permissions::from_mode(0o444)).unwrap();
        let arguments = [arguments, &[out.to_str().unwrap()]].concat();
        let (code, text) = fails(dst(&arguments));
        assert!(code == 1 && text.contains("it is read-only"), "{text}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1, "{file}");
    }
}

/// A file system of a few kilobytes, which only the superuser can make.
#[test]
fn a_full_disk_leaves_what_was_there() {
    let scratch = Scratch::new("small-disk");
    let mount = |words: &[&str]| {
        let status = Command::new(words[0])
            .args(&words[1..])
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    };
    let disk = scratch.path("disk");
    fs::create_dir(&disk).unwrap();
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", &disk]) {
        eprintln!("not the superuser: not run");
        return;
    }
    let file = format!("{disk}/file");
    fs::write(&file, "old").unwrap();
    let arguments = [
        "validate",
        "--dim",
        "100",
        "--no-truth",
        "--quiet",
        "--gradient-out",
        &file,
    ];
    let output = dst(&arguments);
    let (names, content) = (
        fs::read_dir(&disk).unwrap().count(),
        fs::read(&file).unwrap(),
    );
    // And a directory for which there was room, but not for what is in it.
    fs::write(format!("{disk}/rest"), "all of it").unwrap();
    let (_, refused) = fails(dst(&["illustrate", "--out", &format!("{disk}/new")]));
    let after = fs::read_dir(&disk).unwrap().count();
    assert!(mount(&["umount", &disk]));
    assert!(refused.contains("no space left on device"), "{refused}");
    assert_eq!(after, 2);
    let (code, text) = fails(output);
    assert!(
        code == 1 && text.contains("no space left on device"),
        "{text}"
    );
    assert_eq!((names, content.as_slice()), (1, &b"old"[..]));
}

/// A directory with files that belong together has one user.
#[test]
fn a_directory_in_use_is_refused() {
    let scratch = Scratch::new("in-use");
    let folder = File::open(&scratch.0).unwrap();
    // Without a solution, which takes work to see: the refusal comes before it.
    let program = scratch.path("boxes.json");
    let boxes = include_str!("../../../tests/c/programs/boxes.json");
    let boxes = boxes.replace("[[-1, -1, null]]", "[[-1, -1, 5]]");
    fs::write(&program, boxes.replace("1.5", "6")).unwrap();
    let commands: [&[&str]; 5] = [
        &["reproduce", "--quick", "--only", "illustration", "--out"],
        &["illustrate", "--out"],
        &["control", "export", "--quick", "--out"],
        &["ola", "--data", "a1a", "--out"],
        &["qp", "tune", "--problem", &program, "--out"],
    ];
    let tune = [
        "tune",
        "--dim",
        "4",
        "--method",
        "gd",
        "--starts",
        "2",
        "--held-out",
        "2",
        "--out",
    ];
    let refused = |arguments: &[&str]| {
        let (code, text) = fails(dst(&[arguments, &[scratch.text()]].concat()));
        assert!(
            code == 1 && text.contains("is in use by another dst"),
            "{text}"
        );
    };
    folder.lock_shared().unwrap();
    commands.into_iter().for_each(refused);
    // Single files with names of their own do not mix.
    succeeds(dst(&[&tune[..], &[scratch.text()]].concat()));
    folder.unlock().unwrap();
    folder.lock().unwrap();
    refused(&tune);
}
