//! Random calls of servers of the TypeScript and the Python SDK; many of the calls are cancelled. Runs 100 calls per
//! server, or the number in `SINEW_RANDOM_CALLS`.

use crate::support;

use std::time::Duration;

use serde_json::json;
use sinew_mcp::era::Era;
use sinew_mcp::{CallOptions, Client, ClientOptions};
use support::{HttpProgram, arguments, npm_folder, python, server};

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/sdk_server.py");
const TYPESCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/sdk_server.mjs");
const TYPESCRIPT_2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/sdk2_server.mjs");
/// The number of concurrent calls.
const AT_ONCE: usize = 16;

fn options(era: Era) -> ClientOptions {
    ClientOptions { era: Some(era), discover_silence: Duration::from_secs(60), ..ClientOptions::default() }
}

/// Returns the same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// How a call ended.
#[derive(PartialEq)]
enum End {
    Answered,
    GivenUp,
}

/// Each call of a sum gets its own answer, even if calls next to it are cancelled. Calls that never end are always
/// cancelled.
async fn check(client: &Client) {
    let calls: usize = std::env::var("SINEW_RANDOM_CALLS").map_or(100, |count| count.parse().unwrap());
    let mut numbers = Numbers(14);
    let options = CallOptions::default();
    let one = async |a: u64, b: u64, kind: u64, turns: u64| {
        let (name, given) = if kind == 0 { ("wait", json!({})) } else { ("add", json!({"a": a, "b": b})) };
        let call = client.call_tool(name, arguments(given), &options);
        let give_up = async {
            if kind > 1 {
                std::future::pending::<()>().await;
            }
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            answer = call => {
                assert_eq!(answer.unwrap().text(), (a + b).to_string());
                End::Answered
            }
            () = give_up => End::GivenUp,
        }
    };
    let (mut begun, mut answered) = (0, 0);
    while begun < calls {
        let batch = (calls - begun).min(1 + numbers.below(AT_ONCE as u64) as usize);
        let running = (0..batch)
            .map(|_| one(numbers.below(1_000_000), numbers.below(1_000_000), numbers.below(5), numbers.below(64)));
        let ends = futures_util::future::join_all(running.collect::<Vec<_>>()).await;
        answered += ends.iter().filter(|end| **end == End::Answered).count();
        begun += batch;
    }
    assert!(answered > calls / 4 && answered < calls, "{answered} of {calls} answered");
    let last = client.call_tool("add", arguments(json!({"a": 1, "b": 2})), &options).await.unwrap();
    assert_eq!(last.text(), "3");
    // Those calls without an end that were written reached the server, and so did their cancellation.
    let count = client.call_tool("count", arguments(json!({})), &options).await.unwrap().text();
    assert!(count.parse::<usize>().unwrap() > 0, "{count} were cancelled at the server");
}

#[tokio::test]
async fn random_calls_of_the_python_sdk_over_pipes() {
    let Some(python) = python() else { return };
    for era in [Era::Modern, Era::Legacy] {
        let client = Client::start(&server(python.clone(), [PYTHON, "stdio"]), &options(era)).await.unwrap();
        check(&client).await;
        client.close().await;
    }
}

#[tokio::test]
async fn random_calls_of_the_python_sdk_over_http() {
    let Some(python) = python() else { return };
    let program = HttpProgram::start(python, [PYTHON, "streamable-http"], "Uvicorn running");
    for era in [Era::Modern, Era::Legacy] {
        let client = Client::connect_http(&program.server("/mcp"), &options(era)).await.unwrap();
        check(&client).await;
        client.close().await;
    }
}

#[tokio::test]
async fn random_calls_of_the_typescript_sdk() {
    let Some(folder) = npm_folder("@modelcontextprotocol/sdk") else { return };
    let client = Client::start(&server("node", [TYPESCRIPT.into(), folder.into_os_string()]), &options(Era::Legacy))
        .await
        .unwrap();
    check(&client).await;
    client.close().await;
}

#[tokio::test]
async fn random_calls_of_the_second_typescript_sdk_over_pipes() {
    let Some(folder) = npm_folder("@modelcontextprotocol/server") else { return };
    for (era, told) in [(Era::Modern, "modern"), (Era::Legacy, "legacy")] {
        let args = [TYPESCRIPT_2.into(), folder.clone().into_os_string(), "stdio".into()];
        let client = Client::start(&server("node", args), &options(era)).await.unwrap();
        assert_eq!((client.info().era, client.info().instructions.as_deref()), (era, Some(told)));
        check(&client).await;
        client.close().await;
    }
}

#[tokio::test]
async fn random_calls_of_the_second_typescript_sdk_over_http() {
    let Some(folder) = npm_folder("@modelcontextprotocol/server") else { return };
    let args = [TYPESCRIPT_2.into(), folder.into_os_string(), "http".into()];
    let program = HttpProgram::start("node", args, "it listens");
    for (era, told) in [(Era::Modern, "modern"), (Era::Legacy, "legacy")] {
        let client = Client::connect_http(&program.server("/mcp"), &options(era)).await.unwrap();
        assert_eq!((client.info().era, client.info().instructions.as_deref()), (era, Some(told)));
        check(&client).await;
        client.close().await;
    }
}
