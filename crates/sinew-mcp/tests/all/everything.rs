//! Tests against the reference server from npm, over its standard streams and over HTTP.

use crate::support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sinew_mcp::era::Era;
use sinew_mcp::model::ResourceBody;
use sinew_mcp::{
    BoxFuture, CallOptions, CallTimes, Client, ClientHost, ClientOptions, Content, Elicitation, ElicitationAnswer,
    McpError, Progress, Root,
};
use sinew_process::{Process, Status};
use support::{HttpProgram, arguments, npm_server, server};

const PACKAGE: &str = "@modelcontextprotocol/server-everything";

async fn over_pipes(options: &ClientOptions) -> Option<Client> {
    let script = npm_server(PACKAGE)?;
    let server = server("node", [script.into_os_string(), "stdio".into()]);
    Some(Client::start(&server, options).await.unwrap())
}

/// A server over HTTP, which is stopped when this value is dropped.
fn http_program() -> Option<HttpProgram> {
    let script = npm_server(PACKAGE)?;
    Some(HttpProgram::start("node", [script.into_os_string(), "streamableHttp".into()], "listening on port"))
}

/// A user who accepts every question with its first choice.
struct Person {
    asked: Mutex<Vec<String>>,
}

impl ClientHost for Person {
    fn can_ask(&self) -> bool {
        true
    }

    fn elicit(&self, question: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        self.asked.lock().unwrap().push(question.message().to_string());
        let answer = match question {
            Elicitation::Form { .. } => ElicitationAnswer::Accept(arguments(json!({"name": "Ada"}))),
            Elicitation::Url { .. } => ElicitationAnswer::Decline,
        };
        Box::pin(std::future::ready(answer))
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root { uri: "file:///work/project".to_string(), name: "project".to_string() }]
    }
}

fn with_person() -> (Arc<Person>, ClientOptions) {
    let person = Arc::new(Person { asked: Mutex::default() });
    (Arc::clone(&person), ClientOptions { host: person, ..ClientOptions::default() })
}

async fn call(client: &Client, name: &str, args: Value) -> sinew_mcp::ToolResult {
    client.call_tool(name, arguments(args), &CallOptions::default()).await.unwrap()
}

/// Checks every feature of the server over a connection of either transport.
async fn check_everything(client: &Client) {
    let info = client.info();
    assert_eq!((info.era, info.version), (Era::Legacy, "2025-11-25"));
    assert!(info.name.contains("everything"), "{info:?}");
    let tools = client.list_tools().await.unwrap();
    assert_eq!(tools.notes, [""; 0]);
    let names: Vec<&str> = tools.items.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.contains(&"echo") && names.contains(&"get-sum"), "{names:?}");
    assert_eq!(call(client, "echo", json!({"message": "hé\n"})).await.content, [Content::Text("Echo: hé\n".into())]);
    let image = call(client, "get-tiny-image", json!({})).await;
    assert!(
        image
            .content
            .iter()
            .any(|part| matches!(part, Content::Image { mime, data } if mime == "image/png" && !data.is_empty())),
        "{image:?}"
    );
    let structured = call(client, "get-structured-content", json!({"location": "New York"})).await;
    let value: Value = serde_json::from_str(structured.structured.unwrap().get()).unwrap();
    assert!(value["temperature"].is_number(), "{value}");
    let links = call(client, "get-resource-links", json!({"count": 2})).await;
    assert_eq!(links.content.iter().filter(|part| matches!(part, Content::Link { .. })).count(), 2);
    let wrong = call(client, "get-sum", json!({"a": "x"})).await;
    assert!(wrong.is_error, "{wrong:?}");
    let resources = client.list_resources().await.unwrap();
    let first = &resources.items[0].name;
    let read = client.read_resource(first, &CallOptions::default()).await.unwrap();
    assert!(matches!(&read[0].body, ResourceBody::Text(text) if !text.is_empty()), "{read:?}");
    let error = client.read_resource("demo://nowhere/at/all", &CallOptions::default()).await.unwrap_err();
    assert!(matches!(error, McpError::Rpc(_)), "{error}");
    let prompts = client.list_prompts().await.unwrap();
    assert!(prompts.items.iter().any(|prompt| prompt.name == "simple-prompt"));
    let messages = client.get_prompt("simple-prompt", arguments(json!({})), &CallOptions::default()).await.unwrap();
    assert_eq!(messages[0].role, "user");
    client.probe(Duration::from_secs(60)).await.unwrap();
}

