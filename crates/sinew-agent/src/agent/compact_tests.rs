//! Tests of compaction: when it happens, its request, and the context that the model sees afterwards.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sinew::base::{Error, Result};
use sinew_llm::error::ErrorKind;
use sinew_llm::message::{AgentMessage, AssistantMessage, FileMention, MentionedFile, StopReason, ToolResultMessage};
use sinew_llm::model::Model;
use sinew_llm::provider::Request;
use sinew_tools::tool::ToolOutput;

use super::tests::{TestEnv, counted, env};
use super::*;
use crate::compaction::{Limits, context_tokens};
use crate::core::Toolset;
use crate::event::Event;
use crate::test_tools::{ScriptedProvider, calls, failed, text, tool, user};

const FEW: Limits = Limits { reserve: 10_000, keep_recent: 100 };

/// Returns the kind of each request, in order.
fn lanes(provider: &ScriptedProvider) -> Vec<&'static str> {
    let lane = |request: &Request| if request.lane.as_deref() == Some("compact") { "summary" } else { "turn" };
    provider.asked.lock().iter().map(lane).collect()
}

/// Returns the text of request `at`, which asks for a summary.
fn wished(provider: &ScriptedProvider, at: usize) -> String {
    let asked = provider.asked.lock();
    let sinew_llm::message::LlmMessage::User(user) = &*asked[at].messages[0] else { panic!("{:?}", asked[at]) };
    user.content.text()
}

fn roles(agent: &AgentSession) -> Vec<&'static str> {
    agent.conversation().unwrap().iter().map(AgentMessage::role).collect()
}

fn lines(env: &TestEnv, kind: &str) -> usize {
    let file = std::fs::read_to_string(&env.path).unwrap();
    file.lines().filter(|line| serde_json::from_str::<Value>(line).unwrap()["type"] == kind).count()
}

