use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::scratch::Scratch;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn links_are_followed_and_stay() {
    let scratch = Scratch::new("links");
    let at = |name: &str| scratch.0.join(name);
    fs::create_dir(at("folder")).unwrap();
    symlink("folder/file", at("first")).unwrap();
    symlink(at("first"), at("second")).unwrap();
    // Behind the links there is nothing yet, then a file.
    for content in ["one", "two"] {
        write_file(&at("second"), content.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(at("folder/file")).unwrap(), content);
        assert!(fs::symlink_metadata(at("second")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(at("first")).unwrap().is_symlink());
    }
    symlink("b", at("a")).unwrap();
    symlink("a", at("b")).unwrap();
    let error = write_file(&at("a"), b"x").unwrap_err();
    assert!(error.ends_with("symbolic links form a circle"), "{error}");
    assert_eq!(try_to_write(&at("a")), Err(error));
    assert_eq!(scratch.names(), ["a", "b", "first", "folder", "second"]);
}

#[test]
fn an_existing_file_keeps_its_mode() {
    let scratch = Scratch::new("mode");
    let path = scratch.0.join("file");
    fs::write(&path, "old").unwrap();
    for bits in [0o600, 0o640, 0o755] {
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
        write_file(&path, b"new").unwrap();
        assert_eq!(mode(&path), bits);
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let error = write_file(&path, b"newer").unwrap_err();
    assert!(error.ends_with("file' cannot be written: it is read-only"));
    assert_eq!(try_to_write(&path), Err(error));
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(scratch.names(), ["file"]);
}

/// Only the superuser may give a file away.
#[test]
fn an_existing_file_keeps_its_owner() {
    let scratch = Scratch::new("owner");
    let path = scratch.0.join("file");
    fs::write(&path, "old").unwrap();
    if std::os::unix::fs::chown(&path, Some(1234), Some(2345)).is_err() {
        eprintln!("not the superuser: not run");
        return;
    }
    write_file(&path, b"new").unwrap();
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.gid()), (1234, 2345));
}

/// As containers have them. Only the superuser may mount.
#[test]
fn a_file_that_is_a_mount_point_is_written_over() {
    let scratch = Scratch::new("mounted");
    let (path, behind) = (scratch.0.join("file"), scratch.0.join("behind"));
    fs::write(&path, "hidden").unwrap();
    fs::write(&behind, "old and longer").unwrap();
    let system = |name: &str, arguments: &[&OsStr]| {
        let run = std::process::Command::new(name).args(arguments).output();
        run.is_ok_and(|output| output.status.success())
    };
    if !system(
        "mount",
        &["--bind".as_ref(), behind.as_ref(), path.as_ref()],
    ) {
        eprintln!("not the superuser: not run");
        return;
    }
    let written = write_file(&path, b"new");
    assert!(system("umount", &[path.as_ref()]));
    assert_eq!(written, Ok(()));
    assert_eq!(fs::read_to_string(&behind).unwrap(), "new");
    assert_eq!(fs::read_to_string(&path).unwrap(), "hidden");
    assert_eq!(scratch.names(), ["behind", "file"]);
}

#[test]
fn what_is_no_regular_file_is_written_to_or_refused() {
    let scratch = Scratch::new("kinds");
    write_file(Path::new("/dev/null"), b"x").unwrap();
    let found = fs::metadata("/dev/null").unwrap();
    assert!(!found.is_file(), "/dev/null is no device any more");
    if Path::new("/dev/full").exists() {
        let error = write_file(Path::new("/dev/full"), b"x").unwrap_err();
        assert!(error.contains("no space left"), "{error}");
    }
    let socket = scratch.0.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let error = try_to_write(&socket).unwrap_err();
    assert!(error.ends_with("it is a socket"), "{error}");
    let error = try_to_write(&scratch.0).unwrap_err();
    assert!(error.ends_with("is a directory"), "{error}");
    // The name of a directory that is not there.
    let error = try_to_write(&scratch.0.join("new/")).unwrap_err();
    assert!(
        error.ends_with("new/' cannot be written: is a directory"),
        "{error}"
    );
    let long = scratch.0.join("x".repeat(300));
    let error = try_to_write(&long).unwrap_err();
    assert!(error.ends_with("file name too long"), "{error}");
    // A name as long as names can be is written all the same.
    let longest = scratch.0.join("x".repeat(255));
    try_to_write(&longest).unwrap();
    write_file(&longest, b"x").unwrap();
    assert_eq!(scratch.names().len(), 2);
}

#[test]
fn what_killed_processes_left_is_removed_and_nothing_else() {
    let scratch = Scratch::new("left");
    let at = |name: &str| scratch.0.join(name);
    let left = |name: &str| format!("{}99-0.tmp", prefix(OsStr::new(name)));
    for name in [&left("mine"), &left("other"), "mine", ".dst-notes.tmp"] {
        fs::write(at(name), "x").unwrap();
    }
    remove_left(&at("mine"));
    let mut expected = vec![
        left("other"),
        "mine".to_owned(),
        ".dst-notes.tmp".to_owned(),
    ];
    expected.sort();
    assert_eq!(scratch.names(), expected);
}

#[test]
fn a_lock_has_one_holder() {
    let scratch = Scratch::new("lock");
    let path = scratch.0.join("a.lock");
    let held = Lock::of_file(&path).unwrap().expect("free");
    assert!(Lock::of_file(&path).unwrap().is_none());
    drop(held);
    assert!(scratch.names().is_empty());
    // A lock file left by a killed process locks nothing.
    fs::write(&path, "").unwrap();
    assert!(Lock::of_file(&path).unwrap().is_some());
    assert!(scratch.names().is_empty());
    // Cargo.lock beside Cargo.safetensors.
    fs::write(&path, "mine").unwrap();
    let error = Lock::of_file(&path).unwrap_err().to_string();
    assert!(error.starts_with("it is no lock"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::remove_file(&path).unwrap();
    let shared = [0, 1].map(|_| Lock::of_directory(&scratch.0, Use::Shared).expect("shared"));
    assert!(Lock::of_directory(&scratch.0, Use::Alone).is_none());
    drop(shared);
    let alone = Lock::of_directory(&scratch.0, Use::Alone).expect("free");
    assert!(Lock::of_directory(&scratch.0, Use::Shared).is_none());
    drop(alone);
    assert!(scratch.names().is_empty());
}

#[test]
fn reading_has_a_bound() {
    let scratch = Scratch::new("bound");
    let path = scratch.0.join("file");
    fs::write(&path, "12345").unwrap();
    assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
    let error = read_at_most(&path, 4).unwrap_err();
    assert_eq!(error.to_string(), "it has more than 4 bytes");
    let error = read_at_most(Path::new("/dev/zero"), 1000).unwrap_err();
    assert_eq!(error.to_string(), "it has more than 1000 bytes");
    fs::write(&path, [0xff]).unwrap();
    let error = read_text_at_most(&path, 4).unwrap_err();
    assert_eq!(error.to_string(), "it is not text in UTF-8");
    assert!(read_at_most(&scratch.0, 4).is_err());
}
