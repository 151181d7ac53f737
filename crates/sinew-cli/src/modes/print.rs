//! Writes the text of the answer to stdout, and everything else to stderr.
//!
//! On a terminal the text appears as it arrives. It cannot be removed again, so an answer that restarts after a failure
//! follows a blank line, and stderr says why. A program that reads a pipe or a file would treat both texts as the
//! answer, so it receives each message when it is complete, and no text of a message that is retried.

use std::io::{self, Write};

use serde_json::Value;
use sinew_agent::event::Event;
use sinew_control::output::{Output, plain, stderr, tell};
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, text_of};

use super::{EventDisplay, FinalResult, Renderer};

/// The maximum number of characters of an error.
const ERROR: usize = 200;
/// The maximum number of characters of a call.
const CALL: usize = 120;

/// Writes the answer as it arrives.
pub(super) struct Text<W> {
    out: Output<W>,
    look: EventDisplay,
    /// True if something was written.
    any: bool,
    /// True if the last character was a line feed.
    at_start: bool,
    /// True if a message began and has no text yet.
    fresh: bool,
    /// True if the message has text.
    spoken: bool,
    /// The text of the message that is not written yet.
    held: String,
    /// True if thoughts were written and their line is not finished.
    thinking: bool,
}

impl<W: Write> Text<W> {
    pub(super) fn new(look: EventDisplay, out: Output<W>) -> Text<W> {
        let held = String::new();
        Text { out, look, any: false, at_start: true, fresh: false, spoken: false, held, thinking: false }
    }

    fn text(&mut self, delta: &str) -> io::Result<()> {
        let delta = plain(delta);
        if delta.is_empty() {
            return Ok(());
        }
        self.close_thoughts();
        self.spoken = true;
        if self.look.whole {
            self.held.push_str(&delta);
            return Ok(());
        }
        self.write(&delta)
    }

    /// Writes the buffered text.
    fn release(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.held) {
            held if held.is_empty() => Ok(()),
            held => self.write(&held),
        }
    }

    /// Handles the retry of a failed message.
    fn again(&mut self) {
        if std::mem::take(&mut self.spoken) && !self.look.whole {
            tell("Warning: the answer was cut off and starts again");
        }
        self.held.clear();
    }

    fn write(&mut self, delta: &str) -> io::Result<()> {
        if std::mem::take(&mut self.fresh) && self.any {
            self.out.text(if self.at_start { "\n" } else { "\n\n" })?;
        }
        self.out.text(delta)?;
        self.any = true;
        self.at_start = delta.ends_with('\n');
        Ok(())
    }

    fn thought(&mut self, delta: &str) {
        stderr(&style(self.look.colour, "2", &plain(delta)));
        self.thinking = true;
    }

    fn close_thoughts(&mut self) {
        if std::mem::take(&mut self.thinking) {
            tell("");
        }
    }
}

impl<W: Write + Send> Renderer for Text<W> {
    fn begin(&mut self, _header: &Value) -> io::Result<()> {
        Ok(())
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::MessageStart { message: AgentMessage::Assistant(_) } => {
                self.release()?;
                (self.fresh, self.spoken) = (true, false);
            }
            Event::MessageUpdate { step, .. } => match &step.event {
                StreamEvent::TextDelta { delta, .. } => self.text(delta)?,
                StreamEvent::ThinkingDelta { delta, .. } if self.look.verbose => self.thought(delta),
                _ => {}
            },
            Event::MessageEnd { message } => {
                self.close_thoughts();
                // A failed message may be retried, which is not known yet.
                if !matches!(message, AgentMessage::Assistant(answer) if answer.error.is_some()) {
                    self.release()?;
                }
            }
            Event::ToolExecutionStart { tool_name, args, intent, .. } if self.look.tool_lines => {
                let what = intent.clone().unwrap_or_else(|| args.to_string());
                let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
                // The descriptions of calls begin with the tool's name.
                let what = what.strip_prefix(&format!("{tool_name} ")).unwrap_or(&what);
                tell(&format!("→ {tool_name}: {}", first(what, CALL)));
            }
            Event::ToolExecutionEnd { tool_name, result, is_error: true, .. } if self.look.tool_lines => {
                let cross = style(self.look.colour, "31", "✗");
                let text = plain(&format!("{tool_name}: {}", first(&text_of(&result.content), ERROR)));
                stderr(&format!("{cross} {text}\n"));
            }
            Event::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
                self.again();
                let seconds = delay_ms.div_ceil(1_000);
                let what = error_message.trim_end_matches('.');
                tell(&format!("Warning: {what}; retrying in {seconds} s ({attempt} of {max_attempts})"));
            }
            Event::ModelPromoted { from, to } => {
                self.again();
                tell(&format!("Warning: using {to} instead of {from}: its context window is larger"));
            }
            Event::ModelFallback { from, to, reason } => {
                self.again();
                tell(&format!("Warning: using {to} instead of {from}: {reason}"));
            }
            Event::AutoCompactionEnd { will_retry: true, .. } => self.again(),
            Event::CredentialDisabled { provider, reason, .. } => {
                tell(&format!("Warning: {provider}: a key is temporarily disabled ({reason})"));
            }
            Event::AutoCompactionEnd { error_message: Some(text), .. } => tell(&format!("Warning: {text}")),
            Event::ExtensionError { extension_path, error, .. } => tell(&format!("Warning: {extension_path}: {error}")),
            Event::TtsrTriggered { rules } => {
                tell(&format!("Warning: the answer broke the rule {}; the model was informed", rules.join(", ")));
            }
            Event::McpStatus { state, error: Some(error), .. } if matches!(&**state, "failed" | "needs_auth") => {
                tell(&format!("Warning: {error}"));
            }
            Event::Warning { message } => tell(&format!("Warning: {message}")),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.close_thoughts();
        self.release()?;
        if self.at_start {
            return Ok(());
        }
        self.out.text("\n")
    }

    fn finish(&mut self, ending: &FinalResult) -> io::Result<()> {
        match ending.text.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => self.out.text(&format!("{}\n", plain(text))),
            None => Ok(()),
        }
    }
}

