use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sinew_testkit::provider::{RecordedRequest, Reply, Server, Step};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::credentials::{AuthEntry, AuthFile, Credentials};
use crate::error::ErrorKind;
use crate::http::HttpClient;
use crate::models::Registry;

const NOW: i64 = 1_700_000_000_000;

fn provider(oauth: Value) -> ProviderEntry {
    let mut entry = Registry::builtin(&|_| None).provider("xai").unwrap().clone();
    entry.oauth = Some(oauth);
    entry
}

fn form(request: &RecordedRequest) -> Vec<(String, String)> {
    url::form_urlencoded::parse(&request.body).into_owned().collect()
}

fn field(request: &RecordedRequest, key: &str) -> String {
    form(request).into_iter().find(|(name, _)| name == key).map_or(String::new(), |(_, value)| value)
}

/// A token server that accepts one code.
fn tokens() -> Server {
    Server::start(|request| match field(request, "code").as_str() {
        "good code" => Reply::json(200, &json!({"access_token": "a1", "refresh_token": "r1", "expires_in": 60})),
        code => Reply::json(400, &json!({"error": "invalid_grant", "error_description": format!("unknown {code}")})),
    })
}

fn by_browser(server: &Server) -> ProviderEntry {
    provider(json!({"authorizeUrl": "https://login.test/authorize?x=1", "tokenUrl": server.url(),
        "clientId": "c 1", "scopes": ["read", "write"]}))
}

fn part(address: &str, key: &str) -> String {
    let url = url::Url::parse(address).unwrap();
    url.query_pairs().find(|(name, _)| name == key).unwrap().1.into_owned()
}

/// Returns the page that a browser receives for `path` at the login's port.
async fn visit(redirect: &str, path: &str) -> String {
    let port = url::Url::parse(redirect).unwrap().port().unwrap();
    let mut socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    socket.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut page = String::new();
    socket.read_to_string(&mut page).await.unwrap();
    page
}

fn good() -> AuthEntry {
    AuthEntry::Oauth { access: "a1".into(), refresh: "r1".into(), expires: NOW + 60_000 }
}

#[test]
fn the_oauth_block_selects_the_login_method() {
    let kind = |oauth: Value| login_kind(&provider(oauth));
    assert_eq!(kind(json!({"authorizeUrl": "https://a", "deviceUrl": "https://d"})), Some(LoginKind::Browser));
    assert_eq!(kind(json!({"deviceUrl": "https://d"})), Some(LoginKind::Device));
    assert_eq!(kind(json!({"tokenUrl": "https://t"})), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_browser_returns_the_code_and_other_requests_are_ignored() {
    let server = tokens();
    let login = BrowserLogin::begin(&by_browser(&server)).await.unwrap();
    let address = login.url().to_string();
    let (state, redirect) = (part(&address, "state"), part(&address, "redirect_uri"));
    assert_eq!((part(&address, "client_id"), part(&address, "scope")), ("c 1".into(), "read write".into()));
    assert_eq!((part(&address, "x"), part(&address, "code_challenge_method")), ("1".into(), "S256".into()));
    let done = tokio::spawn(async move { login.finish(&HttpClient::default(), async { None }, NOW).await });
    assert!(visit(&redirect, "/favicon.ico").await.starts_with("HTTP/1.1 404"));
    assert!(visit(&redirect, "/callback?code=stolen&state=other").await.starts_with("HTTP/1.1 400"));
    assert!(visit(&redirect, "/callback?error=access_denied").await.starts_with("HTTP/1.1 400"));
    assert!(server.requests().is_empty());
    let page = visit(&redirect, &format!("/callback?code=good%20code&state={state}")).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("You are logged in"), "{page}");
    assert_eq!(done.await.unwrap().unwrap(), good());
    let sent = &server.requests()[0];
    assert_eq!((field(sent, "grant_type"), field(sent, "redirect_uri")), ("authorization_code".into(), redirect));
    // The server knows the challenge, and only the login knows the verifier.
    use base64::Engine;
    use sha2::Digest;
    let challenge = sha2::Sha256::digest(field(sent, "code_verifier").as_bytes());
    let challenge = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(challenge);
    assert_eq!(part(&address, "code_challenge"), challenge);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_the_user_ends_the_login() {
    let server = tokens();
    let login = BrowserLogin::begin(&by_browser(&server)).await.unwrap();
    let address = login.url().to_string();
    let done = tokio::spawn(async move { login.finish(&HttpClient::default(), async { None }, NOW).await });
    let path = format!("/callback?error=access_denied&error_description=not+today&state={}", part(&address, "state"));
    assert!(visit(&part(&address, "redirect_uri"), &path).await.contains("refused"));
    let error = done.await.unwrap().unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Auth, "log in at xai: access_denied: not today"));
    assert!(server.requests().is_empty());
}

/// Pastes the result of `text` for the state.
async fn paste(text: impl Fn(&str) -> String) -> Result<AuthEntry, (ErrorKind, String)> {
    let server = tokens();
    let login = BrowserLogin::begin(&by_browser(&server)).await.unwrap();
    let text = text(&part(login.url(), "state"));
    let done = login.finish(&HttpClient::default(), async { Some(text) }, NOW).await;
    done.map_err(|error| (error.kind, error.message))
}

