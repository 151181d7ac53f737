//! The parts that a protocol gives to the driver.

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
    /// The path of the request, below the model's base URL.
    pub(crate) path: fn(&Request) -> String,
    /// The headers that carry the key and the protocol's version.
    pub(crate) headers: fn(&Request) -> Vec<(String, String)>,
    /// The request's JSON.
    pub(crate) body: fn(&Request) -> Vec<u8>,
    /// A reader of the answer.
    pub(crate) parser: fn(&Request) -> Box<dyn ResponseParser>,
    /// The events that say the same as an answer in one piece, from a server that does not stream; None for
    /// JSON that is not an answer.
    pub(crate) from_complete: fn(Value) -> Option<Vec<Value>>,
    /// Returns whether the server refused the request only because it asks for thoughts where the conversation has none.
    pub(crate) refuses_thinking: fn(&Request, &ErrorInfo) -> bool,
}

/// Reads an answer event by event.
pub(crate) trait ResponseParser: Send {
    /// Takes in one event of the stream.
    fn event(
        &mut self,
        data: &Value,
        context: &RequestContext<'_>,
        assembly: &mut Assembly,
    ) -> Result<Progress, ErrorInfo>;

    /// Takes in an event of the kind that comes most, without building a tree of it. False where it is any
    /// other: [`ResponseParser::event`] takes it then.
    fn parse_delta(&mut self, _data: &str, _assembly: &mut Assembly) -> bool {
        false
    }

    /// The stream ended without [`Progress::Done`]. None where the answer is not whole.
    fn end(&mut self, assembly: &mut Assembly) -> Option<StopReason>;
}

/// The state of an answer after a delta: more is to come, or it has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done(StopReason),
}
