//! Tests of logins at a server that follows the RFCs strictly, or has exactly one fault.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::Map;
use sinew_llm::http::{HttpClient, HttpConfig};
use sinew_mcp::http::{HttpServer, http_config, login_challenge};
use sinew_mcp::oauth::{LoginRequest, Logins, Logout, OAuthSettings};
use sinew_mcp::{CallOptions, Client, ClientOptions, McpError};
use sinew_testkit::oauth::{OAuthBehavior, OAuthServer, browse};

/// A user with a file of logins and a clock.
struct User {
    folder: tempfile::TempDir,
    now: Arc<AtomicI64>,
    settings: OAuthSettings,
}

impl User {
    fn new() -> User {
        let now = Arc::new(AtomicI64::new(1_700_000_000_000));
        User { folder: tempfile::tempdir().unwrap(), now, settings: OAuthSettings::default() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("mcp-auth.json")
    }

    /// The logins as another process of the user sees them.
    fn logins(&self) -> Logins {
        let now = Arc::clone(&self.now);
        Logins::new(self.file(), HttpConfig::default(), Arc::new(move || now.load(Ordering::Relaxed)))
    }

    fn server(&self, at: &OAuthServer) -> HttpServer {
        let url = at.mcp_url().parse().unwrap();
        let tokens = Some(self.logins().tokens(&url));
        HttpServer { url, headers: Vec::new(), http: HttpClient::new(http_config(HttpConfig::default())), tokens }
    }

    /// Logs in, with a browser that follows every redirect. Returns the text that the user sees.
    async fn log_in(&self, at: &OAuthServer) -> Result<String, String> {
        let server = self.server(at);
        let challenge = login_challenge(&server).await.map_err(|error| error.to_string())?;
        let (name, settings) = ("tools".to_string(), self.settings.clone());
        let request = LoginRequest { name, server: server.url, settings, challenge };
        let login = self.logins().begin(request).await.map_err(|error| error.message)?;
        let address = login.url().to_string();
        let browser = tokio::task::spawn_blocking(move || browse(&address).1);
        let (done, page) = tokio::join!(login.finish(std::future::pending()), browser);
        done.map(|()| page.unwrap()).map_err(|error| error.message)
    }

    async fn connect(&self, at: &OAuthServer) -> Result<Client, McpError> {
        Client::connect_http(&self.server(at), &ClientOptions::default()).await
    }
}

async fn call(client: &Client, tool: &str) -> Result<String, McpError> {
    client.call_tool(tool, Map::new(), &CallOptions::default()).await.map(|result| result.text())
}

#[track_caller]
fn assert_right(server: &OAuthServer) {
    assert_eq!(server.faults(), [""; 0]);
}

#[tokio::test]
async fn stores_a_login_for_its_owner_and_uses_it() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let user = User::new();
    assert!(matches!(user.connect(&server).await, Err(McpError::NeedsAuth(_))));
    assert!(user.log_in(&server).await.unwrap().starts_with("You are logged in."));
    let client = user.connect(&server).await.unwrap();
    assert_eq!(call(&client, "read").await.unwrap(), "read done");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(user.file()).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_right(&server);
    // The token is only sent in a header.
    let secrets = server.secrets();
    for request in server.requests() {
        let body = String::from_utf8(request.body.clone()).unwrap();
        let form = request.path.starts_with("/token");
        assert!(secrets.iter().all(|secret| !request.path.contains(secret) && (form || !body.contains(secret))));
    }
    let url = server.mcp_url().parse().unwrap();
    assert_eq!(user.logins().log_out(&url).await.unwrap(), Logout::Revoked);
    assert_eq!(user.logins().log_out(&url).await.unwrap(), Logout::None);
    assert!(matches!(user.connect(&server).await, Err(McpError::NeedsAuth(_))));
}