/// A long call reports progress. Dropping a call does not affect the server.
async fn check_long_calls(client: &Client) {
    let reports: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let sink = Arc::clone(&reports);
    let options = CallOptions {
        progress: Some(Arc::new(move |progress| sink.lock().unwrap().push(progress))),
        ..CallOptions::default()
    };
    let args = arguments(json!({"duration": 0.2, "steps": 4}));
    let result = client.call_tool("trigger-long-running-operation", args, &options).await.unwrap();
    assert!(result.text().contains("completed"), "{result:?}");
    let steps: Vec<f64> = reports.lock().unwrap().iter().map(|report| report.progress).collect();
    assert_eq!(steps, [1.0, 2.0, 3.0, 4.0]);
    let times = CallTimes { silence: Duration::from_millis(50), total: Duration::from_secs(60) };
    let args = arguments(json!({"duration": 3600, "steps": 1}));
    let silent = CallOptions { times, progress: None };
    let error = client.call_tool("trigger-long-running-operation", args, &silent).await.unwrap_err();
    assert_eq!(error.to_string(), "MCP error: no answer for 0.05 s. The server may still be working on it.");
    assert_eq!(call(client, "echo", json!({"message": "on"})).await.text(), "Echo: on");
}

#[tokio::test]
async fn supports_every_feature_over_pipes() {
    let Some(client) = over_pipes(&ClientOptions::default()).await else { return };
    check_everything(&client).await;
    let process = Process::from_pid(client.pid().unwrap()).unwrap();
    client.close().await;
    assert_eq!(process.status(), Status::Exited);
}

#[tokio::test]
async fn long_calls_report_progress_over_pipes() {
    let Some(client) = over_pipes(&ClientOptions::default()).await else { return };
    check_long_calls(&client).await;
    client.close().await;
}

#[tokio::test]
async fn asks_the_user_over_pipes() {
    let (person, options) = with_person();
    let Some(client) = over_pipes(&options).await else { return };
    check_person(&client, &person).await;
    client.close().await;
}

async fn check_person(client: &Client, person: &Person) {
    let result = call(client, "trigger-elicitation-request", json!({})).await;
    assert!(result.text().contains("Ada"), "{result:?}");
    assert_eq!(person.asked.lock().unwrap().len(), 1);
    let roots = call(client, "get-roots-list", json!({})).await;
    assert!(roots.text().contains("file:///work/project"), "{roots:?}");
}

#[tokio::test]
async fn concurrent_calls_get_their_own_answers() {
    let Some(client) = over_pipes(&ClientOptions::default()).await else { return };
    let client = Arc::new(client);
    let calls = (0..200).map(|number| {
        let client = Arc::clone(&client);
        tokio::spawn(async move {
            let text = call(&client, "echo", json!({"message": number.to_string()})).await.text();
            assert_eq!(text, format!("Echo: {number}"));
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn supports_every_feature_over_http() {
    let Some(program) = http_program() else { return };
    let client = Client::connect_http(&program.server("/mcp"), &ClientOptions::default()).await.unwrap();
    check_everything(&client).await;
    check_long_calls(&client).await;
    client.close().await;
}

#[tokio::test]
async fn asks_the_user_over_http() {
    let Some(program) = http_program() else { return };
    let (person, options) = with_person();
    let client = Client::connect_http(&program.server("/mcp"), &options).await.unwrap();
    check_person(&client, &person).await;
    client.close().await;
}

#[tokio::test]
async fn an_unreachable_url_is_named_in_the_error() {
    let Some(program) = http_program() else { return };
    let error = Client::connect_http(&program.server("/nothing"), &ClientOptions::default()).await.err().unwrap();
    assert!(error.to_string().starts_with("MCP error: HTTP status 404"), "{error}");
}
