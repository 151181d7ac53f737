//! `edit` by line numbers: a patch refers to lines of files, identified by a tag.

mod lines;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::Deserialize;
use serde_json::{Value, json};

use super::settings::EditMode;
use super::spec::{Outcome, PLAIN, Run, Spec};
use super::{Host, HostOptions, arguments, edit, paths, save, truncate};
use crate::document::Document;
use crate::file_change::FileChange;
use crate::line_patch::{ChangePosition, Op, parse};
use crate::semantics::Semantics;
use crate::snapshots;
use crate::tool::{Call, Concurrency, ToolError, ToolFlags, ToolOutput};
use lines::{Hunk, Lines, moved};

pub(super) static SPEC: Spec = Spec {
    name: "edit",
    description: "Change files by line numbers. input holds, per file, its header @path#tag as read shows it (#new \
                  creates a file), then changes: replace A..B, delete A..B, insert before A, insert after A, insert \
                  start, insert end. Write each new line below its change, after a |. All numbers are those of the \
                  tagged file; all changes are made or none.",
    parameters,
    guidelines: &["In an edit name only lines that you were shown, with the last tag of the file."],
    concurrency: Concurrency::Exclusive,
    flags: ToolFlags { non_abortable: true, ..PLAIN },
    semantics: Semantics { headline: "input", ..edit::SEMANTICS },
    offered: |options| options.settings.edit.mode == EditMode::Hashline,
    reject_early: None,
    preview: Some(preview),
    run: Run::Blocking(run),
};

/// The number of context lines shown around a change with a stale tag.
const AROUND: usize = 2;
/// The number of lines and bytes per line that are shown there.
const STALE_LINES: usize = 100;
const STALE_BYTES: usize = 500;

