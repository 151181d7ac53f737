//! Tests `edit` by patches.

use serde_json::{Value, json};
use sinew_tools::{EditMode, EditSettings, Settings};

use crate::Case;
use crate::stage::{Stage, holds};

pub(crate) const CASES: &[Case] = &[
    ("a_patch_changes_creates_renames_and_deletes_files", a_patch_changes_creates_renames_and_deletes_files),
    ("a_unified_diff_is_accepted_as_a_patch", a_unified_diff_is_accepted_as_a_patch),
    ("a_patch_that_does_not_apply_changes_no_file", a_patch_that_does_not_apply_changes_no_file),
    ("a_patch_replaces_only_files_that_were_read", a_patch_replaces_only_files_that_were_read),
    ("a_patch_reports_a_diff_of_each_file", a_patch_reports_a_diff_of_each_file),
    #[cfg(unix)]
    ("a_patch_follows_links_as_other_edits_do", a_patch_follows_links_as_other_edits_do),
];

fn stage() -> Stage {
    Stage::with(Settings {
        edit: EditSettings { mode: EditMode::Patch, ..EditSettings::default() },
        ..Settings::default()
    })
}

/// Returns the arguments for a patch in the `*** Begin Patch` form.
fn patch(body: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{body}*** End Patch\n")})
}

fn a_patch_changes_creates_renames_and_deletes_files() {
    let stage = stage();
    stage.put("a", "one\ntwo\nthree\n");
    stage.put("b", "old name\n");
    stage.put("c", "goes\n");
    stage.call("read", json!({"path": "c"}));
    let body = "*** Update File: a\n@@\n one\n-two\n+2\n*** Update File: b\n*** Move to: d/b\n@@\n-old name\n+new name\n\
                *** Delete File: c\n*** Add File: e/new\n+text\n*** Update File: a\n@@\n-three\n+3\n";
    let said = "Changed a.\nCreated d/b.\nDeleted b.\nDeleted c.\nCreated e/new.";
    stage.ok("edit", patch(body), said);
    assert_eq!(
        (stage.get("a"), stage.get("d/b"), stage.get("e/new")),
        ("one\n2\n3\n".into(), "new name\n".into(), "text\n".into())
    );
    holds(&stage.cwd(), &["a", "d", "e"]);
}

fn a_unified_diff_is_accepted_as_a_patch() {
    let stage = stage();
    stage.put("src/a", "1\n2\n3\n");
    stage.put("gone", "x\n");
    let diff = "--- a/src/a\n+++ b/src/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                --- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n";
    stage.ok("edit", json!({"patch": diff}), "Changed src/a.\nDeleted gone.\nCreated new.");
    assert_eq!((stage.get("src/a"), stage.get("new")), ("1\ntwo\n3\n".into(), "n\n".into()));
    // Without the prefixes `a/` and `b/`, the first directory is part of the path if such a file exists.
    let plain = "--- src/a\n+++ src/a\n@@ -1,3 +1,3 @@\n-1\n+one\n two\n 3\n";
    let (said, is_error) = stage.call("edit", json!({"patch": plain}));
    assert_eq!((is_error, stage.get("src/a").as_str()), (false, "one\ntwo\n3\n"), "{said}");
}

fn a_patch_that_does_not_apply_changes_no_file() {
    let stage = stage();
    stage.put("a", "one\ntwo\n");
    let whole = "*** Update File: a\n@@\n-one\n+1\n";
    for (body, why) in [
        ("*** Update File: none\n@@\n-x\n+y\n", "File not found: none"),
        ("*** Update File: a\n@@\n-zwei\n+2\n", "a: "),
        ("*** Add File: ../out\n+x\n", "../out: "),
        ("*** Add File: .git/hooks/pre-commit\n+x\n", ".git/hooks/pre-commit: "),
    ] {
        let (said, is_error) = stage.call("edit", patch(&format!("{whole}{body}")));
        assert!(is_error && said.starts_with(why), "{body}: {said}");
        assert_eq!(stage.get("a"), "one\ntwo\n", "{body}");
        holds(&stage.cwd(), &["a"]);
    }
    let (said, is_error) = stage.call("edit", json!({"patch": "no patch"}));
    assert!(is_error, "{said}");
    let same = "*** Update File: a\n@@\n-one\n+one\n";
    stage.fails("edit", patch(same), "No changes made: the patch leaves every file as it is.");
}

fn a_patch_replaces_only_files_that_were_read() {
    let stage = stage();
    stage.put("a", "one\n");
    let unread = "File exists and was not read in this session: a. Read it first, or use edit.";
    stage.fails("edit", patch("*** Add File: a\n+x\n"), unread);
    stage.fails("edit", patch("*** Delete File: a\n"), unread);
    stage.call("read", json!({"path": "a"}));
    stage.put("a", "two\n");
    let stale = "File changed on disk since it was last read: a. Read it again.";
    stage.fails("edit", patch("*** Delete File: a\n"), stale);
    stage.fails("edit", patch("*** Update File: a\n@@\n-one\n+1\n"), stale);
    let moved = "Changed a.\n[The file changed on disk since it was read; the lines of the patch were still there.]";
    stage.ok("edit", patch("*** Update File: a\n@@\n-two\n+2\n"), moved);
    stage.host.forget(&[stage.cwd().join("a")]);
    stage.fails("edit", patch("*** Delete File: a\n"), unread);
}

fn a_patch_reports_a_diff_of_each_file() {
    let stage = stage();
    stage.put("a", "one\n");
    let body = "*** Update File: a\n@@\n-one\n+1\n*** Add File: b\n+x\n";
    let output = stage.output("edit", patch(body), sinew::base::CancelToken::never());
    let diff = sinew_tools::semantics::diff_of(output.details.as_ref()).unwrap();
    assert!(diff.contains("-one\n+1\n") && diff.contains("+++ b\n"), "{diff}");
    assert_eq!(sinew_tools::semantics::changed_lines(output.details.as_ref()), [Some(1), Some(1)]);
}

#[cfg(unix)]
fn a_patch_follows_links_as_other_edits_do() {
    let stage = stage();
    stage.put("a", "one\n");
    std::os::unix::fs::symlink("a", stage.cwd().join("link")).unwrap();
    stage.ok("edit", patch("*** Update File: link\n@@\n-one\n+1\n"), "Changed link.");
    assert_eq!(stage.get("a"), "1\n");
    assert!(stage.cwd().join("link").is_symlink());
}
