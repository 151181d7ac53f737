//! Writes `--output json`: one object at the end, or only the answer if there is a schema.

use std::io;

use serde_json::{Map, Value, json};
use sinew_agent::event::{Event, SubagentStatus};
use sinew_control::failure::Failure;
use sinew_control::output::{self, Output};
use sinew_llm::message::{AgentMessage, Usage};

use super::print::Text;
use super::{EventDisplay, FinalResult, Renderer};

/// Writes nothing to stdout before the end, and to stderr what the text mode writes.
pub(super) struct Report {
    inner: Text<io::Sink>,
    /// True for the whole object; false for the answer alone.
    whole: bool,
    /// The text of the last answer.
    answer: String,
    turns: u64,
    /// The children that ended.
    children: Vec<Value>,
}

impl Report {
    pub(super) fn new(look: EventDisplay, whole: bool) -> Report {
        let inner = Text::new(EventDisplay { whole: true, ..look }, Output::new(io::sink()));
        Report { inner, whole, answer: String::new(), turns: 0, children: Vec::new() }
    }
}

impl Renderer for Report {
    fn begin(&mut self, header: &Value) -> io::Result<()> {
        self.inner.begin(header)
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        if let Event::MessageEnd { message: AgentMessage::Assistant(answer) } = event {
            self.turns += 1;
            let text = answer.text();
            if answer.error.is_none() && !text.trim().is_empty() {
                self.answer = text;
            }
        }
        if let Event::SubagentEnd(SubagentStatus { id, agent, state, turns, tokens, cost, .. }) = event {
            let child =
                json!({"id": id, "agent": agent, "state": state, "turns": turns, "tokens": tokens, "cost": cost});
            self.children.push(child);
        }
        self.inner.event(event)
    }

    fn end(&mut self) -> io::Result<()> {
        self.inner.end()
    }

    fn finish(&mut self, ending: &FinalResult) -> io::Result<()> {
        if !self.whole {
            return match &ending.value {
                Some(value) => output::stdout().line(serde_json::to_vec(value)?, |_| {}),
                None => Ok(()),
            };
        }
        let has_children = !self.children.is_empty();
        let mut report = json!({
            "text": ending.text.as_ref().unwrap_or(&self.answer),
            "sessionId": ending.session,
            "model": ending.model,
            "usage": usage(&ending.usage),
            "cost": ending.usage.cost.total,
            "turns": self.turns,
            "exitReason": ending.reason,
            "exitCode": ending.code,
        });
        if let Value::Object(fields) = &mut report {
            let more = [
                ("sessionFile", ending.file.as_ref().map(|file| json!(file))),
                ("structuredOutput", ending.value.clone()),
                ("error", ending.error.clone().map(Value::from)),
                ("subagents", has_children.then(|| Value::from(self.children.clone()))),
                ("totalCost", has_children.then(|| Value::from(ending.usage.cost.total + ending.children_cost))),
            ];
            fields.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))));
        }
        output::stdout().line(serde_json::to_vec(&report)?, |_| {})
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "total": usage.total_tokens,
    })
}

/// Writes the object of a program that failed before an agent started.
pub(crate) fn failed(failure: &Failure) {
    let reason = match failure.code {
        2 => "usage",
        3 => "config",
        _ => "error",
    };
    let mut report = Map::new();
    report.insert("text".into(), "".into());
    report.insert("exitReason".into(), reason.into());
    report.insert("exitCode".into(), failure.code.into());
    report.insert("error".into(), failure.message.clone().into());
    let line = serde_json::to_vec(&report).unwrap_or_default();
    // The error is also on stderr, even if stdout cannot be written.
    let _ = output::stdout().line(line, |_| {});
}
