//! Tests of patches applied to a directory, and of their reports.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use sinew_base::{CancelHandle, CancelToken, ErrorCode};
use sinew_patch::{Action, ApplyOptions, HunkPlace, PatchReport, apply_to_directory};

use crate::tree::{self, File, fingerprint};

fn apply(root: &Path, patch: &str) -> PatchReport {
    apply_to_directory(root, patch.as_bytes(), ApplyOptions::default(), &CancelToken::never()).unwrap()
}

fn root_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tree = files.iter().map(|(path, text)| ((*path).to_owned(), File::Text(text.as_bytes().to_vec(), false)));
    tree::write(folder.path(), &tree.collect());
    folder
}

fn names(root: &Path) -> Vec<String> {
    tree::read(root).into_keys().collect()
}

#[test]
fn the_report_lists_each_file_and_position() {
    let root = root_with(&[("f", "0\na\nb\nc\n"), ("gone", "x\n"), ("old", "o\n")]);
    let patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n\
                 diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n\
                 diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                 diff --git a/old b/d/moved\nsimilarity index 100%\nrename from old\nrename to d/moved\n\
                 diff --git a/f b/copy\nsimilarity index 100%\ncopy from f\ncopy to copy\n";
    let error = apply_to_directory(root.path(), patch.as_bytes(), ApplyOptions::default(), &CancelToken::never());
    assert!(error.unwrap_err().message().contains("belongs to the beginning of the file"));
    let patch = patch.replace("@@ -1,3 +1,4 @@", "@@ -9,3 +9,4 @@");
    let report = apply(root.path(), &patch);
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    let rows: Vec<_> = report
        .files
        .iter()
        .map(|file| (file.action, text(&file.path), file.from.as_ref().map(text), file.added, file.removed))
        .collect();
    let expect = [
        (Action::Modified, "f".into(), None, 2, 1),
        (Action::Created, "new".into(), None, 1, 0),
        (Action::Deleted, "gone".into(), None, 0, 1),
        (Action::Renamed, "d/moved".into(), Some("old".into()), 0, 0),
        (Action::Copied, "copy".into(), Some("f".into()), 0, 0),
    ];
    assert_eq!(rows, expect);
    assert_eq!(report.files[0].places, [HunkPlace { line: 2, offset: -7, fuzz: 0 }]);
    assert_eq!(names(root.path()), ["copy", "d/moved", "f", "new"]);
    assert_eq!(fs::read_to_string(root.path().join("f")).unwrap(), "0\na\nB\nB2\nc\n");
    assert_eq!(fs::metadata(root.path().join("new")).unwrap().mode() & 0o111, 0o111 & !umask());
}

fn umask() -> u32 {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    0o777 & !fs::metadata(folder.path().join("d")).unwrap().mode()
}

#[test]
fn keeps_permissions() {
    for mode in [0o640, 0o600, 0o755, 0o2750, 0o444] {
        let root = root_with(&[("f", "a\n")]);
        let path = root.path().join("f");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let patch = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\n";
        let may_write = fs::OpenOptions::new().append(true).open(&path).is_ok();
        let result = apply_to_directory(root.path(), patch.as_bytes(), ApplyOptions::default(), &CancelToken::never());
        match result {
            Ok(_) => assert!(may_write && fs::read(&path).unwrap() == b"b\n"),
            Err(error) => assert!(!may_write && error.code() == ErrorCode::PermissionDenied, "{error}"),
        }
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
    let root = root_with(&[("f", "a\n")]);
    fs::set_permissions(root.path().join("f"), fs::Permissions::from_mode(0o640)).unwrap();
    apply(root.path(), "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n");
    assert_eq!(fs::metadata(root.path().join("f")).unwrap().mode() & 0o7777, 0o750);
}

#[test]
fn a_dry_run_returns_the_same_report_and_writes_nothing() {
    let root = root_with(&[("f", "a\n"), ("d/g", "b\n")]);
    let patch = "*** Begin Patch\n*** Add File: new/n\n+x\n*** Update File: f\n*** Move to: d/f\n@@\n-a\n+b\n*** Delete File: d/g\n*** End Patch\n";
    let before = fingerprint(root.path());
    let options = ApplyOptions { dry_run: true, fuzz: 0 };
    let dry = apply_to_directory(root.path(), patch.as_bytes(), options, &CancelToken::never()).unwrap();
    assert_eq!(fingerprint(root.path()), before);
    assert_eq!(dry, apply(root.path(), patch));
    assert_eq!(names(root.path()), ["d/f", "new/n"]);
}

#[test]
fn a_cancelled_call_changes_nothing() {
    let root = root_with(&[("f", "a\n")]);
    let before = fingerprint(root.path());
    let (handle, cancel) = CancelHandle::new();
    handle.cancel();
    let patch = b"*** Begin Patch\n*** Delete File: f\n*** End Patch\n";
    let error = apply_to_directory(root.path(), patch, ApplyOptions::default(), &cancel).unwrap_err();
    assert_eq!((error.code(), fingerprint(root.path())), (ErrorCode::Aborted, before));
}

#[test]
fn files_and_directories_can_replace_each_other() {
    let root = root_with(&[("x", "1\n"), ("d/e/y", "2\n")]);
    fs::create_dir(root.path().join("d/empty")).unwrap();
    let patch = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n\
                 diff --git a/x/z b/x/z\nnew file mode 100644\n--- /dev/null\n+++ b/x/z\n@@ -0,0 +1 @@\n+z\n\
                 diff --git a/d/e/y b/d/e/y\ndeleted file mode 100644\n--- a/d/e/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n\
                 diff --git a/d b/d\nnew file mode 100644\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+d\n";
    apply(root.path(), patch);
    assert_eq!(names(root.path()), ["d", "x/z"]);
}

#[test]
fn removes_directories_that_become_empty() {
    let delete =
        "diff --git a/d/e/y b/d/e/y\ndeleted file mode 100644\n--- a/d/e/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n";
    let root = root_with(&[("d/e/y", "2\n"), ("d/z", "3\n")]);
    apply(root.path(), delete);
    assert!(!root.path().join("d/e").exists() && root.path().join("d/z").exists());
}

#[test]
fn swapped_and_chained_renames_read_the_old_files() {
    let root = root_with(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n")]);
    let renamed = |from: &str, to: &str| {
        format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
    };
    apply(root.path(), &(renamed("a", "b") + &renamed("b", "c") + &renamed("c", "a")));
    let texts: Vec<_> = ["a", "b", "c"].map(|name| fs::read_to_string(root.path().join(name)).unwrap()).into();
    assert_eq!(texts, ["3\n", "1\n", "2\n"]);
}

#[test]
fn the_begin_patch_form_accepts_absolute_paths() {
    let root = root_with(&[("d/f", "a\n")]);
    let path = root.path().join("d/f");
    apply(root.path(), &format!("*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch\n", path.display()));
    assert_eq!(fs::read_to_string(path).unwrap(), "b\n");
}

#[test]
fn applies_a_diff_without_prefixes() {
    let root = root_with(&[("src/x", "a\n"), ("b/y", "a\n"), ("y", "c\n")]);
    let change = |path: &str| format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-a\n+b\n");
    apply(root.path(), &change("src/x"));
    assert_eq!(fs::read_to_string(root.path().join("src/x")).unwrap(), "b\n");
    // As in git, the first component is a prefix if both names exist.
    let error =
        apply_to_directory(root.path(), change("b/y").as_bytes(), ApplyOptions::default(), &CancelToken::never());
    assert!(error.unwrap_err().message().starts_with("y: hunk 1"));
}
