//! Writes the page from its first line to its last.

use std::io::Write;

use sinew::base::{Error, Result};
use sinew_llm::message::{AgentMessage, Usage};
use sinew_session::clock;
use sinew_session::{Body, Entry, Session};

use super::Options;
use super::html_writer::HtmlWriter;
use super::layout::{TimePart, anchor, head, map, summary, time};
use super::message;
use super::outline::{EntryKind, Outline, Row, Section, outline};
use super::tool::{self, Answer};

/// Writes `session` as a page to `out`, which should be buffered.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(session: &Session, options: &Options<'_>, out: &mut dyn Write) -> Result<()> {
    let html = HtmlWriter::new(options.secrets);
    let outline = outline(session, &html)?;
    let title = session.title().filter(|title| !title.trim().is_empty());
    let title = html.line(&title.unwrap_or_else(|| first_words(&outline, session)));
    let mut page = Page { session, html, out, speaker: String::new() };
    head(&mut page.html, &title);
    map(&mut page.html, &outline);
    page.html.tag("<main id=\"top\">\n");
    summary(&mut page.html, session, &outline.totals, &title, options);
    page.flush()?;
    for section in &outline.sections {
        page.section(section)?;
    }
    if outline.sections.is_empty() {
        page.html.tag("<p class=\"note\">Nothing was said in this session.</p>\n");
    }
    page.html.tag("<footer>").text(options.made_by).tag("</footer>\n</main>\n</body>\n</html>\n");
    page.flush()
}

fn first_words(outline: &Outline<'_>, session: &Session) -> String {
    let mut rows = outline.sections.iter().flat_map(|section| &section.rows);
    let first = rows.find(|row| row.what == EntryKind::User && !row.words.is_empty());
    first.map_or_else(|| format!("Session {}", session.id()), |row| row.words.clone())
}

/// The page being written.
struct Page<'p> {
    session: &'p Session,
    html: HtmlWriter<'p>,
    out: &'p mut dyn Write,
    /// The model of the last answer, unless a user message follows it.
    speaker: String,
}

