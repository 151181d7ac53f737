//! Parses the chunks of a chat completion.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::super::end_reason::end_of;
use super::super::json::Json;
use super::super::protocol::{Progress, ResponseParser, argument_text};
use crate::assembly::{Assembly, Kind};
use crate::error::ErrorInfo;
use crate::error::classify::{self, RequestContext};
use crate::message::{AssistantMessage, Block, StopReason, THOUGHT_FIELDS};
use crate::partial_json;

#[derive(Default)]
pub(super) struct Answer {
    calls: Vec<Call>,
    /// The number of calls that have begun, in order.
    begun: usize,
    /// True once text or a call has arrived, which the message of a later event repeats.
    streamed: bool,
    stop: Option<StopReason>,
    /// The block of the current thinking, and the details that its server needs back.
    thought: Option<usize>,
    details: Vec<Map<String, Value>>,
}

struct Call {
    number: Option<u64>,
    id: String,
    name: String,
    /// Its block; `None` until its name and those of the previous calls have arrived.
    index: Option<usize>,
    /// Arguments that arrived before that.
    early: String,
}

/// The maximum number of calls that wait for a name.
const MOST_WAITING: usize = 128;

/// A chunk that only contains text.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
    usage: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
    finish_reason: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
    #[serde(rename = "role")]
    _role: Option<IgnoredAny>,
}

impl ResponseParser for Answer {
    fn event(
        &mut self,
        data: &Value,
        context: &RequestContext<'_>,
        assembly: &mut Assembly,
    ) -> Result<Progress, ErrorInfo> {
        if data.get("error").is_some_and(|error| !error.is_null()) {
            return Err(classify::from_stream(context, data));
        }
        let choice = data.pointer("/choices/0");
        let usage = data.get("usage").filter(|usage| usage.is_object());
        if let Some(usage) = usage.or_else(|| choice?.get("usage").filter(|usage| usage.is_object())) {
            read_usage(usage, assembly);
        }
        let Some(choice) = choice else {
            return Ok(Progress::More);
        };
        // A server that cannot stream sends the complete message, and others repeat it at the end.
        let object = |key: &str| choice.get(key).filter(|value| value.is_object());
        if let Some(delta) = object("delta").or_else(|| object("message").filter(|_| !self.streamed)) {
            self.delta(delta, assembly);
        }
        match choice.get("finish_reason").and_then(Value::as_str) {
            // Some servers send an empty reason until the last chunk.
            None | Some("") => {}
            Some("error") => return Err(classify::from_stream(context, choice)),
            Some(reason) => self.stop = Some(end_of(reason, None, StopReason::Stop, context, assembly)?),
        }
        if self.stop.is_some() {
            self.end_thought(assembly);
        }
        Ok(Progress::More)
    }

    fn parse_delta(&mut self, data: &str, assembly: &mut Assembly) -> bool {
        let Ok(Chunk { choices: [choice], usage: None, error: None }) = serde_json::from_str::<Chunk<'_>>(data) else {
            return false;
        };
        match choice {
            Choice { delta: Delta { content: Some(content), .. }, finish_reason: None, usage: None }
                if !content.is_empty() =>
            {
                self.say(&content, assembly);
                true
            }
            _ => false,
        }
    }

    fn end(&mut self, assembly: &mut Assembly) -> Option<StopReason> {
        // A missing name becomes an empty one.
        self.begin_calls(0, assembly);
        self.stop
    }
}

