//! Tests `edit` by line numbers, and `undo_edit`.

use serde_json::{Value, json};
use sinew_tools::{EditMode, EditSettings, Settings};

use crate::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    ("lines_shown_by_a_search_can_be_edited", lines_shown_by_a_search_can_be_edited),
    ("a_patch_can_change_only_lines_that_were_shown", a_patch_can_change_only_lines_that_were_shown),
    ("a_patch_applies_completely_or_not_at_all", a_patch_applies_completely_or_not_at_all),
    ("a_stale_tag_is_merged_or_refused", a_stale_tag_is_merged_or_refused),
    ("suspicious_patch_bodies_produce_warnings", suspicious_patch_bodies_produce_warnings),
    ("a_write_in_hashline_mode_has_a_tag", a_write_in_hashline_mode_has_a_tag),
    ("the_last_writes_can_be_undone", the_last_writes_can_be_undone),
];

fn stage() -> Stage {
    Stage::with(Settings {
        edit: EditSettings { mode: EditMode::Hashline, ..EditSettings::default() },
        ..Settings::default()
    })
}

fn patch(text: &str) -> Value {
    json!({"input": text})
}

/// Returns the tag of a file, computed with `sha256sum`.
pub(crate) fn tag(stage: &Stage, name: &str) -> String {
    let output = std::process::Command::new("sha256sum").arg(stage.cwd().join(name)).output().unwrap();
    // `sha256sum` prints a leading backslash if the file name contains one.
    String::from_utf8(output.stdout).unwrap().trim_start_matches('\\')[..8].to_string()
}

fn numbered(lines: std::ops::RangeInclusive<usize>) -> String {
    lines.map(|line| format!("line {line}\n")).collect()
}

fn lines_shown_by_a_search_can_be_edited() {
    let stage = Stage::new();
    stage.put("a", "one\ntwo\nthree\n");
    stage.ok("grep", json!({"pattern": "two", "path": "a"}), "a\n2:two");
    stage.put("a", "one\ntwo\nthree\nfour\n");
    let moved =
        "Applied 1 edit to a.\n[The file changed on disk since it was read; the text to replace was still there.]";
    stage.ok("edit", json!({"path": "a", "oldText": "two", "newText": "2"}), moved);
    stage.put("b", "one\ntwo\n");
    stage.call("grep", json!({"pattern": "two", "path": "b"}));
    stage.ok("edit", json!({"path": "b", "oldText": "one", "newText": "1"}), "Applied 1 edit to b.");
    stage.put("c", "one\ntwo\n");
    stage.call("grep", json!({"pattern": "two", "path": "c"}));
    stage.put("c", "one\nzwei\n");
    let stale = "File changed on disk since it was last read: c. Read it again.";
    stage.fails("edit", json!({"path": "c", "oldText": "two", "newText": "2"}), stale);
    let unread = "File exists and was not read in this session: c. Read it first, or use edit.";
    stage.fails("write", json!({"path": "c", "content": "x"}), unread);
    // The model has not seen the part that was cut off.
    let lines = |wide: &str| format!("{}{wide} {}\n", "line\n".repeat(20), "x".repeat(600));
    stage.put("d", lines("needle"));
    stage.call("read", json!({"path": "d", "limit": 1}));
    let (text, _) = stage.call("grep", json!({"pattern": "needle", "path": "d"}));
    assert!(text.contains("cut to 500 columns"), "{text}");
    stage.put("d", lines("other"));
    let elsewhere = "Successfully wrote 1 bytes to d\n[The file changed on disk since it was read, but not in the lines \
                     that were shown.]";
    stage.ok("write", json!({"path": "d", "content": "x"}), elsewhere);
    #[cfg(unix)]
    {
        // A link and its target count as the same file.
        std::os::unix::fs::symlink("c", stage.cwd().join("link")).unwrap();
        stage.call("read", json!({"path": "link"}));
        stage.ok("write", json!({"path": "c", "content": "x"}), "Successfully wrote 1 bytes to c");
    }
}

