//! The login by browser: RFC 7636 (PKCE) with the redirect of RFC 8252 to a port of the own machine.

use std::future::Future;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::super::{AuthEntry, token};
use super::scopes;
use crate::error::{ErrorInfo, ErrorKind, mask};
use crate::http::HttpClient;
use crate::models::ProviderEntry;

/// The time that the user may take.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The time that a browser may take to send its request.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// The size of a browser's request at most.
const REQUEST_SIZE: usize = 16 * 1024;

/// A login that waits for the user.
pub struct BrowserLogin {
    provider: ProviderEntry,
    listener: TcpListener,
    redirect: String,
    url: Url,
    verifier: String,
    state: String,
}

impl std::fmt::Debug for BrowserLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrowserLogin").field("redirect", &self.redirect).finish_non_exhaustive()
    }
}

impl BrowserLogin {
    /// Opens a port of the own machine and makes the address that the user opens.
    ///
    /// # Errors
    /// `config`: the `oauth` block lacks an address or the client's id; no port is free.
    pub async fn begin(provider: &ProviderEntry) -> Result<BrowserLogin, ErrorInfo> {
        let mut url = token::address(provider, "authorizeUrl")?;
        token::address(provider, "tokenUrl")?;
        let client_id = token::setting(provider, "clientId")?;
        let failed = |error: std::io::Error| {
            ErrorInfo::new(ErrorKind::Config, format!("log in: no port of this machine is free: {error}"))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let redirect = format!("http://127.0.0.1:{}/callback", listener.local_addr().map_err(failed)?.port());
        let (verifier, state) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let scope = scopes(provider);
        let mut query = url.query_pairs_mut();
        query.append_pair("response_type", "code").append_pair("client_id", client_id);
        query.append_pair("redirect_uri", &redirect);
        if !scope.is_empty() {
            query.append_pair("scope", &scope);
        }
        query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
        query.append_pair("state", &state);
        drop(query);
        Ok(BrowserLogin { provider: provider.clone(), listener, redirect, url, verifier, state })
    }

    /// The address that the user opens.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Waits until the browser comes back or `pasted` says what the user copied from its address line,
    /// whichever is first, and fetches the tokens. A request of the browser that does not carry this login's
    /// state is refused and ends nothing: any page may send one. `pasted` is the whole address, `code#state`,
    /// or the code alone; None from it means that nothing will be pasted.
    ///
    /// # Errors
    /// `auth`: the user or the server said no, or the pasted text belongs to another login. `timeout`: ten
    /// minutes passed. Else what went wrong with the token server.
    pub async fn finish(
        self,
        client: &HttpClient,
        pasted: impl Future<Output = Option<String>>,
        now_ms: i64,
    ) -> Result<AuthEntry, ErrorInfo> {
        let pasted = async {
            match pasted.await {
                Some(text) => self.read_pasted(&text),
                None => std::future::pending().await,
            }
        };
        let code = tokio::select! {
            code = self.redirected() => code?,
            code = pasted => code?,
            () = tokio::time::sleep(LIMIT) => {
                let text = format!("log in at {}: no answer within {} minutes", self.provider.id, LIMIT.as_secs() / 60);
                return Err(ErrorInfo { retryable: false, ..ErrorInfo::new(ErrorKind::Timeout, text) });
            }
        };
        let secrets = [code.as_str(), self.verifier.as_str()];
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &self.redirect),
            ("client_id", token::setting(&self.provider, "clientId")?),
            ("code_verifier", &self.verifier),
        ];
        let answer = token::post(client, token::address(&self.provider, "tokenUrl")?, &form, &secrets).await;
        answer.and_then(|answer| answer.tokens("", &secrets, now_ms)).map_err(|mut error| {
            error.message = format!("log in at {}: {}", self.provider.id, error.message);
            error
        })
    }

    /// The code of the first request that belongs to this login.
    async fn redirected(&self) -> Result<String, ErrorInfo> {
        loop {
            // A connection that fails before it says anything is not the browser's answer.
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
                Some((code, state)) => Redirect { code: Some(code.into()), state: Some(state.into()), error: None },
                None => Redirect { code: Some(text.into()), state: None, error: None },
            },
        };
        if redirect.state.as_ref().is_some_and(|state| *state != self.state) {
            let text = format!("log in at {}: the pasted text belongs to another login", self.provider.id);
            return Err(ErrorInfo::new(ErrorKind::Auth, text));
        }
        self.outcome(redirect)
    }

    fn outcome(&self, redirect: Redirect) -> Result<String, ErrorInfo> {
        let refused = |why: &str| {
            ErrorInfo::new(ErrorKind::Auth, format!("log in at {}: {}", self.provider.id, mask(why, &[&self.state])))
        };
        match (redirect.error, redirect.code.filter(|code| !code.is_empty())) {
            (Some(error), _) => Err(refused(&error)),
            (None, Some(code)) => Ok(code),
            (None, None) => Err(refused("the answer holds no code")),
        }
    }
}

/// The parameters of the address to which the browser was sent.
struct Redirect {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
}

impl Redirect {
    fn read(url: &Url) -> Redirect {
        let value = |key: &str| url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
        let error = value("error").map(|error| match value("error_description") {
            Some(text) => format!("{error}: {text}"),
            None => error,
        });
        Redirect { code: value("code"), state: value("state"), error }
    }
}

/// Path and query of the request; None for anything but a `GET`.
async fn read_target(socket: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    // The whole head is read, so that closing the socket resets nothing that the browser still sends.
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

/// Tells the browser's user what happened. A browser that has gone needs no telling.
async fn answer(socket: &mut TcpStream, status: &str, text: &str) {
    let page = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    let _ = socket.write_all(page.as_bytes()).await;
    let _ = socket.shutdown().await;
}

/// 256 random bits in 43 characters.
fn random() -> Result<String, ErrorInfo> {
    let mut bytes = [0; 32];
    let provider = rustls::crypto::ring::default_provider();
    let filled = provider.secure_random.fill(&mut bytes);
    filled.map_err(|_| ErrorInfo::new(ErrorKind::Config, "log in: the system gives no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
