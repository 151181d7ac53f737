use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;

fn request(url: &str) -> HttpRequest {
    let headers = vec![("Authorization".to_string(), "Bearer secret-value".to_string())];
    HttpRequest { method: http::Method::GET, url: Url::parse(url).unwrap(), headers, body: Bytes::new() }
}

fn wire() -> (Route, DuplexStream) {
    let (near, far) = tokio::io::duplex(1 << 16);
    (Route { io: Box::new(near), absolute: false, proxy_auth: None }, far)
}

/// Sends `script` (bytes, followed by a pause) from the far end while the near end reads the body to its end.
async fn play(script: Vec<(&'static [u8], u64)>) -> Result<Vec<u8>, HttpError> {
    let (route, mut far) = wire();
    tokio::spawn(async move {
        let mut head = vec![0; 4096];
        let _ = far.read(&mut head).await;
        for (bytes, pause) in script {
            if far.write_all(bytes).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_secs(pause)).await;
        }
    });
    let mut answer = exchange(&HttpConfig::default(), route, request("http://h/"), None).await?;
    let mut read = Vec::new();
    while let Some(chunk) = answer.body.chunk().await? {
        read.extend_from_slice(&chunk);
    }
    Ok(read)
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn any_byte_resets_the_idle_timer() {
    let script = vec![(HEAD, 299), (&b"1"[..], 299), (b"\r", 299), (b"\nx\r\n", 299), (b"0\r\n\r\n", 0)];
    assert_eq!(play(script).await.unwrap(), b"x");
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_timeout() {
    for script in [vec![(&b""[..], 1000)], vec![(HEAD, 1000)], vec![(HEAD, 0), (b"1\r\nx\r\n", 301), (b"0\r\n\r\n", 0)]]
    {
        let error = play(script).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (HttpErrorKind::Timeout, "the server sent nothing for 300 s"));
    }
}

#[tokio::test(start_paused = true)]
async fn distinguishes_an_early_end_from_invalid_data() {
    let cases: [(&'static [u8], HttpErrorKind); 5] = [
        (b"", HttpErrorKind::Network),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", HttpErrorKind::Network),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", HttpErrorKind::Network),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab", HttpErrorKind::Network),
        (b"SSH-2.0-OpenSSH_9.6\r\n", HttpErrorKind::Protocol),
    ];
    for (bytes, kind) in cases {
        let error = play(vec![(bytes, 0)]).await.unwrap_err();
        assert_eq!(error.kind, kind, "{}", error.message);
    }
}

/// Sends a request that is answered with `head`; returns the answer and the far end of the connection.
async fn answered(head: &'static [u8]) -> (HttpResponse, DuplexStream) {
    let (route, mut far) = wire();
    let sent = tokio::spawn(async move { exchange(&HttpConfig::default(), route, request("http://h/"), None).await });
    let mut seen = vec![0; 4096];
    let length = far.read(&mut seen).await.unwrap();
    assert!(seen[..length].starts_with(b"GET / HTTP/1.1\r\n"));
    far.write_all(head).await.unwrap();
    (sent.await.unwrap().unwrap(), far)
}

#[tokio::test(start_paused = true)]
async fn reads_a_body_up_to_the_limit() {
    let (mut answer, _far) = answered(b"HTTP/1.1 200 OK\r\n\r\nabcdef").await;
    assert_eq!(answer.body.read_limited(3).await.unwrap(), (b"abc".to_vec(), true));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_body_closes_the_connection() {
    let (answer, mut far) = answered(HEAD).await;
    drop(answer);
    assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn requests_contain_their_host_and_errors_contain_no_key() {
    let (route, mut far) = wire();
    let sent = tokio::spawn(async move {
        exchange(&HttpConfig::default(), route, request("http://user:pw@h:81/a?b=c#d"), None).await
    });
    let mut head = vec![0; 4096];
    let length = far.read(&mut head).await.unwrap();
    let head = String::from_utf8_lossy(&head[..length]).to_ascii_lowercase();
    assert!(head.starts_with("get /a?b=c http/1.1\r\nhost: h:81\r\n"), "{head}");
    drop(far);
    assert!(sent.await.unwrap().is_err());

    let mut bad = request("http://h/");
    bad.headers[0].1 = "secret\nvalue".into();
    let error = exchange(&HttpConfig::default(), wire().0, bad, None).await.unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::Request);
    assert!(!error.message.contains("secret"), "{}", error.message);
}

#[track_caller]
fn check_proxy(none: &str, url: &str, expect: Option<&str>) {
    let proxies = Proxies {
        http: Some("plain.test:3128".into()),
        https: Some("http://u:p%40@secure.test:8080".into()),
        all: None,
        none: Some(none.into()),
    };
    let found = proxies.for_url(&Url::parse(url).unwrap()).unwrap();
    assert_eq!(found.as_ref().and_then(Url::host_str), expect, "{url} with NO_PROXY={none}");
}

#[test]
fn chooses_the_proxy_by_scheme_and_skips_it_by_host() {
    check_proxy("", "http://a.test/", Some("plain.test"));
    check_proxy("", "https://a.test/", Some("secure.test"));
    check_proxy("", "http://127.0.0.1:11434/", None);
    check_proxy("", "http://localhost/", None);
    check_proxy("", "http://[::1]/", None);
    check_proxy("*", "https://a.test/", None);
    check_proxy("b.test, a.test", "https://a.test/", None);
    check_proxy(".a.test", "https://x.a.test/", None);
    check_proxy("a.test", "https://x.a.test/", None);
    check_proxy("a.test", "https://xa.test/", Some("secure.test"));
    check_proxy("a.test:444", "https://a.test/", Some("secure.test"));
    check_proxy("a.test:443", "https://a.test/", None);
    check_proxy("10.0.0.0/8", "http://10.9.8.7/", None);
    check_proxy("10.0.0.0/8", "http://11.9.8.7/", Some("plain.test"));
    check_proxy("10.9.8.7", "http://10.9.8.7:99/", None);
    check_proxy("fd00::/8", "http://[fd12::1]/", None);
    check_proxy("fd12::1", "http://[fd12::1]/", None);
    check_proxy("[fd12::1]:81", "http://[fd12::1]/", Some("plain.test"));
    check_proxy("[fd12::1]:80", "http://[fd12::1]/", None);
    check_proxy("*.a.test b.test", "https://x.a.test/", None);
    check_proxy("*.a.test b.test", "https://b.test/", None);
    check_proxy("A.Test", "https://a.test/", None);
    check_proxy("a.test:nonsense", "https://a.test/", None);
    check_proxy("*", "https://10.9.8.7/", None);
    check_proxy("10.1.2.3/8", "http://10.9.8.7/", None);
    check_proxy("nonsense/99,1.2.3.4/x", "http://1.2.3.4/", Some("plain.test"));
}

#[test]
fn an_unusable_proxy_is_an_error_without_its_password() {
    for value in ["socks5://u:hidden@h:1", "http://u:hidden@"] {
        let proxies = Proxies { all: Some(value.into()), ..Proxies::default() };
        let error = proxies.for_url(&Url::parse("http://a.test").unwrap()).unwrap_err();
        assert!(!error.message.contains("hidden") && !format!("{proxies:?}").contains("hidden"), "{error}");
    }
}

/// Accepts one connection and sends `answer` after the head of a request; returns that head.
async fn listen(answer: &'static [u8]) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match socket.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => break,
            }
        }
        let _ = socket.write_all(answer).await;
        String::from_utf8(head).unwrap()
    });
    (port, task)
}

