//! Tools over HTTP: a request is a POST, its answer is JSON, or a stream of events if the client wants progress
//! reports.
//!
//! Every request is self-contained: there are no sessions and no state of a client. This includes clients from before
//! 2026-07-28, whose revisions allow it; GET and DELETE, which concern sessions, answer 405. A call ends with its
//! connection.
//!
//! A malicious web page can reach a server on the user's machine. It cannot set `Origin` or `Host`, it cannot read the
//! token, and it cannot send JSON without a preflight request: each of these is checked before a body is read.

mod access;
mod connections;
mod exchange;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use self::access::Access;
use self::connections::{Connections, Slot};
use self::exchange::Endpoint;
use super::Service;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// The time limit for the head of each request; a connection that sends no request in that time is closed.
const HEAD_LIMIT: Duration = Duration::from_secs(10);

/// The answer to an IP address with too many concurrent requests.
const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// The maximum size of a request's head.
const HEAD_BYTES: usize = 64 * 1024;

/// Serves tools to clients that know `token` (`None`: to everybody who can reach the listener) until the future is
/// dropped, which ends every call.
///
/// Answers requests that are sent to the listener by an IP address or as `localhost`; any other name could belong to an
/// attacker's DNS server.
///
/// # Errors
/// Returns an error if no further connections can be accepted.
pub async fn serve_http(service: Service, listener: TcpListener, token: Option<&str>) -> io::Result<()> {
    let access = Access::new(listener.local_addr()?, token);
    let endpoint = Arc::new(Endpoint { service, access });
    let open = Arc::new(Connections::default());
    let mut tasks = JoinSet::new();
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            // The client disconnected before it was accepted.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        while tasks.try_join_next().is_some() {}
        match open.admit(peer.ip()).await {
            Some(slot) => {
                tasks.spawn(serve_connection(Arc::clone(&endpoint), stream, slot));
            }
            // If the client does not read the answer, nobody can be notified.
            None => {
                let _ = stream.try_write(TOO_MANY);
            }
        }
    }
}

/// Answers the requests of one connection, until it ends or its slot is needed.
async fn serve_connection(endpoint: Arc<Endpoint>, stream: TcpStream, slot: Slot) {
    let slot = Arc::new(slot);
    let asked = Arc::clone(&slot);
    let answer = service_fn(move |request| {
        let (endpoint, slot) = (Arc::clone(&endpoint), Arc::clone(&asked));
        async move { Ok::<_, Infallible>(endpoint.answer(request, &slot).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT).max_buf_size(HEAD_BYTES);
    tokio::select! {
        // If the client disconnects, nobody can be notified.
        _ = server.serve_connection(TokioIo::new(stream), answer) => {}
        () = slot.closed() => {}
    }
}
