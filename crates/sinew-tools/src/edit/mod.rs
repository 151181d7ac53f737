//! `edit`: replaces exact texts in a file.

mod apply;
mod find;
mod view;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::base::CancelToken;
use sinew::diff::{UnifiedOptions, unified_diff};

use super::settings::{EditMode, FileGuard};
use super::spec::{Outcome, PLAIN, Run, Spec};
use super::{Host, HostOptions, arguments, file_patch, paths, save};
use crate::file_change::FileChange;
use crate::line_patch;
use crate::read_tracker::FileState;
use crate::semantics::{self, Effects, OutputView, Presentation, ProposedChange, Semantics, Subject, ToolKind};
use crate::tool::{Call, Concurrency, ToolError, ToolFlags, ToolOutput};
use apply::{Change, Fault, apply};

pub(super) static SPEC: Spec = Spec {
    name: "edit",
    description: "Replace text in a file: oldText must occur exactly once, or set replaceAll. Several changes of one \
                  file go into edits; all match the file as it is now, all or none are made.",
    parameters,
    guidelines: &["In oldText copy the file's text without line numbers, with just enough lines to be unique."],
    concurrency: Concurrency::Exclusive,
    flags: ToolFlags { non_abortable: true, ..PLAIN },
    semantics: SEMANTICS,
    offered: |options| options.settings.edit.mode == EditMode::Replace,
    reject_early: Some(reject_early),
    preview: Some(|host, arguments| Some(vec![preview(host, arguments)?])),
    run: Run::Blocking(run),
};

/// The description of all implementations of `edit`, which share a name.
pub(super) static SEMANTICS: Semantics = Semantics {
    kind: ToolKind::Edit,
    effects: Effects { reads_files: true, writes_files: true, ..Effects::NONE },
    headline: "path",
    subjects,
    title: |arguments| Some(SEMANTICS.files(arguments).join(", ")).filter(|title| !title.is_empty()),
    changes,
    change_arguments: &["oldText", "newText", "edits", "input", file_patch::ARGUMENT],
    presentation: Presentation { verb: "Edits", output: OutputView::Diff },
    foreign_names: &["Edit", "MultiEdit"],
    ..Semantics::UNKNOWN
};

/// Returns the file of a replacement, or the files of a patch.
fn subjects(arguments: &Value) -> Vec<Subject> {
    let mut found = semantics::paths(arguments);
    if let Some(input) = semantics::text(arguments, "input") {
        found.extend(line_patch::paths(input).map(|path| Subject::Path { path, line: None }));
    }
    if let Some(patch) = semantics::text(arguments, file_patch::ARGUMENT) {
        found.extend(file_patch::subjects(patch));
    }
    found
}

fn changes(arguments: &Value) -> Vec<ProposedChange> {
    let replacement = |edit: &Value| {
        let text = |name: &str| edit.get(name).and_then(Value::as_str).map(str::to_string);
        Some(ProposedChange::Replacement { old: text("oldText")?, new: text("newText")? })
    };
    let patch = |name: &str| Some(ProposedChange::Patch(arguments.get(name)?.as_str()?.to_string()));
    let patches = ["input", file_patch::ARGUMENT].into_iter().filter_map(patch);
    let mut changes: Vec<ProposedChange> = replacement(arguments).into_iter().chain(patches).collect();
    match arguments.get("edits") {
        Some(Value::Array(edits)) => changes.extend(
            edits.iter().map(|edit| replacement(edit).unwrap_or_else(|| ProposedChange::Malformed(edit.clone()))),
        ),
        Some(other) => changes.push(ProposedChange::Malformed(other.clone())),
        None => {}
    }
    changes
}

/// The number of context lines in the diff.
const CONTEXT: usize = 4;

fn parameters(_: &HostOptions) -> Value {
    let change = json!({
        "oldText": {"type": "string"},
        "newText": {"type": "string"},
        "replaceAll": {"type": "boolean"},
    });
    let mut properties = json!({
        "path": {"type": "string"},
        "edits": {
            "type": "array", "minItems": 1, "maxItems": 100,
            "items": {
                "type": "object", "properties": change, "required": ["oldText", "newText"],
                "additionalProperties": false,
            },
        },
    });
    if let (Value::Object(all), Value::Object(change)) = (&mut properties, change) {
        all.extend(change);
    }
    json!({"type": "object", "properties": properties, "required": ["path"], "additionalProperties": false})
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    path: String,
    old_text: Option<String>,
    new_text: Option<String>,
    #[serde(default)]
    replace_all: bool,
    #[serde(default)]
    edits: Vec<Change>,
}

/// Returns why an edit cannot succeed, judged from the arguments that have finished streaming: its file is missing, or
/// a text to replace is not in it. `None` if it may succeed.
pub(super) fn reject_early(host: &Host, whole: &Value) -> Option<String> {
    let given = whole.get("path")?.as_str()?;
    let old_text = |change: &Value| change.get("oldText")?.as_str().map(str::to_string);
    let listed = whole.get("edits").and_then(Value::as_array).into_iter().flatten();
    let old_texts: Vec<String> = old_text(whole).into_iter().chain(listed.filter_map(old_text)).collect();
    // An empty old text appends to the file or creates it.
    if given.contains("://") || old_texts.is_empty() || old_texts.iter().any(String::is_empty) {
        return None;
    }
    let cwd = &host.options.cwd;
    let path = paths::resolve_from(host, cwd, given);
    let name = paths::shown(cwd, &path);
    // The call has not been checked yet, so the reason must not reveal what a rule may forbid.
    let access = host.access(SPEC.name, SPEC.semantics.effects, Some(""), cwd);
    let target = save::look(&path, &name, &access).ok()?;
    let Some(content) = target.content else {
        return Some(format!("File not found: {name}"));
    };
    let change = |old_text| Change { old_text, new_text: String::new(), replace_all: true };
    let edits: Vec<Change> = old_texts.into_iter().map(change).collect();
    match apply((&name, &target.path), &content, &edits, host.options.settings.edit.fuzzy) {
        Err(Fault::NotFound(text)) => Some(text),
        _ => None,
    }
}

