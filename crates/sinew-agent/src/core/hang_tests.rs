//! Tests models, providers and hooks that break their contract.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sinew_llm::event::{EventStream, StreamEvent};
use sinew_llm::message::{AgentMessage, AssistantMessage, StopReason};
use sinew_llm::provider::{Provider, Request};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::tests::{TestEnv, echo, say};
use crate::event::Event;
use crate::extension::{Context, Extension, Verdict};
use crate::test_tools::{TestTool, calls, text, tool, user};
use sinew_llm::message::ToolCall;
use sinew_tools::tool::{Boxed, Concurrency, Tool, ToolError, ToolFlags, ToolOutput};

/// A provider that ignores cancellation.
struct Deaf {
    talks: bool,
}

impl Provider for Deaf {
    fn api(&self) -> &str {
        "deaf"
    }

    fn stream(&self, _: Request, _: CancellationToken) -> EventStream {
        let talks = self.talks;
        EventStream::run(AssistantMessage::default(), move |out| async move {
            if !talks {
                return std::future::pending().await;
            }
            out.send(StreamEvent::Start).await;
            out.send(StreamEvent::TextStart { content_index: 0 }).await;
            while out.send(StreamEvent::TextDelta { content_index: 0, delta: "x".into() }).await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_provider_is_abandoned_within_a_second() {
    for talks in [false, true] {
        let env = TestEnv::new(vec![], vec![]);
        let begun = Instant::now();
        let abort = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            env.cancel.cancel();
        };
        let mut messages = Vec::new();
        let deaf = Deaf { talks };
        let (ended, ()) = tokio::join!(env.run_with(&deaf, &mut messages), abort);
        assert_eq!(ended.answer.unwrap().stop_reason, StopReason::Aborted);
        assert!(begun.elapsed() <= Duration::from_millis(6_100), "{talks}: {:?}", begun.elapsed());
    }
}

/// An extension whose hook of the given name hangs or panics, either inside its future or before it returns one.
struct Bad {
    hook: &'static str,
    does: &'static str,
}

impl Bad {
    fn act<'a, T: Send + 'a>(&self, hook: &str, else_gives: T) -> Boxed<'a, T> {
        match self.does {
            _ if self.hook != hook => Box::pin(async { else_gives }),
            "panic at once" => panic!("bad hook"),
            "panic" => Box::pin(async { panic!("bad hook") }),
            _ => Box::pin(std::future::pending()),
        }
    }
}

impl Extension for Bad {
    fn name(&self) -> Cow<'static, str> {
        "bad".into()
    }

    fn before_tool_call<'a>(&'a self, _: &'a ToolCall, _: &'a Context) -> Boxed<'a, Result<Verdict, String>> {
        self.act("before", Ok(Verdict::Allow))
    }

    fn after_tool_call<'a>(
        &'a self,
        _: &'a ToolCall,
        output: ToolOutput,
        _: &'a Context,
    ) -> Boxed<'a, Result<ToolOutput, String>> {
        self.act("after", Ok(output))
    }

    fn transform_context<'a>(
        &'a self,
        _: &'a [AgentMessage],
        _: &'a Context,
    ) -> Boxed<'a, Result<Option<Vec<AgentMessage>>, String>> {
        self.act("context", Ok(None))
    }

    fn on_event<'a>(&'a self, _: &'a Event, _: &'a Context) -> Boxed<'a, Result<(), String>> {
        self.act("event", Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn no_hook_ends_a_run_by_hanging_or_by_a_panic() {
    for hook in ["before", "after", "context", "event"] {
        for does in ["panic at once", "panic", "hang"] {
            let mut env = TestEnv::new(vec![calls(&[("1", "echo", say("x"))]), text("ok")], vec![echo()]);
            env.extensions.push(Arc::new(Bad { hook, does }));
            let ended = env.run(&mut Vec::new()).await;
            assert_eq!(ended.answer.unwrap().text(), "ok", "{hook} {does}");
            let (said, failed) = env.results().remove(0);
            assert_eq!(failed, hook == "before", "{hook} {does}: {said}");
            assert_eq!(env.names().contains(&"extension_error".into()), hook != "before", "{hook} {does}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_hook_delays_an_abort_by_more_than_a_second() {
    for hook in ["before", "after", "context", "event"] {
        let mut env = TestEnv::new(vec![calls(&[("1", "echo", say("x"))])], vec![echo()]);
        env.extensions.push(Arc::new(Bad { hook, does: "hang" }));
        let begun = Instant::now();
        let abort = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            env.cancel.cancel();
        };
        let mut messages = Vec::new();
        tokio::join!(env.run(&mut messages), abort);
        // The scripted provider ignores cancellation as well; it accounts for one second.
        let took = begun.elapsed().checked_sub(Duration::from_secs(5)).unwrap();
        assert!(took <= Duration::from_secs(2), "{hook}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_tool_is_abandoned_unless_it_must_finish() {
    let made = |name, non_abortable| {
        let flags = ToolFlags { non_abortable, ..ToolFlags::default() };
        let body = |_| -> Boxed<'static, Result<ToolOutput, ToolError>> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Ok(ToolOutput::text("written"))
            })
        };
        Arc::new(TestTool { name, concurrency: Concurrency::Shared, flags, body }) as Arc<dyn Tool>
    };
    for (name, seconds, expected) in [("deaf", 4, "Operation aborted"), ("write", 60, "written")] {
        let env = TestEnv::new(vec![calls(&[("1", name, json!({}))])], vec![made("deaf", false), made("write", true)]);
        let begun = Instant::now();
        let abort = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            env.cancel.cancel();
        };
        let mut messages = Vec::new();
        tokio::join!(env.run(&mut messages), abort);
        assert_eq!(env.results()[0].0, expected);
        assert_eq!(begun.elapsed().as_secs(), seconds, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_before_its_future_gets_a_result() {
    let panics = tool("panics", |_| panic!("at once"));
    let env = TestEnv::new(vec![calls(&[("1", "panics", json!({}))]), text("ok")], vec![panics]);
    env.run(&mut Vec::new()).await;
    assert_eq!(env.results(), [("Tool panics crashed: at once".to_string(), true)]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_found_by_the_name_that_models_use() {
    let find = tool("find", |_| Box::pin(async { Ok(ToolOutput::text("found")) }));
    let env = TestEnv::new(vec![calls(&[("1", "glob", json!({}))]), text("ok")], vec![find]);
    let mut messages = Vec::new();
    env.run(&mut messages).await;
    let AgentMessage::ToolResult(result) = &messages[2] else { panic!("{messages:?}") };
    assert_eq!((result.tool_name.as_str(), result.is_error), ("find", false));
}

#[tokio::test(start_paused = true)]
async fn a_run_handles_many_calls_large_arguments_and_empty_turns() {
    let ids: Vec<String> = (0..200).map(|at| (at % 7).to_string()).collect();
    let many: Vec<(&str, &str, Value)> = ids.iter().map(|id| (id.as_str(), "echo", say(id))).collect();
    let large = "x".repeat(10_000_000);
    let env = TestEnv::new(vec![calls(&many), calls(&[("big", "echo", say(&large))]), text("")], vec![echo()]);
    let mut messages = Vec::new();
    env.run(&mut messages).await;
    let results = env.results();
    assert_eq!(results.len(), 201);
    assert!(results[..200].iter().zip(&ids).all(|((said, _), id)| said == id));
    assert_eq!(results[200].0.len(), large.len());
    assert_eq!(messages.last(), Some(&AgentMessage::from(text(""))));
    assert_eq!(messages[0], user("go"));
}
