use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sinew_llm::message::{
    AgentMessage, AssistantMessage, BashExecution, Block, LlmMessage, StopReason, ToolCall, ToolResultMessage,
};
use sinew_llm::provider::{Provider, Request};
use sinew_session::clock::FixedClock;
use sinew_tools::tool::{Boxed, Concurrency, Tool, ToolError, ToolFlags, ToolOutput};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::event::Event;
use crate::extension::{Context, Extension, Verdict};
use crate::test_tools::{ScriptedProvider, TestTool, calls, text, tool, user};

pub(super) fn echo() -> Arc<dyn Tool> {
    tool("echo", |call| {
        Box::pin(async move { Ok(ToolOutput::text(call.arguments["say"].as_str().unwrap_or_default())) })
    })
}

/// A tool that waits for its cancellation and reports it.
fn waits(begun: &Arc<Notify>) -> Arc<dyn Tool> {
    let begun = Arc::clone(begun);
    tool("waits", move |call| {
        let begun = Arc::clone(&begun);
        Box::pin(async move {
            let ended = Arc::new(Notify::new());
            let bell = Arc::clone(&ended);
            let _hook = call.cancel.on_cancel(move || bell.notify_one());
            begun.notify_one();
            ended.notified().await;
            Err(ToolError::Aborted)
        })
    })
}

#[derive(Default)]
struct RecordingSink {
    events: Mutex<Vec<Event>>,
    journal: Mutex<Vec<AgentMessage>>,
}

impl Sink for RecordingSink {
    fn emit(&self, event: Event) -> Boxed<'_, ()> {
        Box::pin(async move {
            if let Event::MessageEnd { message } = &event {
                let kept = self.journal.lock().unwrap().last().cloned();
                assert_eq!(kept.as_ref(), Some(message), "a message is stored before its end is emitted");
            }
            self.events.lock().unwrap().push(event);
        })
    }
}

impl Journal for RecordingSink {
    fn message(&self, message: &mut AgentMessage) {
        self.journal.lock().unwrap().push(message.clone());
    }

    fn take_back(&self) -> Result<(), String> {
        let mut journal = self.journal.lock().unwrap();
        let at = journal.iter().rposition(|message| matches!(message, AgentMessage::Assistant(_)));
        journal.truncate(at.ok_or("there is no answer")?);
        Ok(())
    }
}

/// The inputs of a run, empty by default.
pub(super) struct TestEnv {
    provider: ScriptedProvider,
    tools: Toolset,
    pub(super) extensions: Vec<Arc<dyn Extension>>,
    queues: Queues,
    kept: RecordingSink,
    clock: FixedClock,
    context: Context,
    settings: RunSettings,
    pub(super) cancel: CancellationToken,
    pub(super) monitor: Option<Box<dyn StreamMonitor>>,
}

impl TestEnv {
    pub(super) fn new(answers: Vec<AssistantMessage>, tools: Vec<Arc<dyn Tool>>) -> TestEnv {
        let cancel = CancellationToken::new();
        let context = Context { cwd: "/".into(), session: "s".into(), cancel: cancel.clone(), ..Context::default() };
        TestEnv {
            provider: ScriptedProvider::new(answers),
            tools: Toolset::new(tools).0,
            extensions: Vec::new(),
            queues: Queues::default(),
            kept: RecordingSink::default(),
            clock: FixedClock::at(5),
            context,
            settings: RunSettings::default(),
            cancel,
            monitor: None,
        }
    }

    pub(super) async fn run(&self, messages: &mut Vec<AgentMessage>) -> RunResult {
        self.run_with(&self.provider, messages).await
    }

