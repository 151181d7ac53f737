//! Redirects that a request with a body and a key may follow.

use http::header::LOCATION;
use url::{Position, Url};

use super::{HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse};

/// The maximum number of redirects.
const MOST: usize = 5;

impl HttpClient {
    /// Sends a request as [`HttpClient::send`] does, and repeats it, with headers and body, for each redirect with 307
    /// or 308 to the same scheme, host and port; at most 5 times. Any other redirect is returned as the answer, because
    /// another server must not receive a key.
    ///
    /// # Errors
    /// Returns the errors of [`HttpClient::send`], and [`HttpErrorKind::Redirects`] if a sixth redirect follows.
    pub async fn send_within_origin(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut seen = Vec::new();
        while seen.len() <= MOST {
            let response = self.send(request.clone()).await?;
            let Some(next) = next_within_origin(&request.url, &response) else { return Ok(response) };
            seen.push(std::mem::replace(&mut request.url, next));
        }
        Err(HttpError::new(HttpErrorKind::Redirects, endless(&request.url, &seen)))
    }
}

/// Returns the message for a redirect to `url` after those of `seen`, without the credentials and the query of the URL.
fn endless(url: &Url, seen: &[Url]) -> String {
    let place = format!("{}://{}", url.scheme(), &url[Position::BeforeHost..Position::AfterPath]);
    match seen.contains(url) {
        true => format!("the server redirects in a loop to {place}"),
        false => format!("the server redirects more than {MOST} times, at last to {place}"),
    }
}

fn next_within_origin(url: &Url, response: &HttpResponse) -> Option<Url> {
    if !matches!(response.status, 307 | 308) {
        return None;
    }
    let next = url.join(response.headers.get(LOCATION)?.to_str().ok()?).ok()?;
    (next.origin() == url.origin()).then_some(next)
}
