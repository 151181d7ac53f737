//! What can go wrong between a request and its answer, and whether another try makes sense.

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) mod classify;

/// A failed request. Programs decide by [`ErrorInfo::kind`] and [`ErrorInfo::retryable`], never by the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorInfo {
    /// What kind of failure it was.
    pub kind: ErrorKind,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The same request may succeed later.
    pub retryable: bool,
    /// How long the server asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The server's name of the request, for its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The text for people. Holds no key.
    pub message: String,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The caller cancelled the request.
    Aborted,
    /// The key is wrong or missing (401).
    Auth,
    /// The key may not do this (403, 451).
    Permission,
    /// No such address or model (404).
    NotFound,
    /// Too many requests (429).
    RateLimit,
    /// The account's quota is used up (402, or 429 that says so).
    UsageLimit,
    /// The server has too much to do (503, 529).
    Overloaded,
    /// The server failed (500 and its kin).
    Server,
    /// Nothing came for too long (408, connect and idle timers).
    Timeout,
    /// The connection failed: name, refusal, reset, TLS, early end.
    Network,
    /// The conversation is longer than the model's window.
    ContextOverflow,
    /// The server did not understand the request (400, 422).
    InvalidRequest,
    /// The model or the provider's filter refused to answer.
    Refusal,
    /// The answer was not what the protocol says.
    Malformed,
    /// The request could not be made: no model, no key, a bad file.
    Config,
}

impl ErrorKind {
    /// As the session file writes it.
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

    /// Whether a failure of this kind may pass when the same request is sent again.
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
    /// A failure of `kind` with the usual answer to "try again?".
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

    /// The failure of a request that its caller cancelled.
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

/// `text` without secrets: each of `secrets`, and whatever looks like a key, becomes `***`. Linear in
/// `text` for each secret.
#[must_use]
pub fn mask(text: &str, secrets: &[&str]) -> String {
    let mut text = text.to_string();
    for secret in secrets.iter().filter(|secret| secret.len() >= 4) {
        if text.contains(secret) {
            text = text.replace(secret, "***");
        }
    }
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(is_key) {
        let end = rest[start..].find(|c| !is_key(c)).map_or(rest.len(), |n| start + n);
        let word = &rest[start..end];
        out.push_str(&rest[..start]);
        let known = KEY_PREFIXES.iter().any(|prefix| word.len() >= prefix.len() + 8 && word.starts_with(prefix));
        let bearer = out.ends_with("Bearer ") && word.len() >= 8;
        out.push_str(if known || bearer { "***" } else { word });
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// How the keys of the usual providers begin.
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
