//! The states and results of children, and the report that their parent reads.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::definition::AgentSource;
use crate::agent::TokenCounts;

/// The state of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildState {
    /// Is waiting for its turn.
    Queued,
    /// Is running.
    Running,
    /// Is running, and waits for the user's answer.
    Asking,
    /// Handed in a result that was accepted.
    Completed,
    /// Ended without an accepted result.
    Failed,
    /// Was stopped by its parent or by the user.
    Aborted,
    /// Ended because its budget was used up.
    OverBudget,
    /// Was never started.
    Skipped,
}

const ALL: [ChildState; 8] = [
    ChildState::Queued,
    ChildState::Running,
    ChildState::Asking,
    ChildState::Completed,
    ChildState::Failed,
    ChildState::Aborted,
    ChildState::OverBudget,
    ChildState::Skipped,
];

impl ChildState {
    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ChildState::OverBudget => "over_budget",
            other => other.as_str(),
        }
    }

    /// Returns true for a child that has not ended.
    #[must_use]
    pub fn is_at_work(self) -> bool {
        matches!(self, ChildState::Queued | ChildState::Running | ChildState::Asking)
    }

    /// Returns the word for people and models.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ChildState::Queued => "queued",
            ChildState::Running => "running",
            ChildState::Asking => "asking",
            ChildState::Completed => "completed",
            ChildState::Failed => "failed",
            ChildState::Aborted => "aborted",
            ChildState::OverBudget => "over budget",
            ChildState::Skipped => "skipped",
        }
    }
}

impl<'de> Deserialize<'de> for ChildState {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<ChildState, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = ALL.into_iter().find(|state| state.name() == name);
        known.ok_or_else(|| serde::de::Error::custom(format!("unknown state {name:?}")))
    }
}

impl Serialize for ChildState {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The limit that a child reached before it handed in its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// The maximum number of requests.
    Turns,
    /// The maximum number of tokens.
    Tokens,
    /// The maximum cost.
    Cost,
}

impl Limit {
    /// Returns the word for people and models.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Limit::Turns => "turns",
            Limit::Tokens => "tokens",
            Limit::Cost => "cost",
        }
    }
}

/// The end of a child, as the details of a call contain it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildResult {
    /// The position of its task in the call.
    pub index: usize,
    /// Its id.
    pub id: String,
    /// The name of its agent.
    pub agent: String,
    /// The source of the definition of its agent.
    pub agent_source: AgentSource,
    /// A few words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its final state.
    pub state: ChildState,
    /// The limit that it reached before it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<Limit>,
    /// Why it did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its result, or what it had written; at most 5,000 characters.
    pub output: String,
    /// True if `output` is only the beginning.
    pub truncated: bool,
    /// The address of the complete output, if that is longer: `agent://One`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// The time from its first request to its end, in milliseconds.
    pub duration_ms: u64,
    /// The number of its answers.
    pub turns: usize,
    /// The sum of all tokens.
    pub tokens: u64,
    /// Its tokens by kind.
    pub usage: TokenCounts,
    /// Its cost in US dollars.
    pub cost: f64,
    /// Its changes, if it worked in a copy of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChildChanges>,
}

/// The changes of a child that worked in a copy of the project, and whether they were applied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildChanges {
    /// How its files were isolated: `worktree` or `copy`.
    pub mode: String,
    /// The changed files.
    pub files: Vec<ChangedFile>,
    /// The copy with the changes that were not applied; `None` if all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// Why the changes could not be applied or listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Commits of the child, which are only in the copy and removed with it: id and first line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
}

/// A file that a child changed in its copy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// The path below the project.
    pub path: String,
    /// The outcome: `created`, `replaced`, `merged`, `deleted`, `unchanged`, `kept`, `conflict`, or `waiting` for
    /// one that was not applied.
    pub outcome: String,
    /// Why it was not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ChangedFile {
    /// Returns true if the change is only in the copy.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(&*self.outcome, "conflict" | "waiting")
    }
}

impl ChildChanges {
    /// Writes the part of the report about the changes.
    fn write(&self, id: &str, text: &mut String) {
        let list = |files: Vec<&ChangedFile>| {
            let line = |file: &ChangedFile| match &file.reason {
                Some(reason) => format!("{} ({}: {reason})", file.path, file.outcome),
                None => format!("{} ({})", file.path, file.outcome),
            };
            let shown: Vec<String> = files.iter().take(LISTED).map(|file| line(file)).collect();
            let more = files.len().saturating_sub(LISTED);
            shown.join(", ") + &if more > 0 { format!(", and {more} more") } else { String::new() }
        };
        let (open, applied): (Vec<&ChangedFile>, Vec<&ChangedFile>) =
            self.files.iter().partition(|file| file.is_open());
        // Writing to a string cannot fail.
        if !applied.is_empty() {
            let _ = write!(text, "\nChanges in the project: {}", list(applied));
        }
        if !open.is_empty() {
            let _ = write!(text, "\nNot applied: {}", list(open));
        }
        if let Some(error) = &self.error {
            let _ = write!(text, "\nThe changes could not be applied: {error}");
        }
        if !self.commits.is_empty() {
            let place =
                if self.view.is_some() { "Commits that are only in the copy" } else { "Commits that were not kept" };
            let _ = write!(text, "\n{place}: {}", self.commits.join("; "));
        }
        if let Some(view) = &self.view {
            let _ = write!(
                text,
                "\nThe copy is kept in {view}; the user applies it with /tasks apply {id}, or removes it with /tasks drop {id}."
            );
        }
    }
}

/// The maximum number of files that a report lists.
const LISTED: usize = 50;

/// Returns the use of a child as text: `3 turns, 4000 tokens, $0.0123`.
#[must_use]
pub fn usage(turns: usize, tokens: u64, cost: f64) -> String {
    let noun = if turns == 1 { "turn" } else { "turns" };
    format!("{turns} {noun}, {tokens} tokens, ${cost:.4}")
}

/// Returns the text about the children of a call, in the order of its tasks.
#[must_use]
pub fn report(results: &[ChildResult]) -> String {
    let mut text = String::new();
    for result in results {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "## {} ({}): {}", result.id, result.agent, result.state.as_str());
        if let Some(limit) = result.limited {
            let _ = write!(text, " at its limit of {}", limit.as_str());
        }
        if let Some(error) = &result.error {
            let _ = write!(text, ": {error}");
        }
        if !result.output.is_empty() {
            let _ = write!(text, "\n{}", result.output);
        }
        if let (true, Some(path)) = (result.truncated, &result.output_path) {
            let _ = write!(text, "\n[All of it: read {path}]");
        }
        if let Some(changes) = &result.changes {
            changes.write(&result.id, &mut text);
        }
        if result.turns > 0 {
            let ChildResult { turns, tokens, cost, duration_ms, .. } = result;
            let seconds = *duration_ms as f64 / 1_000.0;
            let _ = write!(text, "\n[{}, {seconds:.1} s]", usage(*turns, *tokens, *cost));
        }
    }
    text
}
