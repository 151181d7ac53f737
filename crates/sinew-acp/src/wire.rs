//! Reads and writes frames: lines of JSON-RPC on stdin and stdout, and our requests to the editor.

use std::io::{self, Read};
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sinew_control::client::{TakenBytes, Writer};
use sinew_control::output;
use sinew_jsonrpc::frame::SkippedMessage;
use sinew_jsonrpc::{Event, Frame, Id, Limits, LineDecoder, Outcome, Peer, RpcError, message};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// The maximum length of a line in bytes; prompts may contain images.
const LINE_BYTES: usize = 64_000_000;
/// The number of bytes per read of stdin.
const CHUNK: usize = 64 * 1024;

/// A line of the editor.
pub(super) enum Line {
    Message(Vec<u8>),
    TooLarge(SkippedMessage),
}

/// Reads lines on a thread until stdin ends. Only one line is buffered; the others stay in the pipe.
pub(super) fn lines(ended: CancellationToken) -> mpsc::Receiver<Line> {
    let (send, lines) = mpsc::channel(1);
    // The thread is not joined, because it may wait for a line that never arrives.
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        let mut decoder = LineDecoder::new(LINE_BYTES);
        let mut bytes = vec![0; CHUNK];
        let mut gone = false;
        while !gone {
            let count = match input.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // An error of stdin counts as its end.
                Err(_) => break,
            };
            decoder.push(&bytes[..count], |frame| gone |= !pass(&send, frame));
        }
        decoder.finish(|frame| gone |= !pass(&send, frame));
        ended.cancel();
    });
    lines
}

/// Sends a frame to the receiver; returns false if that is closed.
fn pass(send: &mpsc::Sender<Line>, frame: Frame<'_>) -> bool {
    let line = match frame {
        Frame::Message(bytes) => Line::Message(bytes.to_vec()),
        Frame::TooLarge(skipped) => Line::TooLarge(skipped.clone()),
        // This kind of error does not occur with lines.
        Frame::Broken(_) => return false,
    };
    send.blocking_send(line).is_ok()
}

/// The connection to the editor: frames are written in the order in which they were sent.
#[derive(Clone)]
pub(super) struct Wire {
    peer: Arc<Mutex<Peer<oneshot::Sender<Outcome>>>>,
    queue: mpsc::Sender<Vec<u8>>,
    taken: TakenBytes,
}

impl Wire {
    /// Starts the writer. `lost` is notified when nothing can be written any more.
    pub(super) fn start(lost: oneshot::Sender<()>) -> (Wire, Writer) {
        let (wire, mut frames) = Wire::queued();
        let count = wire.taken.clone();
        // Runs on a separate thread, because an editor that reads slowly must not delay the handling of signals.
        let writer = tokio::task::spawn_blocking(move || {
            let mut out = output::stdout();
            while let Some(frame) = frames.blocking_recv() {
                // An empty frame ends the writer, because the senders live as long as the sessions.
                if frame.is_empty() {
                    break;
                }
                let written = out.line(frame, |bytes| count.add(bytes));
                if let Err(error) = written {
                    // The receiver may have been dropped.
                    let _ = lost.send(());
                    return Err(error);
                }
            }
            Ok(())
        });
        (wire, writer)
    }

    /// Returns a connection and the queue of its frames for the writer; an empty frame is the last one.
    pub(super) fn queued() -> (Wire, mpsc::Receiver<Vec<u8>>) {
        let limits = Limits::default().with_message_bytes(LINE_BYTES);
        let (queue, frames) = mpsc::channel(limits.queued_messages);
        (Wire { peer: Arc::new(Mutex::new(Peer::new(limits))), queue, taken: TakenBytes::default() }, frames)
    }

