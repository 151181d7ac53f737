//! A provider that replays a file, for tests, demonstrations and offline work.
//!
//! The file is JSONL; blank lines and lines that start with `//` are skipped. An optional first `script` line contains
//! properties and pacing; a `turn` answers one request; a `fault` fails one request. Each lane has its own position in
//! the file. Everything except the provider is real: events, loop, tools, sessions. Time is that of Tokio.

mod expect;
mod parse;
mod record;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, header};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::assembly::{Assembly, Kind};
use crate::error::classify::{self, RequestContext};
use crate::error::{ErrorInfo, ErrorKind};
use crate::event::{EventSender, EventStream};
use crate::message::{StopReason, Usage};
use crate::model::Model;
use crate::provider::{Provider, Request};

use expect::Expect;
use parse::{Line, LineKind, Piece, Setup, Turn};
use record::Record;

/// The lane of the main session.
pub const MAIN: &str = "main";

/// Lanes of the agent's own requests: if the file does not contain them, they have a fixed answer.
const OWN_LANES: [(&str, &str); 3] = [
    ("compact", "Summary of the conversation so far."),
    ("title", "Scripted session"),
    ("handoff", "Handoff of the conversation so far."),
];

/// The values of `${cwd}`, `${sessionId}` and `${env:NAME}` in a script.
#[derive(Clone, Default)]
pub struct Variables {
    /// `${cwd}`.
    pub cwd: String,
    /// `${sessionId}`.
    pub session_id: String,
    /// `${env:NAME}`; a missing name is empty.
    pub env: Vec<(String, String)>,
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values of environment variables may be keys.
        f.debug_struct("Variables")
            .field("cwd", &self.cwd)
            .field("session_id", &self.session_id)
            .finish_non_exhaustive()
    }
}

/// A parsed script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    setup: Setup,
    lines: Vec<Line>,
}

/// An invalid line of a script: `script:3: expected value at line 1 column 2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "script:{}: {}", self.line, self.reason)
    }
}

impl std::error::Error for ScriptError {}

/// Replays a [`Script`]: each request is answered by the next line of its lane.
#[derive(Debug, Clone)]
pub struct ScriptedProvider {
    script: Arc<Script>,
    lanes: Arc<Mutex<HashMap<String, LaneState>>>,
    record: Option<Arc<Record>>,
}

/// The progress of a lane.
#[derive(Debug, Default)]
struct LaneState {
    next: usize,
    /// The number of turns replayed.
    turns: usize,
    /// The number of calls, for their ids.
    calls: usize,
}

impl Script {
    /// Parses a script.
    ///
    /// # Errors
    /// Returns the first invalid line.
    pub fn parse(text: &str, variables: &Variables) -> Result<Script, ScriptError> {
        parse::script(text, variables)
    }

    /// Returns the model `scripted/script`, with the properties of the script line.
    #[must_use]
    pub fn model(&self) -> Model {
        self.setup.model()
    }
}

impl ScriptedProvider {
    /// Creates a provider at the start of `script`.
    #[must_use]
    pub fn new(script: Script) -> ScriptedProvider {
        let record = script.setup.record.clone().map(Record::new).map(Arc::new);
        ScriptedProvider { script: Arc::new(script), lanes: Arc::default(), record }
    }

    /// Returns the model `scripted/script`.
    #[must_use]
    pub fn model(&self) -> Model {
        self.script.model()
    }

