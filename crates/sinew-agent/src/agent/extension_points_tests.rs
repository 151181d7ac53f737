//! Tests when extensions are called at points, and the effects of their answers.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use sinew_session::Body;
use sinew_tools::tool::Boxed;

use super::tests::{TestEnv, env};
use super::*;
use crate::extension::{Context, Extension, Point};
use crate::test_tools::{text, user};

/// Records every point and returns the prepared answers.
#[derive(Default)]
struct RecordingExtension {
    name: &'static str,
    answers: Vec<(&'static str, Value)>,
    seen: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Extension for RecordingExtension {
    fn name(&self) -> Cow<'static, str> {
        self.name.into()
    }

    fn is_at(&self, _point: &str) -> bool {
        true
    }

    fn on_point<'a>(
        &'a self,
        point: &'a Point,
        _context: &'a Context,
    ) -> Boxed<'a, Result<Option<Map<String, Value>>, String>> {
        Box::pin(async move {
            self.seen
                .lock()
                .unwrap()
                .push((format!("{}{}", self.name, point.name), Value::Object(point.fields.clone())));
            match self.answers.iter().find(|(name, _)| *name == point.name) {
                Some((_, Value::String(error))) => Err(error.clone()),
                Some((_, answer)) => Ok(answer.as_object().cloned()),
                None => Ok(None),
            }
        })
    }
}

type Seen = Arc<Mutex<Vec<(String, Value)>>>;

