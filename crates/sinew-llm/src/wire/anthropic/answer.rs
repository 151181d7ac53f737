//! Parses a server's answer.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::assembly::{Assembly, Kind};
use crate::error::classify::{self, RequestContext};
use crate::error::{ErrorInfo, ErrorKind};
use crate::message::StopReason;
use crate::wire::end_reason::end_of;
use crate::wire::protocol::{Progress, ResponseParser, argument_text};

/// Returns the events of a complete message.
pub(super) fn from_complete(mut message: Value) -> Option<Vec<Value>> {
    let blocks = match message.get_mut("content")?.take() {
        Value::Array(blocks) => blocks,
        _ => return None,
    };
    let (delta, usage) = (json!({"stop_reason": message.get("stop_reason")}), message.get("usage").cloned());
    let mut events = Vec::with_capacity(2 * blocks.len() + 2);
    for (index, block) in blocks.into_iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    Some(events)
}

/// The state of an answer: maps the server's block numbers to ours, and stores the stop reason.
#[derive(Default)]
pub(super) struct Answer {
    blocks: HashMap<u64, OpenBlock>,
    /// The number of the block that started last, for events without one.
    last: u64,
    /// The arguments of calls that have not started.
    early: HashMap<u64, String>,
    stop: Option<StopReason>,
    ended: bool,
}

struct OpenBlock {
    /// `None` for a block of a tool that the server runs itself.
    index: Option<usize>,
    /// Arguments that were sent with the start of a call; empty otherwise.
    whole: String,
}

/// An event that adds to a block.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    index: u64,
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow)]
    partial_json: Option<Cow<'a, str>>,
}

impl ResponseParser for Answer {
    fn event(
        &mut self,
        data: &Value,
        context: &RequestContext<'_>,
        assembly: &mut Assembly,
    ) -> Result<Progress, ErrorInfo> {
        let number = data.get("index").and_then(Value::as_u64).unwrap_or(self.last);
        match data.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => usage(data.pointer("/message/usage"), assembly),
            "content_block_start" => {
                if let Some(block) = data.get("content_block") {
                    self.start(number, block, assembly);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = data.get("delta") {
                    self.delta(number, delta, assembly);
                }
            }
            "content_block_stop" => {
                if let Some(OpenBlock { index: Some(index), whole }) = self.blocks.remove(&number) {
                    assembly.default_arguments(index, &whole);
                    assembly.end(index);
                }
            }
            "message_delta" => {
                usage(data.get("usage"), assembly);
                match data.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    None | Some("") => {}
                    Some("refusal") => {
                        let said = data.pointer("/delta/stop_details/explanation").and_then(Value::as_str);
                        let text = said.unwrap_or("the model refused to answer");
                        return Err(classify::own(context, ErrorKind::Refusal, text));
                    }
                    Some(reason) => self.stop = Some(end_of(reason, None, StopReason::Stop, context, assembly)?),
                }
            }
            "message_stop" => {
                self.ended = true;
                self.end_blocks(assembly);
                return Ok(Progress::Done(self.stop.unwrap_or_default()));
            }
            "error" => return Err(classify::from_stream(context, data)),
            _ => {}
        }
        Ok(Progress::More)
    }

    fn parse_delta(&mut self, data: &str, assembly: &mut Assembly) -> bool {
        let Ok(Piece { kind, index, delta }) = serde_json::from_str::<Piece<'_>>(data) else {
            return false;
        };
        let (Some(&OpenBlock { index: Some(open), .. }), "content_block_delta") = (self.blocks.get(&index), &*kind)
        else {
            return false;
        };
        let text = match &*delta.kind {
            "text_delta" => delta.text,
            "thinking_delta" => delta.thinking,
            "input_json_delta" => delta.partial_json,
            _ => return false,
        };
        assembly.delta(open, &text.unwrap_or_default());
        true
    }

    fn end(&mut self, assembly: &mut Assembly) -> Option<StopReason> {
        self.end_blocks(assembly);
        self.ended.then(|| self.stop.unwrap_or_default())
    }
}

impl Answer {
    fn start(&mut self, number: u64, block: &Value, assembly: &mut Assembly) {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        // A server that gives all blocks one number may end none.
        if let Some(open) = self.blocks.remove(&number) {
            end_unfinished(open, assembly);
        }
        self.last = number;
        let early = self.early.remove(&number);
        let mut whole = String::new();
        let index = match text("type") {
            "text" => {
                let index = assembly.begin(Kind::Text);
                assembly.delta(index, text("text"));
                index
            }
            "thinking" => {
                let index = assembly.begin(Kind::Thinking);
                assembly.delta(index, text("thinking"));
                assembly.sign(index, text("signature"));
                index
            }
            "redacted_thinking" => {
                let index = assembly.begin(Kind::Thinking);
                assembly.redact(index);
                assembly.sign(index, text("data"));
                index
            }
            "tool_use" => {
                let input = block.get("input").filter(|input| input.as_object().is_none_or(|input| !input.is_empty()));
                whole = argument_text(input).into_owned();
                let index = assembly.begin_call(text("id"), text("name"));
                assembly.delta(index, &early.unwrap_or_default());
                index
            }
            _ => {
                self.blocks.insert(number, OpenBlock { index: None, whole });
                return;
            }
        };
        self.blocks.insert(number, OpenBlock { index: Some(index), whole });
    }

    /// Appends to a block. One that has not started is started, except a call, whose name is not known.
    fn delta(&mut self, number: u64, delta: &Value, assembly: &mut Assembly) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type");
        if !self.blocks.contains_key(&number) {
            match kind {
                "text_delta" => self.start(number, &json!({"type": "text"}), assembly),
                "thinking_delta" => self.start(number, &json!({"type": "thinking"}), assembly),
                "input_json_delta" => {
                    let arguments = argument_text(delta.get("partial_json"));
                    assembly.hold(&arguments);
                    self.early.entry(number).or_default().push_str(&arguments);
                    return;
                }
                _ => return,
            }
        }
        let Some(index) = self.blocks.get(&number).and_then(|open| open.index) else {
            return;
        };
        match kind {
            "text_delta" => assembly.delta(index, text("text")),
            "thinking_delta" => assembly.delta(index, text("thinking")),
            "input_json_delta" => assembly.delta(index, &argument_text(delta.get("partial_json"))),
            "signature_delta" => assembly.sign(index, text("signature")),
            _ => {}
        }
    }

    /// Ends the blocks that the server has not ended.
    fn end_blocks(&mut self, assembly: &mut Assembly) {
        let mut open: Vec<(u64, OpenBlock)> = self.blocks.drain().collect();
        open.sort_unstable_by_key(|(number, _)| *number);
        open.into_iter().for_each(|(_, block)| end_unfinished(block, assembly));
    }
}

fn end_unfinished(block: OpenBlock, assembly: &mut Assembly) {
    if let Some(index) = block.index {
        assembly.default_arguments(index, &block.whole);
        assembly.end_unfinished(index);
    }
}

/// The server's numbers replace earlier ones, because they are totals.
fn usage(usage: Option<&Value>, assembly: &mut Assembly) {
    let number = |key: &str| usage.and_then(|usage| usage.get(key)).and_then(Value::as_u64);
    let known = &mut assembly.usage;
    known.input = number("input_tokens").unwrap_or(known.input);
    known.output = number("output_tokens").unwrap_or(known.output);
    known.cache_read = number("cache_read_input_tokens").unwrap_or(known.cache_read);
    known.cache_write = number("cache_creation_input_tokens").unwrap_or(known.cache_write);
}
