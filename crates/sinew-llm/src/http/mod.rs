//! HTTP/1.1 for providers and tools: reusable connections, proxies, TLS, and time limits that distinguish slow servers
//! from dead ones. Compressed bodies (gzip) are decompressed chunk by chunk.
//!
//! Proxies, limits and trusted certificates are values in [`HttpConfig`]; the crate reads no environment variables. A
//! connection whose answer was read to the end is reused. Dropping a request, or a [`Body`] before its end, closes the
//! connection.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use url::Url;

mod body;
mod config;
mod connect;
mod connection;
mod encoding;
mod error;
mod pool;
mod proxy;
mod redirect;
mod tls;

pub use body::Body;
pub use config::{AddressFilter, Exchange, HttpConfig, Observer};
pub use error::{HttpError, HttpErrorKind};
pub use proxy::{Proxies, is_loopback};
pub use tls::Roots;

use connection::{AbortOnDrop, Activity, Connection, Route};
use error::{http_error, seconds};
use pool::{Endpoint, Pool};

/// Sends requests. Cheap to clone; clones share their connections and the TLS configuration, which is created by the
/// first `https` request.
#[derive(Clone, Debug, Default)]
pub struct HttpClient {
    config: Arc<HttpConfig>,
    tls: Arc<OnceLock<Arc<rustls::ClientConfig>>>,
    pool: Pool,
}

/// A request.
#[derive(Clone)]
pub struct HttpRequest {
    /// The method, such as `GET` or `POST`.
    pub method: http::Method,
    /// `http` or `https`.
    pub url: Url,
    /// Headers in order; `Host`, `User-Agent` and `Accept-Encoding` are added if they are missing.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Bytes,
}

/// The head of an answer, and its unread body.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

impl HttpClient {
    /// Creates a client with these settings.
    #[must_use]
    pub fn new(config: HttpConfig) -> HttpClient {
        HttpClient { config: Arc::new(config), tls: Arc::default(), pool: Pool::default() }
    }

    /// Returns the settings.
    #[must_use]
    pub fn config(&self) -> &HttpConfig {
        &self.config
    }

    /// Sends a request and waits for the head of the answer. Follows no redirects.
    ///
    /// If possible, an idle connection is reused. A server may close such a connection at the moment the request is
    /// sent: if it does so without a single byte of an answer, the request is sent again over a new connection. Nothing
    /// else is sent twice.
    ///
    /// # Errors
    /// Returns [`HttpError`] if there is no answer; an answer with any status is a success.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let Some(observer) = &self.config.observer else { return self.answer(request).await };
        let (method, begun) = (request.method.clone(), Instant::now());
        let path = &request.url[url::Position::BeforeHost..url::Position::AfterPath];
        let place = format!("{}://{path}", request.url.scheme());
        let answer = self.answer(request).await;
        let outcome = answer.as_ref().map(|answer| answer.status);
        observer(&Exchange { method: &method, place: &place, outcome, took: begun.elapsed() });
        answer
    }

    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let proxy = self.config.proxies.for_url(&request.url)?;
        let endpoint = Endpoint::new(&request.url, proxy.as_ref());
        if let Some(mut connection) = self.pool.take(&endpoint).await {
            let head = head(&self.config, &connection, &request)?;
            match ask(&mut connection, head).await {
                Ok(answer) => return response(connection, answer, Some((self.pool.clone(), endpoint))),
                Err(failure) if failure.unanswered => {}
                Err(failure) => return Err(failure.error),
            }
        }
        let connect = connect::connect(self, &request.url, proxy);
        let route = match self.config.connect_timeout {
            None => connect.await?,
            Some(limit) => tokio::time::timeout(limit, connect).await.map_err(|_| {
                let host = request.url.host_str().unwrap_or_default();
                HttpError::new(
                    HttpErrorKind::Timeout,
                    format!("connect to {host}: no connection within {}", seconds(limit)),
                )
            })??,
        };
        exchange(&self.config, route, request, Some((self.pool.clone(), endpoint))).await
    }

    pub(crate) fn tls(&self) -> Result<Arc<rustls::ClientConfig>, HttpError> {
        if let Some(tls) = self.tls.get() {
            return Ok(Arc::clone(tls));
        }
        let made = tls::client_config(&self.config.roots)?;
        Ok(Arc::clone(self.tls.get_or_init(|| made)))
    }
}

