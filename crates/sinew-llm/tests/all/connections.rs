//! Tests of connections over real sockets: how many are opened, and what happens to a request on a dead one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sinew_llm::http::{HttpClient, HttpConfig, HttpErrorKind, HttpRequest, Roots};
use sinew_llm::model::Model;
use sinew_llm::{LlmMessage, Request, StopReason, wire};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

const AUTHORITY: &[u8] = include_bytes!("tls/ca.der");
const CERTIFICATE: &[u8] = include_bytes!("tls/leaf.der");
const KEY: &[u8] = include_bytes!("tls/leaf.key.der");

fn acceptor() -> TlsAcceptor {
    let key = PrivateKeyDer::try_from(KEY.to_vec()).unwrap();
    let builder = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = builder.with_single_cert(vec![CertificateDer::from(CERTIFICATE.to_vec())], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Reads a request to the end of its body. Returns false if the client has disconnected.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return false,
        }
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
    stream.read_exact(&mut vec![0; length]).await.is_ok()
}

/// The answer "hi" in the format of a protocol.
fn answer(api: &str) -> &'static str {
    match api {
        "anthropic-messages" => {
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hi\"}}\n\n\
             data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
             data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
             data: {\"type\":\"message_stop\"}\n\n"
        }
        "openai-completions" => {
            "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
        }
        "openai-responses" => {
            "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\"}}\n\n\
             data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"hi\"}\n\n\
             data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
        }
        _ => {
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{}}\n\n"
        }
    }
}

async fn write_answer(stream: &mut (impl AsyncWrite + Unpin), body: &str) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    // The end of the body arrives in a separate chunk after the last event, as from real servers.
    stream.write_all(format!("{head}{:x}\r\n{body}\r\n", body.len()).as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    stream.flush().await.unwrap();
}

fn request(api: &str, base_url: String) -> Request {
    let model = Model { id: "m".into(), api: api.into(), base_url, ..Model::default() };
    Request { model, messages: vec![LlmMessage::user("hello").into()], ..Request::default() }
}

#[tokio::test]
async fn ten_turns_use_one_tls_handshake() {
    for api in wire::apis() {
        let handshakes = Arc::new(AtomicUsize::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (counted, acceptor) = (Arc::clone(&handshakes), acceptor());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let mut stream = acceptor.accept(socket).await.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    while read_request(&mut stream).await {
                        write_answer(&mut stream, answer(api)).await;
                    }
                });
            }
        });
        let config = HttpConfig { roots: Roots::Only(vec![AUTHORITY.to_vec()]), ..HttpConfig::default() };
        let client = HttpClient::new(config);
        for turn in 0..10 {
            // A session creates a provider each time a model is chosen; they share the connections.
            let provider = wire::provider(api, client.clone()).unwrap();
            let asked = request(api, format!("https://localhost:{port}"));
            let message = provider.stream(asked, CancellationToken::new()).result().await;
            assert_eq!((message.text().as_str(), message.stop_reason), ("hi", StopReason::Stop), "{api}, turn {turn}");
        }
        assert_eq!(handshakes.load(Ordering::SeqCst), 1, "{api}");
    }
}

/// A server's action after it has read a request.
#[derive(Clone, Copy)]
enum Action {
    /// Answers, and waits for the next request.
    Answer,
    /// Answers, and announces that it closes the connection.
    Last,
    /// Answers, and closes without announcing it.
    AnswerAndClose,
    /// Closes without sending a byte.
    Close,
    /// Begins an answer and closes.
    Break,
}

/// A server that performs a list of actions for each connection, and records on which connection each request arrived.
async fn server(connections: &'static [&'static [Action]]) -> (u16, Arc<Mutex<Vec<usize>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    tokio::spawn(async move {
        for (number, deeds) in connections.iter().enumerate() {
            let (mut socket, _) = listener.accept().await.unwrap();
            let noted = Arc::clone(&noted);
            tokio::spawn(async move {
                for action in *deeds {
                    if !read_request(&mut socket).await {
                        return;
                    }
                    noted.lock().unwrap().push(number);
                    let bytes: &[u8] = match action {
                        Action::Answer | Action::AnswerAndClose => b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
                        Action::Last => b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
                        Action::Close => b"",
                        Action::Break => b"HTTP/1.1 200",
                    };
                    socket.write_all(bytes).await.unwrap();
                    if !matches!(action, Action::Answer) {
                        return;
                    }
                }
                // The connection stays open.
                read_request(&mut socket).await;
            });
        }
    });
    (port, seen)
}

async fn ask(client: &HttpClient, port: u16) -> Result<Vec<u8>, HttpErrorKind> {
    let request = HttpRequest {
        method: http::Method::POST,
        url: format!("http://127.0.0.1:{port}/").parse().unwrap(),
        headers: Vec::new(),
        body: Bytes::from_static(b"a question"),
    };
    let mut answer = client.send(request).await.map_err(|error| error.kind)?;
    Ok(answer.body.read_limited(100).await.map_err(|error| error.kind)?.0)
}

#[track_caller]
fn ok() -> Result<Vec<u8>, HttpErrorKind> {
    Ok(b"ok".to_vec())
}

#[tokio::test]
async fn repeats_a_request_only_if_no_server_can_have_answered_it() {
    use Action::{Answer, AnswerAndClose, Break, Close, Last};
    let lost = Err(HttpErrorKind::Network);
    /// Actions per connection; the outcomes of two requests; the connection of each request.
    type Case = (&'static [&'static [Action]], [Result<Vec<u8>, HttpErrorKind>; 2], &'static [usize]);
    let table: [Case; 7] = [
        (&[&[Answer, Answer]], [ok(), ok()], &[0, 0]),
        (&[&[Last], &[Answer]], [ok(), ok()], &[0, 1]),
        // The client may see the end before or after it sends the request: the server reads the second request once.
        (&[&[AnswerAndClose], &[Answer]], [ok(), ok()], &[0, 1]),
        // The connection worked before, and no byte of an answer arrived.
        (&[&[Answer, Close], &[Answer]], [ok(), ok()], &[0, 0, 1]),
        // The new connection fails too, and there is no third one.
        (&[&[Answer, Close], &[Close]], [ok(), lost.clone()], &[0, 0, 1]),
        // An answer had begun.
        (&[&[Answer, Break], &[Answer]], [ok(), lost.clone()], &[0, 0]),
        // A new connection that closes is not treated like a reused one.
        (&[&[Close], &[Answer]], [lost, ok()], &[0, 1]),
    ];
    for (number, (connections, outcomes, expect)) in table.into_iter().enumerate() {
        let (port, seen) = server(connections).await;
        let client = HttpClient::default();
        for (turn, outcome) in outcomes.into_iter().enumerate() {
            assert_eq!(ask(&client, port).await, outcome, "case {number}, request {turn}");
        }
        assert_eq!(*seen.lock().unwrap(), expect, "case {number}");
    }
}

#[tokio::test]
async fn a_stream_that_does_not_end_delays_only_one_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let opened = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&opened);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                assert!(read_request(&mut socket).await);
                let body = answer("openai-completions");
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
                // Until the client disconnects.
                let _ = socket.read_u8().await;
            });
        }
    });
    let client = HttpClient::default();
    for turn in 1..4 {
        let provider = wire::provider("openai-completions", client.clone()).unwrap();
        let asked = request("openai-completions", format!("http://127.0.0.1:{port}"));
        let message = provider.stream(asked, CancellationToken::new()).result().await;
        assert_eq!((message.text().as_str(), opened.load(Ordering::SeqCst)), ("hi", turn));
    }
}
