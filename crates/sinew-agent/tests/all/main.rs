//! Tests of hooks with real processes, of MCP servers, and of the agent with a model behind a real socket.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue panics")]

mod hooks;
mod mcp;
mod served;

use serde_json::Value;
use sinew_agent::extension::Context;
use sinew_llm::message::ToolCall;
use tokio_util::sync::CancellationToken;

pub(crate) fn context() -> Context {
    Context {
        cwd: "/".into(),
        session: "s1".into(),
        file: Some("/f.jsonl".into()),
        has_ui: false,
        requester: None,
        recorder: None,
        cancel: CancellationToken::new(),
    }
}

pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "c1".into(), name: name.into(), arguments, ..ToolCall::default() }
}
