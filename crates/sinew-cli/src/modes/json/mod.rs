//! Writes events as lines of JSON.

mod encoder;

use std::io::{self, Stdout};

use serde_json::Value;
use sinew_agent::event::Event;
use sinew_control::output::{self, Output, tell};

pub(super) use self::encoder::EventEncoder;
use super::{FinalResult, Renderer};

/// Writes the header of the session, then one event per line.
pub(super) struct Lines {
    out: Output<Stdout>,
    encoder: EventEncoder,
    /// The end event of the last run. It is written when the next run begins or the program ends, so that the last line
    /// is the end of the last run, even if other events follow it.
    ended: Option<Vec<u8>>,
}

impl Lines {
    pub(super) fn new(snapshots: bool) -> Lines {
        Lines { out: output::stdout(), encoder: EventEncoder::new(snapshots), ended: None }
    }

    fn line(&mut self, line: Vec<u8>) -> io::Result<()> {
        self.out.line(line, |_| {})
    }

    fn release(&mut self) -> io::Result<()> {
        self.ended.take().map_or(Ok(()), |line| self.line(line))
    }
}

impl Renderer for Lines {
    fn begin(&mut self, header: &Value) -> io::Result<()> {
        self.line(serde_json::to_vec(header)?)
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            // The end of the process conveys the same.
            Event::AgentSettled {} => return Ok(()),
            Event::AgentStart => self.release()?,
            Event::AgentEnd { .. } => {
                self.release()?;
                self.ended = self.encoder.lines(event)?.pop();
                return Ok(());
            }
            _ => {}
        }
        self.encoder.lines(event)?.into_iter().try_for_each(|line| self.line(line))
    }

    fn end(&mut self) -> io::Result<()> {
        self.release()
    }

    fn finish(&mut self, ending: &FinalResult) -> io::Result<()> {
        // The output of a command is not an event.
        ending.text.iter().filter(|text| !text.is_empty()).for_each(|text| tell(text));
        Ok(())
    }
}
