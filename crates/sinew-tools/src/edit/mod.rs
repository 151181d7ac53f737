//! `edit`: replaces exact texts in a file.

mod find;
mod view;

use serde::Deserialize;
use serde_json::{Value, json};
use sinew::base::CancelToken;
use sinew::diff::{UnifiedOptions, unified_diff};

use super::settings::{EditMode, FileGuard};
use super::spec::{Outcome, PLAIN, Run, Spec};
use super::{Host, HostOptions, arguments, paths, save};
use crate::file_change::FileChange;
use crate::line_patch;
use crate::read_tracker::FileState;
use crate::semantics::{self, Effects, OutputView, Presentation, ProposedChange, Semantics, Subject, ToolKind};
use crate::tool::{Call, Concurrency, ToolError, ToolFlags, ToolOutput};
use find::{Found, closest, find};
use view::Stage;

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

/// The meaning of both ways to edit, which share a name.
pub(super) static SEMANTICS: Semantics = Semantics {
    kind: ToolKind::Edit,
    effects: Effects { reads_files: true, writes_files: true, ..Effects::NONE },
    headline: "path",
    subjects,
    title: |arguments| Some(SEMANTICS.files(arguments).join(", ")).filter(|title| !title.is_empty()),
    changes,
    change_arguments: &["oldText", "newText", "edits", "input"],
    presentation: Presentation { verb: "Edits", output: OutputView::Diff },
    foreign_names: &["Edit", "MultiEdit"],
    ..Semantics::UNKNOWN
};

/// The file of a replacement, or the files of a patch by lines.
fn subjects(arguments: &Value) -> Vec<Subject> {
    let mut found = semantics::paths(arguments);
    if let Some(input) = semantics::text(arguments, "input") {
        found.extend(line_patch::paths(input).map(|path| Subject::Path { path, line: None }));
    }
    found
}

fn changes(arguments: &Value) -> Vec<ProposedChange> {
    let replacement = |edit: &Value| {
        let text = |name: &str| edit.get(name).and_then(Value::as_str).map(str::to_string);
        Some(ProposedChange::Replacement { old: text("oldText")?, new: text("newText")? })
    };
    let patch = arguments.get("input").and_then(Value::as_str).map(|input| ProposedChange::Patch(input.to_string()));
    let mut changes: Vec<ProposedChange> = replacement(arguments).into_iter().chain(patch).collect();
    match arguments.get("edits") {
        Some(Value::Array(edits)) => changes.extend(
            edits.iter().map(|edit| replacement(edit).unwrap_or_else(|| ProposedChange::Malformed(edit.clone()))),
        ),
        Some(other) => changes.push(ProposedChange::Malformed(other.clone())),
        None => {}
    }
    changes
}

/// Lines of context in the diff.
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

/// Returns the reason why an edit can only fail whose arguments are whole as far as they stand in `whole`: its file is
/// missing, or a text
/// to replace is not in it.
pub(super) fn reject_early(host: &Host, whole: &Value) -> Option<String> {
    let given = whole.get("path")?.as_str()?;
    let old_text = |change: &Value| change.get("oldText")?.as_str().map(str::to_string);
    let listed = whole.get("edits").and_then(Value::as_array).into_iter().flatten();
    let old_texts: Vec<String> = old_text(whole).into_iter().chain(listed.filter_map(old_text)).collect();
    // What is empty goes to the end of the file, or makes one.
    if given.contains("://") || old_texts.is_empty() || old_texts.iter().any(String::is_empty) {
        return None;
    }
    let cwd = &host.options.cwd;
    let path = paths::resolve_from(host, cwd, given);
    let name = paths::shown(cwd, &path);
    // The call is not checked yet: what a rule may keep back must not be told from.
    let access = host.access(SPEC.name, Some(""), cwd);
    let Some(content) = save::look(&path, &name, &access).ok()?.content else {
        return Some(format!("File not found: {name}"));
    };
    let change = |old_text| Change { old_text, new_text: String::new(), replace_all: true };
    let edits: Vec<Change> = old_texts.into_iter().map(change).collect();
    match replaced(&name, &content, &edits, host.options.settings.edit.fuzzy) {
        Err(Fault::NotFound(text)) => Some(text),
        _ => None,
    }
}

