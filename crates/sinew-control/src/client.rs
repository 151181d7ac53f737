//! Observes the client that reads stdout, and ends the writer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::ending::LAST_OUTPUT;
use crate::output::tell;

/// The maximum time in which a client that has closed stdin may read nothing.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The thread that writes; it fails when nobody reads any more.
pub type Writer = JoinHandle<io::Result<()>>;

/// Counts the bytes that a client has read. Clones share the count.
#[derive(Clone, Default)]
pub struct TakenBytes(Arc<AtomicU64>);

impl TakenBytes {
    /// Counts bytes that the client has read.
    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Resolves when the client does not read any more.
    pub async fn stuck(&self) {
        let mut before = self.0.load(Ordering::Relaxed);
        loop {
            tokio::time::sleep(TIMEOUT).await;
            let now = self.0.load(Ordering::Relaxed);
            if now == before {
                return;
            }
            before = now;
        }
    }
}

/// Ends the writer with `end` and waits until everything is written, as long as the client reads; after a signal only
/// for a short time. Returns the exit code.
pub async fn end_writer(code: u8, taken: &TakenBytes, end: impl Future<Output = ()>, writer: Writer) -> u8 {
    let last = async {
        end.await;
        writer.await
    };
    let limit = if code >= 128 { LAST_OUTPUT } else { Duration::MAX };
    let ended = tokio::select! {
        ended = tokio::time::timeout(limit, last) => ended.ok(),
        () = taken.stuck() => None,
    };
    match ended {
        Some(Ok(Err(error))) if error.kind() != io::ErrorKind::BrokenPipe => {
            tell(&format!("Error: failed to write to stdout: {error}"));
            1
        }
        Some(Err(panic)) => {
            tell(&format!("Error: {panic}"));
            1
        }
        _ => code,
    }
}
