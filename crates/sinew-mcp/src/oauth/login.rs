//! A login: from the challenge of a server to tokens in the file.

use std::future::Future;

use sinew_llm::credentials::AuthEntry;
use sinew_llm::credentials::login::{ExpectedIssuer, LoginRedirect};
use sinew_llm::credentials::token;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use url::Url;

use super::challenge::Challenge;
use super::registration::{ClientIdentity, identify};
use super::store::{self, Store, StoredLogin};
use super::web::{Web, refused};
use super::{Logins, OAuthSettings, discovery};

/// The server of a login.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// The name in the configuration, for errors.
    pub name: String,
    /// The URL.
    pub server: Url,
    /// The settings of its entry.
    pub settings: OAuthSettings,
    /// The server's challenge. The scopes of earlier challenges are remembered and added.
    pub challenge: Option<Challenge>,
}

/// A login that waits for the user. Dropping it cancels it.
pub struct Login {
    logins: Logins,
    web: Web,
    request: LoginRequest,
    redirect: LoginRedirect,
    url: Url,
    client: ClientIdentity,
    token_endpoint: Url,
    revocation_endpoint: Option<String>,
    resource: String,
    issuer: String,
    scope: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("server", &self.request.server).finish_non_exhaustive()
    }
}

impl Logins {
    /// Finds the authorization server, registers there if necessary, opens a port for the browser and creates the
    /// URL for the user to open.
    ///
    /// # Errors
    /// Returns an `auth` error if the server or its metadata do not allow a login, a `config` error if the port or the
    /// file cannot be used, or the error of a failed request.
    pub async fn begin(&self, request: LoginRequest) -> Result<Login, ErrorInfo> {
        let name = request.name.clone();
        self.begin_unnamed(request).await.map_err(|error| named(&name, error))
    }

    async fn begin_unnamed(&self, request: LoginRequest) -> Result<Login, ErrorInfo> {
        let web = Web::new(&self.http, &request.server);
        let store = Store::load(&self.path)?;
        let mut challenge = request.challenge.clone().unwrap_or_default();
        if let Some(wanted) = store.wanted(&request.server) {
            // A tool call may need more scopes than the request that asked for the login.
            challenge.resource_metadata = challenge.resource_metadata.or(wanted.resource_metadata);
            challenge.scope = wanted.scope.or(challenge.scope);
        }
        let found = discovery::find(&web, &request.server, &challenge).await?;
        let server = &found.server;
        let mut url = web.address("the authorization endpoint", &server.authorization_endpoint)?;
        let token_endpoint = web.address("the token endpoint", &server.token_endpoint)?;

        let before = store.of(&request.server).filter(|login| login.issuer == server.issuer);
        let scope = scope(&found, &request.settings, &challenge, before.map(|login| login.scope.as_str()));
        let redirect = LoginRedirect::open(&request.name, request.settings.callback_port).await?;
        let redirect = redirect.from_issuer(ExpectedIssuer {
            issuer: server.issuer.clone(),
            always_sent: server.authorization_response_iss_parameter_supported,
        });
        let client = identify(&web, server, &request.settings, redirect.uri(), &scope).await?;
        redirect.add_to(&mut url, &client.client_id, &scope);
        url.query_pairs_mut().append_pair("resource", &found.resource);
        let discovery::ResourceAuthorization { resource, server, .. } = found;
        Ok(Login {
            logins: self.clone(),
            web,
            request,
            redirect,
            url,
            client,
            token_endpoint,
            revocation_endpoint: server.revocation_endpoint,
            resource,
            issuer: server.issuer,
            scope,
        })
    }
}

impl Login {
    /// Returns the URL for the user to open.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns the authorization server.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Waits for the browser, or for text that the user pastes, as [`LoginRedirect::wait`] does; requests the tokens
    /// and saves them in place of an earlier login.
    ///
    /// # Errors
    /// Returns an error if the user or the server refused, nothing arrived in time, or the file cannot be written.
    pub async fn finish(self, pasted: impl Future<Output = Option<String>>) -> Result<(), ErrorInfo> {
        // The errors already name the server.
        let code = self.redirect.wait(pasted).await?;
        self.exchange(&code).await.map_err(|error| named(&self.request.name, error))
    }

    async fn exchange(&self, code: &str) -> Result<(), ErrorInfo> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect.uri()),
            ("code_verifier", self.redirect.verifier()),
            ("resource", self.resource.as_str()),
        ];
        let header = self.client.identify(&mut form);
        let secrets = [code, self.redirect.verifier(), self.client.secret()];
        let now = (self.logins.now)();
        let endpoint = self.token_endpoint.clone();
        let answer = token::post(&self.web.client, endpoint, &form, header.as_deref(), &secrets).await?;
        if answer.text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            let kind = answer.text("token_type").unwrap_or_default();
            return Err(refused(format!("the token has the type \"{kind}\"; only Bearer tokens are supported")));
        }
        let AuthEntry::Oauth { access, refresh, expires } = answer.tokens("", &secrets, now)? else {
            return Err(ErrorInfo::new(ErrorKind::Malformed, "the answer has no access_token"));
        };
        let login = StoredLogin {
            server: self.request.server.to_string(),
            resource: self.resource.clone(),
            issuer: self.issuer.clone(),
            token_endpoint: self.token_endpoint.to_string(),
            revocation_endpoint: self.revocation_endpoint.clone(),
            client: self.client.clone(),
            access,
            refresh,
            expires,
            scope: answer.text("scope").unwrap_or(&self.scope).to_string(),
        };
        store::change(&self.logins.path, |store| store.put(login)).await
    }
}

fn named(name: &str, mut error: ErrorInfo) -> ErrorInfo {
    if !error.message.starts_with("log in at ") {
        error.message = format!("log in at {name}: {}", error.message);
    }
    error
}

/// Returns the scopes to request: the user's, else those of the challenge, else those of the resource. The scopes of an
/// earlier login are added, so that a challenge for more does not lose them.
fn scope(
    found: &discovery::ResourceAuthorization,
    settings: &OAuthSettings,
    challenge: &Challenge,
    before: Option<&str>,
) -> String {
    let mut scopes: Vec<&str> = match (&settings.scopes[..], &challenge.scope) {
        ([], Some(scope)) => {
            before.unwrap_or_default().split_ascii_whitespace().chain(scope.split_ascii_whitespace()).collect()
        }
        ([], None) => found.resource_scopes.iter().map(String::as_str).collect(),
        (scopes, _) => scopes.iter().map(String::as_str).collect(),
    };
    // Without this scope, some servers return no refresh token. Alone, it would replace the server's default scopes.
    const OFFLINE: &str = "offline_access";
    if !scopes.is_empty() && found.server.scopes_supported.iter().any(|scope| scope == OFFLINE) {
        scopes.push(OFFLINE);
    }
    let mut seen = std::collections::HashSet::new();
    scopes.retain(|scope| seen.insert(*scope));
    scopes.join(" ")
}
