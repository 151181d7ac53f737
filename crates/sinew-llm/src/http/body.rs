//! The body of an answer.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::connection::{Activity, Connection};
use super::encoding::Gunzip;
use super::error::{HttpError, http_error};
use super::pool::{Endpoint, Pool};

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
    pub fn finish(mut self) {
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
