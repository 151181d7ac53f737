//! A scripted provider without a socket, and the messages of its scripts.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::Value;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::event::{EventStream, StreamEvent};
use sinew_llm::message::{
    AgentMessage, AssistantMessage, Block, Content, StopReason, TextBlock, ToolCall, UserMessage,
};
use sinew_llm::provider::{Provider, Request};
use tokio_util::sync::CancellationToken;

/// Answers with one message after another, and hangs after the last.
pub struct ScriptedProvider {
    /// The script.
    pub answers: Vec<AssistantMessage>,
    /// The number of requests so far.
    pub next: AtomicUsize,
    /// The requests, in order.
    pub asked: Mutex<Vec<Request>>,
}

impl ScriptedProvider {
    /// Creates a provider at the beginning of its script.
    #[must_use]
    pub fn new(answers: Vec<AssistantMessage>) -> ScriptedProvider {
        ScriptedProvider { answers, next: AtomicUsize::new(0), asked: Mutex::default() }
    }
}

impl Provider for ScriptedProvider {
    fn api(&self) -> &str {
        "scripted"
    }

    fn stream(&self, request: Request, _cancel: CancellationToken) -> EventStream {
        self.asked.lock().push(request);
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

/// Returns an answer with one text.
#[must_use]
pub fn text(text: &str) -> AssistantMessage {
    let content = vec![Block::Text(TextBlock { text: text.into(), signature: None })];
    AssistantMessage { content, stop_reason: StopReason::Stop, ..AssistantMessage::default() }
}

/// Returns an answer that calls tools: id, name and arguments of each.
#[must_use]
pub fn calls(list: &[(&str, &str, Value)]) -> AssistantMessage {
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

/// Returns a message of the user.
#[must_use]
pub fn user(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage { content: Content::Text(text.into()), timestamp: 1 })
}

/// Returns a failed answer.
#[must_use]
pub fn failed(kind: ErrorKind, retry_after_ms: Option<u64>) -> AssistantMessage {
    let error = ErrorInfo { retry_after_ms, ..ErrorInfo::new(kind, "it failed") };
    AssistantMessage {
        stop_reason: StopReason::Error,
        error_message: Some(error.message.clone()),
        error: Some(error),
        ..text("partly")
    }
}
