//! Tests of the server over HTTP: with handwritten requests, and with our client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};
use sinew_jsonrpc::Limits;
use sinew_llm::http::{HttpClient, HttpConfig};
use sinew_mcp::era::Era;
use sinew_mcp::http::{HttpServer, http_config};
use sinew_mcp::server::http::serve_http;
use sinew_mcp::server::{ServedCall, ServedOutput, ServedTool, ServerOptions, Service};
use sinew_mcp::{BoxFuture, CallOptions, Client, ClientOptions, McpError, Progress};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

const TOKEN: &str = "the token of this test";

/// The token of every server in these tests.
struct Fixture {
    name: &'static str,
    began: Arc<Notify>,
    cancelled: Arc<Notify>,
}

impl ServedTool for Fixture {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "A fixture."
    }

    fn input_schema(&self) -> Value {
        match self.name {
            "marked" => {
                json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
            }
            _ => json!({"type": "object"}),
        }
    }

    fn needs(&self) -> &[&'static str] {
        if self.name == "needy" { &["sampling"] } else { &[] }
    }

    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedOutput> {
        Box::pin(async move {
            match self.name {
                "panic" => panic!("on purpose"),
                "wait" => {
                    let (cancelled, ended) = (Arc::clone(&self.cancelled), Arc::new(Notify::new()));
                    let wake = Arc::clone(&ended);
                    let hook = call.cancel.on_cancel(move || {
                        cancelled.notify_one();
                        wake.notify_one();
                    });
                    call.progress.report(&Progress { progress: 1.0, total: None, message: None });
                    self.began.notify_one();
                    ended.notified().await;
                    drop(hook);
                    ServedOutput::default()
                }
                "steps" => {
                    for progress in [1.0, 2.0, 1.5, 3.0] {
                        call.progress.report(&Progress { progress, total: Some(3.0), message: None });
                    }
                    ServedOutput { text: "done".into(), ..ServedOutput::default() }
                }
                _ => ServedOutput { text: json!(call.arguments).to_string(), ..ServedOutput::default() },
            }
        })
    }
}

/// A server on its own port.
struct RunningServer {
    address: String,
    began: Arc<Notify>,
    cancelled: Arc<Notify>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An HTTP answer.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap()
    }
}

impl RunningServer {
    async fn start(limits: Limits) -> RunningServer {
        let (began, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let tool = |name| -> Arc<dyn ServedTool> {
            Arc::new(Fixture { name, began: Arc::clone(&began), cancelled: Arc::clone(&cancelled) })
        };
        let tools = ["echo", "panic", "wait", "steps", "marked", "needy"].map(tool).to_vec();
        let service = Service::new(tools, ServerOptions { limits, ..ServerOptions::default() });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(serve_http(service, listener, Some(TOKEN)));
        RunningServer { address, began, cancelled, task }
    }

    /// Sends bytes and returns the connection.
    async fn open(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// Sends bytes and reads until the server closes the connection.
    async fn raw(&self, request: &str) -> Answer {
        let mut stream = self.open(request).await;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_string() }
    }

    /// A valid request with some headers changed; a header without a value is left out.
    fn text(&self, method: &str, path: &str, changed: &[(&str, &str)], body: &str) -> String {
        let own = [
            ("Host", self.address.clone()),
            ("Authorization", format!("Bearer {TOKEN}")),
            ("Content-Type", "application/json".to_string()),
            ("Accept", "application/json, text/event-stream".to_string()),
            ("Connection", "close".to_string()),
            ("Content-Length", body.len().to_string()),
        ];
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        let kept = own.iter().filter(|(name, _)| changed.iter().all(|(other, _)| !other.eq_ignore_ascii_case(name)));
        for (name, value) in kept.map(|(name, value)| (*name, value.as_str())).chain(changed.iter().copied()) {
            if !value.is_empty() {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        text + "\r\n" + body
    }

    async fn post(&self, changed: &[(&str, &str)], body: &Value) -> Answer {
        self.raw(&self.text("POST", "/mcp", changed, &body.to_string())).await
    }

    async fn client(&self, era: Option<Era>, token: &str) -> Result<Client, McpError> {
        let server = HttpServer {
            url: format!("http://{}/mcp", self.address).parse().unwrap(),
            headers: vec![("Authorization".into(), format!("Bearer {token}"))],
            http: HttpClient::new(http_config(HttpConfig::default())),
            tokens: None,
        };
        Client::connect_http(&server, &ClientOptions { era, ..ClientOptions::default() }).await
    }
}

fn meta() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}})
}

fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = meta();
    json!({"jsonrpc": "2.0", "id": "m", "method": method, "params": params})
}

const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");

#[tokio::test]
async fn denied_requests_get_the_right_status() {
    let served = RunningServer::start(Limits::default()).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(served.post(&[], &ping).await.json(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    for (changed, status) in [
        (("Host", "evil.example"), 403),
        (("Origin", "http://evil.example"), 403),
        (("Origin", "null"), 403),
        (("Authorization", ""), 401),
        (("Authorization", "Bearer another"), 401),
        (("Content-Type", "text/plain"), 415),
        (("Content-Type", ""), 415),
    ] {
        let answer = served.post(&[changed], &ping).await;
        assert_eq!((answer.status, answer.code()), (status, -32600), "{changed:?}");
        assert_eq!(answer.head.contains("www-authenticate: bearer"), status == 401);
    }
    for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
        let answer = served.raw(&served.text(method, "/mcp", &[], "")).await;
        assert_eq!((answer.status, answer.head.contains("allow: post")), (405, true), "{method}");
    }
    assert_eq!(served.raw(&served.text("POST", "/", &[], &ping.to_string())).await.status, 404);
    // A request with an invalid head is rejected before its body arrives.
    let endless = served.text("POST", "/mcp", &[("Authorization", ""), ("Content-Length", "1000000000")], "");
    assert_eq!(served.raw(&endless).await.status, 401);
}

#[tokio::test]
async fn rejects_headers_that_differ_from_the_body() {
    let served = RunningServer::start(Limits::default()).await;
    let list = modern("tools/list", json!({}));
    let method = ("Mcp-Method", "tools/list");
    assert_eq!(served.post(&[VERSION, method], &list).await.status, 200);
    for headers in [
        &[VERSION][..],
        &[method],
        &[VERSION, ("Mcp-Method", "tools/call")],
        &[VERSION, ("Mcp-Method", "TOOLS/LIST")],
        &[VERSION, VERSION, method],
        &[("MCP-Protocol-Version", "2025-11-25"), method],
    ] {
        let answer = served.post(headers, &list).await;
        assert_eq!(
            (answer.status, answer.code(), answer.json()["id"].clone()),
            (400, -32020, json!("m")),
            "{headers:?}"
        );
    }
    let call = |name: &str, arguments: Value| modern("tools/call", json!({"name": name, "arguments": arguments}));
    let call_method = ("Mcp-Method", "tools/call");
    let echo = call("echo", json!({"a": 1}));
    let answer = served.post(&[VERSION, call_method, ("mcp-name", "  echo  ")], &echo).await;
    assert_eq!(answer.json()["result"]["content"], json!([{"type": "text", "text": "{\"a\":1}"}]));
    for name in ["panic", "=?base64?!!!?=", ""] {
        assert_eq!(served.post(&[VERSION, call_method, ("Mcp-Name", name)], &echo).await.code(), -32020, "{name}");
    }
    let marked = call("marked", json!({"region": "Größe"}));
    let name = ("Mcp-Name", "marked");
    let right =
        served.post(&[VERSION, call_method, name, ("Mcp-Param-Region", "=?base64?R3LDtsOfZQ==?=")], &marked).await;
    assert_eq!(right.status, 200, "{}", right.body);
    for region in ["Grosse", "=?base64?R3LDtsOfZQ?=", ""] {
        let answer = served.post(&[VERSION, call_method, name, ("Mcp-Param-Region", region)], &marked).await;
        assert_eq!((answer.status, answer.code()), (400, -32020), "{region}");
    }
}

#[tokio::test]
async fn incomplete_requests_get_the_right_status() {
    let served = RunningServer::start(Limits::default()).await;
    let bare = |method: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}});
    let discover = ("Mcp-Method", "server/discover");
    let answer = served.post(&[VERSION, discover], &bare("server/discover")).await;
    assert_eq!((answer.status, answer.code()), (400, -32602));
    let future = ("MCP-Protocol-Version", "2031-01-01");
    let mut body = modern("server/discover", json!({}));
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01".into();
    let answer = served.post(&[future, discover], &body).await;
    assert_eq!((answer.status, answer.code()), (400, -32022));
    assert_eq!(answer.json()["error"]["data"], json!({"supported": ["2026-07-28"], "requested": "2031-01-01"}));
    assert_eq!(served.post(&[future], &bare("tools/list")).await.code(), -32022);
    for method in ["initialize", "ping", "no/such"] {
        let answer = served.post(&[VERSION, ("Mcp-Method", method)], &modern(method, json!({}))).await;
        assert_eq!((answer.status, answer.code()), (404, -32601), "{method}");
    }
    let needy = [VERSION, ("Mcp-Method", "tools/call"), ("Mcp-Name", "needy")];
    let mut call = modern("tools/call", json!({"name": "needy"}));
    let answer = served.post(&needy, &call).await;
    assert_eq!((answer.status, answer.code()), (400, -32021));
    assert_eq!(answer.json()["error"]["data"], json!({"requiredCapabilities": {"sampling": {}}}));
    call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"sampling": {}});
    assert_eq!(served.post(&needy, &call).await.json()["result"]["isError"], false);
    // A client from before 2026-07-28 needs no session, because the server keeps no state of it.
    assert_eq!(served.post(&[], &bare("tools/list")).await.json()["result"]["tools"][0]["name"], "echo");
    assert_eq!(served.post(&[("MCP-Protocol-Version", "2025-06-18")], &bare("no/such")).await.status, 200);
}

