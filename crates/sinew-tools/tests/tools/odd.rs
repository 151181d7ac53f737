//! Tests unusual names and files: tables of calls and the expected answers.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;
use sinew_tools::{EditMode, EditSettings, FileGuard, Settings};

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
    ("every_edit_mode_changes_only_the_edited_line", every_edit_mode_changes_only_the_edited_line),
    ("no_edit_mode_changes_a_file_that_read_cannot_show", no_edit_mode_changes_a_file_that_read_cannot_show),
    ("a_notebook_shows_unpaired_surrogates_as_replacement_characters", surrogates_in_a_notebook),
    ("a_file_with_only_a_byte_order_mark_can_be_read_and_changed", only_a_byte_order_mark),
    ("a_write_reports_a_changed_form", a_write_reports_a_changed_form),
    ("a_twin_in_another_unicode_form_is_edited_alone", a_twin_in_another_unicode_form_is_edited_alone),
    ("changes_in_shown_lines_of_converted_files_are_noticed", changes_in_shown_lines_of_converted_files_are_noticed),
    ("the_marks_of_notebook_cells_cannot_be_edited", the_marks_of_notebook_cells_cannot_be_edited),
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

fn little(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn big(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

fn wide(text: &str) -> Vec<u8> {
    text.chars().flat_map(|character| u32::from(character).to_le_bytes()).collect()
}

fn utf8(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect()
}

/// Notebooks: Jupyter's layout, one line, unusual white space, sources as one string, and escapes that a new file would
/// not have.
const BOOKS: [&str; 5] = [
    "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"source\": [\n    \"a\\n\",\n    \"old = 1\\n\",\n    \"b\"\n   ]\n  }\n ]\n}\n",
    "{\"cells\":[{\"cell_type\":\"code\",\"source\":[\"old = 1\"]},{\"source\":[]}],\"x\":1e5}",
    "{\t\"cells\": [{ \"source\" :[\"a\\n\" , \"old = 1\\n\",\r\n\"c\\n\",  \"d\" ] }]}",
    "{\"cells\": [{\"cell_type\": \"markdown\", \"source\": \"a\\n\\u00e4\\nold = 1\\n\\/b\"}]}",
    "{\"cells\": [{\"source\": [\"\\ud83d\\n\", \"old = 1\\n\", \"\\u00e4\"]}, {\"source\": \"\\udc00\"}]}",
];

fn in_mode(mode: EditMode) -> Stage {
    Stage::with(Settings { edit: EditSettings { mode, ..EditSettings::default() }, ..Settings::default() })
}

/// Returns the hunk of a unified diff that replaces the line `old = 1`, with one line of context on each side.
fn hunk(shown: &str) -> String {
    let lines: Vec<&str> = shown.split('\n').filter_map(|line| Some(line.split_once(':')?.1)).collect();
    let Some(at) = lines.iter().position(|line| *line == "old = 1") else {
        return "@@ -1 +1 @@\n-old = 1\n+new = 2\n".into();
    };
    let context = |index: Option<usize>| {
        index.and_then(|index| lines.get(index)).map_or(String::new(), |line| format!(" {line}\n"))
    };
    let (before, after) = (context(at.checked_sub(1)), context(Some(at + 1)));
    let count = 1 + usize::from(!before.is_empty()) + usize::from(!after.is_empty());
    let first = at.max(1);
    format!("@@ -{first},{count} +{first},{count} @@\n{before}-old = 1\n+new = 2\n{after}")
}

/// Replaces the line `old = 1` of a file by `new = 2` in the way of `mode`; `diff` requests a unified diff.
fn edit_line(stage: &Stage, mode: EditMode, diff: bool, name: &str) -> (String, bool) {
    let (shown, _) = stage.call("read", json!({"path": name}));
    let number = shown.lines().find_map(|line| line.strip_suffix(":old = 1")).unwrap_or("1");
    let arguments = match (mode, diff) {
        (EditMode::Replace, _) => json!({"path": name, "oldText": "old = 1", "newText": "new = 2"}),
        (EditMode::Patch, false) => {
            json!({"patch": format!("*** Begin Patch\n*** Update File: {name}\n@@\n-old = 1\n+new = 2\n*** End Patch\n")})
        }
        (EditMode::Patch, true) => json!({
            "patch": format!("--- a/{name}\n+++ b/{name}\n{}", hunk(&shown))
        }),
        (EditMode::Hashline, _) => {
            json!({"input": format!("@{name}#{}\nreplace {number}\n|new = 2", crate::hashline::tag(stage, name))})
        }
    };
    stage.call("edit", arguments)
}

const MODES: [(EditMode, bool); 4] =
    [(EditMode::Replace, false), (EditMode::Patch, false), (EditMode::Patch, true), (EditMode::Hashline, false)];

fn every_edit_mode_changes_only_the_edited_line() {
    type Encode = fn(&str) -> Vec<u8>;
    let long = format!("{}\nold = 1\n\0\n", "x".repeat(9_000));
    let mut forms: Vec<(&str, &str, Encode)> = vec![
        ("a", "a\nold = 1\nb\n", utf8),
        ("a", "a\nold = 1\nb", utf8),
        ("a", "a\r\nold = 1\r\nb\r\n", utf8),
        ("a", "a\r\nold = 1\r\nb", utf8),
        ("a", "a\r\nb\r\nold = 1\nb\r\nc", utf8),
        ("a", "a\nb\nold = 1\r\nc\n", utf8),
        ("a", "a\r\nb\r\nc\r\nold = 1\n", utf8),
        ("a", "a\nb\nc\nold = 1\r\n", utf8),
        ("a", "a\rb\u{c}\u{b}\nold = 1\nx\n\r\r\n\n\r", utf8),
        ("a", "\u{2028}\u{85}\nold = 1\n\u{feff}", utf8),
        ("a", "\u{feff}old = 1\nb\n", utf8),
        ("a", "\u{feff}a\r\nold = 1\r\nb", utf8),
        ("a", "\u{e4}\na\nold = 1\nb\n\u{ff}\u{80}", latin1),
        ("a", "\u{feff}old = 1\n\u{1f600}\n", little),
        ("a", "\u{feff}a\r\nold = 1\r\nb", big),
        ("a", &long, utf8),
    ];
    for book in BOOKS {
        forms.push(("n.ipynb", book, utf8));
    }
    let marked: Vec<String> = BOOKS.iter().map(|book| format!("\u{feff}{book}")).collect();
    for book in &marked {
        forms.extend([("n.ipynb", book.as_str(), utf8 as Encode), ("n.ipynb", book, little), ("n.ipynb", book, big)]);
    }
    let mut faults = Vec::new();
    for (mode, diff) in MODES {
        for (name, text, encode) in &forms {
            let stage = in_mode(mode);
            stage.put(name, encode(text));
            let (said, _) = edit_line(&stage, mode, diff, name);
            let (got, expect) =
                (std::fs::read(stage.cwd().join(name)).unwrap(), encode(&text.replace("old = 1", "new = 2")));
            if got != expect {
                let text: String = text.chars().rev().take(120).collect::<Vec<_>>().into_iter().rev().collect();
                faults.push(format!("{mode:?} {diff} {text:?}: {said}\n{}", String::from_utf8_lossy(&got)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

fn no_edit_mode_changes_a_file_that_read_cannot_show() {
    let text = "a\nold = 1\nb\n";
    let forms = [
        utf8("a\0\nold = 1\n"),
        little(text),
        big(text),
        wide(text),
        wide(&format!("\u{feff}{text}")),
        [little(&format!("\u{feff}{text}")), vec![1]].concat(),
        [little(&format!("\u{feff}{text}")), vec![0, 0xd8]].concat(),
    ];
    let mut faults = Vec::new();
    for (mode, diff) in MODES {
        for content in &forms {
            let stage = in_mode(mode);
            stage.put("a", content);
            let (said, failed) = edit_line(&stage, mode, diff, "a");
            if !failed || !said.starts_with("Cannot edit a: it ") {
                faults.push(format!("{mode:?} {diff} {content:?}: {said}"));
            }
            if mode == EditMode::Replace {
                // Text at the end, and a single character, would fit any bytes.
                for old in ["", "1"] {
                    stage.call("edit", json!({"path": "a", "oldText": old, "newText": "xy"}));
                }
            }
            if std::fs::read(stage.cwd().join("a")).unwrap() != *content {
                faults.push(format!("{mode:?} {diff} {content:?} was changed: {said}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

fn surrogates_in_a_notebook() {
    let stage = Stage::new();
    let book = r#"{"cells": [{"source": ["x = '\ud83d'\n", "y = '\ud83d\ude00 \\ud83d'"]}, {"source": "z \uDC00"}]}"#;
    stage.put("n.ipynb", book);
    let shown = "1:# %% [raw] cell:0\n2:x = '\u{fffd}'\n3:y = '\u{1f600} \\ud83d'\n4:# %% [raw] cell:1\n5:z \u{fffd}";
    stage.ok("read", json!({"path": "n.ipynb"}), shown);
    let edit = |old: &str, new: &str| json!({"path": "n.ipynb", "oldText": old, "newText": new});
    stage.ok("edit", edit("y = ", "why = "), "Applied 1 edit to n.ipynb.");
    let file = || std::fs::read_to_string(stage.cwd().join("n.ipynb")).unwrap();
    let expect = book.replace(r"y = '\ud83d\ude00", "why = '\u{1f600}");
    assert_eq!(file(), expect);
    stage.ok("edit", edit("z ", "zz\n"), "Applied 1 edit to n.ipynb.");
    assert_eq!(file(), expect.replace(r"z \uDC00", r"zz\n\u{fffd}").replace(r"\u{fffd}", "\u{fffd}"));
}

fn only_a_byte_order_mark() {
    for mark in [utf8("\u{feff}"), little("\u{feff}"), big("\u{feff}")] {
        let stage = Stage::new();
        stage.put("a", &mark);
        stage.ok("read", json!({"path": "a"}), "The file is empty.");
        let (said, failed) = stage.call("write", json!({"path": "a", "content": ""}));
        assert!(!failed && said.contains("[The file keeps its "), "{said}");
        stage.put("a", &mark);
        stage.ok("edit", json!({"path": "a", "oldText": "", "newText": "x"}), "Applied 1 edit to a.");
        // The mark and one character, in each encoding.
        assert_eq!(std::fs::read(stage.cwd().join("a")).unwrap().len(), 4);
    }
}

fn a_write_reports_a_changed_form() {
    let mixed = "[The file keeps its mixed line ends: each unchanged line at its start and end keeps its own.]";
    let legacy = "[The old content was not valid UTF-8; the file is UTF-8 now.]";
    for (old, content, new, note) in [
        (latin1("gr\u{fc}n\n"), "gr\u{fc}n\n", utf8("gr\u{fc}n\n"), legacy),
        (wide("\u{feff}a\n"), "b\n", utf8("b\n"), "[The old content was binary; the file is UTF-8 now.]"),
        (utf8("a\r\nb\r\nc\nd\r\n"), "a\nx\nc\nd\n", utf8("a\r\nx\r\nc\nd\r\n"), mixed),
        (utf8("a\r\nb\r\n"), "a\r\nb\nc\rd\n", utf8("a\r\nb\r\nc\rd\r\n"), "[The file keeps its CRLF line ends.]"),
        (utf8("a\nb\n"), "a\r\nb\r\n", utf8("a\r\nb\r\n"), "[The line ends changed from LF to CRLF.]"),
    ] {
        let stage = Stage::with(Settings { file_guard: FileGuard::Off, ..Settings::default() });
        stage.put("a", &old);
        let (said, failed) = stage.call("write", json!({"path": "a", "content": content}));
        let got = std::fs::read(stage.cwd().join("a")).unwrap();
        assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(&new), "{said}");
        assert!(!failed && said.ends_with(&format!("\n{note}")), "{said}");
    }
}

fn a_twin_in_another_unicode_form_is_edited_alone() {
    const FILE: &str =
        "caf\u{e9} one\nr\u{e9}sum\u{e9} cafe\u{301} two\nnai\u{308}ve \u{e9} end\n\u{1112}\u{1161}\u{11ab}\n";
    let mut faults = Vec::new();
    for (old, new, from, to) in [
        ("cafe\u{301} one", "cafe\u{301} 1", "caf\u{e9} one", "caf\u{e9} 1"),
        ("caf\u{e9} two", "caf\u{e9} 2", "cafe\u{301} two", "cafe\u{301} 2"),
        // Both forms occur in the replaced text.
        (
            "r\u{e9}sum\u{e9} caf\u{e9} two",
            "r\u{e9}sum\u{e9} caf\u{e9} 2",
            "r\u{e9}sum\u{e9} cafe\u{301} two",
            "r\u{e9}sum\u{e9} cafe\u{301} 2",
        ),
        (
            "re\u{301}sume\u{301} cafe\u{301} two\nna\u{ef}ve",
            "re\u{301}sume\u{301} cafe\u{301} 2\nna\u{ef}ve",
            "cafe\u{301} two",
            "cafe\u{301} 2",
        ),
        ("na\u{ef}ve \u{e9} end", "na\u{ef}ve \u{e9} 3", "\u{e9} end", "\u{e9} 3"),
        ("\u{d55c}\n", "\u{d55c}!\n", "\u{1112}\u{1161}\u{11ab}", "\u{1112}\u{1161}\u{11ab}!"),
    ] {
        let stage = Stage::new();
        stage.put("a", FILE);
        let (said, _) = stage.call("edit", json!({"path": "a", "oldText": old, "newText": new}));
        if stage.get("a") != FILE.replace(from, to) {
            faults.push(format!("{old}: {said}\n{}", stage.get("a")));
        }
    }
    // In a patch, the lines of the file keep their spelling, too.
    let stage = in_mode(EditMode::Patch);
    stage.put("a", FILE);
    let lines = " cafe\u{301} one\n-r\u{e9}sum\u{e9} caf\u{e9} two\n+changed\n na\u{ef}ve \u{e9} end\n";
    let (said, _) = stage
        .call("edit", json!({"patch": format!("*** Begin Patch\n*** Update File: a\n@@\n{lines}*** End Patch\n")}));
    if stage.get("a") != FILE.replace("r\u{e9}sum\u{e9} cafe\u{301} two", "changed") {
        faults.push(format!("patch: {said}\n{}", stage.get("a")));
    }
    // An occurrence in the other form is not changed without a word.
    let stage = Stage::new();
    stage.put("a", FILE);
    let all = json!({"path": "a", "oldText": "caf\u{e9}", "newText": "tea", "replaceAll": true});
    let (said, _) = stage.call("edit", all);
    if !said.contains("[line 2 has the text in another Unicode form (NFC or NFD), which was not replaced]") {
        faults.push(said);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

fn the_marks_of_notebook_cells_cannot_be_edited() {
    let book = r#"{"cells": [{"source": ["a\n"]}, {"source": []}, {}]}"#;
    let mark = "the lines # %% mark the cells of the notebook";
    for (mode, arguments) in [
        (EditMode::Patch, "@@\n-# %% [raw] cell:1\n+x\n"),
        (EditMode::Patch, "@@\n+x\n # %% [raw] cell:0\n"),
        (EditMode::Patch, "@@\n # %% [raw] cell:2\n+x\n"),
        (EditMode::Hashline, "replace 3\n|x"),
        (EditMode::Hashline, "insert start\n|x"),
        (EditMode::Hashline, "insert end\n|x"),
    ] {
        let stage = in_mode(mode);
        stage.put("n.ipynb", book);
        let call = match mode {
            EditMode::Patch => {
                json!({"patch": format!("*** Begin Patch\n*** Update File: n.ipynb\n{arguments}*** End Patch\n")})
            }
            _ => json!({"input": format!("@n.ipynb#{}\n{arguments}", crate::hashline::tag(&stage, "n.ipynb"))}),
        };
        let (said, failed) = stage.call("edit", call);
        assert!(failed && said.contains(mark), "{arguments}: {said}");
        assert_eq!(stage.get("n.ipynb"), book);
    }
    // A patch cannot replace the notebook by text.
    let stage = in_mode(EditMode::Patch);
    stage.put("n.ipynb", book);
    stage.call("read", json!({"path": "n.ipynb"}));
    let add = "*** Begin Patch\n*** Add File: n.ipynb\n+# %% [raw] cell:0\n+x\n*** End Patch\n";
    let (said, failed) = stage.call("edit", json!({"patch": add}));
    assert!(failed && said.contains("the content is not a notebook"), "{said}");
    assert_eq!(stage.get("n.ipynb"), book);
    // A new line of an empty cell, and one at the end of a cell.
    let stage = in_mode(EditMode::Hashline);
    stage.put("n.ipynb", book);
    let input = format!("@n.ipynb#{}\ninsert after 2\n|b\ninsert after 3\n|c", crate::hashline::tag(&stage, "n.ipynb"));
    let (said, _) = stage.call("edit", json!({"input": input}));
    assert_eq!(stage.get("n.ipynb"), r#"{"cells": [{"source": ["a\n", "b\n"]}, {"source": ["c"]}, {}]}"#, "{said}");
    // A search shows the lines of the JSON, which an edit by lines cannot use.
    let (said, _) = stage.call("grep", json!({"pattern": "cells", "path": "n.ipynb"}));
    assert!(said.starts_with("n.ipynb\n1:"), "{said}");
}

fn changes_in_shown_lines_of_converted_files_are_noticed() {
    type Encode = fn(&str) -> Vec<u8>;
    let lines = |end: &str| (1..=20).map(|number| format!("line {number}{end}")).collect::<String>();
    let (text, book) =
        (format!("\u{feff}{}", lines("\n")), format!(r#"{{"cells": [{{"source": "{}"}}]}}"#, lines("\\n")));
    let marked = format!("\u{feff}{book}");
    let forms: [(&str, Encode, &str); 4] =
        [("a", little, &text), ("a", big, &text), ("n.ipynb", utf8, &book), ("n.ipynb", little, &marked)];
    for (name, encode, text) in forms {
        let stage = Stage::new();
        let put = |from: &str, to: &str| stage.put(name, encode(&text.replace(from, to)));
        let content = if name == "a" { "x\n" } else { r#"{"cells": []}"# };
        let write = json!({"path": name, "content": content});
        put("", "");
        stage.call("read", json!({"path": name, "limit": 2}));
        put("line 2", "line two");
        let changed = format!("File changed on disk since it was last read: {name}. Read it again.");
        stage.fails("write", write.clone(), &changed);
        put("line 19", "line xix");
        let (said, failed) = stage.call("write", write);
        assert!(!failed && said.contains("but not in the lines that were shown"), "{said}");
    }
}
