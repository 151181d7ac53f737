//! The half that lends tools: both eras on one pair of pipes, many calls at a time, nothing but the protocol written.
//!
//! What a tool does comes from the caller as [`ServedTool`]; this module knows no tool. Requests since 2026-07-28 stand
//! for themselves; a client from before is served once it has shaken hands.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sinew_base::{CancelHandle, CancelToken};
use sinew_jsonrpc::frame::into_line;
use sinew_jsonrpc::{Frame, Id, Limits, LineDecoder, Message, RpcError, message};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::core::Progress;
use crate::era;
use crate::host::BoxFuture;

/// The time that clients may keep the list of tools: it never changes while the server runs.
const LIST_TTL_MS: u64 = 3_600_000;

/// The time that a client that ends its input may take to read what was answered before.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// A tool that is lent.
pub trait ServedTool: Send + Sync + 'static {
    /// Unique among the tools of a server.
    fn name(&self) -> &str;

    /// Its description, for a model.
    fn description(&self) -> &str;

    /// JSON Schema of its arguments, an object.
    fn input_schema(&self) -> Value;

    /// JSON Schema of [`ServedOutput::structured`], where every result has some.
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// Returns true if it changes nothing. Default true.
    fn read_only(&self) -> bool {
        true
    }

    /// Does it. A failure is a result with [`ServedOutput::is_error`]. Long work runs elsewhere than on the task of the
    /// call and looks at [`ServedCall::cancel`].
    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedOutput>;
}

/// A call of a lent tool.
pub struct ServedCall {
    /// As the client sent them, unchecked.
    pub arguments: Map<String, Value>,
    /// Set when the client waits no longer, or is gone.
    pub cancel: CancelToken,
    /// Takes reports of progress.
    pub progress: ProgressReporter,
}

/// The result of a lent tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServedOutput {
    /// For the model.
    pub text: String,
    /// The same as a value, in the shape of [`ServedTool::output_schema`].
    pub structured: Option<Value>,
    /// The text says what went wrong.
    pub is_error: bool,
}

impl ServedOutput {
    /// A failure in words for the model.
    pub fn error(text: impl Into<String>) -> ServedOutput {
        ServedOutput { text: text.into(), structured: None, is_error: true }
    }
}

/// Tells a client how far a call is. A report that is not further than the one before, or that finds the queue full, is
/// dropped.
#[derive(Clone)]
pub struct ProgressReporter {
    token: Option<Value>,
    outbox: mpsc::Sender<Vec<u8>>,
    last: Arc<Mutex<f64>>,
}

impl ProgressReporter {
    /// Tells that the call is at `progress`.
    pub fn report(&self, progress: &Progress) {
        let Some(token) = &self.token else { return };
        let mut last = self.last.lock();
        // False for what is no number, too.
        if progress.progress > *last {
            *last = progress.progress;
            let mut params = json!({"progressToken": token, "progress": progress.progress});
            if let Some(total) = progress.total {
                params["total"] = total.into();
            }
            if let Some(message) = &progress.message {
                params["message"] = message.as_str().into();
            }
            let _ = self.outbox.try_send(message::encode_notification("notifications/progress", Some(&params)));
        }
    }
}

/// The name and version of the server, and its options.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// `sinew`.
    pub name: String,
    /// `0.1.0`.
    pub version: String,
    /// Guidance for the model that uses the tools.
    pub instructions: Option<String>,
    /// Limits of messages and of calls at a time.
    pub limits: Limits,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            name: "sinew".to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            instructions: None,
            limits: Limits::default(),
        }
    }
}

/// Serves tools until the input ends; then every call is cancelled and its answer, which nobody would read, dropped.
///
/// # Errors
/// When reading fails, or the client writes 100 lines in a row that are no messages.
pub async fn serve(
    tools: Vec<Arc<dyn ServedTool>>,
    options: ServerOptions,
    mut input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let (outbox, queue) = mpsc::channel(options.limits.queued_messages);
    let mut writer = tokio::spawn(write(output, queue));
    let mut decoder = LineDecoder::new(options.limits.message_bytes);
    let mut server = Server::new(tools, options, outbox);
    let mut bytes = Vec::with_capacity(64 * 1024);
    let result = loop {
        bytes.clear();
        match input.read_buf(&mut bytes).await {
            Ok(0) => break Ok(()),
            Err(cause) => break Err(cause),
            Ok(_) => decoder.push(&bytes, |frame| server.receive(frame)),
        }
        if server.bad_in_a_row >= server.options.limits.bad_in_a_row {
            break Err(io::Error::new(io::ErrorKind::InvalidData, "the client writes text that is not the protocol"));
        }
        server.reap();
    };
    if result.is_ok() {
        decoder.finish(|frame| server.receive(frame));
    }
    drop(server);
    // The queue has no sender any more once the calls are gone; what is in it is written, if somebody reads it.
    if tokio::time::timeout(LAST_ANSWERS, &mut writer).await.is_err() {
        writer.abort();
    }
    result
}