fn through(port: u16) -> HttpClient {
    let value = Some(format!("http://user:p%40ss@127.0.0.1:{port}"));
    let proxies = Proxies { all: value, ..Proxies::default() };
    HttpClient::new(HttpConfig { proxies, ..HttpConfig::default() })
}

#[tokio::test]
async fn a_plain_proxy_receives_the_full_url_and_its_password() {
    let (port, seen) = listen(b"HTTP/1.1 204 No Content\r\n\r\n").await;
    let answer = through(port).send(request("http://far.test:8080/x?y")).await.unwrap();
    assert_eq!(answer.status, 204);
    let head = seen.await.unwrap().to_ascii_lowercase();
    assert!(head.starts_with("get http://far.test:8080/x?y http/1.1\r\nhost: far.test:8080\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic dxnlcjpwqhnz\r\n"), "{head}");
}

#[tokio::test]
async fn https_uses_a_tunnel() {
    let cases: [(&[u8], HttpErrorKind, &str); 2] = [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", HttpErrorKind::Request, "it requires another user"),
        (b"HTTP/1.1 503 Busy\r\n\r\n", HttpErrorKind::Network, "it answered \"HTTP/1.1 503 Busy\""),
    ];
    for (answer, kind, text) in cases {
        let (port, seen) = listen(answer).await;
        let error = through(port).send(request("https://far.test/x")).await.unwrap_err();
        assert_eq!(error.kind, kind, "{}", error.message);
        assert!(
            error.message.starts_with(&format!("connect to far.test:443 through the proxy: {text}")),
            "{}",
            error.message
        );
        let head = seen.await.unwrap();
        let begin = "CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\nProxy-Authorization: Basic ";
        assert!(head.starts_with(begin), "{head}");
    }
}

