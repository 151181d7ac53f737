//! Tool calls with their results.

use std::sync::Arc;

use serde_json::{Map, Value};
use sinew_llm::message::{Block, ToolCall, ToolResultMessage};
use sinew_tools::semantics::{OutputView, ProposedChange, Semantics, diff_of};
use sinew_tools::semantics_of;

use super::block::block;
use super::code::{self, Fold};
use super::html_writer::HtmlWriter;

/// Arguments up to this number of characters are written next to the subject.
const SHORT: usize = 60;

/// Returns a short description of a call's subject.
pub(super) fn subject(call: &ToolCall) -> String {
    let semantics = semantics_of(&call.name);
    let headline = call.arguments.get(semantics.headline).and_then(Value::as_str);
    headline.map_or_else(|| semantics.files(&call.arguments).join(", "), str::to_string)
}

/// A result, and the anchor of its entry.
pub(super) struct Answer {
    pub(super) anchor: String,
    pub(super) result: Arc<ToolResultMessage>,
}

/// Writes a call whose result is unknown.
pub(super) fn lone_card(html: &mut HtmlWriter<'_>, call: &ToolCall) {
    card(html, call, None);
}

/// Writes a call and its result.
pub(super) fn card(html: &mut HtmlWriter<'_>, call: &ToolCall, answer: Option<&Answer>) {
    let failed = answer.is_some_and(|answer| answer.result.is_error);
    html.tag(if failed { "<section class=\"tool bad\">" } else { "<section class=\"tool\">" });
    let no_arguments = Map::new();
    let arguments = call.arguments.as_object().unwrap_or(&no_arguments);
    let semantics = semantics_of(&call.name);
    let subject = subject(call);
    let shell = semantics.presentation.output == OutputView::Terminal;
    // A script of several lines gets a separate block.
    let script = shell && subject.trim_end().contains('\n');
    html.tag("<header><b>").text(&call.name).tag("</b>");
    if !subject.is_empty() && !script {
        html.tag(" <code>");
        if shell {
            html.tag("<span class=\"sign\">$ </span>");
            code::inline(html, subject.trim_end(), "bash");
        } else {
            html.text(&subject);
        }
        html.tag("</code>");
    }
    let shown = |name: &str, value: &Value| {
        (name == semantics.headline && value.is_string()) || semantics.change_arguments.contains(&name)
    };
    let rest: Map<String, Value> = arguments
        .iter()
        .filter(|(name, value)| !shown(name, value))
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
        code::block(html, &subject, "bash", Fold::Long);
    }
    changes(html, call, semantics, &subject, answer);
    if !beside {
        json(html, &Value::Object(rest));
    } else if !call.arguments.is_object() {
        json(html, &call.arguments);
    }
    if let Some(answer) = answer {
        // A file that was read is highlighted in its language.
        let language = semantics.shows_content().then(|| code::extension(&subject));
        outcome(html, answer, language);
    }
    html.tag("</section>\n");
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().take(SHORT + 1).count() <= SHORT && !text.contains('\n'),
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    }
}

/// Writes the changes of a call: those that the tool reports, otherwise those that the call proposes.
fn changes(html: &mut HtmlWriter<'_>, call: &ToolCall, semantics: &Semantics, file: &str, answer: Option<&Answer>) {
    let proposed = (semantics.changes)(&call.arguments);
    // New content is shown completely. The diff of an edit has context and line numbers.
    let is_whole = proposed.iter().any(|change| matches!(change, ProposedChange::Content(_)));
    let details = answer.and_then(|answer| answer.result.details.as_ref());
    if !proposed.is_empty()
        && !is_whole
        && let Some(diff) = diff_of(details)
    {
        code::diff(html, &diff);
        return;
    }
    for change in proposed {
        match change {
            ProposedChange::Content(content) => code::block(html, &content, code::extension(file), Fold::Long),
            ProposedChange::Replacement { old, new } => code::replaced(html, &old, &new),
            ProposedChange::Patch(patch) => code::block(html, &patch, "", Fold::Long),
            ProposedChange::Malformed(value) => json(html, &value),
        }
    }
}

fn json(html: &mut HtmlWriter<'_>, value: &Value) {
    code::block(html, &html.json(value), "json", Fold::Long);
}

/// Writes a result without an adjacent call.
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