fn parameters(_: &HostOptions) -> Value {
    json!({
        "type": "object",
        "properties": {"input": {"type": "string", "description": "@a.txt#0123abcd\nreplace 3..4\n|new line"}},
        "required": ["input"],
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Arguments {
    input: String,
}

/// The validated changes of one file.
struct Plan {
    target: save::Target,
    name: String,
    /// The new bytes of the file.
    content: Vec<u8>,
    /// The text before and after the changes, as `read` shows it.
    texts: (Vec<u8>, Vec<u8>),
    known: Vec<Range<usize>>,
    notes: Vec<String>,
}

/// The section of a patch for one file.
struct FilePatch {
    target: save::Target,
    name: String,
    tag: Option<String>,
    ops: Vec<Op>,
}

fn run(host: &Host, call: &Call) -> Outcome {
    let Arguments { input } = arguments::parse(call)?;
    let patch = parse(&input).map_err(ToolError::Failed)?;
    let mut wanted: Vec<FilePatch> = Vec::new();
    for section in patch.sections {
        let path = paths::resolve(host, call, &section.path)?;
        let name = paths::shown(&call.cwd, &path);
        let target =
            save::look(&path, &name, &host.access(SPEC.name, SPEC.semantics.effects, Some(&call.id), &call.cwd))?
                .with_unsaved(host);
        match wanted.iter_mut().find(|other| other.target.path == target.path) {
            Some(other) if other.tag == section.tag => other.ops.extend(section.ops),
            Some(_) => {
                return Err(ToolError::Failed(format!("Two tags for {name}: use only the tag of the last read.")));
            }
            None => wanted.push(FilePatch { target, name, tag: section.tag, ops: section.ops }),
        }
    }
    let plans: Result<Vec<Plan>, ToolError> = wanted.into_iter().map(|wanted| plan(host, wanted)).collect();
    let (mut blocks, mut files, mut done) = (Vec::new(), Vec::new(), Vec::new());
    for plan in plans? {
        let written = plan.target.write(host, &plan.name, &plan.content, false);
        if let Err(ToolError::Failed(text)) = written {
            let done = if done.is_empty() { "nothing".into() } else { done.join(", ") };
            return Err(ToolError::Failed(format!("{text}\nWritten before: {done}.")));
        }
        let (diff, first) = edit::diff(&plan.name, &plan.texts.0, &plan.texts.1);
        let cut = truncate::head(&diff, truncate::LINES, truncate::BYTES / 2);
        let mut known = plan.known;
        known.extend(new_lines(cut.text));
        let tag = host.snapshots.showed(&plan.target.path, &plan.content, &known);
        let mut block = format!("@{}#{tag}", plan.name);
        for note in &plan.notes {
            block.push_str(&format!("\n[{note}]"));
        }
        block.push_str(&format!("\n{}", cut.text.trim_end_matches('\n')));
        if cut.by.is_some() {
            block.push_str("\n[The diff is longer. Read the file for the rest.]");
        }
        blocks.push(block);
        files.push(json!({"path": plan.name, "tag": tag, "diff": diff, "firstChangedLine": first}));
        done.push(plan.name);
    }
    blocks.extend(patch.notes.iter().map(|note| format!("[{note}]")));
    Ok(ToolOutput::text(blocks.join("\n")).with_details(json!({"files": files})))
}

/// Returns the changes that a call would make; `None` if it would fail.
pub(super) fn preview(host: &Host, arguments: &Value) -> Option<Vec<FileChange>> {
    let patch = parse(arguments.get("input")?.as_str()?).ok()?;
    let cwd = &host.options.cwd;
    let mut changes = Vec::new();
    for section in patch.sections {
        if section.path.contains("://") {
            return None;
        }
        let path = paths::resolve_from(host, cwd, &section.path);
        let name = paths::shown(cwd, &path);
        let target = save::look(&path, &name, &host.access(SPEC.name, SPEC.semantics.effects, None, cwd))
            .ok()?
            .with_unsaved(host);
        let plan = plan(host, FilePatch { target, name, tag: section.tag, ops: section.ops }).ok()?;
        changes.push(edit::change(&plan.name, &plan.texts.0, &plan.texts.1));
    }
    Some(changes)
}

fn plan(host: &Host, wanted: FilePatch) -> Result<Plan, ToolError> {
    let FilePatch { target, name, tag, ops } = wanted;
    let fail = |text: String| Err(ToolError::Failed(text));
    let mut notes = Vec::new();
    let document = Document::open(&target.path, target.content.as_deref().unwrap_or_default());
    if let Some(fault) = document.fault() {
        return fail(format!("Cannot edit {name}: {fault}. Use bash."));
    }
    let applied = match (&tag, &target.content) {
        (None, Some(_)) => return fail(format!("File exists: {name}. Read it and use its tag.")),
        (Some(_), None) => return fail(format!("File not found: {name}. Use the tag #new to create it.")),
        (None, None) => {
            let none = Lines::new(b"");
            let mut hunks = none.hunks(&name, &ops).map_err(ToolError::Failed)?;
            check_bodies(&none, &mut hunks, &mut notes).map_err(ToolError::Failed)?;
            none.apply(&hunks, &[])
        }
        (Some(tag), Some(now)) => {
            let snapshot = host.snapshots.get(&target.path, tag);
            let now_lines = Lines::new(document.text());
            if snapshots::tag(now) == *tag {
                let mut hunks = now_lines.hunks(&name, &ops).map_err(ToolError::Failed)?;
                let all = 0..now_lines.count();
                // After a resume it is unknown which lines were shown; the tag still matches.
                let known = snapshot.as_ref().map_or(std::slice::from_ref(&all), |snapshot| &snapshot.known);
                if let Some(snapshot) = &snapshot {
                    check_shown(&name, &ops, snapshot)?;
                }
                check_bodies(&now_lines, &mut hunks, &mut notes).map_err(ToolError::Failed)?;
                now_lines.apply(&hunks, known)
            } else {
                let held = snapshot.as_ref().and_then(|snapshot| Some((snapshot, snapshot.content.as_deref()?)));
                let Some((snapshot, old)) = held else { return fail(stale(host, &target, &name, &ops)) };
                let old = Document::open(&target.path, old);
                let base = Lines::new(old.text());
                let mut hunks = base.hunks(&name, &ops).map_err(ToolError::Failed)?;
                check_shown(&name, &ops, snapshot)?;
                check_bodies(&base, &mut hunks, &mut notes).map_err(ToolError::Failed)?;
                let Some(hunks) = moved(&base, &now_lines, &hunks) else {
                    return fail(stale(host, &target, &name, &ops));
                };
                notes.insert(0, "Merged with changes made since".into());
                now_lines.apply(&hunks, &[])
            }
        }
    };
    // A new file is what the patch says, whatever its name.
    let content = match &target.content {
        Some(_) => document.with_text(&applied.content).map_err(|text| ToolError::Failed(format!("{name}: {text}")))?,
        None => applied.content.clone(),
    };
    if target.content.as_ref() == Some(&content) {
        return fail(format!("No changes made to {name}: the new text equals the old one."));
    }
    let texts = (document.text().to_vec(), applied.content);
    Ok(Plan { target, name, content, texts, known: applied.known, notes })
}

/// Checks that the model has seen all changed lines.
fn check_shown(name: &str, ops: &[Op], snapshot: &snapshots::Snapshot) -> Result<(), ToolError> {
    for op in ops {
        let lines = match &op.at {
            ChangePosition::Lines(range) => range.clone(),
            ChangePosition::Between { named, .. } => named - 1..*named,
            ChangePosition::Start | ChangePosition::End => continue,
        };
        if !snapshot.knows(&lines) {
            let (first, last) = (lines.start + 1, lines.end);
            return Err(ToolError::Failed(format!("Lines {first}..{last} of {name} were not shown. Read them first.")));
        }
    }
    Ok(())
}

/// Rejects changes without effect; repairs and reports probable mistakes.
fn check_bodies(base: &Lines<'_>, hunks: &mut [Hunk], notes: &mut Vec<String>) -> Result<(), String> {
    for hunk in hunks {
        if let Some(line) = repeated(&hunk.body) {
            notes.push(format!("Warning: the new lines repeat a chunk, from \"{}\"", line.trim()));
        }
        if hunk.at.is_empty() || hunk.body.is_empty() {
            continue;
        }
        let (first, last) = (hunk.at.start + 1, hunk.at.end);
        let old: Vec<&[u8]> = hunk.at.clone().filter_map(|index| base.line(index)).collect();
        if old.iter().copied().eq(hunk.body.iter().map(String::as_bytes)) {
            return Err(format!(
                "No changes: the new text equals lines {first}..{last}. Re-read; do not widen the range."
            ));
        }
        let wanted = balance(old.into_iter());
        let of = |body: &[String]| balance(body.iter().map(String::as_bytes));
        let equals = |line: Option<&[u8]>, new: &String| !new.trim().is_empty() && line == Some(new.as_bytes());
        if hunk.body.last().is_some_and(|new| equals(base.line(hunk.at.end), new)) {
            let rest = hunk.body.len() - 1;
            if rest > 0 && of(&hunk.body) != wanted && of(&hunk.body[..rest]) == wanted {
                hunk.body.truncate(rest);
                notes.push(format!("Warning: the last new line repeated line {} and was left out", last + 1));
            } else {
                notes.push(format!("Warning: the last new line equals line {}, which follows it", last + 1));
            }
        }
        let before = hunk.at.start.checked_sub(1).and_then(|index| base.line(index));
        if hunk.body.first().is_some_and(|new| equals(before, new)) {
            if hunk.body.len() > 1 && of(&hunk.body) != wanted && of(&hunk.body[1..]) == wanted {
                hunk.body.remove(0);
                notes.push(format!("Warning: the first new line repeated line {} and was left out", first - 1));
            } else {
                notes.push(format!("Warning: the first new line equals line {}, which is before it", first - 1));
            }
        }
    }
    notes.truncate(20);
    Ok(())
}

/// Counts the unclosed brackets of each kind.
fn balance<'a>(lines: impl Iterator<Item = &'a [u8]>) -> [i64; 3] {
    lines.flatten().fold([0; 3], |mut sum, byte| {
        match byte {
            b'{' => sum[0] += 1,
            b'}' => sum[0] -= 1,
            b'[' => sum[1] += 1,
            b']' => sum[1] -= 1,
            b'(' => sum[2] += 1,
            b')' => sum[2] -= 1,
            _ => {}
        }
        sum
    })
}

/// Returns the first of three or more lines that are repeated directly; `None` if there are none.
fn repeated(body: &[String]) -> Option<&String> {
    // The search is quadratic; a longer body is a new file.
    let body = &body[..body.len().min(200)];
    let chunk = |length: usize| {
        let mut equal = 0;
        (length..body.len()).find_map(|index| {
            equal = if body[index] == body[index - length] { equal + 1 } else { 0 };
            (equal == length).then(|| &body[index + 1 - 2 * length..=index - length])
        })
    };
    let found = (3..=body.len() / 2).find_map(chunk)?;
    found.iter().find(|line| !line.trim().is_empty())
}

/// Finds the lines of a stale patch in the current content.
fn stale(host: &Host, target: &save::Target, name: &str, ops: &[Op]) -> String {
    let content = target.content.as_deref().unwrap_or_default();
    let document = Document::open(&target.path, content);
    let lines = Lines::new(document.text());
    let marked: Vec<Range<usize>> = ops
        .iter()
        .map(|op| match &op.at {
            ChangePosition::Lines(range) => range.clone(),
            ChangePosition::Between { named, .. } => named - 1..*named,
            ChangePosition::Start => 0..0,
            ChangePosition::End => lines.count()..lines.count(),
        })
        .collect();
    let mut shown: Vec<usize> = marked
        .iter()
        .flat_map(|range| {
            let around = range.start.saturating_sub(AROUND)..range.end.saturating_add(AROUND).min(lines.count());
            around.take(STALE_LINES)
        })
        .collect();
    shown.sort_unstable();
    shown.dedup();
    shown.truncate(STALE_LINES);
    let mut text = String::new();
    let mut known = Vec::new();
    for index in shown {
        let Some(line) = lines.line(index) else { break };
        let mark = if marked.iter().any(|range| range.contains(&index)) { "*" } else { "" };
        let part = &line[..line.len().min(STALE_BYTES)];
        text.push_str(&format!("\n{mark}{}:{}", index + 1, String::from_utf8_lossy(part)));
        if part.len() == line.len() {
            known.push(index..index + 1);
        }
    }
    let tag = host.snapshots.showed(&target.path, content, &known);
    format!("Stale tag for {name}: the file is now #{tag}.{text}")
}

/// Returns the lines, from 0, of the new file that a unified diff shows.
fn new_lines(diff: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for line in diff.lines().skip(2) {
        if let Some(place) = line.strip_prefix("@@ ").and_then(|line| line.split_once(" +")) {
            let number: String = place.1.chars().take_while(char::is_ascii_digit).collect();
            let first = number.parse::<usize>().unwrap_or(1).max(1) - 1;
            ranges.push(first..first);
        } else if let (b'+' | b' ', Some(range)) = (line.as_bytes().first().unwrap_or(&0), ranges.last_mut()) {
            range.end += 1;
        }
    }
    ranges
}
