//! The methods and their answers, for every transport.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sinew_base::CancelToken;
use sinew_jsonrpc::RpcError;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

use super::{ProgressReporter, ServedCall, ServedMethods, ServedOutput, ServedTool, ServerOptions};
use crate::era::{self, Era};
use crate::headers::{ParamHeader, param_headers};

/// How long clients may cache the list of tools, which never changes while the server runs.
const LIST_TTL_MS: u64 = 3_600_000;

/// The tools of a server, and its description.
pub struct Service {
    tools: HashMap<String, ToolEntry>,
    definitions: Value,
    methods: Option<Arc<dyn ServedMethods>>,
    capabilities: Value,
    pub(super) options: ServerOptions,
}

struct ToolEntry {
    tool: Arc<dyn ServedTool>,
    /// The arguments that requests over HTTP repeat in headers.
    marks: Vec<ParamHeader>,
}

/// The answer to a request.
pub(super) enum Reply {
    /// An immediate answer.
    Now(Result<Value, RpcError>),
    /// The answer requires a tool call.
    Call(ReadyCall),
}

/// A call with a valid request.
pub(super) struct ReadyCall {
    tool: Arc<dyn ServedTool>,
    arguments: Map<String, Value>,
    /// Identifies the call in progress reports; `None` if the client requested none.
    pub(super) progress_token: Option<Value>,
    /// The name and version of the server, for modern results.
    info: Option<Value>,
}

impl Service {
    /// Creates a server with these tools, listed in this order.
    #[must_use]
    pub fn new(tools: Vec<Arc<dyn ServedTool>>, options: ServerOptions) -> Service {
        let definitions = tools.iter().map(|tool| definition(&**tool)).collect();
        let lent = tools.into_iter().map(|tool| {
            // Clients leave out tools with invalid marks.
            let marks = param_headers(&tool.input_schema()).unwrap_or_default();
            (tool.name().to_string(), ToolEntry { tool, marks })
        });
        Service { tools: lent.collect(), definitions, methods: None, capabilities: json!({"tools": {}}), options }
    }

    /// Adds methods to the server.
    #[must_use]
    pub fn with_methods(mut self, methods: Arc<dyn ServedMethods>) -> Service {
        for (name, capability) in methods.capabilities() {
            self.capabilities[name] = capability;
        }
        self.methods = Some(methods);
        self
    }

    /// Returns the arguments of a tool that a request over HTTP repeats in headers.
    pub(super) fn marks(&self, tool: &str) -> &[ParamHeader] {
        self.tools.get(tool).map_or(&[], |lent| &lent.marks)
    }

    /// Answers a request of an era.
    pub(super) fn reply(&self, era: Era, method: &str, params: Map<String, Value>) -> Reply {
        let modern = era == Era::Modern;
        Reply::Now(match method {
            "initialize" if !modern => Ok(self.handshake(&params)),
            "server/discover" if modern => Ok(self.modern_result(json!({
                "supportedVersions": era::MODERN,
                "capabilities": self.capabilities,
                "instructions": self.options.instructions.as_deref().unwrap_or_default(),
                "ttlMs": LIST_TTL_MS,
                "cacheScope": "public",
            }))),
            "ping" if !modern => Ok(json!({})),
            "tools/list" if modern => Ok(self.modern_result(json!({
                "tools": self.definitions, "ttlMs": LIST_TTL_MS, "cacheScope": "public",
            }))),
            "tools/list" => Ok(json!({ "tools": self.definitions })),
            "tools/call" => match self.ready(params, modern) {
                Ok(call) => return Reply::Call(call),
                Err(error) => Err(error),
            },
            _ => match self.methods.as_ref().and_then(|methods| methods.answer(method, &params)) {
                Some(Ok(result)) if modern => Ok(self.modern_result(result)),
                Some(answer) => answer,
                None => Err(RpcError::method_not_found(method)),
            },
        })
    }

    fn handshake(&self, params: &Map<String, Value>) -> Value {
        let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        json!({
            "protocolVersion": era::legacy_version(asked).unwrap_or(era::LEGACY[0]),
            "capabilities": self.capabilities,
            "serverInfo": self.info(),
            "instructions": self.options.instructions.as_deref().unwrap_or_default(),
        })
    }

    fn ready(&self, mut params: Map<String, Value>, modern: bool) -> Result<ReadyCall, RpcError> {
        let name = params
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(|| RpcError::invalid_params("tools/call: /name must be a string"))?;
        let lent = self.tools.get(name);
        let tool = &lent.ok_or_else(|| RpcError::invalid_params(format!("Unknown tool: {name}")))?.tool;
        let meta = params.remove("_meta").unwrap_or_default();
        if modern {
            check_capabilities(tool.needs(), &meta[era::META_CAPABILITIES])?;
        }
        let arguments = match params.remove("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(RpcError::invalid_params("tools/call: /arguments must be an object")),
        };
        Ok(ReadyCall {
            tool: Arc::clone(tool),
            arguments,
            progress_token: meta.get("progressToken").cloned(),
            info: modern.then(|| self.info()),
        })
    }

