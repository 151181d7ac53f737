//! Tests `read`, `write`, `edit`, `ls`, `grep`, `find` and `todo`.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use serde_json::{Value, json};
use sinew_tools::tool::Boxed;
use sinew_tools::{Ask, EditMode, FileGuard, Question, Settings};

use crate::Case;
use crate::stage::{Stage, holds};

pub(crate) const CASES: &[Case] = &[
    ("read_shows_numbered_lines_within_the_limits", read_shows_numbered_lines_within_the_limits),
    ("read_handles_unusual_files", read_handles_unusual_files),
    ("read_finds_similar_paths", read_finds_similar_paths),
    ("write_is_atomic_and_keeps_the_mode", write_is_atomic_and_keeps_the_mode),
    ("changed_files_are_not_overwritten", changed_files_are_not_overwritten),
    ("edit_applies_all_changes_or_none", edit_applies_all_changes_or_none),
    ("a_preview_shows_the_change_without_making_it", a_preview_shows_the_change_without_making_it),
    ("ls_lists_a_directory", ls_lists_a_directory),
    ("grep_shows_blocks_per_file", grep_shows_blocks_per_file),
    ("find_sees_changes_of_other_tools_at_once", find_sees_changes_of_other_tools_at_once),
    ("todo_has_one_active_item", todo_has_one_active_item),
    ("a_session_has_a_scratch_directory", a_session_has_a_scratch_directory),
    ("hostile_files_get_an_answer", hostile_files_get_an_answer),
    ("matches_of_one_file_do_not_fill_a_page", matches_of_one_file_do_not_fill_a_page),
    ("schemas_do_not_use_lists_of_types", schemas_do_not_use_lists_of_types),
];

fn read_shows_numbered_lines_within_the_limits() {
    let stage = Stage::new();
    stage.put("a", "one\r\ntwo\nthree");
    stage.ok("read", json!({"path": "a"}), "1:one\n2:two\n3:three");
    stage.ok("read", json!({"file_path": "@a", "limit": "1"}), "1:one\n2:two\n3:three");
    stage.ok("read", json!({"path": "a:raw"}), "one\ntwo\nthree");
    let beyond = "Line 9 is beyond end of file (3 lines total). Use offset=1 to read from the start, or offset=3 to \
                  read the last line.";
    stage.ok("read", json!({"path": "a", "offset": 9}), beyond);
    let lines: String = (1..=5000).map(|i| format!("line {i}\n")).collect();
    stage.put("long", &lines);
    let (text, _) = stage.call("read", json!({"path": "long"}));
    assert!(text.starts_with("1:line 1\n"));
    assert!(text.ends_with("2000:line 2000\n[Showing lines 1-2000 of 5000. Use offset=2001 to continue.]"));
    let (text, _) = stage.call("read", json!({"path": "long:100-101"}));
    let expect: String = (97..=104).map(|i| format!("{i}:line {i}\n")).collect();
    assert_eq!(text, format!("{expect}[Showing lines 97-104 of 5000. Use offset=105 to continue.]"));
    stage.put("wide", format!("{}\nnext\n", "é".repeat(600 << 10)));
    let (text, _) = stage.call("read", json!({"path": "wide"}));
    assert!(text.starts_with("1:éé") && text.ends_with("é\n[Line 1 is 1.2 MB. Use bash: cut -c1-2000 'wide']"));
    let huge = std::fs::File::create(stage.cwd().join("huge")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&huge, &[b'x'; 9000], 0).unwrap();
    // The rest of the file is sparse and forms one line, which must not be read to its end.
    huge.set_len(5 << 30).unwrap();
    let (text, _) = stage.call("read", json!({"path": "huge", "limit": 1}));
    assert!(text.starts_with("1:xx") && text.contains("[Line 1 is "), "{}", &text[..100]);
    stage.put("bytes", format!("{}\n{}", "x".repeat(1023), "y\n".repeat(3)));
    let (text, _) = stage.call("read", json!({"path": "bytes"}));
    assert!(text.ends_with("4:y"));
}

