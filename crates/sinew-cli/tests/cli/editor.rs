//! An editor that speaks the Agent Client Protocol, and sends frames and waits for others.
//!
//! If `SINEW_ACP_FRAMES` is a directory, each editor stores there the agent's frames, and the methods of its own
//! requests: `tests/acp/acp.test.mjs` validates them against the official schema.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::frames::FrameProgram;
use crate::stage::Stage;

pub(crate) struct Editor {
    /// `None` after it has ended.
    program: Option<FrameProgram>,
    next: i64,
    /// The methods of the requests; `None` if another protocol is used.
    methods: Option<HashMap<i64, String>>,
}

impl Deref for Editor {
    type Target = FrameProgram;

    fn deref(&self) -> &FrameProgram {
        self.program.as_ref().unwrap()
    }
}

impl DerefMut for Editor {
    fn deref_mut(&mut self) -> &mut FrameProgram {
        self.program.as_mut().unwrap()
    }
}

impl Editor {
    /// Starts a program with `script.jsonl`, and announces these capabilities.
    #[track_caller]
    pub(crate) fn scripted(stage: &Stage, capabilities: Value) -> Editor {
        let script = stage.project().join("script.jsonl");
        let mut editor = Editor::of(stage.command(&["--mode", "acp", "--script", script.to_str().unwrap()]));
        editor.initialize(capabilities);
        editor
    }

    /// Starts a program whose model is a server.
    #[track_caller]
    pub(crate) fn served(stage: &Stage, capabilities: Value) -> Editor {
        let mut editor = Editor::of(stage.command(&["--mode", "acp"]));
        editor.initialize(capabilities);
        editor
    }

    /// Starts a program and sends nothing.
    pub(crate) fn of(command: Command) -> Editor {
        Editor { program: Some(FrameProgram::start(command)), next: 0, methods: None }
    }

    #[track_caller]
    pub(crate) fn initialize(&mut self, capabilities: Value) -> Value {
        self.ask("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities}))
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its id.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        // In this protocol, versions are numbers.
        if method == "initialize" && params["protocolVersion"].is_i64() {
            self.methods.get_or_insert_default();
        }
        if let Some(methods) = &mut self.methods {
            methods.insert(id, method.to_string());
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request that must succeed and returns its result.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.result(id)
    }

    /// Sends a request that must fail and returns the error.
    #[track_caller]
    pub(crate) fn fails(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_some(), "{method}: {answer}");
        answer["error"].take()
    }

    /// Opens a session in the project.
    #[track_caller]
    pub(crate) fn open(&mut self, stage: &Stage) -> String {
        self.open_in(&stage.project())
    }

    #[track_caller]
    pub(crate) fn open_in(&mut self, folder: &Path) -> String {
        let opened = self.ask("session/new", json!({"cwd": folder, "mcpServers": []}));
        opened["sessionId"].as_str().unwrap().to_string()
    }

    /// Begins a prompt of one text.
    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> i64 {
        self.begin("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    /// Sends a prompt and returns the stop reason of the turn.
    #[track_caller]
    pub(crate) fn turn(&mut self, session: &str, text: &str) -> String {
        let id = self.prompt(session, text);
        self.result(id)["stopReason"].as_str().unwrap().to_string()
    }

    /// Waits for the next request of the agent; the caller must answer it.
    #[track_caller]
    pub(crate) fn asked(&mut self, method: &str) -> Value {
        self.until(|frame| frame["method"] == method && frame.get("id").is_some())
    }

    /// Answers a request of the agent.
    pub(crate) fn reply(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// Returns the answer to a request; waits if it has not arrived yet.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        self.first(|frame| frame.get("method").is_none() && frame["id"] == id)
    }

    #[track_caller]
    pub(crate) fn result(&mut self, id: i64) -> Value {
        let mut answer = self.answer(id);
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].take()
    }

    /// Waits for the next update of this kind.
    #[track_caller]
    pub(crate) fn update(&mut self, kind: &str) -> Value {
        self.until(|frame| frame["params"]["update"]["sessionUpdate"] == kind)["params"]["update"].take()
    }

    /// Returns all updates of a session so far.
    pub(crate) fn updates(&self, session: &str) -> Vec<Value> {
        let of = self.seen.iter().filter(|frame| frame["params"]["sessionId"] == session);
        of.filter_map(|frame| frame["params"].get("update").cloned()).collect()
    }

    /// Returns the text of the agent in a session so far.
    pub(crate) fn said(&self, session: &str) -> String {
        let chunks =
            self.updates(session).into_iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        chunks.filter_map(|update| update["content"]["text"].as_str().map(str::to_string)).collect()
    }

    /// Closes stdin and waits for the end; returns the exit code, and the text on stderr.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let ended = self.program.take().unwrap().end();
        self.leave(&ended.seen);
        (ended.code, ended.stderr)
    }

    /// Stores the frames of the agent for the validation.
    fn leave(&self, frames: &[Value]) {
        let (Some(methods), Some(folder)) = (&self.methods, std::env::var_os("SINEW_ACP_FRAMES")) else { return };
        let of = |frame: &Value| frame["id"].as_i64().and_then(|id| methods.get(&id));
        let lines: Vec<String> =
            frames.iter().map(|frame| json!({"method": of(frame), "frame": frame}).to_string()).collect();
        let mut file = tempfile::Builder::new().prefix("frames-").suffix(".jsonl").tempfile_in(folder).unwrap();
        std::io::Write::write_all(&mut file, lines.join("\n").as_bytes()).unwrap();
        file.keep().unwrap();
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if let Some(program) = self.program.take().filter(|_| !std::thread::panicking()) {
            self.leave(&program.seen);
        }
    }
}
