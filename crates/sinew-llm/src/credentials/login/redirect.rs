//! The redirect of a login to this machine: RFC 7636 (PKCE) with the redirect of RFC 8252.

use std::future::Future;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use crate::error::{ErrorInfo, ErrorKind, mask};

/// The maximum time for the user.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The maximum time for a browser to send its request.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// The maximum size of a browser's request.
const REQUEST_SIZE: usize = 16 * 1024;

/// A local port that waits for the browser of one login.
pub struct LoginRedirect {
    /// The name of the server in errors.
    name: String,
    listener: TcpListener,
    uri: String,
    verifier: String,
    state: String,
    issuer: Option<ExpectedIssuer>,
}

/// The server that the browser has to come back from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedIssuer {
    /// Compared with the parameter `iss` (RFC 9207) as plain text.
    pub issuer: String,
    /// True if the server always sends `iss`: an answer without it is then from a different server.
    pub always_sent: bool,
}

impl std::fmt::Debug for LoginRedirect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginRedirect").field("uri", &self.uri).finish_non_exhaustive()
    }
}

impl LoginRedirect {
    /// Opens a local port: `port`, or a free one. Errors contain `name`: `log in at <name>: …`.
    ///
    /// # Errors
    /// Returns `config` if the port is in use, or if none is free.
    pub async fn open(name: &str, port: Option<u16>) -> Result<LoginRedirect, ErrorInfo> {
        let failed = |error: std::io::Error| {
            let text = match port {
                Some(port) => format!("log in: port {port} of this machine cannot be used: {error}"),
                None => format!("log in: no port of this machine is free: {error}"),
            };
            ErrorInfo::new(ErrorKind::Config, text)
        };
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.map_err(failed)?;
        let uri = format!("http://127.0.0.1:{}/callback", listener.local_addr().map_err(failed)?.port());
        Ok(LoginRedirect {
            name: name.to_string(),
            listener,
            uri,
            verifier: random_secret()?,
            state: random_secret()?,
            issuer: None,
        })
    }

    /// Rejects answers of every other server, including their errors.
    #[must_use]
    pub fn from_issuer(self, issuer: ExpectedIssuer) -> LoginRedirect {
        LoginRedirect { issuer: Some(issuer), ..self }
    }

    /// Returns the URL that the browser is redirected to.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the secret whose digest is part of the login URL.
    #[must_use]
    pub fn verifier(&self) -> &str {
        &self.verifier
    }