fn read_handles_unusual_files() {
    let stage = Stage::new();
    stage.put("empty", "");
    stage.ok("read", json!({"path": "empty"}), "The file is empty.");
    stage.put("bin", b"\x7fELF\0\0");
    stage.ok("read", json!({"path": "bin"}), "Binary file: bin (6 B, application/x-elf). Not shown.");
    let utf16: Vec<u8> = "\u{feff}hé\nyou".encode_utf16().flat_map(u16::to_le_bytes).collect();
    stage.put("wide", utf16);
    stage.ok("read", json!({"path": "wide"}), "1:hé\n2:you");
    stage.put("latin", b"a\xe9b\n");
    let note = "[The file is not valid UTF-8: invalid bytes are shown as \u{fffd}.]";
    stage.ok("read", json!({"path": "latin"}), &format!("1:a\u{fffd}b\n{note}"));
    stage.put("bom", "\u{feff}x\n");
    stage.ok("read", json!({"path": "bom"}), "1:x");
    stage.put("n.ipynb", r#"{"cells": [{"cell_type": "code", "source": ["a = 1\n", "b"]}]}"#);
    stage.ok("read", json!({"path": "n.ipynb"}), "1:# %% [code] cell:0\n2:a = 1\n3:b");
    stage.put("d/x", "1");
    stage.ok("read", json!({"path": "d"}), "x (1 B)");
    let split = format!("{}漢字\n", "x".repeat(8 * 1024 - 1));
    stage.put("split", &split);
    stage.ok("read", json!({"path": "split"}), &format!("1:{}", split.trim_end()));
    stage.fails("read", json!({"path": "artifact://7"}), "No artifacts directory found");
    stage.fails("read", json!({}), "/path: is required");
}

fn read_finds_similar_paths() {
    let stage = Stage::new();
    stage.put("src/deep/name.rs", "x");
    stage.put("src/deep/other.rs", "y");
    stage.ok("read", json!({"path": "deep/name.rs"}), "1:x\n[Resolved to src/deep/name.rs]");
    let (text, error) = stage.call("read", json!({"path": "src/nme.rs"}));
    assert!(error && text.starts_with("File not found: src/nme.rs\nDid you mean:\nsrc/deep/name.rs"), "{text}");
}

fn write_is_atomic_and_keeps_the_mode() {
    let stage = Stage::new();
    stage.ok("write", json!({"path": "a/b/c", "content": "é\n"}), "Successfully wrote 3 bytes to a/b/c");
    holds(&stage.cwd().join("a/b"), &["c"]);
    let mode = |name: &str| stage.cwd().join(name).metadata().unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(stage.cwd().join("a/b/c"), PermissionsExt::from_mode(0o640)).unwrap();
    stage.ok("write", json!({"path": "a/b/c", "content": ""}), "Successfully wrote 0 bytes to a/b/c");
    assert_eq!((mode("a/b/c"), stage.get("a/b/c")), (0o640, String::new()));
    stage.ok("write", json!({"path": "run", "content": "#!/bin/sh\n"}), "Successfully wrote 10 bytes to run");
    assert_eq!(mode("run") & 0o100, 0o100);
    std::os::unix::fs::symlink("run", stage.cwd().join("link")).unwrap();
    stage.ok("write", json!({"path": "link", "content": "x"}), "Successfully wrote 1 bytes to link");
    assert_eq!(stage.get("run"), "x");
    assert!(stage.cwd().join("link").is_symlink());
    stage.fails("write", json!({"path": "a", "content": "x"}), "Cannot write a: it is a directory");
    stage.fails(
        "write",
        json!({"path": "/dev/null", "content": "x"}),
        "Cannot write /dev/null: it is a pipe, a socket or a device",
    );
    stage.put("made", "// @generated\n");
    stage.call("read", json!({"path": "made"}));
    let (text, error) = stage.call("write", json!({"path": "made", "content": "y"}));
    assert!(error && text.contains("is a generated file"), "{text}");
    stage.ok("write", json!({"path": "made", "content": "y"}), "Successfully wrote 1 bytes to made");
}

fn changed_files_are_not_overwritten() {
    let stage = Stage::new();
    stage.put("a", "1\n2\n3\n");
    let unread = "File exists and was not read in this session: a. Read it first, or use edit.";
    let write = json!({"path": "a", "content": "new\n"});
    stage.fails("write", write.clone(), unread);
    stage.call("read", json!({"path": "a"}));
    stage.put("a", "1\n2\n3\nmore\n");
    let changed = "File changed on disk since it was last read: a. Read it again.";
    stage.fails("write", write.clone(), changed);
    stage.fails("edit", json!({"path": "a", "oldText": "9", "newText": "x"}), changed);
    let (text, error) = stage.call("edit", json!({"path": "a", "oldText": "2", "newText": "two"}));
    assert!(!error && text.contains("changed on disk"), "{text}");
    stage.ok("write", write.clone(), "Successfully wrote 4 bytes to a");
    let stage = Stage::with(Settings { file_guard: FileGuard::Off, ..Settings::default() });
    stage.put("a", "1");
    stage.ok("write", write, "Successfully wrote 4 bytes to a");
}

fn edit_applies_all_changes_or_none() {
    let stage = Stage::new();
    stage.put("a", "one\ntwo\n");
    let edits = json!({"path": "a", "edits": [
        {"old_str": "one", "new_str": "1"}, {"oldText": "three", "newText": "3"}]});
    let (text, error) = stage.call("edit", edits);
    assert!(error && text.starts_with("edits[1]: Could not find the text in a."), "{text}");
    assert_eq!(stage.get("a"), "one\ntwo\n");
    stage.ok("edit", json!({"path": "a", "oldText": "one", "newText": "1"}), "Applied 1 edit to a.");
    assert_eq!(stage.get("a"), "1\ntwo\n");
    let same = "No changes made to a: the replacement is identical.";
    stage.fails("edit", json!({"path": "a", "oldText": "1", "newText": "1"}), same);
    stage.fails("edit", json!({"path": "none", "oldText": "1", "newText": "2"}), "File not found: none");
    stage.ok("edit", json!({"path": "x/new", "oldText": "", "newText": "2"}), "Applied 1 edit to x/new.");
    stage.ok("edit", json!({"path": "x/new", "oldText": "", "newText": "3"}), "Applied 1 edit to x/new.");
    assert_eq!(stage.get("x/new"), "23");
}

fn a_preview_shows_the_change_without_making_it() {
    let stage = Stage::new();
    stage.put("a.txt", "one\ntwo\nthree\n");
    let changes = stage.host.preview("edit", &json!({"path": "a.txt", "edits": [{"oldText": "two", "newText": "2"}]}));
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].old.as_str(), changes[0].new.as_str()), ("one\ntwo\nthree\n", "one\n2\nthree\n"));
    assert!(changes[0].diff.contains("-two\n+2\n"), "{}", changes[0].diff);
    let changes = stage.host.preview("write", &json!({"path": "new/b.txt", "content": "x\n"}));
    assert_eq!((changes[0].old.as_str(), changes[0].new.as_str()), ("", "x\n"));
    // Calls that would fail, and calls that change no file, have no preview.
    for (tool, arguments) in [
        ("edit", json!({"path": "a.txt", "edits": [{"oldText": "four", "newText": "4"}]})),
        ("edit", json!({"path": "none.txt", "edits": [{"oldText": "a", "newText": "b"}]})),
        ("edit", json!({"path": 3})),
        ("edit", json!({"input": "@a.txt#00000000\nreplace 1..1\n|x"})),
        ("write", json!({"path": "local://a.txt", "content": "x"})),
        ("write", json!({})),
        ("bash", json!({"command": "ls"})),
    ] {
        assert_eq!(stage.host.preview(tool, &arguments), [], "{tool} {arguments}");
    }
    assert_eq!(stage.get("a.txt"), "one\ntwo\nthree\n");
    holds(&stage.cwd(), &["a.txt"]);
}

