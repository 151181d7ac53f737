//! The record of a script's requests.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::provider::{Request, ToolChoice};

/// Writes each request as a line of JSON: `lane`, `ms` since the start, and the `request` itself.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    start: Instant,
    file: Mutex<Option<File>>,
}

impl Record {
    /// Returns a record that creates the file with its first line, or appends to it.
    pub(super) fn new(path: PathBuf) -> Record {
        Record { path, start: Instant::now(), file: Mutex::default() }
    }

    /// Writes a line.
    ///
    /// # Errors
    /// Returns an error that names the file if it cannot be written.
    pub(super) fn write(&self, lane: &str, request: &Request) -> Result<(), String> {
        let ms = self.start.elapsed().as_millis() as u64;
        let line = format!("{}\n", json!({"lane": lane, "ms": ms, "request": fields(request)}));
        let mut file = self.file.lock();
        let written = match &mut *file {
            Some(file) => file.write_all(line.as_bytes()),
            None => OpenOptions::new().create(true).append(true).open(&self.path).and_then(|mut opened| {
                opened.write_all(line.as_bytes())?;
                *file = Some(opened);
                Ok(())
            }),
        };
        written.map_err(|error| format!("record: {}: {error}", self.path.display()))
    }
}

/// Returns what a protocol would send, in the order in which servers cache it.
fn fields(request: &Request) -> Value {
    let tools = request
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters}));
    let choice = match &request.tool_choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "required",
        ToolChoice::Tool(name) => name,
    };
    json!({
        "tools": tools.collect::<Vec<_>>(),
        "system": request.system.iter().map(|part| &part.text).collect::<Vec<_>>(),
        "messages": request.conversation().collect::<Vec<_>>(),
        "toolChoice": choice,
        "thinking": request.thinking.as_str(),
        "sessionId": request.session_id,
    })
}
