//! Tests the patch of changes: `git apply` must produce the view from the directory.

use sinew_base::CancelToken;

use super::{Project, changes, described, run_in, tree};
use crate::ChangesOptions;

#[track_caller]
fn check(start: &str, script: &str) {
    let project = Project::new(start);
    let view = project.changed(script);
    let patch = changes(&view).patch;
    let file = project.folder().join("patch");
    std::fs::write(&file, &patch).unwrap();
    if !patch.is_empty() {
        project.run("git apply -p1 ../patch");
    }
    let shown = String::from_utf8_lossy(&patch).into_owned();
    assert_eq!(tree(&project.root(), false), tree(view.path(), false), "{script}\n{shown}");
}

#[test]
fn git_applies_the_patch() {
    let start =
        "umask 022; seq 1 50 > lines; mkdir d; echo 1 > d/a; ln -s lines link; echo s > script; printf 'no end' > open";
    check(start, "sed -i -e 3d -e 40s/$/x/ lines; echo 2 > d/new; rm d/a");
    check(start, "chmod +x script; rm link; ln -s d link; echo x >> open");
    check(start, "chmod +x script; echo more >> script; : > empty; rm open");
    check(start, "rm link; echo file > link; rm lines; ln -s d lines");
    check(
        start,
        "printf x > \"$(printf 'a\\nb\\t\"')\"; printf y > 'with blank'; printf z > \"$(printf '\\377\\303\\244')\"",
    );
    check(start, "printf 'a\\r\\nb\\r\\n' > crlf; printf '\\377\\376latin\\n' > latin");
}

#[test]
fn binary_files_are_marked_and_large_patches_are_cut() {
    let project = Project::new("printf 'a\\0' > b; seq 1 100 > t; chmod 644 t; mkdir e");
    let view = project.changed("printf 'b\\0' > b; seq 1 90 > t; printf '\\0' > n; rmdir e");
    let all = changes(&view);
    assert_eq!(
        described(&all),
        ["changed file b binary", "deleted directory e", "added file n binary", "changed file t"]
    );
    assert!(String::from_utf8_lossy(&all.patch).contains("Binary files a/b and b/b differ\n"));
    let options = ChangesOptions { max_patch_bytes: 100, ..ChangesOptions::default() };
    let cut = view.changes(&options, &CancelToken::never()).unwrap();
    assert_eq!((cut.is_truncated, cut.entries.len(), cut.patch.len() <= 100), (true, 4, true));
    run_in(view.path(), "seq 1 100 > t; chmod 600 t");
    let change = changes(&view).entries.into_iter().find(|change| change.path == b"t").unwrap();
    assert_eq!((change.old_mode, change.new_mode, change.change.as_str()), (Some(0o644), Some(0o600), "mode"));
}