impl Page<'_> {
    fn flush(&mut self) -> Result<()> {
        let text = self.html.take();
        self.out.write_all(text.as_bytes()).map_err(|cause| Error::io("failed to write the page", &cause))
    }

    fn section(&mut self, section: &Section<'_>) -> Result<()> {
        let is_branch = section.depth > 0 && !section.is_aside();
        if is_branch {
            self.speaker.clear();
            let words = section.rows.iter().find(|row| !row.words.is_empty()).map_or("", |row| row.words.as_str());
            self.html.tag("<details class=\"branch\"><summary><b>Another branch</b> ").text(words);
            self.html.tag(" <span>").many(section.rows.len() as u64, "entry", "entries").tag("</span></summary>\n");
            if let Some(parent) = section.parent {
                self.html.tag("<p class=\"note\">Begins behind <a href=\"#").part(&anchor(parent)).tag("\">");
                self.html.text(parent).tag("</a></p>\n");
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
            self.html.tag("</details>\n");
        }
        self.flush()
    }

    /// Writes an entry, and the results in `behind` that belong to its calls. Returns the number of these results.
    fn entry(&mut self, row: &Row<'_>, behind: &[Row<'_>]) -> Result<usize> {
        let entry = match self.session.entry(row.id) {
            Ok(entry) => entry,
            Err(error) => {
                self.html.tag("<p class=\"alert\" id=\"").part(&anchor(row.id)).tag("\"><strong>Unreadable</strong> ");
                self.html.text(error.message()).tag("</p>\n");
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
        let Some(message) = self.message(entry) else { return Ok(0) };
        match message {
            AgentMessage::ToolResult(result) => {
                let answer = Answer { anchor: anchor(row.id), result };
                self.html.tag("<article class=\"it\">");
                tool::alone(&mut self.html, &answer);
                self.html.tag("</article>\n");
                Ok(0)
            }
            message => {
                let answers = self.answers(&message, behind);
                self.said(row, &message, &answers, stamp);
                Ok(answers.len())
            }
        }
    }

    /// Returns the message of an entry, with its images and without secrets; `None` if it is not a message.
    fn message(&self, entry: Entry) -> Option<AgentMessage> {
        let mut message = entry.into_message()?;
        self.session.restore_images(&mut message);
        self.html.hide_between(&mut message);
        Some(message)
    }

    /// Returns the results that directly follow an answer and belong to its calls.
    fn answers(&self, message: &AgentMessage, behind: &[Row<'_>]) -> Vec<Answer> {
        let AgentMessage::Assistant(answer) = message else { return Vec::new() };
        let mut open: Vec<&str> = answer.tool_calls().map(|call| call.id.as_str()).collect();
        open.sort_unstable();
        open.dedup();
        let mut found: Vec<Answer> = Vec::new();
        for row in behind.iter().take_while(|row| matches!(row.what, EntryKind::Result | EntryKind::FailedResult)) {
            let message = self.session.entry(row.id).ok().and_then(|entry| self.message(entry));
            let Some(AgentMessage::ToolResult(result)) = message else { break };
            // A second result of a call, or one of a missing call, is shown separately.
            let Ok(at) = open.binary_search(&result.tool_call_id.as_str()) else { break };
            open.remove(at);
            found.push(Answer { anchor: anchor(row.id), result });
        }
        found
    }

    fn said(&mut self, row: &Row<'_>, message: &AgentMessage, answers: &[Answer], stamp: Option<i64>) {
        let html = &mut self.html;
        html.tag(match message {
            AgentMessage::User(_) => "<article class=\"you\" id=\"",
            AgentMessage::Assistant(_) => "<article class=\"it\" id=\"",
            _ => "<article class=\"other\" id=\"",
        });
        let anchor = anchor(row.id);
        html.part(&anchor).tag("\">\n<header>");
        let mut speaker = String::new();
        match message {
            AgentMessage::User(_) => html.tag("<b>You</b>"),
            AgentMessage::Assistant(answer) => {
                speaker = format!("{}/{}", answer.provider, answer.model);
                if speaker != self.speaker {
                    html.tag("<b>").text(&answer.model).tag("</b>");
                }
                &mut *html
            }
            AgentMessage::BashExecution(_) => html.tag("<b>You ran</b>"),
            AgentMessage::FileMention(_) => html.tag("<b>Attached</b>"),
            AgentMessage::Custom(custom) => html.tag("<b>").text(&custom.custom_type).tag("</b>"),
            AgentMessage::BranchSummary(_) => html.tag("<b>Back from another branch</b>"),
            AgentMessage::CompactionSummary(_) | AgentMessage::ToolResult(_) => html.tag("<b>Summary</b>"),
        };
        self.speaker = speaker;
        label(html, row);
        html.tag("<span class=\"meta\">");
        if let AgentMessage::Assistant(answer) = message
            && answer.usage != Usage::default()
        {
            message::usage(html, &answer.usage);
        }
        link(html, &anchor, stamp);
        html.tag("</span></header>\n");
        message::message(html, message, answers);
        html.tag("</article>\n");
    }

    /// Writes an entry that is not a message.
    fn aside(&mut self, row: &Row<'_>, entry: &Entry) {
        let html = &mut self.html;
        if matches!(entry.body, Body::Compaction { .. }) {
            self.speaker.clear();
        }
        html.tag("<div class=\"aside\" id=\"").part(&anchor(row.id)).tag("\">");
        label(html, row);
        message::entry(html, &entry.body);
        html.tag("</div>\n");
    }
}

fn label(html: &mut HtmlWriter<'_>, row: &Row<'_>) {
    if let Some(label) = &row.label {
        html.tag("<b class=\"label\">").text(label).tag("</b>");
    }
}

/// Writes the time of an entry, as a link to it.
fn link(html: &mut HtmlWriter<'_>, anchor: &str, stamp: Option<i64>) {
    html.tag("<a class=\"here\" href=\"#").part(anchor).tag("\">");
    match stamp {
        Some(stamp) => time(html, stamp, TimePart::Clock),
        None => {
            html.tag("#");
        }
    }
    html.tag("</a>");
}