    /// Returns the reply to the next request of `lane`.
    fn next(&self, lane: &str) -> Play {
        let has = |name: &str| self.script.lines.iter().any(|line| line.lane == name);
        let lane = match OWN_LANES.iter().find(|(own, _)| *own == lane) {
            Some((_, text)) if !has(lane) => return Play::Text(text),
            Some(_) => lane,
            // A subagent: by its name, otherwise by its id.
            None => {
                let (name, id) = lane.split_once('#').unwrap_or((lane, lane));
                [name, id].into_iter().find(|lane| has(lane)).unwrap_or(MAIN)
            }
        };
        let mut lanes = self.lanes.lock();
        let state = lanes.entry(lane.to_string()).or_default();
        let mut own = self.script.lines.iter().filter(|line| line.lane == lane);
        let line = own.clone().nth(state.next);
        let line = match (line, self.script.setup.on_exhausted) {
            (Some(line), _) => {
                state.next += 1;
                line
            }
            (None, parse::ExhaustedReply::Stop) => return Play::Text(""),
            (None, parse::ExhaustedReply::Repeat) if state.turns > 0 => {
                match own.rfind(|line| matches!(line.kind, LineKind::Turn(_))) {
                    Some(line) => line,
                    None => return Play::Exhausted(state.turns),
                }
            }
            (None, _) => return Play::Exhausted(state.turns),
        };
        let first_call = state.calls + 1;
        if let LineKind::Turn(turn) = &line.kind {
            state.turns += 1;
            state.calls += turn.content.iter().filter(|piece| matches!(piece, Piece::Call { .. })).count();
        }
        Play::Line(Box::new(line.clone()), first_call)
    }
}

enum Play {
    /// A line, and the number of its first call.
    Line(Box<Line>, usize),
    Text(&'static str),
    Exhausted(usize),
}

impl Provider for ScriptedProvider {
    fn api(&self) -> &str {
        "scripted"
    }

    fn caches_prefixes(&self) -> bool {
        self.script.setup.caches_prefixes
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> EventStream {
        let provider = self.clone();
        EventStream::run(request.empty_answer(), move |sender| provider.answer(request, cancel, sender))
    }
}

impl ScriptedProvider {
    async fn answer(self, request: Request, cancel: CancellationToken, sender: EventSender) {
        let mut assembly = Assembly::new(&request);
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ErrorInfo::aborted()),
            outcome = self.play(&request, &mut assembly, &sender) => outcome,
        };
        let rest = match outcome {
            Ok(reason) => assembly.finish(reason),
            Err(error) => assembly.fail(error),
        };
        for event in rest {
            if !sender.send(event).await {
                return;
            }
        }
    }

    async fn play(
        &self,
        request: &Request,
        assembly: &mut Assembly,
        sender: &EventSender,
    ) -> Result<StopReason, ErrorInfo> {
        assembly.flush(sender).await;
        let context = RequestContext { provider: "scripted", model: &request.model.id, ..RequestContext::default() };
        let lane = request.lane.as_deref().unwrap_or(MAIN);
        if let Some(record) = &self.record {
            record.write(lane, request).map_err(|text| ErrorInfo::new(ErrorKind::Config, text))?;
        }
        let (line, first_call) = match self.next(lane) {
            Play::Line(line, first_call) => (line, first_call),
            Play::Text(text) => {
                assembly.run(Kind::Text, text);
                assembly.usage = estimate(request, text.len());
                return Ok(StopReason::Stop);
            }
            Play::Exhausted(turns) => {
                return Err(ErrorInfo::new(ErrorKind::Config, format!("script exhausted after {turns} turns")));
            }
        };
        match &line.kind {
            LineKind::Fault(fault) => Err(fail(fault, &context, request.timestamp).await),
            LineKind::Turn(turn) => {
                if let Some(expect) = &turn.expect {
                    check(expect, request, line.number)?;
                }
                self.speak(turn, first_call, request, assembly, sender, &context).await
            }
        }
    }

