//! An MCP server that requires a login, and its authorization server: strict according to RFC 6749, 7591, 7636, 8414,
//! 8707, 9207 and 9728, except for the faults that [`OAuthBehavior`] requests.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use crate::provider::{RecordedRequest, Reply, Server};

/// The behaviour of the servers. The default is correct in every respect.
#[derive(Debug, Clone)]
pub struct OAuthBehavior {
    /// True if the resource has metadata; without it, the server behaves like one from before 2025-06-18.
    pub resource_metadata: bool,
    /// True if the challenge names the URL of the metadata, which is then not at a well-known URL.
    pub metadata_in_challenge: bool,
    /// A wrong resource in the metadata.
    pub resource: Option<String>,
    /// A wrong authorization server in the metadata.
    pub authorization_server: Option<String>,
    /// A wrong issuer in the metadata of the authorization server.
    pub issuer: Option<String>,
    /// The path of the authorization server's metadata.
    pub metadata_path: &'static str,
    /// The offered PKCE methods.
    pub pkce: &'static [&'static str],
    /// The parameter `iss` of answers; `None` to omit it.
    pub iss: Option<String>,
    /// True if the metadata says that `iss` is always sent.
    pub iss_announced: bool,
    /// True if clients may register.
    pub registers: bool,
    /// A client that is known without registration, and its secret.
    pub client: Option<(&'static str, &'static str)>,
    /// The method by which clients authenticate at the token endpoint.
    pub token_auth: &'static str,
    /// The lifetime of a token in seconds.
    pub lifetime: i64,
    /// The target of a redirect that answers metadata requests.
    pub metadata_redirect: Option<String>,
    /// The scope that calls of the tool `write` require.
    pub write_scope: Option<&'static str>,
    /// True if the user refuses in the browser.
    pub denied: bool,
    /// The status of token revocation (RFC 7009); `None` if the metadata has no endpoint for it.
    pub revocation: Option<u16>,
}

impl Default for OAuthBehavior {
    fn default() -> OAuthBehavior {
        OAuthBehavior {
            resource_metadata: true,
            metadata_in_challenge: false,
            resource: None,
            authorization_server: None,
            issuer: None,
            metadata_path: "/.well-known/oauth-authorization-server",
            pkce: &["S256"],
            iss: None,
            iss_announced: false,
            registers: true,
            client: None,
            token_auth: "none",
            lifetime: 3600,
            metadata_redirect: None,
            write_scope: None,
            denied: false,
            revocation: Some(200),
        }
    }
}

/// The two servers, on one port.
pub struct OAuthServer {
    server: Server,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    manners: OAuthBehavior,
    /// Redirect URLs by client.
    clients: HashMap<String, String>,
    /// The issued codes, each with the parameters of its authorization.
    codes: HashMap<String, HashMap<String, String>>,
    /// Scopes by access token.
    tokens: HashMap<String, String>,
    /// Client and scope by refresh token. Each can be used once.
    refresh: HashMap<String, (String, String)>,
    made: usize,
    refreshed: usize,
    faults: Vec<String>,
}

/// The path of the MCP server.
pub const MCP_PATH: &str = "/mcp";
const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
const OTHER_METADATA: &str = "/elsewhere/metadata";
const SECRET: &str = "secret of the client";

impl OAuthServer {
    /// Starts both servers.
    #[must_use]
    pub fn start(manners: OAuthBehavior) -> OAuthServer {
        let state = Arc::new(Mutex::new(State { manners, ..State::default() }));
        let own = Arc::clone(&state);
        let server = Server::start(move |request| own.lock().answer(request));
        OAuthServer { server, state }
    }

    /// Returns the URL of the MCP server.
    #[must_use]
    pub fn mcp_url(&self) -> String {
        format!("{}{MCP_PATH}", self.server.url())
    }

    /// Returns the URL of the authorization server.
    #[must_use]
    pub fn issuer(&self) -> String {
        self.server.url()
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.server.requests()
    }

