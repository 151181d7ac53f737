//! Settings of connections.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::error::HttpError;
use super::proxy::Proxies;
use super::tls::Roots;

/// Says whether the host, which resolved to the address, may be connected to; the error is the text that
/// the caller gets.
pub type AddressFilter = Arc<dyn Fn(&str, IpAddr) -> Result<(), String> + Send + Sync>;

/// A request that was sent, for who watches a connection. Neither headers nor bodies are among it: no key is.
pub struct Exchange<'a> {
    /// `GET`, `POST` and so on.
    pub method: &'a http::Method,
    /// The address without its query, which may hold secrets.
    pub place: &'a str,
    /// The status of the answer.
    pub outcome: Result<u16, &'a HttpError>,
    /// The time to the head of the answer.
    pub took: Duration,
}

/// Hears of each request once its answer begins or it fails.
pub type Observer = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;

/// Settings of the connections.
#[derive(Clone)]
pub struct HttpConfig {
    /// Time to resolve, connect and agree on TLS; 30 s. None: no limit.
    pub connect_timeout: Option<Duration>,
    /// Time without a single byte, before and inside the answer; 300 s. None: no limit.
    pub idle_timeout: Option<Duration>,
    /// Time without an event that carries content, whatever else comes; 300 s. None: no limit.
    pub stall_timeout: Option<Duration>,
    /// The proxies that requests take.
    pub proxies: Proxies,
    /// Whom to trust.
    pub roots: Roots,
    /// Looks at each address before it is connected to, after the name was resolved, so that a name
    /// cannot change its mind between the look and the connection. None: all.
    pub address_filter: Option<AddressFilter>,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// None: nobody.
    pub observer: Option<Observer>,
}

impl Default for HttpConfig {
    fn default() -> HttpConfig {
        HttpConfig {
            connect_timeout: Some(Duration::from_secs(30)),
            idle_timeout: Some(Duration::from_secs(300)),
            stall_timeout: Some(Duration::from_secs(300)),
            proxies: Proxies::default(),
            roots: Roots::default(),
            address_filter: None,
            user_agent: concat!("sinew/", env!("CARGO_PKG_VERSION")).to_string(),
            observer: None,
        }
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Proxy addresses may hold passwords.
        f.debug_struct("HttpConfig")
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("stall_timeout", &self.stall_timeout)
            .finish_non_exhaustive()
    }
}