    async fn speak(
        &self,
        turn: &Turn,
        first_call: usize,
        request: &Request,
        assembly: &mut Assembly,
        sender: &EventSender,
        context: &RequestContext<'_>,
    ) -> Result<StopReason, ErrorInfo> {
        let setup = &self.script.setup;
        pause(turn.delay_ms.unwrap_or(setup.delay_ms)).await;
        let between = turn.chunk_delay_ms.unwrap_or(setup.chunk_delay_ms);
        let length = turn.chunk.unwrap_or(setup.chunk).max(1);
        let written: usize = turn.content.iter().map(|piece| piece.text().len()).sum();
        assembly.usage = turn.usage.unwrap_or_else(|| estimate(request, written));
        let mut sent = 0;
        let mut calls = 0;
        for piece in &turn.content {
            let index = match piece {
                Piece::Text(_) => assembly.begin(Kind::Text),
                Piece::Thinking { .. } => assembly.begin(Kind::Thinking),
                Piece::Call { id, name, .. } => {
                    let made = format!("call_{}", first_call + calls);
                    calls += 1;
                    assembly.begin_call(id.as_deref().unwrap_or(&made), name)
                }
            };
            for chunk in chunks(piece.text(), length) {
                if let Some((_, fault)) = turn.fault.as_ref().filter(|(after, _)| *after <= sent) {
                    return Err(fail(fault, context, request.timestamp).await);
                }
                if sent > 0 {
                    pause(between).await;
                }
                assembly.delta(index, chunk);
                sent += 1;
                assembly.flush(sender).await;
            }
            if let Piece::Thinking { signature: Some(signature), .. } = piece {
                assembly.sign(index, signature);
            }
            assembly.end(index);
            assembly.flush(sender).await;
        }
        // If the fault should happen after more chunks than there are, it happens at the end.
        if let Some((_, fault)) = &turn.fault {
            return Err(fail(fault, context, request.timestamp).await);
        }
        Ok(turn.stop.unwrap_or(if calls > 0 { StopReason::ToolUse } else { StopReason::Stop }))
    }
}

async fn pause(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

/// Splits `text` into chunks of `length` characters.
fn chunks(text: &str, length: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        let (chunk, tail) = rest.split_at(end);
        rest = tail;
        Some(chunk)
    })
}

/// Estimates a token as four bytes.
fn estimate(request: &Request, written: usize) -> Usage {
    let read = request.text_bytes();
    Usage { input: read.div_ceil(4) as u64, output: written.div_ceil(4) as u64, ..Usage::default() }
}

/// How an answer fails, as with a real server and a real connection.
#[derive(Debug, Clone, PartialEq)]
enum Fault {
    Http { status: u16, body: Option<Value>, retry_after: Option<String> },
    Connect,
    Network,
    Idle,
    Malformed,
    Truncated,
    Overflow,
    Refusal,
    Error(String),
}

/// The maximum silence of a real connection.
const IDLE: Duration = Duration::from_secs(300);

async fn fail(fault: &Fault, context: &RequestContext<'_>, now_ms: i64) -> ErrorInfo {
    let own = |kind, text: &str| classify::own(context, kind, text);
    match fault {
        Fault::Http { status, body, retry_after } => {
            let mut headers = HeaderMap::new();
            if let Some(value) = retry_after.as_ref().and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(header::RETRY_AFTER, value);
            }
            let body = match body {
                None => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(json) => json.to_string(),
            };
            classify::from_response(context, *status, &headers, &body, now_ms)
        }
        Fault::Connect => own(ErrorKind::Network, "connect: connection refused"),
        Fault::Network => own(ErrorKind::Network, "the connection was closed before the answer was complete"),
        Fault::Idle => {
            tokio::time::sleep(IDLE).await;
            own(ErrorKind::Timeout, &format!("the server sent nothing for {} s", IDLE.as_secs()))
        }
        Fault::Malformed => own(ErrorKind::Malformed, "3 events in a row are not JSON"),
        Fault::Truncated => own(ErrorKind::Malformed, "the stream ended before the answer was complete"),
        Fault::Overflow => own(ErrorKind::ContextOverflow, "prompt is too long"),
        Fault::Refusal => own(ErrorKind::Refusal, "the model refused to answer"),
        Fault::Error(message) => own(ErrorKind::Server, message),
    }
}

fn check(expect: &Expect, request: &Request, line: usize) -> Result<(), ErrorInfo> {
    expect.check(request).map_err(|(expected, got)| {
        ErrorInfo::new(ErrorKind::InvalidRequest, format!("script:{line}: expected {expected}, got {got}"))
    })
}

#[cfg(test)]
mod tests;
