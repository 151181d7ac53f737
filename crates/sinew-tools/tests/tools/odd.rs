//! Tests unusual names and files: tables of calls and the expected answers.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;
use sinew_tools::{FileGuard, Settings};

use crate::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    ("urls_are_refused_as_file_paths", urls_are_refused_as_file_paths),
    ("an_at_sign_can_be_part_of_a_name", an_at_sign_can_be_part_of_a_name),
    ("endless_files_are_not_read", endless_files_are_not_read),
    ("requested_lines_take_precedence_over_context_lines", requested_lines_take_precedence_over_context_lines),
    ("file_names_are_shown_on_one_line", file_names_are_shown_on_one_line),
    ("an_unreadable_match_does_not_hide_others", an_unreadable_match_does_not_hide_others),
    ("patterns_can_leave_the_search_directory", patterns_can_leave_the_search_directory),
    ("ambiguous_text_is_not_edited", ambiguous_text_is_not_edited),
    ("an_edit_keeps_utf16", an_edit_keeps_utf16),
    ("a_write_keeps_encoding_and_line_endings", a_write_keeps_encoding_and_line_endings),
    ("an_edit_reports_the_number_of_replacements", an_edit_reports_the_number_of_replacements),
    ("notebook_edits_apply_to_the_text_that_read_shows", notebook_edits_apply_to_the_text_that_read_shows),
    ("a_write_keeps_attributes_and_reports_hard_links", a_write_keeps_attributes_and_reports_hard_links),
    ("an_unwritable_directory_is_reported", an_unwritable_directory_is_reported),
];

fn urls_are_refused_as_file_paths() {
    let stage = Stage::new();
    for (path, text) in [
        ("http://host/a", "http://host/a is not a file: use fetch for web pages."),
        ("@https://host", "@https://host is not a file: use fetch for web pages."),
        ("ftp://host/a", "ftp://host/a is not a file: ftp:// is not supported."),
    ] {
        stage.fails("read", json!({"path": path}), text);
        stage.fails("write", json!({"path": path, "content": "x"}), text);
        stage.fails("edit", json!({"path": path, "oldText": "", "newText": "x"}), text);
        stage.fails("ls", json!({"path": path}), text);
        stage.fails("find", json!({"path": path, "pattern": "*"}), text);
        stage.fails("bash", json!({"command": "pwd", "cwd": path}), text);
    }
    for path in ["artifact://0", "skill://a", "rule://a"] {
        let text = format!("{path} is read-only: use the tool read.");
        stage.fails("write", json!({"path": path, "content": "x"}), &text);
    }
    stage.ok("ls", json!({}), "(empty directory)");
    let file = format!("file://{}/a b", stage.cwd().display());
    stage.ok("write", json!({"path": file, "content": "x"}), "Successfully wrote 1 bytes to a b");
    stage.put("x:/y", "z");
    stage.ok("read", json!({"path": "x:/y"}), "1:z");
}

fn an_at_sign_can_be_part_of_a_name() {
    let stage = Stage::new();
    stage.put("@types/a", "1");
    stage.ok("read", json!({"path": "@types/a"}), "1:1");
    stage.ok("ls", json!({"path": "@types"}), "a (1 B)");
    stage.ok("write", json!({"path": "@types/new", "content": "x"}), "Successfully wrote 1 bytes to @types/new");
    stage.put("types/a", "2");
    // If a file without the sign exists, it is read.
    stage.ok("read", json!({"path": "@types/a"}), "1:2");
    stage.ok("write", json!({"path": "@other/new", "content": "x"}), "Successfully wrote 1 bytes to other/new");
    stage.ok("write", json!({"path": "@new", "content": "x"}), "Successfully wrote 1 bytes to new");
}

fn endless_files_are_not_read() {
    let stage = Stage::new();
    // It looks like a plain file, but a read waits for the next kernel message, or is refused.
    let (text, error) = stage.call("read", json!({"path": "/proc/kmsg"}));
    assert!(error && text.starts_with("Cannot read /proc/kmsg: "), "{text}");
    let (text, error) = stage.call("edit", json!({"path": "/proc/kmsg", "oldText": "a", "newText": "b"}));
    assert!(error && text.starts_with("Cannot write /proc/kmsg: "), "{text}");
    let (text, error) = stage.call("grep", json!({"path": "/proc/kmsg", "pattern": "x"}));
    assert!(!error && text.contains("1 unreadable"), "{text}");
    let (text, error) = stage.call("read", json!({"path": "/proc/self/status", "limit": 1}));
    assert!(!error && text.starts_with("1:Name:"), "{text}");
}

