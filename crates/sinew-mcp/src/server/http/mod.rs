//! Tools over HTTP: a request is a POST, its answer JSON, or a stream of events where somebody wants to see progress.
//!
//! Every request stands for itself: no session, nothing that a client could leave behind. A client from before 2026-07-28
//! gets none either, which its revisions allow; GET and DELETE, which are about sessions, answer 405. A call ends with the
//! connection that asked for it.
//!
//! A web page of a stranger can reach a server on the user's machine. It cannot set `Origin` or `Host`, it cannot read the
//! token, and it cannot send JSON without being asked about it first: each of these is checked before a byte of a body is
//! read.

mod access;
mod exchange;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::access::Access;
use self::exchange::Endpoint;
use super::Service;

/// The path of the one address that answers.
pub const PATH: &str = "/mcp";

/// Connections at a time; others wait until one of them ends. One serves one call at a time.
const CONNECTIONS: usize = 64;

/// The time from one request of a connection to the head of the next, after which it is closed.
const HEAD_LIMIT: Duration = Duration::from_secs(60);

/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 * 1024;

/// Serves tools to whoever knows `token` (None: to everybody who may reach the listener) until the future is dropped, which
/// ends every call.
///
/// Answers requests that are sent to the listener by an IP address or as `localhost`; of other names nobody knows whether
/// an attacker's DNS server answers for them.
///
/// # Errors
/// No further connection can be taken.
pub async fn serve_http(service: Service, listener: TcpListener, token: Option<&str>) -> io::Result<()> {
    let access = Access::new(listener.local_addr()?, token);
    let endpoint = Arc::new(Endpoint { service, access });
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // The client was gone before its turn came.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        while connections.try_join_next().is_some() {}
        let endpoint = Arc::clone(&endpoint);
        connections.spawn(async move {
            let _place = place;
            let answer = service_fn(move |request| {
                let endpoint = Arc::clone(&endpoint);
                async move { Ok::<_, Infallible>(endpoint.answer(request).await) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT).max_buf_size(HEAD_BYTES);
            // A client that breaks off has nobody left who could be told.
            let _ = server.serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}
