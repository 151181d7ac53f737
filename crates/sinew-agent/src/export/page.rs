//! The page from its first line to its last.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sinew::base::{Error, Result};
use sinew_llm::message::{AgentMessage, Usage};

use super::code::{self, Fold};
use super::markdown::markdown;
use super::message;
use super::pen::Pen;
use super::survey::{Row, Section, Survey, Totals, What, survey};
use super::tool::{self, Answer};
use super::{Options, Tool};
use crate::clock;
use crate::session::{Body, Entry, Session};

const STYLE: &str = include_str!("style.css");

/// Writes `session` as a page to `out`, which should be buffered.
///
/// # Errors
/// `out` refuses.
pub fn write(session: &Session, options: &Options<'_>, out: &mut dyn Write) -> Result<()> {
    let pen = Pen::new(options.secrets);
    let survey = survey(session, &pen)?;
    let title = session.title().filter(|title| !title.trim().is_empty());
    let title = pen.line(&title.unwrap_or_else(|| first_words(&survey, session)));
    let mut page = Page { session, pen, out, speaker: String::new() };
    head(&mut page.pen, &title);
    map(&mut page.pen, &survey);
    page.pen.tag("<main id=\"top\">\n");
    summary(&mut page.pen, session, &survey.totals, &title, options);
    page.flush()?;
    for section in &survey.sections {
        page.section(section)?;
    }
    if survey.sections.is_empty() {
        page.pen.tag("<p class=\"note\">Nothing was said in this session.</p>\n");
    }
    page.pen.tag("<footer>").text(options.made_by).tag("</footer>\n</main>\n</body>\n</html>\n");
    page.flush()
}

fn first_words(survey: &Survey<'_>, session: &Session) -> String {
    let mut rows = survey.sections.iter().flat_map(|section| &section.rows);
    let first = rows.find(|row| row.what == What::User && !row.words.is_empty());
    first.map_or_else(|| format!("Session {}", session.id()), |row| row.words.clone())
}

