//! Tests of patches that must be rejected without an effect.

use std::fs;
use std::os::unix::fs::symlink;

use sinew_base::CancelToken;
use sinew_patch::{ApplyOptions, Patch, apply_to_directory, apply_to_text};

use crate::tree::fingerprint;

/// Applies a patch that must fail, and checks that nothing in the root and next to it has changed.
fn check(patch: &str, expect: &str) {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let root = top.join("root");
    for path in ["d", ".git/hooks", ".hg"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    for path in ["f", "g", "d/x", ".git/config", ".hg/hgrc", "../outside"] {
        fs::write(root.join(path), &lines).unwrap();
    }
    symlink("..", root.join("up")).unwrap();
    symlink("../outside", root.join("out")).unwrap();
    symlink("d", root.join("in")).unwrap();
    symlink("/", root.join("all")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    let patch = patch.replace("@T@", top.to_str().unwrap());
    let before = fingerprint(&top);
    for dry_run in [true, false] {
        let options = ApplyOptions { dry_run, fuzz: 0 };
        let error = apply_to_directory(&root, patch.as_bytes(), options, &CancelToken::never()).unwrap_err();
        assert!(error.message().contains(expect), "{patch}\n{error}");
        assert_eq!(fingerprint(&top), before, "{patch}");
    }
}

/// A diff that changes the first line of a file.
fn change(path: &str) -> String {
    format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n-line 1\n+LINE\n line 2\n")
}

fn create(path: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100755\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+#!/bin/sh\n"
    )
}

#[test]
fn rejects_paths_out_of_the_root_or_into_a_repository() {
    for path in ["../outside", "d/../../outside", "/etc/passwd", "@T@/outside", "./../outside"] {
        for patch in [change(path), create(path)] {
            check(&patch, "a patch may only change files below its root");
        }
    }
    for path in
        [".git/config", ".git/hooks/post-checkout", ".GIT/hooks/x", "d/.git/hooks/x", ".hg/hgrc", "git~1/hooks/x"]
    {
        for patch in [change(path), create(path)] {
            check(&patch, "inside of a repository's own folder");
        }
    }
    for path in ["../outside", "@T@/outside", ".git/config"] {
        check(&format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n"), "the path");
        check(&format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"), "the path");
        check(
            &format!("*** Begin Patch\n*** Update File: f\n*** Move to: {path}\n@@\n-line 1\n*** End Patch\n"),
            "the path",
        );
        let moved = format!("diff --git a/f b/n\nsimilarity index 100%\nrename from f\nrename to {path}\n");
        check(&moved, "the path");
        check(&format!("diff --git a/f b/n\nsimilarity index 100%\ncopy from {path}\ncopy to n\n"), "the path");
    }
}

#[test]
fn follows_no_links() {
    for path in ["up/outside", "all/etc/hostname", "in/x"] {
        check(&change(path), "leads through the symbolic link");
        check(
            &format!("*** Begin Patch\n*** Update File: {path}\n@@\n-line 1\n*** End Patch\n"),
            "leads through the symbolic link",
        );
    }
    for path in ["up/new", "in/new", "all/tmp/new"] {
        check(&create(path), "leads through the symbolic link");
        check(
            &format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"),
            "leads through the symbolic link",
        );
    }
    check(&change("out"), "does not match");
    check("*** Begin Patch\n*** Update File: out\n@@\n-line 1\n*** End Patch\n", "is a symbolic link");
    for target in ["../outside", "/etc/passwd", "d/../../outside", "in/../f"] {
        let link = format!(
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+{target}\n\\ No newline at end of file\n"
        );
        check(&link, "l: the symbolic link");
        check(&(link + &create("l/new")), "l/new: the path leads through the symbolic link l");
    }
}

#[test]
fn a_failure_anywhere_changes_nothing() {
    let last = "diff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -2,3 +2,3 @@\n line 2\n-line 3\n+x\n line 4\n@@ -20,3 +20,3 @@\n line 20\n-line 22\n+x\n line 21\n";
    let moved = "diff --git a/d/x b/new/y\nsimilarity index 100%\nrename from d/x\nrename to new/y\n";
    check(&(change("f") + &create("new/n") + moved + last), "g: hunk 2 (line 26 of the patch) does not match");
    check(&(change("f") + &create("f")), "f: the file exists already");
    check(&(create("n") + &create("n")), "n: the patch creates this file twice");
    check(&(create("n") + &create("n/m")), "n/m: n is a file, not a directory");
    check(&(create("n/m") + &create("n")), "n/m: n is a file, not a directory");
    check(&(change("f") + &change("pipe")), "pipe: is not a regular file");
    check(&(change("f") + &change("d")), "d: is a directory");
    check(&(change("f") + &create("d")), "d: is a directory");
    check(&(change("f") + &change("missing")), "missing: no such file");
    check(&(moved.to_owned() + &change("d/x")), "d/x: the patch renamed or deleted this file before");
    let two = "diff --git a/f b/n\nsimilarity index 100%\nrename from f\nrename to n\ndiff --git a/g b/n\nsimilarity index 100%\nrename from g\nrename to n\n";
    check(two, "n: the patch creates this file twice");
    check(
        "*** Begin Patch\n*** Update File: f\n@@\n-line 1\n+x\n*** Update File: g\n@@\n-line 41\n*** End Patch\n",
        "g: chunk 1 (line 7 of the patch)",
    );
}

#[test]
fn rejects_what_git_would_ignore_silently() {
    check(&(change("f") + "Binary files a/g and b/g differ\n"), "binary files cannot be patched");
    check(
        &(change("f") + "diff --git a/g b/g\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n"),
        "g: binary patches cannot be applied",
    );
    check(&(change("f") + "diff --cc g\n"), "a combined diff");
    check(&(change("f") + "*** g\n--- g\n***************\n*** 1 ****\n"), "a context diff");
    check(&(change("f") + "diff --git a/g b/g\n"), "g: no hunk follows the header");
    check(&(change("f") + "+one more\n"), "f: hunk 1 has more lines than its header announces");
    check(&(change("f") + "@@ what @@\n line 9\n"), "the header of hunk 2");
    check(&(change("f") + "--- a/g\n+++ b/g\n line 1\n"), "g: no hunk follows the header");
    check("@@ -1 +1 @@\n-line 1\n+x\n", "a hunk without the lines");
    check("diff --git a/f b/f\nold mode 100644\nnew mode 160000\n", "a submodule");
    check("diff --git a/f b/f\nold mode 100644\nnew mode 120000\n", "cannot turn a file into a symbolic link");
    check("", "the text contains no patch");
}

#[test]
fn damaged_patches_are_errors_and_never_panics() {
    let mut random = fastrand::Rng::with_seed(3);
    let begin =
        "*** Begin Patch\n*** Update File: f\n@@ a\n b\n-c\n+C\n*** End of File\n*** Add File: n\n+x\n*** End Patch\n";
    let diff = change("f") + "@@ -3,2 +3,3 @@\n a\n+b\n c\n\\ No newline at end of file\n" + &create("new/n");
    let moved = "diff --git \"a/d\\tx\" b/new/y\nsimilarity index 90%\nrename from d/x\nrename to new/y\n--- a/d/x\n+++ b/new/y\n@@ -1 +1 @@\n-a\n+b\n";
    let sources = [begin, &diff, moved];
    let pieces: [&[u8]; 12] = [
        b"\n",
        b"@@",
        b" -1,9 +0,0 @@\n",
        b"+",
        b"-",
        b" ",
        b"\\ No newline at end of file\n",
        b"***",
        b"diff --git ",
        b"\"",
        b"99999999999999999999",
        b"\xff",
    ];
    let (mut parsed, mut applied) = (0, 0);
    for _ in 0..30_000 {
        let mut text = random.choice(sources).unwrap().as_bytes().to_vec();
        for _ in 0..random.usize(1..4) {
            let (at, end) = (random.usize(0..text.len()), random.usize(0..12));
            let end = (at + end).min(text.len());
            let piece: &[u8] = if random.bool() { b"" } else { random.choice(pieces).unwrap() };
            text.splice(at..end, piece.iter().copied());
        }
        let Ok(patch) = Patch::parse(&text) else { continue };
        parsed += 1;
        for file in &patch.files {
            let fuzz = random.usize(0..4);
            applied +=
                usize::from(apply_to_text(file, b"line 1\nline 2\na\nb\nc", fuzz, &CancelToken::never()).is_ok());
        }
    }
    assert!(parsed > 1_000 && applied > 500, "{parsed} parsed, {applied} applied");
}
