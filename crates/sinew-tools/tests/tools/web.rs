//! Tests `fetch` over real connections.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use serde_json::json;
use sinew_llm::message::Block;
use sinew_tools::Settings;

use crate::Case;
use crate::stage::Stage;

pub(crate) const CASES: &[Case] = &[
    ("private_addresses_are_refused", private_addresses_are_refused),
    ("pages_are_shown_according_to_their_type", pages_are_shown_according_to_their_type),
    ("every_redirect_is_checked", every_redirect_is_checked),
    ("large_and_broken_bodies_get_an_answer", large_and_broken_bodies_get_an_answer),
    ("a_page_is_cached_for_later_parts", a_page_is_cached_for_later_parts),
];

/// `{"n": 1}`, compressed.
const GZIP: &[u8] =
    &[31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 202, 83, 178, 82, 48, 172, 5, 0, 66, 60, 247, 10, 8, 0, 0, 0];
const PNG: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 8, 2, 0, 0, 0, 253, 212, 154,
    115, 0, 0, 0, 17, 73, 68, 65, 84, 120, 156, 99, 248, 207, 192, 0, 68, 96, 226, 63, 3, 0, 29, 240, 3, 253, 160, 51,
    9, 137, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

/// Returns status, headers and body for a path; `None` if the connection is closed at once.
fn answer(path: &str, port: u16) -> Option<(&'static str, String, Vec<u8>)> {
    let typed = |kind: &str| format!("Content-Type: {kind}\r\n");
    let to = |place: &str| format!("Location: {place}\r\n");
    Some(match path {
        "/page" => ("200 OK", typed("text/html"), b"<title>T &amp; U</title><h1>Hi</h1><p>you".to_vec()),
        "/latin" => ("200 OK", typed("text/html; charset=ISO-8859-1"), b"<title>\xe9</title><p>caf\xe9".to_vec()),
        "/data" => ("200 OK", typed("application/json"), b"{\"a\":1}".to_vec()),
        "/packed" => ("200 OK", typed("application/json") + "Content-Encoding: gzip\r\n", GZIP.to_vec()),
        "/text" => ("200 OK", typed("text/plain"), b"a\x1b[31m\xff\nb".to_vec()),
        "/file" => {
            let headers = typed("text/csv") + "Content-Disposition: attachment; filename=\"a.csv\"\r\n";
            ("200 OK", headers, b"a,b\n1,2\n".to_vec())
        }
        "/image" => ("200 OK", typed("image/png"), PNG.to_vec()),
        "/blob" => ("200 OK", typed("application/zip"), b"PK".to_vec()),
        "/nul" => ("200 OK", typed("text/plain"), b"a\0b".to_vec()),
        "/large" => ("200 OK", typed("text/plain"), b"0123456789abcde\n".repeat(700_000)),
        "/lines" => ("200 OK", typed("text/plain"), (1..=5_000).flat_map(|n| format!("{n}\n").into_bytes()).collect()),
        "/away" => ("302 Found", to(&format!("http://localhost:{port}/page")), Vec::new()),
        "/metadata" => ("307 Temporary Redirect", to("http://169.254.169.254/latest"), Vec::new()),
        "/other" => ("301 Moved", to("file:///etc/passwd"), Vec::new()),
        "/near" => ("302 Found", to("page"), Vec::new()),
        "/loop" => ("302 Found", to("/loop"), Vec::new()),
        "/closed" => return None,
        _ => ("404 Not Found", typed("text/plain"), [b"nothing here ".to_vec(), vec![b'x'; 5_000]].concat()),
    })
}

/// Serves until the test program ends; returns the port.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
                let first = lines.next().unwrap();
                lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
                let Some((status, headers, body)) = answer(first.split(' ').nth(1).unwrap(), port) else { return };
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
                // A client that has read enough closes the connection before the end.
                let _ = stream.write_all(&[head.into_bytes(), body].concat());
            });
        }
    });
    port
}

/// Returns a session that may fetch from 127.0.0.1, and a function for URLs of the server.
fn stage() -> (Stage, impl Fn(&str) -> String) {
    let port = serve();
    let stage = Stage::with(Settings { fetch_allow_private: vec!["127.0.0.1".into()], ..Settings::default() });
    (stage, move |path: &str| format!("http://127.0.0.1:{port}/{path}"))
}