    /// Returns the valid access tokens and refresh tokens.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let state = self.state.lock();
        state.tokens.keys().chain(state.refresh.keys()).cloned().collect()
    }

    /// Returns how many times tokens were renewed.
    #[must_use]
    pub fn refreshed(&self) -> usize {
        self.state.lock().refreshed
    }

    /// Returns the protocol errors of clients.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.state.lock().faults.clone()
    }

    /// Revokes all access tokens.
    pub fn revoke_access(&self) {
        self.state.lock().tokens.clear();
    }

    /// Revokes all tokens.
    pub fn revoke_all(&self) {
        let mut state = self.state.lock();
        state.tokens.clear();
        state.refresh.clear();
    }

    /// Changes the behaviour of the servers.
    pub fn change(&self, change: impl FnOnce(&mut OAuthBehavior)) {
        change(&mut self.state.lock().manners);
    }
}

/// Opens a URL like a browser that follows redirects. Returns the last URL and the page.
///
/// # Panics
/// Panics if a server does not answer in HTTP.
#[must_use]
pub fn browse(address: &str) -> (String, String) {
    let mut url = Url::parse(address).expect("an address");
    loop {
        let (head, page) = fetch(&url);
        let location =
            head.lines().find_map(|line| line.strip_prefix("Location: ").or(line.strip_prefix("location: ")));
        match location {
            Some(location) => url = url.join(location.trim()).expect("an address"),
            None => return (url.to_string(), page),
        }
    }
}

fn fetch(url: &Url) -> (String, String) {
    use std::io::{Read, Write};
    let (host, port) = (url.host_str().expect("a host"), url.port_or_known_default().expect("a port"));
    let mut socket = std::net::TcpStream::connect((host, port)).expect("a server");
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    write!(socket, "GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n").expect("a reader");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("an answer in UTF-8");
    let (head, page) = text.split_once("\r\n\r\n").expect("a head");
    (head.to_string(), page.to_string())
}

impl State {
    fn answer(&mut self, request: &RecordedRequest) -> Reply {
        let base = format!("http://{}", request.header("host").unwrap_or_default());
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let query = pairs(query.as_bytes());
        let metadata = if self.manners.metadata_in_challenge { OTHER_METADATA } else { METADATA };
        match (request.method.as_str(), path) {
            ("POST", MCP_PATH) => self.tools(request, &base),
            ("GET", path) if path == metadata && self.manners.resource_metadata => self.resource(&base),
            ("GET", path) if path == self.manners.metadata_path => self.metadata(&base),
            ("GET", "/authorize") => self.authorize(&query, &base),
            ("POST", "/token") => self.token(request, &base),
            ("POST", "/revoke") if self.manners.revocation.is_some() => self.revoke(request),
            ("POST", "/register") if self.manners.registers => self.register(request),
            _ => Reply::text(404, "text/plain", "nothing here"),
        }
    }

    fn resource(&self, base: &str) -> Reply {
        if let Some(to) = &self.manners.metadata_redirect {
            return Reply::text(302, "text/plain", "").header("Location", to);
        }
        let resource = self.manners.resource.clone().unwrap_or_else(|| format!("{base}{MCP_PATH}"));
        let server = self.manners.authorization_server.clone().unwrap_or_else(|| base.to_string());
        Reply::json(
            200,
            &json!({"resource": resource, "authorization_servers": [server], "scopes_supported": ["read"]}),
        )
    }

    fn metadata(&self, base: &str) -> Reply {
        let manners = &self.manners;
        let mut metadata = json!({
            "issuer": manners.issuer.clone().unwrap_or_else(|| base.to_string()),
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": manners.pkce,
            "token_endpoint_auth_methods_supported": [manners.token_auth],
            "scopes_supported": ["read", "write", "offline_access"],
        });
        if manners.registers {
            metadata["registration_endpoint"] = format!("{base}/register").into();
        }
        if manners.revocation.is_some() {
            metadata["revocation_endpoint"] = format!("{base}/revoke").into();
        }
        if manners.iss_announced {
            metadata["authorization_response_iss_parameter_supported"] = true.into();
        }
        Reply::json(200, &metadata)
    }

    fn register(&mut self, request: &RecordedRequest) -> Reply {
        let wish = request.json();
        let redirect = wish["redirect_uris"][0].as_str().unwrap_or_default().to_string();
        self.expect(redirect.starts_with("http://127.0.0.1:"), "the redirect address is no literal of this machine");
        self.expect(wish["application_type"] == "native", "the client is not registered as a native one");
        self.expect(
            wish["token_endpoint_auth_method"] == self.manners.token_auth,
            "the client registers a method that the server does not offer",
        );
        self.made += 1;
        let client = format!("client-{}", self.made);
        self.clients.insert(client.clone(), redirect);
        let mut answer = wish;
        answer["client_id"] = client.into();
        if self.manners.token_auth != "none" {
            answer["client_secret"] = SECRET.into();
        }
        Reply::json(201, &answer)
    }