fn a_patch_can_change_only_lines_that_were_shown() {
    let stage = stage();
    stage.put("a", numbered(1..=100));
    let old = tag(&stage, "a");
    let (text, _) = stage.call("read", json!({"path": "a", "offset": 10, "limit": 2}));
    assert!(text.starts_with(&format!("@a#{old}\n7:line 7\n")), "{text}");
    let unseen = "Lines 40..44 of a were not shown. Read them first.";
    stage.fails("edit", patch(&format!("@a#{old}\ndelete 40..44")), unseen);
    stage.ok(
        "grep",
        json!({"pattern": "line 4[0-4]", "path": "a"}),
        &format!("@a#{old}\n40:line 40\n41:line 41\n42:line 42\n43:line 43\n44:line 44"),
    );
    let (text, error) = stage.call("edit", patch(&format!("@a#{old}\ndelete 40..44\nreplace 11\n|eleven")));
    assert!(!error && text.starts_with(&format!("@a#{}\n--- a\n+++ a\n@@ ", tag(&stage, "a"))), "{text}");
    assert!(text.contains("\n-line 11\n+eleven\n"), "{text}");
    assert_eq!(stage.get("a"), format!("{}eleven\n{}{}", numbered(1..=10), numbered(12..=39), numbered(45..=100)));
    // The model now knows the lines in the diff, but not the rest.
    let new = tag(&stage, "a");
    let (text, error) = stage.call("edit", patch(&format!("@a#{new}\nreplace 43\n|x")));
    assert!(!error && text.contains("-line 48\n+x"), "{text}");
    let newer = tag(&stage, "a");
    stage.fails("edit", patch(&format!("@a#{newer}\ndelete 80")), "Lines 80..80 of a were not shown. Read them first.");
    // Another session has only the tag.
    let other = self::stage();
    other.put("a", "1\n2\n");
    let (_, error) = other.call("edit", patch(&format!("@a#{}\ndelete 2", tag(&other, "a"))));
    assert_eq!((error, other.get("a").as_str()), (false, "1\n"));
}

fn a_patch_applies_completely_or_not_at_all() {
    let stage = stage();
    stage.put("a", "1\n2\n");
    stage.put("b", "1\n");
    let (a, b) = (tag(&stage, "a"), tag(&stage, "b"));
    let wrong = format!("@a#{a}\ndelete 1\n@b#{b}\ndelete 5");
    stage.fails("edit", patch(&wrong), "Line 5 is beyond the end of b: its last line is 1.");
    assert_eq!(stage.get("a"), "1\n2\n");
    stage.fails("edit", patch("@a#new\ninsert start\n|x"), "File exists: a. Read it and use its tag.");
    let none = "File not found: none. Use the tag #new to create it.";
    stage.fails("edit", patch("@none#12345678\ndelete 1"), none);
    let twice = "Two tags for a: use only the tag of the last read.";
    stage.fails("edit", patch(&format!("@a#{a}\ndelete 1\n@./a#00000000\ndelete 2")), twice);
    stage.put("wide", b"1\0\n\0");
    let binary = "Cannot edit wide: it is binary. Use bash.";
    stage.fails("edit", patch(&format!("@wide#{}\ninsert end\n|x", tag(&stage, "wide"))), binary);
    let same = "No changes: the new text equals lines 1..2. Re-read; do not widen the range.";
    stage.fails("edit", patch(&format!("@a#{a}\nreplace 1..2\n|1\n|2")), same);
    let good = format!("@a#{a}\ndelete 1\n@d/new#new\ninsert start\n|x\n|\n@a#{a}\ninsert end\n|3");
    let (text, error) = stage.call("edit", patch(&good));
    assert!(!error && text.contains(&format!("\n@d/new#{}\n", tag(&stage, "d/new"))), "{text}");
    assert_eq!((stage.get("a").as_str(), stage.get("d/new").as_str()), ("2\n3\n", "x\n\n"));
}