fn ls_lists_a_directory() {
    let stage = Stage::new();
    stage.ok("ls", json!({}), "(empty directory)");
    stage.put("b.txt", "12");
    stage.put("A.txt", "");
    stage.put(".dot", "1");
    stage.put("dir/x", "");
    std::os::unix::fs::symlink("b.txt", stage.cwd().join("l")).unwrap();
    stage.ok("ls", json!({}), ".dot (1 B)\nA.txt (0 B)\nb.txt (2 B)\ndir/\nl@");
    stage.ok("ls", json!({"limit": 1}), ".dot (1 B)\n[1 of 5 entries shown.]");
    stage.ok("ls", json!({"path": "b.txt"}), "b.txt (2 B)");
    stage.fails("ls", json!({"path": "no"}), "Path not found: no");
}

fn grep_shows_blocks_per_file() {
    let stage = Stage::new();
    stage.put("a.rs", "fn a() {}\nlet x = 1;\nfn b() {}\n");
    stage.put("d/b.rs", "fn c() {}\n");
    stage.ok("grep", json!({"pattern": "fn"}), "a.rs\n1:fn a() {}\n3:fn b() {}\n\nd/b.rs\n1:fn c() {}");
    stage.ok("grep", json!({"pattern": "let", "context": 1}), "a.rs\n1-fn a() {}\n2:let x = 1;\n3-fn b() {}");
    stage.ok("grep", json!({"pattern": "fn", "mode": "files"}), "a.rs\nd/b.rs");
    stage.ok("grep", json!({"pattern": "fn", "mode": "count"}), "a.rs:2\nd/b.rs:1");
    stage.ok("grep", json!({"pattern": "fn", "path": "d"}), "d/b.rs\n1:fn c() {}");
    stage.ok("grep", json!({"pattern": "fn c", "path": "d/b.rs"}), "d/b.rs\n1:fn c() {}");
    stage.ok("grep", json!({"pattern": "zzz"}), "No matches found");
    let one = "a.rs\n1:fn a() {}\n[1 matches shown. Use offset=1 for more, or refine the pattern.]";
    stage.ok("grep", json!({"pattern": "fn", "limit": 1}), one);
    let literal = "a.rs\n1:fn a() {}\n[The pattern is not a regular expression (unbalanced bracket), so it was searched as text.]";
    stage.ok("grep", json!({"pattern": "a("}), literal);
    stage.ok("grep", json!({"pattern": "c", "path": "no, d"}), "d/b.rs\n1:fn c() {}\n[Not found: no.]");
    stage.fails("grep", json!({"pattern": ""}), "Pattern must not be empty");
    stage.fails("grep", json!({"pattern": "x", "path": "no"}), "Path not found: no");
}