    pub(super) async fn run_with(&self, provider: &dyn Provider, messages: &mut Vec<AgentMessage>) -> RunResult {
        let ask = |question: TurnRequest, observer, cancel| {
            provider.stream(Request { messages: question.messages, observer, ..Request::default() }, cancel)
        };
        let run = Run {
            ask: &ask,
            tools: &|| self.tools.clone(),
            extensions: &self.extensions,
            queues: &self.queues,
            journal: &self.kept,
            sink: &self.kept,
            clock: &self.clock,
            context: &self.context,
            settings: &|| self.settings,
            pause: &|_| false,
            over_budget: &|| false,
            monitor: self.monitor.as_deref(),
            cancel: self.cancel.clone(),
            turns: 0,
            cuts: 0,
            pauses: 0,
        };
        let ended = run.run(messages, vec![user("go")]).await;
        self.laws(messages);
        ended
    }

    /// Checks the invariants of every run, however it ends.
    fn laws(&self, messages: &[AgentMessage]) {
        let events = self.kept.events.lock().unwrap();
        let count = |kind: fn(&Event) -> bool| events.iter().filter(|event| kind(event)).count();
        assert!(matches!(events.first(), Some(Event::AgentStart)));
        assert!(matches!(events.last(), Some(Event::AgentEnd { .. })));
        assert_eq!(
            count(|event| matches!(event, Event::TurnStart)),
            count(|event| matches!(event, Event::TurnEnd { .. }))
        );
        assert_eq!(
            count(|event| matches!(event, Event::MessageStart { .. })),
            count(|event| matches!(event, Event::MessageEnd { .. }))
        );
        assert_eq!(*self.kept.journal.lock().unwrap(), messages, "the journal equals the context");
        // A strict provider accepts the next prompt: repair does not need to invent results.
        let sent = repair(messages);
        let results = messages.iter().filter(|message| matches!(message, AgentMessage::ToolResult(_))).count();
        assert_eq!(sent.iter().filter(|message| message.role() == "toolResult").count(), results);
    }

    pub(super) fn results(&self) -> Vec<(String, bool)> {
        let journal = self.kept.journal.lock().unwrap();
        let results = journal.iter().filter_map(|message| match message {
            AgentMessage::ToolResult(result) => Some((sinew_llm::message::text_of(&result.content), result.is_error)),
            _ => None,
        });
        results.collect()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let events = self.kept.events.lock().unwrap();
        events.iter().map(|event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_string()).collect()
    }
}

pub(super) fn say(text: &str) -> Value {
    json!({"say": text})
}

#[tokio::test(start_paused = true)]
async fn a_run_emits_its_steps_in_order_and_merges_deltas() {
    let env = TestEnv::new(vec![calls(&[("1", "echo", say("hi"))]), text("a b c")], vec![echo()]);
    let mut messages = Vec::new();
    let ended = env.run(&mut messages).await;
    let expected = "agent_start message_start message_end turn_start message_start message_update message_update \
        message_end tool_execution_start tool_execution_end message_start message_end turn_end turn_start message_start \
        message_update message_update message_update message_end turn_end agent_end";
    assert_eq!(env.names().join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(ended.answer.unwrap().text(), "a b c");
    assert_eq!(env.results(), [("hi".to_string(), false)]);
    assert_eq!(ended.turns, 2);
}

#[tokio::test(start_paused = true)]
async fn calls_that_cannot_run_get_an_error_with_the_reason() {
    let mut broken = ToolCall { id: "4".into(), name: "echo".into(), ..ToolCall::default() };
    broken.invalid_arguments = Some("expected `,`".into());
    let mut answer = calls(&[
        ("1", "ecko", json!({})),
        ("2", "echo", json!({"say": 1})),
        ("3", "panics", json!({})),
        ("5", "ask", json!({"question": "Which?"})),
    ]);
    answer.content.push(Block::ToolCall(broken));
    let panics = tool("panics", |_| Box::pin(async { panic!("oh no") }));
    let env = TestEnv::new(vec![answer, text("ok")], vec![echo(), panics]);
    env.run(&mut Vec::new()).await;
    let expected = [
        "Tool ecko not found. Available: echo, panics",
        "Validation failed for tool \"echo\":\n  /say: must be string, not number\n\nReceived: {\"say\":1}",
        "Tool panics crashed: oh no",
        "Tool ask not found: no user can answer here; decide yourself and say what you assumed, or end your turn \
         with the question.",
        "Invalid JSON in tool arguments: expected `,`",
    ];
    assert_eq!(env.results(), expected.map(|text| (text.to_string(), true)));
}

#[tokio::test(start_paused = true)]
async fn results_are_in_the_order_of_the_calls() {
    let slow = tool("slow", |_| {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(9)).await;
            Ok(ToolOutput::text("slow"))
        })
    });
    let env = TestEnv::new(
        vec![calls(&[("1", "slow", json!({})), ("2", "echo", say("quick"))]), text("ok")],
        vec![slow, echo()],
    );
    env.run(&mut Vec::new()).await;
    assert_eq!(env.results(), [("slow".to_string(), false), ("quick".to_string(), false)]);
}