#[tokio::test]
async fn rejects_a_body_that_is_not_a_message() {
    let served = RunningServer::start(Limits::default().with_message_bytes(1000)).await;
    let send = async |body: &str| served.raw(&served.text("POST", "/mcp", &[], body)).await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (body, status, code) in [
        ("", 400, -32700),
        ("no json", 400, -32700),
        ("{}", 400, -32700),
        (&"[".repeat(500), 400, -32700),
        (&format!("[{ping},{ping}]"), 400, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#, 400, -32602),
        (
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(1000)),
            413,
            -32600,
        ),
    ] {
        let answer = send(body).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{body:.60}");
    }
    for told in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
    ] {
        let answer = send(told).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    }
}

#[tokio::test]
async fn closing_the_connection_cancels_the_call() {
    let served = RunningServer::start(Limits::default()).await;
    for meta in [json!({}), json!({"progressToken": 1})] {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "_meta": meta}});
        let stream = served.open(&served.text("POST", "/mcp", &[], &body.to_string())).await;
        served.began.notified().await;
        drop(stream);
        served.cancelled.notified().await;
    }
}

#[tokio::test]
async fn progress_arrives_before_the_result() {
    let served = RunningServer::start(Limits::default()).await;
    let params = json!({"name": "steps", "_meta": {"progressToken": "p"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let streamed = served.raw(&served.text("POST", "/mcp", &[], &body.to_string())).await;
    assert!(streamed.head.contains("content-type: text/event-stream"), "{}", streamed.head);
    let events = streamed.body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
    let steps: Vec<&Value> = events.iter().map(|event| &event["params"]["progress"]).collect();
    assert_eq!(steps, [&json!(1.0), &json!(2.0), &json!(3.0), &Value::Null]);
    assert_eq!(events[3]["result"]["content"][0]["text"], "done");
    // A client that does not accept events receives only the result.
    let plain = served.post(&[("Accept", "application/json")], &body).await;
    assert_eq!(plain.json()["result"]["content"][0]["text"], "done");
}

/// A server that redirects to another one, and the number of connections that the other one received.
async fn counted(to: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let (address, made) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&made);
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let mut far = TcpStream::connect(&to).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    (address, made)
}

#[tokio::test]
async fn consecutive_calls_share_a_connection() {
    let served = RunningServer::start(Limits::default()).await;
    let (address, made) = counted(served.address.clone()).await;
    let server = HttpServer {
        url: format!("http://{address}/mcp").parse().unwrap(),
        headers: vec![("Authorization".into(), format!("Bearer {TOKEN}")), ("Host".into(), served.address.clone())],
        http: HttpClient::new(http_config(HttpConfig::default())),
        tokens: None,
    };
    let client = Client::connect_http(&server, &ClientOptions::default()).await.unwrap();
    for _ in 0..20 {
        assert_eq!(client.call_tool("echo", Map::new(), &CallOptions::default()).await.unwrap().text(), "{}");
    }
    assert_eq!(made.load(Ordering::Relaxed), 1);
    client.close().await;
}

#[tokio::test]
async fn our_client_works_in_both_eras() {
    let served = RunningServer::start(Limits::default()).await;
    assert!(matches!(served.client(None, "another").await, Err(McpError::NeedsAuth(_))));
    for era in [Era::Modern, Era::Legacy] {
        let client = served.client((era == Era::Legacy).then_some(era), TOKEN).await.unwrap();
        assert_eq!(client.info().era, era);
        let tools = client.list_tools().await.unwrap().items;
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["echo", "panic", "wait", "steps", "marked", "needy"]);
        let Value::Object(arguments) = json!({"region": "Größe"}) else { unreachable!() };
        let result = client.call_tool("marked", arguments, &CallOptions::default()).await.unwrap();
        assert_eq!(result.text(), r#"{"region":"Größe"}"#);
        let panicked = client.call_tool("panic", Map::new(), &CallOptions::default()).await.unwrap();
        assert!(panicked.is_error);
        let seen = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let options = CallOptions {
            progress: Some(Arc::new(move |progress: Progress| sink.lock().push(progress.progress))),
            ..CallOptions::default()
        };
        assert_eq!(client.call_tool("steps", Map::new(), &options).await.unwrap().text(), "done");
        assert_eq!(*seen.lock(), [1.0, 2.0, 3.0]);
        client.close().await;
    }
}

/// Sends request heads that never end, like a program that wants to block others.
async fn half_heads(served: &RunningServer, count: usize) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for at in 0..count {
        // Nothing at all, a part of a line, and everything except the last byte.
        let head = served.text("POST", "/mcp", &[], "");
        open.push(served.open(["", "POST /m", &head[..head.len() - 1]][at % 3]).await);
    }
    open
}

#[tokio::test]
async fn unfinished_heads_do_not_block_other_clients() {
    let served = RunningServer::start(Limits::default()).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait"}});
    let waiting = served.open(&served.text("POST", "/mcp", &[], &call.to_string())).await;
    served.began.notified().await;
    let half = half_heads(&served, 300).await;
    // Other clients are answered, and the running call continues until its connection is closed.
    assert_eq!(served.post(&[], &ping).await.status, 200);
    assert!(tokio::time::timeout(std::time::Duration::ZERO, served.cancelled.notified()).await.is_err());
    drop(waiting);
    served.cancelled.notified().await;
    drop(half);
}

#[tokio::test(start_paused = true)]
async fn the_head_of_a_request_has_a_time_limit() {
    let served = RunningServer::start(Limits::default()).await;
    let begun = tokio::time::Instant::now();
    for mut stream in half_heads(&served, 3).await {
        // The server closes the connection, with or without a status.
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
    }
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