async fn write(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = queue.recv().await {
        // A client that is gone is noticed where its requests are read.
        if output.write_all(&into_line(message)).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

type Calls = Arc<Mutex<HashMap<Id, CancelHandle>>>;

struct Server {
    tools: HashMap<String, Arc<dyn ServedTool>>,
    definitions: Value,
    options: ServerOptions,
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
    fn new(tools: Vec<Arc<dyn ServedTool>>, options: ServerOptions, outbox: mpsc::Sender<Vec<u8>>) -> Server {
        let definitions = tools.iter().map(|tool| definition(&**tool)).collect();
        Server {
            tools: tools.into_iter().map(|tool| (tool.name().to_string(), tool)).collect(),
            definitions,
            options,
            outbox,
            calls: Calls::default(),
            tasks: JoinSet::new(),
            greeted: false,
            bad_in_a_row: 0,
        }
    }

    fn receive(&mut self, frame: Frame<'_>) {
        let parsed = match frame {
            Frame::Message(bytes) => message::parse(bytes, self.options.limits.depth),
            Frame::TooLarge(skipped) => {
                let limit = self.options.limits.message_bytes;
                Err(format!("a message of {} bytes, more than {limit}, which was not read", skipped.bytes))
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
                let params = match read_params(params.as_deref()) {
                    Ok(params) => params,
                    Err(error) => return self.send(message::encode_error(Some(&id), &error)),
                };
                match self.request(&id, &method, params) {
                    Some(Ok(result)) => self.send(message::encode_result(&id, &result)),
                    Some(Err(error)) => self.send(message::encode_error(Some(&id), &error)),
                    None => {}
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
            // We ask nothing, so there is nothing to be answered.
            Message::Notification { .. } | Message::Response { .. } => {}
        }
    }

    /// Answers a request; None where a task of its own does.
    fn request(&mut self, id: &Id, method: &str, params: Map<String, Value>) -> Option<Result<Value, RpcError>> {
        let modern = match self.era_of(method, &params) {
            Ok(modern) => modern,
            Err(error) => return Some(Err(error)),
        };
        Some(match method {
            "initialize" => {
                self.greeted = true;
                let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
                Ok(json!({
                    "protocolVersion": era::legacy_version(asked).unwrap_or(era::LEGACY[0]),
                    "capabilities": {"tools": {}},
                    "serverInfo": self.info(),
                    "instructions": self.options.instructions.as_deref().unwrap_or_default(),
                }))
            }
            "server/discover" => Ok(self.modern_result(json!({
                "supportedVersions": era::MODERN,
                "capabilities": {"tools": {}},
                "instructions": self.options.instructions.as_deref().unwrap_or_default(),
                "ttlMs": LIST_TTL_MS,
                "cacheScope": "public",
            }))),
            "ping" if !modern => Ok(json!({})),
            "tools/list" if modern => Ok(self.modern_result(json!({
                "tools": self.definitions, "ttlMs": LIST_TTL_MS, "cacheScope": "public",
            }))),
            "tools/list" => Ok(json!({ "tools": self.definitions })),
            "tools/call" => return self.call(id, params, modern).err().map(Err),
            _ => Err(RpcError::method_not_found(method)),
        })
    }

    /// Returns true if a request is of the modern era. The error tells a client what its request lacks.
    fn era_of(&self, method: &str, params: &Map<String, Value>) -> Result<bool, RpcError> {
        let meta = params.get("_meta");
        let Some(version) = meta.and_then(|meta| meta.get(era::META_VERSION)) else {
            return match method {
                "initialize" | "ping" => Ok(false),
                "server/discover" => Err(missing(era::META_VERSION)),
                _ if self.greeted => Ok(false),
                _ => Err(missing(era::META_VERSION)),
            };
        };
        if method == "initialize" {
            return Ok(false);
        }
        let version = version.as_str().unwrap_or_default();
        if !era::MODERN.contains(&version) {
            let data = json!({"supported": era::MODERN, "requested": version});
            let mut error = RpcError::new(era::UNSUPPORTED_VERSION, "Unsupported protocol version");
            error.data = serde_json::value::to_raw_value(&data).ok();
            return Err(error);
        }
        match meta.and_then(|meta| meta.get(era::META_CAPABILITIES)) {
            Some(Value::Object(_)) => Ok(true),
            _ => Err(missing(era::META_CAPABILITIES)),
        }
    }

    /// Begins a call.
    fn call(&mut self, id: &Id, mut params: Map<String, Value>, modern: bool) -> Result<(), RpcError> {
        let name = params
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(|| RpcError::invalid_params("tools/call: /name must be a string"))?;
        let tool = self.tools.get(name).cloned();
        let tool = tool.ok_or_else(|| RpcError::invalid_params(format!("Unknown tool: {name}")))?;
        let arguments = match params.remove("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(RpcError::invalid_params("tools/call: /arguments must be an object")),
        };
        let (canceller, cancel) = CancelHandle::new();
        {
            let mut calls = self.calls.lock();
            if calls.len() >= self.options.limits.waiting_calls || calls.contains_key(id) {
                return Err(RpcError::new(
                    RpcError::INVALID_REQUEST,
                    "too many calls at a time, or an id that is in use",
                ));
            }
            calls.insert(id.clone(), canceller);
        }
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
        let progress =
            ProgressReporter { token, outbox: self.outbox.clone(), last: Arc::new(Mutex::new(f64::NEG_INFINITY)) };
        let call = ServedCall { arguments, cancel: cancel.clone(), progress };
        let (id, calls, outbox, info) = (id.clone(), Arc::clone(&self.calls), self.outbox.clone(), self.info());
        self.tasks.spawn(async move {
            // In a task of its own, so that a panic of the tool is an answer and not the end of the server.
            let running = tokio::spawn(async move { tool.call(call).await });
            let _running = AbortOnDrop(running.abort_handle());
            let ended = Arc::new(tokio::sync::Notify::new());
            let wake = Arc::clone(&ended);
            let _hook = cancel.on_cancel(move || wake.notify_one());
            let output = tokio::select! {
                biased;
                // Nobody waits for the answer.
                () = ended.notified() => return,
                output = running => output,
            };
            let output = output.unwrap_or_else(|failure| match failure.is_panic() {
                true => ServedOutput::error("The tool failed by a fault of sinew's own; please report it."),
                false => ServedOutput::error("The call was ended."),
            });
            // Cancelled at this moment, it is not answered either.
            if calls.lock().remove(&id).is_some() {
                let result = call_result(output, modern.then_some(info));
                let _ = outbox.send(message::encode_result(&id, &result)).await;
            }
        });
        Ok(())
    }

    fn reap(&mut self) {
        while self.tasks.try_join_next().is_some() {}
    }

    fn info(&self) -> Value {
        json!({"name": self.options.name, "version": self.options.version})
    }

    fn modern_result(&self, mut result: Value) -> Value {
        result["resultType"] = "complete".into();
        result["_meta"] = json!({ era::META_SERVER: self.info() });
        result
    }

    /// Sends an answer that is there at once. A client that asks more than it reads loses answers, not we memory.
    fn send(&self, message: Vec<u8>) {
        let _ = self.outbox.try_send(message);
    }
}

/// Ends a task with whoever waits for it.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn definition(tool: &dyn ServedTool) -> Value {
    let mut definition = json!({
        "name": tool.name(),
        "description": tool.description(),
        "inputSchema": tool.input_schema(),
        "annotations": {"readOnlyHint": tool.read_only()},
    });
    if let Some(schema) = tool.output_schema() {
        definition["outputSchema"] = schema;
    }
    definition
}

fn call_result(output: ServedOutput, modern: Option<Value>) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": output.text}], "isError": output.is_error});
    if let Some(structured) = output.structured {
        result["structuredContent"] = structured;
    }
    if let Some(info) = modern {
        result["resultType"] = "complete".into();
        result["_meta"] = json!({ era::META_SERVER: info });
    }
    result
}

fn read_params(params: Option<&RawValue>) -> Result<Map<String, Value>, RpcError> {
    match params {
        None => Ok(Map::new()),
        Some(params) => serde_json::from_str(params.get())
            .map_err(|error| RpcError::invalid_params(format!("/params must be an object: {error}"))),
    }
}

fn missing(key: &str) -> RpcError {
    RpcError::invalid_params(format!(
        "/params/_meta lacks \"{key}\": send it with every request (2026-07-28), or initialize first (before that)"
    ))
}