#[tokio::test(start_paused = true)]
async fn exclusive_calls_never_overlap() {
    let inside = Arc::new(AtomicUsize::new(0));
    let alone = |name: &'static str| -> Arc<dyn Tool> {
        let inside = Arc::clone(&inside);
        let body = move |_| -> Boxed<'static, Result<ToolOutput, ToolError>> {
            let inside = Arc::clone(&inside);
            Box::pin(async move {
                let others = inside.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
                Ok(ToolOutput::text(others.to_string()))
            })
        };
        Arc::new(TestTool { name, concurrency: Concurrency::Exclusive, flags: ToolFlags::default(), body })
    };
    let (one, two) = (alone("one"), alone("two"));
    let answer =
        calls(&[("1", "one", json!({})), ("2", "two", json!({})), ("3", "echo", say("x")), ("4", "one", json!({}))]);
    let env = TestEnv::new(vec![answer, text("ok")], vec![one, two, echo()]);
    env.run(&mut Vec::new()).await;
    let said: Vec<String> = env.results().into_iter().map(|(text, _)| text).collect();
    assert_eq!(said, ["0", "0", "x", "0"]);
}

/// Records each call that it is asked about, and refuses a call whose `say` is already in the list.
struct Notes(Arc<Mutex<Vec<String>>>);

impl Extension for Notes {
    fn name(&self) -> Cow<'static, str> {
        "notes".into()
    }

    fn before_tool_call<'a>(&'a self, call: &'a ToolCall, _: &'a Context) -> Boxed<'a, Result<Verdict, String>> {
        Box::pin(async move {
            let mut done = self.0.lock().unwrap();
            let refused = done.contains(&format!("did {}", call.arguments["say"].as_str().unwrap_or_default()));
            done.push(format!("asked {}", call.id));
            Ok(if refused { Verdict::Block("too late".into()) } else { Verdict::Allow })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_checked_when_it_starts() {
    let done: Arc<Mutex<Vec<String>>> = Arc::default();
    let made = |name: &'static str, concurrency: Concurrency| -> Arc<dyn Tool> {
        let done = Arc::clone(&done);
        let body = move |call: sinew_tools::tool::Call| -> Boxed<'static, Result<ToolOutput, ToolError>> {
            let done = Arc::clone(&done);
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                done.lock().unwrap().push(format!("did {}", call.id));
                Ok(ToolOutput::text("did"))
            })
        };
        Arc::new(TestTool { name, concurrency, flags: ToolFlags::default(), body })
    };
    let tools = vec![made("writes", Concurrency::Exclusive), made("reads", Concurrency::Shared)];
    let not_after = say;
    let answer = calls(&[
        ("1", "writes", json!({})),
        ("2", "writes", not_after("1")),
        ("3", "reads", not_after("1")),
        ("4", "reads", not_after("3")),
        ("5", "reads", json!({})),
        ("6", "writes", not_after("5")),
    ]);
    for execution in [ToolExecution::Parallel, ToolExecution::Sequential] {
        done.lock().unwrap().clear();
        let mut env = TestEnv::new(vec![answer.clone(), text("ok")], tools.clone());
        env.settings.execution = execution;
        env.extensions.push(Arc::new(Notes(Arc::clone(&done))));
        env.run(&mut Vec::new()).await;
        let failed: Vec<bool> = env.results().into_iter().map(|(_, failed)| failed).collect();
        assert_eq!(failed, [false, true, true, false, false, true], "{execution:?}");
        let order = done.lock().unwrap().join(", ");
        let expect = match execution {
            ToolExecution::Parallel => "asked 1, did 1, asked 2, asked 3, asked 4, asked 5, did 4, did 5, asked 6",
            ToolExecution::Sequential => "asked 1, did 1, asked 2, asked 3, asked 4, did 4, asked 5, did 5, asked 6",
        };
        assert_eq!(order, expect);
    }
}

