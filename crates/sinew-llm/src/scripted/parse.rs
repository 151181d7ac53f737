//! Parses a script.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::{Expect, Fault, MAIN, Script, ScriptError, Variables};
use crate::message::{StopReason, Usage};
use crate::model::{Cost, Input, Model};

/// The script line with its defaults.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Setup {
    version: u32,
    pub(super) on_exhausted: ExhaustedReply,
    context_window: u64,
    max_tokens: u64,
    input: Vec<Input>,
    reasoning: bool,
    pub(super) chunk: usize,
    pub(super) delay_ms: u64,
    pub(super) chunk_delay_ms: u64,
    cost: Cost,
    pub(super) caches_prefixes: bool,
    pub(super) record: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            version: 1,
            on_exhausted: ExhaustedReply::Error,
            context_window: 200_000,
            max_tokens: 16_384,
            input: vec![Input::Text, Input::Image],
            reasoning: true,
            chunk: 16,
            delay_ms: 0,
            chunk_delay_ms: 0,
            cost: Cost::default(),
            caches_prefixes: false,
            record: None,
        }
    }
}

impl Setup {
    pub(super) fn model(&self) -> Model {
        Model {
            id: "script".into(),
            name: "Script".into(),
            provider: "scripted".into(),
            api: "scripted".into(),
            reasoning: self.reasoning,
            input: self.input.clone(),
            context_window: self.context_window,
            max_tokens: self.max_tokens,
            cost: self.cost,
            ..Model::default()
        }
    }
}

/// The reply to a request after the last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExhaustedReply {
    Error,
    Stop,
    Repeat,
}

/// A line that answers a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) lane: String,
    pub(super) kind: LineKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum LineKind {
    Turn(Box<Turn>),
    Fault(Fault),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) content: Vec<Piece>,
    pub(super) stop: Option<StopReason>,
    pub(super) usage: Option<Usage>,
    pub(super) delay_ms: Option<u64>,
    pub(super) chunk_delay_ms: Option<u64>,
    pub(super) chunk: Option<usize>,
    pub(super) expect: Option<Expect>,
    /// The number of deltas after which the fault happens, and the fault; `None` without one.
    pub(super) fault: Option<(usize, Fault)>,
}

/// A block of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Thinking { text: String, signature: Option<String> },
    Call { id: Option<String>, name: String, arguments: String },
}

