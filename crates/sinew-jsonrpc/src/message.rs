//! Requests, notifications and answers.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use sinew_base::replace_lone_surrogates;

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A whole number.
    Number(i64),
    /// A string.
    Text(Box<str>),
}

impl Id {
    /// Returns the whole number that the id is or spells out: some servers repeat a number as a string.
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
    /// Wants an answer.
    Request {
        /// The id of the request, which its answer repeats.
        id: Id,
        /// The method.
        method: String,
        /// Its parameters, where there are some.
        params: Option<Box<RawValue>>,
    },
    /// Wants no answer.
    Notification {
        /// The method.
        method: String,
        /// Its parameters, where there are some.
        params: Option<Box<RawValue>>,
    },
    /// An answer.
    Response {
        /// The id of the request that it answers. None: the other side could not read it.
        id: Option<Id>,
        /// The result or the error.
        outcome: Outcome,
    },
}

/// The result of a call, or the error it ended with.
pub type Outcome = Result<Box<RawValue>, RpcError>;

/// The error object of an answer.
#[derive(Debug, Clone, Serialize)]
pub struct RpcError {
    /// The kind of the error.
    pub code: i64,
    /// One sentence about it.
    pub message: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// The text is no JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The other side failed.
    pub const INTERNAL_ERROR: i64 = -32603;

    /// An error without data.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    /// The error for a method that is not there.
    #[must_use]
    pub fn method_not_found(method: &str) -> RpcError {
        RpcError::new(RpcError::METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    /// The error for parameters that do not fit.
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

/// Reads the messages of one frame: one, or those of a batch. Half a character is U+FFFD.
///
/// # Errors
/// Text that is no JSON, JSON that is no message, and nesting deeper than `depth`; the reason. Of a batch with one
/// bad member nothing is returned.
pub fn parse(bytes: &[u8], depth: usize) -> Result<Vec<Message>, String> {
    if deeper_than(bytes, depth) {
        return Err(format!("nested more than {depth} levels deep"));
    }
    // Programs in JavaScript and Python cut texts between the halves of a character, which no reader behind this one accepts.
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

/// A message as it is written. Members that are there with `null` differ from members that are not there.
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
            // A cast of a number beyond the range gives its end.
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
    // Writers that know only one kind of number write 5.0.
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(Id::Number(number as i64))
}

/// Returns true if objects and arrays are nested in more than `depth` levels.
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

/// Returns the bytes behind the string inside of which `bytes` begins.
fn behind_string(mut bytes: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', bytes) {
        if bytes[at] == b'"' {
            return &bytes[at + 1..];
        }
        bytes = bytes.get(at + 2..).unwrap_or_default();
    }
    &[]
}

/// A request as bytes without a frame.
///
/// # Panics
/// When `params` cannot be written as JSON, which only a map with keys that are no strings does.
#[must_use]
pub fn encode_request(id: &Id, method: &str, params: Option<&impl Serialize>) -> Vec<u8> {
    encode(&Outgoing { jsonrpc: "2.0", id: Some(id), method: Some(method), params, result: None::<&()>, error: None })
}

/// A notification as bytes without a frame. Panics as [`encode_request`] does.
#[must_use]
pub fn encode_notification(method: &str, params: Option<&impl Serialize>) -> Vec<u8> {
    encode(&Outgoing { jsonrpc: "2.0", id: None, method: Some(method), params, result: None::<&()>, error: None })
}

/// An answer as bytes without a frame. Panics as [`encode_request`] does.
#[must_use]
pub fn encode_result(id: &Id, result: &impl Serialize) -> Vec<u8> {
    let params = None::<&()>;
    encode(&Outgoing { jsonrpc: "2.0", id: Some(id), method: None, params, result: Some(result), error: None })
}

/// An error as answer, as bytes without a frame. Without an id it answers what could not be read.
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
struct Outgoing<'a, P: Serialize, R: Serialize> {
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