fn requested_lines_take_precedence_over_context_lines() {
    let stage = Stage::new();
    let wide = "w".repeat(60_000);
    let check = |offset: usize, limit: usize, expect: &str| {
        let (text, _) = stage.call("read", json!({"path": "a", "offset": offset, "limit": limit}));
        assert_eq!(text, expect, "{offset} {limit}");
    };
    stage.put("a", format!("{wide}\n2\n3\n4\n5\n6\n7\n"));
    check(2, 1, "2:2\n3:3\n4:4\n5:5\n[Showing lines 2-5 of 7. Use offset=6 to continue.]");
    stage.put("a", format!("1\n2\n{wide}\n4\n5\n"));
    check(4, 2, "4:4\n5:5");
    check(2, 1, "1:1\n2:2\n[Showing lines 1-2 of 5. Use offset=3 to continue.]");
    // Lines that each fit, but not together: context lines are dropped, the most distant first.
    let long = "l".repeat(20_000);
    stage.put("a", format!("{long}\n{long}\nx\n{long}\n{long}\nend\n"));
    let shown = |from: usize, lines: &[&str]| -> String {
        let lines = (from..).zip(lines).map(|(number, line)| format!("{number}:{line}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    check(4, 1, &format!("{}\n[Showing lines 2-4 of 6. Use offset=5 to continue.]", shown(2, &[&long, "x", &long])));
    check(4, 3, &shown(3, &["x", &long, &long, "end"]));
    stage.put("a", format!("1\n{wide}\n3\n"));
    let (text, _) = stage.call("read", json!({"path": "a", "offset": 2}));
    assert!(text.starts_with("2:www"), "{}", &text[..20]);
    assert!(text.ends_with("[Line 2 is 58.6 KB. Use bash: sed -n 2p 'a' | cut -c1-2000]"), "{}", &text[2_000..]);
    stage.put("a", &wide);
    let (text, _) = stage.call("read", json!({"path": "a:raw"}));
    assert!(text.starts_with("www"), "{}", &text[..20]);
    // The line is longer than what is scanned for the count, so its length is unknown.
    let huge = std::fs::File::create(stage.cwd().join("huge")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&huge, &[b'x'; 9_000], 0).unwrap();
    huge.set_len(80 << 20).unwrap();
    let (text, _) = stage.call("read", json!({"path": "huge"}));
    assert!(text.contains("[Line 1 is at least 64 MB. "), "{}", &text[text.len() - 90..]);
    let beyond = "Line 2 is beyond end of file (1 lines total). Use offset=1 to read from the start, or offset=1 to \
                  read the last line.";
    stage.ok("read", json!({"path": "huge", "offset": 2}), beyond);
    stage.ok("read", json!({"path": "huge", "offset": 2.0}), beyond);
}

fn file_names_are_shown_on_one_line() {
    let stage = Stage::new();
    stage.put("a\n1:b\u{1b}[31m", "hit\n");
    let name = "a\u{fffd}1:b\u{fffd}[31m";
    stage.ok("ls", json!({}), &format!("{name} (4 B)"));
    stage.ok("find", json!({"pattern": "*"}), name);
    stage.ok("grep", json!({"pattern": "hit"}), &format!("{name}\n1:hit"));
    stage.ok("grep", json!({"pattern": "hit", "mode": "files"}), name);
    stage.ok("read", json!({"path": "a\n1:b\u{1b}[31m"}), "1:hit");
}

fn an_unreadable_match_does_not_hide_others() {
    use std::os::unix::ffi::OsStrExt;
    let stage = Stage::new();
    stage.put("good", "hit\nhit\nhit\n");
    let name = std::ffi::OsStr::from_bytes(b"bad\xff");
    std::fs::write(stage.cwd().join(name), "hit\nhit\n").unwrap();
    let expect = "good\n1:hit\n[2 matches shown. Use offset=2 for more, or refine the pattern.]\n[bad\u{fffd}: \
                  its matches cannot be shown. Use bash for this file]";
    // More matches than the limit: the files contribute matches in turn, and are opened by name.
    let (text, error) = stage.call("grep", json!({"pattern": "hit", "limit": 2}));
    assert_eq!(
        (text.replace("[1 matches shown. Use offset=1", "[2 matches shown. Use offset=2"), error),
        (expect.into(), false)
    );
    let (text, _) = stage.call("grep", json!({"pattern": "hit"}));
    assert_eq!(text, "bad\u{fffd}\n1:hit\n2:hit\n\ngood\n1:hit\n2:hit\n3:hit");
}

fn patterns_can_leave_the_search_directory() {
    let stage = Stage::new();
    stage.put("a.rs", "");
    stage.put("d/b.rs", "");
    std::fs::create_dir(stage.cwd().join("e")).unwrap();
    let cwd = stage.cwd();
    let find = |pattern: &str, path: &str, expect: &str| {
        let arguments = json!({"pattern": pattern, "path": path, "sort": "path"});
        assert_eq!(stage.call("find", arguments), (expect.to_string(), false), "{pattern} in {path}");
    };
    find(&format!("{}/*.rs", cwd.display()), ".", "a.rs");
    find(&format!("{}/**/*.rs", cwd.display()), "e", "a.rs\nd/b.rs");
    find("../*.rs", "e", "a.rs");
    find("../d/*", "e", "d/b.rs");
    find("~/work/*.rs", "e", "a.rs");
    find("../none*", "e", "No files found matching pattern");
    let none = format!("Path not found: {}", cwd.parent().unwrap().join("none").display());
    stage.fails("find", json!({"pattern": "../none/*.rs"}), &none);
    stage.fails("find", json!({"pattern": "/*"}), "Cannot search /: choose a folder below it.");
}

fn ambiguous_text_is_not_edited() {
    let stage = Stage::new();
    let found = |count: usize| {
        format!(
            "Found {count} occurrences of the text in a. Add surrounding lines to make it unique, or set replaceAll to \
             true."
        )
    };
    for (content, old) in [
        ("}\n}\n}\n", "}\n}\n"),
        ("x  \nx\t\nx \n", "x\nx\n"),
        ("“q”“q”“q”\n", "\"q\"\"q\""),
        ("  {\n  {\n  {\n", "{\n{"),
    ] {
        stage.put("a", content);
        stage.fails("edit", json!({"path": "a", "oldText": old, "newText": "y"}), &found(2));
        assert_eq!(stage.get("a"), content);
    }
    // With this many candidates, the lines are not compared.
    stage.put("a", "  }x\n".repeat(2_000) + "  }\n");
    let (text, error) = stage.call("edit", json!({"path": "a", "oldText": "    }\n", "newText": "y\n"}));
    assert!(error && text.starts_with("Could not find the text in a."), "{text}");
    // If the file changed since it was read and now contains the text twice, the error says that it changed.
    stage.put("a", "one\n");
    stage.call("read", json!({"path": "a"}));
    stage.put("a", "one\none\n");
    let changed = "File changed on disk since it was last read: a. Read it again.";
    stage.fails("edit", json!({"path": "a", "oldText": "one", "newText": "y"}), changed);
}

fn an_edit_keeps_utf16() {
    let stage = Stage::new();
    let wide: Vec<u8> = "\u{feff}one\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    stage.put("a", &wide);
    stage.call("read", json!({"path": "a"}));
    stage.ok("edit", json!({"path": "a", "oldText": "one", "newText": "zw\u{f6}i"}), "Applied 1 edit to a.");
    let file = || std::fs::read(stage.cwd().join("a")).unwrap();
    let encoded = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    assert_eq!(file(), encoded("\u{feff}zw\u{f6}i\n"));
    stage.put("a", [&wide[..], b"x"].concat());
    let text = "Cannot edit a: it begins like UTF-16, but is not valid UTF-16. Use bash.";
    stage.fails("edit", json!({"path": "a", "oldText": "one", "newText": "two"}), text);
    assert_eq!(file(), [&wide[..], b"x"].concat());
}

fn a_write_keeps_encoding_and_line_endings() {
    let stage = Stage::with(Settings { file_guard: FileGuard::Off, ..Settings::default() });
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    for (old, new, kept) in [
        (b"\xef\xbb\xbfa\r\nb\r\n".to_vec(), b"\xef\xbb\xbfx\r\ny".to_vec(), "byte order mark and CRLF line ends"),
        (wide("\u{feff}a\n"), wide("\u{feff}x\ny"), "encoding UTF-16 BE"),
        (b"a\nb\r\n".to_vec(), b"x\ny".to_vec(), ""),
    ] {
        stage.put("a", &old);
        let (text, failed) = stage.call("write", json!({"path": "a", "content": "x\ny"}));
        assert!(!failed, "{text}");
        assert_eq!(std::fs::read(stage.cwd().join("a")).unwrap(), new);
        let note = format!("[The file keeps its {kept}.]");
        assert_eq!(text.contains(&note), !kept.is_empty(), "{text}");
    }
}

fn an_edit_reports_the_number_of_replacements() {
    let stage = Stage::new();
    stage.put("a", "x y x\nx\n");
    stage.call("read", json!({"path": "a"}));
    let all = json!({"path": "a", "oldText": "x", "newText": "z", "replaceAll": true});
    stage.ok("edit", all, "Applied 1 edit to a. 3 occurrences replaced.");
}

/// Edits of a notebook apply to the text that a read shows.
fn notebook_edits_apply_to_the_text_that_read_shows() {
    let stage = Stage::new();
    let book = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"source\": [\n    \"a = 1\\n\",\n    \"b\"\n   ]\n  }\n ]\n}\n";
    stage.put("n.ipynb", book);
    stage.ok("read", json!({"path": "n.ipynb"}), "1:# %% [code] cell:0\n2:a = 1\n3:b");
    let edit = |old: &str, new: &str| json!({"path": "n.ipynb", "oldText": old, "newText": new});
    stage.ok("edit", edit("a = 1\nb\n", "a = 2\nc\n"), "Applied 1 edit to n.ipynb.");
    let file = || std::fs::read_to_string(stage.cwd().join("n.ipynb")).unwrap();
    assert_eq!(file(), book.replace("a = 1", "a = 2").replace("\"b\"", "\"c\""));
    stage.ok("edit", edit("\"a = 2\\n\"", "\"a = 3\\n\""), "Applied 1 edit to n.ipynb.");
    assert_eq!(file(), book.replace("a = 1", "a = 3").replace("\"b\"", "\"c\""));
    let (text, failed) = stage.call("edit", edit("# %% [code]", "x"));
    assert!(failed && text.contains("the lines # %% mark the cells of the notebook"), "{text}");
    let (text, failed) = stage.call("write", json!({"path": "n.ipynb", "content": "# %% [code] cell:0\nx\n"}));
    assert!(failed && text.contains("the content is not a notebook"), "{text}");
}

fn a_write_keeps_attributes_and_reports_hard_links() {
    let stage = Stage::with(Settings { file_guard: FileGuard::Off, ..Settings::default() });
    stage.put("a", "one\n");
    let path = stage.cwd().join("a");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::hard_link(&path, stage.cwd().join("b")).unwrap();
    // Not every file system supports attributes; if it does, they are kept.
    let flags = rustix::fs::XattrFlags::empty();
    let kept = rustix::fs::setxattr(&path, "user.sinew", b"kept", flags).is_ok();
    let note = "[The file had 2 names (hard links): the other names keep the old content.]";
    let edit = json!({"path": "a", "oldText": "one", "newText": "two"});
    stage.ok("edit", edit, &format!("Applied 1 edit to a.\n{note}"));
    stage.ok("write", json!({"path": "a", "content": "x"}), "Successfully wrote 1 bytes to a");
    assert_eq!((stage.get("a"), stage.get("b")), ("x".into(), "one\n".into()));
    assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    if kept {
        let mut value = [0_u8; 8];
        let length = rustix::fs::getxattr(&path, "user.sinew", &mut value).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
}

fn an_unwritable_directory_is_reported() {
    let stage = Stage::new();
    // Not even root can create a file there.
    let (text, error) = stage.call("write", json!({"path": "/proc/self/none", "content": "x"}));
    assert!(error && text.starts_with("Cannot write /proc/self/none: its folder cannot be written: "), "{text}");
    assert!(!text.contains(".tmp"), "{text}");
}
