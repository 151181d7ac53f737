//! One login: from the demand of a server to tokens in the file.

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

/// The server that a login is for.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// Its name in the file, for errors.
    pub name: String,
    /// Its address.
    pub server: Url,
    /// The words of its entry.
    pub settings: OAuthSettings,
    /// Its demand. What it asked for in earlier requests is remembered and counts as well.
    pub challenge: Option<Challenge>,
}

/// A login that waits for the user. Dropping it ends it.
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
    /// Finds the authorization server, registers there where that is needed, opens a port for the browser and makes the
    /// address that the user opens.
    ///
    /// # Errors
    /// `auth`: the server or its metadata do not allow a login. `config`: the port or the file cannot be used. Else what
    /// went wrong with an exchange.
    pub async fn begin(&self, request: LoginRequest) -> Result<Login, ErrorInfo> {
        let name = request.name.clone();
        self.begin_unnamed(request).await.map_err(|error| named(&name, error))
    }

    async fn begin_unnamed(&self, request: LoginRequest) -> Result<Login, ErrorInfo> {
        let web = Web::new(&self.http, &request.server);
        let store = Store::load(&self.path)?;
        let mut challenge = request.challenge.clone().unwrap_or_default();
        if let Some(wanted) = store.wanted(&request.server) {
            // A request of work may need more than the one that was made to ask.
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
        let discovery::Found { resource, server, .. } = found;
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
    /// The address that the user opens.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The authorization server.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Waits for the browser, or for what the user pastes, as [`LoginRedirect::wait`]; fetches the tokens and keeps
    /// them in the place of an earlier login.
    ///
    /// # Errors
    /// The user or the server said no, nothing came in time, or the file cannot be written.
    pub async fn finish(self, pasted: impl Future<Output = Option<String>>) -> Result<(), ErrorInfo> {
        // Its errors name the server themselves.
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
            return Err(refused(format!("the token is of type \"{kind}\"; sinew sends tokens of type Bearer alone")));
        }
        let AuthEntry::Oauth { access, refresh, expires } = answer.tokens("", &secrets, now)? else {
            return Err(ErrorInfo::new(ErrorKind::Malformed, "the answer holds no access_token"));
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

/// The scopes to ask for: the user's, else those of the demand, else those of the resource. What an earlier login has is
/// asked for again: a demand for more must not end what works.
fn scope(found: &discovery::Found, settings: &OAuthSettings, challenge: &Challenge, before: Option<&str>) -> String {
    let mut scopes: Vec<&str> = match (&settings.scopes[..], &challenge.scope) {
        ([], Some(scope)) => {
            before.unwrap_or_default().split_ascii_whitespace().chain(scope.split_ascii_whitespace()).collect()
        }
        ([], None) => found.resource_scopes.iter().map(String::as_str).collect(),
        (scopes, _) => scopes.iter().map(String::as_str).collect(),
    };
    // Without it some servers give no refresh token. Alone it would stand in place of what they give by themselves.
    const OFFLINE: &str = "offline_access";
    if !scopes.is_empty() && found.server.scopes_supported.iter().any(|scope| scope == OFFLINE) {
        scopes.push(OFFLINE);
    }
    let mut seen = std::collections::HashSet::new();
    scopes.retain(|scope| seen.insert(*scope));
    scopes.join(" ")
}