    fn authorize(&mut self, query: &HashMap<String, String>, base: &str) -> Reply {
        let get = |key: &str| query.get(key).cloned().unwrap_or_default();
        let client = get("client_id");
        let known = match (self.clients.get(&client), self.manners.client) {
            (Some(redirect), _) => *redirect == get("redirect_uri"),
            (None, Some((id, _))) => id == client,
            (None, None) => false,
        };
        self.expect(known, "the client or its redirect address is not registered");
        self.expect(get("response_type") == "code", "response_type is not code");
        self.expect(get("code_challenge_method") == "S256", "the challenge is not S256");
        self.expect(get("code_challenge").len() == 43, "the challenge is no SHA-256");
        self.expect(get("state").len() >= 22, "the state has less than 128 bits");
        self.expect(self.is_resource(&get("resource"), base), "the login names another resource, or none");
        if !known {
            return Reply::text(400, "text/plain", "unknown client");
        }
        let mut back = Url::parse(&get("redirect_uri")).expect("an address that was registered");
        {
            let mut answer = back.query_pairs_mut();
            answer.append_pair("state", &get("state"));
            if let Some(iss) = &self.manners.iss {
                answer.append_pair("iss", iss);
            }
            if self.manners.denied {
                answer.append_pair("error", "access_denied");
            } else {
                self.made += 1;
                let code = format!("code-{}", self.made);
                answer.append_pair("code", &code);
                self.codes.insert(code, query.clone());
            }
        }
        Reply::text(302, "text/plain", "").header("Location", back.as_str())
    }

