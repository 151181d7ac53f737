//! The outline of a session, created before the first line of the page is written: the order of the entries, their rows
//! in the map, and the totals. One pass over the session that stores a few words per entry.

use std::collections::{BTreeMap, HashMap};

use sinew::base::Result;
use sinew_llm::message::{AgentMessage, AssistantMessage, Block, StopReason};
use sinew_session::{Body, Entry, Session};

use super::html_writer::HtmlWriter;
use super::markdown;
use super::tool;

/// Consecutive entries of one branch.
pub(super) struct Section<'s> {
    /// 0 on the path from the root to the leaf.
    pub(super) depth: usize,
    /// The entry after which the branch begins; `None` for the root.
    pub(super) parent: Option<&'s str>,
    pub(super) rows: Vec<Row<'s>>,
}

impl Section<'_> {
    /// Returns true if it repeats other parts of the page: bookmarks and titles.
    pub(super) fn is_aside(&self) -> bool {
        self.rows.iter().all(|row| row.what == EntryKind::Aside)
    }
}

/// One entry.
pub(super) struct Row<'s> {
    pub(super) id: &'s str,
    pub(super) what: EntryKind,
    /// The first words; empty if the map does not show the entry.
    pub(super) words: String,
    /// The user's bookmark, if there is one.
    pub(super) label: Option<String>,
}

/// The kind of an entry, as far as it affects the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    User,
    Assistant,
    /// An answer that failed or was stopped.
    Failed,
    Result,
    FailedResult,
    Summary,
    Other,
    Aside,
}

/// The usage of the session, on all branches.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) users: u64,
    pub(super) answers: u64,
    pub(super) calls: u64,
    pub(super) compactions: u64,
    /// The models that answered, with the number of answers.
    pub(super) models: BTreeMap<String, u64>,
    /// The thinking level on the path; `None` if it was never set.
    pub(super) thinking: Option<String>,
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) cost: f64,
    /// The time of the last entry; `None` without entries.
    pub(super) last: Option<i64>,
}

/// The order of the page and its totals.
pub(super) struct Outline<'s> {
    pub(super) sections: Vec<Section<'s>>,
    pub(super) totals: Totals,
}

/// Reads every entry once.
///
/// # Errors
/// Returns an error if an entry does not exist any more; an entry that cannot be read has a row of its own.
pub(super) fn outline<'s>(session: &'s Session, html: &HtmlWriter<'_>) -> Result<Outline<'s>> {
    let mut sections = order(session)?;
    let mut totals = Totals::default();
    let mut labels: HashMap<String, Option<String>> = HashMap::new();
    let leaf = session.leaf();
    for section in &mut sections {
        // The subjects of the last answer's calls, for the rows of their results.
        let mut subjects: HashMap<String, String> = HashMap::new();
        for row in &mut section.rows {
            let Ok(entry) = session.entry(row.id) else {
                row.words = "unreadable entry".into();
                continue;
            };
            if let Some(time) = sinew_session::clock::from_iso(&entry.timestamp) {
                totals.last = totals.last.max(Some(time));
            }
            if section.depth == 0
                && let Body::ThinkingLevelChange { thinking_level } = &entry.body
            {
                totals.thinking = Some(thinking_level.clone());
            }
            if let Body::Label { target_id, label } = &entry.body {
                labels.insert(target_id.clone(), label.clone());
            }
            totals.add(&entry);
            let is_leaf = leaf == Some(row.id);
            (row.what, row.words) = words(html, entry, is_leaf, &mut subjects);
        }
    }
    for row in sections.iter_mut().flat_map(|section| &mut section.rows) {
        row.label = labels.remove(row.id).flatten();
    }
    Ok(Outline { sections, totals })
}

/// Returns the path to the leaf, followed by each other branch after the entry where it begins, and nested branches
/// after those.
fn order(session: &Session) -> Result<Vec<Section<'_>>> {
    let path = session.path_ids();
    let mut sections = Vec::new();
    let mut main = Vec::new();
    let roots = session.children(None)?;
    branches(session, &roots, path.first().copied(), None, 1, &mut sections)?;
    for (at, &id) in path.iter().enumerate() {
        main.push(row(id));
        let children = session.children(Some(id))?;
        let next = path.get(at + 1).copied();
        if children.iter().any(|&child| Some(child) != next) {
            sections.push(Section { depth: 0, parent: None, rows: std::mem::take(&mut main) });
            branches(session, &children, next, Some(id), 1, &mut sections)?;
        }
    }
    if !main.is_empty() {
        sections.push(Section { depth: 0, parent: None, rows: main });
    }
    Ok(sections)
}

