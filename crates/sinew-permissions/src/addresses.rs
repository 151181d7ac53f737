//! The addresses of `fetch`, in all spellings that rules are compared with.

use url::{Host, Url};

use super::pattern::Pattern;

/// Returns equivalent spellings of an address: normalized as in a browser, without optional parts, and with them.
pub(super) fn spellings(address: &str) -> Vec<String> {
    let Ok(mut url) = Url::parse(address.trim()) else { return vec![address.to_string()] };
    // Neither is part of the server's name.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    if let Some(Host::Domain(host)) = url.host()
        && let Some(host) = host.strip_suffix('.').filter(|host| !host.is_empty()).map(str::to_string)
    {
        let _ = url.set_host(Some(&host));
    }
    let mapped = match url.host() {
        Some(Host::Ipv6(ip)) => ip.to_ipv4_mapped(),
        _ => None,
    };
    if let Some(ip) = mapped {
        let _ = url.set_ip_host(ip.into());
    }
    let whole = url.to_string();
    let mut found = Vec::new();
    if let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default())
        && url.port().is_none()
        && let Some(rest) = whole.strip_prefix(&format!("{}://{host}", url.scheme()))
    {
        found.push(format!("{}://{host}:{port}{rest}", url.scheme()));
    }
    if url.path() == "/" && url.query().is_none() {
        let bare: Vec<String> =
            std::iter::once(&whole).chain(&found).map(|text| text.trim_end_matches('/').to_string()).collect();
        found.extend(bare);
    }
    found.insert(0, whole);
    found
}

/// Returns the pattern of a rule; scheme and host are compared case-insensitively.
pub(super) fn pattern(inner: &str) -> Pattern {
    let host = inner.find("://").map_or(0, |at| at + 3);
    let end = inner[host..].find('/').map_or(inner.len(), |at| host + at);
    Pattern::text(&format!("{}{}", inner[..end].to_lowercase(), &inner[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_match_in_every_spelling() {
        for (rule, address, expect) in [
            ("https://evil.example/*", "HTTPS://EVIL.example/a", true),
            ("https://evil.example/*", "https://u:p@evil.example/a", true),
            ("https://evil.example/*", "https://evil.example./a", true),
            ("https://evil.example/*", "https://evil.example:443/a", true),
            ("https://evil.example:443/*", "https://evil.example/a", true),
            ("https://evil.example", "https://evil.example/", true),
            ("https://Evil.example/*", "https://evil.example/A", true),
            ("https://evil.example/A", "https://evil.example/a", false),
            ("http://127.0.0.1*", "http://127.1/", true),
            ("http://127.0.0.1*", "http://0x7f.1:80/x", true),
            ("http://127.0.0.1*", "http://2130706433/", true),
            ("http://127.0.0.1*", "http://[::ffff:7f00:1]/", true),
            ("https://evil.example/*", " https:\\\\evil.example\\a", true),
            ("https://evil.example/*", "https://ev\til.example/a", true),
            ("https://evil.example/*", "https://good.example/evil.example/", false),
        ] {
            let pattern = pattern(rule);
            assert_eq!(spellings(address).iter().any(|text| pattern.fits(text)), expect, "{rule} {address}");
        }
    }
}
