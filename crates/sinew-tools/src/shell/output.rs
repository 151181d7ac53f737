//! The output of a command: cleaned, with its start and end in memory, and stored completely in an artifact once it is
//! long.

use std::sync::Arc;

use serde_json::Value;
use sinew::shell::output::{OutputSink, SinkOptions};
use sinew_session::artifacts::{ArtifactFile, Artifacts};

use crate::truncate::{self, BYTES, LINES, Limit};

/// The maximum length of an incomplete line; longer ones are passed on as they are.
const PENDING: usize = 64 * 1024;
/// The maximum size of an artifact in bytes.
const LARGEST: u64 = 256 << 20;

/// Receives the output of one command.
pub(crate) struct Output {
    artifacts: Arc<Artifacts>,
    tool: &'static str,
    pending: String,
    start: Vec<u8>,
    end: OutputSink,
    total: u64,
    /// The number of complete lines.
    lines: u64,
    artifact: Artifact,
}

impl OutputExcerpt {
    /// Returns the artifact with the complete output; `None` if the output is short.
    pub(crate) fn artifact(&self) -> Option<u64> {
        self.meta.as_ref()?["artifactId"].as_str()?.parse().ok()
    }
}

enum Artifact {
    None,
    Open { id: u64, file: ArtifactFile, written: u64 },
    Failed(String),
}

/// The part of the output that the model sees.
#[derive(Default)]
pub(crate) struct OutputExcerpt {
    pub(crate) text: String,
    /// `details.meta` if something was omitted; `None` otherwise.
    pub(crate) meta: Option<Value>,
}

impl Output {
    pub(crate) fn new(artifacts: Arc<Artifacts>, tool: &'static str) -> Output {
        Output {
            artifacts,
            tool,
            pending: String::new(),
            start: Vec::new(),
            end: OutputSink::new(SinkOptions { tail_bytes: BYTES, spill: None }),
            total: 0,
            lines: 0,
            artifact: Artifact::None,
        }
    }

    /// Receives a chunk, which may be split anywhere.
    pub(crate) fn push(&mut self, chunk: &str) {
        self.pending.push_str(chunk);
        let Some(end) = self.pending.rfind('\n') else {
            if self.pending.len() > PENDING {
                let line = std::mem::take(&mut self.pending);
                self.keep(sinew::term::sanitize(&line).as_bytes());
            }
            return;
        };
        let rest = self.pending.split_off(end + 1);
        let lines = std::mem::replace(&mut self.pending, rest);
        let mut clean = String::with_capacity(lines.len());
        for line in lines.split_inclusive('\n') {
            clean.push_str(&sinew::term::sanitize(last_state(line.strip_suffix('\n').unwrap_or(line))));
            clean.push('\n');
        }
        self.keep(clean.as_bytes());
    }

    /// Returns the end of the current output, for observers.
    pub(crate) fn glance(&mut self) -> String {
        let mut text = self.end.dump().text;
        text.push_str(&sinew::term::sanitize(last_state(&self.pending)));
        truncate::tail(&text, LINES, BYTES).text.to_string()
    }

    /// Returns the current number of lines, including an incomplete last line.
    pub(crate) fn lines(&self) -> u64 {
        self.lines + u64::from(!self.pending.is_empty())
    }

