//! Converts tool calls to the form of the protocol: kind, title, positions in files, results.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1 as acp;
use serde_json::Value;
use sinew_agent::mcp::semantics_of;
use sinew_llm::message::Block;
use sinew_tools::semantics::{OutputView, Subject, ToolKind, diff_of};

/// The maximum number of characters in a title.
const TITLE: usize = 200;
/// The maximum size of the old and the new text of a file in bytes; changes of larger files are sent as unified diffs.
const WHOLE: usize = 1_000_000;

/// A change of a file by a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileChange {
    pub(super) path: PathBuf,
    /// `None` if the file is new.
    pub(super) old: Option<Vec<u8>>,
    pub(super) new: Vec<u8>,
}

/// Returns the kind of a tool, which determines its icon in an editor.
pub(super) fn kind(tool: &str) -> acp::ToolKind {
    match semantics_of(tool).kind {
        ToolKind::Read => acp::ToolKind::Read,
        ToolKind::Edit => acp::ToolKind::Edit,
        ToolKind::Search => acp::ToolKind::Search,
        ToolKind::Execute => acp::ToolKind::Execute,
        ToolKind::Fetch => acp::ToolKind::Fetch,
        ToolKind::Plan => acp::ToolKind::Think,
        ToolKind::Agent | ToolKind::Ask | ToolKind::Other => acp::ToolKind::Other,
    }
}

/// Returns the title of a call: its subject in one line.
pub(super) fn title(tool: &str, arguments: &Value, intent: Option<&str>) -> String {
    let semantics = semantics_of(tool);
    let subject = (semantics.title)(arguments).filter(|title| !title.trim().is_empty());
    let title = match (intent, subject) {
        (Some(intent), _) => intent.to_string(),
        (None, Some(command)) if semantics.presentation.output == OutputView::Terminal => command,
        (None, Some(subject)) => format!("{tool} {subject}"),
        (None, None) => tool.to_string(),
    };
    let line = sinew::term::sanitize(title.lines().next().unwrap_or_default());
    match line.char_indices().nth(TITLE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.into_owned(),
    }
}

/// Returns the files that a call names, each with the line number if there is one.
pub(super) fn locations(cwd: &Path, tool: &str, arguments: &Value) -> Vec<acp::ToolCallLocation> {
    let files = (semantics_of(tool).subjects)(arguments).into_iter().filter_map(|subject| match subject {
        Subject::Path { path, line } if !path.contains("://") => Some((path, line)),
        _ => None,
    });
    files.map(|(path, line)| acp::ToolCallLocation::new(cwd.join(path)).line(line.and_then(to_line))).collect()
}

/// Converts a line number to the protocol's type; `None` if it is too large.
pub(super) fn to_line(line: u64) -> Option<u32> {
    u32::try_from(line).ok()
}

/// Converts the result of a call.
pub(super) fn content(blocks: &[Block], details: Option<&Value>, changes: &[FileChange]) -> Vec<acp::ToolCallContent> {
    let diff = diff_of(details);
    let mut shown: Vec<acp::ToolCallContent> = changes.iter().filter_map(whole_diff).collect();
    if let (true, Some(diff)) = (shown.is_empty(), diff) {
        shown.push(text(&format!("```diff\n{}\n```", diff.trim_end())));
    }
    shown.extend(blocks.iter().filter_map(|block| match block {
        Block::Text(block) if !block.text.is_empty() => Some(text(&block.text)),
        Block::Image(image) => {
            let image = acp::ImageContent::new(image.data.clone(), image.mime_type.clone());
            Some(acp::ToolCallContent::Content(acp::Content::new(acp::ContentBlock::Image(image))))
        }
        _ => None,
    }));
    shown
}

fn text(text: &str) -> acp::ToolCallContent {
    acp::ToolCallContent::Content(acp::Content::new(acp::ContentBlock::Text(acp::TextContent::new(text))))
}

fn whole_diff(change: &FileChange) -> Option<acp::ToolCallContent> {
    if change.new.len() > WHOLE || change.old.as_ref().is_some_and(|old| old.len() > WHOLE) {
        return None;
    }
    let new = std::str::from_utf8(&change.new).ok()?;
    let old = change.old.as_deref().map(std::str::from_utf8).transpose().ok()?;
    Some(acp::Diff::new(change.path.clone(), new).old_text(old.map(str::to_string)).into())
}