/// Returns the text of the summary in the context.
fn summary(agent: &AgentSession) -> String {
    match &agent.conversation().unwrap()[0] {
        AgentMessage::CompactionSummary(summary) => summary.summary.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_would_not_fit_is_sent_after_a_summary() {
    let answers = vec![counted(&"a".repeat(40_000), 80_000), text("the summary"), text("ok")];
    let mut env = env(answers, |parts| parts.settings.compaction.limits = FEW);
    assert_eq!(env.prompt().await.1, [""; 0]);
    let prompt = env.agent.prompt(vec![user(&"b".repeat(60_000))], None).await.unwrap();
    assert_eq!(prompt.answer.unwrap().text(), "ok");
    assert_eq!(lanes(&env.provider), ["turn", "summary", "turn"]);
    assert!(context_tokens(&env.agent.conversation().unwrap()) < 90_000);
}

#[tokio::test(start_paused = true)]
async fn the_failed_answer_of_an_overflow_leaves_the_context() {
    let answers =
        vec![counted(&"a".repeat(40_000), 12_000), failed(ErrorKind::ContextOverflow, None), text("sum"), text("ok")];
    let mut env = env(answers, |parts| parts.settings.compaction.limits = FEW);
    env.prompt().await;
    let (outcome, told) = env.prompt().await;
    assert_eq!((outcome.stop, told), (Stop::Done, vec!["compact overflow".into(), "compacted true -".into()]));
    let asked = env.provider.asked.lock();
    assert!(!format!("{:?} {:?}", asked[2].messages, asked[3].messages).contains("partly"), "{:?}", asked[3].messages);
}

#[tokio::test(start_paused = true)]
async fn without_compaction_nothing_is_summarized_and_an_overflow_says_why() {
    let answers = vec![counted("long", 99_000), counted("longer", 99_500), failed(ErrorKind::ContextOverflow, None)];
    let mut env = env(answers, |parts| parts.settings.compaction.enabled = false);
    for _ in 0..2 {
        assert_eq!(env.prompt().await.1, [""; 0]);
    }
    let (outcome, told) = env.prompt().await;
    let Stop::Failed(error) = outcome.stop else { panic!("{outcome:?}") };
    let why = "Context overflow recovery failed: compaction is off. The request has about ";
    assert!(error.message.starts_with(why) && error.message.ends_with(" it failed"), "{}", error.message);
    assert_eq!((told.len(), env.asked()), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn a_run_continues_after_compaction_if_work_is_open_and_the_setting_allows_it() {
    // Whether the answer was cut off, items are open, the user wants it; and whether the agent continues.
    for (cut, open, auto, goes_on) in [
        (false, false, true, false),
        (true, false, true, true),
        (false, true, true, true),
        (true, true, false, false),
        (true, true, true, true),
    ] {
        let stop_reason = if cut { StopReason::Length } else { StopReason::Stop };
        let long = AssistantMessage { stop_reason, ..counted(&"a".repeat(40_000), 95_000) };
        let mut env = env(vec![long, text("the summary"), text("more")], |parts| {
            parts.settings.compaction.limits = FEW;
            parts.settings.compaction.auto_continue = auto;
            parts.open_items = open.then(|| Arc::new(|| Some(json!(["tests"]))) as _);
        });
        let (_, told) = env.prompt().await;
        let what = format!("cut {cut}, open {open}, auto {auto}");
        assert_eq!(told, ["compact threshold", "compacted true -"], "{what}");
        assert_eq!(lanes(&env.provider).len(), if goes_on { 3 } else { 2 }, "{what}");
        let said = env.agent.conversation().unwrap().iter().any(|message| {
            matches!(message, AgentMessage::Custom(custom) if custom.content.text() == "Continue if you have next steps.")
        });
        assert_eq!(said, goes_on, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_compaction_is_reported_and_not_retried_in_the_same_chain() {
    let full = |id| {
        let usage = counted("", 95_000).usage;
        AssistantMessage { usage, ..calls(&[(id, "echo", json!({"say": "x"}))]) }
    };
    let answers =
        vec![counted(&"a".repeat(40_000), 12_000), full("1"), failed(ErrorKind::Auth, None), full("2"), text("ok")];
    let mut env = env(answers, |parts| parts.settings.compaction.limits = FEW);
    env.prompt().await;
    let (outcome, told) = env.prompt().await;
    assert_eq!(outcome.stop, Stop::Done);
    assert_eq!(told, ["compact threshold", "compacted false Auto-compaction failed: it failed"]);
    assert_eq!(lanes(&env.provider), ["turn", "turn", "summary", "turn", "turn"]);
    assert_eq!((lines(&env, "compaction"), lines(&env, "prune")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn on_a_small_window_a_quarter_is_kept() {
    let long = |letter: &str| text(&letter.repeat(12_000));
    let env = env(vec![long("a"), long("b"), long("c"), text("sum"), text("the turn")], |parts| {
        parts.resolved.model.context_window = 8_000;
        parts.settings.compaction.enabled = false;
    });
    for _ in 0..3 {
        env.agent.prompt(vec![user("go")], None).await.unwrap();
    }
    env.agent.compact(None).await.unwrap();
    assert!(roles(&env.agent).len() < 5, "{:?}", roles(&env.agent));
    // The request for the summary must fit into the window too.
    let wish = wished(&env.provider, 3);
    assert!(wish.len() < 20_500 && wish.contains("bbb"), "{} bytes", wish.len());
    let asked = env.provider.asked.lock();
    assert_eq!(asked[3].max_tokens, Some(1_600));
    assert!(asked[3].tools.is_empty());
}

#[tokio::test(start_paused = true)]
async fn summaries_include_the_earlier_summary_and_all_files() {
    let path = |path: &str| json!({"path": path});
    let answers = vec![
        calls(&[("1", "read", path("a")), ("2", "write", path("b")), ("3", "read", path("z"))]),
        text("one"),
        text(&"two".repeat(200)),
        text("FIRST"),
        calls(&[("4", "read", path("c")), ("5", "edit", path("a"))]),
        text("three"),
        text("SECOND"),
        text("THE TURN"),
    ];
    let env = env(answers, |parts| parts.settings.compaction.limits = Limits { reserve: 1_000, keep_recent: 151 });
    let say = async |words: &str| env.agent.prompt(vec![user(words)], None).await.unwrap();
    say("one").await;
    say("two").await;
    env.agent.compact(None).await.unwrap();
    let first = "FIRST\n\n<read-files>\na\nz\n</read-files>\n\n<modified-files>\nb\n</modified-files>";
    assert_eq!(summary(&env.agent), first);
    assert_eq!(roles(&env.agent), ["compactionSummary", "user", "assistant"]);
    assert!(!wished(&env.provider, 3).contains("<previous-summary>"));
    say("three").await;
    env.agent.change_settings(|settings| settings.compaction.limits.keep_recent = 1);
    env.agent.compact(Some("mind the tests")).await.unwrap();
    let wish = wished(&env.provider, 6);
    assert!(wish.contains("<previous-summary>\nFIRST\n</previous-summary>"), "{wish}");
    assert!(wish.contains("<additional-context>\nmind the tests\n</additional-context>"), "{wish}");
    let turn = wished(&env.provider, 7);
    assert!(turn.contains("three") && !turn.contains("<previous-summary>"), "{turn}");
    let files = "<read-files>\nc\nz\n</read-files>\n\n<modified-files>\na\nb\n</modified-files>";
    let second = format!("SECOND\n\n---\n\n**Turn Context (split turn):**\n\nTHE TURN\n\n{files}");
    assert_eq!(summary(&env.agent), second);
    env.laws();
}

#[tokio::test(start_paused = true)]
async fn the_summary_of_a_divided_turn_follows_the_earlier_summary() {
    let answers = vec![text("one"), text(&"two".repeat(200)), text("FIRST"), text("THE TURN")];
    let env = env(answers, |parts| parts.settings.compaction.limits = Limits { reserve: 1_000, keep_recent: 151 });
    for words in ["one", "two"] {
        env.agent.prompt(vec![user(words)], None).await.unwrap();
    }
    env.agent.compact(None).await.unwrap();
    env.agent.change_settings(|settings| settings.compaction.limits.keep_recent = 1);
    env.agent.compact(None).await.unwrap();
    assert_eq!(summary(&env.agent), "FIRST\n\n---\n\n**Turn Context (split turn):**\n\nTHE TURN");
    assert_eq!(env.agent.compact(None).await.unwrap_err().to_string(), "Nothing to compact");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_larger_than_the_window_is_shortened_in_the_middle() {
    let answers = vec![text("one"), text("two"), text("SHORT"), text("THE TURN")];
    let env = env(answers, |parts| parts.settings.compaction.limits = Limits { reserve: 1_000, keep_recent: 1 });
    env.agent.change_settings(|settings| settings.compaction.enabled = false);
    for words in ["first ".to_string() + &"x".repeat(2_000_000) + " last", "more".into()] {
        env.agent.prompt(vec![user(&words)], None).await.unwrap();
    }
    env.agent.compact(None).await.unwrap();
    let wish = wished(&env.provider, 2);
    let window = usize::try_from(env.agent.model().model.context_window).unwrap();
    assert!(wish.len() < window * 4, "{} bytes for a window of {window} tokens", wish.len());
    assert!(wish.contains("[User]: first xx") && wish.contains(" bytes left out]"));
    env.laws();
}

/// An agent that has called a tool four times, with 25,000 tokens of output each, and whose last answer reported
/// `total` tokens of a window of 100,000.
fn with_outputs(total: u64, more: Vec<AssistantMessage>) -> TestEnv {
    let mut answers: Vec<_> = ["1", "2", "3", "4"].map(|id| calls(&[(id, "big", json!({}))])).into();
    answers.push(counted("done", total));
    answers.extend(more);
    env(answers, |parts| {
        parts.settings.compaction.limits = Limits { reserve: 10_000, keep_recent: 30_000 };
        parts.resolved.model.context_window = 400_000;
        let big = tool("big", |_| Box::pin(async { Ok(ToolOutput::text("x".repeat(100_000))) }));
        parts.tools = Toolset::new([big]).0;
    })
}

#[tokio::test(start_paused = true)]
async fn old_outputs_are_pruned_first_and_that_may_be_enough() {
    let mut env = with_outputs(395_000, Vec::new());
    let (_, told) = env.prompt().await;
    assert_eq!(told, ["compact threshold", "compacted true -"]);
    assert_eq!((env.asked(), lines(&env, "prune"), lines(&env, "compaction")), (5, 1, 0));
    let pruned = |message: &AgentMessage| matches!(message, AgentMessage::ToolResult(result) if is_note(result));
    let seen: Vec<bool> = env.agent.conversation().unwrap().iter().map(pruned).collect();
    assert_eq!(seen, [false, false, true, false, true, false, true, false, false, false]);
}

fn is_note(result: &ToolResultMessage) -> bool {
    sinew_llm::message::text_of(&result.content) == "[Output truncated - 25000 tokens]"
}

#[tokio::test(start_paused = true)]
async fn if_pruning_is_not_enough_the_rest_is_summarized() {
    let mut env = with_outputs(480_000, vec![text("sum"), text("the turn")]);
    let (_, told) = env.prompt().await;
    assert_eq!(told, ["compact threshold", "compacted true -"]);
    assert_eq!((lines(&env, "prune"), lines(&env, "compaction")), (1, 1));
    assert!(context_tokens(&env.agent.conversation().unwrap()) < 390_000);
    let manual = with_outputs(100_000, vec![text("sum"), text("the turn")]);
    manual.agent.prompt(vec![user("go")], None).await.unwrap();
    manual.agent.compact(None).await.unwrap();
    assert_eq!((lines(&manual, "prune"), lines(&manual, "compaction")), (0, 1));
}

/// Resolves models by their patterns.
struct NamedModels(Vec<(&'static str, ResolvedModel)>);

impl ModelResolver for NamedModels {
    fn resolve(&self, pattern: &str) -> Result<ResolvedModel> {
        let found = self.0.iter().find(|(name, _)| *name == pattern).map(|(_, resolved)| resolved.clone());
        found.ok_or_else(|| Error::invalid(format!("Model not found: {pattern}")))
    }
}

/// An agent with text to summarize, a model that the settings name for summaries, and a fast one.
async fn helped(
    helper: Vec<AssistantMessage>,
    fast: Vec<AssistantMessage>,
    own: Vec<AssistantMessage>,
) -> [Arc<ScriptedProvider>; 3] {
    let (env, providers) = helped_stage(helper, fast, own).await;
    env.agent.compact(None).await.unwrap();
    assert_eq!(summary(&env.agent), "sum");
    env.laws();
    providers
}

async fn helped_stage(
    helper: Vec<AssistantMessage>,
    fast: Vec<AssistantMessage>,
    own: Vec<AssistantMessage>,
) -> (TestEnv, [Arc<ScriptedProvider>; 3]) {
    let (helper, fast) = (Arc::new(ScriptedProvider::new(helper)), Arc::new(ScriptedProvider::new(fast)));
    let answers = [text("one"), text("two")].into_iter().chain(own).collect();
    let env = env(answers, |parts| {
        parts.settings.compaction.limits = Limits { reserve: 10_000, keep_recent: 2 };
        parts.settings.compaction.model = Some("helper".into());
        let resolved = |id: &str, provider: &Arc<ScriptedProvider>| {
            let model = Model { id: id.into(), ..parts.resolved.model.clone() };
            ResolvedModel { model, provider: Arc::<ScriptedProvider>::clone(provider), ..parts.resolved.clone() }
        };
        let named = vec![("helper", resolved("helper", &helper)), ("role:fast", resolved("fast", &fast))];
        parts.models = Arc::new(NamedModels(named));
    });
    for _ in 0..2 {
        env.agent.prompt(vec![user("go")], None).await.unwrap();
    }
    let own = Arc::clone(&env.provider);
    (env, [helper, fast, own])
}

#[tokio::test(start_paused = true)]
async fn models_for_summaries_are_tried_in_order() {
    let refuses = || vec![failed(ErrorKind::InvalidRequest, None)];
    let count = |providers: [Arc<ScriptedProvider>; 3]| {
        providers.map(|provider| lanes(&provider).iter().filter(|lane| **lane == "summary").count())
    };
    assert_eq!(count(helped(vec![text("sum")], vec![], vec![]).await), [1, 0, 0]);
    assert_eq!(count(helped(refuses(), vec![text("sum")], vec![]).await), [1, 1, 0]);
    // An empty summary counts as a failure.
    assert_eq!(count(helped(refuses(), vec![text(" \n")], vec![text("sum")]).await), [1, 1, 1]);
    // Transient failures are retried.
    assert_eq!(count(helped(vec![failed(ErrorKind::Server, None), text("sum")], vec![], vec![]).await), [2, 0, 0]);
    let (env, providers) = helped_stage(refuses(), refuses(), refuses()).await;
    let before = (env.agent.conversation().unwrap(), std::fs::read_to_string(&env.path).unwrap());
    assert_eq!(env.agent.compact(None).await.unwrap_err().to_string(), "it failed");
    assert_eq!(count(providers), [1, 1, 1]);
    assert_eq!((env.agent.conversation().unwrap(), std::fs::read_to_string(&env.path).unwrap()), before);
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_a_compaction_without_trying_another_model() {
    // Aborts while the server does not answer, and during the delay before a retry.
    for helper in [vec![], vec![failed(ErrorKind::Server, Some(50_000))]] {
        let (mut env, [helper, fast, _]) = helped_stage(helper, vec![], vec![]).await;
        let begun = tokio::time::Instant::now();
        let abort = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert!(env.agent.abort_compaction());
        };
        let (failed, ()) = tokio::join!(env.agent.compact(None), abort);
        failed.unwrap_err();
        assert!(begun.elapsed() < Duration::from_millis(3_100), "{:?}", begun.elapsed());
        assert_eq!((lanes(&helper).len(), lanes(&fast).len()), (1, 0));
        let mut end = None;
        while let Some(event) = env.listener.try_recv() {
            if let Event::AutoCompactionEnd { aborted, error_message, result, will_retry, .. } = &*event {
                end = Some((*aborted, error_message.clone(), result.clone(), *will_retry));
            }
        }
        assert_eq!(end, Some((true, None, None, false)));
    }
}

/// An agent with a tool whose results have `bytes` bytes.
fn with_large_results(answers: Vec<AssistantMessage>, bytes: usize) -> TestEnv {
    let large = tool("large", move |_| Box::pin(async move { Ok(ToolOutput::text("é".repeat(bytes / 2))) }));
    env(answers, |parts| {
        parts.settings.compaction.limits = FEW;
        parts.tools = Toolset::new([large]).0;
    })
}

fn large_call(id: &str) -> AssistantMessage {
    calls(&[(id, "large", json!({}))])
}

/// Returns the text of the last result in request `at`.
fn last_result(provider: &ScriptedProvider, at: usize) -> String {
    let asked = provider.asked.lock();
    let results = asked[at].messages.iter().rev().filter_map(|message| match &**message {
        sinew_llm::message::LlmMessage::ToolResult(result) => match &result.content[0] {
            sinew_llm::Block::Text(text) => Some(text.text.clone()),
            _ => None,
        },
        _ => None,
    });
    results.into_iter().next().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_overflow_with_a_short_history_shortens_results() {
    let overflow = || failed(ErrorKind::ContextOverflow, None);
    let mut env = with_large_results(vec![large_call("1"), overflow(), text("ok"), text("more")], 240_000);
    let (outcome, told) = env.prompt().await;
    assert_eq!((outcome.stop, told), (Stop::Done, vec!["compact overflow".into(), "compacted true -".into()]));
    assert_eq!(lanes(&env.provider), ["turn"; 3]);
    let sent = last_result(&env.provider, 2);
    assert!((60_000..121_000).contains(&sent.len()), "{}", sent.len());
    assert!(sent.starts_with('é') && sent.ends_with('é') && sent.contains(" bytes are left out here: "));
    assert_eq!((lines(&env, "compaction"), lines(&env, "prune")), (0, 1));
    // The result stays as short as it was sent.
    env.prompt().await;
    assert_eq!(last_result(&env.provider, 3), sent);
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_does_not_help_is_followed_by_shorter_results() {
    let overflow = || failed(ErrorKind::ContextOverflow, None);
    let old = counted(&"a".repeat(120_000), 30_000);
    let answers = vec![old, large_call("1"), overflow(), text("sum"), text("turn"), overflow(), text("ok")];
    let mut env = with_large_results(answers, 150_000);
    env.prompt().await;
    let (outcome, told) = env.prompt().await;
    assert_eq!(outcome.stop, Stop::Done);
    assert_eq!(told, ["compact overflow", "compacted true -", "compact overflow", "compacted true -"]);
    assert_eq!(lanes(&env.provider), ["turn", "turn", "turn", "summary", "summary", "turn", "turn"]);
    assert!(last_result(&env.provider, 6).len() < 76_000);
}

#[tokio::test(start_paused = true)]
async fn a_context_that_stays_too_large_is_a_failure() {
    let overflow = || failed(ErrorKind::ContextOverflow, None);
    let mut env = with_large_results(vec![large_call("1"), overflow(), overflow(), overflow()], 240_000);
    let Stop::Failed(error) = env.prompt().await.0.stop else { panic!("no failure") };
    let why = "Context overflow recovery failed: the context is still too large after a compaction. The request has ";
    assert!(error.message.starts_with(why) && error.message.ends_with(" it failed"), "{}", error.message);
    assert!(error.message.contains("The largest part is a result of the tool "), "{}", error.message);
    assert_eq!(env.asked(), 4);
    assert!(last_result(&env.provider, 3).len() < 61_000);
}

/// The error names what the user can make smaller, because a short history leaves nothing to summarize.
#[tokio::test(start_paused = true)]
async fn an_overflow_without_history_names_the_largest_part() {
    let file = |path: &str, length: usize| MentionedFile {
        path: path.into(),
        content: "x".repeat(length),
        line_count: 1,
        image: None,
    };
    let files = |files: Vec<MentionedFile>| AgentMessage::FileMention(FileMention { files, timestamp: 0 });
    let long = || user(&"x".repeat(400_000));
    for (messages, system, expect) in [
        (vec![long()], 10, "your message, about 100000 tokens: write long text to a file, "),
        (
            vec![files(vec![file("a.txt", 1_000), file("big.txt", 399_993)]), user("go")],
            10,
            "the attached file big.txt, about 100000 tokens: name it without the @, ",
        ),
        (vec![user("go")], 400_000, "the system prompt, about 100000 tokens: shorten your AGENTS.md "),
    ] {
        let env = env(vec![failed(ErrorKind::ContextOverflow, None)], |parts| {
            parts.system = vec!["s".repeat(system)];
        });
        let outcome = env.agent.prompt(messages, None).await.unwrap();
        let Stop::Failed(error) = outcome.stop else { panic!("{outcome:?}") };
        let why =
            "Context overflow recovery failed: there is too little history to summarize. The request has about 100";
        assert!(error.message.starts_with(why), "{}", error.message);
        for part in [
            &format!("; the window of p/m has 100000. The largest part is {expect}"),
            "or use a model with a larger window. it failed",
        ] {
            assert!(error.message.contains(part), "{}", error.message);
        }
        env.laws();
    }
}
