use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use sinew::base::{Error, Result};
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::message::{AgentMessage, AssistantMessage, StopReason, Usage};
use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::provider::Auth;
use sinew_session::clock::FixedClock;
use sinew_session::{Body, Defaults, Session, SessionOptions, Sync};
use sinew_tools::tool::ToolOutput;

use super::*;
use crate::compaction::Limits;
use crate::core::Toolset;
use crate::event::Event;
use crate::test_tools::{ScriptedProvider, calls, failed, text, tool, user};

/// Resolves no model other than the optional larger one.
struct LargerModelResolver(Option<ResolvedModel>);

impl ModelResolver for LargerModelResolver {
    fn resolve(&self, pattern: &str) -> Result<ResolvedModel> {
        Err(Error::invalid(format!("Model not found: {pattern}")))
    }

    fn larger(&self, current: &ResolvedModel) -> Option<ResolvedModel> {
        self.0.clone().filter(|larger| larger.model.key() != current.model.key())
    }
}

pub(super) struct TestEnv {
    pub(super) agent: AgentSession,
    pub(super) provider: Arc<ScriptedProvider>,
    pub(super) listener: Subscriber,
    pub(super) path: PathBuf,
    pub(super) folder: tempfile::TempDir,
}

pub(super) fn options(folder: &Path) -> SessionOptions {
    let clock = Arc::new(FixedClock::at(1_769_851_800_000));
    SessionOptions { cwd: folder.to_path_buf(), blobs: None, sync: Sync::Turn, clock, mask: None }
}

pub(super) fn env(answers: Vec<AssistantMessage>, change: impl FnOnce(&mut AgentParts)) -> TestEnv {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let provider = Arc::new(ScriptedProvider::new(answers));
    let model = Model { id: "m".into(), provider: "p".into(), context_window: 100_000, ..Model::default() };
    let echo = tool("echo", |call| {
        Box::pin(async move { Ok(ToolOutput::text(call.arguments["say"].as_str().unwrap_or_default())) })
    });
    let mut parts = AgentParts {
        session: Session::create(path.clone(), "id".into(), options(folder.path())),
        resolved: ResolvedModel { provider: Arc::<ScriptedProvider>::clone(&provider), model, auth: Auth::None },
        models: Arc::new(LargerModelResolver(None)),
        thinking: ThinkingLevel::Off,
        system: vec!["be good".into()],
        tools: Toolset::new([echo]).0,
        extensions: Vec::new(),
        settings: AgentSettings::default(),
        clock: Arc::new(FixedClock::at(1_769_851_800_000)),
        cwd: folder.path().to_path_buf(),
        has_ui: false,
        open_items: None,
        undo: None,
        lane: None,
        keep_record: None,
        cache_session: None,
        requester: None,
    };
    change(&mut parts);
    let agent = AgentSession::new(parts).unwrap();
    let listener = agent.subscribe(Snapshots::Each);
    TestEnv { agent, provider, listener, path, folder }
}

impl AgentSession {
    /// Returns the messages that the model sees; panics while an activity owns them.
    pub(super) fn live_context(&self) -> Vec<AgentMessage> {
        self.conversation.context.peek(|context| context.clone()).unwrap()
    }
}

impl TestEnv {
    /// Sends a prompt and reads the events meanwhile. Returns the outcome and the events of the loop, in order.
    pub(super) async fn prompt(&mut self) -> (Outcome, Vec<String>) {
        let mut told = Vec::new();
        let prompt = self.agent.prompt(vec![user("go")], None);
        tokio::pin!(prompt);
        let outcome = loop {
            tokio::select! {
                outcome = &mut prompt => break outcome.unwrap(),
                Some(event) = self.listener.recv() => note(&event, &mut told),
            }
        };
        while let Some(event) = self.listener.try_recv() {
            note(&event, &mut told);
        }
        assert_eq!(told.pop().as_deref(), Some("settled"));
        self.laws();
        (outcome, told)
    }

