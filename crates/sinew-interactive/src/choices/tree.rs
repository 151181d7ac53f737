//! The tree of a session as entries of a panel, with a filter.

use std::collections::HashMap;

use serde_json::Value;

use crate::choices::{Choice, Entries, first_line};
use crate::keys::TreeAction;
use crate::picker::Entry;

/// Which entries the panel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TreeFilter {
    /// Messages and calls.
    #[default]
    Default,
    /// The same without the results of tools.
    NoTools,
    /// The prompts of the user.
    UserOnly,
    /// Entries with a label.
    LabeledOnly,
    /// Every entry of the file.
    All,
}

impl TreeFilter {
    const EACH: [TreeFilter; 5] =
        [TreeFilter::Default, TreeFilter::NoTools, TreeFilter::UserOnly, TreeFilter::LabeledOnly, TreeFilter::All];

    /// Returns the filter that an action selects; `None` for actions that do not change the filter.
    pub(crate) fn after(self, action: TreeAction) -> Option<TreeFilter> {
        let by = |step: usize| {
            let at = TreeFilter::EACH.iter().position(|filter| *filter == self).unwrap_or(0);
            TreeFilter::EACH[(at + step) % TreeFilter::EACH.len()]
        };
        Some(match action {
            TreeAction::NextFilter => by(1),
            TreeAction::PreviousFilter => by(TreeFilter::EACH.len() - 1),
            TreeAction::Default => TreeFilter::Default,
            TreeAction::NoTools => TreeFilter::NoTools,
            TreeAction::UserOnly => TreeFilter::UserOnly,
            TreeAction::LabeledOnly => TreeFilter::LabeledOnly,
            TreeAction::All => TreeFilter::All,
            TreeAction::Label => return None,
        })
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            TreeFilter::Default => "Go to which entry of the session?",
            TreeFilter::NoTools => "Go to which entry? · without tool results",
            TreeFilter::UserOnly => "Go to which entry? · your prompts",
            TreeFilter::LabeledOnly => "Go to which entry? · those with a label",
            TreeFilter::All => "Go to which entry? · all of them",
        }
    }

    fn shows(self, entry: &Value, label: Option<&str>, is_leaf: bool) -> bool {
        let kind = entry["type"].as_str().unwrap_or_default();
        let role = entry["message"]["role"].as_str().unwrap_or_default();
        match self {
            TreeFilter::All => true,
            TreeFilter::LabeledOnly => label.is_some(),
            TreeFilter::UserOnly => role == "user",
            TreeFilter::NoTools if role == "toolResult" => false,
            TreeFilter::Default | TreeFilter::NoTools => match (kind, role) {
                // An answer without text, which only calls tools.
                ("message", "assistant") => {
                    is_leaf || entry["message"]["errorMessage"].is_string() || !words(entry).is_empty()
                }
                ("custom_message", _) => entry["display"] == true,
                ("message" | "compaction" | "branch_summary", _) => true,
                _ => is_leaf,
            },
        }
    }
}

/// Returns the entries of a session as a list, with branches indented.
pub(crate) fn places(entries: &[Value], leaf: Option<&str>, filter: TreeFilter) -> Entries {
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_string);
    let ids: Vec<String> = entries.iter().map(|entry| text(entry, "id").unwrap_or_default()).collect();
    let at: HashMap<&str, usize> = ids.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
    let parents: Vec<Option<usize>> =
        entries.iter().map(|entry| text(entry, "parentId").and_then(|id| at.get(id.as_str()).copied())).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); entries.len() + 1];
    for (child, parent) in parents.iter().enumerate() {
        children[parent.unwrap_or(entries.len())].push(child);
    }
    let labels = labels(entries);
    let mut path = vec![false; entries.len()];
    let mut next = leaf.and_then(|leaf| at.get(leaf).copied());
    while let Some(at) = next.filter(|at| !path[*at]) {
        path[at] = true;
        next = parents[at];
    }
    let mut out = Vec::new();
    let mut todo: Vec<(usize, usize)> = children[entries.len()].iter().rev().map(|child| (*child, 0)).collect();
    while let Some((at, depth)) = todo.pop() {
        let below = &children[at];
        // Entries such as labels do not count as branches.
        let branches = below.iter().filter(|child| !matches!(kind(&entries[**child]), "label" | "session_info"));
        let deeper = depth + usize::from(branches.count() > 1);
        todo.extend(below.iter().rev().map(|child| (*child, deeper)));
        let (entry, is_leaf) = (&entries[at], leaf == Some(ids[at].as_str()));
        let label = labels.get(ids[at].as_str()).copied();
        if !filter.shows(entry, label, is_leaf) {
            continue;
        }
        let mark = if path[at] { "●" } else { " " };
        let here = if is_leaf { "you are here " } else { "" };
        let label = label.map(|label| format!("#{label}")).unwrap_or_default();
        let name = format!("{mark} {}{}", "  ".repeat(depth), line(entry));
        out.push(Entry::new(name, format!("{here}{label}"), Choice::Place(ids[at].clone())));
    }
    out
}

