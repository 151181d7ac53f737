//! A server at an address.

use std::sync::Arc;

use sinew_llm::http::{HttpClient, HttpConfig};
use url::Url;

use crate::oauth::ServerTokens;

/// A server to be connected to.
#[derive(Clone)]
pub struct HttpServer {
    /// Its address.
    pub url: Url,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
    /// Sends the requests: see [`http_config`].
    pub http: HttpClient,
    /// The login that goes with every request. None: there is none, whatever the server wants.
    pub tokens: Option<Arc<ServerTokens>>,
}

/// The settings of an HTTP client for servers: without limits of silence, since calls have clocks of their own.
#[must_use]
pub fn http_config(config: HttpConfig) -> HttpConfig {
    HttpConfig { idle_timeout: None, stall_timeout: None, ..config }
}
