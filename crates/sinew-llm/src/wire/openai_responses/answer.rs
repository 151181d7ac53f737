//! Parses the events of a response.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::super::end_reason::end_of;
use super::super::protocol::{Progress, ResponseParser, argument_text};
use super::items::{Item, ItemRef, Items};
use crate::assembly::{Assembly, Kind};
use crate::error::classify::{self, RequestContext};
use crate::error::{ErrorInfo, ErrorKind};
use crate::message::StopReason;
use crate::provider::{Request, ToolLoading};

/// The state of a response: maps the server's items to our blocks.
#[derive(Default)]
pub(super) struct Answer {
    items: Items,
    /// The name of the tool search, if the request has one that we run.
    search: Option<String>,
}

/// An event that adds to an item.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    output_index: Option<u64>,
    #[serde(borrow)]
    item_id: Option<Cow<'a, str>>,
    content_index: Option<u64>,
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
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| data.get(key).and_then(Value::as_u64);
        let item_ref = ItemRef { number: number("output_index"), id: text("item_id"), call: "" };
        let part = number("content_index").unwrap_or(0);
        match text("type") {
            kind @ ("response.output_item.added" | "response.output_item.done") => {
                if let Some(item) = data.get("item") {
                    self.item(item_ref, item, kind.ends_with("done"), assembly);
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.say(item_ref, part, text("delta"), assembly)
            }
            "response.output_text.done" => self.say_whole(item_ref, part, text("text"), assembly),
            "response.refusal.done" => self.say_whole(item_ref, part, text("refusal"), assembly),
            "response.reasoning_summary_text.delta" => self.think(item_ref, data, "summary_index", assembly),
            "response.reasoning_text.delta" => self.think(item_ref, data, "content_index", assembly),
            "response.function_call_arguments.delta" => {
                self.argue(item_ref, &argument_text(data.get("delta")), false, assembly)
            }
            "response.function_call_arguments.done" => {
                self.argue(item_ref, &argument_text(data.get("arguments")), true, assembly)
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
        let Ok(Piece { kind, output_index, item_id, content_index, delta }) = serde_json::from_str::<Piece<'_>>(data)
        else {
            return false;
        };
        let item_ref = ItemRef { number: output_index, id: item_id.as_deref().unwrap_or_default(), call: "" };
        match &*kind {
            "response.output_text.delta" => self.say(item_ref, content_index.unwrap_or(0), &delta, assembly),
            "response.function_call_arguments.delta" => self.argue(item_ref, &delta, false, assembly),
            _ => return false,
        }
        true
    }

    fn end(&mut self, assembly: &mut Assembly) -> Option<StopReason> {
        self.end_calls(assembly);
        None
    }
}

impl Answer {
    pub(super) fn new(request: &Request) -> Answer {
        let search = request.tools.iter().find(|tool| tool.loading == ToolLoading::Search);
        Answer { search: search.map(|tool| tool.name.clone()), ..Answer::default() }
    }

    /// Processes the first or the final form of an item.
    fn item(&mut self, item_ref: ItemRef<'_>, item: &Value, last: bool, assembly: &mut Assembly) {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = if text("id").is_empty() { item_ref.id } else { text("id") };
        let item_ref = ItemRef { number: item_ref.number, id, call: text("call_id") };
        let Some(kind) = kind_of(item) else {
            return;
        };
        let known = self.items.known(item_ref, kind, last);
        let Some(at) = known.or_else(|| self.begin(item_ref, item, last, assembly)) else {
            return;
        };
        if last {
            self.finish(at, item, assembly);
        } else if kind == Kind::ToolCall && known.is_none() {
            self.items.list[at].whole = argument_text(item.get("arguments")).into_owned();
        }
    }

    /// Begins an item. A call without a name waits for its final form, unless this is it (`last`).
    fn begin(&mut self, item_ref: ItemRef<'_>, item: &Value, last: bool, assembly: &mut Assembly) -> Option<usize> {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = kind_of(item)?;
        let index = match text("type") {
            "function_call" if text("name").is_empty() && !last => return None,
            "function_call" => {
                let id = match (text("call_id"), text("id")) {
                    (call, "") => call.to_string(),
                    (call, item) => format!("{call}|{item}"),
                };
                assembly.begin_call(&id, text("name"))
            }
            "tool_search_call" => assembly.begin_call(text("call_id"), self.search.as_ref()?),
            _ => assembly.begin(kind),
        };
        if kind == Kind::ToolCall {
            assembly.delta(index, &self.items.take_early(item_ref));
        }
        Some(self.items.insert(item_ref, kind, index))
    }

    /// Returns the item that a delta extends, which begins with it if the server has not announced it. `None` if it
    /// has ended.
    fn open(&mut self, item_ref: ItemRef<'_>, kind: Kind, assembly: &mut Assembly) -> Option<&mut Item> {
        let at = match self.items.extended(item_ref, kind) {
            Some(known) => known?,
            None => self.items.insert(item_ref, kind, assembly.begin(kind)),
        };
        self.items.list.get_mut(at)
    }

    fn say(&mut self, item_ref: ItemRef<'_>, part: u64, delta: &str, assembly: &mut Assembly) {
        if delta.is_empty() {
            return;
        }
        if let Some(item) = self.open(item_ref, Kind::Text, assembly) {
            if item.heard.last() != Some(&part) {
                item.heard.push(part);
            }
            assembly.delta(item.index, delta);
        }
    }

    /// Processes the whole text of a part, which repeats its deltas if it has any.
    fn say_whole(&mut self, item_ref: ItemRef<'_>, part: u64, text: &str, assembly: &mut Assembly) {
        let known = self.items.extended(item_ref, Kind::Text).flatten();
        if known.is_none_or(|at| !self.items.list[at].heard.contains(&part)) {
            self.say(item_ref, part, text, assembly);
        }
    }

    fn argue(&mut self, item_ref: ItemRef<'_>, arguments: &str, last: bool, assembly: &mut Assembly) {
        match self.items.extended(item_ref, Kind::ToolCall) {
            Some(Some(at)) if last => assembly.settle_arguments(self.items.list[at].index, arguments),
            Some(Some(at)) => assembly.delta(self.items.list[at].index, arguments),
            None if !arguments.is_empty() => self.items.keep(item_ref, arguments, last, assembly),
            _ => {}
        }
    }

    fn think(&mut self, item_ref: ItemRef<'_>, data: &Value, part_key: &str, assembly: &mut Assembly) {
        let part = data.get(part_key).and_then(Value::as_u64).unwrap_or(0);
        let delta = data.get("delta").and_then(Value::as_str).unwrap_or_default();
        if delta.is_empty() {
            return;
        }
        let Some(item) = self.open(item_ref, Kind::Thinking, assembly) else {
            return;
        };
        let part = (part_key.to_string(), part);
        if item.part.as_ref().is_some_and(|last| *last != part) {
            assembly.delta(item.index, "\n\n");
        }
        item.part = Some(part);
        assembly.delta(item.index, delta);
    }

    /// Processes the final form of an item: what its deltas did not contain, and the encrypted thinking.
    fn finish(&mut self, at: usize, item: &Value, assembly: &mut Assembly) {
        let known = &mut self.items.list[at];
        if known.ended {
            return;
        }
        known.ended = true;
        match known.kind {
            Kind::Text => assembly.complete_text(known.index, &words(item)),
            Kind::Thinking => {
                if known.part.is_none() {
                    let list = |key: &str| item.get(key).and_then(Value::as_array).into_iter().flatten();
                    let parts = list("summary").chain(list("content")).filter_map(|part| part.get("text")?.as_str());
                    assembly.delta(known.index, &parts.collect::<Vec<_>>().join("\n\n"));
                }
                assembly.replace_signature(known.index, sealed(item));
            }
            Kind::ToolCall => {
                assembly.settle_arguments(known.index, &argument_text(item.get("arguments")));
                assembly.default_arguments(known.index, &known.whole);
                if item.get("status").and_then(Value::as_str) == Some("incomplete") {
                    assembly.end_unfinished(known.index);
                }
            }
        }
        assembly.end(known.index);
    }

    /// Adds what only the final response contains. Its items are those of the stream, in the same order, although their
    /// ids may differ.
    fn recover(&mut self, output: &[Value], assembly: &mut Assembly) {
        let streamed = self.items.list.len();
        let is_call = |kind: Option<Kind>| kind == Some(Kind::ToolCall);
        let sent = output.iter().filter(|item| is_call(kind_of(item))).count();
        let lacks_calls = sent > self.items.list.iter().filter(|item| is_call(Some(item.kind))).count();
        let mut claimed = vec![false; streamed];
        let mut next: HashMap<Kind, usize> = HashMap::new();
        for item in output {
            let Some(kind) = kind_of(item) else { continue };
            let call = item.get("call_id").and_then(Value::as_str).unwrap_or_default();
            let named = self.items.call(call).filter(|at| *at < streamed && !claimed[*at] && !call.is_empty());
            let known = named.or_else(|| {
                let items = &self.items.list;
                let from = next.entry(kind).or_default();
                *from = (*from..streamed).find(|at| items[*at].kind == kind && !claimed[*at]).unwrap_or(streamed);
                Some(*from).filter(|at| *at < streamed && (call.is_empty() || items[*at].call.is_empty()))
            });
            let is_new = match kind {
                _ if streamed == 0 => true,
                Kind::Text => !self.has_words(streamed, &words(item), assembly),
                Kind::ToolCall => lacks_calls,
                // It would be after the items that follow from it.
                Kind::Thinking => false,
            };
            if let Some(at) = known {
                claimed[at] = true;
                self.finish(at, item, assembly);
            } else if is_new {
                let item_ref = ItemRef { number: None, id: "", call };
                if let Some(at) = self.begin(item_ref, item, true, assembly) {
                    self.finish(at, item, assembly);
                }
            }
            if assembly.check_size().is_err() {
                return;
            }
        }
    }

    /// Returns true if one of the first `count` items has this text.
    fn has_words(&self, count: usize, words: &str, assembly: &Assembly) -> bool {
        let mut texts = self.items.list[..count].iter().filter(|item| item.kind == Kind::Text);
        texts.any(|item| assembly.text(item.index).contains(words))
    }

    /// Ends the calls that the server has not ended.
    fn end_calls(&mut self, assembly: &mut Assembly) {
        for item in self.items.list.iter_mut().filter(|item| item.kind == Kind::ToolCall && !item.ended) {
            item.ended = true;
            assembly.default_arguments(item.index, &item.whole);
            assembly.end_unfinished(item.index);
        }
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
        if let Some(output) = response.get("output").and_then(Value::as_array) {
            self.recover(output, assembly);
        }
        self.end_calls(assembly);
        match status {
            "failed" | "cancelled" => {
                let error = response.get("error").filter(|error| error.is_object());
                Err(match error {
                    Some(error) => classify::from_stream(context, error),
                    None => classify::own(
                        context,
                        ErrorKind::Server,
                        &format!("the response was {status} without a reason"),
                    ),
                })
            }
            "incomplete" => {
                let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
                let length = StopReason::Length;
                Ok(Progress::Done(match reason {
                    Some(reason) => end_of(reason, None, length, context, assembly)?,
                    None => length,
                }))
            }
            _ => Ok(Progress::Done(StopReason::Stop)),
        }
    }
}

/// Returns the kind of block of an item; `None` for items of tools that the server runs itself.
fn kind_of(item: &Value) -> Option<Kind> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "message" => Some(Kind::Text),
        "reasoning" => Some(Kind::Thinking),
        "function_call" => Some(Kind::ToolCall),
        "tool_search_call" if text("execution") == "client" => Some(Kind::ToolCall),
        _ => None,
    }
}

/// Returns the text of a message.
fn words(item: &Value) -> String {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| part.get("text").or_else(|| part.get("refusal"))?.as_str()).collect()
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