fn a_stale_tag_is_merged_or_refused() {
    let stage = stage();
    stage.put("a", numbered(1..=9));
    stage.call("read", json!({"path": "a"}));
    let old = tag(&stage, "a");
    stage.put("a", format!("zero\n{}", numbered(1..=9)));
    let (text, error) = stage.call("edit", patch(&format!("@a#{old}\nreplace 5\n|five")));
    assert!(!error && text.contains("\n[Merged with changes made since]\n"), "{text}");
    assert_eq!(stage.get("a"), format!("zero\n{}five\n{}", numbered(1..=4), numbered(6..=9)));
    // Both changes affect the same line.
    let now = tag(&stage, "a");
    let shown = "4:line 3\n*5:line 4\n*6:five\n7:line 6\n8:line 7";
    let (text, error) = stage.call("edit", patch(&format!("@a#{old}\nreplace 5..6\n|x")));
    assert!(error && text.starts_with(&format!("Stale tag for a: the file is now #{now}.\n3:line 2\n4:")), "{text}");
    assert_eq!(text.split_once(".\n3:line 2\n").unwrap().1, shown);
    // A patch can change the lines in the output without another read.
    let (text, error) = stage.call("edit", patch(&format!("@a#{now}\nreplace 6\n|5")));
    assert!(!error, "{text}");
    // An unknown tag.
    let (text, error) = stage.call("edit", patch("@a#00000000\ndelete 1"));
    assert!(error && text.starts_with("Stale tag for a: the file is now #") && text.contains("*1:zero\n2:line 1\n3:"));
}

fn suspicious_patch_bodies_produce_warnings() {
    let stage = stage();
    stage.put("a", "fn a() {\n    b();\n}\n\nend\n");
    let first = tag(&stage, "a");
    let (text, _) = stage.call("edit", patch(&format!("@a#{first}\nreplace 2\n|    c();\n|}}")));
    assert!(text.contains("[Warning: the last new line repeated line 3 and was left out]"), "{text}");
    assert_eq!(stage.get("a"), "fn a() {\n    c();\n}\n\nend\n");
    let (text, _) = stage.call("edit", patch(&format!("@a#{}\nreplace 4\n|x\n|end", tag(&stage, "a"))));
    assert!(text.contains("[Warning: the last new line equals line 5, which follows it]"), "{text}");
    assert_eq!(stage.get("a"), "fn a() {\n    c();\n}\nx\nend\nend\n");
    let (text, _) = stage.call("edit", patch("@b#new\ninsert start\n|1\n|2\n|3\n|1\n|2\n|3"));
    assert!(text.contains("[Warning: the new lines repeat a chunk, from \"1\"]"), "{text}");
}

fn a_write_in_hashline_mode_has_a_tag() {
    let stage = stage();
    let (text, _) = stage.call("write", json!({"path": "a", "content": "x\ny"}));
    assert_eq!(text, format!("@a#{}\nSuccessfully wrote 3 bytes to a", tag(&stage, "a")));
    let (text, _) =
        stage.call("write", json!({"path": "a", "content": format!("@a#{}\n1:x\n2:1:z", tag(&stage, "a"))}));
    assert!(text.ends_with("[The header and the line numbers were removed from the content.]"), "{text}");
    assert_eq!(stage.get("a"), "x\n1:z");
    stage.put("empty", "");
    let (text, _) = stage.call("read", json!({"path": "empty"}));
    assert_eq!(text, format!("@empty#{}\nThe file is empty.", tag(&stage, "empty")));
}

fn the_last_writes_can_be_undone() {
    let stage = Stage::new();
    stage.ok("write", json!({"path": "a", "content": "1"}), "Successfully wrote 1 bytes to a");
    for text in 2..=22 {
        let (old, new) = ((text - 1).to_string(), text.to_string());
        stage.ok("edit", json!({"path": "a", "oldText": old, "newText": new}), "Applied 1 edit to a.");
    }
    for _ in 0..20 {
        assert!(!stage.call("undo_edit", json!({"path": "a"})).1);
    }
    assert_eq!(stage.get("a"), "2");
    let nothing = "Nothing to undo for a: no tool wrote it in the last 20 writes.";
    stage.fails("undo_edit", json!({"path": "a"}), nothing);
    stage.call("write", json!({"path": "b", "content": "1"}));
    stage.put("b", "mine");
    stage.fails("undo_edit", json!({"path": "b"}), "Not undone: b changed after the last write by a tool.");
    stage.put("b", "1");
    stage.ok("find", json!({"pattern": "*"}), "b\na");
    stage.ok("undo_edit", json!({"path": "b"}), "Removed b: the last write had created it.");
    assert!(!stage.cwd().join("b").exists());
    stage.ok("find", json!({"pattern": "*"}), "a");
}