impl Answer {
    fn delta(&mut self, delta: &Value, assembly: &mut Assembly) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some((field, thought)) = THOUGHT_FIELDS.iter().find_map(|field| Some((*field, text(field)?))) {
            self.think(thought, field, assembly);
        }
        if let Some(details) = delta.get("reasoning_details").and_then(Value::as_array).filter(|list| !list.is_empty())
        {
            if self.thought.is_none() {
                self.think("", "", assembly);
            }
            details.iter().filter_map(Value::as_object).for_each(|detail| self.keep(detail));
        }
        match delta.get("content") {
            Some(Value::String(content)) if !content.is_empty() => self.say(content, assembly),
            // Mistral sends thinking and text as parts.
            Some(Value::Array(content)) => content.iter().for_each(|part| self.part(part, assembly)),
            _ => {}
        }
        if let Some(refusal) = text("refusal") {
            self.say(refusal, assembly);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.call(call, call.get("function"), assembly);
            // Each call is searched among the previous ones, so the size is checked before reading further.
            if assembly.check_size().is_err() {
                return;
            }
        }
        if let Some(function) = delta.get("function_call").filter(|function| function.is_object()) {
            self.call(&Value::Null, Some(function), assembly);
        }
    }

    fn part(&mut self, part: &Value, assembly: &mut Assembly) {
        let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_string);
        match part.get("type").and_then(Value::as_str) {
            Some("thinking") => {
                let thought = match part.get("thinking") {
                    Some(Value::String(thought)) => thought.clone(),
                    Some(Value::Array(list)) => list.iter().filter_map(text).collect(),
                    _ => String::new(),
                };
                if !thought.is_empty() {
                    self.think(&thought, "", assembly);
                }
            }
            _ => {
                if let Some(text) = text(part).filter(|text| !text.is_empty()) {
                    self.say(&text, assembly);
                }
            }
        }
    }

    fn say(&mut self, text: &str, assembly: &mut Assembly) {
        self.streamed = true;
        self.end_thought(assembly);
        assembly.run(Kind::Text, text);
    }

    fn think(&mut self, thought: &str, field: &str, assembly: &mut Assembly) {
        let index = assembly.run(Kind::Thinking, thought);
        if self.thought != Some(index) {
            self.thought = Some(index);
            assembly.sign(index, field);
        }
    }

    fn end_thought(&mut self, assembly: &mut Assembly) {
        let Some(index) = self.thought.take() else {
            return;
        };
        if !self.details.is_empty() {
            // The list replaces the field's name, because a server that sends it needs it back.
            let details = std::mem::take(&mut self.details).into_iter().map(Value::Object).collect();
            assembly.replace_signature(index, Value::Array(details).to_string());
        }
        assembly.end(index);
    }

    /// Merges the parts of one detail.
    fn keep(&mut self, detail: &Map<String, Value>) {
        let same = |old: &&mut Map<String, Value>| {
            ["type", "index", "id"].iter().all(|key| detail.get(*key).is_none_or(|value| old.get(*key) == Some(value)))
        };
        let Some(old) = self.details.last_mut().filter(same) else {
            self.details.push(detail.clone());
            return;
        };
        for (key, value) in detail {
            match (old.get_mut(key), value) {
                (Some(Value::String(old)), Value::String(more))
                    if matches!(key.as_str(), "text" | "summary" | "data") =>
                {
                    old.push_str(more)
                }
                _ => {
                    old.insert(key.clone(), value.clone());
                }
            }
        }
    }

    fn call(&mut self, call: &Value, function: Option<&Value>, assembly: &mut Assembly) {
        self.streamed = true;
        self.end_thought(assembly);
        let number = call.get("index").and_then(Value::as_u64);
        let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
        let name = function.and_then(|function| function.get("name")).and_then(Value::as_str).unwrap_or_default();
        let arguments = argument_text(function.and_then(|function| function.get("arguments")));
        let known = self.calls.iter().rposition(|known| match number {
            // Servers that number all calls 0 distinguish them by id; others send another id with each piece.
            Some(_) if known.number == number => {
                id.is_empty() || known.id.is_empty() || known.id == id || name.is_empty() && known.index.is_some()
            }
            Some(_) => known.number.is_none() && id.is_empty() && name.is_empty(),
            None => known.id == id || id.is_empty() || known.index.is_none() && known.id.is_empty(),
        });
        // Without id, a name begins a call after a complete one. Without number, it also does after a call that has
        // no arguments yet.
        let known = known.filter(|at| match number {
            _ if !id.is_empty() || name.is_empty() => true,
            None => self.calls[*at].index.is_none() || self.calls[*at].is_cut(name, assembly),
            Some(_) => !self.calls[*at].is_before(name, &arguments, assembly),
        });
        let at = known.unwrap_or_else(|| {
            self.calls.push(Call { number, id: String::new(), name: String::new(), index: None, early: String::new() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id.to_string();
        }
        if call.name.is_empty() {
            call.name = name.to_string();
        }
        self.begin_calls(MOST_WAITING, assembly);
        let call = &mut self.calls[at];
        call.add(&arguments, assembly);
    }

    /// Begins the calls that are next: those with a name, and others once more than `most` are waiting.
    fn begin_calls(&mut self, most: usize, assembly: &mut Assembly) {
        let count = self.calls.len();
        let is_ready = |call: &&mut Call, at: usize| !call.name.is_empty() || count - at > most;
        while let Some(call) = self.calls.get_mut(self.begun).filter(|call| is_ready(call, self.begun)) {
            call.begin(assembly);
            self.begun += 1;
        }
    }
}

impl Call {
    /// Begins the block of the call with the arguments received before.
    fn begin(&mut self, assembly: &mut Assembly) {
        assembly.end_runs();
        let index = assembly.begin_call(&self.id, &self.name);
        assembly.delta(index, &std::mem::take(&mut self.early));
        self.index = Some(index);
    }

    /// Returns true if a piece with this name and no id belongs to another call: this one is complete, and the piece
    /// does not repeat it.
    fn is_before(&self, name: &str, arguments: &str, assembly: &Assembly) -> bool {
        let own = self.arguments(assembly);
        let repeats = self.name == name && (arguments.is_empty() || arguments == own);
        !self.name.is_empty() && !repeats && is_complete(own)
    }

    /// Returns true if a piece with this name and no id continues the arguments of this call.
    fn is_cut(&self, name: &str, assembly: &Assembly) -> bool {
        let own = self.arguments(assembly);
        self.name == name && !own.is_empty() && !is_complete(own)
    }

    fn arguments<'a>(&'a self, assembly: &'a Assembly) -> &'a str {
        self.index.map_or(&*self.early, |index| assembly.text(index))
    }

    fn add(&mut self, arguments: &str, assembly: &mut Assembly) {
        match self.index {
            Some(index) => assembly.delta(index, arguments),
            None => {
                assembly.hold(arguments);
                self.early.push_str(arguments);
            }
        }
    }
}

/// Returns true if `arguments` are a complete object. Most that are incomplete need no parser.
fn is_complete(arguments: &str) -> bool {
    arguments.trim_end().ends_with('}') && partial_json::parse_strict(arguments).is_ok()
}

fn read_usage(usage: &Value, assembly: &mut Assembly) {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let cached = number("/prompt_tokens_details/cached_tokens").max(number("/prompt_cache_hit_tokens"));
    assembly.usage.input = number("/prompt_tokens").saturating_sub(cached);
    assembly.usage.output = number("/completion_tokens");
    assembly.usage.cache_read = cached;
}

/// Writes the thinking of an answer under the field name it was received with. Returns false if there is none.
pub(super) fn thoughts(json: &mut Json, answer: &AssistantMessage) -> bool {
    let mut fields: Vec<(&str, String)> = Vec::new();
    let mut details: Vec<Value> = Vec::new();
    for block in &answer.content {
        let Block::Thinking(thought) = block else { continue };
        let signature = thought.thinking_signature.as_deref().unwrap_or_default();
        if let Some(field) = THOUGHT_FIELDS.iter().find(|field| **field == signature) {
            match fields.iter_mut().find(|(known, _)| known == field) {
                Some((_, text)) => text.push_str(&thought.thinking),
                None => fields.push((field, thought.thinking.clone())),
            }
        } else if let Ok(Value::Array(list)) = serde_json::from_str(signature) {
            details.extend(list);
        }
    }
    let any = !fields.is_empty() || !details.is_empty();
    for (field, text) in fields {
        json.field(field, &text);
    }
    if !details.is_empty() {
        json.field("reasoning_details", &details);
    }
    any
}
