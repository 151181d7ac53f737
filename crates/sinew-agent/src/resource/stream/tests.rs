use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use sinew::base::{Error, Result};
use sinew_llm::error::ErrorKind;
use sinew_llm::event::StreamEvent;
use sinew_llm::message::{AgentMessage, AssistantMessage, text_of};
use sinew_llm::model::{Model, ThinkingLevel};
use sinew_llm::provider::Auth;
use sinew_session::clock::FixedClock;
use sinew_session::{Body, Defaults, Session, SessionOptions, Sync};
use sinew_tools::tool::ToolOutput;

use super::condition::Condition;
use super::window::Window;
use super::*;
use crate::agent::{
    AgentParts, AgentSession, AgentSettings, ModelResolver, Outcome, ResolvedModel, Snapshots, Subscriber,
};
use crate::core::{StreamMonitor, Toolset};
use crate::event::Event;
use crate::resource::Origin;
use crate::test_tools::{ScriptedProvider, calls, failed, text, tool, user};

fn rule(name: &str, condition: &str) -> Rule {
    Rule {
        name: name.into(),
        description: String::new(),
        globs: Vec::new(),
        bucket: Bucket::Stream { conditions: vec![condition.into()], scopes: Vec::new(), interrupt: None },
        body: format!("Text of {name}."),
        path: format!("/r/{name}.md").into(),
        origin: Origin::Project,
    }
}

fn scoped(name: &str, condition: &str, scopes: &[&str]) -> Rule {
    let scopes = scopes.iter().map(|scope| Scope::parse(scope).unwrap()).collect();
    let bucket = Bucket::Stream { conditions: vec![condition.into()], scopes, interrupt: None };
    Rule { bucket, ..rule(name, condition) }
}

fn rules(list: &[Rule], settings: StreamSettings) -> StreamRules {
    let (made, warnings) = StreamRules::new(list, settings);
    assert_eq!(warnings, [""; 0]);
    made.unwrap()
}

struct Nobody;

impl ModelResolver for Nobody {
    fn resolve(&self, pattern: &str) -> Result<ResolvedModel> {
        Err(Error::invalid(format!("Model not found: {pattern}")))
    }
}

struct TestEnv {
    agent: AgentSession,
    provider: Arc<ScriptedProvider>,
    listener: Subscriber,
}

fn options(folder: &Path) -> SessionOptions {
    let clock = Arc::new(FixedClock::at(1_769_851_800_000));
    SessionOptions { cwd: folder.to_path_buf(), blobs: None, sync: Sync::Turn, clock, mask: None }
}

fn env(folder: &Path, answers: Vec<AssistantMessage>, rules: Option<StreamRules>) -> TestEnv {
    let path = folder.join("s.jsonl");
    let session = if path.exists() {
        Session::open(&path, options(folder)).unwrap().session
    } else {
        Session::create(path, "id".into(), options(folder))
    };
    let provider = Arc::new(ScriptedProvider::new(answers));
    let model = Model { id: "m".into(), provider: "p".into(), context_window: 100_000, ..Model::default() };
    let echo = tool("echo", |call| {
        Box::pin(async move { Ok(ToolOutput::text(call.arguments["say"].as_str().unwrap_or_default())) })
    });
    let agent = AgentSession::new(AgentParts {
        session,
        resolved: ResolvedModel { provider: Arc::<ScriptedProvider>::clone(&provider), model, auth: Auth::None },
        models: Arc::new(Nobody),
        thinking: ThinkingLevel::Off,
        system: Vec::new(),
        tools: Toolset::new([echo]).0,
        extensions: Vec::new(),
        settings: AgentSettings::default(),
        clock: Arc::new(FixedClock::at(1_769_851_800_000)),
        cwd: folder.to_path_buf(),
        has_ui: false,
        open_items: None,
        undo: None,
        lane: None,
        keep_record: None,
        cache_session: None,
        requester: None,
    })
    .unwrap();
    agent.set_stream_rules(rules);
    let listener = agent.subscribe(Snapshots::Each);
    TestEnv { agent, provider, listener }
}

