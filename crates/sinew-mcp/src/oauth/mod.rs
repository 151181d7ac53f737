//! Logins at servers by OAuth 2.1, as the protocol wants them over HTTP.
//!
//! | module | holds |
//! |---|---|
//! | [`challenge`] | the header by which a server asks for a login |
//! | `web` | requests for metadata: https, no foreign redirects, no addresses of the machine's own network |
//! | `discovery` | the way from a server to its authorization server |
//! | `registration` | the id under which we are known there |
//! | [`login`] | the login itself, which ends in a browser |
//! | [`logout`] | its end, also at the server that gave the tokens |
//! | `store` | the file of logins |
//! | [`tokens`] | the token of each request, renewed before it runs out |
//!
//! A token is bound to the address that it was made for and is sent nowhere else: a connection has one address and
//! follows no redirect. A refresh token goes to the token endpoint that it came from, whatever the server says later.

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

/// The words of an entry about its login. All of them may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OAuthSettings {
    /// The id that the user registered.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// The port that the browser comes back to. None: one that is free.
    pub callback_port: Option<u16>,
    /// Asked for in place of what the server names.
    pub scopes: Vec<String>,
    /// An address of a document that describes the client, for servers that take one as its id.
    pub metadata_url: Option<String>,
}

/// Milliseconds since 1970.
pub type Now = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The logins of a user.
#[derive(Clone)]
pub struct Logins {
    path: PathBuf,
    http: HttpConfig,
    now: Now,
}

impl Logins {
    /// The logins in the file at `path`, which need not exist. `http` reaches authorization servers.
    #[must_use]
    pub fn new(path: PathBuf, http: HttpConfig, now: Now) -> Logins {
        Logins { path, http, now }
    }

    /// The token for requests to a server. Reads the file at the first request.
    #[must_use]
    pub fn tokens(&self, server: &Url) -> Arc<ServerTokens> {
        Arc::new(ServerTokens::new(self.clone(), server.clone()))
    }

    /// Returns true if a server asked for something since its last login.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_wanted(&self, server: &Url) -> Result<bool, ErrorInfo> {
        Ok(store::Store::load(&self.path)?.wanted(server).is_some())
    }
}
