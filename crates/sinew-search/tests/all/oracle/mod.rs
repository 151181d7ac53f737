//! Runs `rg --json` and compares its results with ours.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sinew_base::CancelToken;
use sinew_pool::Pool;
use sinew_search::{GrepOptions, grep};
use sinew_walk::ScanCache;

/// A temporary directory.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Tree {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Tree(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The options passed to both programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) pattern: &'a str,
    pub(crate) hidden: bool,
    pub(crate) gitignore: bool,
    pub(crate) literal: bool,
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
    pub(crate) crlf: bool,
    pub(crate) before: usize,
    pub(crate) after: usize,
    pub(crate) per_file: Option<u32>,
    pub(crate) glob: Option<&'a str>,
    pub(crate) file_type: Option<&'a str>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(pattern: &'a str) -> Case<'a> {
        Case {
            pattern,
            hidden: true,
            gitignore: true,
            literal: false,
            ignore_case: false,
            multiline: false,
            crlf: true,
            before: 0,
            after: 0,
            per_file: None,
            glob: None,
            file_type: None,
        }
    }
}

/// The printed lines by path and line number, each with whether it matches.
type Lines = BTreeMap<(String, u64), (bool, String)>;

/// Checks that both find the same lines in the directory.
#[track_caller]
pub(crate) fn agrees(tree: &Tree, case: &Case<'_>) {
    let (theirs, first) = rg(tree, None, case);
    let (ours, warnings) = sinew(tree.path(), case);
    compare(case, theirs, &first, ours, &warnings);
}

/// Checks that both find the same lines if one file is named.
#[track_caller]
pub(crate) fn named(tree: &Tree, file: &str, case: &Case<'_>) {
    let (theirs, first) = rg(tree, Some(file), case);
    let path = tree.path().join(file);
    let (ours, warnings) = sinew(&path, case);
    let prefix = slashed(&path.to_string_lossy());
    let ours = Answer {
        lines: ours.lines.into_iter().map(|((name, n), line)| ((name.replace(&*prefix, file), n), line)).collect(),
        first: ours.first.into_iter().map(|((name, n), at)| ((name.replace(&*prefix, file), n), at)).collect(),
    };
    compare(case, theirs, &first, ours, &warnings);
}

struct Answer {
    lines: Lines,
    /// The start of the first match of each row, in bytes of the file.
    first: BTreeMap<(String, u64), u64>,
}

#[track_caller]
fn compare(case: &Case<'_>, theirs: Lines, first: &BTreeMap<(String, u64), u64>, ours: Answer, warnings: &[String]) {
    assert_eq!(ours.lines, theirs, "{case:?} (ours left, rg right); warnings: {warnings:?}");
    for (row, at) in &ours.first {
        // A row of several lines may begin inside one of rg's blocks.
        if let Some(theirs) = first.get(row) {
            assert_eq!(at, theirs, "start of the match at {row:?} of {case:?}");
        }
    }
}

fn sinew(path: &Path, case: &Case<'_>) -> (Answer, Vec<String>) {
    let options = GrepOptions {
        hidden: case.hidden,
        gitignore: case.gitignore,
        literal: case.literal,
        ignore_case: case.ignore_case,
        multiline: case.multiline,
        context_before: Some(case.before as u32),
        context_after: Some(case.after as u32),
        max_count_per_file: case.per_file,
        glob: case.glob.map(Into::into),
        file_type: case.file_type.map(str::to_string),
        ..GrepOptions::new(case.pattern, path)
    };
    let (cache, pool, never) = (ScanCache::default(), Pool::new("test", 3), CancelToken::never());
    let result = grep(&options, &cache, &pool, &never, None).unwrap();
    let walked = grep(&options, &cache, &pool, &never, Some(&mut |_| ControlFlow::Continue(()))).unwrap();
    assert_eq!(result, walked, "scanned first or while it is walked: {case:?}");
    let mut answer = Answer { lines: Lines::new(), first: BTreeMap::new() };
    let mut show = |path: &str, number: u64, matches: bool, line: &str| {
        let twice = answer.lines.insert((path.to_string(), number), (matches, line.to_string()));
        assert_eq!(twice, None, "line {number} of {path} is shown twice by {case:?}");
    };
    for row in result.rows() {
        for line in row.before.iter().chain(&row.after) {
            show(row.path, line.line_number.into(), false, line.line);
        }
        let last = row.line.matches('\n').count();
        for (number, line) in row.line.split('\n').enumerate() {
            // Only the last line of a row has no line end.
            let line = if number < last { without_return(line) } else { line };
            show(row.path, u64::from(row.line_number) + number as u64, true, line);
        }
        answer.first.insert((row.path.to_string(), row.line_number.into()), row.byte_offset);
    }
    (answer, result.warnings)
}

