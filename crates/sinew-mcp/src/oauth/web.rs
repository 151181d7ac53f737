//! Requests to authorization servers, whose URLs are untrusted: a server must not make the client query services
//! of this machine or of its cloud.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use sinew_llm::error::{ErrorInfo, ErrorKind};
use sinew_llm::http::{HttpClient, HttpConfig, HttpError, HttpRequest, HttpResponse, is_loopback};
use url::Url;

/// The maximum size of an answer.
const ANSWER_LIMIT: usize = 1024 * 1024;
/// The maximum number of redirects within one server.
const REDIRECTS: usize = 3;

/// Reaches authorization servers for one MCP server.
pub(super) struct Web {
    pub(super) client: HttpClient,
    /// True if the MCP server is on this machine; then its authorization server may be as well.
    local: bool,
}

impl Web {
    pub(super) fn new(config: &HttpConfig, server: &Url) -> Web {
        let local = is_loopback(server);
        let filter = move |host: &str, address: IpAddr| match refuses(address, local) {
            true => Err(format!("{host} has the local address {address}, so it is not contacted")),
            false => Ok(()),
        };
        let config = HttpConfig { address_filter: Some(Arc::new(filter)), ..config.clone() };
        Web { client: HttpClient::new(config), local }
    }

    /// Parses a URL that a server named. `what` names it in the error.
    pub(super) fn address(&self, what: &str, text: &str) -> Result<Url, ErrorInfo> {
        let url = Url::parse(text).map_err(|error| refused(format!("{what} \"{text}\" is not a URL: {error}")))?;
        let fits = match url.scheme() {
            "https" => url.has_host(),
            "http" => self.local && is_loopback(&url),
            _ => false,
        };
        if fits {
            return Ok(url);
        }
        Err(refused(format!("{what} \"{text}\" is not an https URL")))
    }

    /// Requests a document. Returns `None` if the server has none; redirects must stay within the server.
    pub(super) async fn json(&self, what: &str, url: &Url) -> Result<Option<Value>, ErrorInfo> {
        let mut at = url.clone();
        for _ in 0..=REDIRECTS {
            let headers = vec![("Accept".to_string(), "application/json".to_string())];
            let request = HttpRequest { method: http::Method::GET, url: at.clone(), headers, body: Bytes::new() };
            let mut answer = self.client.send(request).await.map_err(|error| lost(what, &error))?;
            match answer.status {
                200..300 => {
                    let (body, more) =
                        answer.body.read_limited(ANSWER_LIMIT).await.map_err(|error| lost(what, &error))?;
                    let value = serde_json::from_slice(&body).ok().filter(|_| !more).filter(Value::is_object);
                    return value.map(Some).ok_or_else(|| refused(format!("{what} at {at} is not a JSON object")));
                }
                300..400 => at = next(what, &at, &answer)?,
                400..500 => return Ok(None),
                status => return Err(refused(format!("{what} at {at}: HTTP status {status}"))),
            }
        }
        Err(refused(format!("{what} at {url}: more than {REDIRECTS} redirects")))
    }

    /// Posts a document and returns the status and the answer.
    pub(super) async fn post(&self, what: &str, url: Url, body: &Value) -> Result<(u16, Value), ErrorInfo> {
        let headers = [("Content-Type", "application/json"), ("Accept", "application/json")];
        let headers = headers.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
        let request = HttpRequest { method: http::Method::POST, url, headers, body: Bytes::from(body.to_string()) };
        let mut answer = self.client.send(request).await.map_err(|error| lost(what, &error))?;
        let (body, _) = answer.body.read_limited(ANSWER_LIMIT).await.map_err(|error| lost(what, &error))?;
        Ok((answer.status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

fn next(what: &str, at: &Url, answer: &HttpResponse) -> Result<Url, ErrorInfo> {
    let location = answer.headers.get("location").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let next = at.join(location).ok().filter(|next| !location.is_empty() && next.origin() == at.origin());
    next.ok_or_else(|| refused(format!("{what} at {at} redirects to another server (\"{location}\"): not followed")))
}

pub(super) fn refused(text: String) -> ErrorInfo {
    ErrorInfo::new(ErrorKind::Auth, text)
}

fn lost(what: &str, error: &HttpError) -> ErrorInfo {
    ErrorInfo::new(ErrorKind::Network, format!("{what}: {}", error.message))
}

/// Returns true if requests to this IP address are not allowed.
fn refuses(address: IpAddr, local: bool) -> bool {
    let address = match address {
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4),
        address => address,
    };
    let cloud = match address {
        // The metadata service of one cloud is outside the link-local range.
        IpAddr::V4(address) => address.is_link_local() || address.octets() == [100, 100, 100, 200],
        IpAddr::V6(address) => {
            address.segments()[0] & 0xffc0 == 0xfe80 || address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
        }
    };
    cloud || address.is_unspecified() || (address.is_loopback() && !local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_addresses_of_cloud_metadata_and_this_machine() {
        for (address, local, expect) in [
            ("169.254.169.254", true, true),
            ("::ffff:169.254.169.254", true, true),
            ("fe80::1", true, true),
            ("fd00:ec2::254", true, true),
            ("100.100.100.200", false, true),
            ("0.0.0.0", true, true),
            ("127.0.0.1", false, true),
            ("::ffff:127.0.0.1", false, true),
            ("::1", true, false),
            ("127.8.9.1", true, false),
            ("10.1.2.3", false, false),
            ("93.184.216.34", false, false),
        ] {
            assert_eq!(refuses(address.parse().unwrap(), local), expect, "{address} {local}");
        }
    }

    #[test]
    fn requires_https() {
        for (server, address, expect) in [
            ("https://tools.example/mcp", "https://auth.example", true),
            ("https://tools.example/mcp", "http://auth.example", false),
            ("https://tools.example/mcp", "http://127.0.0.1:9/x", false),
            ("https://tools.example/mcp", "http://localhost.evil.example/", false),
            ("http://localhost:9/mcp", "http://127.0.0.1:8/x", true),
            ("http://[::1]:9/mcp", "http://auth.localhost:8/x", true),
            ("http://localhost:9/mcp", "http://auth.example", false),
            ("http://localhost:9/mcp", "javascript:alert(1)", false),
            ("http://localhost:9/mcp", "file:///etc/passwd", false),
            ("http://localhost:9/mcp", "auth.example", false),
        ] {
            let web = Web::new(&HttpConfig::default(), &server.parse().unwrap());
            assert_eq!(web.address("the address", address).is_ok(), expect, "{server} {address}");
        }
    }
}
