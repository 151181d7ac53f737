//! Tests of servers from before 2026-07-28 that send requests on the stream which the client opens with GET, and that
//! open the stream late.
//!
//! The clock is paused. A blocking task keeps it from advancing automatically while a test waits for sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde_json::{Map, Value, json};
use sinew_llm::http::{HttpClient, HttpConfig};
use sinew_mcp::http::{HttpServer, http_config};
use sinew_mcp::{BoxFuture, CallOptions, Client, ClientHost, ClientOptions, Elicitation, ElicitationAnswer};

/// Events at the server, and events that the test triggers.
#[derive(Default)]
struct Facts {
    /// The client requested the stream.
    asked_for: bool,
    /// The test releases the head of the stream before there is a question.
    allowed: bool,
    /// The head was sent.
    open: bool,
    /// A call asks its question.
    asking: bool,
    /// A call arrived while there was no stream.
    early: bool,
    answer: Option<Value>,
}

#[derive(Default)]
struct AskingServer {
    facts: Mutex<Facts>,
    changed: Condvar,
    /// Whether a call that finds no stream asks no question, as in a strict server.
    strict: bool,
}

impl AskingServer {
    fn change(&self, change: impl FnOnce(&mut Facts)) {
        change(&mut self.facts.lock());
        self.changed.notify_all();
    }

    fn until(&self, holds: impl Fn(&Facts) -> bool) {
        self.changed.wait_while(&mut self.facts.lock(), |facts| !holds(facts));
    }

    fn serve(&self, mut socket: TcpStream) -> std::io::Result<()> {
        let Some((method, body)) = read_request(&socket)? else { return Ok(()) };
        if method == "GET" {
            return self.stream(&mut socket);
        }
        let result = |result: Value| json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
        let (status, text) = match body["method"].as_str() {
            Some("server/discover") => (404, String::new()),
            Some("initialize") => {
                let info = json!({"name": "asking", "version": "1"});
                let capabilities = json!({"tools": {}});
                let version = "2025-11-25";
                let hello = json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info});
                (200, result(hello))
            }
            Some("tools/call") => (200, result(json!({"content": [{"type": "text", "text": self.call()}]}))),
            None if body["id"] == "q" => {
                self.change(|facts| facts.answer = Some(body["result"].clone()));
                (202, String::new())
            }
            _ => (202, String::new()),
        };
        let length = text.len();
        write!(
            socket,
            "HTTP/1.1 {status} S\r\nconnection: close\r\nmcp-session-id: one\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{text}"
        )
    }

    /// The text of the user's answer; `lost` if no question was asked.
    fn call(&self) -> String {
        self.change(|facts| {
            facts.early |= !facts.open;
            facts.asking = facts.open || !self.strict;
        });
        self.until(|facts| facts.answer.is_some() || !facts.asking);
        self.facts.lock().answer.take().map_or_else(|| "lost".to_string(), |answer| answer.to_string())
    }

    fn stream(&self, socket: &mut TcpStream) -> std::io::Result<()> {
        self.change(|facts| facts.asked_for = true);
        self.until(|facts| facts.allowed || facts.asking);
        let head = "HTTP/1.1 200 S\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
        // The stream is open before the client knows it, because the client may call immediately.
        self.change(|facts| facts.open = true);
        write!(socket, "{head}: open\n\n")?;
        self.until(|facts| facts.asking);
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let params = json!({"message": "Who?", "requestedSchema": schema});
        let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params});
        write!(socket, "data: {question}\n\n")?;
        // The stream is open until the client closes it.
        socket.read(&mut [0]).map(drop)
    }
}

fn read_request(socket: &TcpStream) -> std::io::Result<Option<(String, Value)>> {
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let Some(method) = line.split_whitespace().next().map(str::to_string) else { return Ok(None) };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((method, serde_json::from_slice(&body).unwrap_or_default())))
}

fn start(asking: &Arc<AskingServer>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asking = Arc::clone(asking);
    // It ends with the process of the test.
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let asking = Arc::clone(&asking);
            std::thread::spawn(move || asking.serve(socket));
        }
    });
    address
}

/// A user who answers with a name.
struct Person;

impl ClientHost for Person {
    fn can_ask(&self) -> bool {
        true
    }

    fn elicit(&self, question: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        assert_eq!(question.message(), "Who?");
        let fields = json!({"name": "me"}).as_object().cloned().unwrap();
        Box::pin(std::future::ready(ElicitationAnswer::Accept(fields)))
    }
}

/// Returns a connection to the server, a call in flight and a paused clock; `meanwhile` runs after the client has
/// requested the stream and while the call waits.
async fn called(asking: &Arc<AskingServer>, meanwhile: impl AsyncFnOnce()) -> String {
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let still = tokio::task::spawn_blocking(move || ended.recv());
    let server = HttpServer {
        url: format!("http://{}/mcp", start(asking)).parse().unwrap(),
        headers: Vec::new(),
        http: HttpClient::new(http_config(HttpConfig::default())),
        tokens: None,
    };
    let options = ClientOptions { host: Arc::new(Person), ..ClientOptions::default() };
    let client = Client::connect_http(&server, &options).await.unwrap();
    let call = async { client.call_tool("t", Map::new(), &CallOptions::default()).await.unwrap().text() };
    let own = Arc::clone(asking);
    let meanwhile = async {
        tokio::task::spawn_blocking(move || own.until(|facts| facts.asked_for)).await.unwrap();
        meanwhile().await;
    };
    // The call is polled first.
    let (text, ()) = tokio::join!(biased; call, meanwhile);
    client.close().await;
    drop(done);
    let _ = still.await;
    text
}

const ANSWER: &str = r#"{"action":"accept","content":{"name":"me"}}"#;

#[tokio::test(start_paused = true)]
async fn the_first_call_waits_for_a_stream_that_opens_late() {
    let asking = Arc::new(AskingServer { strict: true, ..AskingServer::default() });
    let text = called(&asking, async || asking.change(|facts| facts.allowed = true)).await;
    assert_eq!(text, ANSWER);
    assert!(!asking.facts.lock().early, "the call came before the stream");
}

#[tokio::test(start_paused = true)]
async fn the_first_call_is_sent_if_the_stream_opens_with_its_question() {
    let asking = Arc::new(AskingServer::default());
    let late = async || {
        assert!(!asking.facts.lock().early, "the call did not wait at all");
        tokio::time::advance(Duration::from_millis(501)).await;
    };
    assert_eq!(called(&asking, late).await, ANSWER);
    assert!(asking.facts.lock().early);
}