#[tokio::test]
async fn the_filter_receives_the_address_of_the_connection() {
    let filter: AddressFilter =
        Arc::new(|host, ip| if ip.is_loopback() { Err(format!("Refused: {host} resolves to {ip}")) } else { Ok(()) });
    let client = HttpClient::new(HttpConfig { address_filter: Some(filter), ..HttpConfig::default() });
    for (url, host) in [
        ("http://127.0.0.1:9/", "127.0.0.1"),
        ("http://localhost:9/", "localhost"),
        ("http://[::ffff:127.0.0.1]:9/", "[::ffff:7f00:1]"),
        ("http://0x7f.1:9/", "127.0.0.1"),
    ] {
        let error = client.send(request(url)).await.unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Refused, "{error}");
        assert!(error.message.starts_with(&format!("Refused: {host} resolves to ")), "{error}");
    }
}

#[tokio::test]
async fn the_error_of_a_refused_connection_names_the_host() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = HttpClient::default().send(request(&format!("http://127.0.0.1:{port}/"))).await.unwrap_err();
    assert_eq!(error.message, format!("connect to 127.0.0.1:{port}: Connection refused"));
}

#[tokio::test]
async fn an_invalid_tls_answer_is_a_network_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    let error = HttpClient::default().send(request(&format!("https://127.0.0.1:{port}/"))).await.unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::Network, "{error}");
}

/// Compresses `plain` in chunks, each flushed.
fn gzip(plain: &[&str]) -> Vec<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut pieces = Vec::new();
    for text in plain {
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        std::io::Write::flush(&mut encoder).unwrap();
        pieces.push(std::mem::take(encoder.get_mut()));
    }
    pieces.push(encoder.finish().unwrap());
    pieces
}

const GZIP_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n";

#[tokio::test]
async fn decompresses_each_chunk_without_waiting_for_the_next() {
    let (mut answer, mut far) = answered(GZIP_HEAD).await;
    let pieces = gzip(&["one", "two"]);
    for (piece, plain) in pieces.iter().zip(["one", "two"]) {
        // Byte by byte, with nothing after it: the content of the chunk has to be returned anyway.
        for byte in piece {
            far.write_all(&[*byte]).await.unwrap();
        }
        let mut read = Vec::new();
        while read.len() < plain.len() {
            read.extend_from_slice(&answer.body.chunk().await.unwrap().unwrap());
        }
        assert_eq!(read, plain.as_bytes());
    }
    far.write_all(&pieces[2]).await.unwrap();
    drop(far);
    assert_eq!(answer.body.chunk().await.unwrap(), None);
}

#[tokio::test]
async fn a_truncated_or_damaged_compressed_answer_fails() {
    let whole = gzip(&["some text"]).concat();
    for (bytes, kind) in [
        (whole[..whole.len() - 3].to_vec(), Some(HttpErrorKind::Network)),
        (b"plain text all the same".to_vec(), Some(HttpErrorKind::Protocol)),
        (Vec::new(), None),
        (whole, None),
    ] {
        let (mut answer, mut far) = answered(GZIP_HEAD).await;
        far.write_all(&bytes).await.unwrap();
        drop(far);
        let read = answer.body.read_limited(1000).await;
        assert_eq!(read.as_ref().err().map(|error| error.kind), kind, "{bytes:?}: {read:?}");
    }
}

#[tokio::test]
async fn limits_the_decompressed_size() {
    let zeros = "\0".repeat(1 << 20);
    let bomb = gzip(&[zeros.as_str(); 64]).concat();
    let (mut answer, mut far) = answered(GZIP_HEAD).await;
    tokio::spawn(async move {
        let _ = far.write_all(&bomb).await;
    });
    let (read, more) = answer.body.read_limited(1000).await.unwrap();
    assert_eq!((read.len(), more), (1000, true));
}

#[tokio::test]
async fn rejects_an_encoding_that_was_not_requested() {
    let (route, mut far) = wire();
    let sent = tokio::spawn(async move { exchange(&HttpConfig::default(), route, request("http://h/"), None).await });
    let mut seen = vec![0; 4096];
    let length = far.read(&mut seen).await.unwrap();
    assert!(String::from_utf8_lossy(&seen[..length]).contains("accept-encoding: gzip\r\n"));
    far.write_all(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n").await.unwrap();
    let error = sent.await.unwrap().unwrap_err();
    assert_eq!(error.message, "the server sent data in the encoding \"br\", which was not requested");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn detects_a_lost_connection_within_half_a_minute() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    connect::tune(&stream);
    assert_eq!(rustix::net::sockopt::tcp_user_timeout(&stream).unwrap(), 30_000);
    assert!(stream.nodelay().unwrap());
}
