//! A provider, tools and messages that tests of the loop and of the agent share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::event::{EventStream, StreamEvent};
use sinew_llm::message::{
    AgentMessage, AssistantMessage, Block, Content, StopReason, TextBlock, ToolCall, UserMessage,
};
use sinew_llm::provider::{Provider, Request};
use tokio_util::sync::CancellationToken;

use crate::tool::{Boxed, Call, Concurrency, Tool, ToolError, ToolFlags, ToolOutput};

/// Answers with one message after another, or hangs after the last.
pub(crate) struct Played {
    pub(crate) answers: Vec<AssistantMessage>,
    pub(crate) next: AtomicUsize,
    pub(crate) asked: Mutex<Vec<Request>>,
}

impl Played {
    pub(crate) fn new(answers: Vec<AssistantMessage>) -> Played {
        Played { answers, next: AtomicUsize::new(0), asked: Mutex::default() }
    }
}

impl Provider for Played {
    fn api(&self) -> &str {
        "played"
    }

    fn stream(&self, request: Request, _cancel: CancellationToken) -> EventStream {
        self.asked.lock().unwrap().push(request);
        let answer = self.answers.get(self.next.fetch_add(1, Ordering::SeqCst)).cloned();
        EventStream::run(AssistantMessage::default(), move |out| async move {
            out.send(StreamEvent::Start).await;
            let Some(answer) = answer else { return std::future::pending().await };
            for (content_index, block) in answer.content.iter().enumerate() {
                match block {
                    Block::Text(text) => {
                        out.send(StreamEvent::TextStart { content_index }).await;
                        for delta in text.text.split_inclusive(' ') {
                            out.send(StreamEvent::TextDelta { content_index, delta: delta.into() }).await;
                        }
                        out.send(StreamEvent::TextEnd { content_index, signature: None }).await;
                    }
                    Block::ToolCall(call) => {
                        let (id, name) = (call.id.clone(), call.name.clone());
                        out.send(StreamEvent::ToolCallStart { content_index, id, name }).await;
                        let tool_call = Box::new(call.clone());
                        out.send(StreamEvent::ToolCallEnd { content_index, tool_call }).await;
                    }
                    _ => {}
                }
            }
            let reason = answer.stop_reason;
            if let Some(error) = answer.error.clone() {
                let (error, message) = (Box::new(error), Box::new(answer));
                out.send(StreamEvent::Error { reason, error, message }).await;
                return;
            }
            out.send(StreamEvent::Done { reason, message: Box::new(answer) }).await;
        })
    }
}

pub(crate) fn text(text: &str) -> AssistantMessage {
    let content = vec![Block::Text(TextBlock { text: text.into(), signature: None })];
    AssistantMessage { content, stop_reason: StopReason::Stop, ..AssistantMessage::default() }
}

pub(crate) fn calls(list: &[(&str, &str, Value)]) -> AssistantMessage {
    let content = list.iter().map(|(id, name, arguments)| {
        Block::ToolCall(ToolCall {
            id: (*id).into(),
            name: (*name).into(),
            arguments: arguments.clone(),
            ..ToolCall::default()
        })
    });
    AssistantMessage { content: content.collect(), stop_reason: StopReason::ToolUse, ..AssistantMessage::default() }
}

pub(crate) fn user(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage { content: Content::Text(text.into()), timestamp: 1 })
}

/// A tool made of a function.
pub(crate) struct Made<F> {
    pub(crate) name: &'static str,
    pub(crate) concurrency: Concurrency,
    pub(crate) flags: ToolFlags,
    pub(crate) body: F,
}

impl<F> Tool for Made<F>
where
    F: Fn(Call) -> Boxed<'static, Result<ToolOutput, ToolError>> + Send + Sync,
{
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "for tests"
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "additionalProperties": false, "properties": {"say": {"type": "string"}}})
    }

    fn concurrency(&self) -> Concurrency {
        self.concurrency
    }

    fn flags(&self) -> ToolFlags {
        self.flags
    }

    fn execute(&self, call: Call) -> Boxed<'_, Result<ToolOutput, ToolError>> {
        (self.body)(call)
    }
}

pub(crate) fn tool<F>(name: &'static str, body: F) -> Arc<dyn Tool>
where
    F: Fn(Call) -> Boxed<'static, Result<ToolOutput, ToolError>> + Send + Sync + 'static,
{
    Arc::new(Made { name, concurrency: Concurrency::Shared, flags: ToolFlags::default(), body })
}

/// An answer that failed.
pub(crate) fn failed(kind: ErrorKind, retry_after_ms: Option<u64>) -> AssistantMessage {
    let error = ErrorInfo { retry_after_ms, ..ErrorInfo::new(kind, "it failed") };
    AssistantMessage {
        stop_reason: StopReason::Error,
        error_message: Some(error.message.clone()),
        error: Some(error),
        ..text("partly")
    }
}