fn rg(tree: &Tree, file: Option<&str>, case: &Case<'_>) -> (Lines, BTreeMap<(String, u64), u64>) {
    let program = std::env::var_os("SINEW_RG").unwrap_or_else(|| "rg".into());
    let mut command = Command::new(&program);
    command.current_dir(tree.path()).env_remove("RIPGREP_CONFIG_PATH").args(["--no-config", "--json", "--sort=path"]);
    let flags = [
        (case.hidden, "--hidden"),
        (!case.gitignore, "--no-ignore"),
        (case.literal, "--fixed-strings"),
        (case.ignore_case, "--ignore-case"),
        (case.multiline, "--multiline"),
        (case.crlf, "--crlf"),
    ];
    command.args(flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag));
    // Our walk always skips these.
    command.args(["--glob", "!.git"]);
    command.args([format!("-B{}", case.before), format!("-A{}", case.after)]);
    command.args(case.per_file.map(|count| format!("--max-count={count}")));
    command.args(case.glob.map(|glob| format!("--glob={glob}")));
    command.args(case.file_type.map(|name| format!("--type={name}")));
    command.args(["-e", case.pattern, file.unwrap_or("./")]);
    let output = command.output().unwrap_or_else(|error| {
        panic!("cannot run {program:?} ({error}): install it with `cargo install ripgrep --version 15.2.0`, or name it in SINEW_RG")
    });
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));

    let (mut lines, mut first) = (Lines::new(), BTreeMap::new());
    for event in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let event: Value = serde_json::from_slice(event).unwrap();
        let matches = match event["type"].as_str().unwrap() {
            "match" => true,
            "context" => false,
            _ => continue,
        };
        let data = &event["data"];
        let path = slashed(&text(&data["path"]));
        let path = path.trim_start_matches("./").to_string();
        let number = data["line_number"].as_u64().unwrap();
        let shown = text(&data["lines"]);
        for (more, line) in shown.strip_suffix('\n').unwrap_or(&shown).split('\n').enumerate() {
            lines.insert((path.clone(), number + more as u64), (matches, without_return(line).to_string()));
        }
        if matches && let Some(start) = data["submatches"][0]["start"].as_u64() {
            // rg does not count the byte order mark.
            let text = std::fs::read(tree.path().join(&path)).unwrap();
            let mark = if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
            first.insert((path, number), mark + data["absolute_offset"].as_u64().unwrap() + start);
        }
    }
    (lines, first)
}

/// Returns the path with `/` separators, which our results have on every system; rg uses those of the system.
fn slashed(path: &str) -> String {
    path.replace(std::path::MAIN_SEPARATOR, "/")
}

fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// Decodes rg's output: text, or base64 if the bytes are not UTF-8.
fn text(value: &Value) -> String {
    match value["text"].as_str() {
        Some(text) => text.to_string(),
        None => String::from_utf8_lossy(&base64(value["bytes"].as_str().unwrap())).into_owned(),
    }
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|known| *known == byte)) {
        held = held << 6 | digit as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}
