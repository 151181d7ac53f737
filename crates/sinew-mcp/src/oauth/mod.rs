//! Logins at servers with OAuth 2.1, as the protocol requires over HTTP.
//!
//! | module | contents |
//! |---|---|
//! | [`challenge`] | the header with which a server asks for a login |
//! | `web` | requests for metadata: https, no redirects to other hosts, no addresses of the local network |
//! | `discovery` | finds the authorization server of a server |
//! | `registration` | the client id at an authorization server |
//! | [`login`] | the login, which ends in a browser |
//! | [`logout`] | the logout, including revocation |
//! | `store` | the file of logins |
//! | [`tokens`] | the token of each request, renewed before it expires |
//!
//! A token is bound to the URL that it was issued for and is sent nowhere else: a connection has one URL and follows no
//! redirects. A refresh token is only sent to the token endpoint that issued it, even if the server names another one
//! later.

pub mod challenge;
mod discovery;
pub mod login;
pub mod logout;
mod registration;
mod store;
pub mod tokens;
mod web;

use std::path::PathBuf;
use std::sync::Arc;

use sinew_llm::error::ErrorInfo;
use sinew_llm::http::HttpConfig;
use url::Url;

pub use challenge::Challenge;
pub use login::{Login, LoginRequest};
pub use logout::Logout;
pub use tokens::ServerTokens;

/// The login settings of an entry. All are optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthSettings {
    /// The client id that the user registered; `None` to register automatically.
    pub client_id: Option<String>,
    /// The secret of the client id; `None` if it has none.
    pub client_secret: Option<String>,
    /// The port of the browser's redirect. `None` chooses a free port.
    pub callback_port: Option<u16>,
    /// The scopes to request instead of those that the server names; empty for the server's.
    pub scopes: Vec<String>,
    /// The URL of a document that describes the client, for servers that accept it as the client id.
    pub metadata_url: Option<String>,
}

/// Returns milliseconds since 1970.
pub type TimeSource = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The logins of a user.
#[derive(Clone)]
pub struct Logins {
    path: PathBuf,
    http: HttpConfig,
    now: TimeSource,
}

impl Logins {
    /// Creates the logins of the file at `path`, which may be missing. `http` is used to reach authorization servers.
    #[must_use]
    pub fn new(path: PathBuf, http: HttpConfig, now: TimeSource) -> Logins {
        Logins { path, http, now }
    }

    /// Returns the tokens for requests to a server. The file is read at the first request.
    #[must_use]
    pub fn tokens(&self, server: &Url) -> Arc<ServerTokens> {
        Arc::new(ServerTokens::new(self.clone(), server.clone()))
    }

    /// Returns true if a server sent a challenge since its last login.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn is_wanted(&self, server: &Url) -> Result<bool, ErrorInfo> {
        Ok(store::Store::load(&self.path)?.wanted(server).is_some())
    }
}
