//! Selects the proxy of a request, and its password.

use std::fmt;

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use url::{Host, Url};

use super::error::{HttpError, HttpErrorKind};

/// The values of the usual environment variables, read by the caller. Addresses without a scheme mean `http`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// `HTTP_PROXY`: for `http` URLs.
    pub http: Option<String>,
    /// `HTTPS_PROXY`: for `https` URLs.
    pub https: Option<String>,
    /// `ALL_PROXY`: if the other two are not set.
    pub all: Option<String>,
    /// `NO_PROXY`: hosts that are contacted directly, separated by commas: a name (including its subdomains), an
    /// address, a block such as `10.0.0.0/8`, each with an optional port, or `*`.
    pub none: Option<String>,
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URLs may contain passwords.
        let set = |value: &Option<String>| value.as_ref().map(|_| "…");
        f.debug_struct("Proxies")
            .field("http", &set(&self.http))
            .field("https", &set(&self.https))
            .field("all", &set(&self.all))
            .field("none", &self.none)
            .finish()
    }
}

impl Proxies {
    /// Returns the proxy for `url`; `None` for a direct connection. This machine is always contacted directly.
    ///
    /// # Errors
    /// Returns an error if the value for this scheme is not the URL of an HTTP proxy.
    pub fn for_url(&self, url: &Url) -> Result<Option<Url>, HttpError> {
        let own = if url.scheme() == "https" { &self.https } else { &self.http };
        let value = [own, &self.all].into_iter().flatten().map(|value| value.trim()).find(|value| !value.is_empty());
        let Some(value) = value else {
            return Ok(None);
        };
        if is_loopback(url) || self.is_excluded(url) {
            return Ok(None);
        }
        let whole = if value.contains("://") { value.to_string() } else { format!("http://{value}") };
        let proxy = Url::parse(&whole).ok().filter(|proxy| proxy.host().is_some());
        match proxy {
            Some(proxy) if matches!(proxy.scheme(), "http" | "https") => Ok(Some(proxy)),
            Some(proxy) => {
                Err(refuse(format!("the scheme \"{}\" is not supported; use an http or https proxy", proxy.scheme())))
            }
            None => Err(refuse("its value is not a URL".to_string())),
        }
    }

    fn is_excluded(&self, url: &Url) -> bool {
        let entries = self.entries_for(url);
        let matcher = Matcher::builder().all("http://proxy").no(entries.join(",")).build();
        let uri = url.host_str().and_then(|host| format!("http://{host}/").parse::<Uri>().ok());
        // In the matcher a star matches every name, but no address.
        entries.contains(&"*") || uri.is_some_and(|uri| matcher.intercept(&uri).is_none())
    }

    /// Returns the entries of `NO_PROXY` that apply to the port of `url`, in the form of the matcher, which supports no
    /// ports, no spaces between entries and no star before a name.
    fn entries_for(&self, url: &Url) -> Vec<&str> {
        let entries = self.none.as_deref().unwrap_or_default().split([',', ' ']);
        let without_port = |entry| match str::rsplit_once(entry, ':') {
            // More colons: an IPv6 address without a port.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                let other = port.parse::<u16>().is_ok_and(|port| Some(port) != url.port_or_known_default());
                (!other).then_some(host)
            }
            _ => Some(entry),
        };
        entries
            .filter_map(without_port)
            .map(|entry| entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']')).unwrap_or(entry))
            .map(|entry| if entry.starts_with("*.") { &entry[1..] } else { entry })
            .filter(|entry| !entry.is_empty())
            .collect()
    }
}

/// Returns the value of `Proxy-Authorization` for a proxy with a user in its URL; `None` without one.
pub(super) fn authorization(proxy: &Url) -> Option<HeaderValue> {
    let matcher = Matcher::builder().all(proxy.as_str()).build();
    matcher.intercept(&Uri::from_static("http://any"))?.basic_auth().cloned()
}

fn refuse(cause: String) -> HttpError {
    HttpError::new(HttpErrorKind::Request, format!("read the proxy setting: {cause}"))
}

/// Returns true if the host of a URL is this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}
