//! Tests of control over a working agent: models, tools, records, queues, aborts, closing.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::json;
use sinew_llm::error::ErrorKind;
use sinew_llm::message::{AgentMessage, AssistantMessage, BashExecution, StopReason};
use sinew_llm::model::Model;
use sinew_session::{Body, Defaults, Session};
use sinew_tools::tool::{Boxed, ToolOutput};
use sinew_tools::{Phase, Status, Task};
use tokio_util::sync::CancellationToken;

use super::lifecycle::Activity;
use super::tests::{TestEnv, env, options};
use super::{AgentSession, BranchSummaryChoice, Delivery, Meter, MeteredModels, ResolvedModel, Stop, WorkPermit};
use crate::compaction::{Limits, context_tokens};
use crate::core::{Interrupt, Toolset};
use crate::event::Event;
use crate::extension::{Context, Extension};
use crate::test_tools::{ScriptedProvider, calls, failed, text, tool, user};

fn ran(command: &str) -> AgentMessage {
    AgentMessage::BashExecution(BashExecution { command: command.into(), ..BashExecution::default() })
}

fn roles(agent: &AgentSession) -> Vec<&'static str> {
    agent.conversation().unwrap().iter().map(AgentMessage::role).collect()
}

#[tokio::test(start_paused = true)]
async fn another_model_and_other_tools_apply_from_the_next_turn_on() {
    let agent: Arc<OnceLock<Arc<AgentSession>>> = Arc::default();
    let second = Arc::new(ScriptedProvider::new(vec![calls(&[("2", "late", json!({}))]), text("done")]));
    let (held, provider) = (Arc::clone(&agent), Arc::clone(&second));
    let change = tool("change", move |_| {
        let (agent, provider) = (Arc::clone(held.get().unwrap()), Arc::clone(&provider));
        Box::pin(async move {
            let late = tool("late", |_| Box::pin(async { Ok(ToolOutput::text("it ran")) }));
            agent.set_tools(Toolset::new([late]).0, vec!["other words".into()]);
            let model = Model { id: "other".into(), ..agent.model().model };
            agent.set_model(ResolvedModel { provider, model, ..agent.model() }, None);
            agent.change_settings(|settings| settings.run.interrupt = Interrupt::Wait);
            Ok(ToolOutput::text("changed"))
        })
    });
    let made = env(vec![calls(&[("1", "change", json!({}))])], |parts| parts.tools = Toolset::new([change]).0);
    let (first, made_agent) = (Arc::clone(&made.provider), Arc::new(made.agent));
    assert!(agent.set(Arc::clone(&made_agent)).is_ok());
    let outcome = made_agent.prompt(vec![user("go")], None).await.unwrap();
    assert_eq!(outcome.stop, Stop::Done);
    assert_eq!((first.asked.lock().len(), second.asked.lock().len()), (1, 2));
    let asked = &second.asked.lock()[0];
    assert_eq!((asked.model.id.as_str(), asked.tools[0].name.as_str()), ("other", "late"));
    assert_eq!(asked.system[0].text, "other words");
    let results = made_agent.conversation().unwrap();
    assert!(results.iter().any(|message| format!("{message:?}").contains("it ran")), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn an_abort_cancels_an_accepted_prompt_before_its_run() {
    let env = env(vec![text("never")], |_| {});
    let accepted = env.agent.accept(vec![user("go")], None).await.unwrap();
    assert!(accepted.runs() && env.agent.is_running());
    assert!(env.agent.accept(vec![user("me too")], None).await.is_err());
    assert!(!env.agent.accept(vec![user("later")], Some(Delivery::FollowUp)).await.unwrap().runs());
    env.agent.abort();
    assert_eq!(accepted.run().await.stop, Stop::Aborted);
    // The prompt is kept, and the queued message stays in its queue.
    assert_eq!(roles(&env.agent)[0], "user");
    assert_eq!(env.agent.queued(), (vec![], vec!["later".to_string()]));
    env.agent.take_up().await;
    assert_eq!(env.agent.queued().1.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_message_recorded_during_a_run_follows_the_run() {
    let agent: Arc<OnceLock<Arc<AgentSession>>> = Arc::default();
    let held = Arc::clone(&agent);
    let record = tool("record", move |_| {
        let agent = Arc::clone(held.get().unwrap());
        Box::pin(async move {
            agent.record(ran("meanwhile"));
            Ok(ToolOutput::text("ok"))
        })
    });
    let made = env(vec![calls(&[("1", "record", json!({}))]), text("done"), text("more")], |parts| {
        parts.tools = Toolset::new([record]).0;
    });
    made.agent.record(ran("before"));
    let made_agent = Arc::new(made.agent);
    assert!(agent.set(Arc::clone(&made_agent)).is_ok());
    made_agent.prompt(vec![user("go")], None).await.unwrap();
    let expect = ["bashExecution", "user", "assistant", "toolResult", "assistant", "bashExecution"];
    assert_eq!(roles(&made_agent), expect);
    let live = made_agent.live_context();
    assert_eq!(live, made_agent.conversation().unwrap());
    let request = |at: usize| made.provider.asked.lock()[at].messages.len();
    made_agent.prompt(vec![user("again")], None).await.unwrap();
    assert_eq!((request(0), request(1), request(2)), (2, 4, 7));
}

/// An agent whose first answer is long, and whose summaries never arrive.
async fn long() -> TestEnv {
    let env = env(vec![text(&"a".repeat(40_000)), text("short")], |parts| {
        parts.settings.compaction.limits = Limits { reserve: 1_000, keep_recent: 100 };
    });
    env.agent.prompt(vec![user("one")], None).await.unwrap();
    env.agent.prompt(vec![user("two")], None).await.unwrap();
    env
}

#[tokio::test(start_paused = true)]
async fn a_compaction_can_be_cancelled_alone_and_queued_messages_follow() {
    let env = long().await;
    let agent = Arc::new(env.agent);
    let before = agent.conversation().unwrap();
    let compacting = tokio::spawn({
        let agent = Arc::clone(&agent);
        async move { agent.compact(None).await.map(drop).map_err(|error| error.to_string()) }
    });
    while !agent.is_compacting() {
        tokio::task::yield_now().await;
    }
    assert!(agent.is_running() && !agent.is_retrying());
    agent.queue(user("meanwhile"), Delivery::FollowUp).await.unwrap();
    assert!(agent.abort_compaction());
    assert!(compacting.await.unwrap().is_err());
    assert!(!agent.is_compacting() && !agent.abort_compaction() && !agent.is_running());
    assert_eq!(agent.conversation().unwrap(), before);
    // The provider hangs: the run has started and is aborted.
    let taken = tokio::spawn({
        let agent = Arc::clone(&agent);
        async move { agent.take_up().await }
    });
    while !agent.is_running() {
        tokio::task::yield_now().await;
    }
    agent.abort();
    taken.await.unwrap();
    assert!(agent.queued().1.is_empty());
    assert_eq!(roles(&agent)[before.len()], "user");
}

#[tokio::test(start_paused = true)]
async fn the_wait_before_a_retry_can_be_cancelled_alone() {
    let env = env(vec![failed(ErrorKind::Overloaded, Some(3_600_000))], |parts| {
        parts.settings.retry.max_delay_ms = u64::MAX;
    });
    let agent = Arc::new(env.agent);
    assert!(!agent.abort_retry());
    let prompt = tokio::spawn({
        let agent = Arc::clone(&agent);
        async move { agent.prompt(vec![user("go")], None).await.unwrap().stop }
    });
    while !agent.is_retrying() {
        tokio::task::yield_now().await;
    }
    assert!(agent.abort_retry());
    assert_eq!(prompt.await.unwrap(), Stop::Aborted);
    assert!(!agent.is_retrying());
}

/// Records its calls.
#[derive(Debug, Default)]
struct RecordedPermit(Mutex<Vec<&'static str>>);

impl WorkPermit for RecordedPermit {
    fn pause(&self) {
        self.0.lock().unwrap().push("pause");
    }

    fn resume(&self) -> Boxed<'_, ()> {
        self.0.lock().unwrap().push("resume");
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_returns_its_permit_while_it_waits_for_a_retry() {
    let permit = Arc::new(RecordedPermit::default());
    let env = env(vec![failed(ErrorKind::Overloaded, Some(1_000)), text("ok")], |parts| {
        let meter = Meter::with_permit(Arc::clone(&permit) as Arc<_>);
        parts.models = Arc::new(MeteredModels::new(Arc::clone(&parts.models), vec![Arc::new(meter)]));
    });
    assert_eq!(env.agent.prompt(vec![user("go")], None).await.unwrap().stop, Stop::Done);
    assert_eq!(*permit.0.lock().unwrap(), ["pause", "resume"]);
}

#[tokio::test(start_paused = true)]
async fn the_count_of_messages_is_that_of_the_context() {
    let answers = [vec![text(&"a".repeat(40_000))], vec![text("short"); 9]].concat();
    let env = env(answers, |parts| {
        parts.settings.compaction.limits = Limits { reserve: 1_000, keep_recent: 100 };
    });
    let agent = &env.agent;
    let check = || {
        let count = agent.session().context(&Defaults::default()).unwrap().messages.len();
        assert_eq!(agent.session().context_len().unwrap(), count);
        count
    };
    assert_eq!(check(), 0);
    agent.record(ran("ls"));
    assert_eq!(check(), 1);
    agent.prompt(vec![user("one")], None).await.unwrap();
    agent.prompt(vec![user("two")], None).await.unwrap();
    assert_eq!(check(), 5);
    agent.compact(None).await.unwrap();
    let kept = check();
    assert!(kept < 5, "{kept}");
    agent.prompt(vec![user("three")], None).await.unwrap();
    assert_eq!(check(), kept + 2);
    let points = agent.branch_points().unwrap();
    let texts: Vec<&str> = points.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    agent.navigate_tree(&points[1].0, BranchSummaryChoice::Silently).await.unwrap();
    assert_eq!(check(), 3);
    // All branches are counted, regardless of the context.
    let counts = agent.stats().unwrap();
    assert_eq!((counts.user_messages, counts.assistant_messages, counts.total_messages), (3, 3, 7));
    assert_eq!(agent.last_text().unwrap().map(|text| text.len()), Some(40_000));
}

#[tokio::test(start_paused = true)]
async fn the_mode_is_the_last_one_of_the_branch() {
    let env = env(vec![text("ok")], |_| {});
    let agent = &env.agent;
    let mode = || agent.session().mode().unwrap();
    assert_eq!(mode(), "none");
    agent.prompt(vec![user("go")], None).await.unwrap();
    agent.session().append(Body::ModeChange { mode: "plan".into(), data: None }).unwrap();
    assert_eq!(mode(), "plan");
    let first = agent.branch_points().unwrap()[0].0.clone();
    agent.navigate_tree(&first, BranchSummaryChoice::Silently).await.unwrap();
    assert_eq!(mode(), "none");
}

#[tokio::test(start_paused = true)]
async fn the_todo_list_is_the_last_one_of_the_branch() {
    let details = |name: &str| json!({"phases": [{"name": name, "tasks": []}]});
    let listing = tool("todo", move |_| {
        Box::pin(async move { Ok(ToolOutput::text("ok").with_details(details("of the model"))) })
    });
    let env = env(vec![calls(&[("1", "todo", json!({}))]), text("done")], |parts| {
        parts.tools = Toolset::new([listing]).0;
    });
    let agent = &env.agent;
    let found = || agent.session().todo(&["todo"]).unwrap().map(|list| list["phases"][0]["name"].clone());
    assert_eq!(found(), None);
    agent.prompt(vec![user("todo of words alone")], None).await.unwrap();
    assert_eq!(found(), Some(json!("of the model")));
    let task = Task { content: "c".into(), status: Status::Pending, notes: Vec::new() };
    agent.record_todo(&[Phase { name: "of the user".into(), tasks: vec![task] }]);
    assert_eq!(found(), Some(json!("of the user")));
    let first = agent.branch_points().unwrap()[0].0.clone();
    agent.navigate_tree(&first, BranchSummaryChoice::Silently).await.unwrap();
    assert_eq!(found(), None);
}

#[tokio::test(start_paused = true)]
async fn reading_the_session_prevents_no_run() {
    let env = env(vec![text("ok"); 200], |_| {});
    drop(env.listener);
    let agent = Arc::new(env.agent);
    let end = CancellationToken::new();
    let looker = std::thread::spawn({
        let (agent, end) = (Arc::clone(&agent), end.clone());
        move || {
            while !end.is_cancelled() {
                let _ = agent.is_running();
            }
        }
    });
    for _ in 0..200 {
        agent.prompt(vec![user("go")], None).await.unwrap();
    }
    end.cancel();
    looker.join().unwrap();
}

/// A function that is called once.
type Deed = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// Calls its function once, on the first event that matches.
struct When {
    looked_for: fn(&Event) -> bool,
    deed: Deed,
}

/// Returns the extension and the slot for its function.
fn when(looked_for: fn(&Event) -> bool) -> (Arc<dyn Extension>, Deed) {
    let deed = Deed::default();
    (Arc::new(When { looked_for, deed: Arc::clone(&deed) }), deed)
}

impl Extension for When {
    fn name(&self) -> Cow<'static, str> {
        "when".into()
    }

    fn on_event<'a>(&'a self, event: &'a Event, _: &'a Context) -> Boxed<'a, Result<(), String>> {
        Box::pin(async move {
            if (self.looked_for)(event)
                && let Some(deed) = self.deed.lock().unwrap().take()
            {
                deed();
            }
            Ok(())
        })
    }
}

/// Queues a message after the last check of a run that ends with `first`. Returns the stop, the last answer, and the
/// number of messages that are still queued.
async fn late(first: AssistantMessage, abort: bool) -> (Stop, String, usize) {
    // The failure to write a session is reported after the last check of the queues.
    let (when, deed) = when(|event| matches!(event, Event::Warning { .. }));
    let env = env(vec![first, text("late")], |parts| {
        let path = parts.cwd.join("nowhere");
        std::fs::write(&path, "a file where a folder should be").unwrap();
        parts.session = Session::create(path.join("s.jsonl"), "id".into(), options(&parts.cwd));
        parts.extensions = vec![when];
    });
    let agent = Arc::new(env.agent);
    let held = Arc::clone(&agent);
    *deed.lock().unwrap() = Some(Box::new(move || {
        held.queues.steer(vec![user("late")]).unwrap();
        if abort {
            held.abort();
        }
    }));
    let outcome = agent.prompt(vec![user("go")], None).await.unwrap();
    assert!(deed.lock().unwrap().is_none(), "nothing was queued");
    (outcome.stop, outcome.answer.unwrap().text(), agent.queued().0.len())
}

#[tokio::test(start_paused = true)]
async fn messages_queued_while_a_run_ends_are_handled_before_the_prompt_resolves() {
    let cut = AssistantMessage { stop_reason: StopReason::Length, ..text("cut") };
    assert_eq!(late(text("first"), false).await, (Stop::Done, "late".into(), 0));
    assert_eq!(late(cut, false).await, (Stop::Done, "late".into(), 0));
    // An abort cancels the follow-up runs; the message stays queued and can be returned to the user.
    assert_eq!(late(text("first"), true).await, (Stop::Done, "first".into(), 1));
    let (stop, _, waits) = late(failed(ErrorKind::InvalidRequest, None), false).await;
    assert!(matches!(stop, Stop::Failed(_)) && waits == 1, "{stop:?}");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_is_queued_when_the_run_has_just_ended_runs_itself() {
    let (when, deed) = when(|event| matches!(event, Event::QueueUpdate { .. }));
    let env = env(vec![text("steered")], |parts| parts.extensions = vec![when]);
    let agent: &'static AgentSession = Box::leak(Box::new(env.agent));
    // A run is active when the prompt checks for one, and has ended when the prompt is queued.
    let run = agent.conversation.context.begin(Activity::Run).unwrap();
    *deed.lock().unwrap() = Some(Box::new(move || drop(run)));
    let accepted = agent.accept(vec![user("now")], Some(Delivery::Steer)).await.unwrap();
    assert!(accepted.runs());
    assert_eq!(accepted.run().await.answer.unwrap().text(), "steered");
}

#[tokio::test(start_paused = true)]
async fn a_closed_session_starts_nothing_and_can_still_be_read() {
    let env = env(vec![text("one")], |_| {});
    env.agent.prompt(vec![user("go")], None).await.unwrap();
    env.agent.shut_down().await;
    let closed = "The session is closed: open it again to continue";
    for streaming in [None, Some(Delivery::Steer), Some(Delivery::FollowUp)] {
        let refused = env.agent.prompt(vec![user("more")], streaming).await.unwrap_err();
        assert_eq!(refused.to_string(), closed);
    }
    assert_eq!(env.agent.compact(None).await.unwrap_err().to_string(), closed);
    assert_eq!(env.agent.handoff(None).await.unwrap_err().to_string(), closed);
    assert_eq!(env.agent.fork().unwrap_err().to_string(), closed);
    env.agent.record(ran("last"));
    env.laws();
    assert_eq!(roles(&env.agent), ["user", "assistant", "bashExecution"]);
    assert!(!env.agent.is_running() && env.agent.queued().0.is_empty());
    env.agent.idled().await;
    assert_eq!(env.asked(), 1);
}

#[test]
fn context_usage_is_the_same_during_a_run_as_without_one() {
    let answer = |tokens: u64| {
        let mut answer = AssistantMessage { stop_reason: StopReason::Stop, ..AssistantMessage::default() };
        answer.usage.total_tokens = tokens;
        AgentMessage::from(answer)
    };
    let summary = |kept: &str| Body::Compaction {
        summary: "before".into(),
        short_summary: None,
        first_kept_entry_id: kept.into(),
        tokens_before: 9,
        details: None,
        preserve_data: None,
        from_extension: None,
    };
    let env = env(Vec::new(), |parts| {
        parts.resolved.model.context_window = 1_000_000;
    });
    let agent = &env.agent;
    let check = |at: &str| {
        let expect = context_tokens(&agent.session().context(&Defaults::default()).unwrap().messages);
        let run = agent.conversation.context.begin(Activity::Run).unwrap();
        assert_eq!(agent.context_usage().unwrap().unwrap().tokens, expect, "{at}");
        drop(run);
        expect
    };
    let mut first = String::new();
    let said =
        [("a question", user("so long a question")), ("nothing counted", answer(0)), ("counted", answer(70_000))];
    for (at, mut message) in said.into_iter().chain([("behind it", user("more")), ("a command", ran("ls"))]) {
        first = agent.session().append_message(&mut message).unwrap();
        check(at);
    }
    assert!(check("the last answer counts") > 70_000);
    agent.session().append(summary(&first)).unwrap();
    assert!(check("a summary makes the count void") < 70_000);
    agent.session().append_message(&mut answer(80_000)).unwrap();
    agent.session().append(Body::Prune { tool_call_ids: vec!["1".into()], tokens: 1, kept_bytes: None }).unwrap();
    check("pruned");
}

#[tokio::test(start_paused = true)]
async fn counted_entries_are_not_read_again() {
    let env = env(vec![text("one"), text("two")], |_| {});
    let agent = &env.agent;
    for turn in 1..=2 {
        agent.prompt(vec![user("go")], None).await.unwrap();
        for _ in 0..2 {
            let counts = agent.stats().unwrap();
            assert_eq!(
                (counts.user_messages, counts.assistant_messages, counts.total_messages),
                (turn, turn, 2 * turn)
            );
        }
    }
}
