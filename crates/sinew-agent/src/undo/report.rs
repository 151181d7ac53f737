//! Formats plans and results for the user.

use std::collections::BTreeSet;
use std::fmt::Write;

use sinew::checkpoint::{Action, Plan, PlanEntry};

use super::restore::{LineCounts, UndoPlan, UndoResult};
use super::store::WATCH_LIMIT;
use super::turns::Turn;

/// Lists what an undo or a redo would do: one line per file, and the repositories that moved.
#[must_use]
pub fn plan_text(plan: &UndoPlan) -> String {
    let mut text = String::new();
    if let Some(nothing) = nothing(&plan.turns, &plan.plan, plan.is_restricted()) {
        return nothing;
    }
    let (count, all) = (plan.plan.count(), plan.plan.entries.len());
    let verb = if plan.turns.is_empty() { "redone" } else { "undone" };
    let of = if count == all { String::new() } else { format!(" of {all}") };
    let _ = writeln!(text, "{count}{of} {} can be {verb}{}", changes(all), titles(&plan.turns));
    text + &list(&plan.plan, &plan.turns, &|entry| plan.entry_text(entry))
}

/// Describes what an undo or a redo did.
#[must_use]
pub fn result_text(result: &UndoResult) -> String {
    if let Some(nothing) = nothing(&result.turns, &result.restored.plan, result.is_restricted) {
        return nothing;
    }
    let (done, all) = (result.restored.done, result.restored.plan.entries.len());
    let verb = if result.turns.is_empty() { "redone" } else { "undone" };
    let of = if done == all { String::new() } else { format!(" of {all}") };
    let mut text = format!("{done}{of} {} {verb}{}\n", changes(all), titles(&result.turns));
    let entry_text = |entry: &PlanEntry| entry_text(entry, result.turns.len(), true, None);
    text += &list(&result.restored.plan, &result.turns, &entry_text);
    if result.restored.redo.is_some() && !result.turns.is_empty() {
        text += "/redo makes the changes again.\n";
    }
    if result.restored.plan.entries.iter().any(|entry| matches!(entry.action, Action::Keep(_))) {
        text += "Kept files are overwritten only with --force.\n";
    }
    text
}

fn nothing(turns: &[Turn], plan: &Plan, is_restricted: bool) -> Option<String> {
    if !plan.entries.is_empty() || !plan.repositories.is_empty() {
        return None;
    }
    let text = match turns {
        [] => "Nothing is left to redo.\n".into(),
        _ if is_restricted => "Nothing is left to undo at these paths.\n".into(),
        [turn] if turn.spans.is_empty() && turn.gaps.is_empty() => {
            format!("The turn {:?} changed no files. The next /undo undoes the turn before it.\n", turn.title)
        }
        [turn] if turn.spans.is_empty() => format!("Undo does not cover the turn {:?}.\n", turn.title),
        [turn] => format!("The files are as they were before the turn {:?}.\n", turn.title),
        turns => format!("The files are as they were before these {} turns.\n", turns.len()),
    };
    Some(text + &gaps(turns))
}

fn changes(count: usize) -> &'static str {
    if count == 1 { "change" } else { "changes" }
}

fn titles(turns: &[Turn]) -> String {
    match turns {
        [] => ":".into(),
        [turn] => format!(" of the turn {:?}:", turn.title),
        turns => format!(" of {} turns:", turns.len()),
    }
}

fn list(plan: &Plan, turns: &[Turn], entry_text: &dyn Fn(&PlanEntry) -> String) -> String {
    let mut text = String::new();
    for entry in &plan.entries {
        let _ = writeln!(text, "  {}", entry_text(entry));
    }
    for moved in &plan.repositories {
        let name = String::from_utf8_lossy(&moved.path);
        let place = |at: &Option<String>| at.clone().unwrap_or_else(|| "nothing".into());
        let _ = write!(text, "  repository {name} moved from {} to {}", place(&moved.from), place(&moved.to));
        let _ = match &moved.command {
            Some(command) => writeln!(text, "; {command} moves it back"),
            None => writeln!(text),
        };
    }
    text + &gaps(turns)
}

/// Lists what the checkpoints of the turns do not cover.
fn gaps(turns: &[Turn]) -> String {
    let gaps: BTreeSet<&String> = turns.iter().flat_map(|turn| &turn.gaps).collect();
    let line = |gap: &String| match &**gap {
        // Slower, but complete.
        WATCH_LIMIT => format!("  {gap}\n"),
        _ => format!("  not covered: {gap}\n"),
    };
    gaps.into_iter().map(line).collect()
}

impl UndoPlan {
    /// Returns the line of a file: action, path, who changed it or why it is kept, and how many lines were changed.
    #[must_use]
    pub fn entry_text(&self, entry: &PlanEntry) -> String {
        entry_text(entry, self.turns.len(), false, self.lines.get(&entry.path).copied())
    }
}

/// Returns the line of a file: action, path, and who changed it or why it is kept. `turns` is the number of turns that
/// are undone; 0 for a redo.
fn entry_text(entry: &PlanEntry, turns: usize, is_done: bool, lines: Option<LineCounts>) -> String {
    let who = match turns {
        0 => "the undo",
        1 => "this turn",
        _ => "these turns",
    };
    // A file name must not contain control characters for the terminal.
    let path = String::from_utf8_lossy(&entry.path).replace(char::is_control, "\u{fffd}");
    let verb = match (&entry.action, is_done) {
        (Action::Restore, false) => "restore",
        (Action::Restore, true) => "restored",
        (Action::Delete, false) => "delete",
        (Action::Delete, true) => "deleted",
        (Action::Keep(_), _) => "keep",
        (Action::Cannot(_), _) => "cannot",
    };
    let reason = match entry.action.reason() {
        Some(reason) => format!(" ({reason})"),
        None => format!(" ({} by {who}{})", entry.change.as_str(), lines.map(counts).unwrap_or_default()),
    };
    let note = entry.note.as_ref().map(|note| format!(" [{note}]")).unwrap_or_default();
    format!("{verb:<8} {path}{reason}{note}")
}

fn counts(LineCounts { added, removed }: LineCounts) -> String {
    match (added, removed) {
        (added, 0) => format!(", +{added}"),
        (0, removed) => format!(", -{removed}"),
        (added, removed) => format!(", +{added} -{removed}"),
    }
}