    /// Checks that a resume sees the same context as the agent.
    pub(super) fn laws(&self) {
        let live = self.agent.live_context();
        let kept = self.agent.session().context(&Defaults::default()).unwrap().messages;
        assert_eq!(live, kept);
    }

    pub(super) fn asked(&self) -> usize {
        self.provider.next.load(Ordering::SeqCst)
    }
}

fn note(event: &Event, told: &mut Vec<String>) {
    told.push(match event {
        Event::AutoRetryStart { attempt, delay_ms, .. } => format!("retry {attempt} in {delay_ms}"),
        Event::AutoRetryEnd { success, attempt, final_error } => {
            format!("retried {success} {attempt} {}", final_error.as_deref().unwrap_or("-"))
        }
        Event::AutoCompactionStart { reason } => format!("compact {reason}"),
        Event::AutoCompactionEnd { result, error_message, .. } => {
            format!("compacted {} {}", result.is_some(), error_message.as_deref().unwrap_or("-"))
        }
        Event::ModelPromoted { from, to } => format!("{from} -> {to}"),
        Event::TodoReminder { attempt, .. } => format!("reminder {attempt}"),
        Event::CredentialDisabled { provider, reason, .. } => format!("{provider} {reason}"),
        Event::AgentSettled {} => "settled".into(),
        Event::Warning { message } => message.clone(),
        _ => return,
    });
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_retried_and_its_partial_answer_leaves_the_context() {
    let mut env = env(vec![failed(ErrorKind::Overloaded, Some(7_000)), text("fine")], |_| {});
    let begun = tokio::time::Instant::now();
    let (outcome, told) = env.prompt().await;
    assert_eq!(told, ["retry 1 in 7014", "retried true 1 -"]);
    assert_eq!((outcome.stop, outcome.answer.unwrap().text()), (Stop::Done, "fine".into()));
    assert!(begun.elapsed() >= Duration::from_secs(7));
    let asked = env.provider.asked.lock();
    assert_eq!(asked[0].messages, asked[1].messages);
    let file = std::fs::read_to_string(&env.path).unwrap();
    assert!(file.contains("partly"), "the failed answer stays in the file");
    drop(asked);
    drop(env.agent);
    let resumed = Session::open(&env.path, options(env.folder.path())).unwrap().session;
    let roles: Vec<_> =
        resumed.context(&Defaults::default()).unwrap().messages.iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["user", "assistant"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_shares_the_messages_of_the_one_before() {
    let answers = vec![calls(&[("1", "echo", json!({"say": "x"}))]), calls(&[("2", "echo", json!({}))]), text("ok")];
    let mut env = env(answers, |_| {});
    env.prompt().await;
    let asked = env.provider.asked.lock();
    let counts: Vec<usize> = asked.iter().map(|request| request.messages.len()).collect();
    assert_eq!(counts, [1, 3, 5]);
    for pair in asked.windows(2) {
        let same = pair[0].messages.iter().zip(&pair[1].messages).all(|(a, b)| Arc::ptr_eq(a, b));
        assert!(same, "a turn copies nothing that the turn before has sent");
    }
}

#[tokio::test(start_paused = true)]
async fn retries_end_and_the_user_learns_why() {
    let fails = (0..4).map(|_| failed(ErrorKind::Server, Some(1))).collect();
    let (outcome, told) = env(fails, |_| {}).prompt().await;
    assert_eq!(told.last().unwrap(), "retried false 3 it failed");
    assert!(matches!(outcome.stop, Stop::Failed(error) if error.kind == ErrorKind::Server));
    let mut env = env(vec![failed(ErrorKind::RateLimit, Some(61_000))], |_| {});
    let (outcome, told) = env.prompt().await;
    assert_eq!(told, Vec::<String>::new());
    assert!(matches!(outcome.stop, Stop::Failed(error) if error.message.contains("61 s")));
    assert_eq!(env.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_the_pause_before_a_retry() {
    let env = env(vec![failed(ErrorKind::Server, Some(50_000))], |_| {});
    let begun = tokio::time::Instant::now();
    let abort = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        env.agent.abort();
    };
    let (outcome, ()) = tokio::join!(env.agent.prompt(vec![user("go")], None), abort);
    assert_eq!(outcome.unwrap().stop, Stop::Aborted);
    assert!(begun.elapsed() < Duration::from_millis(3_100), "{:?}", begun.elapsed());
    let (mut env, mut told) = (env, Vec::new());
    while let Some(event) = env.listener.try_recv() {
        note(&event, &mut told);
    }
    assert_eq!(told, ["retry 1 in 54138", "retried false 1 Retry cancelled", "settled"]);
}

#[tokio::test(start_paused = true)]
async fn without_another_credential_a_refused_key_ends_the_prompt() {
    let (outcome, told) = env(vec![failed(ErrorKind::Auth, None)], |_| {}).prompt().await;
    assert_eq!(told, ["p auth"]);
    assert!(matches!(outcome.stop, Stop::Failed(_)));
}

/// Resolves further credentials, as many as this number.
struct Keys(std::sync::atomic::AtomicU32);

impl ModelResolver for Keys {
    fn resolve(&self, pattern: &str) -> Result<ResolvedModel> {
        Err(Error::invalid(format!("Model not found: {pattern}")))
    }

    fn other_credential(&self, failed: &ResolvedModel, _: &ErrorInfo) -> Option<ResolvedModel> {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.is_ok().then(|| failed.clone())
    }
}

#[tokio::test(start_paused = true)]
async fn every_key_is_tried_at_once_and_none_of_them_counts_as_an_attempt() {
    let many = |kind, count| std::iter::repeat_with(move || failed(kind, Some(7_000))).take(count);
    let answers = many(ErrorKind::Auth, 5).chain(many(ErrorKind::Server, 3)).chain([text("ok")]).collect();
    let mut changing = env(answers, |parts| parts.models = Arc::new(Keys(5.into())));
    let (outcome, told) = changing.prompt().await;
    assert_eq!((outcome.stop, changing.asked()), (Stop::Done, 9));
    let retries: Vec<&str> = told.iter().filter_map(|told| told.strip_prefix("retry ")).collect();
    // A server's delay gets up to a tenth longer, so that sessions do not return at the same time.
    let pauses = ["1 in 0", "2 in 0", "3 in 0", "4 in 0", "5 in 0", "6 in 7362", "7 in 7235", "8 in 7249"];
    assert_eq!(retries, pauses);
    let answers = many(ErrorKind::Auth, 9).collect();
    let mut refused = env(answers, |parts| parts.models = Arc::new(Keys(4.into())));
    let (outcome, _) = refused.prompt().await;
    assert!(matches!(outcome.stop, Stop::Failed(error) if error.kind == ErrorKind::Auth));
    assert_eq!(refused.asked(), 5);
}

pub(super) fn counted(words: &str, total_tokens: u64) -> AssistantMessage {
    AssistantMessage { usage: Usage { total_tokens, ..Usage::default() }, ..text(words) }
}

#[tokio::test(start_paused = true)]
async fn a_context_that_grew_too_large_is_compacted_during_a_run() {
    let big = "x".repeat(30_000);
    let mut first = calls(&[("1", "echo", json!({"say": big}))]);
    first.usage.total_tokens = 60_000;
    let mut second = calls(&[("2", "echo", json!({"say": big}))]);
    second.usage.total_tokens = 90_000;
    let mut env = env(vec![first, second, text("the summary"), text("the turn"), text("done")], |parts| {
        parts.settings.compaction.limits = Limits { reserve: 10_000, keep_recent: 5_000 };
    });
    let (outcome, told) = env.prompt().await;
    assert_eq!(told, ["compact threshold", "compacted true -"]);
    assert_eq!(outcome.stop, Stop::Done);
    let seen = env.agent.live_context();
    assert_eq!(seen[0].role(), "compactionSummary");
    let AgentMessage::CompactionSummary(summary) = &seen[0] else { panic!("{seen:?}") };
    assert!(summary.summary.contains("the summary"), "{}", summary.summary);
}

#[tokio::test(start_paused = true)]
async fn open_work_continues_after_a_compaction_at_the_end() {
    let limit = || AssistantMessage { stop_reason: StopReason::Length, ..counted(&"a".repeat(40_000), 95_000) };
    let done = || counted(&"a".repeat(40_000), 95_000);
    for (answer, items, auto, goes_on) in [
        (limit(), false, true, true),
        (done(), true, true, true),
        (done(), false, true, false),
        (limit(), false, false, false),
        (done(), true, false, false),
    ] {
        let mut env = env(vec![answer, text("sum"), text("done")], |parts| {
            parts.settings.compaction.limits = Limits { reserve: 10_000, keep_recent: 100 };
            parts.settings.compaction.auto_continue = auto;
            parts.settings.todo_reminders = false;
            let items = items.then(|| json!(["tests"]));
            parts.open_items = Some(Arc::new(move || items.clone()));
        });
        let (_, told) = env.prompt().await;
        assert_eq!(told, ["compact threshold", "compacted true -"]);
        assert_eq!(env.asked(), if goes_on { 3 } else { 2 }, "{items} {auto}");
        let seen = env.agent.live_context();
        let hint = |message: &AgentMessage| matches!(message, AgentMessage::Custom(custom) if custom.content.text() == "Continue if you have next steps.");
        assert_eq!(seen.iter().any(hint), goes_on, "{seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_overflow_causes_one_compaction_and_then_an_error() {
    let overflow = || failed(ErrorKind::ContextOverflow, None);
    let mut env = env(vec![counted(&"a".repeat(40_000), 12_000), overflow(), text("sum"), overflow()], |parts| {
        parts.settings.compaction.limits = Limits { reserve: 1_000, keep_recent: 100 };
    });
    env.prompt().await;
    let (outcome, told) = env.prompt().await;
    assert_eq!(told, ["compact overflow", "compacted true -"]);
    let Stop::Failed(error) = outcome.stop else { panic!("{outcome:?}") };
    assert!(error.message.starts_with("Context overflow recovery failed: "), "{}", error.message);
}

#[tokio::test(start_paused = true)]
async fn a_larger_model_is_used_only_if_the_user_enabled_it() {
    let larger = |parts: &mut AgentParts| {
        let model = Model { id: "large".into(), ..parts.resolved.model.clone() };
        parts.models = Arc::new(LargerModelResolver(Some(ResolvedModel { model, ..parts.resolved.clone() })));
    };
    let answers = || vec![failed(ErrorKind::ContextOverflow, None), text("ok")];
    let mut on = env(answers(), |parts| {
        larger(parts);
        parts.settings.promotion = true;
    });
    let (outcome, told) = on.prompt().await;
    assert_eq!((outcome.stop, told), (Stop::Done, vec!["p/m -> p/large".to_string()]));
    let asked = std::mem::take(&mut *on.provider.asked.lock());
    assert_eq!((asked[1].model.id.as_str(), &asked[1].messages), ("large", &asked[0].messages));
    let file = std::fs::read_to_string(&on.path).unwrap();
    let entries = file.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let changes: Vec<_> = entries.filter(|entry| entry["type"] == "model_change").collect();
    assert_eq!((changes.len(), &changes[0]["model"], &changes[0]["role"]), (1, &json!("p/large"), &json!("temporary")));
    let (outcome, told) = env(answers(), larger).prompt().await;
    assert!(matches!(outcome.stop, Stop::Failed(_)), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_compaction_that_fails_changes_nothing() {
    let answers = vec![counted(&"a".repeat(40_000), 12_000), failed(ErrorKind::Auth, None)];
    let mut env = env(answers, |parts| parts.settings.compaction.limits = Limits { reserve: 1_000, keep_recent: 100 });
    env.prompt().await;
    let before = env.agent.live_context();
    let error = env.agent.compact(None).await.unwrap_err();
    assert_eq!(error.to_string(), "it failed");
    assert_eq!(env.agent.live_context(), before);
}

#[tokio::test(start_paused = true)]
async fn the_model_is_reminded_of_open_items_three_times() {
    let mut env = env((0..9).map(|_| text("done?")).collect(), |parts| {
        parts.settings.todo_reminders = true;
        parts.open_items = Some(Arc::new(|| Some(json!(["tests"]))));
    });
    let (_, told) = env.prompt().await;
    assert_eq!(told, ["reminder 1", "reminder 2", "reminder 3"]);
    assert_eq!(env.asked(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_during_a_run_waits_in_the_selected_queue() {
    let env = env(vec![calls(&[("1", "slow", json!({}))]), text("steered"), text("followed")], |parts| {
        let slow = tool("slow", |_| {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(5)).await;
                Ok(ToolOutput::text("x"))
            })
        });
        parts.tools = Toolset::new([slow]).0;
        parts.settings.run.interrupt = crate::core::Interrupt::Wait;
    });
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let refused = env.agent.prompt(vec![user("now")], None).await.unwrap_err();
        assert!(refused.to_string().starts_with("Agent is already processing."));
        env.agent.prompt(vec![user("later")], Some(Delivery::FollowUp)).await.unwrap();
        env.agent.prompt(vec![user("now")], Some(Delivery::Steer)).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(env.agent.prompt(vec![user("go")], None), meanwhile);
    assert_eq!(outcome.unwrap().answer.unwrap().text(), "followed");
    let said: Vec<String> = env
        .agent
        .live_context()
        .iter()
        .filter_map(|message| match message {
            AgentMessage::User(user) => Some(user.content.text()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["go", "now", "later"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_written_continues_in_memory_with_one_warning() {
    let mut env = env(vec![text("one"), text("two")], |parts| {
        let path = parts.cwd.join("nowhere");
        std::fs::write(&path, "a file where a folder should be").unwrap();
        parts.session = Session::create(path.join("s.jsonl"), "id".into(), options(&parts.cwd));
    });
    let (outcome, told) = env.prompt().await;
    assert_eq!(outcome.stop, Stop::Done);
    assert!(told[0].starts_with("The session is no longer saved: "), "{told:?}");
    let (_, told) = env.prompt().await;
    assert_eq!(told, Vec::<String>::new());
    assert_eq!(env.agent.live_context().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_retracted_answer_stays_out_of_the_context_after_a_resume() {
    let env = env(vec![failed(ErrorKind::Server, Some(50_000))], |_| {});
    let abort = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        env.agent.set_thinking(ThinkingLevel::High);
        env.agent.abort();
    };
    tokio::join!(env.agent.prompt(vec![user("go")], None), abort).0.unwrap();
    let live = env.agent.live_context();
    drop(env.agent);
    let resumed = Session::open(&env.path, options(env.folder.path())).unwrap().session;
    let context = resumed.context(&Defaults::default()).unwrap();
    assert_eq!((context.messages, context.thinking_level.as_str()), (live, "high"));
}

#[tokio::test(start_paused = true)]
async fn a_good_answer_resets_the_count_of_failures() {
    let fails = || failed(ErrorKind::Server, Some(1));
    let answers = vec![fails(), fails(), calls(&[("1", "echo", json!({"say": "x"}))]), fails(), text("ok")];
    let (outcome, told) = env(answers, |_| {}).prompt().await;
    assert_eq!(outcome.stop, Stop::Done);
    assert_eq!(told, ["retry 1 in 1", "retry 2 in 1", "retried true 2 -", "retry 1 in 1", "retried true 1 -"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_picture_gives_one_warning() {
    let gone = format!("blob:sha256:{}", "0".repeat(64));
    let mut env = env(vec![text("one"), text("two")], |parts| {
        let image = json!({"type": "image", "data": gone, "mimeType": "image/png"});
        let message = json!({"role": "user", "timestamp": 1, "content": [image, image]});
        parts.session.append(Body::Message { message: serde_json::from_value(message).unwrap() }).unwrap();
    });
    let (_, told) = env.prompt().await;
    let warning = format!("a picture of this session is missing, {gone}: the model reads [image missing] in its place");
    assert_eq!(told, [warning]);
    let (_, told) = env.prompt().await;
    assert_eq!(told, [""; 0]);
}
