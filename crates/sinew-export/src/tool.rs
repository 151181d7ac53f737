//! Calls of tools with what they answered.

use std::sync::Arc;

use serde_json::{Map, Value};
use sinew_llm::message::{Block, ToolCall, ToolResultMessage};

use super::block::block;
use super::code::{self, Fold};
use super::html_writer::HtmlWriter;

/// The argument that names the object of a call, by tool.
const SUBJECTS: [(&str, &str); 10] = [
    ("bash", "command"),
    ("edit", "path"),
    ("fetch", "url"),
    ("find", "pattern"),
    ("glob", "pattern"),
    ("grep", "pattern"),
    ("ls", "path"),
    ("read", "path"),
    ("task", "agent"),
    ("write", "path"),
];
/// Arguments up to this many characters stand beside the subject.
const SHORT: usize = 60;

/// Returns the object of a call in a few words.
pub(super) fn subject(call: &ToolCall) -> String {
    let subject = subject_key(&call.name).and_then(|key| call.arguments.get(key)?.as_str());
    subject.unwrap_or_default().to_string()
}

fn subject_key(tool: &str) -> Option<&'static str> {
    SUBJECTS.iter().find(|(name, _)| *name == tool).map(|(_, key)| *key)
}

/// A result, and the anchor of its entry.
pub(super) struct Answer {
    pub(super) anchor: String,
    pub(super) result: Arc<ToolResultMessage>,
}

/// Writes a call whose result is not known.
pub(super) fn lone_card(html: &mut HtmlWriter<'_>, call: &ToolCall) {
    card(html, call, None);
}

/// Writes a call and what came of it.
pub(super) fn card(html: &mut HtmlWriter<'_>, call: &ToolCall, answer: Option<&Answer>) {
    let failed = answer.is_some_and(|answer| answer.result.is_error);
    html.tag(if failed { "<section class=\"tool bad\">" } else { "<section class=\"tool\">" });
    let no_arguments = Map::new();
    let arguments = call.arguments.as_object().unwrap_or(&no_arguments);
    let key = subject_key(&call.name);
    let subject = key.and_then(|key| arguments.get(key)?.as_str()).unwrap_or_default();
    let shell = call.name == "bash";
    // A script of several lines gets a block of its own.
    let script = shell && subject.trim_end().contains('\n');
    html.tag("<header><b>").text(&call.name).tag("</b>");
    if !subject.is_empty() && !script {
        html.tag(" <code>");
        if shell {
            html.tag("<span class=\"sign\">$ </span>");
            code::inline(html, subject.trim_end(), "bash");
        } else {
            html.text(subject);
        }
        html.tag("</code>");
    }
    let used = shown_apart(&call.name);
    let rest: Map<String, Value> = arguments
        .iter()
        .filter(|(name, value)| !((Some(name.as_str()) == key && value.is_string()) || used.contains(&name.as_str())))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let beside = rest.values().all(is_short);
    if beside {
        for (name, value) in &rest {
            html.tag(" <span class=\"option\">").text(name).tag(" ");
            match value {
                Value::String(text) => html.text(text),
                value => html.text(&value.to_string()),
            };
            html.tag("</span>");
        }
    }
    match answer {
        Some(_) if failed => html.tag(" <strong class=\"state\">failed</strong>"),
        Some(_) => html,
        None => html.tag(" <span class=\"state\">no result</span>"),
    };
    html.tag("</header>\n");
    if script {
        code::block(html, subject, "bash", Fold::Long);
    }
    body(html, call, arguments, answer);
    if !beside {
        json(html, &Value::Object(rest));
    } else if !call.arguments.is_object() {
        json(html, &call.arguments);
    }
    if let Some(answer) = answer {
        // A file that was read is shown as what it is.
        let language = (call.name == "read").then(|| code::extension(subject));
        outcome(html, answer, language);
    }
    html.tag("</section>\n");
}

/// Arguments that [`body`] shows.
fn shown_apart(tool: &str) -> &'static [&'static str] {
    match tool {
        "edit" => &["oldText", "newText", "edits", "input"],
        "write" => &["content"],
        _ => &[],
    }
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().take(SHORT + 1).count() <= SHORT && !text.contains('\n'),
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    }
}

/// Writes the changes of a call.
fn body(html: &mut HtmlWriter<'_>, call: &ToolCall, arguments: &Map<String, Value>, answer: Option<&Answer>) {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match call.name.as_str() {
        "write" => match (text("content"), arguments.get("content")) {
            (Some(content), _) => {
                code::block(html, content, code::extension(text("path").unwrap_or_default()), Fold::Long);
            }
            (None, Some(other)) => json(html, other),
            (None, None) => {}
        },
        "edit" => {
            // What the tool says it has changed has context and the place in the file.
            let details = answer.and_then(|answer| answer.result.details.as_ref());
            if let Some(diff) = details.and_then(|details| details.get("diff")?.as_str()) {
                code::diff(html, diff);
                return;
            }
            if let (Some(old), Some(new)) = (text("oldText"), text("newText")) {
                code::replaced(html, old, new);
            }
            if let Some(input) = text("input") {
                code::block(html, input, "", Fold::Long);
            }
            match arguments.get("edits") {
                Some(Value::Array(edits)) => edits.iter().for_each(|edit| one_edit(html, edit)),
                Some(other) => json(html, other),
                None => {}
            }
        }
        _ => {}
    }
}

fn one_edit(html: &mut HtmlWriter<'_>, edit: &Value) {
    let text = |name: &str| edit.get(name).and_then(Value::as_str);
    match (text("oldText"), text("newText")) {
        (Some(old), Some(new)) => code::replaced(html, old, new),
        _ => json(html, edit),
    }
}

fn json(html: &mut HtmlWriter<'_>, value: &Value) {
    code::block(html, &html.json(value), "json", Fold::Long);
}

/// A result whose call is not beside it.
pub(super) fn alone(html: &mut HtmlWriter<'_>, answer: &Answer) {
    html.tag(if answer.result.is_error { "<section class=\"tool bad\">" } else { "<section class=\"tool\">" });
    html.tag("<header><b>").text(&answer.result.tool_name).tag("</b> <span class=\"state\">result</span></header>\n");
    outcome(html, answer, None);
    html.tag("</section>\n");
}

fn outcome(html: &mut HtmlWriter<'_>, answer: &Answer, numbered: Option<&str>) {
    html.tag("<div class=\"outcome\" id=\"").text(&answer.anchor).tag("\">");
    for part in &answer.result.content {
        match part {
            Block::Text(text) if text.text.trim().is_empty() => {}
            Block::Text(text) => match numbered.filter(|_| !answer.result.is_error) {
                Some(language) => code::numbered(html, &text.text, language, Fold::Long),
                None => code::block(html, &text.text, "", Fold::Long),
            },
            other => block(html, other, lone_card),
        }
    }
    html.tag("</div>\n");
}
