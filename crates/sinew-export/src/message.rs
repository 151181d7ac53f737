//! Messages, and entries that are none.

use std::collections::HashMap;

use serde_json::Value;
use sinew_llm::message::{
    AgentMessage, AssistantMessage, BashExecution, Block, Content, FileMention, StopReason, Usage,
};
use sinew_session::Body;

use super::block::{block, json, picture, plain};
use super::code::{self, Fold};
use super::markdown::markdown;
use super::pen::Pen;
use super::tool::{self, Answer};

/// Writes what a message says. `answers` are the results of its calls.
pub(super) fn message(pen: &mut Pen<'_>, message: &AgentMessage, answers: &[Answer]) {
    match message {
        AgentMessage::User(user) => content(pen, &user.content, plain),
        AgentMessage::Assistant(answer) => assistant(pen, answer, answers),
        // Results stand with their calls; one without is written by the page.
        AgentMessage::ToolResult(result) => result.content.iter().for_each(|part| block(pen, part, tool::lone_card)),
        AgentMessage::BashExecution(ran) => bash(pen, ran),
        AgentMessage::Custom(custom) => content(pen, &custom.content, markdown),
        AgentMessage::FileMention(mention) => files(pen, mention),
        AgentMessage::BranchSummary(summary) => folded(pen, "What was tried there", &summary.summary),
        AgentMessage::CompactionSummary(summary) => folded(pen, "Summary", &summary.summary),
    }
}

fn assistant(pen: &mut Pen<'_>, answer: &AssistantMessage, answers: &[Answer]) {
    let mut answers: HashMap<&str, &Answer> =
        answers.iter().map(|answer| (answer.result.tool_call_id.as_str(), answer)).collect();
    for part in &answer.content {
        match part {
            Block::Text(text) => {
                if !text.text.trim().is_empty() {
                    markdown(pen, &text.text);
                }
            }
            Block::ToolCall(call) => {
                tool::card(pen, call, answers.remove(call.id.as_str()));
            }
            other => block(pen, other, tool::lone_card),
        }
    }
    let why = answer.error_message.as_deref().filter(|why| !why.trim().is_empty());
    match answer.stop_reason {
        StopReason::Error => {
            pen.tag("<p class=\"alert\"><strong>Failed</strong> ").text(why.unwrap_or_default()).tag("</p>\n");
        }
        StopReason::Aborted => {
            pen.tag("<p class=\"alert\"><strong>Stopped</strong> ").text(why.unwrap_or_default()).tag("</p>\n");
        }
        StopReason::Length => {
            pen.tag("<p class=\"alert\"><strong>Cut</strong> The limit of output tokens was reached.</p>\n");
        }
        StopReason::Stop | StopReason::ToolUse => {}
    }
}

/// The tokens of an answer and what they cost.
pub(super) fn usage(pen: &mut Pen<'_>, usage: &Usage) {
    pen.tag("<span class=\"usage\">");
    pen.count(usage.input).tag(" in");
    if usage.cache_read > 0 {
        pen.tag(" · ").count(usage.cache_read).tag(" cached");
    }
    if usage.cache_write > 0 {
        pen.tag(" · ").count(usage.cache_write).tag(" to cache");
    }
    pen.tag(" · ").count(usage.output).tag(" out");
    if usage.cost.total > 0.0 {
        pen.tag(" · ").dollars(usage.cost.total);
    }
    pen.tag("</span>");
}

fn content(pen: &mut Pen<'_>, content: &Content, write: fn(&mut Pen<'_>, &str)) {
    match content {
        Content::Text(text) => write(pen, text),
        Content::Blocks(blocks) => {
            for part in blocks {
                match part {
                    Block::Text(text) => write(pen, &text.text),
                    other => block(pen, other, tool::lone_card),
                }
            }
        }
    }
}

fn bash(pen: &mut Pen<'_>, ran: &BashExecution) {
    let failed = ran.exit_code.is_some_and(|code| code != 0);
    pen.tag(if failed { "<section class=\"tool bad\">" } else { "<section class=\"tool\">" });
    pen.tag("<header><code><span class=\"sign\">$ </span>");
    code::inline(pen, &ran.command, "bash");
    pen.tag("</code>");
    if ran.cancelled {
        pen.tag(" <span class=\"state\">stopped</span>");
    }
    if let Some(code) = ran.exit_code.filter(|code| *code != 0) {
        pen.tag(" <strong class=\"state\">exit ").text(&code.to_string()).tag("</strong>");
    }
    if ran.exclude_from_context == Some(true) {
        pen.tag(" <span class=\"option\">not for the model</span>");
    }
    pen.tag("</header>\n");
    if !ran.output.trim().is_empty() {
        code::block(pen, &ran.output, "", Fold::Long);
    }
    if ran.truncated {
        pen.tag("<p class=\"note\">Not all of the output");
        if let Some(path) = &ran.full_output_path {
            pen.tag("; all of it was in ").text(path);
        }
        pen.tag("</p>\n");
    }
    pen.tag("</section>\n");
}

