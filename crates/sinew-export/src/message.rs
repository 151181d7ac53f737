//! Messages, and other entries.

use std::collections::HashMap;

use serde_json::Value;
use sinew_llm::message::{
    AgentMessage, AssistantMessage, BashExecution, Block, Content, FileMention, StopReason, Usage,
};
use sinew_session::Body;

use super::block::{block, json, picture, plain};
use super::code::{self, Fold};
use super::html_writer::HtmlWriter;
use super::markdown::markdown;
use super::tool::{self, Answer};

/// Writes a message. `answers` are the results of its calls.
pub(super) fn message(html: &mut HtmlWriter<'_>, message: &AgentMessage, answers: &[Answer]) {
    match message {
        AgentMessage::User(user) => content(html, &user.content, plain),
        AgentMessage::Assistant(answer) => assistant(html, answer, answers),
        // Results are shown with their calls; the page writes those without one.
        AgentMessage::ToolResult(result) => result.content.iter().for_each(|part| block(html, part, tool::lone_card)),
        AgentMessage::BashExecution(ran) => bash(html, ran),
        AgentMessage::Custom(custom) => content(html, &custom.content, markdown),
        AgentMessage::FileMention(mention) => files(html, mention),
        AgentMessage::BranchSummary(summary) => folded(html, "What was tried there", &summary.summary),
        AgentMessage::CompactionSummary(summary) => folded(html, "Summary", &summary.summary),
    }
}

fn assistant(html: &mut HtmlWriter<'_>, answer: &AssistantMessage, answers: &[Answer]) {
    let mut answers: HashMap<&str, &Answer> =
        answers.iter().map(|answer| (answer.result.tool_call_id.as_str(), answer)).collect();
    for part in &answer.content {
        match part {
            Block::Text(text) => {
                if !text.text.trim().is_empty() {
                    markdown(html, &text.text);
                }
            }
            Block::ToolCall(call) => {
                tool::card(html, call, answers.remove(call.id.as_str()));
            }
            other => block(html, other, tool::lone_card),
        }
    }
    let why = answer.error_message.as_deref().filter(|why| !why.trim().is_empty());
    match answer.stop_reason {
        StopReason::Error => {
            html.tag("<p class=\"alert\"><strong>Failed</strong> ").text(why.unwrap_or_default()).tag("</p>\n");
        }
        StopReason::Aborted => {
            html.tag("<p class=\"alert\"><strong>Stopped</strong> ").text(why.unwrap_or_default()).tag("</p>\n");
        }
        StopReason::Length => {
            html.tag("<p class=\"alert\"><strong>Cut</strong> The limit of output tokens was reached.</p>\n");
        }
        StopReason::Stop | StopReason::ToolUse => {}
    }
}

/// Writes the tokens of an answer and their cost.
pub(super) fn usage(html: &mut HtmlWriter<'_>, usage: &Usage) {
    html.tag("<span class=\"usage\">");
    html.count(usage.input).tag(" in");
    if usage.cache_read > 0 {
        html.tag(" · ").count(usage.cache_read).tag(" cached");
    }
    if usage.cache_write > 0 {
        html.tag(" · ").count(usage.cache_write).tag(" to cache");
    }
    html.tag(" · ").count(usage.output).tag(" out");
    if usage.cost.total > 0.0 {
        html.tag(" · ").dollars(usage.cost.total);
    }
    html.tag("</span>");
}

fn content(html: &mut HtmlWriter<'_>, content: &Content, write: fn(&mut HtmlWriter<'_>, &str)) {
    match content {
        Content::Text(text) => write(html, text),
        Content::Blocks(blocks) => {
            for part in blocks {
                match part {
                    Block::Text(text) => write(html, &text.text),
                    other => block(html, other, tool::lone_card),
                }
            }
        }
    }
}

fn bash(html: &mut HtmlWriter<'_>, ran: &BashExecution) {
    let failed = ran.exit_code.is_some_and(|code| code != 0);
    html.tag(if failed { "<section class=\"tool bad\">" } else { "<section class=\"tool\">" });
    html.tag("<header><code><span class=\"sign\">$ </span>");
    code::inline(html, &ran.command, "bash");
    html.tag("</code>");
    if ran.cancelled {
        html.tag(" <span class=\"state\">stopped</span>");
    }
    if let Some(code) = ran.exit_code.filter(|code| *code != 0) {
        html.tag(" <strong class=\"state\">exit ").text(&code.to_string()).tag("</strong>");
    }
    if ran.exclude_from_context == Some(true) {
        html.tag(" <span class=\"option\">not for the model</span>");
    }
    html.tag("</header>\n");
    if !ran.output.trim().is_empty() {
        code::block(html, &ran.output, "", Fold::Long);
    }
    if ran.truncated {
        html.tag("<p class=\"note\">Not all of the output");
        if let Some(path) = &ran.full_output_path {
            html.tag("; all of it was in ").text(path);
        }
        html.tag("</p>\n");
    }
    html.tag("</section>\n");
}

