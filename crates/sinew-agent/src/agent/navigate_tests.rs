use super::tests::{Stage, stage};
use super::*;
use crate::stage::{calls, text, user};
use serde_json::json;
use sinew_llm::message::{AgentMessage, LlmMessage};
use sinew_llm::provider::ToolChoice;
use sinew_session::{Body, Defaults, Session};
use std::sync::Arc;

/// A stage that has answered once and once more; the ids of the two messages of the user.
async fn twice(more: Vec<sinew_llm::message::AssistantMessage>) -> (Stage, Vec<String>) {
    let answers = [
        vec![text("first answer"), calls(&[("c", "echo", json!({"say": "x", "path": "a.rs"}))]), text("second answer")],
        more,
    ];
    let stage = stage(answers.concat(), |_| {});
    for word in ["one", "two"] {
        stage.agent.prompt(vec![user(word)], None).await.unwrap();
    }
    let session = stage.agent.session();
    let ids: Vec<String> = session.path_ids().into_iter().map(str::to_string).collect();
    let said =
        |id: &String| matches!(session.entry(id).unwrap().body, Body::Message { message: AgentMessage::User(_) });
    let users = ids.into_iter().filter(said).collect();
    drop(session);
    (stage, users)
}

fn told(messages: &[Arc<LlmMessage>]) -> Vec<String> {
    messages.iter().map(|message| serde_json::to_string(&**message).unwrap()).collect()
}

fn roles(stage: &Stage) -> Vec<&'static str> {
    stage.agent.session().context(&Defaults::default()).unwrap().messages.iter().map(AgentMessage::role).collect()
}

#[tokio::test]
async fn going_back_sums_up_the_branch_that_is_left() {
    let (stage, users) = twice(vec![text("It was tried.")]).await;
    let moved = stage.agent.navigate_tree(&users[1], Leave::Summarised(Some("the file"))).await.unwrap();
    assert_eq!(moved.editor_text.as_deref(), Some("two"));
    assert_eq!(roles(&stage), ["user", "assistant", "branchSummary"]);
    let asked = stage.provider.asked.lock().last().cloned().unwrap();
    let asked = told(&asked.messages).concat();
    assert!(
        asked.contains("second answer") && asked.contains("the file") && !asked.contains("first answer"),
        "{asked}"
    );
    stage.laws();
    let id = moved.summary_id.unwrap();
    let Body::BranchSummary { summary, .. } = stage.agent.session().entry(&id).unwrap().body else { panic!() };
    assert!(summary.starts_with("It was tried."), "{summary}");
    let again = stage.agent.navigate_tree(&id, Leave::AsSet).await.unwrap_err();
    assert_eq!(again.message(), "Already at this point");
}

#[tokio::test]
async fn going_on_to_an_end_that_leaves_nothing_needs_no_summary() {
    let (stage, users) = twice(Vec::new()).await;
    let asked = stage.asked();
    let moved = stage.agent.navigate_tree(&users[0], Leave::Silently).await.unwrap();
    assert_eq!((moved.editor_text.as_deref(), roles(&stage)), (Some("one"), vec![]));
    let moved = stage.agent.navigate_tree(&users[1], Leave::Summarised(None)).await.unwrap();
    assert_eq!((moved.summary_id, roles(&stage)), (None, vec!["user", "assistant"]));
    assert_eq!(stage.asked(), asked);
    stage.laws();
}

#[tokio::test]
async fn a_summary_that_is_ended_moves_nothing() {
    // Nobody answers any more.
    let (stage, users) = twice(Vec::new()).await;
    let before = roles(&stage);
    let asked = stage.asked();
    let navigate = stage.agent.navigate_tree(&users[1], Leave::Summarised(None));
    tokio::pin!(navigate);
    let moved = tokio::select! {
        moved = &mut navigate => moved.unwrap(),
        () = async { while stage.asked() == asked { tokio::task::yield_now().await } stage.agent.abort(); std::future::pending().await } => unreachable!(),
    };
    assert_eq!((moved.aborted, moved.editor_text), (true, None));
    assert_eq!(roles(&stage), before);
}

#[tokio::test]
async fn a_handoff_sends_the_prefix_of_the_last_turn_and_begins_a_new_session() {
    let (stage, _) = twice(vec![text("All that matters."), text("  ")]).await;
    let handed = stage.agent.handoff(Some("tests")).await.unwrap();
    let asked = stage.provider.asked.lock().clone();
    let (last, handoff) = (&asked[asked.len() - 2], &asked[asked.len() - 1]);
    let (before, sent) = (told(&last.messages), told(&handoff.messages));
    assert_eq!(sent[..before.len()], before[..], "the history is the same");
    assert_eq!(sent.len(), before.len() + 2, "the last answer and one message more");
    assert!(sent.last().unwrap().contains("Additional focus: tests"));
    assert_eq!(format!("{:?}{:?}", handoff.system, handoff.tools), format!("{:?}{:?}", last.system, last.tools));
    assert_eq!(handoff.tool_choice, ToolChoice::None);
    let new = Session::view(&handed.path.unwrap(), super::tests::options(stage.folder.path())).unwrap().session;
    assert_eq!(new.header().parent_session.as_deref(), Some("id"));
    let messages = new.context(&Defaults::default()).unwrap().messages;
    let [AgentMessage::Custom(custom)] = &messages[..] else { panic!("{messages:?}") };
    assert!(custom.content.text().starts_with("<handoff-context>\nAll that matters.\n"), "{custom:?}");
    stage.laws();
    let failed = stage.agent.handoff(None).await.unwrap_err();
    assert_eq!(failed.message(), "Handoff failed: the answer was empty");
}

#[tokio::test]
async fn a_session_gets_one_title_and_never_replaces_that_of_the_user() {
    let stage =
        stage(vec![text("answer"), text("\"Fix the build.\""), text("more")], |parts| parts.settings.titles = true);
    stage.agent.prompt(vec![user("go")], None).await.unwrap();
    assert_eq!(stage.agent.session().title().as_deref(), Some("Fix the build"));
    stage.agent.set_title(" My  name ").unwrap();
    stage.agent.prompt(vec![user("go")], None).await.unwrap();
    assert_eq!((stage.agent.session().title().as_deref(), stage.asked()), (Some("My name"), 3));
    assert!(stage.agent.set_title(" \n").is_err());
}

#[tokio::test]
async fn branches_and_forks_are_files_beside_the_session() {
    let (stage, users) = twice(Vec::new()).await;
    stage.agent.set_label(&users[0], Some("start")).unwrap();
    let branched = stage.agent.branch(&users[1]).unwrap();
    let open =
        |path: &std::path::Path| Session::view(path, super::tests::options(stage.folder.path())).unwrap().session;
    let file = |copy: SessionCopy| match copy {
        SessionCopy::File(path) => path,
        SessionCopy::InMemory(_) => panic!("the session has a file"),
    };
    let count = |session: &Session| session.context(&Defaults::default()).unwrap().messages.len();
    assert_eq!((branched.text.as_str(), count(&open(&file(branched.copy)))), ("two", 2));
    let clone = open(&file(stage.agent.clone_branch().unwrap()));
    {
        let session = stage.agent.session();
        assert_eq!((count(&clone), clone.leaf()), (count(&session), session.leaf()));
    }
    let forked = open(&stage.agent.fork().unwrap());
    assert_eq!(forked.len(), stage.agent.session().len());
    assert!(stage.agent.branch("nowhere").is_err());
}
