//! `write`: creates or replaces a file.

use std::path::is_separator;

use serde::Deserialize;
use serde_json::{Value, json};

use super::settings::EditMode;
use super::spec::{Outcome, PLAIN, Run, Spec, always};
use super::{Host, HostOptions, arguments, edit, paths, save};
use crate::document::Document;
use crate::file_change::FileChange;
use crate::notebook;
use crate::read_tracker;
use crate::semantics::{Effects, OutputView, Presentation, ProposedChange, Semantics, ToolKind};
use crate::text_form::TextForm;
use crate::tool::{Call, Concurrency, ToolError, ToolFlags, ToolOutput};

pub(super) static SPEC: Spec = Spec {
    name: "write",
    description: "Create a file or replace all of it. Missing folders are made. An existing file must have been read before.",
    parameters,
    guidelines: &["Use write for new files and complete rewrites, edit for changes."],
    concurrency: Concurrency::Exclusive,
    flags: ToolFlags { non_abortable: true, ..PLAIN },
    semantics: Semantics {
        kind: ToolKind::Edit,
        effects: Effects { writes_files: true, ..Effects::NONE },
        headline: "path",
        changes,
        change_arguments: &["content"],
        presentation: Presentation { verb: "Writes", output: OutputView::Diff },
        foreign_names: &["Write"],
        ..Semantics::UNKNOWN
    },
    offered: always,
    reject_early: None,
    preview: Some(|host, arguments| Some(vec![preview(host, arguments)?])),
    run: Run::Blocking(run),
};

/// The number of lines that are searched for a marker of generated files.
const MARKED_LINES: usize = 40;
const MARKED_BYTES: usize = 1_024;

fn changes(arguments: &Value) -> Vec<ProposedChange> {
    match arguments.get("content") {
        Some(Value::String(content)) => vec![ProposedChange::Content(content.clone())],
        Some(other) => vec![ProposedChange::Malformed(other.clone())],
        None => Vec::new(),
    }
}

fn parameters(_: &HostOptions) -> Value {
    json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

/// Returns the change that a call would make; `None` if it would fail.
pub(super) fn preview(host: &Host, arguments: &Value) -> Option<FileChange> {
    let Arguments { path: given, content } = serde_json::from_value(arguments.clone()).ok()?;
    if given.is_empty() || given.ends_with(is_separator) || given.contains("://") {
        return None;
    }
    let cwd = &host.options.cwd;
    let path = paths::resolve_from(host, cwd, &given);
    let name = paths::shown(cwd, &path);
    let target =
        save::look(&path, &name, &host.access(SPEC.name, SPEC.semantics.effects, None, cwd)).ok()?.with_unsaved(host);
    let bare = match host.options.settings.edit.mode {
        EditMode::Hashline => without_numbers(&content),
        EditMode::Replace | EditMode::Patch => None,
    };
    let new = bare.unwrap_or(content);
    let old = target.content.as_deref().unwrap_or_default();
    let (new, _) = adopted(target.content.as_deref(), &new);
    Some(edit::change(&name, &TextForm::of(old).decode(old), &TextForm::of(&new).decode(&new)))
}

fn run(host: &Host, call: &Call) -> Outcome {
    let Arguments { path: given, content } = arguments::parse(call)?;
    if given.is_empty() || given.ends_with(is_separator) {
        return Err(ToolError::Failed(format!("Cannot write \"{given}\": it is not the path of a file")));
    }
    let path = paths::resolve(host, call, &given)?;
    let name = paths::shown(&call.cwd, &path);
    let target = save::look(&path, &name, &host.access(SPEC.name, SPEC.semantics.effects, Some(&call.id), &call.cwd))?
        .with_unsaved(host);
    let note = save::guard_write(host, &target, &name)?;
    if let Some(mark) = target.content.as_deref().and_then(generated)
        && host.first_time(read_tracker::hash(format!("{}\0{content}", path.display()).as_bytes()))
    {
        return Err(ToolError::Failed(format!(
            "{name} is a generated file (\"{mark}\"): change its source instead. To write it anyway, repeat the call."
        )));
    }
    if let Some(refusal) = notebook::refusal(&target.path, &name, &content) {
        return Err(ToolError::Failed(refusal));
    }
    let hashline = host.options.settings.edit.mode == EditMode::Hashline;
    let bare = if hashline { without_numbers(&content) } else { None };
    let stripped = bare.is_some();
    let content = bare.unwrap_or(content);
    let executable = content.starts_with("#!");
    let (bytes, form_note) = adopted(target.content.as_deref(), &content);
    target.write(host, &name, &bytes, executable)?;
    let mut text = format!("Successfully wrote {} bytes to {name}", bytes.len());
    if hashline {
        let all = 0..read_tracker::lines(Document::open(&target.path, &bytes).text()).count();
        let tag = host.snapshots.showed(&target.path, &bytes, &[all]);
        text.insert_str(0, &format!("@{name}#{tag}\n"));
    }
    if stripped {
        text.push_str("\n[The header and the line numbers were removed from the content.]");
    }
    for note in form_note.into_iter().chain(note).chain(target.parted()) {
        text.push_str(&format!("\n{note}"));
    }
    let output = ToolOutput::text(text);
    Ok(if executable { output.with_details(json!({"madeExecutable": true})) } else { output })
}

/// Returns the bytes with which `content` replaces `old`, in the form of the old bytes, and a note about that form.
fn adopted(old: Option<&[u8]>, content: &str) -> (Vec<u8>, Option<String>) {
    match old {
        Some(old) => TextForm::of(old).adopt(old, content),
        None => (content.as_bytes().to_vec(), None),
    }
}

/// Returns content copied from a read without the header and the line prefixes `<n>:`; `None` unless every line has one
/// and the numbers are consecutive.
fn without_numbers(content: &str) -> Option<String> {
    let (header, lines) = content.split_once('\n')?;
    let (_, tag) = header.strip_prefix('@')?.rsplit_once('#')?;
    if tag.len() != 8 || !tag.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut out = String::new();
    let mut expected = None;
    for line in lines.split_inclusive('\n') {
        let (number, rest) = line.split_once(':')?;
        let number: usize = number.parse().ok()?;
        if expected.is_some_and(|expected| expected != number) {
            return None;
        }
        expected = number.checked_add(1);
        out.push_str(rest);
    }
    (!out.is_empty()).then_some(out)
}

/// Returns the marker that identifies a file as generated; `None` if there is none.
fn generated(content: &[u8]) -> Option<&'static str> {
    let head = &content[..content.len().min(MARKED_BYTES)];
    let head = head.split(|byte| *byte == b'\n').take(MARKED_LINES).collect::<Vec<_>>().join(&b'\n');
    let head = String::from_utf8_lossy(&head);
    ["@generated", "DO NOT EDIT"].into_iter().find(|mark| head.contains(mark))
}
