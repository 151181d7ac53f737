//! Compares merges with those of `git merge-file`.

use std::fs;
use std::process::Command;

use sinew_base::CancelToken;

use crate::merge::{Merge, merge};

/// Returns the result of git, and whether it has no conflict.
fn git_merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> (bool, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let output = Command::new("git")
        .args(["merge-file", "-p", "-q", "ours", "base", "theirs"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    (output.status.success(), output.stdout)
}

#[track_caller]
fn check(base: &[u8], ours: &[u8], theirs: &[u8]) -> bool {
    let (is_clean, expect) = git_merge(base, ours, theirs);
    let merged = merge(base, ours, theirs, &CancelToken::never()).unwrap();
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match merged {
        Merge::Clean(text) => {
            assert_eq!((is_clean, shown(&text)), (true, shown(&expect)), "{:?}", [base, ours, theirs].map(shown))
        }
        Merge::Conflict(_) => assert!(!is_clean, "{:?}", [base, ours, theirs].map(shown)),
    }
    is_clean
}

#[test]
fn merges_agree_with_git() {
    check(b"1\n2\n3\n", b"1\n2\n3\n", b"1\nx\n3\n");
    check(b"1\n2\n3\n4\n5\n", b"x\n2\n3\n4\n5\n", b"1\n2\n3\n4\ny\n");
    check(b"1\n2\n3\n", b"1\nx\n3\n", b"1\nx\n3\n");
    check(b"1\n2\n3\n", b"1\nx\n3\n", b"1\ny\n3\n");
    check(b"1\n2\n3", b"1\n2\n3\n", b"0\n1\n2\n3");
    check(b"", b"a\n", b"a\n");
    check(b"", b"a\n", b"b\n");
    check(b"a\n", b"", b"a\n");
    check(b"\xff\n2\n3\n4\n", b"\xfe\n2\n3\n4\n", b"\xff\n2\n3\n\xfd\n");
    check(b"1\r\n2\r\n3\r\n", b"1\r\n2\r\n3\r\n4\r\n", b"0\r\n1\r\n2\r\n3\r\n");
}

#[test]
fn random_merges_agree_with_git() {
    // A small generator, so that a failure can be repeated.
    let mut state = 12_345_u64;
    let mut next = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut clean = 0;
    for _ in 0..80 {
        let base: Vec<String> = (0..12).map(|line| format!("line {line}\n")).collect();
        let mut edit = |count: u64| {
            let mut lines = base.clone();
            for _ in 0..count {
                let at = usize::try_from(next(lines.len() as u64)).unwrap();
                match next(3) {
                    0 => lines[at] = format!("changed {}\n", next(4)),
                    1 => lines.insert(at, format!("new {}\n", next(4))),
                    _ => drop(lines.remove(at)),
                }
            }
            lines.concat().into_bytes()
        };
        let (ours, theirs) = (edit(2), edit(2));
        clean += usize::from(check(base.concat().as_bytes(), &ours, &theirs));
    }
    assert!((10..70).contains(&clean), "{clean}");
}
