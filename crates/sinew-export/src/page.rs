//! The page from its first line to its last.

use std::io::Write;

use sinew::base::{Error, Result};
use sinew_llm::message::{AgentMessage, Usage};
use sinew_session::clock;
use sinew_session::{Body, Entry, Session};

use super::Options;
use super::frame::{Look, anchor, head, map, summary, time};
use super::message;
use super::pen::Pen;
use super::survey::{Row, Section, Survey, What, survey};
use super::tool::{self, Answer};

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

/// The page while it is written.
struct Page<'p> {
    session: &'p Session,
    pen: Pen<'p>,
    out: &'p mut dyn Write,
    /// The model that spoke last, where nobody else has spoken since.
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
        let Some(message) = self.message(entry) else { return Ok(0) };
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

    /// The message of an entry, with its pictures and without values.
    fn message(&self, entry: Entry) -> Option<AgentMessage> {
        let mut message = entry.into_message()?;
        self.session.restore_images(&mut message);
        self.pen.hide_between(&mut message);
        Some(message)
    }

    /// The results that follow an answer directly and belong to its calls.
    fn answers(&self, message: &AgentMessage, behind: &[Row<'_>]) -> Vec<Answer> {
        let AgentMessage::Assistant(answer) = message else { return Vec::new() };
        let mut open: Vec<&str> = answer.tool_calls().map(|call| call.id.as_str()).collect();
        open.sort_unstable();
        open.dedup();
        let mut found: Vec<Answer> = Vec::new();
        for row in behind.iter().take_while(|row| matches!(row.what, What::Result | What::FailedResult)) {
            let message = self.session.entry(row.id).ok().and_then(|entry| self.message(entry));
            let Some(AgentMessage::ToolResult(result)) = message else { break };
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
