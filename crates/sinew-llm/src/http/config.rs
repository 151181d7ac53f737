//! The settings of connections.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::error::HttpError;
use super::proxy::Proxies;
use super::tls::Roots;

/// Decides whether the host, which resolved to the address, may be connected to; the error is the message for the
/// caller.
pub type AddressFilter = Arc<dyn Fn(&str, IpAddr) -> Result<(), String> + Send + Sync>;

/// A request that was sent, for observers. Contains no headers and no bodies, and therefore no keys.
pub struct Exchange<'a> {
    /// The method, such as `GET` or `POST`.
    pub method: &'a http::Method,
    /// The URL without its query, which may contain secrets.
    pub place: &'a str,
    /// The status of the answer.
    pub outcome: Result<u16, &'a HttpError>,
    /// The time until the head of the answer.
    pub took: Duration,
}

/// Called for each request when its answer begins or it fails.
pub type Observer = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;

/// Settings of the connections.
#[derive(Clone)]
pub struct HttpConfig {
    /// The time limit for resolving, connecting and TLS; 30 s. `None` means unlimited.
    pub connect_timeout: Option<Duration>,
    /// The maximum time without a byte, before and during the answer; 300 s. `None` means unlimited.
    pub idle_timeout: Option<Duration>,
    /// The maximum time without an event with content; 300 s. `None` means unlimited.
    pub stall_timeout: Option<Duration>,
    /// The proxies of requests.
    pub proxies: Proxies,
    /// The trusted certificates.
    pub roots: Roots,
    /// Checks each address before it is connected to, after the name was resolved, so that the name cannot resolve
    /// differently afterwards. `None` allows all.
    pub address_filter: Option<AddressFilter>,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The observer of requests; `None` without one.
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
        // Proxy URLs may contain passwords.
        f.debug_struct("HttpConfig")
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("stall_timeout", &self.stall_timeout)
            .finish_non_exhaustive()
    }
}