/// The change that a call would make; none where it would fail.
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
    let target = save::look(&path, &name, &host.access(SPEC.name, None, cwd)).ok()?.with_unsaved(host);
    let old = target.content.as_deref();
    let done = match edits.iter().any(|edit| edit.old_text.is_empty()) {
        true => put_at_end(&name, old, &edits).ok()?,
        false => replaced(&name, old?, &edits, host.options.settings.edit.fuzzy).ok()?,
    };
    Some(change(&name, old.unwrap_or_default(), &done.content))
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
    let target = save::look(&path, &name, &host.access(SPEC.name, Some(&call.id), &call.cwd))?.with_unsaved(host);
    let guarded = host.options.settings.file_guard != FileGuard::Off;
    let standing = target.content.as_deref().map(|content| host.seen.standing(&target.path, content));
    let stale = guarded && matches!(standing, Some(FileState::Changed | FileState::ChangedElsewhere));
    let old = target.content.clone().unwrap_or_default();
    let done = if edits.iter().any(|edit| edit.old_text.is_empty()) {
        put_at_end(&name, target.content.as_deref(), &edits)?
    } else if target.content.is_none() {
        return Err(ToolError::Failed(format!("File not found: {name}")));
    } else {
        match replaced(&name, &old, &edits, host.options.settings.edit.fuzzy) {
            Ok(done) => done,
            Err(Fault::NotFound(_) | Fault::Ambiguous(_)) if stale => {
                return Err(ToolError::Failed(save::changed(&name)));
            }
            Err(Fault::NotFound(_)) if old.starts_with(b"\xff\xfe") || old.starts_with(b"\xfe\xff") => {
                return Err(ToolError::Failed(format!(
                    "Cannot edit {name}: it is UTF-16. Convert it with bash first: iconv -f UTF-16 -t UTF-8"
                )));
            }
            Err(Fault::NotFound(text) | Fault::Ambiguous(text) | Fault::Overlap(text)) => {
                return Err(ToolError::Failed(text));
            }
        }
    };
    if done.content == old && target.content.is_some() {
        return Err(ToolError::Failed(format!("No changes made to {name}: the replacement is identical.")));
    }
    target.write(host, &name, &done.content, false)?;
    let count = edits.len();
    let mut text = format!("Applied {count} edit{} to {name}.", if count == 1 { "" } else { "s" });
    for note in &done.notes {
        text.push_str(&format!("\n[{note}]"));
    }
    if let Some(note) = target.parted() {
        text.push_str(&format!("\n{note}"));
    }
    if stale {
        text.push_str("\n[The file changed on disk since it was read; the text to replace was still there.]");
    }
    let (diff, first) = diff(&name, &old, &done.content);
    let matched: Vec<&str> = done.stages.iter().map(|stage| stage.name()).collect();
    Ok(ToolOutput::text(text).with_details(json!({"diff": diff, "firstChangedLine": first, "matched": matched})))
}

/// The content of a file after the edits.
#[derive(Debug)]
struct EditedFile {
    content: Vec<u8>,
    stages: Vec<Stage>,
    notes: Vec<String>,
}

#[derive(Debug)]
enum Fault {
    NotFound(String),
    Ambiguous(String),
    Overlap(String),
}

/// An empty old text: the new one is a new file, or the end of an existing one.
fn put_at_end(name: &str, content: Option<&[u8]>, edits: &[Change]) -> Result<EditedFile, ToolError> {
    let [edit] = edits else {
        return Err(ToolError::Failed(format!("An empty oldText must be the only edit of {name}.")));
    };
    let mut all = content.unwrap_or_default().to_vec();
    let new = edit.new_text.replace("\r\n", "\n");
    all.extend_from_slice(with_ends(&new, &all).as_bytes());
    Ok(EditedFile { content: all, stages: vec![Stage::Exact], notes: Vec::new() })
}

