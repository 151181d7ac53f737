//! Tests of holding a lock, waiting for it, and releasing it.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use sinew_base::{CancelHandle, CancelToken, ErrorCode};
use sinew_lock::{FileLock, Mode};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn taken(path: &Path, mode: Mode) -> Option<FileLock> {
    FileLock::try_acquire(path, mode).unwrap()
}

#[test]
fn a_lock_is_held_until_it_is_dropped() {
    let folder = folder();
    let path = folder.path().join("lock");
    let first = taken(&path, Mode::Exclusive).unwrap();
    assert_eq!(first.path(), path);
    assert!(taken(&path, Mode::Exclusive).is_none());
    assert!(taken(&path, Mode::Shared).is_none());
    drop(first);
    assert!(taken(&path, Mode::Exclusive).is_some());
    assert!(path.exists());
}

#[test]
fn readers_share_a_lock_and_exclude_a_writer() {
    let folder = folder();
    let path = folder.path().join("lock");
    let (one, two) = (taken(&path, Mode::Shared).unwrap(), taken(&path, Mode::Shared).unwrap());
    drop(one);
    assert!(taken(&path, Mode::Exclusive).is_none());
    drop(two);
    assert!(taken(&path, Mode::Exclusive).is_some());
}

#[test]
fn a_wait_ends_when_the_lock_is_released() {
    let folder = folder();
    let path = folder.path().join("lock");
    let first = taken(&path, Mode::Exclusive).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| FileLock::acquire(&path, Mode::Exclusive, &CancelToken::never()).unwrap());
        drop(first);
        let held = waiting.join().unwrap();
        assert!(taken(&path, Mode::Exclusive).is_none());
        drop(held);
    });
}

#[test]
fn a_wait_can_be_cancelled() {
    let folder = folder();
    let path = folder.path().join("lock");
    let _held = taken(&path, Mode::Exclusive).unwrap();
    let (handle, cancel) = CancelHandle::new();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| FileLock::acquire(&path, Mode::Shared, &cancel).unwrap_err().code());
        handle.cancel();
        assert_eq!(waiting.join().unwrap(), ErrorCode::Aborted);
    });
    let none = CancelToken::never().with_timeout(Duration::ZERO);
    assert_eq!(FileLock::acquire(&path, Mode::Exclusive, &none).unwrap_err().code(), ErrorCode::TimedOut);
}

#[test]
fn a_zero_timeout_makes_one_attempt_and_a_cancelled_token_none() {
    let folder = folder();
    let path = folder.path().join("lock");
    let none = CancelToken::never().with_timeout(Duration::ZERO);
    drop(FileLock::acquire(&path, Mode::Exclusive, &none).unwrap());
    let (handle, cancel) = CancelHandle::new();
    handle.cancel();
    let untouched = folder.path().join("untouched");
    assert_eq!(FileLock::acquire(&untouched, Mode::Exclusive, &cancel).unwrap_err().code(), ErrorCode::Aborted);
    assert!(!untouched.exists());
}

#[test]
fn locking_keeps_the_content_of_the_file() {
    let folder = folder();
    let path = folder.path().join("data");
    fs::write(&path, "content").unwrap();
    drop(taken(&path, Mode::Exclusive).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "content");
}

#[cfg(unix)]
#[test]
fn a_replaced_file_is_another_lock() {
    let folder = folder();
    let path = folder.path().join("lock");
    let old = taken(&path, Mode::Exclusive).unwrap();
    fs::remove_file(&path).unwrap();
    let new = taken(&path, Mode::Exclusive).unwrap();
    assert!(taken(&path, Mode::Exclusive).is_none());
    drop((old, new));
}

#[cfg(unix)]
#[test]
fn refuses_paths_that_are_not_files() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [folder.path(), &fifo, Path::new("/dev/null")] {
        let error = FileLock::try_acquire(path, Mode::Exclusive).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument, "{error}");
        assert!(error.message().contains("is no regular file"), "{error}");
    }
    let missing = folder.path().join("no/lock");
    assert_eq!(FileLock::try_acquire(&missing, Mode::Exclusive).unwrap_err().code(), ErrorCode::NotFound);
    let link = folder.path().join("link");
    symlink("target", &link).unwrap();
    let held = taken(&link, Mode::Exclusive).unwrap();
    assert!(taken(&folder.path().join("target"), Mode::Exclusive).is_none());
    drop(held);
    symlink("circle", folder.path().join("circle")).unwrap();
    let circle = FileLock::try_acquire(&folder.path().join("circle"), Mode::Exclusive).unwrap_err();
    assert_eq!(circle.code(), ErrorCode::TooManyLinks);
}

/// A process that dies releases its locks, and locks of `flock(2)` exclude ours.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_process_releases_its_lock() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let folder = folder();
    let path = folder.path().join("lock");
    let script = ["sh", "-c", "echo held; read line"];
    let mut child = Command::new("flock")
        .args(["--no-fork".as_ref(), path.as_os_str()])
        .args(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "held\n");
    assert!(taken(&path, Mode::Exclusive).is_none());
    child.kill().unwrap();
    // The system closes the files of a process some time after the signal.
    drop(FileLock::acquire(&path, Mode::Exclusive, &CancelToken::never()).unwrap());
    child.wait().unwrap();
}
