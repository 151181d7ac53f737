//! The body of an answer, and the timer that any byte resets.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::connect::without_number;
use super::encoding::Gunzip;
use super::pool::{Endpoint, Pool};
use super::{Connection, HttpError, HttpErrorKind, Io, seconds};

/// The most bytes that are read behind the last event of a stream.
const REST_LIMIT: usize = 64 * 1024;

/// The time that a server may take to end a stream behind its last event.
const REST_TIME: Duration = Duration::from_secs(1);

/// The body of an answer. Read to its end, it frees the connection for the next request; dropped before, it closes
/// the connection.
pub struct Body {
    incoming: Incoming,
    gunzip: Option<Gunzip>,
    activity: Activity,
    /// None when the connection was given back.
    connection: Option<Connection>,
    home: Option<(Pool, Endpoint)>,
}

impl Body {
    pub(super) fn new(
        incoming: Incoming,
        gunzip: Option<Gunzip>,
        connection: Connection,
        home: Option<(Pool, Endpoint)>,
    ) -> Body {
        Body { incoming, gunzip, activity: connection.activity.clone(), connection: Some(connection), home }
    }

    /// Ends a body whose remaining bytes say nothing more: reads them in the background, so that the connection can
    /// serve the next request.
    pub(crate) fn finish(mut self) {
        let Some((pool, endpoint)) = self.home.clone().filter(|_| self.connection.is_some()) else { return };
        let Some(returning) = pool.announce(&endpoint) else { return };
        tokio::spawn(async move {
            let rest = async {
                let mut length = 0;
                while let Ok(Some(data)) = self.received().await {
                    length += data.len();
                    if length > REST_LIMIT {
                        break;
                    }
                }
            };
            if tokio::time::timeout(REST_TIME, rest).await.is_err() {
                pool.give_up(&endpoint);
            }
            drop(returning);
        });
    }

    /// The next bytes, decompressed; None at the end.
    ///
    /// # Errors
    /// The connection or the compressed data broke before the announced end, or no byte came for the idle
    /// limit.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            if let Some(gunzip) = &mut self.gunzip
                && let Some(plain) = gunzip.next()?
            {
                return Ok(Some(plain));
            }
            let data = self.received().await?;
            match (&mut self.gunzip, data) {
                (None, data) => return Ok(data),
                (Some(gunzip), Some(data)) => gunzip.feed(data),
                (Some(gunzip), None) => return gunzip.finish(),
            }
        }
    }

    /// The next bytes as they were sent.
    async fn received(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let frame = self.activity.limit(self.incoming.frame()).await?;
            match frame {
                None => {
                    if let (Some((pool, endpoint)), Some(connection)) = (self.home.take(), self.connection.take()) {
                        pool.put(endpoint, connection);
                    }
                    return Ok(None);
                }
                Some(Err(error)) => return Err(http_error(&error)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data()
                        && !data.is_empty()
                    {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Reads at most `limit` bytes; true when there was more.
    ///
    /// # Errors
    /// As [`Body::chunk`].
    pub async fn read_limited(&mut self, limit: usize) -> Result<(Vec<u8>, bool), HttpError> {
        let mut read = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            let room = limit - read.len();
            if chunk.len() > room {
                read.extend_from_slice(&chunk[..room]);
                return Ok((read, true));
            }
            read.extend_from_slice(&chunk);
        }
        Ok((read, false))
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

const CLOSED: &str = "the connection was closed before the answer was complete";

/// A failure of the exchange in our words.
pub(super) fn http_error(error: &hyper::Error) -> HttpError {
    let (kind, text) = if error.is_incomplete_message() {
        (HttpErrorKind::Network, CLOSED.to_string())
    } else if error.is_parse() {
        (HttpErrorKind::Protocol, format!("the server does not speak HTTP: {error}"))
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
            false => (HttpErrorKind::Network, format!("the connection broke: {}", without_number(text))),
        }
    };
    HttpError::new(kind, text)
}

/// Ends its task when dropped.
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

    /// The bytes that came so far.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    fn touch(&self) {
        *self.last.lock() = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.last.lock()
    }

    /// `io` with each byte that is read or written counting as activity.
    pub(super) fn watch(&self, io: Box<dyn Io>) -> Watched {
        Watched { io, activity: self.clone() }
    }

    /// Waits for `future` until no byte has come for the limit.
    pub(super) async fn limit<F: Future>(&self, future: F) -> Result<F::Output, HttpError> {
        let Some(limit) = self.limit else {
            return Ok(future.await);
        };
        // The reader may have been busy elsewhere: the wait begins now.
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

/// A connection that notes when bytes pass.
pub(super) struct Watched {
    io: Box<dyn Io>,
    activity: Activity,
}

impl AsyncRead for Watched {
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

impl AsyncWrite for Watched {
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