#[tokio::test(start_paused = true)]
async fn steering_ends_tools_that_allow_it_skips_the_rest_and_is_answered() {
    let begun = Arc::new(Notify::new());
    let alone = TestTool {
        name: "later",
        concurrency: Concurrency::Exclusive,
        flags: ToolFlags::default(),
        body: |_| -> Boxed<'static, Result<ToolOutput, ToolError>> { Box::pin(async { Ok(ToolOutput::text("ran")) }) },
    };
    let answer = calls(&[("1", "echo", say("done")), ("2", "waits", json!({})), ("3", "later", json!({}))]);
    let mut env = TestEnv::new(vec![answer, text("ok")], vec![echo(), waits(&begun), Arc::new(alone)]);
    env.settings.interrupt = Interrupt::Immediate;
    let steer = async {
        begun.notified().await;
        env.queues.steer(vec![user("stop that")]).unwrap();
    };
    let mut messages = Vec::new();
    let (ended, ()) = tokio::join!(env.run(&mut messages), steer);
    let expected = [("done", false), ("Operation aborted", true), ("Skipped due to queued user message.", true)];
    assert_eq!(env.results(), expected.map(|(text, failed)| (text.to_string(), failed)));
    assert_eq!(messages[messages.len() - 2], user("stop that"));
    assert_eq!(ended.answer.unwrap().text(), "ok");
}

