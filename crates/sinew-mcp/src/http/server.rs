//! A server at a URL.

use std::sync::Arc;

use sinew_llm::http::{HttpClient, HttpConfig};
use url::Url;

use crate::oauth::ServerTokens;

/// A server to connect to.
#[derive(Clone)]
pub struct HttpServer {
    /// The URL.
    pub url: Url,
    /// Headers for every request.
    pub headers: Vec<(String, String)>,
    /// The HTTP client: see [`http_config`].
    pub http: HttpClient,
    /// The login for every request. With `None`, requests have no token, even if the server requires one.
    pub tokens: Option<Arc<ServerTokens>>,
}

/// Returns the settings of an HTTP client for servers: without limits of silence, since calls have their own time
/// limits.
#[must_use]
pub fn http_config(config: HttpConfig) -> HttpConfig {
    HttpConfig { idle_timeout: None, stall_timeout: None, ..config }
}
