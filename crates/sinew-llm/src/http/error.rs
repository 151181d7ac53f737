//! Errors of exchanges.

use std::fmt;
use std::io;
use std::time::Duration;

/// A failed exchange, described without the request's headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError {
    /// The kind of failure.
    pub kind: HttpErrorKind,
    /// `connect to api.example.com:443: connection refused`.
    pub message: String,
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpErrorKind {
    /// The request could not be created: an invalid URL, header or proxy.
    Request,
    /// The name did not resolve, or the connection was refused, reset, or ended prematurely.
    Network,
    /// The certificate of the server is not trusted.
    Certificate,
    /// A time limit passed.
    Timeout,
    /// The answer is not valid HTTP.
    Protocol,
    /// The address filter refused the connection.
    Refused,
    /// The server redirected the request too often.
    Redirects,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HttpError {}

impl HttpError {
    pub(crate) fn new(kind: HttpErrorKind, message: impl Into<String>) -> HttpError {
        HttpError { kind, message: message.into() }
    }
}

const CLOSED: &str = "the connection was closed before the answer was complete";

/// Converts an error of the HTTP library.
pub(super) fn http_error(error: &hyper::Error) -> HttpError {
    let (kind, text) = if error.is_incomplete_message() {
        (HttpErrorKind::Network, CLOSED.to_string())
    } else if error.is_parse() {
        (HttpErrorKind::Protocol, format!("the answer is not valid HTTP: {error}"))
    } else {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(error);
        let mut cut = false;
        while let Some(inner) = cause {
            text = inner.to_string();
            cut |= inner.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::UnexpectedEof);
            cause = inner.source();
        }
        match cut {
            true => (HttpErrorKind::Network, CLOSED.to_string()),
            false => (HttpErrorKind::Network, format!("the connection failed: {}", without_number(text))),
        }
    };
    HttpError::new(kind, text)
}

/// Returns the system's message without Rust's "(os error 2)".
pub(super) fn without_number(text: String) -> String {
    text.rfind(" (os error ").map_or(text.clone(), |at| text[..at].to_string())
}

/// Formats a duration: `30 s`.
pub(crate) fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