fn files(html: &mut HtmlWriter<'_>, mention: &FileMention) {
    for file in &mention.files {
        html.tag("<details class=\"file\"><summary><code>").text(&file.path).tag("</code> <span class=\"option\">");
        html.many(file.line_count, "line", "lines").tag("</span></summary>");
        match &file.image {
            Some(image) => picture(html, image),
            None => code::block(html, &file.content, code::extension(&file.path), Fold::Never),
        }
        html.tag("</details>\n");
    }
}

fn folded(html: &mut HtmlWriter<'_>, title: &'static str, text: &str) {
    html.tag("<details class=\"summary\"><summary>").tag(title).tag("</summary>");
    markdown(html, text);
    html.tag("</details>\n");
}

/// Writes an entry that is not a message.
pub(super) fn entry(html: &mut HtmlWriter<'_>, body: &Body) {
    match body {
        Body::Compaction { summary, tokens_before, details, .. } => {
            html.tag("<p class=\"rule\">Compacted");
            if *tokens_before > 0 {
                html.tag(" from ").count(*tokens_before).tag(" tokens");
            }
            html.tag("</p>\n");
            folded(html, "Summary", summary);
            named_files(html, details.as_ref());
        }
        Body::ThinkingLevelChange { thinking_level } => state(html, "Thinking", thinking_level),
        Body::ModelChange { model, role, .. } => match role.as_deref() {
            None | Some("default") => state(html, "Model", model),
            Some(role) => state(html, "Model", &format!("{model} as {role}")),
        },
        Body::ServiceTierChange { service_tier } => {
            state(html, "Service tier", service_tier.as_deref().unwrap_or("the provider's default"));
        }
        Body::Label { target_id, label } => match label {
            Some(label) => state(html, "Label", &format!("{label} on {target_id}")),
            None => state(html, "Label removed from", target_id),
        },
        Body::TtsrInjection { injected_rules } => state(html, "Rules added", &injected_rules.join(", ")),
        Body::ModeChange { mode, .. } => state(html, "Mode", mode),
        Body::McpToolSelection { selected_tool_names, .. } => state(html, "Tools", &selected_tool_names.join(", ")),
        Body::SessionInfo { title, .. } => state(html, "Title", title),
        Body::Prune { tool_call_ids, tokens, kept_bytes } => {
            html.tag("<p class=\"line\"><span>Shortened</span> ");
            html.many(tool_call_ids.len() as u64, "result", "results");
            html.tag(if kept_bytes.is_some() {
                " of tools are sent without their middle"
            } else {
                " of tools are sent without their text"
            });
            if *tokens > 0 {
                html.tag(", ").count(*tokens).tag(" tokens less");
            }
            html.tag("</p>\n");
        }
        Body::SessionInit { system_prompt, task, tools, output_schema } => {
            plain(html, task);
            state(html, "Tools", &tools.join(", "));
            folded(html, "System prompt", system_prompt);
            if let Some(schema) = output_schema {
                json(html, "Shape of the answer", schema);
            }
        }
        Body::Custom { custom_type, data } => {
            state(html, "State of", custom_type);
            json(html, "Data", data);
        }
        Body::Other(fields) => json(html, "Entry of an unknown type", &Value::Object(fields.clone())),
        // These became messages.
        Body::Message { .. } | Body::BranchSummary { .. } | Body::CustomMessage { .. } => {}
    }
}

fn state(html: &mut HtmlWriter<'_>, what: &'static str, value: &str) {
    html.tag("<p class=\"line\"><span>").tag(what).tag("</span> ").text(value).tag("</p>\n");
}

/// Writes the files that a summary refers to.
fn named_files(html: &mut HtmlWriter<'_>, details: Option<&Value>) {
    for (title, key) in [("Read", "readFiles"), ("Changed", "modifiedFiles")] {
        let names = details.and_then(|details| details.get(key)?.as_array());
        let names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
        if !names.is_empty() {
            state(html, title, &names.join(", "));
        }
    }
}