fn private_addresses_are_refused() {
    let stage = Stage::new();
    for host in ["127.0.0.1:9", "[::1]:9", "169.254.169.254", "[::ffff:127.0.0.1]:9", "2130706433:9", "localhost:9"] {
        let (text, error) = stage.call("fetch", json!({"url": format!("http://{host}/")}));
        assert!(error && text.contains("resolves to a private address"), "{host}: {text}");
    }
    for url in ["file:///etc/passwd", "ftp://a/b", "page"] {
        let text = format!("fetch \"{url}\": only http and https URLs are supported");
        stage.fails("fetch", json!({"url": url}), &text);
    }
}

fn pages_are_shown_according_to_their_type() {
    let (stage, url) = stage();
    let page = |path: &str, expect: &str| {
        let (head, body) = expect.split_once('|').unwrap();
        let expect = format!("{}\n{head}Status: 200\n\n{body}", url(path));
        stage.ok("fetch", json!({"url": url(path)}), &expect);
    };
    page("page", "Title: T & U\n|# Hi\n\nyou");
    page("latin", "Title: \u{e9}\n|caf\u{e9}");
    page("data", "|{\n  \"a\": 1\n}");
    page("packed", "|{\n  \"n\": 1\n}");
    page("text", "|a\u{fffd}\nb");
    page("file", "|a,b\n1,2");
    let raw = json!({"url": url("page"), "format": "raw"});
    let (text, _) = stage.call("fetch", raw);
    assert!(text.ends_with("<title>T &amp; U</title><h1>Hi</h1><p>you"), "{text}");
    let output = stage.output("fetch", json!({"url": url("image")}), sinew::base::CancelToken::never());
    assert!(matches!(&output.content[..], [Block::Text(_), Block::Image(image)] if image.mime_type == "image/png"));
    stage.fails("fetch", json!({"url": url("blob")}), "Unsupported content type: application/zip (2 B)");
    stage.fails("fetch", json!({"url": url("nul")}), "Unsupported content type: text/plain (3 B)");
    let upper = url("data").replace("http:", "HTTP:");
    assert!(!stage.call("fetch", json!({"url": upper})).1);
}

fn every_redirect_is_checked() {
    let (stage, url) = stage();
    let (text, error) = stage.call("fetch", json!({"url": url("near")}));
    assert!(!error && text.starts_with(&format!("{}\nTitle: T & U\n", url("page"))), "{text}");
    for (path, why) in [
        ("away", "Refused: localhost resolves to a private address. Allow it with fetch.allowPrivate."),
        ("metadata", "Refused: 169.254.169.254 resolves to a private address."),
        ("other", "file"),
        ("loop", "redirects"),
    ] {
        let (text, error) = stage.call("fetch", json!({"url": url(path)}));
        assert!(error && text.contains(why), "{path}: {text}");
    }
}

fn large_and_broken_bodies_get_an_answer() {
    let (stage, url) = stage();
    let (text, error) = stage.call("fetch", json!({"url": url("large"), "limit": 1}));
    assert!(!error && text.contains("\n0123456789abcde\n[The page is longer than 10 MB"), "{text}");
    let (text, error) = stage.call("fetch", json!({"url": url("none")}));
    let body = &text[format!("HTTP 404 from {}\n", url("none")).len()..];
    assert!(error && body.starts_with("nothing here xxx") && body.len() == 2 * 1024, "{text}");
    let (text, error) = stage.call("fetch", json!({"url": url("closed")}));
    assert!(error && !text.is_empty());
}

fn a_page_is_cached_for_later_parts() {
    let (stage, url) = stage();
    let (text, _) = stage.call("fetch", json!({"url": url("lines")}));
    assert!(text.ends_with("\n2000\n[Showing lines 1-2000 of 5000. Use offset=2001 to continue.]"), "{text}");
    let (text, _) = stage.call("fetch", json!({"url": url("lines"), "offset": 4_999}));
    assert!(text.ends_with("\n\n4999\n5000"), "{text}");
    let (text, _) = stage.call("fetch", json!({"url": url("lines"), "offset": 5_001}));
    assert!(text.ends_with("\n\nLine 5001 is beyond the end (5000 lines total)."), "{text}");
}