/// Converts the todo list to a plan. If there are several phases, each entry begins with the name of its phase.
pub(super) fn plan(phases: &Value) -> acp::Plan {
    let phases = phases.as_array().map(Vec::as_slice).unwrap_or_default();
    let entries = phases.iter().flat_map(|phase| {
        let name = phase["name"].as_str().unwrap_or_default();
        let tasks = phase["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
        tasks.iter().map(move |task| {
            let content = task["content"].as_str().unwrap_or_default();
            let content = match phases.len() > 1 {
                true => format!("{name}: {content}"),
                false => content.to_string(),
            };
            let status = match task["status"].as_str() {
                Some("in_progress") => acp::PlanEntryStatus::InProgress,
                Some("completed" | "abandoned") => acp::PlanEntryStatus::Completed,
                _ => acp::PlanEntryStatus::Pending,
            };
            acp::PlanEntry::new(content, acp::PlanEntryPriority::Medium, status)
        })
    });
    acp::Plan::new(entries.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_title(tool: &str, arguments: &Value, intent: Option<&str>, expect: &str) {
        assert_eq!(title(tool, arguments, intent), expect);
    }

    #[test]
    fn a_title_is_one_line_without_escapes() {
        check_title("bash", &json!({"command": "git push\nrm -rf x"}), None, "git push");
        check_title("read", &json!({"path": "a.rs"}), None, "read a.rs");
        check_title("grep", &json!({"pattern": "TODO", "path": "src"}), None, "grep TODO in src");
        check_title("todo", &json!({"ops": []}), None, "todo");
        check_title("bash", &Value::Null, Some("Look around"), "Look around");
        check_title("bash", &json!({"command": "echo \u{1b}]52;c;eA==\u{7}x"}), None, "echo x");
        let long = title("read", &json!({"path": "x".repeat(900)}), None);
        assert_eq!(long.chars().count(), TITLE + 1);
    }

    #[test]
    fn locations_are_absolute_and_have_line_numbers() {
        let places = |tool, arguments| {
            let places = locations(Path::new("/w"), tool, &arguments);
            places.into_iter().map(|place| (place.path, place.line)).collect::<Vec<_>>()
        };
        assert_eq!(places("read", json!({"path": "a/b", "offset": 7})), [(PathBuf::from("/w/a/b"), Some(7))]);
        assert_eq!(places("read", json!({"path": "a/b:7-9"})), [(PathBuf::from("/w/a/b"), Some(7))]);
        let patch = json!({"input": "@a.rs#0123abcd\ndelete 3\n@/x#new\ninsert start\n|@b#new"});
        assert_eq!(places("edit", patch), [(PathBuf::from("/w/a.rs"), None), (PathBuf::from("/x"), None)]);
        assert_eq!(places("read", json!({"path": "artifact://1"})), []);
        assert_eq!(places("bash", json!({"command": "ls"})), []);
    }

    #[test]
    fn changes_are_sent_as_two_texts_or_as_a_unified_diff() {
        let change = |new: Vec<u8>| FileChange { path: "/a".into(), old: Some(b"old".to_vec()), new };
        let details = json!({"diff": "-old\n+new\n"});
        let blocks = [Block::text("Applied.")];
        let shown = |new| serde_json::to_value(content(&blocks, Some(&details), &[change(new)])).unwrap();
        let small = shown(b"new".to_vec());
        assert_eq!(small[0], json!({"type": "diff", "path": "/a", "oldText": "old", "newText": "new"}));
        assert_eq!(small[1]["content"]["text"], "Applied.");
        for new in [vec![b'x'; WHOLE + 1], vec![0xff]] {
            assert_eq!(shown(new)[0]["content"]["text"], "```diff\n-old\n+new\n```");
        }
    }

    #[test]
    fn items_begin_with_the_name_of_their_phase() {
        let task = |content: &str, status: &str| json!({"content": content, "status": status});
        let one = json!([{"name": "A", "tasks": [task("x", "in_progress")]}]);
        let two =
            json!([{"name": "A", "tasks": [task("x", "completed")]}, {"name": "B", "tasks": [task("y", "pending")]}]);
        let shown = |phases: &Value| {
            let plan = plan(phases);
            plan.entries.into_iter().map(|entry| (entry.content, entry.status)).collect::<Vec<_>>()
        };
        use acp::PlanEntryStatus::{Completed, InProgress, Pending};
        assert_eq!(shown(&one), [("x".to_string(), InProgress)]);
        assert_eq!(shown(&two), [("A: x".to_string(), Completed), ("B: y".to_string(), Pending)]);
        assert_eq!(shown(&Value::Null), []);
    }
}
