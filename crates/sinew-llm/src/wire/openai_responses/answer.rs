//! Parses the events of a response.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::super::protocol::{Progress, ResponseParser};
use crate::assembly::{Assembly, Kind};
use crate::error::classify::{self, RequestContext};
use crate::error::{ErrorInfo, ErrorKind};
use crate::message::StopReason;
use crate::provider::{Request, ToolLoading};

/// The state of a response: maps the server's items to our blocks.
#[derive(Default)]
pub(super) struct Answer {
    items: HashMap<u64, Item>,
    /// The arguments of calls that have not begun.
    early: HashMap<u64, String>,
    /// The name of the tool search, if the request has one that we run.
    search: Option<String>,
}

struct Item {
    index: usize,
    kind: Kind,
    /// True if deltas were received, which the item's final form repeats.
    streamed: bool,
    /// The part of the thinking that was written last: parts are separated by a blank line.
    part: Option<(String, u64)>,
}

/// An event that adds to an item.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    output_index: u64,
    #[serde(borrow)]
    delta: Cow<'a, str>,
}

impl ResponseParser for Answer {
    fn event(
        &mut self,
        data: &Value,
        context: &RequestContext<'_>,
        assembly: &mut Assembly,
    ) -> Result<Progress, ErrorInfo> {
        let number = data.get("output_index").and_then(Value::as_u64).unwrap_or(0);
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "response.output_item.added" => {
                if let Some(item) = data.get("item") {
                    self.begin(number, item, false, assembly);
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.delta(number, Kind::Text, text("delta"), assembly)
            }
            "response.reasoning_summary_text.delta" => self.think(number, data, "summary_index", assembly),
            "response.reasoning_text.delta" => self.think(number, data, "content_index", assembly),
            "response.function_call_arguments.delta" => self.delta(number, Kind::ToolCall, text("delta"), assembly),
            "response.function_call_arguments.done" => {
                if let Some(item) =
                    self.items.get_mut(&number).filter(|item| item.kind == Kind::ToolCall && !item.streamed)
                {
                    item.streamed = true;
                    assembly.delta(item.index, text("arguments"));
                }
            }
            "response.output_item.done" => {
                if let Some(item) = data.get("item") {
                    self.finish(number, item, assembly);
                }
            }
            "response.completed"
            | "response.done"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => {
                return self.terminal(data.get("response").unwrap_or(&Value::Null), text("type"), context, assembly);
            }
            "error" => return Err(classify::from_stream(context, data)),
            _ => {}
        }
        Ok(Progress::More)
    }

    fn parse_delta(&mut self, data: &str, assembly: &mut Assembly) -> bool {
        let Ok(Piece { kind, output_index, delta }) = serde_json::from_str::<Piece<'_>>(data) else {
            return false;
        };
        let kind = match &*kind {
            "response.output_text.delta" => Kind::Text,
            "response.function_call_arguments.delta" => Kind::ToolCall,
            _ => return false,
        };
        self.delta(output_index, kind, &delta, assembly);
        true
    }

    fn end(&mut self, _assembly: &mut Assembly) -> Option<StopReason> {
        None
    }
}

impl Answer {
    pub(super) fn new(request: &Request) -> Answer {
        let search = request.tools.iter().find(|tool| tool.loading == ToolLoading::Search);
        Answer { search: search.map(|tool| tool.name.clone()), ..Answer::default() }
    }

    /// Begins an item. A call without a name waits for its final form, unless this is it (`last`).
    fn begin(&mut self, number: u64, item: &Value, last: bool, assembly: &mut Assembly) {
        if self.items.contains_key(&number) {
            return;
        }
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let (kind, index) = match text("type") {
            "message" => (Kind::Text, assembly.begin(Kind::Text)),
            "reasoning" => (Kind::Thinking, assembly.begin(Kind::Thinking)),
            "function_call" if text("name").is_empty() && !last => return,
            "function_call" => {
                let id = match (text("call_id"), text("id")) {
                    (call, "") => call.to_string(),
                    (call, item) => format!("{call}|{item}"),
                };
                (Kind::ToolCall, assembly.begin_call(&id, text("name")))
            }
            "tool_search_call" if text("execution") == "client" => match &self.search {
                Some(name) => (Kind::ToolCall, assembly.begin_call(text("call_id"), name)),
                None => return,
            },
            // Items of tools that the server runs itself.
            _ => return,
        };
        let early = self.early.remove(&number).filter(|_| kind == Kind::ToolCall);
        let streamed = early.is_some();
        assembly.delta(index, &early.unwrap_or_default());
        self.items.insert(number, Item { index, kind, streamed, part: None });
    }