/// Adds the branches of `children` except `next`. Uses an explicit list instead of recursion, because a file may branch
/// at every entry.
fn branches<'s>(
    session: &'s Session,
    children: &[&'s str],
    next: Option<&'s str>,
    parent: Option<&'s str>,
    depth: usize,
    sections: &mut Vec<Section<'s>>,
) -> Result<()> {
    let others = children.iter().rev().filter(|&&child| Some(child) != next);
    let mut waiting: Vec<(&str, Option<&str>, usize)> = others.map(|&child| (child, parent, depth)).collect();
    while let Some((first, parent, depth)) = waiting.pop() {
        let mut rows = Vec::new();
        let mut at = Some(first);
        let mut aside = Vec::new();
        while let Some(id) = at {
            rows.push(row(id));
            let mut children = session.children(Some(id))?;
            // The youngest continues, because it is the user's most recent action.
            at = children.pop();
            aside.extend(children.into_iter().map(|child| (child, Some(id), depth + 1)));
        }
        waiting.extend(aside.into_iter().rev());
        sections.push(Section { depth, parent, rows });
    }
    Ok(())
}

fn row(id: &str) -> Row<'_> {
    Row { id, what: EntryKind::Other, words: String::new(), label: None }
}

impl Totals {
    fn add(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Message { message: AgentMessage::User(_) } => self.users += 1,
            Body::Message { message: AgentMessage::Assistant(answer) } => self.add_answer(answer),
            Body::Compaction { .. } => self.compactions += 1,
            _ => {}
        }
    }

    fn add_answer(&mut self, answer: &AssistantMessage) {
        self.answers += 1;
        self.calls += answer.tool_calls().count() as u64;
        *self.models.entry(format!("{}/{}", answer.provider, answer.model)).or_default() += 1;
        let usage = &answer.usage;
        let sums = [
            (&mut self.input, usage.input),
            (&mut self.output, usage.output),
            (&mut self.cache_read, usage.cache_read),
            (&mut self.cache_write, usage.cache_write),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        self.cost += usage.cost.total;
    }
}

/// Returns the kind of an entry and its row in the map: the default filter of the tree hides bookmarks, states and
/// answers that only call tools.
fn words(
    html: &HtmlWriter<'_>,
    entry: Entry,
    is_leaf: bool,
    subjects: &mut HashMap<String, String>,
) -> (EntryKind, String) {
    match entry.body {
        Body::Compaction { summary, short_summary, .. } => {
            (EntryKind::Summary, markdown::words(html, &format!("Compaction: {}", short_summary.unwrap_or(summary))))
        }
        Body::SessionInit { task, .. } => (EntryKind::Other, html.line(&format!("Task: {task}"))),
        Body::Label { .. } | Body::SessionInfo { .. } => (EntryKind::Aside, String::new()),
        _ => match entry.into_message() {
            Some(mut message) => {
                html.hide_between(&mut message);
                said(html, message, is_leaf, subjects)
            }
            None => (EntryKind::Other, String::new()),
        },
    }
}

fn said(
    html: &HtmlWriter<'_>,
    message: AgentMessage,
    is_leaf: bool,
    subjects: &mut HashMap<String, String>,
) -> (EntryKind, String) {
    match message {
        AgentMessage::User(user) => {
            let text = user.content.text();
            (EntryKind::User, if text.trim().is_empty() { "(picture)".into() } else { html.line(&text) })
        }
        AgentMessage::Assistant(answer) => answered(html, &answer, is_leaf, subjects),
        AgentMessage::ToolResult(result) => {
            let subject = subjects.remove(&result.tool_call_id).unwrap_or_default();
            let what = if result.is_error { EntryKind::FailedResult } else { EntryKind::Result };
            (what, html.line(&format!("{} {subject}", result.tool_name)))
        }
        AgentMessage::BashExecution(ran) => (EntryKind::User, html.line(&format!("! {}", ran.command))),
        AgentMessage::FileMention(mention) => {
            let paths: Vec<&str> = mention.files.iter().map(|file| file.path.as_str()).collect();
            (EntryKind::Other, html.line(&format!("@ {}", paths.join(", "))))
        }
        AgentMessage::BranchSummary(summary) => {
            (EntryKind::Summary, markdown::words(html, &format!("Branch: {}", summary.summary)))
        }
        AgentMessage::CompactionSummary(summary) => {
            (EntryKind::Summary, markdown::words(html, &format!("Summary: {}", summary.summary)))
        }
        AgentMessage::Custom(custom) => {
            (EntryKind::Other, html.line(&format!("{}: {}", custom.custom_type, custom.content.text())))
        }
    }
}

fn answered(
    html: &HtmlWriter<'_>,
    answer: &AssistantMessage,
    is_leaf: bool,
    subjects: &mut HashMap<String, String>,
) -> (EntryKind, String) {
    subjects.clear();
    subjects.extend(answer.tool_calls().map(|call| (call.id.clone(), tool::subject(call))));
    let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
    let what = if failed { EntryKind::Failed } else { EntryKind::Assistant };
    let first = answer.content.iter().find_map(|block| match block {
        Block::Text(text) if !text.text.trim().is_empty() => Some(markdown::words(html, &text.text)),
        _ => None,
    });
    let words = match first {
        Some(words) => words,
        None if failed => html.line(answer.error_message.as_deref().unwrap_or(answer.stop_reason.as_str())),
        None if is_leaf => "(no text)".into(),
        None => String::new(),
    };
    (what, words)
}