/// Applies all edits to `file`, or none.
fn replaced(name: &str, file: &[u8], edits: &[Change], fuzzy: bool) -> Result<EditedFile, Fault> {
    let bom = if file.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let (mut notes, mut stages, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (index, edit) in edits.iter().enumerate() {
        let which = if edits.len() > 1 { format!("edits[{index}]: ") } else { String::new() };
        let clean = |text: &str| text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let (old, new) = (clean(&edit.old_text), clean(&edit.new_text));
        let found = find_edit(&file[bom..], &old, &new, edit.replace_all, fuzzy, &mut notes);
        let Some(Found { stage, places: found }) = found else {
            let mut text =
                format!("{which}Could not find the text in {name}. It must match exactly, including white space.");
            if let Some((_, region)) = closest(&file[bom..], &old) {
                text.push_str(&format!("\nThe closest lines are:\n{region}"));
            }
            return Err(Fault::NotFound(text));
        };
        if found.len() > 1 && !edit.replace_all {
            return Err(Fault::Ambiguous(format!(
                "{which}Found {} occurrences of the text in {name}. Add surrounding lines to make it unique, or set \
                 replaceAll to true.",
                found.len()
            )));
        }
        if stage != Stage::Exact {
            notes.push(format!("{which}matched with {}", stage.name()));
        }
        stages.push(stage);
        for (from, to, new) in found {
            let (from, to) = (from + bom, to + bom);
            warn(file, from, to, &new, &mut notes);
            places.push((from, to, index, with_ends(&new, file)));
        }
    }
    places.sort_by_key(|(from, to, index, _)| (*from, *to, *index));
    for pair in places.windows(2) {
        if pair[1].0 < pair[0].1 {
            let (one, other) = (pair[0].2.min(pair[1].2), pair[0].2.max(pair[1].2));
            return Err(Fault::Overlap(format!("edits[{one}] and edits[{other}] overlap in {name}. Merge them.")));
        }
    }
    let mut content = Vec::with_capacity(file.len());
    let mut at = 0;
    for (from, to, _, new) in &places {
        content.extend_from_slice(&file[at..*from]);
        content.extend_from_slice(new.as_bytes());
        at = *to;
    }
    content.extend_from_slice(&file[at..]);
    notes.dedup();
    notes.truncate(20);
    Ok(EditedFile { content, stages, notes })
}

fn find_edit(file: &[u8], old: &str, new: &str, all: bool, fuzzy: bool, notes: &mut Vec<String>) -> Option<Found> {
    if let Some(found) = find(file, old, new, false, all) {
        return Some(found);
    }
    if let Some(bare) = without_numbers(old)
        && let Some(found) = find(file, &bare, &without_numbers(new).unwrap_or_else(|| new.to_string()), fuzzy, all)
    {
        notes.push("line numbers were taken off the texts".into());
        return Some(found);
    }
    if fuzzy { find(file, old, new, true, all) } else { None }
}

/// The text without the `<n>:` that each of its lines begins with.
fn without_numbers(text: &str) -> Option<String> {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim_start();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        out.push_str(rest);
    }
    (!out.is_empty()).then_some(out)
}

/// `text` with the line ends that most lines of `file` have.
fn with_ends(text: &str, file: &[u8]) -> String {
    let all = memchr::memchr_iter(b'\n', file).count();
    let windows = memchr::memmem::find_iter(file, b"\r\n").count();
    if windows * 2 > all { text.replace('\n', "\r\n") } else { text.to_string() }
}

/// Says what looks like a mistake.
fn warn(file: &[u8], from: usize, to: usize, new: &str, notes: &mut Vec<String>) {
    let old = &file[from..to];
    for [open, close] in [b"{}", b"[]", b"()"] {
        let balance = |text: &[u8]| {
            let count = |wanted: u8| i64::try_from(memchr::memchr_iter(wanted, text).count()).unwrap_or(i64::MAX);
            count(*open) - count(*close)
        };
        if balance(old) != balance(new.as_bytes()) {
            notes.push(format!("Warning: the balance of {}{} changed", char::from(*open), char::from(*close)));
        }
    }
    let rest = &file[to..];
    let rest =
        rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).unwrap_or(if new.ends_with('\n') { rest } else { b"" });
    let next = super::read_tracker::lines(rest).next().unwrap_or_default();
    if !next.trim_ascii().is_empty() && new.lines().last().is_some_and(|last| last.as_bytes() == next) {
        notes.push("Warning: the last line of the replacement equals the line after it".into());
    }
}

/// The change of a file from one content to another.
pub(super) fn change(name: &str, old: &[u8], new: &[u8]) -> FileChange {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    FileChange { name: name.to_owned(), old: text(old), new: text(new), diff: diff(name, old, new).0 }
}

/// The change as a unified diff, and the number of its first line in the new file.
pub(super) fn diff(name: &str, old: &[u8], new: &[u8]) -> (String, usize) {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    let options =
        UnifiedOptions { old_name: name.into(), new_name: name.into(), context: CONTEXT, ..UnifiedOptions::default() };
    // A file of too many lines is changed all the same; who asks for the change reads why it is not shown.
    let text = unified_diff(&old, &new, &options, &CancelToken::never()).unwrap_or_else(|error| error.to_string());
    (text, same + 1)
}

#[cfg(test)]
mod tests;
