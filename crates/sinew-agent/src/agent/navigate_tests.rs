use super::tests::{TestEnv, env};
use super::*;
use crate::test_tools::{calls, text, user};
use serde_json::json;
use sinew_llm::message::{AgentMessage, LlmMessage};
use sinew_llm::provider::ToolChoice;
use sinew_session::{Body, Defaults, Session};
use std::sync::Arc;

/// An environment with two prompts and their answers; also returns the ids of the two user messages.
async fn twice(more: Vec<sinew_llm::message::AssistantMessage>) -> (TestEnv, Vec<String>) {
    let answers = [
        vec![text("first answer"), calls(&[("c", "echo", json!({"say": "x", "path": "a.rs"}))]), text("second answer")],
        more,
    ];
    let env = env(answers.concat(), |_| {});
    for word in ["one", "two"] {
        env.agent.prompt(vec![user(word)], None).await.unwrap();
    }
    let session = env.agent.session();
    let ids: Vec<String> = session.path_ids().into_iter().map(str::to_string).collect();
    let said =
        |id: &String| matches!(session.entry(id).unwrap().body, Body::Message { message: AgentMessage::User(_) });
    let users = ids.into_iter().filter(said).collect();
    drop(session);
    (env, users)
}

fn told(messages: &[Arc<LlmMessage>]) -> Vec<String> {
    messages.iter().map(|message| serde_json::to_string(&**message).unwrap()).collect()
}

fn roles(env: &TestEnv) -> Vec<&'static str> {
    env.agent.session().context(&Defaults::default()).unwrap().messages.iter().map(AgentMessage::role).collect()
}

#[tokio::test]
async fn going_back_summarizes_the_branch_that_is_left() {
    let (env, users) = twice(vec![text("It was tried.")]).await;
    let moved = env.agent.navigate_tree(&users[1], BranchSummaryChoice::Summarised(Some("the file"))).await.unwrap();
    assert_eq!(moved.editor_text.as_deref(), Some("two"));
    assert_eq!(roles(&env), ["user", "assistant", "branchSummary"]);
    let asked = env.provider.asked.lock().last().cloned().unwrap();
    let asked = told(&asked.messages).concat();
    assert!(
        asked.contains("second answer") && asked.contains("the file") && !asked.contains("first answer"),
        "{asked}"
    );
    env.laws();
    let id = moved.summary_id.unwrap();
    let Body::BranchSummary { summary, .. } = env.agent.session().entry(&id).unwrap().body else { panic!() };
    assert!(summary.starts_with("It was tried."), "{summary}");
    let again = env.agent.navigate_tree(&id, BranchSummaryChoice::AsSet).await.unwrap_err();
    assert_eq!(again.message(), "Already at this point");
}

#[tokio::test]
async fn moving_to_the_end_of_the_branch_needs_no_summary() {
    let (env, users) = twice(Vec::new()).await;
    let asked = env.asked();
    let moved = env.agent.navigate_tree(&users[0], BranchSummaryChoice::Silently).await.unwrap();
    assert_eq!((moved.editor_text.as_deref(), roles(&env)), (Some("one"), vec![]));
    let moved = env.agent.navigate_tree(&users[1], BranchSummaryChoice::Summarised(None)).await.unwrap();
    assert_eq!((moved.summary_id, roles(&env)), (None, vec!["user", "assistant"]));
    assert_eq!(env.asked(), asked);
    env.laws();
}

#[tokio::test]
async fn a_cancelled_summary_moves_nothing() {
    // The provider has no further answers.
    let (env, users) = twice(Vec::new()).await;
    let before = roles(&env);
    let asked = env.asked();
    let navigate = env.agent.navigate_tree(&users[1], BranchSummaryChoice::Summarised(None));
    tokio::pin!(navigate);
    let moved = tokio::select! {
        moved = &mut navigate => moved.unwrap(),
        () = async { while env.asked() == asked { tokio::task::yield_now().await } env.agent.abort(); std::future::pending().await } => unreachable!(),
    };
    assert_eq!((moved.aborted, moved.editor_text), (true, None));
    assert_eq!(roles(&env), before);
}

#[tokio::test]
async fn a_handoff_sends_the_prefix_of_the_last_turn_and_begins_a_new_session() {
    let (env, _) = twice(vec![text("All that matters."), text("  ")]).await;
    let handed = env.agent.handoff(Some("tests")).await.unwrap();
    let asked = env.provider.asked.lock().clone();
    let (last, handoff) = (&asked[asked.len() - 2], &asked[asked.len() - 1]);
    let (before, sent) = (told(&last.messages), told(&handoff.messages));
    assert_eq!(sent[..before.len()], before[..], "the history is the same");
    assert_eq!(sent.len(), before.len() + 2, "the last answer and one message more");
    assert!(sent.last().unwrap().contains("Additional focus: tests"));
    assert_eq!(format!("{:?}{:?}", handoff.system, handoff.tools), format!("{:?}{:?}", last.system, last.tools));
    assert_eq!(handoff.tool_choice, ToolChoice::None);
    let new = Session::view(&handed.path.unwrap(), super::tests::options(env.folder.path())).unwrap().session;
    assert_eq!(new.header().parent_session.as_deref(), Some("id"));
    let messages = new.context(&Defaults::default()).unwrap().messages;
    let [AgentMessage::Custom(custom)] = &messages[..] else { panic!("{messages:?}") };
    assert!(custom.content.text().starts_with("<handoff-context>\nAll that matters.\n"), "{custom:?}");
    env.laws();
    let failed = env.agent.handoff(None).await.unwrap_err();
    assert_eq!(failed.message(), "Handoff failed: the answer was empty");
}

#[tokio::test]
async fn a_session_gets_one_title_and_never_replaces_that_of_the_user() {
    let env = env(vec![text("answer"), text("\"Fix the build.\""), text("more")], |parts| parts.settings.titles = true);
    env.agent.prompt(vec![user("go")], None).await.unwrap();
    assert_eq!(env.agent.session().title().as_deref(), Some("Fix the build"));
    env.agent.set_title(" My  name ").unwrap();
    env.agent.prompt(vec![user("go")], None).await.unwrap();
    assert_eq!((env.agent.session().title().as_deref(), env.asked()), (Some("My name"), 3));
    assert!(env.agent.set_title(" \n").is_err());
}

#[tokio::test]
async fn branches_and_forks_are_files_next_to_the_session() {
    let (env, users) = twice(Vec::new()).await;
    env.agent.set_label(&users[0], Some("start")).unwrap();
    let branched = env.agent.branch(&users[1]).unwrap();
    let open = |path: &std::path::Path| Session::view(path, super::tests::options(env.folder.path())).unwrap().session;
    let file = |copy: SessionCopy| match copy {
        SessionCopy::File(path) => path,
        SessionCopy::InMemory(_) => panic!("the session has a file"),
    };
    let count = |session: &Session| session.context(&Defaults::default()).unwrap().messages.len();
    assert_eq!((branched.text.as_str(), count(&open(&file(branched.copy)))), ("two", 2));
    let clone = open(&file(env.agent.clone_branch().unwrap()));
    {
        let session = env.agent.session();
        assert_eq!((count(&clone), clone.leaf()), (count(&session), session.leaf()));
    }
    let forked = open(&env.agent.fork().unwrap());
    assert_eq!(forked.len(), env.agent.session().len());
    assert!(env.agent.branch("nowhere").is_err());
}
