//! `read`: shows text with line numbers, images, directories and artifacts.

mod internal;
mod picture;
mod range;
mod source;
mod window;

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::search::{FindOptions, GlobOptions};
use sinew_session::files::{open_plain, opened_path, size_text};

use super::settings::EditMode;
use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Host, HostOptions, arguments, editor, ls, paths, truncate};
use crate::document::Document;
use crate::semantics::{self, Effects, OutputView, Presentation, Semantics, Subject, ToolKind};
use crate::shell::session::quoted;
use crate::tool::{Call, Concurrency, ToolError, ToolOutput};
pub use picture::block as picture_block;
use range::Range;
use source::Source;
use window::{Limits, Window};

pub(super) static SPEC: Spec = Spec {
    name: "read",
    description: "Read a file: text as <line>:<text>, up to 2,000 lines or 50 KB at once; pictures are shown; folders \
                  are listed. Line numbers are not part of the file.",
    parameters,
    guidelines: &["Read a file before you change it. Use read, not cat or sed."],
    concurrency: Concurrency::Shared,
    flags: PLAIN,
    semantics: Semantics {
        kind: ToolKind::Read,
        effects: Effects { reads_files: true, lists_files: true, ..Effects::NONE },
        headline: "path",
        subjects,
        title,
        presentation: Presentation { verb: "Reads", output: OutputView::Row { plural: "files" } },
        opens_addresses: true,
        foreign_names: &["Read"],
        ..Semantics::UNKNOWN
    },
    offered: always,
    reject_early: None,
    preview: None,
    run: Run::Blocking(run),
};

/// The number of lines shown around an explicit range, on each side that the caller limited.
const AROUND: usize = 3;
/// Larger files have no tag.
const TAGGED: u64 = 64 << 20;
/// The number of bytes per line that an explicit limit allows.
const BYTES_PER_LINE: usize = 512;

impl Host {
    /// Returns the checks for files that the user attaches to a message.
    #[must_use]
    pub fn attachment_access(&self, cwd: &Path) -> crate::Access {
        self.access(SPEC.name, SPEC.semantics.effects, None, cwd)
    }
}

/// Returns the file, and the line of a range after its name.
fn subjects(arguments: &Value) -> Vec<Subject> {
    let Some(path) = semantics::text(arguments, "path") else { return Vec::new() };
    let offset = arguments.get("offset").and_then(Value::as_u64);
    match range::of_name(path) {
        // A file whose name is the whole text has precedence.
        Some((name, range)) => vec![
            Subject::Path { path: name.to_string(), line: offset.or(range.offset.map(|line| line as u64)) },
            Subject::OtherPath(path.to_string()),
        ],
        None => vec![Subject::Path { path: path.to_string(), line: offset }],
    }
}

/// Returns the file and the lines that a call requests: `a.rs:10-40`.
fn title(arguments: &Value) -> Option<String> {
    let path = semantics::text(arguments, "path")?;
    let number = |key: &str| arguments.get(key).and_then(Value::as_u64);
    Some(match (number("offset"), number("limit")) {
        (None, None) => path.to_string(),
        (from, None) => format!("{path}:{}-", from.unwrap_or(1)),
        (from, Some(count)) => {
            let from = from.unwrap_or(1);
            format!("{path}:{from}-{}", from.saturating_add(count).saturating_sub(1))
        }
    })
}

