//! Tests the rules with real processes: every command that a line runs must have been judged.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

mod attacks;
mod commands;
mod lines;

use serde_json::Value;
use sinew_llm::message::ToolCall;

pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "c1".into(), name: name.into(), arguments, ..ToolCall::default() }
}