    fn peer(&self) -> MutexGuard<'_, Peer<oneshot::Sender<Outcome>>> {
        self.peer.lock()
    }

    /// Processes a line: passes answers to the tasks that wait for them, and returns the other events.
    pub(super) fn receive(&self, line: &Line) -> Vec<Event<()>> {
        let mut rest = Vec::new();
        let mut take = |event: Event<oneshot::Sender<Outcome>>| match event {
            Event::Answer { waiter, outcome, .. } => {
                // The receiver may have been dropped.
                let _ = waiter.send(outcome);
            }
            Event::Request { id, method, params } => rest.push(Event::Request { id, method, params }),
            Event::Notification { method, params } => rest.push(Event::Notification { method, params }),
            Event::Unclaimed { .. } => {}
            Event::Bad { reason, preview, fatal } => rest.push(Event::Bad { reason, preview, fatal }),
        };
        match line {
            Line::Message(bytes) => self.peer().receive(bytes, take),
            Line::TooLarge(skipped) => take(self.peer().receive_skipped(skipped)),
        }
        rest
    }

    /// Sends a notification to the editor; waits if the queue is full.
    pub(super) async fn notify(&self, method: &str, params: &impl Serialize) {
        self.send(message::encode_notification(method, Some(params))).await;
    }

    /// Sends an update of a session.
    pub(super) async fn update(&self, session: &acp::SessionId, update: acp::SessionUpdate) {
        self.notify("session/update", &acp::SessionNotification::new(session.clone(), update)).await;
    }

    /// Answers a request.
    pub(super) async fn answer(&self, id: &Id, outcome: Result<Box<serde_json::value::RawValue>, RpcError>) {
        let frame = match outcome {
            Ok(result) => message::encode_result(id, &result),
            Err(error) => message::encode_error(Some(id), &error),
        };
        self.send(frame).await;
    }

    /// Responds to a line that is not a valid request.
    pub(super) async fn refuse(&self, error: &RpcError) {
        self.send(message::encode_error(None, error)).await;
    }

    /// Sends a request to the editor and waits for its answer, without a time limit. If the future is dropped, the
    /// request is cancelled.
    ///
    /// # Errors
    /// Returns the editor's error, or a reason why there is no answer.
    pub(super) async fn request<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, RpcError> {
        let (send, answer) = oneshot::channel();
        let called = self.peer().call(method, Some(params), send);
        let (id, frame) = called.map_err(|full| {
            RpcError::new(
                RpcError::INTERNAL_ERROR,
                format!("{} requests are already waiting for the editor", full.waiting),
            )
        })?;
        let pending = PendingRequest { wire: self, id };
        self.send(frame).await;
        let outcome = answer.await.unwrap_or_else(|_| Err(gone()));
        drop(pending);
        let wrong = |error: serde_json::Error| RpcError::new(RpcError::INTERNAL_ERROR, format!("{method}: {error}"));
        serde_json::from_str(outcome?.get()).map_err(wrong)
    }

    /// Fails all pending requests, because no more answers will arrive.
    pub(super) fn close(&self) {
        for (_, waiter) in self.peer().close() {
            let _ = waiter.send(Err(gone()));
        }
    }

    /// Ends the writer after everything is written.
    pub(super) async fn end(&self) {
        self.send(Vec::new()).await;
    }

    async fn send(&self, frame: Vec<u8>) {
        // An error of the writer is reported when it ends.
        let _ = self.queue.send(frame).await;
    }

    /// Returns the counter of bytes that the client has read.
    pub(super) fn taken(&self) -> &TakenBytes {
        &self.taken
    }
}

fn gone() -> RpcError {
    RpcError::new(RpcError::INTERNAL_ERROR, "the editor has disconnected")
}

/// A pending request, which is cancelled if it is dropped.
struct PendingRequest<'a> {
    wire: &'a Wire,
    id: i64,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if self.wire.peer().give_up(self.id).is_none() {
            return;
        }
        let params = acp::CancelRequestNotification::new(self.id);
        let frame = message::encode_notification("$/cancel_request", Some(&params));
        // If the queue is full, the editor does not read, and would not see the cancellation either.
        let _ = self.wire.queue.try_send(frame);
    }
}