#[tokio::test]
async fn logs_in_with_every_valid_server_configuration() {
    let with = |change: fn(&mut OAuthBehavior)| {
        let mut manners = OAuthBehavior::default();
        change(&mut manners);
        manners
    };
    for (what, manners) in [
        ("metadata in the challenge", with(|manners| manners.metadata_in_challenge = true)),
        ("OpenID", with(|manners| manners.metadata_path = "/.well-known/openid-configuration")),
        ("from before", with(|manners| manners.resource_metadata = false)),
        (
            "from before, without metadata",
            with(|manners| {
                manners.resource_metadata = false;
                manners.metadata_path = "/nowhere";
            }),
        ),
        ("basic", with(|manners| manners.token_auth = "client_secret_basic")),
        ("post", with(|manners| manners.token_auth = "client_secret_post")),
    ] {
        let server = OAuthServer::start(manners);
        let user = User::new();
        user.log_in(&server).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(call(&user.connect(&server).await.unwrap(), "read").await.unwrap(), "read done", "{what}");
        assert_eq!(server.faults(), [""; 0], "{what}");
    }
}

#[tokio::test]
async fn uses_the_configured_client_without_registering() {
    let client = Some(("mine:1", "my secret"));
    let manners =
        OAuthBehavior { registers: false, client, token_auth: "client_secret_basic", ..OAuthBehavior::default() };
    let server = OAuthServer::start(manners);
    let mut user = User::new();
    let error = user.log_in(&server).await.unwrap_err();
    assert!(error.contains("does not support automatic registration") && error.contains("\"clientId\""), "{error}");
    user.settings.client_id = Some("mine:1".into());
    user.settings.client_secret = Some("my secret".into());
    user.settings.scopes = vec!["read".into(), "special".into()];
    // The registered port is in use, and no other one is accepted.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    user.settings.callback_port = Some(port);
    let error = user.log_in(&server).await.unwrap_err();
    assert!(error.contains(&format!("port {port} of this machine cannot be used")), "{error}");
    user.settings.callback_port = None;
    user.log_in(&server).await.unwrap();
    assert_right(&server);
    let asked = server.requests().into_iter().find(|request| request.path.starts_with("/authorize")).unwrap();
    assert!(asked.path.contains("scope=read+special+offline_access"), "{}", asked.path);
}

#[tokio::test]
async fn a_server_fault_ends_the_login_before_the_code_is_used() {
    let other = || Some("http://127.0.0.1:9/other".to_string());
    let right = OAuthBehavior::default;
    for (manners, expect) in [
        (OAuthBehavior { resource: other(), ..right() }, "is for \"http://127.0.0.1:9/other\" instead of"),
        (OAuthBehavior { issuer: other(), ..right() }, "is for \"http://127.0.0.1:9/other\" instead of"),
        (OAuthBehavior { issuer: Some(String::new()), ..right() }, "is for \"\""),
        (OAuthBehavior { pkce: &["plain"], ..right() }, "does not support PKCE with S256"),
        (OAuthBehavior { pkce: &[], ..right() }, "does not support PKCE with S256"),
        (OAuthBehavior { iss: other(), ..right() }, "the answer comes from another server"),
        (OAuthBehavior { iss: other(), denied: true, ..right() }, "the answer comes from another server"),
        (OAuthBehavior { iss_announced: true, ..right() }, "does not say which server it is from"),
        (OAuthBehavior { denied: true, ..right() }, "log in at tools: access_denied"),
        (OAuthBehavior { authorization_server: Some("http://auth.example".into()), ..right() }, "is not an https URL"),
        (
            OAuthBehavior { authorization_server: Some("https://169.254.169.254".into()), ..right() },
            "has the local address",
        ),
        (OAuthBehavior { metadata_redirect: Some("http://169.254.169.254/latest".into()), ..right() }, "not followed"),
        (OAuthBehavior { metadata_redirect: Some("/.well-known/again".into()), ..right() }, "the metadata of the"),
    ] {
        let what = format!("{manners:?}");
        let looped = manners.metadata_redirect.as_deref() == Some("/.well-known/again");
        let server = OAuthServer::start(manners);
        let user = User::new();
        match user.log_in(&server).await {
            // A redirect within the server has no target, so the server is treated as one without metadata.
            Ok(_) if looped => {}
            Ok(_) => panic!("{what}"),
            Err(error) => assert!(error.contains(expect), "{what}: {error}"),
        }
        let tokens = server.requests().iter().filter(|request| request.path == "/token").count();
        assert_eq!(tokens, usize::from(looped), "{what}");
    }
}

#[tokio::test]
async fn accepts_the_correct_iss() {
    let server = OAuthServer::start(OAuthBehavior { iss_announced: true, ..OAuthBehavior::default() });
    let issuer = server.issuer();
    server.change(|manners| manners.iss = Some(issuer));
    User::new().log_in(&server).await.unwrap();
    assert_right(&server);
}