fn first(text: &str, count: usize) -> String {
    match text.char_indices().nth(count) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

fn style(colour: bool, code: &str, text: &str) -> String {
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use sinew_agent::event::AnswerStep;
    use sinew_llm::error::{ErrorInfo, ErrorKind};
    use sinew_llm::message::AssistantMessage;

    use super::super::Stdout;
    use super::*;

    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the events of an answer in two pieces, which fails or succeeds.
    fn answer(pieces: [&str; 2], fails: bool) -> Vec<Event> {
        let error = fails.then(|| ErrorInfo::new(ErrorKind::Network, "reset"));
        let message = || AgentMessage::from(AssistantMessage { error: error.clone(), ..Default::default() });
        let update = |delta: &str| Event::MessageUpdate {
            message: None,
            step: AnswerStep { event: StreamEvent::TextDelta { content_index: 0, delta: delta.into() }, content: None },
        };
        let [first, second] = pieces.map(update);
        vec![Event::MessageStart { message: message() }, first, second, Event::MessageEnd { message: message() }]
    }

    fn again() -> Event {
        Event::AutoRetryStart { attempt: 1, max_attempts: 3, delay_ms: 1, error_message: "reset".into() }
    }

    /// Returns the text on stdout after each event, and at the end.
    fn shown(whole: bool, events: &[Event]) -> (Vec<String>, String) {
        let look = EventDisplay {
            output: Stdout::Text,
            verbose: false,
            whole,
            snapshots: false,
            tool_lines: false,
            colour: false,
        };
        let written = SharedBuffer::default();
        let mut text = Text::new(look, Output::new(written.clone()));
        let now = || String::from_utf8(written.0.lock().clone()).unwrap();
        let mut steps = Vec::new();
        for event in events {
            text.event(event).unwrap();
            steps.push(now());
        }
        text.end().unwrap();
        (steps, now())
    }

    #[test]
    fn a_terminal_shows_text_as_it_arrives_and_a_retried_answer_after_a_blank_line() {
        let events = [answer(["par", "tly"], true), vec![again()], answer(["all ", "of it"], false)].concat();
        let (steps, end) = shown(false, &events);
        assert_eq!(steps[..3], ["", "par", "partly"]);
        assert_eq!(end, "partly\n\nall of it\n");
    }

    #[test]
    fn a_pipe_gets_whole_messages_and_nothing_of_a_retried_one() {
        let events = [answer(["par", "tly"], true), vec![again()], answer(["all ", "of it"], false)].concat();
        let (steps, end) = shown(true, &events);
        assert_eq!(steps[events.len() - 2..], ["", "all of it"]);
        assert_eq!(end, "all of it\n");
    }

    #[test]
    fn a_pipe_gets_the_text_of_a_failed_answer_that_is_not_retried() {
        assert_eq!(shown(true, &answer(["par", "tly"], true)).1, "partly\n");
        let cut = answer(["par", "tly"], false);
        assert_eq!(shown(true, &cut[..3]).1, "partly\n");
    }
}