fn find_sees_changes_of_other_tools_at_once() {
    let stage = Stage::new();
    stage.ok("find", json!({"pattern": "*.rs"}), "No files found matching pattern");
    stage.call("write", json!({"path": "a/b.rs", "content": "x"}));
    stage.ok("find", json!({"pattern": "*.rs"}), "a/b.rs");
    stage.ok("find", json!({"pattern": "a/*.rs"}), "a/b.rs");
    stage.ok("find", json!({"pattern": "*", "type": "dir"}), "a/");
    stage.ok("find", json!({"pattern": "a"}), "a/b.rs");
    stage.ok("find", json!({"pattern": "a/b.rs"}), "a/b.rs");
    stage.ok("bash", json!({"command": "rm a/b.rs && touch c.rs"}), "(no output)");
    stage.ok("find", json!({"pattern": "*.rs"}), "c.rs");
    let root = "Cannot search /: choose a folder below it.";
    stage.fails("find", json!({"pattern": "x", "path": "/"}), root);
}

fn todo_has_one_active_item() {
    let stage = Stage::new();
    let op = |op: serde_json::Value| json!({"ops": [op]});
    let list = json!({"op": "init", "list": [{"phase": "P", "items": ["a", "b"]}]});
    stage.ok("todo", op(list), "2 open of 2, phase: P\nP\n  [>] a\n  [ ] b");
    let done = "1 open of 2, phase: P\nP\n  [x] a\n  [>] b";
    stage.ok("todo", op(json!({"op": "done", "task": "a"})), done);
    for (bad, text) in [
        (json!({"op": "init"}), "Missing list for init operation"),
        (json!({"op": "start"}), "Missing task content"),
        (json!({"op": "done", "task": "z"}), "Task \"z\" not found"),
        (json!({"op": "rm", "phase": "z"}), "Phase \"z\" not found"),
        (json!({"op": "append", "items": ["c"]}), "Missing phase name for append operation"),
        (json!({"op": "append", "phase": "P"}), "Missing items for append operation"),
        (json!({"op": "append", "phase": "P", "items": ["a"]}), "Task \"a\" already exists"),
        (json!({"op": "note", "task": "b"}), "Missing text for note operation"),
    ] {
        stage.fails("todo", op(bad), &format!("{text}\n\n{done}"));
    }
    stage.ok("todo", op(json!({"op": "rm"})), "Todo list cleared.");
    let details = json!({"phases": [{"name": "P", "tasks": [
        {"content": "x", "status": "completed"}, {"content": "y", "status": "pending"}]}]});
    stage.host.restore_todo(&details);
    let append = op(json!({"op": "append", "phase": "Q", "items": ["z"]}));
    stage.ok("todo", append, "2 open of 2, phase: P\nP\n  [>] y\nQ\n  [ ] z");
}

