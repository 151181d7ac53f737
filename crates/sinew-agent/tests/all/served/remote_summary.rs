//! Tests `compaction.remoteEndpoint` and the fallback to the model.

use serde_json::{Value, json};
use sinew_testkit::provider::{Reply, Server};

use crate::served::replies::text;
use crate::served::test_env::TestEnv;

const API: &str = "openai-completions";

/// Compacts with a model that answers `by the model` and a remote server that answers with `remote`.
async fn compacted(remote: Reply) -> (Result<Option<String>, String>, Vec<Value>) {
    let server = Server::start(|request| match request.json()["stream"] {
        Value::Bool(true) => text(API, "by the model"),
        _ => Reply::text(501, "text/plain", "not asked for"),
    });
    let elsewhere = Server::replies(vec![remote]);
    let env = TestEnv::new(API, &server, |settings| {
        settings.compaction.remote_endpoint = Some(format!("{}/sum", elsewhere.url()));
        settings.compaction.limits.keep_recent = 4;
        settings.retry.max_retries = 1;
    });
    env.prompt("the first words").await;
    env.prompt("the last words, and a few more of them").await;
    let compacted = env.agent.compact(None).await;
    env.laws();
    let asked = elsewhere.requests();
    assert!(asked.iter().all(|request| request.method == "POST" && request.path == "/sum"));
    let summary = compacted.map(|compacted| compacted.summary).map_err(|error| error.to_string());
    (summary, asked.iter().map(|request| request.json()).collect())
}

#[tokio::test]
async fn a_remote_server_writes_the_summary() {
    let (summary, asked) = compacted(Reply::json(200, &json!({"summary": "by the server"}))).await;
    assert_eq!(summary, Ok(Some("by the server".into())));
    assert_eq!(asked.len(), 1);
    assert!(asked[0]["systemPrompt"].as_str().unwrap().starts_with("You sum up"));
    let prompt = asked[0]["prompt"].as_str().unwrap();
    assert!(prompt.contains("the first words") && prompt.contains("<conversation>"), "{prompt}");
    assert_eq!(asked[0].as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn a_failing_summary_server_is_retried_and_then_the_model_is_used() {
    for (reply, times) in [
        (Reply::text(503, "text/plain", "busy"), 2),
        (Reply::text(404, "text/html", "<p>"), 1),
        (Reply::json(200, &json!({"text": "?"})), 1),
        (Reply::json(200, &json!({"summary": " "})), 1),
    ] {
        let (summary, asked) = compacted(reply).await;
        assert_eq!((summary, asked.len()), (Ok(Some("by the model".into())), times));
    }
}
