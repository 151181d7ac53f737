//! The transport over two streams, for example those of a program under a keeper: one message per line.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sinew_jsonrpc::frame::into_line;
use sinew_jsonrpc::{Event, Frame, Id, LineDecoder, Outcome, Peer, message};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::client::{Client, ClientOptions};
use crate::core::{Core, Watcher};
use crate::error::McpError;
use crate::link::{Link, cancelled, set_progress_token};

/// The size of a read.
const READ_BYTES: usize = 64 * 1024;

struct Waiter {
    answer: oneshot::Sender<Outcome>,
    watcher: Watcher,
}

/// The waiting calls, or why no more calls are possible.
struct Table {
    peer: Peer<Waiter>,
    closed: Option<String>,
}

/// The stream that a server writes.
pub(crate) type Output = Box<dyn AsyncRead + Send + Unpin>;

/// The stream from which a server reads.
pub(crate) type Input = Box<dyn AsyncWrite + Send + Unpin>;

impl Client {
    /// Connects to a server that reads `input` and writes `output`, one message per line. Dropping the client closes
    /// both.
    ///
    /// # Errors
    /// Returns [`McpError::Start`] if the server is not ready in time, or the server's error.
    pub async fn over(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        options: &ClientOptions,
    ) -> Result<Client, McpError> {
        let core = Core::new(Arc::clone(&options.host), options.limits);
        let link = PipeLink::open(&core, Box::new(input), Box::new(output));
        let connecting = Client::connect(core, Link::Streams(link), options);
        let connected = tokio::time::timeout(options.start_limit, connecting).await;
        connected.unwrap_or_else(|_| Err(McpError::Start(too_late(options))))
    }
}

/// Returns the error text for a start that took too long.
pub(crate) fn too_late(options: &ClientOptions) -> String {
    format!("the server did not start within {} s.", options.start_limit.as_secs_f64())
}

/// A connection over two pipes. Dropping it stops its tasks and closes both pipes.
pub(crate) struct PipeLink {
    table: Arc<Mutex<Table>>,
    outbox: mpsc::Sender<Vec<u8>>,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

impl PipeLink {
    /// Begins to read and write. Must be called within a runtime.
    pub(crate) fn open(core: &Arc<Core>, input: Input, output: Output) -> PipeLink {
        let table = Arc::new(Mutex::new(Table { peer: Peer::new(core.limits), closed: None }));
        let (outbox, queue) = mpsc::channel(core.limits.queued_messages);
        let reader = tokio::spawn(read(output, Arc::clone(core), Arc::clone(&table), outbox.clone()));
        let writer = tokio::spawn(write(input, queue));
        PipeLink { table, outbox, reader, writer }
    }