/// The failure of a request without an answer.
struct Failure {
    error: HttpError,
    /// True if the connection ended without a byte of an answer.
    unanswered: bool,
}

/// Sends `request` over a new connection and reads the head of the answer. After the answer the connection returns to
/// the pool, if one is given.
async fn exchange(
    config: &HttpConfig,
    route: Route,
    request: HttpRequest,
    home: Option<(Pool, Endpoint)>,
) -> Result<HttpResponse, HttpError> {
    let activity = Activity::new(config.idle_timeout);
    let io = TokioIo::new(activity.watch(route.io));
    let started = hyper::client::conn::http1::Builder::new().handshake(io).await;
    let (sender, task) = started.map_err(|error| http_error(&error))?;
    let task = AbortOnDrop::spawn(async move {
        // Its error reaches the request or the body, whichever is waiting.
        let _ = task.await;
    });
    let Route { absolute, proxy_auth, .. } = route;
    let mut connection = Connection { sender, activity, absolute, proxy_auth, _task: task };
    let head = head(config, &connection, &request)?;
    let answer = ask(&mut connection, head).await.map_err(|failure| failure.error)?;
    response(connection, answer, home)
}

/// Sends a request and waits for the head of its answer.
async fn ask(
    connection: &mut Connection,
    request: http::Request<Full<Bytes>>,
) -> Result<http::Response<Incoming>, Failure> {
    let Connection { sender, activity, .. } = connection;
    let before = activity.received();
    let sent = activity.limit(async {
        // The task that drives the connection may not have noticed yet that it is free again.
        sender.ready().await?;
        sender.send_request(request).await
    });
    match sent.await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            Err(Failure { unanswered: activity.received() == before && !error.is_user(), error: http_error(&error) })
        }
        // The server may be working on the answer.
        Err(error) => Err(Failure { error, unanswered: false }),
    }
}

fn response(
    connection: Connection,
    answer: http::Response<Incoming>,
    home: Option<(Pool, Endpoint)>,
) -> Result<HttpResponse, HttpError> {
    let (head, incoming) = answer.into_parts();
    let gunzip = encoding::Gunzip::for_head(&head.headers)?;
    let body = Body::new(incoming, gunzip, connection, home);
    Ok(HttpResponse { status: head.status.as_u16(), headers: head.headers, body })
}

fn head(
    config: &HttpConfig,
    route: &Connection,
    request: &HttpRequest,
) -> Result<http::Request<Full<Bytes>>, HttpError> {
    let url = &request.url;
    let bad = |what: String| HttpError::new(HttpErrorKind::Request, what);
    let target = if route.absolute {
        let mut url = url.clone();
        url.set_fragment(None);
        // Neither fails for a URL with a host.
        let _ = (url.set_username(""), url.set_password(None));
        url.to_string()
    } else {
        url[url::Position::BeforePath..url::Position::AfterQuery].to_string()
    };
    let mut headers = HeaderMap::new();
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    headers.insert(HOST, HeaderValue::from_str(host).map_err(|_| bad(format!("send request: bad host \"{host}\"")))?);
    let agent =
        HeaderValue::from_str(&config.user_agent).map_err(|_| bad("send request: bad user agent".to_string()))?;
    headers.insert(http::header::USER_AGENT, agent);
    headers.insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    for (name, value) in &request.headers {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| bad(format!("send request: bad header name \"{name}\"")))?;
        // The value may be a key, so it is not part of the message.
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| {
            bad(format!("send request: the value of header \"{name}\" has characters that HTTP does not allow"))
        })?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    if let Some(auth) = &route.proxy_auth {
        headers.insert(http::header::PROXY_AUTHORIZATION, auth.clone());
    }
    let built =
        http::Request::builder().method(request.method.clone()).uri(target).body(Full::new(request.body.clone()));
    let mut built =
        built.map_err(|error| bad(format!("send request to {}: {error}", url.host_str().unwrap_or_default())))?;
    *built.headers_mut() = headers;
    Ok(built)
}

#[cfg(test)]
mod tests;