/// Returns the change that a call would make; `None` if it would fail.
pub(super) fn preview(host: &Host, arguments: &Value) -> Option<FileChange> {
    let given: Arguments = serde_json::from_value(arguments.clone()).ok()?;
    let mut edits = given.edits;
    if let (Some(old_text), Some(new_text)) = (given.old_text, given.new_text) {
        edits.insert(0, Change { old_text, new_text, replace_all: given.replace_all });
    }
    if given.path.contains("://") {
        return None;
    }
    let cwd = &host.options.cwd;
    let path = paths::resolve_from(host, cwd, &given.path);
    let name = paths::shown(cwd, &path);
    let target =
        save::look(&path, &name, &host.access(SPEC.name, SPEC.semantics.effects, None, cwd)).ok()?.with_unsaved(host);
    let is_end = edits.iter().any(|edit| edit.old_text.is_empty());
    let bytes = target.content.as_deref().or(is_end.then_some(b""))?;
    let edited = apply((&name, &target.path), bytes, &edits, host.options.settings.edit.fuzzy).ok()?;
    Some(change(&name, &edited.old, &edited.new))
}

fn run(host: &Host, call: &Call) -> Outcome {
    let Arguments { path: given, old_text, new_text, replace_all, mut edits } = arguments::parse(call)?;
    match (old_text, new_text) {
        (Some(old_text), Some(new_text)) => edits.insert(0, Change { old_text, new_text, replace_all }),
        (None, None) if !edits.is_empty() => {}
        _ => return Err(ToolError::Failed("Give oldText and newText, or edits.".into())),
    }
    let path = paths::resolve(host, call, &given)?;
    let name = paths::shown(&call.cwd, &path);
    let target = save::look(&path, &name, &host.access(SPEC.name, SPEC.semantics.effects, Some(&call.id), &call.cwd))?
        .with_unsaved(host);
    let guarded = host.options.settings.file_guard != FileGuard::Off;
    let standing = target.content.as_deref().map(|content| host.seen.standing(&target.path, content));
    let stale = guarded && matches!(standing, Some(FileState::Changed | FileState::ChangedElsewhere));
    let is_end = edits.iter().any(|edit| edit.old_text.is_empty());
    let Some(bytes) = target.content.as_deref().or(is_end.then_some(b"")) else {
        return Err(ToolError::Failed(format!("File not found: {name}")));
    };
    let edited = match apply((&name, &target.path), bytes, &edits, host.options.settings.edit.fuzzy) {
        Ok(edited) => edited,
        Err(Fault::NotFound(_) | Fault::Ambiguous(_)) if stale => {
            return Err(ToolError::Failed(save::changed(&name)));
        }
        Err(fault) => return Err(ToolError::Failed(fault.into_text())),
    };
    if edited.bytes == bytes && target.content.is_some() {
        return Err(ToolError::Failed(format!("No changes made to {name}: the replacement is identical.")));
    }
    target.write(host, &name, &edited.bytes, false)?;
    let count = edits.len();
    let mut text = format!("Applied {count} edit{} to {name}.", if count == 1 { "" } else { "s" });
    if edits.iter().any(|edit| edit.replace_all) {
        let all = edited.occurrences;
        text.push_str(&format!(" {all} occurrence{} replaced.", if all == 1 { "" } else { "s" }));
    }
    for note in &edited.notes {
        text.push_str(&format!("\n[{note}]"));
    }
    if let Some(note) = target.parted() {
        text.push_str(&format!("\n{note}"));
    }
    if stale {
        text.push_str("\n[The file changed on disk since it was read; the text to replace was still there.]");
    }
    let (diff, first) = diff(&name, &edited.old, &edited.new);
    let matched: Vec<&str> = edited.stages.iter().map(|stage| stage.name()).collect();
    Ok(ToolOutput::text(text).with_details(json!({"diff": diff, "firstChangedLine": first, "matched": matched})))
}

/// Creates the change of a file from one content to another.
pub(super) fn change(name: &str, old: &[u8], new: &[u8]) -> FileChange {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    FileChange { name: name.to_owned(), old: text(old), new: text(new), diff: diff(name, old, new).0 }
}

/// Returns the change as a unified diff, and the number of its first line in the new file.
pub(super) fn diff(name: &str, old: &[u8], new: &[u8]) -> (String, usize) {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    let options =
        UnifiedOptions { old_name: name.into(), new_name: name.into(), context: CONTEXT, ..UnifiedOptions::default() };
    // A file with too many lines is changed anyway; the diff is then the reason why it is missing.
    let text = unified_diff(&old, &new, &options, &CancelToken::never()).unwrap_or_else(|error| error.to_string());
    (text, same + 1)
}

#[cfg(test)]
mod tests;