fn a_session_has_a_scratch_directory() {
    let stage = Stage::new();
    stage.ok("write", json!({"path": "local://notes/a.md", "content": "one\n"}), &{
        format!("Successfully wrote 4 bytes to {}", stage.artifacts.scratch().unwrap().join("notes/a.md").display())
    });
    stage.ok("read", json!({"path": "local://notes/a.md"}), "1:one");
    stage.ok("ls", json!({"path": "local://notes"}), "a.md (4 B)");
    stage.call("edit", json!({"path": "local://notes/a.md", "oldText": "one", "newText": "two"}));
    stage.ok("bash", json!({"command": "cat $ARTIFACTS/local/notes/a.md; ln -s / $ARTIFACTS/local/root"}), "two");
    for path in ["local://../x", "local:///etc/passwd", "local://root/etc/passwd", "local://notes/../../x"] {
        stage.fails("read", json!({"path": path}), &format!("{path} is outside of local://: use a path below it."));
        let (text, error) = stage.call("write", json!({"path": path, "content": ""}));
        assert!(error && text.contains("is outside of local://"), "{text}");
    }
}

/// Returns the value of a line in the process's status, in KB.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

fn hostile_files_get_an_answer() {
    let stage = Stage::new();
    // A file of five gigabytes, of which only the first lines are requested.
    stage.put("huge", "line\n".repeat(4_000));
    std::fs::File::options().write(true).open(stage.cwd().join("huge")).unwrap().set_len(5 << 30).unwrap();
    // Resets the peak of the memory usage.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS:");
    let (text, error) = stage.call("read", json!({"path": "huge", "limit": 2}));
    let grown = memory("VmHWM:").saturating_sub(before);
    assert!(grown < 50 * 1024, "{grown} KB");
    assert!(!error && text.starts_with("1:line\n2:line\n") && text.contains(" of at least 4"), "{text}");
    // One line of five gigabytes.
    let endless = std::fs::File::create(stage.cwd().join("endless")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&endless, &[b'x'; 9_000], 0).unwrap();
    endless.set_len(5 << 30).unwrap();
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS:");
    let (text, error) = stage.call("read", json!({"path": "endless", "limit": 2}));
    let grown = memory("VmHWM:").saturating_sub(before);
    assert!(grown < 50 * 1024, "{grown} KB");
    assert!(!error && text.contains("[Line 1 is at least "), "{}", &text[..100]);
    // One line of a megabyte that consists of three-byte characters, so that every cut could split one.
    stage.put("long", "\u{6f22}".repeat(400_000));
    let (text, error) = stage.call("read", json!({"path": "long"}));
    assert!(!error && text.ends_with("\n[Line 1 is 1.1 MB. Use bash: cut -c1-2000 'long']"), "{text}");
    assert!(!text.contains('\u{fffd}') && text.len() < 3_000);
    let (text, _) = stage.call("write", json!({"path": "long", "content": "x"}));
    assert!(text.contains("was not read") || text.contains("Successfully"), "{text}");
    // A character across the end of the bytes by which the type of a file is detected.
    stage.put("border", format!("{}\u{6f22}\nend", "a".repeat(8 * 1024 - 1)));
    let (text, _) = stage.call("read", json!({"path": "border"}));
    assert!(text.ends_with("a\u{6f22}\n2:end"), "{}", &text[text.len() - 30..]);
    let utf16: Vec<u8> = "\u{feff}h\u{e9}\r\nx".encode_utf16().flat_map(u16::to_be_bytes).collect();
    stage.put("wide", utf16);
    stage.ok("read", json!({"path": "wide"}), "1:h\u{e9}\n2:x");
    let _socket = std::os::unix::net::UnixListener::bind(stage.cwd().join("socket")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(stage.cwd().join("fifo")).status().unwrap().success());
    for name in ["socket", "fifo", "/dev/null"] {
        stage.fails("read", json!({"path": name}), &format!("Cannot read {name}: it is a pipe, a socket or a device"));
        let text = format!("Cannot write {name}: it is a pipe, a socket or a device");
        stage.fails("write", json!({"path": name, "content": "x"}), &text);
        stage.fails("edit", json!({"path": name, "oldText": "a", "newText": "b"}), &text);
    }
    // A file that was deleted, or replaced by a directory, between a read and an edit.
    for name in ["gone", "turned"] {
        stage.put(name, "a\n");
        stage.ok("read", json!({"path": name}), "1:a");
        std::fs::remove_file(stage.cwd().join(name)).unwrap();
    }
    std::fs::create_dir(stage.cwd().join("turned")).unwrap();
    let edit = |name: &str| json!({"path": name, "oldText": "a", "newText": "b"});
    stage.fails("edit", edit("gone"), "File not found: gone");
    stage.fails("edit", edit("turned"), "Cannot write turned: it is a directory");
    // Paths at which not even root can create a file.
    let (text, error) = stage.call("write", json!({"path": "/proc/none", "content": "x"}));
    assert!(error && text.starts_with("Cannot write /proc/none: "), "{text}");
    let (text, error) = stage.call("write", json!({"path": "gone/../long/x", "content": "x"}));
    assert!(error && text.starts_with("Cannot write long/x: "), "{text}");
    stage.ok("bash", json!({"command": "yes | head -5 | wc -l"}), "5");
    stage.ok("bash", json!({"command": "yes line | head -c 30000000", "head": 2}), "line\nline");
}

