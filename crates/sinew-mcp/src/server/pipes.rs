//! Serves tools on one pair of pipes to one client, with concurrent calls.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use sinew_base::CancelHandle;
use sinew_jsonrpc::frame::into_line;
use sinew_jsonrpc::{Frame, Id, LineDecoder, Message, RpcError, message};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::service::{ReadyCall, Reply, Service, era_of, read_params};
use super::{ServedTool, ServerOptions};
use crate::era::Era;

/// How long a client that has ended its input may need to read the remaining answers.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Serves tools until the input ends; then cancels every call and drops its answer, which has no reader.
///
/// # Errors
/// Returns an error if reading fails, or if the client writes 100 consecutive lines that are not messages.
pub async fn serve(
    tools: Vec<Arc<dyn ServedTool>>,
    options: ServerOptions,
    mut input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let limits = options.limits;
    let (outbox, queue) = mpsc::channel(limits.queued_messages);
    let mut writer = tokio::spawn(write(output, queue));
    let mut decoder = LineDecoder::new(limits.message_bytes);
    let mut server = Server::new(Service::new(tools, options), outbox);
    let mut bytes = Vec::with_capacity(64 * 1024);
    let result = loop {
        bytes.clear();
        match input.read_buf(&mut bytes).await {
            Ok(0) => break Ok(()),
            Err(cause) => break Err(cause),
            Ok(_) => decoder.push(&bytes, |frame| server.receive(frame)),
        }
        if server.bad_in_a_row >= limits.bad_in_a_row {
            break Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the client writes text that is not a protocol message",
            ));
        }
        server.reap();
    };
    if result.is_ok() {
        decoder.finish(|frame| server.receive(frame));
    }
    drop(server);
    // After the calls, the queue has no sender; the remaining answers are written if the client reads them.
    if tokio::time::timeout(LAST_ANSWERS, &mut writer).await.is_err() {
        writer.abort();
    }
    result
}

async fn write(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = queue.recv().await {
        // The reading task detects that the client is gone.
        if output.write_all(&into_line(message)).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

type Calls = Arc<Mutex<HashMap<Id, CancelHandle>>>;

struct Server {
    service: Service,
    outbox: mpsc::Sender<Vec<u8>>,
    calls: Calls,
    tasks: JoinSet<()>,
    greeted: bool,
    bad_in_a_row: usize,
}

impl Drop for Server {
    fn drop(&mut self) {
        for (_, canceller) in self.calls.lock().drain() {
            canceller.cancel();
        }
    }
}

impl Server {
    fn new(service: Service, outbox: mpsc::Sender<Vec<u8>>) -> Server {
        Server { service, outbox, calls: Calls::default(), tasks: JoinSet::new(), greeted: false, bad_in_a_row: 0 }
    }

    fn receive(&mut self, frame: Frame<'_>) {
        let limits = self.service.options.limits;
        let parsed = match frame {
            Frame::Message(bytes) => message::parse(bytes, limits.depth),
            Frame::TooLarge(skipped) => {
                let limit = limits.message_bytes;
                Err(format!("a message of {} bytes exceeds the limit of {limit}, and was not read", skipped.bytes))
            }
            Frame::Broken(reason) => Err(reason.to_string()),
        };
        match parsed {
            Ok(messages) => {
                self.bad_in_a_row = 0;
                messages.into_iter().for_each(|message| self.message(message));
            }
            Err(reason) => {
                self.bad_in_a_row += 1;
                let error = RpcError::new(RpcError::PARSE_ERROR, format!("Not a message: {reason}"));
                self.send(message::encode_error(None, &error));
            }
        }
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Request { id, method, params } => {
                let done = read_params(params.as_deref()).and_then(|params| {
                    let era = era_of(self.greeted, &method, &params)?;
                    self.greeted |= method == "initialize" && era == Era::Legacy;
                    match self.service.reply(era, &method, params) {
                        Reply::Now(answer) => answer.map(Some),
                        Reply::Call(call) => self.begin(&id, call).map(|()| None),
                    }
                });
                match done {
                    Ok(Some(result)) => self.send(message::encode_result(&id, &result)),
                    Err(error) => self.send(message::encode_error(Some(&id), &error)),
                    // The answer is sent by another task.
                    Ok(None) => {}
                }
            }
            Message::Notification { method, params } if method == "notifications/cancelled" => {
                let id = match read_params(params.as_deref()).unwrap_or_default().remove("requestId") {
                    Some(Value::String(text)) => Id::Text(text.into()),
                    Some(Value::Number(number)) => Id::Number(number.as_i64().unwrap_or_default()),
                    _ => return,
                };
                if let Some(canceller) = self.calls.lock().remove(&id) {
                    canceller.cancel();
                }
            }
            // The server sends no requests, so it expects no answers.
            Message::Notification { .. } | Message::Response { .. } => {}
        }
    }

    /// Begins a call.
    fn begin(&mut self, id: &Id, call: ReadyCall) -> Result<(), RpcError> {
        let (canceller, cancel) = CancelHandle::new();
        {
            let mut calls = self.calls.lock();
            if calls.len() >= self.service.options.limits.waiting_calls || calls.contains_key(id) {
                return Err(RpcError::new(
                    RpcError::INVALID_REQUEST,
                    "too many concurrent calls, or an id that is already in use",
                ));
            }
            calls.insert(id.clone(), canceller);
        }
        let (id, calls, outbox) = (id.clone(), Arc::clone(&self.calls), self.outbox.clone());
        self.tasks.spawn(async move {
            let Some(result) = call.run(cancel, outbox.clone()).await else { return };
            // A call that was just cancelled is not answered.
            if calls.lock().remove(&id).is_some() {
                let _ = outbox.send(message::encode_result(&id, &result)).await;
            }
        });
        Ok(())
    }

    fn reap(&mut self) {
        while self.tasks.try_join_next().is_some() {}
    }

    /// Sends an immediate answer. If the client does not read, the answer is dropped, which limits the memory use.
    fn send(&self, message: Vec<u8>) {
        let _ = self.outbox.try_send(message);
    }
}
