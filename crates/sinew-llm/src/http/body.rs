//! The body of an answer.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::connection::{Activity, Connection};
use super::encoding::Gunzip;
use super::error::{HttpError, http_error};
use super::pool::{Endpoint, Pool};

/// The maximum number of bytes read after the last event of a stream.
const REST_LIMIT: usize = 64 * 1024;

/// The maximum time for a server to end a stream after its last event.
const REST_TIME: Duration = Duration::from_secs(1);

/// The body of an answer. Reading it to the end makes the connection available for the next request; dropping it
/// earlier closes the connection.
pub struct Body {
    incoming: Incoming,
    gunzip: Option<Gunzip>,
    activity: Activity,
    /// `None` once the connection was returned.
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

    /// Finishes a body whose rest is irrelevant: reads it in the background, so that the connection can be reused.
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

    /// Returns the next bytes, decompressed; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the connection or the compressed data ended prematurely, or if no byte arrived within the
    /// idle limit.
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

    /// Returns the next bytes as they were sent.
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

    /// Reads at most `limit` bytes; returns true if there were more.
    ///
    /// # Errors
    /// Returns the errors of [`Body::chunk`].
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
