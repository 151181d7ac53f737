//! Events as lines of JSON.

use std::io::{self, Stdout};

use serde_json::Value;
use sinew_agent::event::Event;

use super::{Ending, Renderer};
use crate::output::{self, Output, tell};

/// The header of the session, then one event per line.
pub(super) struct Lines {
    out: Output<Stdout>,
    partials: bool,
    /// The end of the latest run. It is written when the next one begins or nothing follows, so that the last line is
    /// the end of the last run, whatever is told after it.
    ended: Option<Vec<u8>>,
}

impl Lines {
    pub(super) fn new(partials: bool) -> Lines {
        Lines { out: output::stdout(), partials, ended: None }
    }

    fn line(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.out.line(line, |_| {})
    }

    fn release(&mut self) -> io::Result<()> {
        self.ended.take().map_or(Ok(()), |line| self.line(line))
    }
}

/// An event as lines, without their ends. Those of compactions are told once more under the names that pi's clients
/// know.
pub(super) fn lines(event: &Event, partials: bool) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = vec![line(event, partials)?];
    let other = match event {
        Event::AutoCompactionStart { .. } => "compaction_start",
        Event::AutoCompactionEnd { .. } => "compaction_end",
        _ => return Ok(lines),
    };
    let mut value = serde_json::to_value(event)?;
    value["type"] = other.into();
    lines.push(serde_json::to_vec(&value)?);
    Ok(lines)
}

/// An event as a line, without its end; with `partials` a snapshot of the message stands in each of its updates.
fn line(event: &Event, partials: bool) -> io::Result<Vec<u8>> {
    if let (Event::MessageUpdate { message: Some(_), step }, false) = (event, partials) {
        return Ok(serde_json::to_vec(&Event::MessageUpdate { message: None, step: step.clone() })?);
    }
    Ok(serde_json::to_vec(event)?)
}

impl Renderer for Lines {
    fn begin(&mut self, header: &Value) -> io::Result<()> {
        self.line(serde_json::to_vec(header)?)
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            // The end of the program says the same.
            Event::AgentSettled {} => return Ok(()),
            Event::AgentStart => self.release()?,
            Event::AgentEnd { .. } => {
                self.release()?;
                self.ended = Some(serde_json::to_vec(event)?);
                return Ok(());
            }
            _ => {}
        }
        lines(event, self.partials)?.into_iter().try_for_each(|line| self.line(line))
    }

    fn end(&mut self) -> io::Result<()> {
        self.release()
    }

    fn finish(&mut self, ending: &Ending) -> io::Result<()> {
        // What a command says is no event.
        ending.text.iter().filter(|text| !text.is_empty()).for_each(|text| tell(text));
        Ok(())
    }
}
