//! Which proxy a request takes.

use std::fmt;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use url::{Host, Url};

use super::{HttpError, HttpErrorKind};

/// The values of the usual variables, as the caller read them. Addresses without a scheme mean `http`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// `HTTP_PROXY`: for `http` addresses.
    pub http: Option<String>,
    /// `HTTPS_PROXY`: for `https` addresses.
    pub https: Option<String>,
    /// `ALL_PROXY`: where the other two say nothing.
    pub all: Option<String>,
    /// `NO_PROXY`: hosts that are asked directly, divided by commas: a name (with its subdomains), an
    /// address, a block such as `10.0.0.0/8`, each with an optional port, or `*`.
    pub none: Option<String>,
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The addresses may hold passwords.
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
    /// The proxy for `url`, if it takes one. The own machine is always asked directly.
    ///
    /// # Errors
    /// The value for this kind of address is no address of an HTTP proxy.
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
            None => Err(refuse("its value is no address".to_string())),
        }
    }

    fn is_excluded(&self, url: &Url) -> bool {
        let entries = self.none.as_deref().unwrap_or_default().split([',', ' ']);
        entries.map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| excludes(entry, url))
    }
}

/// The value of `Proxy-Authorization` for a proxy with a user in its address.
pub(super) fn authorization(proxy: &Url) -> Option<HeaderValue> {
    if proxy.username().is_empty() {
        return None;
    }
    let user = decode(proxy.username());
    let password = decode(proxy.password().unwrap_or_default());
    let pair = [user.as_slice(), b":", &password].concat();
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Percent-decoding.
fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

fn refuse(cause: String) -> HttpError {
    HttpError::new(HttpErrorKind::Request, format!("read the proxy setting: {cause}"))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn excludes(entry: &str, url: &Url) -> bool {
    if entry == "*" {
        return true;
    }
    let (name, port) = match entry.rsplit_once(':') {
        // More colons: an IPv6 address without a port.
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, port.parse::<u16>().ok()),
        _ => (entry, None),
    };
    if port.is_some() && port != url.port_or_known_default() {
        return false;
    }
    let name = name.trim_start_matches('[').trim_end_matches(']');
    match url.host() {
        Some(Host::Domain(host)) => {
            let name = name.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
            host == name || host.strip_suffix(&name).is_some_and(|before| before.ends_with('.'))
        }
        Some(Host::Ipv4(ip)) => in_block(name, IpAddr::V4(ip)),
        Some(Host::Ipv6(ip)) => in_block(name, IpAddr::V6(ip)),
        None => false,
    }
}

fn in_block(block: &str, ip: IpAddr) -> bool {
    let (base, bits) = match block.split_once('/') {
        Some((base, bits)) => (base, bits.parse::<u32>().ok()),
        None => (block, Some(128)),
    };
    let (Ok(base), Some(bits)) = (base.parse::<IpAddr>(), bits) else {
        return false;
    };
    // The first `bits` bits are the same.
    let (differ, width) = match (base, ip) {
        (IpAddr::V4(base), IpAddr::V4(ip)) => (u128::from(u32::from(base) ^ u32::from(ip)), 32),
        (IpAddr::V6(base), IpAddr::V6(ip)) => (u128::from(base) ^ u128::from(ip), 128),
        _ => return false,
    };
    differ.checked_shr(width - bits.min(width)).unwrap_or(0) == 0
}