impl TestEnv {
    /// Sends a prompt; returns the rules that `ttsr_triggered` reported.
    async fn prompt(&mut self) -> (Outcome, Vec<Vec<String>>) {
        let mut told = Vec::new();
        let mut note = |event: &Event| {
            if let Event::TtsrTriggered { rules } = event {
                told.push(rules.clone());
            }
        };
        let prompt = self.agent.prompt(vec![user("go")], None);
        tokio::pin!(prompt);
        let outcome = loop {
            tokio::select! {
                outcome = &mut prompt => break outcome.unwrap(),
                Some(event) = self.listener.recv() => note(&event),
            }
        };
        while let Some(event) = self.listener.try_recv() {
            note(&event);
        }
        (outcome, told)
    }

    /// Returns the conversation after a resume, as roles and texts.
    fn context(&self) -> Vec<String> {
        let context = self.agent.session().context(&Defaults::default()).unwrap();
        context.messages.iter().map(shown).collect()
    }

    fn asked(&self) -> usize {
        self.provider.next.load(Ordering::SeqCst)
    }
}

fn shown(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(user) => format!("user: {}", user.content.text()),
        AgentMessage::Assistant(answer) => format!("assistant: {}", answer.text()),
        AgentMessage::ToolResult(result) => format!("result: {}", text_of(&result.content)),
        AgentMessage::Custom(custom) => format!("{}: {}", custom.custom_type, custom.content.text()),
        other => other.role().to_string(),
    }
}

fn framed(tag: &str, name: &str) -> String {
    format!("<{tag} reason=\"rule_violation\" rule=\"{name}\" path=\"/r/{name}.md\">\nText of {name}.\n</{tag}>")
}

#[tokio::test(start_paused = true)]
async fn a_violated_rule_stops_the_answer_and_the_run_continues_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let answers = vec![text("use a todo macro here"), text("done"), text("one more todo"), text("todo again")];
    let mut env = env(folder.path(), answers.clone(), Some(rules(&[rule("r", "to+do")], StreamSettings::default())));
    let (outcome, told) = env.prompt().await;
    assert_eq!(told, [["r"]]);
    assert_eq!(outcome.answer.unwrap().text(), "done");
    let after = [
        "user: go".to_string(),
        format!("ttsr-injection: {}", framed("system-interrupt", "r")),
        "assistant: done".into(),
    ];
    assert_eq!(env.context(), after);
    assert_eq!(env.agent.session().context(&Defaults::default()).unwrap().injected_rules, ["r"]);
    // A rule is injected once.
    let (_, told) = env.prompt().await;
    assert_eq!((told.len(), env.asked()), (0, 3));
    let resumed = rules(&[rule("r", "to+do")], StreamSettings::default());
    drop(env);
    // Injected rules are remembered after a resume.
    let mut env = self::env(folder.path(), vec![text("a todo")], Some(resumed));
    let (_, told) = env.prompt().await;
    assert_eq!((told.len(), env.asked()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_injection_and_the_rule_are_stored_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut env = env(
        folder.path(),
        vec![text("a todo"), text("done")],
        Some(rules(&[rule("r", "todo")], StreamSettings::default())),
    );
    env.prompt().await;
    let session = env.agent.session();
    let bodies: Vec<Body> = session.path_ids().iter().map(|id| session.entry(id).unwrap().body).collect();
    assert!(
        bodies.iter().any(|body| matches!(body, Body::CustomMessage { custom_type, display: false, .. } if custom_type == "ttsr-injection")),
        "{bodies:?}"
    );
    assert!(bodies.contains(&Body::TtsrInjection { injected_rules: vec!["r".into()] }), "{bodies:?}");
}

#[tokio::test(start_paused = true)]
async fn disabled_rules_do_nothing() {
    let none = StreamSettings { enabled: false, ..StreamSettings::default() };
    assert!(StreamRules::new(&[rule("r", "todo")], none).0.is_none());
    let none = StreamSettings { disabled: vec!["r".into()], ..StreamSettings::default() };
    assert!(StreamRules::new(&[rule("r", "todo")], none).0.is_none());
    let folder = tempfile::tempdir().unwrap();
    let mut env = env(folder.path(), vec![text("a todo")], None);
    let (_, told) = env.prompt().await;
    assert_eq!((told.len(), env.asked()), (0, 1));
    assert_eq!(env.context(), ["user: go", "assistant: a todo"]);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_answer_may_stay() {
    let folder = tempfile::tempdir().unwrap();
    let keep = StreamSettings { keep: true, ..StreamSettings::default() };
    let mut env = env(folder.path(), vec![text("say todo now"), text("done")], Some(rules(&[rule("r", "todo")], keep)));
    env.prompt().await;
    let context = env.context();
    assert_eq!(context.len(), 4, "{context:?}");
    assert!(context[1].starts_with("assistant: say todo"), "{context:?}");
}

#[tokio::test(start_paused = true)]
async fn at_most_three_answers_of_a_run_are_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a", "b", "c", "d"];
    let list: Vec<Rule> = names.iter().map(|name| rule(name, &format!("bad-{name}"))).collect();
    let answers = names.iter().map(|name| text(&format!("so bad-{name} is"))).chain([text("done")]).collect();
    let mut env = env(folder.path(), answers, Some(rules(&list, StreamSettings::default())));
    let (outcome, told) = env.prompt().await;
    assert_eq!(told, [["a"], ["b"], ["c"], ["d"]]);
    assert_eq!(outcome.answer.unwrap().text(), "done");
    let context = env.context();
    assert!(context.contains(&"assistant: so bad-d is".to_string()), "the fourth is told later: {context:?}");
    assert!(context.contains(&format!("ttsr-injection: {}", framed("system-reminder", "d"))), "{context:?}");
}

#[tokio::test(start_paused = true)]
async fn rules_that_do_not_stop_are_injected_after_a_good_answer() {
    let folder = tempfile::tempdir().unwrap();
    let never = StreamSettings { interrupt: InterruptMode::Never, ..StreamSettings::default() };
    let answers = vec![
        calls(&[("1", "echo", json!({"say": "todo"})), ("2", "echo", json!({"say": "todo"}))]),
        text("prose-bad"),
        text("done"),
    ];
    let list = [rule("r", "todo"), rule("s", "prose-bad")];
    let mut env = env(folder.path(), answers, Some(rules(&list, never)));
    let (_, told) = env.prompt().await;
    assert_eq!(told, [["r"], ["s"]]);
    assert_eq!(
        env.context(),
        [
            "user: go".to_string(),
            "assistant: ".into(),
            format!("result: {}\ntodo", framed("system-reminder", "r")),
            "result: todo".into(),
            "assistant: prose-bad".into(),
            format!("ttsr-injection: {}", framed("system-reminder", "s")),
            "assistant: done".into(),
        ],
        "one call is reminded, and a reminder of prose makes another turn"
    );
}

#[tokio::test(start_paused = true)]
async fn violations_of_failed_answers_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let never = StreamSettings { interrupt: InterruptMode::Never, ..StreamSettings::default() };
    let answers = vec![failed(ErrorKind::Server, None), text("fine")];
    let mut env = env(folder.path(), answers, Some(rules(&[rule("r", "partly")], never)));
    let (outcome, told) = env.prompt().await;
    assert_eq!(outcome.answer.unwrap().text(), "fine");
    assert_eq!(told.len(), 0);
    assert_eq!(env.context(), ["user: go", "assistant: fine"]);
}