    /// Returns the total number of bytes.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        if self.total > BYTES as u64 {
            if self.total - bytes.len() as u64 <= BYTES as u64 {
                // Everything before is still in memory.
                self.open();
            }
            self.spill(bytes);
        }
        let room = BYTES - self.start.len().min(BYTES);
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.end.push(bytes);
    }

    fn open(&mut self) {
        let made = self.artifacts.begin(self.tool).and_then(|(id, mut file)| {
            file.push(&self.start)?;
            Ok((id, file))
        });
        self.artifact = match made {
            Ok((id, file)) => Artifact::Open { id, file, written: self.start.len() as u64 },
            Err(error) => Artifact::Failed(format!("The full output could not be saved: {error}")),
        };
    }

    fn spill(&mut self, bytes: &[u8]) {
        let Artifact::Open { file, written, .. } = &mut self.artifact else { return };
        if *written > LARGEST {
            return;
        }
        *written += bytes.len() as u64;
        let result = match *written > LARGEST {
            true => file.push(b"[The rest was not saved: the limit is 256 MB]\n"),
            false => file.push(bytes),
        };
        if let Err(error) = result {
            self.artifact = Artifact::Failed(format!("The full output could not be saved: {error}"));
        }
    }

    /// Returns the result for the model: the end of the output, or the lines selected by `head` and `tail`, `head`
    /// first.
    pub(crate) fn finish(mut self, head: Option<usize>, tail: Option<usize>) -> OutputExcerpt {
        let rest = std::mem::take(&mut self.pending);
        self.keep(sinew::term::sanitize(last_state(&rest)).as_bytes());
        let dump = self.end.dump();
        let total_lines = usize::try_from(dump.total_lines).unwrap_or(usize::MAX);
        if let Some(head) = head {
            return self.filtered(head, tail, total_lines);
        }
        let mut text = dump.text.as_str();
        if dump.partial_line
            && let Some((_, whole)) = text.split_once('\n')
            && !whole.is_empty()
        {
            text = whole;
        }
        let asked = tail.unwrap_or(LINES).min(LINES);
        let mut cut = truncate::tail(text, asked, BYTES);
        if cut.by.is_none() && dump.truncated {
            cut.by = Some(Limit::Bytes);
        }
        let Some(by) = cut.by else { return OutputExcerpt { text: cut.text.to_string(), meta: None } };
        (cut.total_lines, cut.total_bytes) = (total_lines, usize::try_from(dump.total_bytes).unwrap_or(usize::MAX));
        if matches!(self.artifact, Artifact::None) && tail.is_none() {
            // Many short lines: all of them are still in memory.
            self.open();
        }
        let (link, id) = self.link();
        let first = (total_lines + 1).saturating_sub(cut.lines);
        let limit = match by {
            _ if tail.is_some_and(|tail| cut.lines == tail) => String::new(),
            Limit::Lines => " (2,000 line limit)".to_string(),
            Limit::Bytes => " (50 KB limit)".to_string(),
        };
        let text = format!("{}\n[Showing lines {first}-{total_lines} of {total_lines}{limit}.{link}]", cut.text);
        OutputExcerpt { text, meta: Some(cut.meta("tail", first, id)) }
    }

    fn filtered(&mut self, head: usize, tail: Option<usize>, total_lines: usize) -> OutputExcerpt {
        let start = String::from_utf8_lossy(&self.start).into_owned();
        let mut cut = truncate::head(&start, head.min(LINES), BYTES);
        // The last line in memory may be incomplete.
        if cut.by.is_none() && self.total > self.start.len() as u64 && !start.ends_with('\n') && cut.lines > 1 {
            cut = truncate::head(&start, cut.lines - 1, BYTES);
        }
        let mut text = match tail {
            Some(tail) => truncate::tail(cut.text, tail, BYTES).text.to_string(),
            None => cut.text.to_string(),
        };
        if cut.lines >= head.min(total_lines) {
            return OutputExcerpt { text, meta: None };
        }
        let (link, id) = self.link();
        text.push_str(&format!("\n[Showing lines 1-{} of {total_lines} (50 KB limit).{link}]", cut.lines));
        (cut.by, cut.total_lines) = (Some(Limit::Bytes), total_lines);
        cut.total_bytes = usize::try_from(self.total).unwrap_or(usize::MAX);
        OutputExcerpt { text, meta: Some(cut.meta("head", 1, id)) }
    }

    fn link(&mut self) -> (String, Option<u64>) {
        if let Artifact::Open { file, .. } = &mut self.artifact
            && let Err(error) = file.finish()
        {
            self.artifact = Artifact::Failed(format!("The full output could not be saved: {error}"));
        }
        match &self.artifact {
            Artifact::None => (String::new(), None),
            Artifact::Open { id, .. } => (format!(" Full: artifact://{id}"), Some(*id)),
            Artifact::Failed(why) => (format!(" {why}"), None),
        }
    }
}

/// Returns the final text of a line in a terminal: a carriage return starts it again.
fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}