    fn info(&self) -> Value {
        json!({"name": self.options.name, "version": self.options.version})
    }

    fn modern_result(&self, mut result: Value) -> Value {
        if result.get("resultType").is_none() {
            result["resultType"] = "complete".into();
        }
        result["_meta"] = json!({ era::META_SERVER: self.info() });
        result
    }
}

impl ReadyCall {
    /// Runs the tool; returns `None` if the call was cancelled. Dropping the future ends the tool's task.
    pub(super) async fn run(self, cancel: CancelToken, outbox: mpsc::Sender<Vec<u8>>) -> Option<Value> {
        let ReadyCall { tool, arguments, progress_token, info } = self;
        let progress =
            ProgressReporter { token: progress_token, outbox, last: Arc::new(Mutex::new(f64::NEG_INFINITY)) };
        let call = ServedCall { arguments, cancel: cancel.clone(), progress };
        // On its own task, so that a panic of the tool is answered and does not end the server.
        let running = tokio::spawn(async move { tool.call(call).await });
        let _running = AbortOnDrop(running.abort_handle());
        let ended = Arc::new(Notify::new());
        let wake = Arc::clone(&ended);
        let _hook = cancel.on_cancel(move || wake.notify_one());
        let output = tokio::select! {
            biased;
            // Nobody waits for the answer.
            () = ended.notified() => return None,
            output = running => output,
        };
        let output = output.unwrap_or_else(|failure| match failure.is_panic() {
            true => ServedOutput::error("The tool failed because of a bug in sinew; please report it."),
            false => ServedOutput::error("The call was cancelled."),
        });
        Some(call_result(output, info))
    }
}

/// Aborts a task when dropped.
pub(super) struct AbortOnDrop(pub(super) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns the era of a request. `greeted` is true if a client from before 2026-07-28 has completed the handshake or
/// needs none. The error names what the request lacks.
pub(super) fn era_of(greeted: bool, method: &str, params: &Map<String, Value>) -> Result<Era, RpcError> {
    let meta = params.get("_meta");
    let Some(version) = meta.and_then(|meta| meta.get(era::META_VERSION)) else {
        return match method {
            "initialize" | "ping" => Ok(Era::Legacy),
            "server/discover" => Err(missing(era::META_VERSION)),
            _ if greeted => Ok(Era::Legacy),
            _ => Err(missing(era::META_VERSION)),
        };
    };
    let version = version.as_str().unwrap_or_default();
    if !era::MODERN.contains(&version) {
        return Err(unsupported(version));
    }
    match meta.and_then(|meta| meta.get(era::META_CAPABILITIES)) {
        Some(Value::Object(_)) => Ok(Era::Modern),
        _ => Err(missing(era::META_CAPABILITIES)),
    }
}

/// Returns the error for an unsupported revision.
pub(super) fn unsupported(version: &str) -> RpcError {
    let data = json!({"supported": era::MODERN, "requested": version});
    with_data(RpcError::new(era::UNSUPPORTED_VERSION, "Unsupported protocol version"), &data)
}

/// Returns the error for a request without a required `_meta` key.
pub(super) fn missing(key: &str) -> RpcError {
    RpcError::invalid_params(format!(
        "/params/_meta lacks \"{key}\": send it with every request (2026-07-28), or initialize first (before that)"
    ))
}

/// Reads the parameters of a request.
pub(super) fn read_params(params: Option<&RawValue>) -> Result<Map<String, Value>, RpcError> {
    match params {
        None => Ok(Map::new()),
        Some(params) => serde_json::from_str(params.get())
            .map_err(|error| RpcError::invalid_params(format!("/params must be an object: {error}"))),
    }
}

fn check_capabilities(needs: &[&str], declared: &Value) -> Result<(), RpcError> {
    let lacking: Map<String, Value> = needs
        .iter()
        .filter(|name| declared.get(**name).is_none())
        .map(|name| ((*name).to_string(), json!({})))
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = lacking.keys().map(String::as_str).collect();
    let error = RpcError::new(
        era::MISSING_CAPABILITY,
        format!("The tool requires capabilities that the client does not declare: {}", names.join(", ")),
    );
    Err(with_data(error, &json!({"requiredCapabilities": lacking})))
}

fn with_data(mut error: RpcError, data: &Value) -> RpcError {
    error.data = serde_json::value::to_raw_value(data).ok();
    error
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
    let ServedOutput { text, mut content, structured, is_error } = output;
    if !text.is_empty() || content.is_empty() {
        content.insert(0, json!({"type": "text", "text": text}));
    }
    let mut result = json!({"content": content, "isError": is_error});
    if let Some(structured) = structured {
        result["structuredContent"] = structured;
    }
    if let Some(info) = modern {
        result["resultType"] = "complete".into();
        result["_meta"] = json!({ era::META_SERVER: info });
    }
    result
}