#[tokio::test]
async fn accepts_the_pasted_address_or_code() {
    assert_eq!(paste(|state| format!(" http://127.0.0.1:1/callback?state={state}&code=good+code\n")).await, Ok(good()));
    assert_eq!(paste(|state| format!("good code#{state}")).await, Ok(good()));
    assert_eq!(paste(|_| "good code".into()).await, Ok(good()));
    let other = "log in at xai: the pasted text belongs to another login";
    assert_eq!(paste(|_| "good code#x".into()).await, Err((ErrorKind::Auth, other.into())));
    assert_eq!(paste(|_| "http://h/?code=good+code&state=x".into()).await, Err((ErrorKind::Auth, other.into())));
    let none = "log in at xai: the answer has no code";
    assert_eq!(paste(|_| "  ".into()).await, Err((ErrorKind::Auth, none.into())));
    // An expired code, which the message does not contain.
    let expired = "log in at xai: the server answered HTTP 400: invalid_grant: unknown ***";
    assert_eq!(paste(|_| "expired-code".into()).await, Err((ErrorKind::Auth, expired.into())));
}

#[tokio::test]
async fn names_missing_values_of_the_oauth_block() {
    for (oauth, text) in [
        (json!({}), "models.json has no oauth.authorizeUrl for provider \"xai\""),
        (json!({"authorizeUrl": "no address"}), "models.json: oauth.authorizeUrl: relative URL without a base"),
        (
            json!({"authorizeUrl": "https://a", "tokenUrl": "https://t"}),
            "models.json has no oauth.clientId for provider \"xai\"",
        ),
    ] {
        let error = BrowserLogin::begin(&provider(oauth)).await.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Config, text));
    }
}

/// Runs a device login with a server that sends `answers` in turn; also returns the waits in seconds.
async fn by_code(answers: Vec<Reply>) -> (Result<AuthEntry, (ErrorKind, String)>, Vec<u64>) {
    let start = json!({"device_code": "secret-device", "user_code": "AB-CD", "interval": 2,
        "verification_uri": "https://login.test/device", "expires_in": 900});
    let server = Server::replies([vec![Reply::json(200, &start)], answers].concat());
    let provider = provider(json!({"deviceUrl": server.url(), "tokenUrl": server.url(), "clientId": "c"}));
    let login = DeviceLogin::begin(&HttpClient::default(), &provider).await.unwrap();
    assert_eq!((login.user_code.as_str(), login.lifetime.as_secs()), ("AB-CD", 900));
    assert!(!format!("{login:?}").contains("secret-device"));
    let waits: Arc<Mutex<Vec<u64>>> = Arc::default();
    let noted = Arc::clone(&waits);
    let wait = move |length: Duration| {
        noted.lock().unwrap().push(length.as_secs());
        std::future::ready(())
    };
    let done = login.finish_with(&HttpClient::default(), NOW, wait).await;
    for asked in &server.requests()[1..] {
        assert_eq!(field(asked, "device_code"), "secret-device");
    }
    let waits = waits.lock().unwrap().clone();
    (done.map_err(|error| (error.kind, error.message)), waits)
}

fn refused(error: &str) -> Reply {
    Reply::json(400, &json!({"error": error}))
}

#[tokio::test]
async fn polls_at_the_interval_that_the_server_allows() {
    let tokens = Reply::json(200, &json!({"access_token": "a1", "refresh_token": "r1", "expires_in": 60}));
    let cut = Reply { steps: vec![Step::Cut], ..Reply::stream("") };
    let answers = vec![
        refused("authorization_pending"),
        refused("slow_down"),
        refused("authorization_pending"),
        // The server is temporarily unreachable.
        cut,
        Reply::text(503, "text/plain", ""),
        tokens,
    ];
    let (done, waits) = by_code(answers).await;
    let AuthEntry::Oauth { access, refresh, expires } = done.unwrap() else { panic!("a login gives tokens") };
    assert_eq!((access.as_str(), refresh.as_str()), ("a1", "r1"));
    assert!(expires >= NOW + 60_000);
    assert_eq!(waits, [2, 2, 7, 7, 14, 28]);
}

#[tokio::test]
async fn a_refused_or_expired_code_ends_the_login() {
    for (reply, text) in [
        (refused("access_denied"), "log in at xai: the login was refused"),
        (refused("expired_token"), "log in at xai: the code has expired"),
        (refused("invalid_client"), "log in at xai: the server answered HTTP 400: invalid_client"),
        // Some servers report errors with status 200.
        (Reply::json(200, &json!({"error": "bad"})), "log in at xai: the server answered HTTP 400: bad"),
    ] {
        let (done, _) = by_code(vec![reply]).await;
        assert_eq!(done, Err((ErrorKind::Auth, text.to_string())));
    }
}

#[tokio::test]
async fn stores_a_login_next_to_keys_and_removes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/auth.json");
    let credentials =
        Credentials::new(Arc::new(|_| None), Arc::new(|_| Err("no commands here".into())), AuthFile::default(), None)
            .with_renewal(HttpClient::default(), path.clone());
    let xai = provider(json!({}));
    // Another program wrote the file in the meantime.
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, r#"{"xai": {"type": "api_key", "key": "k"}, "other": {"type": "passkey"}}"#).unwrap();
    credentials.store_login("xai", &good()).await.unwrap();
    let second = AuthEntry::Oauth { access: "a2".into(), refresh: "r2".into(), expires: NOW + 9_000_000 };
    credentials.store_login("xai", &second).await.unwrap();
    let key = AuthEntry::ApiKey { key: "k".into() };
    assert_eq!(AuthFile::load(&path).unwrap().entries("xai"), [key, second]);
    assert!(credentials.has_key(&xai));
    assert!(credentials.log_out("xai").await.unwrap());
    assert!(!credentials.log_out("xai").await.unwrap());
    let left = AuthFile::load(&path).unwrap();
    assert_eq!(left.entries("xai"), [AuthEntry::ApiKey { key: "k".into() }]);
    assert_eq!(left.providers().collect::<Vec<_>>(), ["xai", "other"]);
}
