//! Recorded streams of real providers, each with the six transports of its table. The table is outside of the project
//! (`SINEW_SUITES`, by default `../shared/suites` next to the workspace); without it, nothing is compared.
#![allow(clippy::print_stderr, reason = "a skipped test prints a message")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sinew_llm::http::HttpClient;
use sinew_llm::{AssistantMessage, Model, Request, StopReason, StreamEvent, wire};
use sinew_testkit::provider::{Reply, Server, Transport};
use tokio_util::sync::CancellationToken;

fn table() -> Option<Vec<Value>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/suites");
    let folder = std::env::var_os("SINEW_SUITES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = folder.join("sse_streams.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("no table at {}: nothing to compare with", path.display());
        return None;
    };
    let table: Value = serde_json::from_str(&text).unwrap();
    Some(table["cases"].as_array().unwrap().clone())
}

/// One server for all streams: the id of the model selects the stream and the transport.
struct Bench {
    server: Server,
    replies: Arc<Mutex<HashMap<String, Reply>>>,
}

impl Bench {
    fn new() -> Bench {
        let replies: Arc<Mutex<HashMap<String, Reply>>> = Arc::default();
        let known = Arc::clone(&replies);
        let server =
            Server::start(move |request| known.lock().unwrap()[request.json()["model"].as_str().unwrap()].clone());
        Bench { server, replies }
    }

    async fn ask(&self, api: &str, name: &str, reply: Reply) -> AssistantMessage {
        self.replies.lock().unwrap().insert(name.to_string(), reply);
        let model = Model {
            id: name.into(),
            api: api.into(),
            provider: "p".into(),
            base_url: self.server.url(),
            ..Model::default()
        };
        let request = Request { model, ..Request::default() };
        let provider = wire::provider(api, HttpClient::default()).unwrap();
        let mut stream = provider.stream(request, CancellationToken::new());
        let mut order = Order::default();
        while let Some(event) = stream.next().await {
            order.check(&event);
        }
        self.replies.lock().unwrap().remove(name);
        assert!(order.ended, "{name}: no terminal event");
        stream.partial().message().clone()
    }
}

/// Checks the guarantees of every stream: the start first, blocks in order and closed, exactly one end.
#[derive(Default)]
struct Order {
    begun: bool,
    ended: bool,
    open: Vec<Option<String>>,
}

impl Order {
    #[track_caller]
    fn check(&mut self, event: &StreamEvent) {
        assert!(!self.ended, "{} after the end", event.name());
        assert_eq!(event.name() == "start", !self.begun, "start comes first and once");
        self.begun = true;
        let kind = event.name().rsplit_once('_').map_or("", |(kind, _)| kind).to_string();
        if let Some(index) = event.content_index() {
            if event.name().ends_with("_start") {
                assert_eq!(index, self.open.len());
                self.open.push(Some(kind));
            } else {
                assert_eq!(self.open[index].as_ref(), Some(&kind), "{}", event.name());
                if event.name().ends_with("_end") {
                    self.open[index] = None;
                } else {
                    assert!(!event.delta().unwrap().is_empty());
                }
            }
        }
        if let StreamEvent::Done { .. } | StreamEvent::Error { .. } = event {
            assert!(self.open.iter().all(Option::is_none), "a block is open at the end");
            self.ended = true;
        }
    }
}

fn api(case: &Value) -> &'static str {
    match case["api"].as_str().unwrap() {
        "anthropic" => "anthropic-messages",
        "openai-chat" => "openai-completions",
        "openai-responses" => "openai-responses",
        other => panic!("unknown api {other}"),
    }
}

/// The events that the table expects, in our format.
fn expected(case: &Value) -> Value {
    let expect = &case["expected"];
    let calls: Vec<Value> = expect["toolCalls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| json!([call["id"], call["name"], call["args"]]))
        .collect();
    let stop = match expect["stopReason"].as_str().unwrap() {
        "max_tokens" | "length" | "incomplete" => "length",
        _ if calls.is_empty() => "stop",
        _ => "toolUse",
    };
    // The table does not count refusals; here they are text that the user sees.
    let events = case["body"]
        .as_str()
        .unwrap()
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok());
    let refusals = events
        .filter(|event| event["type"] == "response.refusal.delta")
        .map(|event| event["delta"].as_str().unwrap().to_string());
    let text = format!("{}{}", expect["text"].as_str().unwrap(), refusals.collect::<String>());
    json!({"text": text, "thinking": expect["thinking"], "calls": calls, "stop": stop})
}

fn folded(message: &AssistantMessage) -> Value {
    let calls: Vec<Value> = message
        .tool_calls()
        // The Responses protocol appends the item's id to the id of the call.
        .map(|call| json!([call.id.split('|').next(), call.name, call.arguments]))
        .collect();
    json!({"text": message.text(), "thinking": message.thinking(), "calls": calls, "stop": message.stop_reason})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_streams_yield_the_same_message_over_every_transport() {
    let Some(cases) = table() else { return };
    let bench = Bench::new();
    let mut wrong = Vec::new();
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| case["tier"] == "A") {
        let body = case["body"].as_str().unwrap();
        let expect = expected(case);
        let transports = [
            Transport::Whole,
            Transport::Bytes,
            Transport::Random(number as u64),
            Transport::Crlf,
            Transport::Comments,
        ];
        for transport in transports {
            let message = bench.ask(api(case), &format!("{number} {transport:?}"), transport.reply(body)).await;
            let got = folded(&message);
            if got != expect {
                wrong.push(format!(
                    "{number} {transport:?} {}\n  expected {expect}\n  got      {got}\n  {:?}",
                    case["source"], message.error_message
                ));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_stream_is_never_a_success() {
    let Some(cases) = table() else { return };
    let bench = Bench::new();
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| case["tier"] == "A") {
        let body = case["body"].as_str().unwrap();
        let expect = expected(case);
        let text = expect["text"].as_str().unwrap();
        for percent in (0..100).step_by(10) {
            let name = format!("{number} {percent}%");
            let message = bench.ask(api(case), &name, Transport::Cut(percent).reply(body)).await;
            assert_eq!(message.stop_reason, StopReason::Error, "{name} {}", case["source"]);
            assert!(message.error.as_ref().unwrap().retryable, "{name}");
            assert!(text.starts_with(&message.text()), "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unusual_streams_end_with_a_message_or_an_error() {
    let Some(cases) = table() else { return };
    let bench = Bench::new();
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| case["tier"] != "A") {
        let body = case["body"].as_str().unwrap();
        for transport in [Transport::Whole, Transport::Random(7)] {
            let message = bench.ask(api(case), &format!("{number} {transport:?}"), transport.reply(body)).await;
            assert!(message.error.is_some() || !message.content.is_empty(), "{number} {}", case["source"]);
        }
    }
}