impl Piece {
    pub(super) fn text(&self) -> &str {
        match self {
            Piece::Text(text) | Piece::Thinking { text, .. } => text,
            Piece::Call { arguments, .. } => arguments,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawTurn {
    #[serde(default)]
    content: Vec<RawPiece>,
    stop: Option<StopReason>,
    usage: Option<Usage>,
    delay_ms: Option<u64>,
    chunk_delay_ms: Option<u64>,
    chunk: Option<usize>,
    expect: Option<Expect>,
    fault: Option<RawFault>,
    lane: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawPiece {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    tool_call: Option<RawCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawCall {
    id: Option<String>,
    name: String,
    arguments: Option<Value>,
    raw_arguments: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawFault {
    kind: String,
    status: Option<u16>,
    body: Option<Value>,
    retry_after: Option<Value>,
    message: Option<String>,
    after: Option<usize>,
    lane: Option<String>,
}

pub(super) fn script(text: &str, variables: &Variables) -> Result<Script, ScriptError> {
    let mut setup = Setup::default();
    let mut lines = Vec::new();
    let mut begun = false;
    for (number, line) in (1..).zip(text.trim_start_matches('\u{FEFF}').lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        match read(line, variables, begun).map_err(|reason| ScriptError { line: number, reason })? {
            Read::Setup(read) => setup = *read,
            Read::Line(lane, kind) => lines.push(Line { number, lane: lane.unwrap_or_else(|| MAIN.to_string()), kind }),
        }
        begun = true;
    }
    Ok(Script { setup, lines })
}

enum Read {
    Setup(Box<Setup>),
    Line(Option<String>, LineKind),
}

fn read(line: &str, variables: &Variables, begun: bool) -> Result<Read, String> {
    let mut json: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    replace(&mut json, variables);
    let fields = json.as_object_mut().ok_or("expected an object")?;
    let kind = match fields.shift_remove("type") {
        Some(Value::String(kind)) => kind,
        _ => return Err("missing \"type\": expected script, turn or fault".to_string()),
    };
    let bad = |error: serde_json::Error| error.to_string();
    match kind.as_str() {
        "script" if begun => Err("a script line must be the first".to_string()),
        "script" => {
            let setup: Setup = serde_json::from_value(json).map_err(bad)?;
            if setup.version != 1 {
                return Err(format!("version {} is not known; expected 1", setup.version));
            }
            Ok(Read::Setup(Box::new(setup)))
        }
        "turn" => {
            let raw: RawTurn = serde_json::from_value(json).map_err(bad)?;
            let lane = raw.lane.clone();
            Ok(Read::Line(lane, LineKind::Turn(Box::new(turn(raw)?))))
        }
        "fault" => {
            let raw: RawFault = serde_json::from_value(json).map_err(bad)?;
            if raw.after.is_some() {
                return Err("\"after\" belongs to a fault inside a turn".to_string());
            }
            Ok(Read::Line(raw.lane.clone(), LineKind::Fault(fault(raw)?)))
        }
        other => Err(format!("unknown type \"{other}\": expected script, turn or fault")),
    }
}

fn turn(raw: RawTurn) -> Result<Turn, String> {
    let fault = match raw.fault {
        Some(raw) => Some((raw.after.unwrap_or(0), fault(raw)?)),
        None => None,
    };
    Ok(Turn {
        content: raw.content.into_iter().map(piece).collect::<Result<_, _>>()?,
        stop: raw.stop,
        usage: raw.usage,
        delay_ms: raw.delay_ms,
        chunk_delay_ms: raw.chunk_delay_ms,
        chunk: raw.chunk,
        expect: raw.expect,
        fault,
    })
}

fn piece(raw: RawPiece) -> Result<Piece, String> {
    match raw {
        RawPiece { text: Some(text), thinking: None, signature: None, tool_call: None } => Ok(Piece::Text(text)),
        RawPiece { text: None, thinking: Some(text), signature, tool_call: None } => {
            Ok(Piece::Thinking { text, signature })
        }
        RawPiece { text: None, thinking: None, signature: None, tool_call: Some(call) } => {
            let arguments = match (call.arguments, call.raw_arguments) {
                (Some(_), Some(_)) => {
                    return Err("a tool call has either \"arguments\" or \"rawArguments\"".to_string());
                }
                (Some(arguments), None) => arguments.to_string(),
                (None, raw) => raw.unwrap_or_default(),
            };
            Ok(Piece::Call { id: call.id, name: call.name, arguments })
        }
        _ => Err("a piece of content is one of {text}, {thinking, signature?}, {toolCall}".to_string()),
    }
}

fn fault(raw: RawFault) -> Result<Fault, String> {
    Ok(match raw.kind.as_str() {
        "http" => {
            let status = raw.status.filter(|status| (400..600).contains(status));
            let retry_after = raw.retry_after.map(|value| match value {
                Value::String(text) => text,
                other => other.to_string(),
            });
            Fault::Http {
                status: status.ok_or("an http fault needs a \"status\" of 400 to 599")?,
                body: raw.body,
                retry_after,
            }
        }
        "connect" => Fault::Connect,
        "network" => Fault::Network,
        "idle" => Fault::Idle,
        "malformed" => Fault::Malformed,
        "truncated" => Fault::Truncated,
        "overflow" => Fault::Overflow,
        "refusal" => Fault::Refusal,
        "error" => Fault::Error(raw.message.unwrap_or_else(|| "scripted error".to_string())),
        other => return Err(format!("unknown fault \"{other}\"")),
    })
}

/// Replaces the variables in each string.
fn replace(json: &mut Value, variables: &Variables) {
    match json {
        Value::String(text) if text.contains("${") => *text = filled(text, variables),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, variables)),
        Value::Object(fields) => fields.values_mut().for_each(|value| replace(value, variables)),
        _ => {}
    }
}

fn filled(text: &str, variables: &Variables) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        let name = after[2..].split_once('}').map(|(name, _)| name);
        let value = match name {
            Some("cwd") => Some(variables.cwd.as_str()),
            Some("sessionId") => Some(variables.session_id.as_str()),
            Some(name) => name.strip_prefix("env:").map(|name| {
                variables.env.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
            }),
            None => None,
        };
        match (value, name) {
            (Some(value), Some(name)) => {
                out.push_str(value);
                rest = &after[name.len() + 3..];
            }
            // Other text of this form is literal: a shell command may contain it.
            _ => {
                out.push_str("${");
                rest = &after[2..];
            }
        }
    }
    out.push_str(rest);
    out
}
