//! The text of the answer on stdout, everything else on stderr.

use std::io::{self, Stdout, Write};

use serde_json::Value;
use sinew_agent::event::Event;
use sinew_llm::message::{AgentMessage, text_of};

use super::{Look, Show, plain, tell};

/// Characters of an error that are shown.
const ERROR: usize = 200;
/// Characters of a call that are shown.
const CALL: usize = 120;

/// The answer as it comes.
pub(super) struct Text {
    out: Stdout,
    look: Look,
    /// Something was written.
    any: bool,
    /// The last character was a line feed.
    at_start: bool,
    /// A message began and has no text yet.
    fresh: bool,
    /// Thoughts were written, and their line is open.
    thinking: bool,
}

impl Text {
    pub(super) fn new(look: Look) -> Text {
        Text { out: io::stdout(), look, any: false, at_start: true, fresh: false, thinking: false }
    }

    fn text(&mut self, delta: &str) -> io::Result<()> {
        let delta = plain(delta);
        if delta.is_empty() {
            return Ok(());
        }
        self.close_thoughts();
        let mut out = self.out.lock();
        if std::mem::take(&mut self.fresh) && self.any {
            out.write_all(if self.at_start { b"\n" } else { b"\n\n" })?;
        }
        out.write_all(delta.as_bytes())?;
        out.flush()?;
        self.any = true;
        self.at_start = delta.ends_with('\n');
        Ok(())
    }

    fn thought(&mut self, delta: &str) {
        let text = style(self.look.colour, "2", &plain(delta));
        // Nobody is left to tell when stderr is closed.
        let _ = io::stderr().write_all(text.as_bytes());
        self.thinking = true;
    }

    fn close_thoughts(&mut self) {
        if std::mem::take(&mut self.thinking) {
            tell("");
        }
    }
}

impl Show for Text {
    fn begin(&mut self, _header: &Value) -> io::Result<()> {
        Ok(())
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::MessageStart { message: AgentMessage::Assistant(_) } => self.fresh = true,
            Event::MessageUpdate { assistant_message_event: event, .. } => {
                let delta = event.get("delta").and_then(Value::as_str).unwrap_or_default();
                match event.get("type").and_then(Value::as_str) {
                    Some("text_delta") => self.text(delta)?,
                    Some("thinking_delta") if self.look.verbose => self.thought(delta),
                    _ => {}
                }
            }
            Event::MessageEnd { .. } => self.close_thoughts(),
            Event::ToolExecutionStart { tool_name, args, intent, .. } if self.look.tool_lines => {
                let what = intent.clone().unwrap_or_else(|| args.to_string());
                let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
                // Intents of tools begin with the tool's name.
                let what = what.strip_prefix(&format!("{tool_name} ")).unwrap_or(&what);
                tell(&format!("→ {tool_name}: {}", first(what, CALL)));
            }
            Event::ToolExecutionEnd { tool_name, result, is_error: true, .. } if self.look.tool_lines => {
                let cross = style(self.look.colour, "31", "✗");
                let text = plain(&format!("{tool_name}: {}", first(&text_of(&result.content), ERROR)));
                let _ = writeln!(io::stderr(), "{cross} {text}");
            }
            Event::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
                let seconds = delay_ms.div_ceil(1_000);
                tell(&format!("Warning: {error_message} Trying again in {seconds} s ({attempt} of {max_attempts})."));
            }
            Event::ModelPromoted { from, to } => tell(&format!("Warning: {to} goes on for {from}: a larger window")),
            Event::CredentialDisabled { provider, reason, .. } => {
                tell(&format!("Warning: {provider}: a key rests ({reason})"));
            }
            Event::AutoCompactionEnd { error_message: Some(text), .. } => tell(&format!("Warning: {text}")),
            Event::ExtensionError { extension_path, error, .. } => tell(&format!("Warning: {extension_path}: {error}")),
            Event::TtsrTriggered { rules } => {
                tell(&format!("Warning: the answer broke the rule {}; the model was told", rules.join(", ")));
            }
            Event::Warning { message } => tell(&format!("Warning: {message}")),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.close_thoughts();
        if self.at_start {
            return Ok(());
        }
        let mut out = self.out.lock();
        out.write_all(b"\n")?;
        out.flush()
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
