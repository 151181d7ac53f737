//! Property test: every message, whenever it is sent, reaches the model once, or is returned, or refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::event::{EventStream, StreamEvent};
use sinew_llm::message::{AgentMessage, AssistantMessage, Block, StopReason, ToolCall};
use sinew_llm::provider::{Provider, Request};
use sinew_session::Defaults;
use sinew_tools::tool::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::tests::env;
use super::{Delivery, ResolvedModel};
use crate::core::{Interrupt, QueueMode, Toolset};
use crate::test_tools::{text, tool, user};

/// An action on the agent, a number of milliseconds after the previous one.
#[derive(Debug, Clone, Copy)]
enum Action {
    Prompt(Option<Delivery>),
    Queue(Delivery),
    TakeBack,
    Abort,
    Record,
    Compact,
}

/// The answer to a request, after a number of milliseconds.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Text,
    Call,
    Fails,
    Overflows,
}

fn action() -> impl Strategy<Value = (u64, Action)> {
    let streaming = || prop_oneof![Just(Delivery::Steer), Just(Delivery::FollowUp)];
    let action = prop_oneof![
        3 => prop::option::of(streaming()).prop_map(Action::Prompt),
        3 => streaming().prop_map(Action::Queue),
        1 => Just(Action::TakeBack),
        1 => Just(Action::Abort),
        1 => Just(Action::Record),
        1 => Just(Action::Compact),
    ];
    // All times are multiples of ten, so that actions often coincide with other events.
    ((0..4_u64).prop_map(|tens| tens * 10), action)
}

fn answer() -> impl Strategy<Value = (u64, Answer)> {
    let answer = prop_oneof![
        4 => Just(Answer::Text),
        4 => Just(Answer::Call),
        1 => Just(Answer::Fails),
        1 => Just(Answer::Overflows),
    ];
    ((0..3_u64).prop_map(|tens| tens * 10), answer)
}

/// A provider that returns the given answers in turn, and then texts without delay.
struct TimedProvider {
    answers: Mutex<std::vec::IntoIter<(u64, Answer)>>,
}

impl Provider for TimedProvider {
    fn api(&self) -> &str {
        "timed"
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> EventStream {
        let (after, kind) = self.answers.lock().unwrap().next().unwrap_or((0, Answer::Text));
        EventStream::run(AssistantMessage::default(), move |out| async move {
            out.send(StreamEvent::Start).await;
            let failed = |error: ErrorInfo| {
                let reason = if error.kind == ErrorKind::Aborted { StopReason::Aborted } else { StopReason::Error };
                let message = AssistantMessage {
                    stop_reason: reason,
                    error_message: Some(error.message.clone()),
                    error: Some(error.clone()),
                    ..AssistantMessage::default()
                };
                StreamEvent::Error { reason, error: Box::new(error), message: Box::new(message) }
            };
            let last = tokio::select! {
                () = cancel.cancelled() => failed(ErrorInfo::aborted()),
                () = tokio::time::sleep(Duration::from_millis(after)) => match kind {
                    Answer::Fails => failed(ErrorInfo::new(ErrorKind::Server, "no")),
                    Answer::Overflows => failed(ErrorInfo::new(ErrorKind::ContextOverflow, "full")),
                    Answer::Call => {
                        let (id, name) = (request.messages.len().to_string(), "slow".to_string());
                        let call = Block::ToolCall(ToolCall { id, name, arguments: json!({}), ..ToolCall::default() });
                        let stop_reason = StopReason::ToolUse;
                        let message = AssistantMessage { content: vec![call], stop_reason, ..AssistantMessage::default() };
                        StreamEvent::Done { reason: stop_reason, message: Box::new(message) }
                    }
                    Answer::Text => StreamEvent::Done { reason: StopReason::Stop, message: Box::new(text("ok")) },
                },
            };
            out.send(last).await;
        })
    }
}

/// Counts the texts of the user: `m0` and so on.
fn count<'a>(messages: impl IntoIterator<Item = &'a AgentMessage>, into: &mut BTreeMap<String, usize>) {
    for message in messages {
        if let AgentMessage::User(user) = message {
            *into.entry(user.content.text()).or_default() += 1;
        }
    }
}

async fn play(actions: Vec<(u64, Action)>, answers: Vec<(u64, Answer)>, modes: (bool, bool)) {
    let said = actions
        .iter()
        .filter(|(_, action)| matches!(action, Action::Prompt(_) | Action::Queue(_) | Action::Record))
        .count();
    let env = env(Vec::new(), |parts| {
        let provider = Arc::new(TimedProvider { answers: Mutex::new(answers.into_iter()) });
        parts.resolved = ResolvedModel { provider, ..parts.resolved.clone() };
        let slow = tool("slow", |call| {
            Box::pin(async move {
                let cancelled = Arc::new(tokio::sync::Notify::new());
                let bell = Arc::clone(&cancelled);
                let _hook = call.cancel.on_cancel(move || bell.notify_one());
                tokio::select! {
                    () = cancelled.notified() => Err(sinew_tools::tool::ToolError::Aborted),
                    () = tokio::time::sleep(Duration::from_millis(20)) => Ok(ToolOutput::text("x")),
                }
            })
        });
        parts.tools = Toolset::new([slow]).0;
        parts.settings.retry.base_delay_ms = 20;
        if modes.0 {
            (parts.settings.steering_mode, parts.settings.follow_up_mode) = (QueueMode::All, QueueMode::All);
        }
        parts.settings.run.interrupt = if modes.1 { Interrupt::Wait } else { Interrupt::Immediate };
    });
    let agent = Arc::new(env.agent);
    let mut listener = env.listener;
    tokio::spawn(async move { while listener.recv().await.is_some() {} });
    let mut returned = BTreeMap::new();
    let mut prompts = Vec::new();
    for (at, (after, action)) in actions.into_iter().enumerate() {
        tokio::time::sleep(Duration::from_millis(after)).await;
        let message = user(&format!("m{at}"));
        match action {
            Action::Prompt(streaming) => {
                let agent = Arc::clone(&agent);
                prompts.push(tokio::spawn(async move {
                    let refused = agent.prompt(vec![message.clone()], streaming).await.is_err();
                    refused.then_some(message)
                }));
            }
            Action::Queue(streaming) => agent.queue(message, streaming).await.unwrap(),
            Action::TakeBack => count(&agent.clear_queues().await.into_messages().collect::<Vec<_>>(), &mut returned),
            Action::Abort => agent.abort(),
            Action::Record => agent.record(message),
            Action::Compact => {
                let agent = Arc::clone(&agent);
                prompts.push(tokio::spawn(async move {
                    // There may be nothing to summarize.
                    let _ = agent.compact(None).await;
                    agent.take_up().await;
                    None
                }));
            }
        }
    }
    for prompt in prompts {
        count(&prompt.await.unwrap(), &mut returned);
    }
    // Messages that are still queued wait for the next prompt or are returned to the user.
    assert!(!agent.is_running());
    count(&agent.clear_queues().await.into_messages().collect::<Vec<_>>(), &mut returned);
    let mut all = returned;
    count(&agent.session().context(&Defaults::default()).unwrap().messages, &mut all);
    let expected = all.values().all(|count| *count == 1) && all.len() == said;
    assert!(expected, "{said} were sent, these were received or returned: {all:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_message_is_delivered_once_or_returned(
        actions in prop::collection::vec(action(), 1..12),
        answers in prop::collection::vec(answer(), 0..12),
        modes in any::<(bool, bool)>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(actions, answers, modes));
    }
}
