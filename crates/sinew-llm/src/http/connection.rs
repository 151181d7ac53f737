//! One connection, and the idle timer that any byte resets.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderValue;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::error::{HttpError, HttpErrorKind, seconds};

/// A connection over any transport.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A connection that is ready for a request.
pub(crate) struct Route {
    pub(crate) io: Box<dyn Io>,
    /// True if the request line contains the whole URL, as a plain proxy requires.
    pub(crate) absolute: bool,
    /// `Proxy-Authorization` for a plain proxy; `None` without one.
    pub(crate) proxy_auth: Option<HeaderValue>,
}

/// An HTTP connection. Dropping it closes it.
pub(super) struct Connection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    pub(super) activity: Activity,
    pub(super) absolute: bool,
    pub(super) proxy_auth: Option<HeaderValue>,
    pub(super) _task: AbortOnDrop,
}

/// Aborts its task when dropped.
pub(super) struct AbortOnDrop(JoinHandle<()>);

impl AbortOnDrop {
    pub(super) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> AbortOnDrop {
        AbortOnDrop(tokio::spawn(future))
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The time of the last byte, and the number of bytes.
#[derive(Clone)]
pub(super) struct Activity {
    last: Arc<Mutex<Instant>>,
    received: Arc<AtomicU64>,
    limit: Option<Duration>,
}

impl Activity {
    pub(super) fn new(limit: Option<Duration>) -> Activity {
        Activity { last: Arc::new(Mutex::new(Instant::now())), received: Arc::default(), limit }
    }

    /// Returns the number of bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    fn touch(&self) {
        *self.last.lock() = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.last.lock()
    }

    /// Wraps `io` such that each byte read or written counts as activity.
    pub(super) fn watch(&self, io: Box<dyn Io>) -> ActivityStream {
        ActivityStream { io, activity: self.clone() }
    }

    /// Waits for `future`, until no byte was transferred within the limit.
    pub(super) async fn limit<F: Future>(&self, future: F) -> Result<F::Output, HttpError> {
        let Some(limit) = self.limit else {
            return Ok(future.await);
        };
        // The reader may have been busy elsewhere, so the time limit starts now.
        self.touch();
        let mut future = pin!(future);
        loop {
            let until = self.last() + limit;
            tokio::select! {
                biased;
                done = &mut future => return Ok(done),
                () = tokio::time::sleep_until(until) => {
                    if self.last() + limit <= Instant::now() {
                        let text = format!("the server sent nothing for {}", seconds(limit));
                        return Err(HttpError::new(HttpErrorKind::Timeout, text));
                    }
                }
            }
        }
    }
}

/// A connection that records activity.
pub(super) struct ActivityStream {
    io: Box<dyn Io>,
    activity: Activity,
}

impl AsyncRead for ActivityStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.io).poll_read(context, buffer);
        let count = buffer.filled().len() - before;
        if count > 0 {
            self.activity.received.fetch_add(count as u64, Ordering::AcqRel);
            self.activity.touch();
        }
        done
    }
}

impl AsyncWrite for ActivityStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.io).poll_write(context, bytes);
        if done.is_ready() {
            self.activity.touch();
        }
        done
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