#[tokio::test(start_paused = true)]
async fn steering_waits_for_running_tools_and_skips_the_rest() {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (bell, gate) = (Arc::clone(&begun), Arc::clone(&go));
    let held = tool("held", move |call| {
        let (bell, gate) = (Arc::clone(&bell), Arc::clone(&gate));
        Box::pin(async move {
            bell.notify_one();
            gate.notified().await;
            Ok(ToolOutput::text(if call.cancel.is_cancelled() { "ended" } else { "whole" }))
        })
    });
    let answer = calls(&[("1", "held", json!({})), ("2", "echo", say("done"))]);
    let mut env = TestEnv::new(vec![answer, text("ok")], vec![held, echo()]);
    assert_eq!(env.settings.interrupt, Interrupt::Wait);
    env.settings.execution = ToolExecution::Sequential;
    let steer = async {
        begun.notified().await;
        env.queues.steer(vec![user("and that")]).unwrap();
        // Long enough for an implementation that would cancel the batch.
        tokio::time::sleep(Duration::from_secs(1)).await;
        go.notify_one();
    };
    let mut messages = Vec::new();
    let (ended, ()) = tokio::join!(env.run(&mut messages), steer);
    let expected = [("whole", false), ("Skipped due to queued user message.", true)];
    assert_eq!(env.results(), expected.map(|(text, failed)| (text.to_string(), failed)));
    assert_eq!(messages[messages.len() - 2], user("and that"));
    assert_eq!(ended.answer.unwrap().text(), "ok");
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_a_hanging_provider_and_leaves_a_valid_transcript() {
    let env = TestEnv::new(vec![], vec![]);
    let mut messages = Vec::new();
    let abort = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        env.cancel.cancel();
    };
    let (ended, ()) = tokio::join!(env.run(&mut messages), abort);
    let answer = ended.answer.unwrap();
    assert_eq!(
        (answer.stop_reason, answer.error_message.as_deref()),
        (StopReason::Aborted, Some("Request was aborted"))
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_while_tools_run_answers_every_call() {
    let begun = Arc::new(Notify::new());
    let answer = calls(&[("1", "waits", json!({})), ("2", "echo", say("x"))]);
    let env = TestEnv::new(vec![answer], vec![waits(&begun), echo()]);
    let abort = async {
        begun.notified().await;
        env.cancel.cancel();
    };
    let mut messages = Vec::new();
    let start = tokio::time::Instant::now();
    tokio::join!(env.run(&mut messages), abort);
    // The clock is paused: a tool that ends after its cancellation causes no delay.
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(env.results().len(), 2);
    assert_eq!(env.results()[0], ("Operation aborted".to_string(), true));
}

#[tokio::test(start_paused = true)]
async fn calls_of_an_answer_that_was_cut_never_run() {
    let mut cut = calls(&[("1", "echo", say("x"))]);
    cut.stop_reason = StopReason::Length;
    let env = TestEnv::new(vec![cut, text("ok")], vec![echo()]);
    env.run(&mut Vec::new()).await;
    let expected = "The reply was cut off by the output limit. This call was not run; send it again.";
    assert_eq!(env.results(), [(expected.to_string(), true)]);
}

#[tokio::test(start_paused = true)]
async fn duplicate_ids_get_their_own_results() {
    let answer = calls(&[("same", "echo", say("a")), ("same", "echo", say("b"))]);
    let env = TestEnv::new(vec![answer, calls(&[("same", "echo", say("c"))]), text("ok")], vec![echo()]);
    let mut messages = Vec::new();
    env.run(&mut messages).await;
    let ids: Vec<String> = messages
        .iter()
        .filter_map(|message| match message {
            AgentMessage::ToolResult(result) => Some(result.tool_call_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["same", "same_2", "same_3"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_stops_at_its_limit_of_turns() {
    let mut env =
        TestEnv::new(vec![calls(&[("1", "echo", say("x"))]), calls(&[("2", "echo", say("y"))])], vec![echo()]);
    env.settings.max_turns = 2;
    let ended = env.run(&mut Vec::new()).await;
    assert!(ended.limited);
    assert!(env.names().contains(&"limit_reached".to_string()));
}

#[tokio::test(start_paused = true)]
async fn follow_ups_are_sent_when_the_agent_would_stop() {
    let env = TestEnv::new(vec![text("one"), text("two"), text("three")], vec![]);
    env.queues.follow_up(vec![user("more")]).unwrap();
    env.queues.follow_up(vec![user("still more")]).unwrap();
    let ended = env.run(&mut Vec::new()).await;
    assert_eq!(ended.answer.unwrap().text(), "three");
    for _ in 0..QUEUE_LIMIT {
        env.queues.follow_up(vec![user("x")]).unwrap();
    }
    assert_eq!(env.queues.follow_up(vec![user("x")]), Err(QueueFull));
}

/// A hook with one of the behaviours that must block a call.
struct Hook(&'static str);

impl Extension for Hook {
    fn name(&self) -> Cow<'static, str> {
        "guard".into()
    }

    fn before_tool_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        _context: &'a Context,
    ) -> Boxed<'a, Result<Verdict, String>> {
        Box::pin(async move {
            match self.0 {
                "block" => Ok(Verdict::Block("not here".into())),
                "fail" => Err("exit code 1".into()),
                "panic" => panic!("bad hook"),
                "hang" => std::future::pending().await,
                "replace" => Ok(Verdict::Replace(say("other"))),
                _ => Ok(Verdict::Replace(json!({"say": 1}))),
            }
        })
    }

    fn after_tool_call<'a>(
        &'a self,
        _: &'a ToolCall,
        output: ToolOutput,
        _: &'a Context,
    ) -> Boxed<'a, Result<ToolOutput, String>> {
        Box::pin(async move { if self.0 == "replace" { Err("late".into()) } else { Ok(output) } })
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_does_not_allow_blocks() {
    let cases = [
        ("block", "not here"),
        ("fail", "Hook guard failed: exit code 1"),
        ("panic", "Hook guard failed: bad hook"),
        ("hang", "Hook guard failed: no answer within 30 s"),
        (
            "nonsense",
            "Validation failed for tool \"echo\":\n  /say: must be string, not number\n\nReceived: {\"say\":1}",
        ),
    ];
    for (does, expected) in cases {
        let mut env = TestEnv::new(vec![calls(&[("1", "echo", say("x"))]), text("ok")], vec![echo()]);
        env.extensions.push(Arc::new(Hook(does)));
        env.run(&mut Vec::new()).await;
        assert_eq!(env.results(), [(expected.to_string(), true)], "{does}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_may_replace_arguments_and_a_late_failure_keeps_the_result() {
    let mut env = TestEnv::new(vec![calls(&[("1", "echo", say("x"))]), text("ok")], vec![echo()]);
    env.extensions.push(Arc::new(Hook("replace")));
    env.run(&mut Vec::new()).await;
    assert_eq!(env.results(), [("other".to_string(), false)]);
    assert!(env.names().contains(&"extension_error".to_string()));
}

#[test]
fn repair_moves_results_after_their_calls_and_drops_orphans() {
    let call = AgentMessage::from(calls(&[("1", "a", json!({})), ("2", "b", json!({}))]));
    let result = |id: &str| {
        AgentMessage::from(sinew_llm::message::ToolResultMessage { tool_call_id: id.into(), ..Default::default() })
    };
    let mut failed = text("  ");
    failed.stop_reason = StopReason::Error;
    let messages = [user("x"), result("9"), call, user("y"), result("2"), AgentMessage::from(failed)];
    let shape: Vec<String> = repair(&messages)
        .iter()
        .map(|message| match &**message {
            sinew_llm::message::LlmMessage::ToolResult(result) => {
                format!("{} {}", result.tool_call_id, result.is_error)
            }
            other => other.role().to_string(),
        })
        .collect();
    assert_eq!(shape, ["user", "assistant", "1 true", "2 false", "user"]);
}

#[test]
fn repair_drops_truncated_calls_and_private_messages_and_adds_missing_results() {
    let cut = ToolCall { id: "1".into(), partial_json: Some("{".into()), ..ToolCall::default() };
    let failed = |call: ToolCall| {
        let (content, stop_reason) = (vec![Block::ToolCall(call)], StopReason::Error);
        AgentMessage::from(AssistantMessage { content, stop_reason, ..AssistantMessage::default() })
    };
    let result = |text: &str| {
        let (tool_call_id, content) = ("2".into(), vec![Block::text(text)]);
        AgentMessage::from(ToolResultMessage { tool_call_id, content, ..ToolResultMessage::default() })
    };
    let call = || AgentMessage::from(calls(&[("2", "echo", json!({}))]));
    let run = BashExecution { exclude_from_context: Some(true), ..BashExecution::default() };
    let list = [failed(cut), call(), result("first"), result("again"), call(), AgentMessage::BashExecution(run)];
    let texts: Vec<String> = repair(&list)
        .iter()
        .map(|message| match &**message {
            LlmMessage::ToolResult(result) => sinew_llm::message::text_of(&result.content),
            other => other.role().to_string(),
        })
        .collect();
    assert_eq!(texts, ["assistant", "first", "assistant", "No result: the call was interrupted."]);
}