fn files(pen: &mut Pen<'_>, mention: &FileMention) {
    for file in &mention.files {
        pen.tag("<details class=\"file\"><summary><code>").text(&file.path).tag("</code> <span class=\"option\">");
        pen.many(file.line_count, "line", "lines").tag("</span></summary>");
        match &file.image {
            Some(image) => picture(pen, image),
            None => code::block(pen, &file.content, code::extension(&file.path), Fold::Never),
        }
        pen.tag("</details>\n");
    }
}

fn folded(pen: &mut Pen<'_>, title: &'static str, text: &str) {
    pen.tag("<details class=\"summary\"><summary>").tag(title).tag("</summary>");
    markdown(pen, text);
    pen.tag("</details>\n");
}

/// Writes an entry that is no message.
pub(super) fn entry(pen: &mut Pen<'_>, body: &Body) {
    match body {
        Body::Compaction { summary, tokens_before, details, .. } => {
            pen.tag("<p class=\"rule\">Compacted");
            if *tokens_before > 0 {
                pen.tag(" from ").count(*tokens_before).tag(" tokens");
            }
            pen.tag("</p>\n");
            folded(pen, "Summary", summary);
            named_files(pen, details.as_ref());
        }
        Body::ThinkingLevelChange { thinking_level } => state(pen, "Thinking", thinking_level),
        Body::ModelChange { model, role, .. } => match role.as_deref() {
            None | Some("default") => state(pen, "Model", model),
            Some(role) => state(pen, "Model", &format!("{model} as {role}")),
        },
        Body::ServiceTierChange { service_tier } => {
            state(pen, "Service tier", service_tier.as_deref().unwrap_or("the provider's default"));
        }
        Body::Label { target_id, label } => match label {
            Some(label) => state(pen, "Label", &format!("{label} on {target_id}")),
            None => state(pen, "Label removed from", target_id),
        },
        Body::TtsrInjection { injected_rules } => state(pen, "Rules added", &injected_rules.join(", ")),
        Body::ModeChange { mode, .. } => state(pen, "Mode", mode),
        Body::McpToolSelection { selected_tool_names } => state(pen, "Tools", &selected_tool_names.join(", ")),
        Body::SessionInfo { title, .. } => state(pen, "Title", title),
        Body::Prune { tool_call_ids, tokens } => {
            pen.tag("<p class=\"line\"><span>Shortened</span> ");
            pen.many(tool_call_ids.len() as u64, "result", "results").tag(" of tools are sent without their text");
            if *tokens > 0 {
                pen.tag(", ").count(*tokens).tag(" tokens less");
            }
            pen.tag("</p>\n");
        }
        Body::SessionInit { system_prompt, task, tools, output_schema } => {
            plain(pen, task);
            state(pen, "Tools", &tools.join(", "));
            folded(pen, "System prompt", system_prompt);
            if let Some(schema) = output_schema {
                json(pen, "Shape of the answer", schema);
            }
        }
        Body::Custom { custom_type, data } => {
            state(pen, "State of", custom_type);
            json(pen, "Data", data);
        }
        Body::Other(fields) => json(pen, "Entry of an unknown type", &Value::Object(fields.clone())),
        // These became messages.
        Body::Message { .. } | Body::BranchSummary { .. } | Body::CustomMessage { .. } => {}
    }
}

fn state(pen: &mut Pen<'_>, what: &'static str, value: &str) {
    pen.tag("<p class=\"line\"><span>").tag(what).tag("</span> ").text(value).tag("</p>\n");
}

/// The files that a summary was about.
fn named_files(pen: &mut Pen<'_>, details: Option<&Value>) {
    for (title, key) in [("Read", "readFiles"), ("Changed", "modifiedFiles")] {
        let names = details.and_then(|details| details.get(key)?.as_array());
        let names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
        if !names.is_empty() {
            state(pen, title, &names.join(", "));
        }
    }
}