#[test]
fn after_a_gap_a_rule_is_injected_again() {
    let settings = StreamSettings { gap: Some(2), ..StreamSettings::default() };
    let rules = rules(&[rule("r", "todo")], settings);
    rules.restore([("r".to_string(), 0)]);
    let now = || 0;
    let mut stopped = Vec::new();
    for _ in 0..6 {
        let watcher = rules.watch(&now);
        stopped.push(feed(&watcher, "text", "todo").is_some());
        watcher.settle(&text("todo"), *stopped.last().unwrap());
    }
    assert_eq!(stopped, [false, false, true, false, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_gap_continues_after_a_resume() {
    let folder = tempfile::tempdir().unwrap();
    let list = [rule("r", "todo")];
    let two = || StreamSettings { gap: Some(2), ..StreamSettings::default() };
    let mut heard = Vec::new();
    for answers in [&["a todo", "done"][..], &["todo 1"], &["todo 2", "done"], &["todo 3"]] {
        let answers = answers.iter().map(|answer| text(answer)).collect();
        let mut env = env(folder.path(), answers, Some(rules(&list, two())));
        let (_, told) = env.prompt().await;
        heard.push(told.len());
    }
    assert_eq!(heard, [1, 0, 1, 0], "two turns after it was told, and not before");
}

#[tokio::test(start_paused = true)]
async fn injections_on_other_branches_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let answers = vec![text("a todo"), text("done"), text("todo again"), text("todo 2"), text("done")];
    let list = [rule("r", "todo")];
    let mut env = env(folder.path(), answers, Some(rules(&list, StreamSettings::default())));
    assert_eq!(env.prompt().await.1, [["r"]]);
    assert_eq!(env.prompt().await.1, [[""; 0]; 0]);
    let first = env.agent.session().path_ids()[0].to_string();
    env.agent.navigate_tree(&first, crate::agent::BranchSummaryChoice::Silently).await.unwrap();
    assert_eq!(env.prompt().await.1, [["r"]]);
}

/// Sends a block to a watcher, one character at a time; returns the rules for which it stops.
fn feed(watcher: &Watcher<'_>, kind: &str, content: &str) -> Option<Vec<String>> {
    watcher.turn_start();
    let deltas: Vec<String> = content.chars().map(String::from).collect();
    let content_index = 0;
    let start = match kind {
        "text" => StreamEvent::TextStart { content_index },
        "thinking" => StreamEvent::ThinkingStart { content_index },
        name => StreamEvent::ToolCallStart { content_index, id: "1".into(), name: name.into() },
    };
    let delta = |delta: String| match kind {
        "text" => StreamEvent::TextDelta { content_index, delta },
        "thinking" => StreamEvent::ThinkingDelta { content_index, delta },
        _ => StreamEvent::ToolCallDelta { content_index, delta },
    };
    let end = match kind {
        "text" => StreamEvent::TextEnd { content_index, signature: None },
        "thinking" => StreamEvent::ThinkingEnd { content_index, signature: None, redacted: false },
        name => {
            let arguments = serde_json::from_str(content).unwrap_or(Value::Null);
            let (id, name) = ("1".to_string(), name.to_string());
            let tool_call = Box::new(sinew_llm::message::ToolCall { id, name, arguments, ..Default::default() });
            StreamEvent::ToolCallEnd { content_index, tool_call }
        }
    };
    let events = std::iter::once(start).chain(deltas.into_iter().map(delta)).chain([end]);
    events.into_iter().find_map(|event| watcher.see(&event))
}

#[track_caller]
fn check(rule: Rule, kind: &str, content: &str, expect: bool) {
    let rules = rules(&[rule], StreamSettings::default());
    let now = || 0;
    assert_eq!(feed(&rules.watch(&now), kind, content).is_some(), expect, "{kind}: {content}");
}

#[test]
fn a_scope_selects_the_checked_parts() {
    check(rule("r", "bad"), "text", "so bad", true);
    check(rule("r", "bad"), "thinking", "so bad", false);
    check(rule("r", "bad"), "echo", "{\"say\":\"bad\"}", true);
    check(scoped("r", "bad", &["thinking"]), "thinking", "so bad", true);
    check(scoped("r", "bad", &["thinking"]), "text", "so bad", false);
    check(scoped("r", "bad", &["tool:edit"]), "write", "{\"x\":\"bad\"}", false);
    check(scoped("r", "bad", &["tool:edit"]), "edit", "{\"x\":\"bad\"}", true);
    for (scope, expect) in [("tool:", Some(None)), ("tool:*", Some(None)), ("tool:a", Some(Some("a")))] {
        let name = expect.map(|name| name.map(str::to_string));
        assert_eq!(Scope::parse(scope), name.map(|name| Scope::Tool { name, glob: None }));
    }
    for wrong in ["", "prose", "tool:a(", "tool:a([)", "tools"] {
        assert_eq!(Scope::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_rule_for_files_finds_the_path_anywhere_in_the_call() {
    let sql = || Rule { globs: vec!["*.sql".into()], ..rule("r", "bad") };
    check(sql(), "write", "{\"path\":\"db/a.sql\",\"content\":\"bad\"}", true);
    check(sql(), "write", "{\"path\":\"db/a.rs\",\"content\":\"bad\"}", false);
    check(sql(), "write", "{\"content\":\"bad\",\"path\":\"./a.sql\"}", true);
    check(sql(), "write", "{\"content\":\"bad\",\"file_path\":\"a.rs\"}", false);
    check(sql(), "bash", "{\"command\":\"bad\"}", false);
    check(sql(), "text", "bad", true);
    check(sql(), "edit", "{\"input\":\"@x.rs#1\\n+bad\\n@a.sql#2\\n\"}", true);
    check(sql(), "edit", "{\"input\":\"@x.rs#1\\n+bad\"}", false);
    let scope = |scope: &str| scoped("r", "bad", &[scope]);
    check(scope("tool:write(src/**)"), "write", "{\"path\":\"src/a\",\"content\":\"bad\"}", true);
    check(scope("tool:write(src/**)"), "write", "{\"path\":\"doc/a\",\"content\":\"bad\"}", false);
    check(scope("tool:write(src/**)"), "edit", "{\"path\":\"src/a\",\"content\":\"bad\"}", false);
}

#[test]
fn arguments_are_read_without_their_escapes() {
    check(rule("r", r#"log\("x"\)\n  y"#), "echo", r#"{"say":"log(\"x\")\n  y"}"#, true);
    check(rule("r", "é😀漢"), "echo", r#"{"say":"\u00e9\ud83d\ude00漢"}"#, true);
    check(rule("r", "\u{fffd}x"), "echo", r#"{"say":"\udc00x"}"#, true);
}

#[test]
fn a_window_keeps_the_newest_text_and_matches_across_pieces() {
    let find = |regex: &str, text: &str, step: usize| {
        let condition = Condition::new(regex).unwrap();
        let mut window = Window::new(false);
        let mut found = false;
        for part in text.as_bytes().chunks(step) {
            window.push(std::str::from_utf8(part).unwrap());
            if window.is_due() {
                found |= window.finds(&condition, false);
                window.looked();
            }
        }
        found | window.finds(&condition, true)
    };
    let long = "x".repeat(500_000);
    for step in [1, 7, 5_000] {
        assert!(find("needle", &format!("{long}needle{long}"), step), "{step}");
        assert!(
            !find("^x{3}n", &format!("{long}xxxneedle"), step),
            "the start of the window is not the start of the text"
        );
        assert!(find(r"\bab\b", &format!("{long} ab {long}"), step));
        assert!(!find("needles", &format!("{long}needle{long}"), step));
    }
}

#[test]
fn matches_that_can_still_change_are_postponed() {
    check(rule("r", r"\bany\b"), "text", "so anything goes", false);
    check(rule("r", r"\bany\b"), "text", "so any thing", true);
    check(rule("r", r"\bany\b"), "text", "so any", true);
    check(rule("r", "any$"), "text", "any more", false);
    check(rule("r", "(?m)any$"), "text", "any more any\nmore", true);
    check(rule("r", "(?m)any$"), "text", "any more any", true);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    /// Matches do not depend on how the text is split.
    #[test]
    fn matches_do_not_depend_on_how_the_text_is_split(
        text in "[ab é\n]{1,30}",
        at in 0_usize..5,
        cuts in proptest::collection::vec(1_usize..8, 1..20),
    ) {
        const CONDITIONS: [&str; 5] = [r"\bab\b", "a$", "(?m)^b a$", "é+b", r"\Bb"];
        let condition = Condition::new(CONDITIONS[at]).unwrap();
        let mut window = Window::new(false);
        let mut found = false;
        let (mut characters, mut cuts) = (text.chars().peekable(), cuts.iter().cycle());
        while characters.peek().is_some() {
            let piece: String = characters.by_ref().take(*cuts.next().unwrap()).collect();
            window.push(&piece);
            found |= window.finds(&condition, false);
        }
        let expect = regex::Regex::new(CONDITIONS[at]).unwrap().is_match(&text);
        proptest::prop_assert_eq!(found || window.finds(&condition, true), expect);
    }
}

#[test]
fn invalid_conditions_are_reported() {
    let mut list = vec![rule("a", "(?=look)"), rule("b", "((a{1000}){1000}){1000}"), rule("c", "(")];
    let Bucket::Stream { conditions, .. } = &mut list[2].bucket else { panic!() };
    conditions.push("fine".into());
    list.push(Rule { globs: vec!["[".into()], ..rule("d", "x") });
    let (made, warnings) = StreamRules::new(&list, StreamSettings::default());
    let starts = ["/r/a.md: condition", "/r/b.md: condition", "/r/c.md: condition", "/r/d.md: glob"];
    assert_eq!(warnings.len(), starts.len(), "{warnings:#?}");
    for (warning, start) in warnings.iter().zip(starts) {
        assert!(warning.starts_with(start), "{warning}");
    }
    assert_eq!(made.unwrap().rules.iter().map(|rule| rule.name.as_str()).collect::<Vec<_>>(), ["c"]);
}

#[test]
fn every_condition_is_linear() {
    let rules = rules(&[rule("r", "(a*)*(a|aa)+$x")], StreamSettings::default());
    let now = || 0;
    assert_eq!(feed(&rules.watch(&now), "text", &"a".repeat(300_000)), None);
}