/// Returns the label of an entry.
pub(crate) fn label_of<'a>(entries: &'a [Value], id: &str) -> Option<&'a str> {
    labels(entries).remove(id)
}

/// Returns the labels in force, by the ids of their entries: the last one is in force, and an empty text deletes it.
fn labels(entries: &[Value]) -> HashMap<&str, &str> {
    let mut labels = HashMap::new();
    for entry in entries.iter().filter(|entry| kind(entry) == "label") {
        match (entry["targetId"].as_str(), entry["label"].as_str().filter(|label| !label.is_empty())) {
            (Some(target), Some(label)) => drop(labels.insert(target, label)),
            (Some(target), None) => drop(labels.remove(target)),
            (None, _) => {}
        }
    }
    labels
}

fn kind(entry: &Value) -> &str {
    entry["type"].as_str().unwrap_or("unknown")
}

/// Returns the first line of a message's text.
fn words(entry: &Value) -> String {
    let content = if kind(entry) == "custom_message" { &entry["content"] } else { &entry["message"]["content"] };
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    first_line(&text)
}

/// Returns a line for a message; `None` for other entries.
pub(crate) fn said(entry: &Value) -> Option<String> {
    let is_said = matches!(entry["message"]["role"].as_str(), Some("user" | "assistant")) && !words(entry).is_empty();
    is_said.then(|| line(entry))
}