    /// Sends a request and waits for its answer, without a time limit. Dropping the future cancels the call, and
    /// notifies the server if `cancellable`.
    pub(crate) async fn request(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        watcher: Option<Watcher>,
        cancellable: bool,
    ) -> Result<Box<RawValue>, McpError> {
        let (answer, answered) = oneshot::channel();
        let reports = watcher.is_some();
        let watcher = watcher.unwrap_or_else(|| Watcher { touched: Arc::default(), sink: None });
        let (id, request) = {
            let mut table = self.table.lock();
            if let Some(reason) = &table.closed {
                return Err(McpError::Closed(reason.clone()));
            }
            let id = table
                .peer
                .register(Waiter { answer, watcher })
                .map_err(|refused| McpError::TooManyCalls(refused.waiting))?;
            if reports {
                set_progress_token(&mut params, id);
            }
            (id, message::encode_request(&Id::Number(id), method, Some(&params)))
        };
        let mut pending = PendingCall { link: self, id, cancellable, sent: false };
        if self.outbox.send(request).await.is_err() {
            return Err(self.closed());
        }
        pending.sent = true;
        match answered.await {
            Ok(outcome) => outcome.map_err(McpError::from),
            Err(_) => Err(self.closed()),
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), McpError> {
        let notification = message::encode_notification(method, Some(params));
        self.outbox.send(notification).await.map_err(|_| self.closed())
    }

    /// Stops writing: the server sees the end of its input.
    pub(crate) fn close(&self) {
        self.writer.abort();
    }

    /// Returns why the connection ended; `None` if it is open.
    pub(crate) fn closed_reason(&self) -> Option<String> {
        self.table.lock().closed.clone()
    }

    fn closed(&self) -> McpError {
        McpError::Closed(self.closed_reason().unwrap_or_else(|| "the server stopped reading".to_string()))
    }
}

impl Drop for PipeLink {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

/// A sent call. Dropping it before the answer cancels the call.
struct PendingCall<'a> {
    link: &'a PipeLink,
    id: i64,
    cancellable: bool,
    sent: bool,
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        let waits = self.link.table.lock().peer.give_up(self.id).is_some();
        if waits && self.sent && self.cancellable {
            // If the server does not read, the notification is lost: waiting for the queue would block the caller.
            let _ = self.link.outbox.try_send(cancelled(self.id));
        }
    }
}

async fn write(mut pipe: Input, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = queue.recv().await {
        // The reader notices the end of a server and wakes the waiting calls.
        if pipe.write_all(&into_line(message)).await.is_err() {
            return;
        }
    }
}

async fn read(mut pipe: Output, core: Arc<Core>, table: Arc<Mutex<Table>>, outbox: mpsc::Sender<Vec<u8>>) {
    let mut decoder = LineDecoder::new(core.limits.message_bytes);
    let mut bytes = Vec::with_capacity(READ_BYTES);
    let mut fatal = None;
    let reason = loop {
        bytes.clear();
        match pipe.read_buf(&mut bytes).await {
            Ok(0) => break "the server closed its output".to_string(),
            Err(cause) => break format!("reading from the server failed: {cause}"),
            Ok(_) => decoder.push(&bytes, |frame| receive(frame, &core, &table, &outbox, &mut fatal)),
        }
        if let Some(reason) = fatal.take() {
            break reason;
        }
        // A flood of messages does not block the runtime's other tasks.
        tokio::task::consume_budget().await;
    };
    decoder.finish(|frame| receive(frame, &core, &table, &outbox, &mut fatal));
    let waiting = {
        let mut table = table.lock();
        table.closed = Some(reason);
        table.peer.close()
    };
    // Waiting calls see the end of their channel.
    drop(waiting);
}

fn receive(
    frame: Frame<'_>,
    core: &Arc<Core>,
    table: &Mutex<Table>,
    outbox: &mpsc::Sender<Vec<u8>>,
    fatal: &mut Option<String>,
) {
    let mut events = Vec::new();
    match frame {
        Frame::Message(bytes) => table.lock().peer.receive(bytes, |event| events.push(event)),
        Frame::TooLarge(skipped) => events.push(table.lock().peer.receive_skipped(skipped)),
        Frame::Broken(reason) => *fatal = Some(reason.to_string()),
    }
    for event in events {
        match event {
            Event::Answer { waiter, outcome, .. } => {
                // The caller may have just been dropped.
                let _ = waiter.answer.send(outcome);
            }
            Event::Notification { method, params } => {
                let watcher = |id| table.lock().peer.waiter(id).map(|waiter| waiter.watcher.clone());
                core.notified(&method, params.as_deref(), watcher);
            }
            Event::Request { id, method, params } => {
                core.requested(id, &method, params.as_deref(), outbox);
            }
            Event::Unclaimed { id, error } => {
                if let (None, Some(error)) = (id, error) {
                    core.host.log(&format!("the server could not read a message: {error}"));
                }
            }
            Event::Bad { reason, preview, fatal: last } => {
                core.host.log(&format!("not a protocol message ({reason}): {preview}"));
                if last {
                    *fatal = Some("the server writes text that is not a protocol message".to_string());
                }
            }
        }
    }
}