fn matches_of_one_file_do_not_fill_a_page() {
    let stage = Stage::new();
    for name in ["a", "b", "c"] {
        stage.put(name, "hit\n".repeat(50));
    }
    let (text, _) = stage.call("grep", json!({"pattern": "hit", "limit": 30}));
    let files: Vec<&str> = text.lines().filter(|line| line.len() == 1).collect();
    assert_eq!(files, ["a", "b", "c"]);
    assert_eq!(text.matches(":hit").count(), 30);
    assert!(text.ends_with("\n10:hit\n[30 matches shown. Use offset=30 for more, or refine the pattern.]"), "{text}");
    // All pages together contain every match exactly once.
    let pages = (0..15).map(|page| stage.call("grep", json!({"pattern": "hit", "limit": 11, "offset": page * 11})).0);
    let mut hits: Vec<String> = Vec::new();
    for page in pages {
        let mut file = "";
        for line in page.lines() {
            match line.strip_suffix(":hit") {
                Some(number) => hits.push(format!("{file}{number}")),
                None => file = line,
            }
        }
    }
    hits.sort();
    hits.dedup();
    assert_eq!(hits.len(), 150);
    let (text, _) = stage.call("grep", json!({"pattern": "hit", "path": ["c", "a", "none"], "mode": "count"}));
    assert_eq!(text, "c:50\na:50\n[Not found: none.]");
}

/// Some servers reject a list of types; `anyOf` has the same meaning.
fn schemas_do_not_use_lists_of_types() {
    fn lists(value: &Value, at: &str, found: &mut Vec<String>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
            _ => return,
        };
        if value.get("type").is_some_and(Value::is_array) {
            found.push(at.to_string());
        }
        below.iter().for_each(|(name, value)| lists(value, &format!("{at}/{name}"), found));
    }
    let mut names = std::collections::BTreeSet::new();
    for mode in [EditMode::Replace, EditMode::Hashline] {
        let stage = Stage::changed(|options| {
            options.ask = Some(Arc::new(Nobody));
            options.settings.edit.mode = mode;
            options.settings.jobs = true;
        });
        for tool in &stage.tools {
            let mut found = Vec::new();
            lists(&tool.parameters(), tool.name(), &mut found);
            assert_eq!(found, Vec::<String>::new());
            names.insert(tool.name().to_string());
        }
    }
    assert!(sinew_tools::names().all(|name| names.contains(name)), "{names:?}");
}

struct Nobody;

impl Ask for Nobody {
    fn answer<'a>(&'a self, _: &'a Question) -> Boxed<'a, Option<String>> {
        Box::pin(async { None })
    }
}
