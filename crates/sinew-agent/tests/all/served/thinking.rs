//! Tests Claude's thinking inside a tool loop: one configuration, and signed thinking blocks that are never changed.

use std::sync::Arc;

use serde_json::{Value, json};
use sinew_agent::agent::{Snapshots, Stop};
use sinew_llm::model::ThinkingLevel;
use sinew_session::secrets::Secrets;
use sinew_testkit::provider::{Reply, order};

use crate::served::replies::text;
use crate::served::test_env::{TestEnv, strict};

const API: &str = "anthropic-messages";
const KEY: &str = "sk-live-0123456789";

/// Returns an answer that calls a tool, with an optional signed thinking block.
fn call(thought: Option<&str>, id: &str) -> Reply {
    let mut list = vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 5}}})];
    let mut block = |begin: Value, deltas: &[Value]| {
        let index = list.iter().filter(|event| event["type"] == "content_block_stop").count();
        list.push(json!({"type": "content_block_start", "index": index, "content_block": begin}));
        list.extend(deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
        list.push(json!({"type": "content_block_stop", "index": index}));
    };
    if let Some(thought) = thought {
        block(
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            &[
                json!({"type": "thinking_delta", "thinking": thought}),
                json!({"type": "signature_delta", "signature": order::sign(thought)}),
            ],
        );
    }
    block(
        json!({"type": "tool_use", "id": id, "name": "echo", "input": {}}),
        &[json!({"type": "input_json_delta", "partial_json": r#"{"say":"a"}"#})],
    );
    list.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}));
    list.push(json!({"type": "message_stop"}));
    Reply::stream(list.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
}

/// Returns the thinking blocks of a request.
fn thoughts(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|message| message["content"].as_array().unwrap());
    blocks.filter(|block| block["type"] == "thinking").map(|block| block["thinking"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_thinking_level_stays_constant_during_a_run() {
    let server = strict(vec![
        call(Some("first"), "1"),
        call(None, "2"),
        call(None, "3"),
        call(Some("fourth"), "4"),
        text(API, "done"),
        call(Some("fifth"), "5"),
        text(API, "done again"),
    ]);
    let env = TestEnv::thinking(&server, None);
    let mut events = env.agent.subscribe(Snapshots::Unread);
    let agent = Arc::clone(&env.agent);
    // The user changes the level after the first tool call; it applies from the next prompt on.
    let changes = tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if matches!(*event, sinew_agent::event::Event::ToolExecutionEnd { .. }) {
                agent.set_thinking(ThinkingLevel::High);
                return;
            }
        }
    });
    assert_eq!(env.prompt("go").await.stop, Stop::Done);
    changes.await.unwrap();
    assert_eq!(env.prompt("more").await.stop, Stop::Done);
    let requests = server.requests();
    assert_eq!(requests.len(), 7);
    order::one_thinking_per_loop(&requests).unwrap();
    let budgets: Vec<_> = requests.iter().map(|request| request.json()["thinking"]["budget_tokens"].clone()).collect();
    assert_eq!(budgets, [4096, 4096, 4096, 4096, 4096, 20_480, 20_480]);
    assert_eq!(thoughts(&requests[6].json()), ["first", "fourth", "fifth"]);
}

#[tokio::test]
async fn a_thinking_block_with_a_secret_is_omitted_and_the_session_continues() {
    let secrets = || {
        let secrets = Secrets::new(Box::new(|| [7; 32]), Vec::new());
        secrets.add(KEY);
        Some(Arc::new(secrets))
    };
    let mark = secrets().unwrap().hidden(KEY).unwrap();
    let marked = format!("the key is {mark}");
    let server = strict(vec![
        call(Some(&marked), "1"),
        text(API, "one"),
        call(Some("fine"), "2"),
        call(Some(&format!("it must be {KEY}")), "3"),
        call(None, "4"),
        text(API, "two"),
        text(API, "three"),
        call(Some("last"), "5"),
        text(API, "four"),
    ]);
    let env = TestEnv::thinking(&server, secrets());
    assert_eq!(env.prompt("go").await.stop, Stop::Done);
    assert_eq!(env.prompt("more").await.stop, Stop::Done);
    assert_eq!(env.prompt("again").await.stop, Stop::Done);
    assert!(!std::fs::read_to_string(&env.path).unwrap().contains(KEY));
    let env = env.thinking_again(&server, secrets()).await;
    assert_eq!(env.prompt("in another process").await.stop, Stop::Done);
    let sent: Vec<Value> = server.requests().iter().map(|request| request.json()).collect();
    assert_eq!(sent.len(), 9);
    assert!(sent.iter().all(|body| !body.to_string().contains(KEY)));
    let seen: Vec<_> = sent.iter().map(|body| (thoughts(body), body["thinking"]["type"].as_str())).collect();
    let (mark, on) = (marked.as_str(), Some("enabled"));
    let expect: [(Vec<&str>, Option<&str>); 9] = [
        (vec![], on),
        (vec![mark], on),
        (vec![mark], on),
        (vec![mark, "fine"], on),
        (vec![mark], None),
        (vec![mark], None),
        (vec![mark], on),
        (vec![mark], on),
        (vec![mark, "last"], on),
    ];
    assert_eq!(seen, expect);
}