#[tokio::test]
async fn renews_tokens_before_they_expire_and_when_they_are_rejected() {
    let server = OAuthServer::start(OAuthBehavior { lifetime: 600, ..OAuthBehavior::default() });
    let user = User::new();
    user.log_in(&server).await.unwrap();
    let client = user.connect(&server).await.unwrap();
    call(&client, "read").await.unwrap();
    assert_eq!(server.refreshed(), 0);
    // After six minutes, four are left.
    user.now.fetch_add(6 * 60 * 1000, Ordering::Relaxed);
    call(&client, "read").await.unwrap();
    call(&client, "read").await.unwrap();
    assert_eq!(server.refreshed(), 1);
    server.revoke_access();
    assert_eq!(call(&client, "read").await.unwrap(), "read done");
    assert_eq!(server.refreshed(), 2);
    // No refresh token is left.
    server.revoke_all();
    assert!(matches!(call(&client, "read").await, Err(McpError::NeedsAuth(_))));
    // The running process finds a login that another process stored.
    user.log_in(&server).await.unwrap();
    assert_eq!(call(&client, "read").await.unwrap(), "read done");
    assert_right(&server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_processes_renew_once() {
    let server = OAuthServer::start(OAuthBehavior { lifetime: 600, ..OAuthBehavior::default() });
    let user = User::new();
    user.log_in(&server).await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..6 {
        clients.push(user.connect(&server).await.unwrap());
    }
    user.now.fetch_add(6 * 60 * 1000, Ordering::Relaxed);
    let mut calls = tokio::task::JoinSet::new();
    for client in clients {
        calls.spawn(async move { call(&client, "read").await.unwrap() });
    }
    while let Some(answer) = calls.join_next().await {
        assert_eq!(answer.unwrap(), "read done");
    }
    // A refresh token can be used once: using it again would have ended the login.
    assert_eq!(server.refreshed(), 1);
    assert_right(&server);
}

#[tokio::test]
async fn remembers_missing_scopes_for_the_next_login() {
    let server = OAuthServer::start(OAuthBehavior { write_scope: Some("write"), ..OAuthBehavior::default() });
    let user = User::new();
    user.log_in(&server).await.unwrap();
    let client = user.connect(&server).await.unwrap();
    assert!(matches!(call(&client, "write").await, Err(McpError::NeedsAuth(_))));
    assert_eq!(call(&client, "read").await.unwrap(), "read done");
    user.log_in(&server).await.unwrap();
    let asked = server.requests().into_iter().rfind(|request| request.path.starts_with("/authorize")).unwrap();
    // The scopes of the earlier login are kept.
    assert!(asked.path.contains("scope=read+offline_access+write"), "{}", asked.path);
    assert_eq!(call(&user.connect(&server).await.unwrap(), "write").await.unwrap(), "write done");
    assert_right(&server);
}

#[tokio::test]
async fn sends_nothing_of_a_login_to_another_authorization_server() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let other = OAuthServer::start(OAuthBehavior::default());
    let user = User::new();
    user.log_in(&server).await.unwrap();
    let secrets = server.secrets();
    // From now on the server names another authorization server, which knows its resource.
    let (resource, issuer) = (server.mcp_url(), other.issuer());
    other.change(|manners| manners.resource = Some(resource));
    server.change(|manners| manners.authorization_server = Some(issuer));
    server.revoke_all();
    let client = user.connect(&server).await;
    assert!(matches!(client, Err(McpError::NeedsAuth(_))));
    user.log_in(&server).await.unwrap();
    assert_right(&other);
    for request in other.requests() {
        let text = format!("{} {}", request.path, String::from_utf8_lossy(&request.body));
        assert!(secrets.iter().all(|secret| !text.contains(secret)) && request.header("authorization").is_none());
    }
    // The login at the first one is removed: its refresh token would be useless.
    let file = std::fs::read_to_string(user.file()).unwrap();
    assert!(!file.contains(&server.issuer().replace("http://", "\"issuer\": \"http://")), "{file}");
}

#[tokio::test]
async fn accepts_a_pasted_redirect_from_another_machine() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let user = User::new();
    let at = user.server(&server);
    let request = LoginRequest {
        name: "tools".into(),
        server: at.url.clone(),
        settings: OAuthSettings::default(),
        challenge: login_challenge(&at).await.unwrap(),
    };
    let login = user.logins().begin(request).await.unwrap();
    // The URL to which the browser is redirected, where nothing listens.
    let redirect = server_redirect(login.url().to_string()).await;
    login.finish(async { Some(redirect) }).await.unwrap();
    assert_eq!(call(&user.connect(&server).await.unwrap(), "read").await.unwrap(), "read done");
    assert_right(&server);
}