    fn token(&mut self, request: &RecordedRequest, base: &str) -> Reply {
        let form = pairs(&request.body);
        let get = |key: &str| form.get(key).cloned().unwrap_or_default();
        let kind = request.header("content-type").unwrap_or_default().to_string();
        self.expect(kind == "application/x-www-form-urlencoded", "the form is sent as something else");
        self.expect(self.is_resource(&get("resource"), base), "the token is asked for another resource, or none");
        let refused = |error: &str| Reply::json(400, &json!({"error": error}));
        let Some(client) = self.client(request, &form) else {
            self.faults.push("the client does not identify itself as it registered".into());
            return refused("invalid_client");
        };
        let scope = match get("grant_type").as_str() {
            "authorization_code" => {
                let Some(asked) = self.codes.remove(&get("code")) else {
                    self.faults.push("a code that is none is exchanged".into());
                    return refused("invalid_grant");
                };
                let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(get("code_verifier")));
                self.expect(asked["code_challenge"] == challenge, "the verifier is another one");
                self.expect(asked["redirect_uri"] == get("redirect_uri"), "the redirect address changed");
                self.expect(asked["client_id"] == client, "the code is another client's");
                asked.get("scope").cloned().unwrap_or_default()
            }
            "refresh_token" => {
                self.refreshed += 1;
                match self.refresh.remove(&get("refresh_token")) {
                    Some((owner, scope)) if owner == client => scope,
                    _ => return refused("invalid_grant"),
                }
            }
            other => {
                self.faults.push(format!("grant_type {other}"));
                return refused("unsupported_grant_type");
            }
        };
        self.made += 1;
        let (access, refresh) = (format!("access-token-{}", self.made), format!("refresh-token-{}", self.made));
        self.tokens.insert(access.clone(), scope.clone());
        self.refresh.insert(refresh.clone(), (client, scope.clone()));
        Reply::json(
            200,
            &json!({"access_token": access, "token_type": "Bearer", "expires_in": self.manners.lifetime,
                "refresh_token": refresh, "scope": scope}),
        )
    }

    fn revoke(&mut self, request: &RecordedRequest) -> Reply {
        let form = pairs(&request.body);
        let token = form.get("token").cloned().unwrap_or_default();
        let client = self.client(request, &form);
        self.expect(client.is_some(), "the client does not identify itself as it registered");
        let status = self.manners.revocation.unwrap_or(404);
        if status != 200 {
            // A careless server repeats the token.
            return Reply::json(status, &json!({"error": token}));
        }
        let hint = form.get("token_type_hint").map(String::as_str);
        match hint {
            Some("refresh_token") => {
                let owner = self.refresh.remove(&token).map(|(owner, _)| owner);
                self.expect(owner.is_some() && owner == client, "a refresh token of nobody is revoked");
            }
            Some("access_token") => {
                let known = self.tokens.remove(&token).is_some();
                self.expect(known, "an access token of nobody is revoked");
            }
            _ => self.faults.push("a token without a hint is revoked".into()),
        }
        Reply::json(200, &json!({}))
    }

    /// Returns the client that sends a form, if it sends its secret in the required way.
    fn client(&self, request: &RecordedRequest, form: &HashMap<String, String>) -> Option<String> {
        let secret = self.manners.client.map_or(SECRET, |(_, secret)| secret);
        let header = request.header("authorization");
        match self.manners.token_auth {
            "client_secret_basic" => {
                let pair = STANDARD.decode(header?.strip_prefix("Basic ")?).ok()?;
                let pair = String::from_utf8(pair).ok()?;
                let (id, given) = pair.split_once(':')?;
                let decode = |text: &str| pairs(format!("x={text}").as_bytes()).remove("x");
                (decode(given)? == secret && !form.contains_key("client_secret")).then(|| decode(id))?
            }
            "client_secret_post" => {
                (form.get("client_secret")? == secret && header.is_none()).then(|| form.get("client_id").cloned())?
            }
            _ => (header.is_none() && !form.contains_key("client_secret")).then(|| form.get("client_id").cloned())?,
        }
    }

    /// Answers requests to the MCP server, which has no handshake.
    fn tools(&mut self, request: &RecordedRequest, base: &str) -> Reply {
        let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let call = request.json();
        let challenge = |error: &str, scope: &str| {
            let mut challenge = "Bearer realm=\"tools\"".to_string();
            if self.manners.metadata_in_challenge {
                challenge.push_str(&format!(", resource_metadata=\"{base}{OTHER_METADATA}\""));
            }
            for (name, value) in [("error", error), ("scope", scope)] {
                if !value.is_empty() {
                    challenge.push_str(&format!(", {name}=\"{value}\""));
                }
            }
            challenge
        };
        let Some(scope) = bearer.and_then(|token| self.tokens.get(token)) else {
            let error = if bearer.is_some() { "invalid_token" } else { "" };
            return Reply::text(401, "text/plain", "log in").header("WWW-Authenticate", &challenge(error, ""));
        };
        let tool = call["params"]["name"].as_str().unwrap_or_default();
        if let Some(needed) = self.manners.write_scope.filter(|_| tool == "write")
            && scope.split(' ').all(|scope| scope != needed)
        {
            let challenge = challenge("insufficient_scope", needed);
            return Reply::text(403, "text/plain", "not enough").header("WWW-Authenticate", &challenge);
        }
        let schema = json!({"type": "object"});
        let result = match call["method"].as_str().unwrap_or_default() {
            "server/discover" => json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
            "tools/list" => json!({"tools": [
                {"name": "read", "description": "Read it.", "inputSchema": schema},
                {"name": "write", "description": "Write it.", "inputSchema": schema},
            ]}),
            "tools/call" => json!({"content": [{"type": "text", "text": format!("{tool} done")}]}),
            _ => {
                let error = json!({"code": -32601, "message": "unknown"});
                return Reply::json(200, &json!({"jsonrpc": "2.0", "id": call["id"], "error": error}));
            }
        };
        Reply::json(200, &json!({"jsonrpc": "2.0", "id": call["id"], "result": with_type(result)}))
    }

    fn is_resource(&self, named: &str, base: &str) -> bool {
        named == self.manners.resource.clone().unwrap_or_else(|| format!("{base}{MCP_PATH}"))
    }

    fn expect(&mut self, fits: bool, fault: &str) {
        if !fits {
            self.faults.push(fault.to_string());
        }
    }
}

fn with_type(mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result
}

fn pairs(text: &[u8]) -> HashMap<String, String> {
    url::form_urlencoded::parse(text).into_owned().collect()
}
