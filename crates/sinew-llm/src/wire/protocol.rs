//! The interface between a protocol and the driver.

use std::borrow::Cow;

use serde_json::Value;

use crate::assembly::Assembly;
use crate::error::ErrorInfo;
use crate::error::classify::RequestContext;
use crate::message::StopReason;
use crate::provider::Request;

/// A protocol as data and functions.
#[derive(Clone, Copy)]
pub(crate) struct Protocol {
    pub(crate) api: &'static str,
    /// Returns the path of the request, below the model's base URL.
    pub(crate) path: fn(&Request) -> String,
    /// Returns the headers with the key and the protocol's version.
    pub(crate) headers: fn(&Request) -> Vec<(String, String)>,
    /// Returns the request's JSON.
    pub(crate) body: fn(&Request) -> Vec<u8>,
    /// Returns a parser for the answer.
    pub(crate) parser: fn(&Request) -> Box<dyn ResponseParser>,
    /// Returns the events that correspond to a complete answer of a server that does not stream; `None` for JSON that
    /// is not an answer.
    pub(crate) from_complete: fn(Value) -> Option<Vec<Value>>,
    /// Returns true if the server only rejected the request because it requires thinking that the conversation does not
    /// contain.
    pub(crate) refuses_thinking: fn(&Request, &ErrorInfo) -> bool,
}

/// Parses an answer event by event.
pub(crate) trait ResponseParser: Send {
    /// Processes one event of the stream.
    fn event(
        &mut self,
        data: &Value,
        context: &RequestContext<'_>,
        assembly: &mut Assembly,
    ) -> Result<Progress, ErrorInfo>;

    /// Processes an event of the most frequent kind without building a tree. Returns false for any other, which is then
    /// passed to [`ResponseParser::event`].
    fn parse_delta(&mut self, _data: &str, _assembly: &mut Assembly) -> bool {
        false
    }

    /// Called if the stream ended without [`Progress::Done`]. `None` if the answer is incomplete.
    fn end(&mut self, assembly: &mut Assembly) -> Option<StopReason>;
}

/// Returns the text of a call's arguments, which servers send as text or as JSON. Anything but an object stays text that
/// is reported as invalid.
pub(crate) fn argument_text(arguments: Option<&Value>) -> Cow<'_, str> {
    match arguments {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(value) => Cow::Owned(value.to_string()),
    }
}

/// The state after a delta: more follows, or the answer has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done(StopReason),
}
