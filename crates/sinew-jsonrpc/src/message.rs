//! Requests, notifications and answers.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use sinew_base::replace_lone_surrogates;

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// An integer.
    Number(i64),
    /// A string.
    Text(Box<str>),
}

impl Id {
    /// Returns the integer that the id contains, or that its string spells out, because some servers return a number as
    /// a string. Returns `None` for other strings.
    #[must_use]
    pub fn to_number(&self) -> Option<i64> {
        match self {
            Id::Number(number) => Some(*number),
            Id::Text(text) => text.parse().ok().filter(|number: &i64| number.to_string() == **text),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(number) => write!(f, "{number}"),
            Id::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Id::Number(number) => serializer.serialize_i64(*number),
            Id::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// One message of the other side.
#[derive(Debug, Clone)]
pub enum Message {
    /// A request, which needs an answer.
    Request {
        /// The id of the request, which its answer repeats.
        id: Id,
        /// The method.
        method: String,
        /// The parameters, if there are any.
        params: Option<Box<RawValue>>,
    },
    /// A notification, which needs no answer.
    Notification {
        /// The method.
        method: String,
        /// The parameters, if there are any.
        params: Option<Box<RawValue>>,
    },
    /// An answer.
    Response {
        /// The id of the answered request; `None` if the other side could not parse it.
        id: Option<Id>,
        /// The result or the error.
        outcome: Outcome,
    },
}

/// The result of a call, or its error.
pub type Outcome = Result<Box<RawValue>, RpcError>;

/// The error object of an answer.
#[derive(Debug, Clone, Serialize)]
pub struct RpcError {
    /// The kind of the error.
    pub code: i64,
    /// A one-sentence description.
    pub message: String,
    /// Additional data, if there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a valid request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are not valid for the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The other side failed.
    pub const INTERNAL_ERROR: i64 = -32603;

    /// Creates an error without data.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    /// Creates the error for a missing method.
    #[must_use]
    pub fn method_not_found(method: &str) -> RpcError {
        RpcError::new(RpcError::METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    /// Creates the error for invalid parameters.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> RpcError {
        RpcError::new(RpcError::INVALID_PARAMS, message)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for RpcError {}

impl PartialEq for RpcError {
    fn eq(&self, other: &RpcError) -> bool {
        let data = |error: &RpcError| error.data.as_ref().map(|data| data.get().to_string());
        self.code == other.code && self.message == other.message && data(self) == data(other)
    }
}

/// Parses the messages of one frame: one message, or those of a batch. Lone surrogates become U+FFFD.
///
/// # Errors
/// Returns the reason if the text is not JSON, the JSON is not a message, or the nesting is deeper than `depth`. If one
/// message of a batch is invalid, the whole batch fails.
pub fn parse(bytes: &[u8], depth: usize) -> Result<Vec<Message>, String> {
    if deeper_than(bytes, depth) {
        return Err(format!("nested more than {depth} levels deep"));
    }
    // JavaScript and Python programs may cut texts between the halves of a character, which the JSON parser rejects.
    let bytes = &*replace_lone_surrogates(bytes);
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        let batch: Vec<Wire<'_>> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Err("an empty batch".to_string());
        }
        return batch.into_iter().map(message).collect();
    }
    let wire: Wire<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(vec![message(wire)?])
}

/// A message in its wire format. Members that are `null` differ from missing ones.
#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<WireError<'a>>,
}

#[derive(Deserialize)]
struct WireError<'a> {
    code: f64,
    #[serde(default)]
    message: Option<String>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn message(wire: Wire<'_>) -> Result<Message, String> {
    let id = match wire.id.map(RawValue::get) {
        None | Some("null") => None,
        Some(text) => Some(id(text).ok_or_else(|| format!("an id that is neither string nor whole number: {text}"))?),
    };
    let params = wire.params.map(RawValue::to_owned);
    match (wire.method, wire.result, wire.error) {
        (Some(method), None, None) => {
            let method = method.into_owned();
            match (id, wire.id) {
                (Some(id), _) => Ok(Message::Request { id, method, params }),
                (None, None) => Ok(Message::Notification { method, params }),
                (None, Some(_)) => Err("a request whose id is null".to_string()),
            }
        }
        (None, Some(result), None) => Ok(Message::Response { id, outcome: Ok(result.to_owned()) }),
        (None, None, Some(error)) => {
            let data = error.data.map(RawValue::to_owned);
            // The cast clamps a number out of range.
            let error = RpcError { code: error.code as i64, message: error.message.unwrap_or_default(), data };
            Ok(Message::Response { id, outcome: Err(error) })
        }
        (None, None, None) => Err("neither method, result nor error".to_string()),
        _ => Err("more than one of method, result and error".to_string()),
    }
}

fn id(text: &str) -> Option<Id> {
    if text.starts_with('"') {
        return serde_json::from_str::<String>(text).ok().map(|text| Id::Text(text.into()));
    }
    if let Ok(number) = text.parse() {
        return Some(Id::Number(number));
    }
    // Some programs only have floating-point numbers and write 5.0.
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(Id::Number(number as i64))
}

/// Returns true if objects and arrays are nested more than `depth` levels deep.
fn deeper_than(bytes: &[u8], depth: usize) -> bool {
    let (mut level, mut deepest) = (0_usize, 0_usize);
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = behind_string(rest),
            b'{' | b'[' => {
                level += 1;
                deepest = deepest.max(level);
            }
            b'}' | b']' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest > depth
}

/// Returns the bytes after the string in which `bytes` begins.
fn behind_string(mut bytes: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', bytes) {
        if bytes[at] == b'"' {
            return &bytes[at + 1..];
        }
        bytes = bytes.get(at + 2..).unwrap_or_default();
    }
    &[]
}

/// Encodes a request without a frame.
///
/// # Panics
/// Panics if `params` cannot be serialised as JSON, which only happens for a map with keys that are not strings.
#[must_use]
pub fn encode_request(id: &Id, method: &str, params: Option<&impl Serialize>) -> Vec<u8> {
    encode(&OutgoingMessage {
        jsonrpc: "2.0",
        id: Some(id),
        method: Some(method),
        params,
        result: None::<&()>,
        error: None,
    })
}

/// Encodes a notification without a frame. Panics as [`encode_request`] does.
#[must_use]
pub fn encode_notification(method: &str, params: Option<&impl Serialize>) -> Vec<u8> {
    encode(&OutgoingMessage {
        jsonrpc: "2.0",
        id: None,
        method: Some(method),
        params,
        result: None::<&()>,
        error: None,
    })
}

/// Encodes an answer without a frame. Panics as [`encode_request`] does.
#[must_use]
pub fn encode_result(id: &Id, result: &impl Serialize) -> Vec<u8> {
    let params = None::<&()>;
    encode(&OutgoingMessage { jsonrpc: "2.0", id: Some(id), method: None, params, result: Some(result), error: None })
}

/// Encodes an error answer without a frame. `None` as the id answers a message that could not be parsed.
#[must_use]
pub fn encode_error(id: Option<&Id>, error: &RpcError) -> Vec<u8> {
    #[derive(Serialize)]
    struct Failure<'a> {
        jsonrpc: &'static str,
        id: Option<&'a Id>,
        error: &'a RpcError,
    }
    encode(&Failure { jsonrpc: "2.0", id, error })
}

#[derive(Serialize)]
struct OutgoingMessage<'a, P: Serialize, R: Serialize> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RpcError>,
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("a message is made of strings, numbers and JSON values")
}