/// Returns a line for an entry; it is never empty.
fn line(entry: &Value) -> String {
    let message = &entry["message"];
    let text = |key: &str| first_line(entry[key].as_str().unwrap_or_default());
    let calls = || {
        let blocks = message["content"].as_array().into_iter().flatten();
        let names: Vec<&str> = blocks.filter_map(|block| block["name"].as_str()).collect();
        names.join(", ")
    };
    match (kind(entry), message["role"].as_str().unwrap_or_default()) {
        ("message", "user") => format!("› {}", words(entry)),
        ("message", "assistant") => match (words(entry), message["errorMessage"].as_str(), calls()) {
            (words, ..) if !words.is_empty() => format!("  {words}"),
            (_, Some(error), _) => format!("  ✗ {}", first_line(error)),
            (.., calls) if !calls.is_empty() => format!("  calls {calls}"),
            _ => "  empty answer".into(),
        },
        ("message", "toolResult") => {
            let tool = message["toolName"].as_str().unwrap_or("tool");
            format!("  {tool}: {}", words(entry))
        }
        ("message", "bashExecution") => format!("! {}", first_line(message["command"].as_str().unwrap_or_default())),
        ("message", role) => format!("  {role} {}", words(entry)),
        ("compaction", _) => format!("⋯ summary: {}", text("summary")),
        ("branch_summary", _) => format!("⋯ summary of a branch: {}", text("summary")),
        ("custom_message", _) => format!("⋯ {}: {}", text("customType"), words(entry)),
        ("model_change", _) => format!("⋯ model {}", text("model")),
        ("thinking_level_change", _) => format!("⋯ thinking {}", text("thinkingLevel")),
        ("label", _) => match text("label") {
            label if label.is_empty() => "⋯ label removed".into(),
            label => format!("⋯ label {label}"),
        },
        ("session_info", _) => format!("⋯ title {}", text("title")),
        (kind, _) => format!("⋯ {}", kind.replace('_', " ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_filter_shows_its_entries_and_no_row_is_empty() {
        let entry = |id: &str, parent: Option<&str>, rest: Value| {
            let mut entry = json!({"id": id, "parentId": parent});
            let rest = rest.as_object().unwrap().clone();
            entry.as_object_mut().unwrap().extend(rest);
            entry
        };
        let said =
            |role: &str, content: Value| json!({"type": "message", "message": {"role": role, "content": content}});
        let call = json!([{"type": "toolCall", "name": "read", "arguments": {}}]);
        let entries = [
            entry("1", None, json!({"type": "model_change", "model": "a/b"})),
            entry("2", Some("1"), said("user", json!("why?"))),
            entry("3", Some("2"), said("assistant", call.clone())),
            entry(
                "4",
                Some("3"),
                json!({"type": "message", "message": {"role": "toolResult", "toolName": "read", "content": [{"text": "x\ny"}]}}),
            ),
            entry("5", Some("4"), said("assistant", json!([{"text": "So."}]))),
            entry("6", Some("5"), json!({"type": "label", "targetId": "2", "label": "ask"})),
            entry("7", Some("5"), json!({"type": "label", "targetId": "5", "label": "end"})),
            entry("8", Some("5"), json!({"type": "label", "targetId": "5"})),
            entry("9", Some("5"), json!({"type": "something_new"})),
            entry("10", Some("5"), said("assistant", call)),
        ];
        let shown = |filter: TreeFilter| {
            let rows = places(&entries, Some("10"), filter);
            rows.into_iter().map(|entry| format!("{}|{}", entry.name, entry.text)).collect::<Vec<_>>()
        };
        assert_eq!(
            shown(TreeFilter::Default),
            ["● › why?|#ask", "●   read: x|", "●   So.|", "●     calls read|you are here "]
        );
        assert_eq!(shown(TreeFilter::NoTools), ["● › why?|#ask", "●   So.|", "●     calls read|you are here "]);
        assert_eq!(shown(TreeFilter::UserOnly), ["● › why?|#ask"]);
        assert_eq!(shown(TreeFilter::LabeledOnly), ["● › why?|#ask"]);
        let all = shown(TreeFilter::All);
        assert_eq!(all.len(), entries.len());
        assert!(all.iter().all(|row| row.trim_matches(['●', ' ', '|']).len() > 2), "{all:#?}");
        assert_eq!(label_of(&entries, "5"), None, "it was removed");
    }

    #[test]
    fn the_filters_follow_one_another_both_ways() {
        for filter in TreeFilter::EACH {
            let next = filter.after(TreeAction::NextFilter).unwrap();
            assert_ne!(next, filter);
            assert_eq!(next.after(TreeAction::PreviousFilter), Some(filter));
        }
        assert_eq!(TreeFilter::All.after(TreeAction::NextFilter), Some(TreeFilter::Default));
        assert_eq!(TreeFilter::All.after(TreeAction::Label), None);
    }

    #[test]
    fn the_tree_indents_branches_and_marks_the_path() {
        let message = |id: &str, parent: Option<&str>, role: &str, text: &str| json!({"type": "message", "id": id, "parentId": parent, "message": {"role": role, "content": text}});
        let entries = [
            json!({"type": "model_change", "id": "m", "parentId": null}),
            message("a", Some("m"), "user", "first\nmore"),
            message("b", Some("a"), "assistant", "answer"),
            message("c", Some("b"), "user", "one way"),
            message("d", Some("b"), "user", "another way"),
            json!({"type": "label", "id": "l", "parentId": "d", "targetId": "c", "label": "left"}),
        ];
        let tree = places(&entries, Some("d"), TreeFilter::Default);
        let lines: Vec<(&str, &str)> = tree.iter().map(|entry| (entry.name.as_str(), entry.text.as_str())).collect();
        assert_eq!(
            lines,
            [("● › first", ""), ("●   answer", ""), ("    › one way", "#left"), ("●   › another way", "you are here ")]
        );
        assert_eq!(tree[2].choice, Choice::Place("c".into()));
    }

    #[test]
    fn cycles_of_parents_are_handled() {
        let entries = [json!({"id": "1", "parentId": "2", "type": "message"}), json!({"id": "2", "parentId": "1"})];
        assert!(places(&entries, Some("1"), TreeFilter::All).is_empty());
    }
}
