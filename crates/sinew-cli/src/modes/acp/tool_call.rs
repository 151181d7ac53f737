//! Calls of tools as an editor shows them: kind, title, places in files, results.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1 as acp;
use serde_json::Value;
use sinew_llm::message::Block;

/// Characters of a title at most.
const TITLE: usize = 200;
/// Bytes of a file's old and new text that go as a whole; a change of a larger file goes as a unified diff.
const WHOLE: usize = 1_000_000;

/// A change that a tool made to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileChange {
    pub(super) path: PathBuf,
    /// None: the file is new.
    pub(super) old: Option<Vec<u8>>,
    pub(super) new: Vec<u8>,
}

/// The kind of a tool, by which an editor chooses a picture.
pub(super) fn kind(tool: &str) -> acp::ToolKind {
    use acp::ToolKind::{Edit, Execute, Fetch, Other, Read, Search, Think};
    match tool {
        "read" | "ls" => Read,
        "edit" | "write" | "undo_edit" | "undo" => Edit,
        "grep" | "find" | "tool_search" => Search,
        "bash" | "job" => Execute,
        "fetch" | "web_search" => Fetch,
        "todo" => Think,
        _ => Other,
    }
}

/// The title of a call: what it is about, in one line.
pub(super) fn title(tool: &str, arguments: &Value, intent: Option<&str>) -> String {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let title = match intent {
        Some(intent) => intent.to_string(),
        None => match (tool, text("command")) {
            ("bash", Some(command)) => command.to_string(),
            _ => match ["pattern", "path", "query", "url"].into_iter().find_map(text) {
                Some(subject) => format!("{tool} {subject}"),
                None => tool.to_string(),
            },
        },
    };
    let line = sinew::term::sanitize(title.lines().next().unwrap_or_default());
    match line.char_indices().nth(TITLE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.into_owned(),
    }
}

/// The file that a call is about, and the line in it.
pub(super) fn locations(cwd: &Path, arguments: &Value, details: Option<&Value>) -> Vec<acp::ToolCallLocation> {
    let Some(path) = arguments.get("path").and_then(Value::as_str) else { return Vec::new() };
    if path.is_empty() || path.contains("://") {
        return Vec::new();
    }
    let number = |value: Option<&Value>| value.and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
    let changed = number(details.and_then(|details| details.get("firstChangedLine")));
    let line = changed.or_else(|| number(arguments.get("offset")));
    vec![acp::ToolCallLocation::new(cwd.join(path)).line(line)]
}

/// The result of a call, as an editor shows it.
pub(super) fn content(blocks: &[Block], details: Option<&Value>, changes: &[FileChange]) -> Vec<acp::ToolCallContent> {
    let diff = details.and_then(|details| details.get("diff")).and_then(Value::as_str);
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

/// The plan that a list of tasks is. Names of phases stand in front where there are several.
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
        check_title("grep", &json!({"pattern": "TODO", "path": "src"}), None, "grep TODO");
        check_title("todo", &json!({"ops": []}), None, "todo");
        check_title("bash", &Value::Null, Some("Look around"), "Look around");
        check_title("bash", &json!({"command": "echo \u{1b}]52;c;eA==\u{7}x"}), None, "echo x");
        let long = title("read", &json!({"path": "x".repeat(900)}), None);
        assert_eq!(long.chars().count(), TITLE + 1);
    }

    #[test]
    fn a_place_is_absolute_and_has_its_line() {
        let places = |arguments, details| {
            let places = locations(Path::new("/w"), &arguments, details);
            places.into_iter().map(|place| (place.path, place.line)).collect::<Vec<_>>()
        };
        assert_eq!(places(json!({"path": "a/b", "offset": 7}), None), [(PathBuf::from("/w/a/b"), Some(7))]);
        let details = json!({"firstChangedLine": 3});
        assert_eq!(places(json!({"path": "/x"}), Some(&details)), [(PathBuf::from("/x"), Some(3))]);
        assert_eq!(places(json!({"path": "artifact://1"}), None), []);
        assert_eq!(places(json!({"command": "ls"}), None), []);
    }

    #[test]
    fn a_change_goes_as_two_texts_unless_it_is_too_large_or_no_text() {
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
    fn phases_of_a_list_stand_in_front_of_its_items() {
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