    fn delta(&mut self, number: u64, kind: Kind, delta: &str, assembly: &mut Assembly) {
        if let Some(item) = self.items.get_mut(&number).filter(|item| item.kind == kind) {
            item.streamed |= !delta.is_empty();
            assembly.delta(item.index, delta);
        } else if kind == Kind::ToolCall && !self.items.contains_key(&number) {
            assembly.hold(delta);
            self.early.entry(number).or_default().push_str(delta);
        }
    }

    fn think(&mut self, number: u64, data: &Value, part_key: &str, assembly: &mut Assembly) {
        let part = data.get(part_key).and_then(Value::as_u64).unwrap_or(0);
        let delta = data.get("delta").and_then(Value::as_str).unwrap_or_default();
        let Some(item) = self.items.get_mut(&number).filter(|item| item.kind == Kind::Thinking && !delta.is_empty())
        else {
            return;
        };
        let part = (part_key.to_string(), part);
        if item.part.as_ref().is_some_and(|last| *last != part) {
            assembly.delta(item.index, "\n\n");
        }
        item.part = Some(part);
        item.streamed = true;
        assembly.delta(item.index, delta);
    }

    /// Processes the final form of an item: the content of servers that send no deltas, and the encrypted thinking.
    fn finish(&mut self, number: u64, item: &Value, assembly: &mut Assembly) {
        self.begin(number, item, true, assembly);
        let Some(known) = self.items.get_mut(&number) else {
            return;
        };
        match known.kind {
            Kind::Text => {
                let parts = item.get("content").and_then(Value::as_array);
                if !known.streamed {
                    for part in parts.into_iter().flatten() {
                        let text = part.get("text").or_else(|| part.get("refusal")).and_then(Value::as_str);
                        assembly.delta(known.index, text.unwrap_or_default());
                    }
                }
            }
            Kind::Thinking => {
                if !known.streamed {
                    let list = |key: &str| item.get(key).and_then(Value::as_array).into_iter().flatten();
                    let parts = list("summary").chain(list("content")).filter_map(|part| part.get("text")?.as_str());
                    assembly.delta(known.index, &parts.collect::<Vec<_>>().join("\n\n"));
                }
                assembly.replace_signature(known.index, sealed(item));
            }
            Kind::ToolCall => {
                if !known.streamed {
                    match item.get("arguments") {
                        Some(Value::String(text)) => assembly.delta(known.index, text),
                        // A search has arguments as an object.
                        Some(arguments @ Value::Object(_)) => assembly.delta(known.index, &arguments.to_string()),
                        _ => {}
                    }
                }
            }
        }
        known.streamed = true;
        assembly.end(known.index);
    }

    fn terminal(
        &mut self,
        response: &Value,
        event: &str,
        context: &RequestContext<'_>,
        assembly: &mut Assembly,
    ) -> Result<Progress, ErrorInfo> {
        if let Some(usage) = response.get("usage") {
            read_usage(usage, assembly);
        }
        let status = response.get("status").and_then(Value::as_str);
        let status = status.unwrap_or_else(|| event.rsplit('.').next().unwrap_or_default());
        match status {
            "failed" | "cancelled" => {
                let error = response.get("error").filter(|error| error.is_object());
                return Err(match error {
                    Some(error) => classify::from_stream(context, error),
                    None => classify::own(
                        context,
                        ErrorKind::Server,
                        &format!("the response was {status} without a reason"),
                    ),
                });
            }
            "incomplete" => {
                if response.pointer("/incomplete_details/reason").and_then(Value::as_str) == Some("content_filter") {
                    return Err(classify::own(
                        context,
                        ErrorKind::Refusal,
                        "the provider's content filter stopped the answer",
                    ));
                }
                return Ok(Progress::Done(StopReason::Length));
            }
            _ => {}
        }
        // The server only sent the end.
        if self.items.is_empty() {
            let output = response.get("output").and_then(Value::as_array);
            for (number, item) in (0u64..).zip(output.into_iter().flatten()) {
                self.finish(number, item, assembly);
            }
        }
        Ok(Progress::Done(StopReason::Stop))
    }
}

/// Returns a reasoning item as the server needs it back, without `status`, which requests must not contain.
fn sealed(item: &Value) -> String {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.shift_remove("status");
    }
    item.to_string()
}

fn read_usage(usage: &Value, assembly: &mut Assembly) {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let cached = number("/input_tokens_details/cached_tokens");
    assembly.usage.input = number("/input_tokens").saturating_sub(cached);
    assembly.usage.output = number("/output_tokens");
    assembly.usage.cache_read = cached;
}