fn parameters(_: &HostOptions) -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "file, artifact://<n>, or a scratch file local://<name>"},
            "offset": {"type": "integer", "minimum": 1, "description": "first line"},
            "limit": {"type": "integer", "minimum": 1, "description": "number of lines"},
        },
        "required": ["path"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

fn run(host: &Host, call: &Call) -> Outcome {
    let Arguments { path: given, offset, limit } = arguments::parse(call)?;
    let range = Range { offset, limit, raw: false };
    if let Some(id) = given.strip_prefix("artifact://") {
        let id = id.parse().map_err(|_| ToolError::Failed(format!("Invalid artifact id: {id}. Use artifact://<n>")))?;
        let path = host.options.artifacts.find(id).map_err(ToolError::Failed)?;
        let file = open_plain(&path).map_err(|error| ToolError::Failed(format!("Cannot read {given}: {error}")))?;
        return text(host, call, (&path, file), &given, range, false);
    }
    if let Some(id) = given.strip_prefix("agent://") {
        let path = host.options.artifacts.latest_of(&format!("agent-{id}"));
        let path = path.ok_or_else(|| ToolError::Failed(format!("No saved result of a subagent {id}")))?;
        let file = open_plain(&path).map_err(|error| ToolError::Failed(format!("Cannot read {given}: {error}")))?;
        return text(host, call, (&path, file), &given, range, false);
    }
    if let Some(rest) = given.strip_prefix("skill://") {
        let name = rest.split('/').next().unwrap_or_default();
        let none = || ToolError::Failed(format!("Unknown skill: {name}. No skills are available."));
        let path = host.resources().ok_or_else(none)?.skill_file(rest).map_err(ToolError::Failed)?;
        return file(host, call, &path, &given, range);
    }
    if let Some(name) = given.strip_prefix("rule://") {
        let none = || ToolError::Failed(format!("Unknown rule: {name}. No rules are available."));
        let text = host.resources().ok_or_else(none)?.rule_text(name).map_err(ToolError::Failed)?;
        return Ok(internal::lines(&text, range));
    }
    let path = paths::resolve(host, call, &given)?;
    match fs::metadata(&path) {
        Ok(_) => file(host, call, &path, &paths::shown(&call.cwd, &path), range),
        Err(error) if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory => {
            Err(ToolError::Failed(format!("Cannot read {given}: {error}")))
        }
        Err(_) => {
            if let Some((name, in_name)) = range::of_name(&given) {
                let path = paths::resolve(host, call, name)?;
                if path.exists() {
                    return file(host, call, &path, &paths::shown(&call.cwd, &path), in_name.or(range));
                }
            }
            missing(host, call, &given, range)
        }
    }
}

/// Reads the only file whose path ends with `given`, or lists the possible ones.
fn missing(host: &Host, call: &Call, given: &str, range: Range) -> Outcome {
    let searches = &host.options.searches;
    let cancel = call.cancel.clone().with_timeout(std::time::Duration::from_secs(5));
    let relative = given.trim_start_matches("./").trim_start_matches('/');
    let not_found = |list: &[String]| {
        let mut text = format!("File not found: {given}");
        if !list.is_empty() {
            text.push_str("\nDid you mean:\n");
            text.push_str(&list.join("\n"));
        }
        Err(ToolError::Failed(text))
    };
    if relative.is_empty() || relative.split('/').any(|part| part == "..") {
        return not_found(&[]);
    }
    let options = GlobOptions {
        hidden: true,
        file_type: Some(sinew::walk::FileType::File),
        max_results: Some(2),
        ..GlobOptions::new(&call.cwd, format!("**/{}", escaped(relative)))
    };
    // A directory that cannot be searched yields no suggestions; the error about the missing file is more important.
    if let Ok((found, false)) = searches.glob_so_far(&options, &cancel) {
        let names: Vec<String> = found.matches().map(|hit| hit.path.into_owned()).collect();
        if let [only] = names.as_slice() {
            let mut output = file(host, call, &call.cwd.join(only), only, range)?;
            if let Some(sinew_llm::message::Block::Text(block)) = output.content.first_mut() {
                block.text.push_str(&format!("\n[Resolved to {only}]"));
            }
            return Ok(output);
        }
    }
    let name = Path::new(relative).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let options = FindOptions { max_results: 20, ..FindOptions::new(&call.cwd, name) };
    let found = searches.fuzzy_find(&options, &cancel).unwrap_or_default();
    let list: Vec<String> = found.matches.into_iter().filter(|hit| !hit.is_directory).map(|hit| hit.path).collect();
    not_found(&list[..list.len().min(5)])
}

/// Escapes a path as a glob that matches nothing else.
fn escaped(path: &str) -> String {
    path.chars().fold(String::new(), |mut out, character| {
        match character {
            '*' | '?' | '[' | ']' | '{' | '}' | '!' | ',' => out.extend(['[', character, ']']),
            other => out.push(other),
        }
        out
    })
}

fn file(host: &Host, call: &Call, path: &Path, name: &str, range: Range) -> Outcome {
    let failed = |error: std::io::Error| ToolError::Failed(format!("Cannot read {name}: {error}"));
    let access = host.access(SPEC.name, SPEC.semantics.effects, Some(&call.id), &call.cwd);
    match open_plain(path) {
        Ok(file) => {
            access.check_opened(&file, path).map_err(ToolError::Failed)?;
            let real = opened_path(&file, path).map_err(failed)?;
            let file = editor::opened(host.editor(), &real, file).map_err(failed)?;
            let mut output = text(host, call, (&real, file), name, range, true)?;
            if let Some(sinew_llm::message::Block::Text(block)) = output.content.last_mut() {
                block.text.push_str(&host.new_instructions(&real, &call.cwd));
            }
            Ok(output)
        }
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            ls::list(path, name, range.limit.unwrap_or(500), call, &access)
        }
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            Err(ToolError::Failed(format!("Cannot read {name}: it is a pipe, a socket or a device")))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Reads an open file. `path` is its link-free path, by which writing tools identify it.
fn text(host: &Host, call: &Call, (path, file): (&Path, File), name: &str, range: Range, remember: bool) -> Outcome {
    let failed = |error: std::io::Error| ToolError::Failed(format!("Cannot read {name}: {error}"));
    let (head, size) = source::head(&file).map_err(failed)?;
    if let Some(mime_type) = picture::mime_type(&head) {
        return picture::read(host, &file, name, mime_type, size, &call.cancel);
    }
    let mut source = Source::new(path, file.try_clone().map_err(failed)?, &head).map_err(failed)?;
    if source.is_binary() {
        let mime_type = source::mime_type(&head);
        return Ok(ToolOutput::text(format!("Binary file: {name} ({}, {mime_type}). Not shown.", size_text(size))));
    }
    let first = range.offset.unwrap_or(1);
    let (before, after) = match range {
        Range { raw: true, .. } => (0, 0),
        _ => (if first > 1 { AROUND } else { 0 }, if range.limit.is_some() { AROUND } else { 0 }),
    };
    let start = first.saturating_sub(before).max(1);
    let limits = Limits {
        first: start,
        asked: first..range.limit.map_or(usize::MAX, |limit| first.saturating_add(limit)),
        lines: range.limit.map_or(truncate::LINES, |limit| limit.saturating_add(first - start).saturating_add(after)),
        bytes: range.limit.map_or(truncate::BYTES, |limit| limit.saturating_mul(BYTES_PER_LINE).max(truncate::BYTES)),
    };
    let window = Window::read(&mut source, name, &limits, &call.cancel)?;
    let mut header = None;
    // An empty file may have a byte order mark.
    if remember && (!window.lines.is_empty() || (window.known && window.total == 0)) {
        let whole = start == 1 && window.is_whole();
        let shown = window.lines.iter().map(Vec::as_slice);
        let hash = source.hash();
        host.seen.showed(path, hash, whole, start, shown);
        if host.options.settings.edit.mode == EditMode::Hashline && !range.raw {
            header = tagged(host, (path, &file), &window, size).map_err(failed)?;
        }
    }
    let mut output = show(&window, name, path, first, range.raw);
    if let (Some(tag), Some(sinew_llm::message::Block::Text(block))) = (header, output.content.first_mut()) {
        block.text.insert_str(0, &format!("@{name}#{tag}\n"));
    }
    Ok(output)
}

/// Returns the tag of a file whose lines were shown, which a patch may use from now on. `None` if it cannot be edited
/// by lines, because it is too large, not text, or changed while it was read.
fn tagged(
    host: &Host,
    (path, mut file): (&Path, &File),
    window: &Window,
    size: u64,
) -> std::io::Result<Option<String>> {
    if size > TAGGED {
        return Ok(None);
    }
    let mut content = Vec::new();
    file.rewind()?;
    file.take(TAGGED).read_to_end(&mut content)?;
    let first = window.first - 1;
    let document = Document::open(path, &content);
    let mut lines = super::read_tracker::lines(document.text()).skip(first);
    let same = document.fault().is_none() && window.lines.iter().all(|line| lines.next() == Some(line.as_slice()));
    let shown = first..first + window.lines.len();
    Ok(same.then(|| host.snapshots.showed(path, &content, &[shown])))
}

fn show(window: &Window, name: &str, path: &Path, asked: usize, raw: bool) -> ToolOutput {
    let total = window.total;
    if total == 0 && window.known {
        return ToolOutput::text("The file is empty.");
    }
    if window.known && asked > total {
        return ToolOutput::text(format!(
            "Line {asked} is beyond end of file ({total} lines total). Use offset=1 to read from the start, or \
             offset={total} to read the last line."
        ));
    }
    let first = window.first;
    if let Some(start) = &window.long {
        let size = size_text(window.long_bytes);
        // The last line that was read may continue beyond it.
        let at_least = if window.known || window.total > first { "" } else { "at least " };
        let number = if raw { String::new() } else { format!("{first}:") };
        let quoted = path_for_shell(name, path);
        let command = match first {
            1 => format!("cut -c1-2000 {quoted}"),
            _ => format!("sed -n {first}p {quoted} | cut -c1-2000"),
        };
        let start = String::from_utf8_lossy(start);
        let text = format!("{number}{start}\n[Line {first} is {at_least}{size}. Use bash: {command}]");
        return ToolOutput::text(text);
    }
    let mut text = String::new();
    let mut lossy = false;
    for (index, line) in window.lines.iter().enumerate() {
        let line = String::from_utf8_lossy(line);
        lossy |= matches!(line, std::borrow::Cow::Owned(_));
        if !raw {
            text.push_str(&format!("{}:", first + index));
        }
        text.push_str(&line);
        text.push('\n');
    }
    text.pop();
    let end = first + window.lines.len() - 1;
    if lossy {
        text.push_str("\n[The file is not valid UTF-8: invalid bytes are shown as \u{fffd}.]");
    }
    if window.known && end >= total {
        return ToolOutput::text(text);
    }
    let at_least = if window.known { "" } else { "at least " };
    text.push_str(&format!(
        "\n[Showing lines {first}-{end} of {at_least}{total}. Use offset={} to continue.]",
        end + 1
    ));
    let by = if window.cut_by_bytes { "bytes" } else { "lines" };
    let bytes: usize = window.lines.iter().map(|line| line.len() + 1).sum();
    ToolOutput::text(text).with_details(json!({"meta": {"truncation": {
        "direction": "head", "truncatedBy": by, "totalLines": total, "totalBytes": window.total_bytes,
        "outputLines": window.lines.len(), "outputBytes": bytes, "shownRange": {"start": first, "end": end},
    }}}))
}

/// Quotes `name` as one shell word.
fn path_for_shell(name: &str, path: &Path) -> String {
    let name = if name.contains("://") { path.to_string_lossy().into_owned() } else { name.to_string() };
    quoted(&name)
}
