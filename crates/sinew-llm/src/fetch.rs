//! Fetches a page for a tool: each redirect is checked, and the body is limited.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use url::Url;

use crate::http::{HttpClient, HttpError, HttpErrorKind, HttpRequest};

/// Checks each URL of a redirect.
#[derive(Clone)]
pub struct AddressCheck(Arc<Refusal>);

type Refusal = dyn Fn(&str) -> Option<String> + Send + Sync;

impl AddressCheck {
    /// Creates a check that returns what [`AddressCheck::refusal`] documents.
    pub fn new(refusal: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> AddressCheck {
        AddressCheck(Arc::new(refusal))
    }

    /// Returns the reason why a URL must not be visited, or `None` if it may be.
    #[must_use]
    pub fn refusal(&self, address: &str) -> Option<String> {
        (self.0)(address)
    }
}

impl fmt::Debug for AddressCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressCheck")
    }
}

/// The options of a fetch. The client's address filter checks every address, including those of redirects.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// The maximum size of the body in bytes; 10 MB.
    pub max_bytes: usize,
    /// The maximum number of redirects; 5.
    pub max_redirects: usize,
    /// Additional headers, sent to the first host only.
    pub headers: Vec<(String, String)>,
    /// The checks of each redirect's target, including those on the same server. Default: none, only the client's
    /// filter applies.
    pub redirects: Vec<AddressCheck>,
}

impl Default for FetchOptions {
    fn default() -> FetchOptions {
        FetchOptions { max_bytes: 10 * 1024 * 1024, max_redirects: 5, headers: Vec::new(), redirects: Vec::new() }
    }
}

/// A fetched page with any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// The final URL after all redirects.
    pub url: String,
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header; empty if it is missing.
    pub content_type: String,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// True if the body was longer than the limit.
    pub truncated: bool,
}

/// Posts `body` as JSON to `address` and reads at most `max_bytes` of the answer. Only follows redirects within the
/// same origin, because the data is intended for one server.
///
/// # Errors
/// Returns an error if the URL is invalid, its host is refused, or the exchange failed.
pub async fn post(
    client: &HttpClient,
    address: &str,
    body: &serde_json::Value,
    max_bytes: usize,
) -> Result<FetchedPage, HttpError> {
    let bad = |error| HttpError { kind: HttpErrorKind::Request, message: format!("post to \"{address}\": {error}") };
    let url = Url::parse(address).map_err(bad)?;
    let headers = vec![("content-type".to_string(), "application/json".to_string())];
    let body = Bytes::from(body.to_string());
    let request = HttpRequest { method: ::http::Method::POST, url: url.clone(), headers, body };
    let mut answer = client.send_within_origin(request).await?;
    let content_type = answer.headers.get(::http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_string();
    let status = answer.status;
    let (body, truncated) = answer.body.read_limited(max_bytes).await?;
    Ok(FetchedPage { url: url.to_string(), status, content_type, body, truncated })
}

/// Fetches `address`. Drop the future to limit the time.
///
/// # Errors
/// Returns an error if the URL is invalid, its host is refused, the exchange failed, or there were too many
/// redirects.
pub async fn get(client: &HttpClient, address: &str, options: &FetchOptions) -> Result<FetchedPage, HttpError> {
    let bad = |text: String| HttpError { kind: HttpErrorKind::Request, message: text };
    let mut url = Url::parse(address).map_err(|error| bad(format!("fetch \"{address}\": {error}")))?;
    let first_host = url.host_str().map(str::to_string);
    for _ in 0..=options.max_redirects {
        let same_host = url.host_str() == first_host.as_deref();
        let headers = if same_host { options.headers.clone() } else { Vec::new() };
        let request = HttpRequest { method: ::http::Method::GET, url: url.clone(), headers, body: Bytes::new() };
        let mut answer = client.send(request).await?;
        let header = |name| answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let next = header(::http::header::LOCATION);
        if matches!(answer.status, 301 | 302 | 303 | 307 | 308) && !next.is_empty() {
            url =
                url.join(next).map_err(|error| bad(format!("fetch \"{address}\": redirect to \"{next}\": {error}")))?;
            if let Some(reason) = options.redirects.iter().find_map(|check| check.refusal(url.as_str())) {
                return Err(bad(format!("fetch \"{address}\": {reason}")));
            }
            continue;
        }
        let content_type = header(::http::header::CONTENT_TYPE).to_string();
        let (body, truncated) = answer.body.read_limited(options.max_bytes).await?;
        return Ok(FetchedPage { url: url.to_string(), status: answer.status, content_type, body, truncated });
    }
    Err(bad(format!("fetch \"{address}\": more than {} redirects", options.max_redirects)))
}
