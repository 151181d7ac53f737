//! Rules against real processes: what a line runs, the rules must have judged.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attacks;
mod commands;
mod lines;

use serde_json::Value;
use sinew_llm::message::ToolCall;

pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "c1".into(), name: name.into(), arguments, ..ToolCall::default() }
}