fn head(pen: &mut Pen<'_>, title: &str) {
    // The style is the only thing that the page may apply, told by its content.
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    pen.tag("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    pen.tag("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-");
    pen.part(&hash).tag("'; img-src data:; base-uri 'none'; form-action 'none'\">\n");
    pen.tag("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    pen.tag("<meta name=\"color-scheme\" content=\"light dark\">\n");
    pen.tag("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"robots\" content=\"noindex\">\n<title>");
    pen.text(title).tag("</title>\n<style>").tag(STYLE).tag("</style>\n</head>\n<body>\n");
    pen.tag("<a class=\"skip\" href=\"#top\">Skip to the conversation</a>\n");
}

/// The switches and the tree at the side.
fn map(pen: &mut Pen<'_>, survey: &Survey<'_>) {
    pen.tag(
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
    for section in survey.sections.iter().filter(|section| !section.is_aside()) {
        if section.depth > 0 {
            pen.tag(depth_row(section.depth)).tag("<span class=\"fork\">branch</span></li>\n");
        }
        for row in &section.rows {
            map_row(pen, row, section.depth);
        }
    }
    pen.tag("</ol>\n</nav>\n</aside>\n");
}

fn map_row(pen: &mut Pen<'_>, row: &Row<'_>, depth: usize) {
    if row.words.is_empty() && row.label.is_none() {
        return;
    }
    pen.tag(depth_row(depth)).tag(match row.what {
        What::User => "<a class=\"you\" href=\"#",
        What::Assistant => "<a class=\"it\" href=\"#",
        What::Failed => "<a class=\"it bad\" href=\"#",
        What::Result => "<a class=\"ran\" href=\"#",
        What::FailedResult => "<a class=\"ran bad\" href=\"#",
        What::Summary => "<a class=\"sum\" href=\"#",
        What::Other | What::Aside => "<a href=\"#",
    });
    pen.part(&anchor(row.id)).tag("\">");
    if let Some(label) = &row.label {
        pen.tag("<b class=\"label\">").text(label).tag("</b> ");
    }
    pen.text(&row.words).tag("</a></li>\n");
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

/// What the session is, at the top of the page.
fn summary(pen: &mut Pen<'_>, session: &Session, totals: &Totals, title: &str, options: &Options<'_>) {
    let header = session.header();
    pen.tag("<header class=\"session\">\n<h1>").text(title).tag("</h1>\n<dl>\n");
    fact(pen, "Session", session.id());
    fact(pen, "Folder", &header.cwd);
    if let Some(parent) = &header.parent_session {
        fact(pen, "Made from", parent);
    }
    if let Some(begun) = clock::from_iso(&header.timestamp) {
        pen.tag("<div><dt>Date</dt><dd>");
        time(pen, begun, Look::Date);
        if let Some(last) = totals.last.filter(|last| *last / DAY != begun / DAY) {
            pen.tag(" – ");
            time(pen, last, Look::Date);
        }
        pen.tag(" UTC</dd></div>\n");
    }
    if !totals.models.is_empty() {
        pen.tag("<div><dt>").tag(if totals.models.len() == 1 { "Model" } else { "Models" }).tag("</dt><dd>");
        for (at, (model, answers)) in totals.models.iter().enumerate() {
            pen.tag(if at > 0 { ", " } else { "" }).text(model);
            if totals.models.len() > 1 {
                pen.tag(" (").count(*answers).tag(")");
            }
        }
        pen.tag("</dd></div>\n");
    }
    if let Some(level) = &totals.thinking {
        fact(pen, "Thinking", level);
    }
    pen.tag("<div><dt>Messages</dt><dd>").many(totals.users, "prompt", "prompts").tag(", ");
    pen.many(totals.answers, "answer", "answers").tag(", ").many(totals.calls, "tool call", "tool calls");
    if totals.compactions > 0 {
        pen.tag(", ").many(totals.compactions, "compaction", "compactions");
    }
    pen.tag("</dd></div>\n");
    if totals.answers > 0 {
        pen.tag("<div><dt>Tokens</dt><dd>").count(totals.input).tag(" in, ").count(totals.output).tag(" out");
        if totals.cache_read > 0 {
            pen.tag(", ").count(totals.cache_read).tag(" cached");
        }
        if totals.cache_write > 0 {
            pen.tag(", ").count(totals.cache_write).tag(" to cache");
        }
        pen.tag("</dd></div>\n<div><dt>Cost</dt><dd>");
        match totals.cost > 0.0 {
            true => pen.dollars(totals.cost),
            false => pen.tag("not known"),
        };
        pen.tag("</dd></div>\n");
    }
    pen.tag("</dl>\n");
    if let Some(system) = options.system {
        pen.tag("<details><summary>System prompt</summary>");
        markdown(pen, system);
        pen.tag("</details>\n");
    }
    if !options.tools.is_empty() {
        pen.tag("<details><summary>").many(options.tools.len() as u64, "tool", "tools").tag("</summary>\n");
        options.tools.iter().for_each(|tool| described(pen, tool));
        pen.tag("</details>\n");
    }
    if options.system.is_none() && options.tools.is_empty() {
        pen.tag("<p class=\"note\">The system prompt and the tools are not part of a session's file.</p>\n");
    }
    pen.tag("</header>\n");
}

fn fact(pen: &mut Pen<'_>, name: &'static str, value: &str) {
    if !value.is_empty() {
        pen.tag("<div><dt>").tag(name).tag("</dt><dd>").text(value).tag("</dd></div>\n");
    }
}

fn described(pen: &mut Pen<'_>, tool: &Tool) {
    pen.tag("<section class=\"tool\"><header><b>").text(&tool.name).tag("</b></header>\n<div class=\"about\">");
    markdown(pen, &tool.description);
    pen.tag("</div>\n");
    if tool.parameters != Value::Null {
        let schema = pen.json(&tool.parameters);
        code::block(pen, &schema, "json", Fold::Long);
    }
    pen.tag("</section>\n");
}

const DAY: i64 = 24 * 60 * 60 * 1000;

enum Look {
    /// `2026-01-31`
    Date,
    /// `09:30`
    Clock,
}

fn time(pen: &mut Pen<'_>, at: i64, look: Look) {
    let iso = clock::iso(at);
    // `iso` is always of one shape, but for years that have more than four digits.
    let part = match look {
        Look::Date => iso.split('T').next(),
        Look::Clock => iso.split('T').nth(1).and_then(|clock| clock.get(..5)),
    };
    pen.tag("<time datetime=\"").part(&iso).tag("\" title=\"").part(&iso).tag("\">");
    pen.part(part.unwrap_or(&iso)).tag("</time>");
}

/// Names an entry within the page. Ids of our own stay readable; whatever else a file holds is hashed.
fn anchor(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !id.is_empty() && id.len() <= 64 && id.bytes().all(plain) {
        return format!("e-{id}");
    }
    let hex: String = Sha256::digest(id).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("h-{hex}")
}

/// The page while it is written.
struct Page<'p> {
    session: &'p Session,
    pen: Pen<'p>,
    out: &'p mut dyn Write,
    /// Which model spoke last, where nobody else has spoken since.
    speaker: String,
}

impl Page<'_> {
    fn flush(&mut self) -> Result<()> {
        let text = self.pen.take();
        self.out.write_all(text.as_bytes()).map_err(|cause| Error::io("failed to write the page", &cause))
    }

    fn section(&mut self, section: &Section<'_>) -> Result<()> {
        let is_branch = section.depth > 0 && !section.is_aside();
        if is_branch {
            self.speaker.clear();
            let words = section.rows.iter().find(|row| !row.words.is_empty()).map_or("", |row| row.words.as_str());
            self.pen.tag("<details class=\"branch\"><summary><b>Another branch</b> ").text(words);
            self.pen.tag(" <span>").many(section.rows.len() as u64, "entry", "entries").tag("</span></summary>\n");
            if let Some(parent) = section.parent {
                self.pen.tag("<p class=\"note\">Begins behind <a href=\"#").part(&anchor(parent)).tag("\">");
                self.pen.text(parent).tag("</a></p>\n");
            }
        }
        let mut at = 0;
        while let Some(row) = section.rows.get(at) {
            let behind = &section.rows[at + 1..];
            at += 1 + self.entry(row, behind)?;
            self.flush()?;
        }
        if is_branch {
            self.speaker.clear();
            self.pen.tag("</details>\n");
        }
        self.flush()
    }

    /// Writes an entry, and the results `behind` it that belong to its calls. Gives how many these were.
    fn entry(&mut self, row: &Row<'_>, behind: &[Row<'_>]) -> Result<usize> {
        let entry = match self.session.entry(row.id) {
            Ok(entry) => entry,
            Err(error) => {
                self.pen.tag("<p class=\"alert\" id=\"").part(&anchor(row.id)).tag("\"><strong>Unreadable</strong> ");
                self.pen.text(error.message()).tag("</p>\n");
                return Ok(0);
            }
        };
        let speaks =
            matches!(entry.body, Body::Message { .. } | Body::BranchSummary { .. } | Body::CustomMessage { .. });
        if !speaks {
            self.aside(row, &entry);
            return Ok(0);
        }
        let stamp = clock::from_iso(&entry.timestamp);
        let Some(mut message) = entry.into_message() else { return Ok(0) };
        self.session.restore_images(&mut message);
        match message {
            AgentMessage::ToolResult(result) => {
                let answer = Answer { anchor: anchor(row.id), result };
                self.pen.tag("<article class=\"it\">");
                tool::alone(&mut self.pen, &answer);
                self.pen.tag("</article>\n");
                Ok(0)
            }
            message => {
                let answers = self.answers(&message, behind);
                self.said(row, &message, &answers, stamp);
                Ok(answers.len())
            }
        }
    }

    /// The results that follow an answer directly and belong to its calls.
    fn answers(&self, message: &AgentMessage, behind: &[Row<'_>]) -> Vec<Answer> {
        let AgentMessage::Assistant(answer) = message else { return Vec::new() };
        let mut open: Vec<&str> = answer.tool_calls().map(|call| call.id.as_str()).collect();
        open.sort_unstable();
        open.dedup();
        let mut found: Vec<Answer> = Vec::new();
        for row in behind.iter().take_while(|row| matches!(row.what, What::Result | What::FailedResult)) {
            let Some(mut message) = self.session.entry(row.id).ok().and_then(Entry::into_message) else { break };
            self.session.restore_images(&mut message);
            let AgentMessage::ToolResult(result) = message else { break };
            // A second result of a call, or one of a call that is not here, stands alone.
            let Ok(at) = open.binary_search(&result.tool_call_id.as_str()) else { break };
            open.remove(at);
            found.push(Answer { anchor: anchor(row.id), result });
        }
        found
    }

    fn said(&mut self, row: &Row<'_>, message: &AgentMessage, answers: &[Answer], stamp: Option<i64>) {
        let pen = &mut self.pen;
        pen.tag(match message {
            AgentMessage::User(_) => "<article class=\"you\" id=\"",
            AgentMessage::Assistant(_) => "<article class=\"it\" id=\"",
            _ => "<article class=\"other\" id=\"",
        });
        let anchor = anchor(row.id);
        pen.part(&anchor).tag("\">\n<header>");
        let mut speaker = String::new();
        match message {
            AgentMessage::User(_) => pen.tag("<b>You</b>"),
            AgentMessage::Assistant(answer) => {
                speaker = format!("{}/{}", answer.provider, answer.model);
                if speaker != self.speaker {
                    pen.tag("<b>").text(&answer.model).tag("</b>");
                }
                &mut *pen
            }
            AgentMessage::BashExecution(_) => pen.tag("<b>You ran</b>"),
            AgentMessage::FileMention(_) => pen.tag("<b>Attached</b>"),
            AgentMessage::Custom(custom) => pen.tag("<b>").text(&custom.custom_type).tag("</b>"),
            AgentMessage::BranchSummary(_) => pen.tag("<b>Back from another branch</b>"),
            AgentMessage::CompactionSummary(_) | AgentMessage::ToolResult(_) => pen.tag("<b>Summary</b>"),
        };
        self.speaker = speaker;
        label(pen, row);
        pen.tag("<span class=\"meta\">");
        if let AgentMessage::Assistant(answer) = message
            && answer.usage != Usage::default()
        {
            message::usage(pen, &answer.usage);
        }
        link(pen, &anchor, stamp);
        pen.tag("</span></header>\n");
        message::message(pen, message, answers);
        pen.tag("</article>\n");
    }

    /// Writes an entry that is no message.
    fn aside(&mut self, row: &Row<'_>, entry: &Entry) {
        let pen = &mut self.pen;
        if matches!(entry.body, Body::Compaction { .. }) {
            self.speaker.clear();
        }
        pen.tag("<div class=\"aside\" id=\"").part(&anchor(row.id)).tag("\">");
        label(pen, row);
        message::entry(pen, &entry.body);
        pen.tag("</div>\n");
    }
}

fn label(pen: &mut Pen<'_>, row: &Row<'_>) {
    if let Some(label) = &row.label {
        pen.tag("<b class=\"label\">").text(label).tag("</b>");
    }
}

/// The time of an entry, as a link to it.
fn link(pen: &mut Pen<'_>, anchor: &str, stamp: Option<i64>) {
    pen.tag("<a class=\"here\" href=\"#").part(anchor).tag("\">");
    match stamp {
        Some(stamp) => time(pen, stamp, Look::Clock),
        None => {
            pen.tag("#");
        }
    }
    pen.tag("</a>");
}
