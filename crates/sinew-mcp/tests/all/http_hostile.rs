//! Tests of HTTP servers that behave incorrectly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sinew_llm::http::{HttpClient, HttpConfig};
use sinew_mcp::http::{HttpServer, http_config};
use sinew_mcp::{CallOptions, CallTimes, Client, ClientOptions, McpError};
use sinew_testkit::provider::{RecordedRequest, Reply, Server};

fn at(server: &Server) -> HttpServer {
    HttpServer {
        url: format!("{}/mcp", server.url()).parse().unwrap(),
        headers: vec![("Authorization".into(), "Bearer secret".into())],
        http: HttpClient::new(http_config(HttpConfig::default())),
        tokens: None,
    }
}

/// The answers of a server from before 2026-07-28 with one tool; `call` is its answer to a call.
fn legacy(request: &RecordedRequest, call: impl Fn(&Value) -> Reply) -> Reply {
    let body = request.json();
    let result = |result: Value| {
        let answer = json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
        Reply::json(200, &answer).header("mcp-session-id", "one")
    };
    match body["method"].as_str() {
        Some("initialize") => result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "hostile", "version": "1"},
        })),
        Some("tools/list") => result(json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})),
        Some("tools/call") => call(&body["id"]),
        Some("server/discover") => Reply::text(404, "text/plain", "what?"),
        Some(_) => Reply::text(202, "text/plain", ""),
        None => Reply::text(405, "text/plain", ""),
    }
}

#[tokio::test]
async fn does_not_follow_a_redirect_to_another_origin_or_send_it_the_token() {
    let elsewhere = Server::start(|_| Reply::text(200, "application/json", "{}"));
    for target in ["http://169.254.169.254/latest/meta-data/".to_string(), format!("{}/mcp", elsewhere.url())] {
        for status in [301, 302, 303, 307, 308] {
            let to = target.clone();
            let server = Server::start(move |_| Reply::text(status, "text/plain", "").header("location", &to));
            let error = Client::connect_http(&at(&server), &ClientOptions::default()).await.err().unwrap();
            let says = format!("redirects to another origin are not followed (to {target})");
            assert!(error.to_string().contains(&says), "{status}: {error}");
            // A call within a session does not follow the redirect either.
            let to = target.clone();
            let server = Server::start(move |request| {
                legacy(request, |_| Reply::text(status, "text/plain", "").header("location", &to))
            });
            let client = Client::connect_http(&at(&server), &ClientOptions::default()).await.unwrap();
            let error = client.call_tool("t", Map::new(), &CallOptions::default()).await.err().unwrap();
            assert!(matches!(&error, McpError::Http { status: found, .. } if *found == status), "{error}");
            client.close().await;
        }
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

#[tokio::test]
async fn follows_a_redirect_within_the_origin_with_body_and_token() {
    for status in [307, 308] {
        let server = Server::start(move |request| match request.path.as_str() {
            "/mcp/" => legacy(request, |id| {
                let result = json!({"content": [{"type": "text", "text": "done"}]});
                Reply::json(200, &json!({"jsonrpc": "2.0", "id": id.to_string(), "result": result}))
            }),
            _ => Reply::text(status, "text/plain", "").header("location", "/mcp/"),
        });
        let client = Client::connect_http(&at(&server), &ClientOptions::default()).await.unwrap();
        // The server returns the id as a string.
        client.call_tool("t", Map::new(), &CallOptions::default()).await.unwrap();
        client.close().await;
        let seen = server.requests();
        let moved: Vec<_> = seen.iter().filter(|request| request.path == "/mcp/").collect();
        assert!(moved.iter().all(|request| request.header("authorization") == Some("Bearer secret")));
        assert!(moved.iter().any(|request| request.json()["method"] == "tools/call"));
    }
}

#[tokio::test]
async fn a_forgotten_session_is_restarted_once_and_ended_on_close() {
    let begun = AtomicUsize::new(0);
    let server = Server::start(move |request| {
        let (body, session) = (request.json(), request.header("mcp-session-id").unwrap_or_default());
        match body["method"].as_str() {
            Some("initialize") => {
                let name = format!("s{}", begun.fetch_add(1, Ordering::Relaxed));
                let mut reply = legacy(request, |_| unreachable!());
                reply.headers.retain(|(header, _)| header != "mcp-session-id");
                reply.header("mcp-session-id", &name)
            }
            // The server was restarted since and knows no sessions.
            Some("tools/call") if session == "s0" => Reply::text(404, "text/plain", "no such session"),
            _ => legacy(request, |id| {
                let text = json!({"content": [{"type": "text", "text": session}]});
                Reply::json(200, &json!({"jsonrpc": "2.0", "id": id, "result": text}))
            }),
        }
    });
    let client = Arc::new(Client::connect_http(&at(&server), &ClientOptions::default()).await.unwrap());
    // Many concurrent calls find that the session is gone, and repeat the handshake only once.
    let calls = (0..8).map(|_| {
        let client = Arc::clone(&client);
        tokio::spawn(async move { client.call_tool("t", Map::new(), &CallOptions::default()).await.unwrap().text() })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), "s1");
    }
    Arc::into_inner(client).unwrap().close().await;
    let requests = server.requests();
    let of = |method: &str| requests.iter().filter(|request| request.json()["method"] == method).count();
    assert_eq!((of("initialize"), of("notifications/initialized")), (2, 2));
    let ended: Vec<_> = requests.iter().filter(|request| request.method == "DELETE").collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].header("mcp-session-id"), Some("s1"));
}

#[tokio::test]
async fn sends_no_session_requests_to_a_modern_server() {
    let server = Server::start(|request| {
        let body = request.json();
        let result = match body["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            }),
            Some("tools/call") => json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]}),
            _ => json!({"resultType": "complete", "tools": []}),
        };
        // Whatever the server announces about them.
        Reply::json(200, &json!({"jsonrpc": "2.0", "id": body["id"], "result": result})).header("mcp-session-id", "one")
    });
    let client = Client::connect_http(&at(&server), &ClientOptions::default()).await.unwrap();
    assert_eq!(client.call_tool("t", Map::new(), &CallOptions::default()).await.unwrap().text(), "done");
    client.close().await;
    for request in server.requests() {
        assert_eq!(request.method, "POST");
        assert!(request.header("mcp-session-id").is_none() && request.header("last-event-id").is_none());
    }
}

/// A server that asks for a hundred connections per second: it ends each stream immediately and asks the client to
/// reconnect at once.
#[tokio::test]
async fn limits_reconnects_to_a_server_that_ends_each_stream() {
    let server = Server::start(|request| {
        let stream = || Reply::stream("id: 1\nretry: 0\ndata:\n\n");
        let resumed = request.method == "GET" && request.header("last-event-id").is_some();
        if resumed { stream() } else { legacy(request, |_| stream()) }
    });
    let client = Client::connect_http(&at(&server), &ClientOptions::default()).await.unwrap();
    let silence = Duration::from_secs(3);
    let options = CallOptions { times: CallTimes { silence, ..CallTimes::default() }, ..CallOptions::default() };
    let error = client.call_tool("t", Map::new(), &options).await.err().unwrap();
    assert!(matches!(error, McpError::Silence(_)), "{error}");
    let resumed = server.requests().iter().filter(|request| request.header("last-event-id").is_some()).count();
    // The client reconnects once immediately, as the server asks, and then once per second.
    assert!(resumed <= 4, "{resumed} connections in three seconds");
    client.close().await;
}
