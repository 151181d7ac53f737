//! The parts of the page around the conversation: header, map and session summary.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sinew_session::Session;
use sinew_session::clock;

use super::code::{self, Fold};
use super::html_writer::HtmlWriter;
use super::markdown::markdown;
use super::outline::{EntryKind, Outline, Row, Totals};
use super::{Options, Tool};

const STYLE: &str = include_str!("style.css");

/// Writes everything before the body.
pub(super) fn head(html: &mut HtmlWriter<'_>, title: &str) {
    // The page may only apply this style, identified by its hash.
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    html.tag("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.tag("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-");
    html.part(&hash).tag("'; img-src data:; base-uri 'none'; form-action 'none'\">\n");
    html.tag("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.tag("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.tag("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"robots\" content=\"noindex\">\n<title>");
    html.text(title).tag("</title>\n<style>").tag(STYLE).tag("</style>\n</head>\n<body>\n");
    html.tag("<a class=\"skip\" href=\"#top\">Skip to the conversation</a>\n");
}

/// Writes the switches and the tree at the side.
pub(super) fn map(html: &mut HtmlWriter<'_>, outline: &Outline<'_>) {
    html.tag(
        "<input class=\"off\" type=\"checkbox\" id=\"map-on\">\n\
         <label class=\"opener\" for=\"map-on\">Contents</label>\n<aside>\n<div class=\"switches\">\n\
         <fieldset class=\"theme\"><legend>Colours</legend>\
         <label><input type=\"radio\" name=\"theme\" id=\"theme-auto\" checked>Auto</label>\
         <label><input type=\"radio\" name=\"theme\" id=\"theme-light\">Light</label>\
         <label><input type=\"radio\" name=\"theme\" id=\"theme-dark\">Dark</label></fieldset>\n\
         <fieldset class=\"show\"><legend>Show</legend>\
         <label><input type=\"checkbox\" id=\"show-tools\" checked>Tools</label>\
         <label><input type=\"checkbox\" id=\"show-thinking\" checked>Thinking</label></fieldset>\n</div>\n\
         <nav aria-label=\"Contents\">\n<ol>\n",
    );
    for section in outline.sections.iter().filter(|section| !section.is_aside()) {
        if section.depth > 0 {
            html.tag(depth_row(section.depth)).tag("<span class=\"fork\">branch</span></li>\n");
        }
        for row in &section.rows {
            map_row(html, row, section.depth);
        }
    }
    html.tag("</ol>\n</nav>\n</aside>\n");
}

fn map_row(html: &mut HtmlWriter<'_>, row: &Row<'_>, depth: usize) {
    if row.words.is_empty() && row.label.is_none() {
        return;
    }
    html.tag(depth_row(depth)).tag(match row.what {
        EntryKind::User => "<a class=\"you\" href=\"#",
        EntryKind::Assistant => "<a class=\"it\" href=\"#",
        EntryKind::Failed => "<a class=\"it bad\" href=\"#",
        EntryKind::Result => "<a class=\"ran\" href=\"#",
        EntryKind::FailedResult => "<a class=\"ran bad\" href=\"#",
        EntryKind::Summary => "<a class=\"sum\" href=\"#",
        EntryKind::Other | EntryKind::Aside => "<a href=\"#",
    });
    html.part(&anchor(row.id)).tag("\">");
    if let Some(label) = &row.label {
        html.tag("<b class=\"label\">").text(label).tag("</b> ");
    }
    html.text(&row.words).tag("</a></li>\n");
}

fn depth_row(depth: usize) -> &'static str {
    match depth {
        0 => "<li>",
        1 => "<li class=\"d1\">",
        2 => "<li class=\"d2\">",
        3 => "<li class=\"d3\">",
        _ => "<li class=\"d4\">",
    }
}

/// Writes the session summary at the top of the page.
pub(super) fn summary(
    html: &mut HtmlWriter<'_>,
    session: &Session,
    totals: &Totals,
    title: &str,
    options: &Options<'_>,
) {
    let header = session.header();
    html.tag("<header class=\"session\">\n<h1>").text(title).tag("</h1>\n<dl>\n");
    fact(html, "Session", session.id());
    fact(html, "Folder", &header.cwd);
    if let Some(parent) = &header.parent_session {
        fact(html, "Made from", parent);
    }
    if let Some(begun) = clock::from_iso(&header.timestamp) {
        html.tag("<div><dt>Date</dt><dd>");
        time(html, begun, TimePart::Date);
        if let Some(last) = totals.last.filter(|last| *last / DAY != begun / DAY) {
            html.tag(" – ");
            time(html, last, TimePart::Date);
        }
        html.tag(" UTC</dd></div>\n");
    }
    if !totals.models.is_empty() {
        html.tag("<div><dt>").tag(if totals.models.len() == 1 { "Model" } else { "Models" }).tag("</dt><dd>");
        for (at, (model, answers)) in totals.models.iter().enumerate() {
            html.tag(if at > 0 { ", " } else { "" }).text(model);
            if totals.models.len() > 1 {
                html.tag(" (").count(*answers).tag(")");
            }
        }
        html.tag("</dd></div>\n");
    }
    if let Some(level) = &totals.thinking {
        fact(html, "Thinking", level);
    }
    html.tag("<div><dt>Messages</dt><dd>").many(totals.users, "prompt", "prompts").tag(", ");
    html.many(totals.answers, "answer", "answers").tag(", ").many(totals.calls, "tool call", "tool calls");
    if totals.compactions > 0 {
        html.tag(", ").many(totals.compactions, "compaction", "compactions");
    }
    html.tag("</dd></div>\n");
    if totals.answers > 0 {
        html.tag("<div><dt>Tokens</dt><dd>").count(totals.input).tag(" in, ").count(totals.output).tag(" out");
        if totals.cache_read > 0 {
            html.tag(", ").count(totals.cache_read).tag(" cached");
        }
        if totals.cache_write > 0 {
            html.tag(", ").count(totals.cache_write).tag(" to cache");
        }
        html.tag("</dd></div>\n<div><dt>Cost</dt><dd>");
        match totals.cost > 0.0 {
            true => html.dollars(totals.cost),
            false => html.tag("not known"),
        };
        html.tag("</dd></div>\n");
    }
    html.tag("</dl>\n");
    if let Some(system) = options.system {
        html.tag("<details><summary>System prompt</summary>");
        markdown(html, system);
        html.tag("</details>\n");
    }
    if !options.tools.is_empty() {
        html.tag("<details><summary>").many(options.tools.len() as u64, "tool", "tools").tag("</summary>\n");
        options.tools.iter().for_each(|tool| described(html, tool));
        html.tag("</details>\n");
    }
    if options.system.is_none() && options.tools.is_empty() {
        html.tag("<p class=\"note\">The system prompt and the tools are not part of a session's file.</p>\n");
    }
    html.tag("</header>\n");
}

fn fact(html: &mut HtmlWriter<'_>, name: &'static str, value: &str) {
    if !value.is_empty() {
        html.tag("<div><dt>").tag(name).tag("</dt><dd>").text(value).tag("</dd></div>\n");
    }
}

fn described(html: &mut HtmlWriter<'_>, tool: &Tool) {
    html.tag("<section class=\"tool\"><header><b>").text(&tool.name).tag("</b></header>\n<div class=\"about\">");
    markdown(html, &tool.description);
    html.tag("</div>\n");
    if tool.parameters != Value::Null {
        let schema = html.json(&tool.parameters);
        code::block(html, &schema, "json", Fold::Long);
    }
    html.tag("</section>\n");
}

const DAY: i64 = 24 * 60 * 60 * 1000;

/// The part of a time that is shown.
pub(super) enum TimePart {
    /// `2026-01-31`
    Date,
    /// `09:30`
    Clock,
}

/// Writes a time that programs can parse too.
pub(super) fn time(html: &mut HtmlWriter<'_>, at: i64, look: TimePart) {
    let iso = clock::iso(at);
    // `iso` always has the same form, except for years with more than four digits.
    let part = match look {
        TimePart::Date => iso.split('T').next(),
        TimePart::Clock => iso.split('T').nth(1).and_then(|clock| clock.get(..5)),
    };
    html.tag("<time datetime=\"").part(&iso).tag("\" title=\"").part(&iso).tag("\">");
    html.part(part.unwrap_or(&iso)).tag("</time>");
}

/// Returns the anchor of an entry. Sinew's ids are readable; any other content of a file is hashed.
pub(super) fn anchor(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !id.is_empty() && id.len() <= 64 && id.bytes().all(plain) {
        return format!("e-{id}");
    }
    let hex: String = Sha256::digest(id).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("h-{hex}")
}