    /// Adds the parameters of every login to the URL of the authorization server: a code for `client_id`, sent to
    /// [`LoginRedirect::uri`], and the challenge of the verifier. `scope` may be empty.
    pub fn add_to(&self, url: &mut Url, client_id: &str, scope: &str) {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()));
        let mut query = url.query_pairs_mut();
        query.append_pair("response_type", "code").append_pair("client_id", client_id);
        query.append_pair("redirect_uri", &self.uri);
        if !scope.is_empty() {
            query.append_pair("scope", scope);
        }
        query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
        query.append_pair("state", &self.state);
    }

    /// Waits until the browser is redirected, or until `pasted` returns the text that the user copied from the address
    /// bar, whichever is first. A request without this login's state is rejected and ignored, because any page may send
    /// one. The pasted text is the whole URL, `code#state`, or only the code; `None` means that nothing will be
    /// pasted.
    ///
    /// # Errors
    /// Returns `auth` if the user or the server refused, or if the pasted text belongs to another login, and `timeout`
    /// after ten minutes.
    pub async fn wait(&self, pasted: impl Future<Output = Option<String>>) -> Result<String, ErrorInfo> {
        let pasted = async {
            match pasted.await {
                Some(text) => self.read_pasted(&text),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            code = self.redirected() => code,
            code = pasted => code,
            () = tokio::time::sleep(LIMIT) => {
                let text = format!("log in at {}: no answer within {} minutes", self.name, LIMIT.as_secs() / 60);
                Err(ErrorInfo { retryable: false, ..ErrorInfo::new(ErrorKind::Timeout, text) })
            }
        }
    }

    /// Returns the code of the first request that belongs to this login.
    async fn redirected(&self) -> Result<String, ErrorInfo> {
        loop {
            // A connection that fails before it sends anything is not the browser's answer.
            let Ok((mut socket, _)) = self.listener.accept().await else { continue };
            let Ok(Some(target)) = tokio::time::timeout(REQUEST_LIMIT, read_target(&mut socket)).await else {
                continue;
            };
            let url = Url::parse("http://127.0.0.1").and_then(|base| base.join(&target));
            let Some(url) = url.ok().filter(|url| url.path() == "/callback") else {
                answer(&mut socket, "404 Not Found", "There is nothing here.").await;
                continue;
            };
            let redirect = Redirect::read(&url);
            if redirect.state.as_deref() != Some(&self.state) {
                answer(&mut socket, "400 Bad Request", "This answer belongs to another login. Start again.").await;
                continue;
            }
            let outcome = self.outcome(redirect);
            let (status, text) = match &outcome {
                Ok(_) => ("200 OK", "You are logged in. You can close this window."),
                Err(_) => ("400 Bad Request", "The login was refused. The terminal says why."),
            };
            answer(&mut socket, status, text).await;
            return outcome;
        }
    }

    fn read_pasted(&self, text: &str) -> Result<String, ErrorInfo> {
        let text = text.trim();
        let redirect = match Url::parse(text) {
            Ok(url) if url.has_host() => Redirect::read(&url),
            _ => match text.split_once('#') {
                Some((code, state)) => {
                    Redirect { code: Some(code.into()), state: Some(state.into()), ..Redirect::default() }
                }
                None => Redirect { code: Some(text.into()), ..Redirect::default() },
            },
        };
        if redirect.state.as_ref().is_some_and(|state| *state != self.state) {
            let text = format!("log in at {}: the pasted text belongs to another login", self.name);
            return Err(ErrorInfo::new(ErrorKind::Auth, text));
        }
        self.outcome(redirect)
    }

    fn outcome(&self, redirect: Redirect) -> Result<String, ErrorInfo> {
        let refused = |why: &str| {
            ErrorInfo::new(ErrorKind::Auth, format!("log in at {}: {}", self.name, mask(why, &[&self.state])))
        };
        if let Some(expected) = &self.issuer {
            let why = match &redirect.issuer {
                Some(issuer) if *issuer == expected.issuer => None,
                Some(_) => Some("the answer comes from another server than the one where the login began"),
                None if expected.always_sent => {
                    Some("the answer does not say which server it is from; paste the whole URL instead of the code")
                }
                None => None,
            };
            if let Some(why) = why {
                return Err(refused(why));
            }
        }
        match (redirect.error, redirect.code.filter(|code| !code.is_empty())) {
            (Some(error), _) => Err(refused(&error)),
            (None, Some(code)) => Ok(code),
            (None, None) => Err(refused("the answer has no code")),
        }
    }
}

/// The parameters of the redirect.
#[derive(Default)]
struct Redirect {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
    issuer: Option<String>,
}

impl Redirect {
    fn read(url: &Url) -> Redirect {
        let value = |key: &str| url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
        let error = value("error").map(|error| match value("error_description") {
            Some(text) => format!("{error}: {text}"),
            None => error,
        });
        Redirect { code: value("code"), state: value("state"), error, issuer: value("iss") }
    }
}

/// Returns the path and query of the request; `None` for anything but a `GET`.
async fn read_target(socket: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    // The whole head is read, so that closing the socket does not reset data that the browser is still sending.
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = socket.read(&mut piece).await.ok().filter(|length| *length > 0)?;
        head.extend_from_slice(&piece[..length]);
        if head.len() > REQUEST_SIZE {
            return None;
        }
    }
    let line = String::from_utf8(head).ok()?;
    let mut words = line.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_string))?
}

/// Sends the result to the browser. Ignores errors, because the browser may be closed.
async fn answer(socket: &mut TcpStream, status: &str, text: &str) {
    let page = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    let _ = socket.write_all(page.as_bytes()).await;
    let _ = socket.shutdown().await;
}

/// Returns 256 random bits in 43 characters.
///
/// # Errors
/// Returns an error if the system has no random numbers.
pub fn random_secret() -> Result<String, ErrorInfo> {
    let mut bytes = [0; 32];
    let provider = rustls::crypto::ring::default_provider();
    let filled = provider.secure_random.fill(&mut bytes);
    filled.map_err(|_| ErrorInfo::new(ErrorKind::Config, "the system has no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
