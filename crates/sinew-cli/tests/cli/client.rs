//! A client of the RPC mode, which sends lines and waits for responses and events.

use std::ops::{Deref, DerefMut};
use std::process::Command;

use serde_json::{Value, json};

use crate::frames::{FrameProgram, ProgramEnd};
use crate::stage::Stage;

pub(crate) struct Client {
    program: FrameProgram,
    next: u64,
}

impl Deref for Client {
    type Target = FrameProgram;

    fn deref(&self) -> &FrameProgram {
        &self.program
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut FrameProgram {
        &mut self.program
    }
}

impl Client {
    /// Starts a program with `script.jsonl`, and waits until it is ready.
    #[track_caller]
    pub(crate) fn scripted(stage: &Stage, args: &[&str]) -> Client {
        Client::of(stage.command(&[&["--mode", "rpc", "--script", "script.jsonl"], args].concat()))
    }

    #[track_caller]
    pub(crate) fn of(command: Command) -> Client {
        let mut client = Client { program: FrameProgram::start(command), next: 0 };
        let ready = client.frame();
        assert_eq!(ready, json!({"type": "ready"}));
        client
    }

    /// Sends a command with a new id, and returns the id.
    pub(crate) fn begin(&mut self, kind: &str, mut fields: Value) -> Value {
        self.next += 1;
        let id = json!(format!("c{}", self.next));
        fields["id"] = id.clone();
        fields["type"] = json!(kind);
        self.send(&fields);
        id
    }

    /// Sends a command and returns its response.
    #[track_caller]
    pub(crate) fn ask(&mut self, kind: &str, fields: Value) -> Value {
        let id = self.begin(kind, fields);
        self.response(&id)
    }

    /// Sends a command that must succeed and returns its data.
    #[track_caller]
    pub(crate) fn data(&mut self, kind: &str, fields: Value) -> Value {
        let mut response = self.ask(kind, fields);
        assert_eq!(response["success"], true, "{kind}: {response}");
        response["data"].take()
    }

    /// Sends a command that must fail and returns the error.
    #[track_caller]
    pub(crate) fn fails(&mut self, kind: &str, fields: Value) -> String {
        let response = self.ask(kind, fields);
        assert_eq!(response["success"], false, "{kind}: {response}");
        response["error"].as_str().unwrap().to_string()
    }

    /// Returns the response to a command; waits if it has not arrived yet.
    #[track_caller]
    pub(crate) fn response(&mut self, id: &Value) -> Value {
        self.first(|frame| frame["type"] == "response" && frame["id"] == *id)
    }

    /// Waits for the next event of a type.
    #[track_caller]
    pub(crate) fn event(&mut self, kind: &str) -> Value {
        self.until(|frame| frame["type"] == kind)
    }

    /// Waits until this number of events of a type has arrived since the start.
    #[track_caller]
    pub(crate) fn count(&mut self, kind: &str, count: usize) {
        while self.seen.iter().filter(|frame| frame["type"] == kind).count() < count {
            self.frame();
        }
    }

    /// Sends a prompt and waits until the agent is idle.
    #[track_caller]
    pub(crate) fn prompt(&mut self, message: &str) -> Value {
        self.data("prompt", json!({"message": message}));
        let end = self.event("agent_end");
        self.event("agent_settled");
        end
    }

    /// Waits for an event, closes stdin and waits for the end.
    #[cfg(unix)]
    #[track_caller]
    pub(crate) fn end_after(mut self, kind: &str) -> ProgramEnd {
        self.count(kind, 1);
        self.end()
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn end(self) -> ProgramEnd {
        self.program.end()
    }

    /// Waits for the end.
    #[cfg(unix)]
    pub(crate) fn wait(self) -> ProgramEnd {
        self.program.wait()
    }
}
