//! Errors of requests, and whether they are retryable.

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) mod classify;
mod overflow;

/// A failed request. Programs branch on [`ErrorInfo::kind`] and [`ErrorInfo::retryable`], never on the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorInfo {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The HTTP status; `None` without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// True if the same request may succeed later.
    pub retryable: bool,
    /// The wait that the server requests, in milliseconds; `None` if it requests none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The server's id of the request, for its support; `None` if it sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The message. Contains no keys.
    pub message: String,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The caller cancelled the request.
    Aborted,
    /// The key is wrong or missing (401).
    Auth,
    /// The key has no permission for the request (403, 451).
    Permission,
    /// The URL or the model does not exist (404).
    NotFound,
    /// Too many requests (429).
    RateLimit,
    /// The account's quota is exhausted (402, or a 429 that says so).
    UsageLimit,
    /// The server is overloaded (503, 529).
    Overloaded,
    /// The server failed (500 and similar).
    Server,
    /// No data arrived for too long (408, connect and idle timeouts).
    Timeout,
    /// The connection failed: name resolution, refusal, reset, TLS, premature end.
    Network,
    /// The conversation exceeds the model's context window.
    ContextOverflow,
    /// The server rejected the request as invalid (400, 422).
    InvalidRequest,
    /// The model or the provider's filter refused to answer.
    Refusal,
    /// The answer violates the protocol.
    Malformed,
    /// The request could not be created: no model, no key, an invalid file.
    Config,
}

impl ErrorKind {
    /// Returns the name in session files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Aborted => "aborted",
            ErrorKind::Auth => "auth",
            ErrorKind::Permission => "permission",
            ErrorKind::NotFound => "not_found",
            ErrorKind::RateLimit => "rate_limit",
            ErrorKind::UsageLimit => "usage_limit",
            ErrorKind::Overloaded => "overloaded",
            ErrorKind::Server => "server",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Network => "network",
            ErrorKind::ContextOverflow => "context_overflow",
            ErrorKind::InvalidRequest => "invalid_request",
            ErrorKind::Refusal => "refusal",
            ErrorKind::Malformed => "malformed",
            ErrorKind::Config => "config",
        }
    }

    /// Returns true if a failure of this kind may be temporary.
    #[must_use]
    pub fn retryable(self) -> bool {
        matches!(
            self,
            ErrorKind::RateLimit
                | ErrorKind::Overloaded
                | ErrorKind::Server
                | ErrorKind::Timeout
                | ErrorKind::Network
                | ErrorKind::Malformed
        )
    }
}

impl ErrorInfo {
    /// Creates an error of `kind` with its default for [`ErrorInfo::retryable`].
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> ErrorInfo {
        ErrorInfo {
            kind,
            status: None,
            retryable: kind.retryable(),
            retry_after_ms: None,
            request_id: None,
            message: message.into(),
        }
    }

    /// Creates the error of a cancelled request.
    #[must_use]
    pub fn aborted() -> ErrorInfo {
        ErrorInfo::new(ErrorKind::Aborted, "Request was aborted")
    }
}

impl fmt::Display for ErrorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ErrorInfo {}

/// Replaces secrets in `text` by `***`: each of `secrets`, including its URL-encoded form, words with the prefix of a
/// key, and the values of names such as `x-api-key` or `?key=`. Runs in time linear in `text` for each secret.
#[must_use]
pub fn mask(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_string();
    for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
        let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let json = serde_json::json!(secret).to_string();
        // The longest first, because a shorter form may be a part of it.
        for form in [form.replace('+', "%20"), form.to_ascii_lowercase(), form, json.trim_matches('"').to_string()] {
            if form != **secret && text.contains(&form) {
                text = text.replace(&form, "***");
            }
        }
        if text.contains(*secret) {
            text = text.replace(secret, "***");
        }
    }
    mask_words(&mask_named(&text))
}

/// Hides words with the prefix of a key.
fn mask_words(text: &str) -> String {
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_key) {
        out.push_str(&rest[..start]);
        let bearer = out.ends_with("Bearer ") || out.ends_with("Basic ");
        let ends = |c: char| if bearer { c.is_whitespace() || matches!(c, '"' | '\'' | ',') } else { !is_key(c) };
        let end = rest[start..].find(ends).map_or(rest.len(), |n| start + n);
        let word = &rest[start..end];
        let known = KEY_PREFIXES.iter().any(|prefix| word.len() >= prefix.len() + 8 && word.starts_with(prefix));
        let bearer = bearer && word.len() >= 8;
        out.push_str(if known || bearer { "***" } else { word });
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Hides the values of the names in [`KEY_NAMES`] and the password of a URL.
fn mask_named(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([':', '=', '@']) {
        let (before, behind) = rest.split_at(at + 1);
        out.push_str(before);
        rest = behind;
        if before.ends_with('@') {
            hide_password(&mut out);
            continue;
        }
        let name = before[..at].trim_end_matches(['"', '\'', '\\', ' ']);
        let start = name.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').map_or(0, |n| n + 1);
        let parameter = name[..start].ends_with(['?', '&']);
        let name = &name[start..];
        let named = KEY_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
            || parameter && PARAMETER_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known));
        if !named {
            continue;
        }
        let blank = rest.len() - rest.trim_start_matches(['"', '\'', '\\', ' ']).len();
        let value = &rest[blank..];
        let end = value
            .find(|c: char| {
                c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '&' | ',' | ';' | '<' | '>' | ')' | '}')
            })
            .unwrap_or(value.len());
        let end = value[..end].trim_end_matches([':', '.']).len();
        if end >= 8 && !value.starts_with("***") {
            out.push_str(&rest[..blank]);
            out.push_str("***");
            rest = &value[end..];
        }
    }
    out.push_str(rest);
    out
}

/// Replaces `https://user:password@` at the end of `out` by `https://***@`.
fn hide_password(out: &mut String) {
    let user = out.len() - 1;
    let near = out.floor_char_boundary(user.saturating_sub(1024));
    let Some(start) = out[near..user].rfind("://").map(|at| near + at + 3) else { return };
    let inside = &out[start..user];
    if !inside.is_empty() && !inside.contains(|c: char| c == '/' || c.is_whitespace()) {
        out.replace_range(start..user, "***");
    }
}

/// Headers and fields whose value is a key.
const KEY_NAMES: &[&str] = &[
    "x-api-key",
    "api-key",
    "api_key",
    "apikey",
    "x-goog-api-key",
    "access_token",
    "refresh_token",
    "client_secret",
    "x-auth-token",
    "proxy-authorization",
    "cookie",
    "password",
];

/// URL parameters whose value is a key; elsewhere these words are ambiguous.
const PARAMETER_NAMES: &[&str] = &["key", "token", "auth", "secret"];

/// Prefixes of the keys of common providers.
const KEY_PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "AIza",
    "gsk_",
    "xai-",
    "hf_",
    "csk-",
    "nvapi-",
    "ghp_",
    "gho_",
    "github_pat_",
    "r8_",
    "tgp_v1_",
    "ya29.",
    "AQ.",
];

#[cfg(test)]
mod tests;