/// The URL to which an authorization server redirects the browser.
async fn server_redirect(address: String) -> String {
    use sinew_llm::http::HttpRequest;
    let request = HttpRequest {
        method: http::Method::GET,
        url: address.parse().unwrap(),
        headers: Vec::new(),
        body: bytes::Bytes::new(),
    };
    let answer = HttpClient::new(HttpConfig::default()).send(request).await.unwrap();
    answer.headers["location"].to_str().unwrap().to_string()
}

#[tokio::test]
async fn names_an_invalid_file_and_does_not_change_it() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let user = User::new();
    std::fs::write(user.file(), "{\"version\": 1, \"logins\": [{\"access\": \"topsecret\"}]}").unwrap();
    let error = user.connect(&server).await.err().unwrap().to_string();
    assert!(error.contains("mcp-auth.json") && !error.contains("topsecret"), "{error}");
    let error = user.log_in(&server).await.unwrap_err();
    assert!(error.contains("mcp-auth.json") && !error.contains("topsecret"), "{error}");
    assert!(std::fs::read_to_string(user.file()).unwrap().contains("topsecret"));
}

#[tokio::test]
async fn a_logout_revokes_the_tokens_at_their_server() {
    for (token_auth, client) in [("none", None), ("client_secret_basic", None), ("client_secret_post", None)] {
        let server = OAuthServer::start(OAuthBehavior { token_auth, client, ..OAuthBehavior::default() });
        let user = User::new();
        user.log_in(&server).await.unwrap();
        assert_eq!(server.secrets().len(), 2);
        let url = server.mcp_url().parse().unwrap();
        assert_eq!(user.logins().log_out(&url).await.unwrap(), Logout::Revoked, "{token_auth}");
        assert_eq!(server.secrets(), [""; 0], "{token_auth}");
        assert_right(&server);
    }
}

#[tokio::test]
async fn a_logout_succeeds_without_revocation() {
    let server = OAuthServer::start(OAuthBehavior { revocation: None, ..OAuthBehavior::default() });
    let user = User::new();
    user.log_in(&server).await.unwrap();
    let url = server.mcp_url().parse().unwrap();
    assert_eq!(user.logins().log_out(&url).await.unwrap(), Logout::NotOffered);
    assert!(server.requests().iter().all(|request| request.path != "/revoke"));
    for status in [400, 503] {
        let server = OAuthServer::start(OAuthBehavior { revocation: Some(status), ..OAuthBehavior::default() });
        user.log_in(&server).await.unwrap();
        let secrets = server.secrets();
        let url = server.mcp_url().parse().unwrap();
        let Logout::Failed(reason) = user.logins().log_out(&url).await.unwrap() else { panic!("{status}") };
        assert!(reason.contains(&format!("HTTP {status}")), "{reason}");
        assert!(secrets.iter().all(|secret| !reason.contains(secret)), "{reason}");
        assert!(matches!(user.connect(&server).await, Err(McpError::NeedsAuth(_))));
        assert!(!std::fs::read_to_string(user.file()).unwrap().contains("-token-"));
    }
}

#[tokio::test]
async fn sends_tokens_only_over_https_or_loopback() {
    let server = OAuthServer::start(OAuthBehavior::default());
    let user = User::new();
    user.log_in(&server).await.unwrap();
    let text = std::fs::read_to_string(user.file()).unwrap();
    std::fs::write(user.file(), text.replace(&format!("{}/revoke", server.issuer()), "http://auth.example/revoke"))
        .unwrap();
    let url = server.mcp_url().parse().unwrap();
    let Logout::Failed(reason) = user.logins().log_out(&url).await.unwrap() else { panic!() };
    assert!(reason.contains("is not an https URL"), "{reason}");
}
