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

/// The path of the one address that answers.
pub const PATH: &str = "/mcp";

/// The time that the head of a request may take, also of the first one and of the next one of a connection: a
/// connection that asks for nothing in that time is closed.
const HEAD_LIMIT: Duration = Duration::from_secs(10);

/// The answer to an address that has too many requests at a time.
const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

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
    let open = Arc::new(Connections::default());
    let mut tasks = JoinSet::new();
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            // The client was gone before its turn came.
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
            // A client that does not read it has nobody left who could be told.
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
        // A client that breaks off has nobody left who could be told.
        _ = server.serve_connection(TokioIo::new(stream), answer) => {}
        () = slot.closed() => {}
    }
}
