//! Decides which calls of a child may begin.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sinew_llm::message::ToolCall;
use sinew_tools::tool::Boxed;

use super::submission::{Submission, SubmitResult};
use crate::extension::{Context, Extension, Verdict};

/// Refuses calls after the result of a child, in its last turn, and of tools that its parent has and it must not use.
/// The list of tools is unchanged, so that the cached prefix of requests stays valid.
pub struct ChildGate {
    submission: Arc<Submission>,
    /// The names of listed tools that the child must not use.
    refused: Vec<String>,
    is_last_turn: AtomicBool,
}

impl ChildGate {
    /// Creates a gate that refuses the tools `refused`.
    #[must_use]
    pub fn new(submission: Arc<Submission>, refused: Vec<String>) -> ChildGate {
        ChildGate { submission, refused, is_last_turn: AtomicBool::new(false) }
    }

    /// Refuses all calls except `submit_result` from now on.
    pub fn begin_last_turn(&self) {
        self.is_last_turn.store(true, Ordering::Relaxed);
    }

    fn refusal(&self, tool: &str) -> Option<String> {
        if tool == SubmitResult::NAME {
            return None;
        }
        if self.submission.is_over() {
            return Some("The result was handed in; no other call runs.".into());
        }
        if self.is_last_turn.load(Ordering::Relaxed) {
            return Some(format!("A limit is reached; only {} can be called.", SubmitResult::NAME));
        }
        let is_refused = self.refused.iter().any(|name| name == tool);
        is_refused.then(|| format!("A subagent that continues a conversation cannot use {tool}."))
    }
}

impl Extension for ChildGate {
    fn name(&self) -> Cow<'static, str> {
        "subagent".into()
    }

    fn before_tool_call<'a>(&'a self, call: &'a ToolCall, _: &'a Context) -> Boxed<'a, Result<Verdict, String>> {
        let refusal = self.refusal(&call.name);
        Box::pin(async move { Ok(refusal.map_or(Verdict::Allow, Verdict::Block)) })
    }
}