/// An environment with two extensions, the first of which answers.
fn asked(texts: &[&str], answers: Vec<(&'static str, Value)>) -> (TestEnv, Seen) {
    let seen = Seen::default();
    let first = RecordingExtension { name: "", answers, seen: Arc::clone(&seen) };
    let second = RecordingExtension { name: "2:", answers: Vec::new(), seen: Arc::clone(&seen) };
    let texts = texts.iter().map(|word| text(word)).collect();
    let env = env(texts, |parts| parts.extensions = vec![Arc::new(first), Arc::new(second)]);
    (env, seen)
}

fn names(seen: &Seen) -> Vec<String> {
    std::mem::take(&mut *seen.lock().unwrap()).into_iter().map(|(name, _)| name).collect()
}

async fn prompt(env: &TestEnv, text: &str) -> Outcome {
    env.agent.prompt(vec![user(text)], None).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_session_begins_and_ends_once_and_each_prompt_is_announced() {
    let (env, seen) = asked(&["one", "two"], Vec::new());
    prompt(&env, "go").await;
    assert_eq!(names(&seen), ["session_start", "2:session_start", "before_agent_start", "2:before_agent_start"]);
    prompt(&env, "on").await;
    assert_eq!(names(&seen), ["before_agent_start", "2:before_agent_start"]);
    env.agent.shut_down().await;
    env.agent.shut_down().await;
    assert_eq!(names(&seen), ["session_shutdown", "2:session_shutdown"]);
}

#[tokio::test(start_paused = true)]
async fn before_agent_start_adds_a_message_and_to_the_system_prompt() {
    let added = json!({"message": {"customType": "note", "content": "know this"}, "systemPromptAppend": "Be kind."});
    let (env, seen) = asked(&["one"], vec![("before_agent_start", added)]);
    prompt(&env, "go").await;
    let fields = seen.lock().unwrap().iter().find(|(name, _)| name == "before_agent_start").cloned().unwrap().1;
    assert_eq!(fields, json!({"prompt": "go", "systemPrompt": "be good"}));
    let asked = env.provider.asked.lock();
    let system: Vec<&str> = asked[0].system.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(system, ["be good", "Be kind."]);
    assert_eq!(asked[0].messages.len(), 2);
    drop(asked);
    env.laws();
    let file = std::fs::read_to_string(env.agent.session().path().unwrap()).unwrap();
    assert!(file.contains("\"customType\":\"note\"") && file.contains("know this"), "{file}");
}

#[tokio::test(start_paused = true)]
async fn a_move_in_the_tree_can_be_refused_or_summarized() {
    let (env, seen) = asked(&["one", "two"], vec![("session_before_tree", json!({"cancel": true}))]);
    prompt(&env, "go").await;
    let ids: Vec<String> = env.agent.session().path_ids().into_iter().map(str::to_string).collect();
    names(&seen);
    let moved = env.agent.navigate_tree(&ids[0], BranchSummaryChoice::Silently).await.unwrap();
    assert!(moved.cancelled && names(&seen) == ["session_before_tree"], "the first refusal ends the asking");
    assert_eq!(env.agent.session().path_ids(), ids);

    let (env, seen) = asked(&["one", "two"], vec![("session_before_tree", json!({"summary": "what was tried"}))]);
    prompt(&env, "go").await;
    let first = env.agent.session().path_ids()[0].to_string();
    let old = env.agent.session().leaf().map(str::to_string);
    seen.lock().unwrap().clear();
    let moved = env.agent.navigate_tree(&first, BranchSummaryChoice::Silently).await.unwrap();
    let entry = env.agent.session().entry(moved.summary_id.as_deref().unwrap()).unwrap();
    let Body::BranchSummary { summary, from_extension, .. } = entry.body else { panic!("{entry:?}") };
    assert!(summary.contains("what was tried") && from_extension == Some(true));
    let told = seen.lock().unwrap().clone();
    assert_eq!(told[0].1, json!({"targetId": first, "oldLeafId": old}));
    assert_eq!(told[2].0, "session_tree");
    assert_eq!(told[2].1, json!({"newLeafId": moved.summary_id, "oldLeafId": old, "summaryEntryId": moved.summary_id}));
}

/// An environment with a context long enough to be summarized.
async fn long(answers: Vec<(&'static str, Value)>) -> (TestEnv, Seen) {
    let words = "word ".repeat(30_000);
    let (env, seen) = asked(&["one", "two", "three", "a summary", "more"], answers);
    for text in ["first", words.as_str(), "last"] {
        prompt(&env, text).await;
    }
    seen.lock().unwrap().clear();
    (env, seen)
}

#[tokio::test(start_paused = true)]
async fn a_compaction_can_be_refused_replaced_or_extended() {
    let (env, _) = long(vec![("session_before_compact", json!({"cancel": true, "reason": "not now"}))]).await;
    let refused = env.agent.compact(None).await.unwrap_err();
    assert_eq!(refused.message(), "Compaction cancelled: not now");
    assert_eq!(env.asked(), 3);

    let supplied = json!({"compaction": {"summary": "what an extension says"}});
    let (env, seen) = long(vec![("session_before_compact", supplied)]).await;
    let made = env.agent.compact(None).await.unwrap();
    assert_eq!((made.summary.as_deref(), env.asked()), (Some("what an extension says"), 3));
    env.laws();
    let told = seen.lock().unwrap().clone();
    assert_eq!(told[0].1["firstKeptEntryId"], json!(made.first_kept_entry_id));
    assert_eq!(told.last().unwrap().1["fromExtension"], true);

    let helped = json!({"context": ["mind this"], "prompt": "Sum up in verse.", "preserveData": {"a": 1}});
    let (env, seen) = long(vec![("session.compacting", helped)]).await;
    env.agent.compact(Some("my focus")).await.unwrap();
    let asked = env.provider.asked.lock();
    assert_eq!(asked[3].system[0].text, "Sum up in verse.");
    let words = serde_json::to_string(&*asked[3].messages[0]).unwrap();
    assert!(words.contains("my focus\\n\\nmind this"), "{words}");
    drop(asked);
    let session = env.agent.session();
    let entry = session.entry(session.leaf().unwrap()).unwrap();
    let Body::Compaction { preserve_data, .. } = entry.body else { panic!("{entry:?}") };
    assert_eq!(preserve_data, Some(json!({"a": 1})));
    drop(session);
    assert_eq!(names(&seen).last().map(String::as_str), Some("2:session_compact"));
}

#[tokio::test(start_paused = true)]
async fn only_a_permitted_compaction_stops_the_run() {
    let (env, seen) = long(vec![("session_before_compact", json!({"cancel": true}))]).await;
    let accepted = env.agent.accept(vec![user("go on")], None).await.unwrap();
    assert!(accepted.runs() && env.agent.is_running());
    env.agent.compact(None).await.unwrap_err();
    assert_eq!(names(&seen), ["session_before_compact"]);
    assert_eq!(accepted.run().await.stop, Stop::Done);

    let supplied = json!({"compaction": {"summary": "what an extension says"}});
    let (env, seen) = long(vec![("session_before_compact", supplied)]).await;
    let accepted = env.agent.accept(vec![user("go on")], None).await.unwrap();
    let (made, outcome) = tokio::join!(env.agent.compact(None), accepted.run());
    assert_eq!((made.unwrap().summary.as_deref(), outcome.stop), (Some("what an extension says"), Stop::Aborted));
    let asked = names(&seen).into_iter().filter(|name| name == "session_before_compact").count();
    assert_eq!(asked, 1);
    env.laws();
}

#[tokio::test(start_paused = true)]
async fn hosts_ask_before_they_leave_a_session() {
    let answers = vec![
        ("session_before_switch", json!({"cancel": true, "reason": "busy"})),
        ("session_before_branch", json!({"skipConversationRestore": true})),
        (
            "user_bash",
            json!({"result": {"output": "mine", "exitCode": 0, "cancelled": false, "truncated": false, "timestamp": 1}}),
        ),
    ];
    let (env, seen) = asked(&[], answers);
    let leaving = env.agent.may_switch("resume", Some(std::path::Path::new("/s.jsonl"))).await;
    assert_eq!(leaving, CancelDecision { cancelled: true, reason: Some("busy".into()), skip_restore: false });
    assert_eq!(seen.lock().unwrap()[0].1, json!({"reason": "resume", "targetSessionFile": "/s.jsonl"}));
    assert!(env.agent.may_branch("1").await.skip_restore);
    let made = env.agent.asked_user_bash("ls", true).await.unwrap();
    assert_eq!((made.command.as_str(), made.output.as_str()), ("ls", "mine"));
    seen.lock().unwrap().clear();
    env.agent.switched("resume", None).await;
    env.agent.branched(Some(std::path::Path::new("/o.jsonl"))).await;
    let told = seen.lock().unwrap().clone();
    assert_eq!((told[0].0.as_str(), &told[0].1), ("session_switch", &json!({"reason": "resume"})));
    assert_eq!((told[2].0.as_str(), &told[2].1), ("session_branch", &json!({"previousSessionFile": "/o.jsonl"})));
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_reported_and_stops_nothing() {
    for wrong in [json!("it broke"), json!({"cancle": true}), json!({"cancel": "yes"})] {
        let (mut env, _) = asked(&["one"], vec![("session_before_tree", wrong)]);
        prompt(&env, "go").await;
        let first = env.agent.session().path_ids()[0].to_string();
        while env.listener.try_recv().is_some() {}
        assert!(!env.agent.navigate_tree(&first, BranchSummaryChoice::Silently).await.unwrap().cancelled);
        let told = env.listener.try_recv().unwrap();
        let told = serde_json::to_value(&*told).unwrap();
        assert_eq!((&told["type"], &told["event"]), (&json!("extension_error"), &json!("session_before_tree")));
    }
}
