//! Access control: checks the address of a request, the page that sent it, and the token.

use std::net::{IpAddr, SocketAddr};

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, StatusCode};
use sha2::{Digest, Sha256};

/// The access rules.
pub(super) struct Access {
    bound: SocketAddr,
    /// The digest of the token, so that the comparison time does not depend on the sent token.
    token: Option<[u8; 32]>,
}

impl Access {
    pub(super) fn new(bound: SocketAddr, token: Option<&str>) -> Access {
        Access { bound, token: token.map(|token| Sha256::digest(token).into()) }
    }

    /// Checks the head of a request.
    ///
    /// # Errors
    /// Returns the status, and the reason in one sentence, if access is denied.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), (StatusCode, String)> {
        let mut hosts = texts(headers, &HOST).peekable();
        if hosts.peek().is_none() || !hosts.all(|host| host.is_some_and(|host| self.is_ours(host))) {
            return Err((StatusCode::FORBIDDEN, "Forbidden: the Host header does not name this server.".into()));
        }
        let own_page = |origin: &str| origin.strip_prefix("http://").is_some_and(|host| self.is_ours(host));
        if !texts(headers, &ORIGIN).all(|origin| origin.is_some_and(own_page)) {
            return Err((StatusCode::FORBIDDEN, "Forbidden: the Origin header names another website.".into()));
        }
        let Some(token) = self.token else { return Ok(()) };
        let mut sent = texts(headers, &AUTHORIZATION).filter_map(|value| bearer(value?));
        match sent.next() {
            Some(sent) if <[u8; 32]>::from(Sha256::digest(sent)) == token => Ok(()),
            Some(_) => Err((StatusCode::UNAUTHORIZED, "Unauthorized: the token is wrong.".into())),
            None => Err((
                StatusCode::UNAUTHORIZED,
                "Unauthorized: send the token that the server printed when it started: Authorization: Bearer TOKEN."
                    .into(),
            )),
        }
    }

    /// Returns true if `authority` names this server without a name that a DNS server could define.
    fn is_ours(&self, authority: &str) -> bool {
        let Ok(parsed) = authority.parse::<Authority>() else { return false };
        if authority.contains('@') || parsed.port_u16().unwrap_or(80) != self.bound.port() {
            return false;
        }
        let host = parsed.host().trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || !self.bound.ip().is_loopback(),
            Err(_) => host.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// Returns the values of a header; `None` for a value that is not text.
fn texts<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = Option<&'a str>> {
    headers.get_all(name).iter().map(|value| value.to_str().ok())
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bound: &str, headers: &[(&str, &str)], expect: u16) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let access = Access::new(bound.parse().unwrap(), Some("s3cret"));
        let status = access.check(&map).map_or_else(|(status, _)| status.as_u16(), |()| 200);
        assert_eq!(status, expect, "{bound} {headers:?}");
    }

    const TOKEN: (&str, &str) = ("authorization", "Bearer s3cret");

    #[test]
    fn rejects_requests_for_other_hosts() {
        let local = "127.0.0.1:8000";
        for host in ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000", "127.9.9.9:8000"] {
            check(local, &[("host", host), TOKEN], 200);
        }
        for host in [
            "evil.example:8000",
            "localhost.evil.example:8000",
            "localhost:8001",
            "localhost",
            "192.168.1.2:8000",
            "me@localhost:8000",
            "localhost:8000@evil.example",
            "",
        ] {
            check(local, &[("host", host), TOKEN], 403);
        }
        check(local, &[TOKEN], 403);
        check(local, &[("host", "localhost:8000"), ("host", "evil.example"), TOKEN], 403);
        check("127.0.0.1:80", &[("host", "localhost"), TOKEN], 200);
        check("0.0.0.0:8000", &[("host", "192.168.1.2:8000"), TOKEN], 200);
        check("0.0.0.0:8000", &[("host", "evil.example:8000"), TOKEN], 403);
    }

    #[test]
    fn rejects_pages_of_other_origins() {
        let host = ("host", "localhost:8000");
        for origin in ["http://localhost:8000", "http://127.0.0.1:8000"] {
            check("127.0.0.1:8000", &[host, ("origin", origin), TOKEN], 200);
        }
        for origin in
            ["http://evil.example", "http://localhost:3000", "https://localhost:8000", "null", "localhost:8000", ""]
        {
            check("127.0.0.1:8000", &[host, ("origin", origin), TOKEN], 403);
        }
    }

    #[test]
    fn rejects_requests_without_the_token() {
        let host = ("host", "localhost:8000");
        check("127.0.0.1:8000", &[host, ("authorization", "bearer  s3cret ")], 200);
        check("127.0.0.1:8000", &[host], 401);
        for value in ["Bearer s3cre", "Bearer s3cret2", "Bearer", "Basic s3cret", "s3cret", ""] {
            check("127.0.0.1:8000", &[host, ("authorization", value)], 401);
        }
        // Requests from elsewhere do not reveal whether there is a token.
        check("127.0.0.1:8000", &[("host", "evil.example:8000")], 403);
    }
}
