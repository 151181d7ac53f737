//! Prepares a conversation for every protocol before it is written.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::message::{AssistantMessage, Block, Content, ImageBlock, ThinkingBlock, ToolCall, ToolResultMessage};
use crate::property_names::{self, PropertyNames};
use crate::provider::{Request, ToolChoice, ToolDef, ToolLoading};
use crate::stable_hash::stable_hash;

/// The replacement of an image that the model does not support.
pub(super) const IMAGE_OMITTED: &str = "[image omitted: the model takes no images]";

/// A part of a user message or a tool result.
pub(super) enum Part<'a> {
    Text(&'a str),
    Image(&'a ImageBlock),
}

/// Returns the parts that the model supports, without blank texts, which some servers reject.
pub(super) fn parts<'a>(request: &Request, blocks: &'a [Block]) -> Vec<Part<'a>> {
    let images = request.model.takes_images();
    let part = |block: &'a Block| match block {
        Block::Text(text) if !text.text.trim().is_empty() => Some(Part::Text(&text.text)),
        Block::Image(image) if images && !image.data.starts_with("blob:") => Some(Part::Image(image)),
        Block::Image(_) => Some(Part::Text(IMAGE_OMITTED)),
        _ => None,
    };
    blocks.iter().filter_map(part).collect()
}

/// Returns the tools that a search result adds to the conversation.
pub(super) fn references<'a>(request: &'a Request, result: &ToolResultMessage) -> Vec<&'a ToolDef> {
    let name = |block: &Block| match block {
        Block::Other(block) if block["type"] == "tool_reference" => block["tool_name"].as_str().map(str::to_string),
        _ => None,
    };
    let names = result.content.iter().filter_map(name);
    let deferred = |name: String| {
        request.tools.iter().find(move |tool| tool.loading == ToolLoading::Deferred && tool.name == name)
    };
    names.filter_map(deferred).collect()
}

/// Returns the parts of a user message; never empty, because some servers reject that.
pub(super) fn content_parts<'a>(request: &Request, content: &'a Content) -> Vec<Part<'a>> {
    let parts = match content {
        Content::Text(text) if text.trim().is_empty() => Vec::new(),
        Content::Text(text) => vec![Part::Text(text)],
        Content::Blocks(blocks) => parts(request, blocks),
    };
    if parts.is_empty() { vec![Part::Text("(empty)")] } else { parts }
}

/// Returns the schema of a tool's arguments in a form that every server accepts: an explicit object without
/// alternatives at the top level. The properties of all alternatives are offered; whether the arguments match one is
/// checked when they are received. Property names are ones that every server accepts.
pub(super) fn fit_schema(schema: &Value) -> Cow<'_, Value> {
    let fit = fit_object(schema);
    match PropertyNames::of_schema(schema) {
        Some(names) => Cow::Owned(names.schema_to_wire(&fit)),
        None => fit,
    }
}

/// Returns the arguments of an earlier call, with the wire names of its tool's schema.
pub(super) fn fit_arguments<'a>(request: &Request, call: &'a ToolCall) -> Cow<'a, Value> {
    if property_names::has_renamed(&call.arguments)
        && let Some(tool) = request.tools.iter().find(|tool| tool.name == call.name)
        && let Some(names) = PropertyNames::of_schema(&tool.parameters)
    {
        return Cow::Owned(names.arguments_to_wire(&call.arguments));
    }
    Cow::Borrowed(&call.arguments)
}

fn fit_object(schema: &Value) -> Cow<'_, Value> {
    const CHOICES: [&str; 5] = ["anyOf", "oneOf", "allOf", "not", "enum"];
    let none = Map::new();
    let fields = schema.as_object().unwrap_or(&none);
    let is_object = fields.get("type").and_then(Value::as_str) == Some("object");
    if is_object && fields.contains_key("properties") && !CHOICES.iter().any(|word| fields.contains_key(*word)) {
        return Cow::Borrowed(schema);
    }
    let mut fit = fields.clone();
    let forms: Vec<Value> = CHOICES.iter().filter_map(|word| fit.shift_remove(*word)).collect();
    fit.insert("type".into(), "object".into());
    let properties = fit.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        let forms = forms.iter().filter_map(Value::as_array).flatten();
        for (name, of) in forms.filter_map(|form| form.get("properties")?.as_object()).flatten() {
            properties.entry(name).or_insert_with(|| of.clone());
        }
    }
    Cow::Owned(Value::Object(fit))
}

/// Returns the temperature if the model supports it.
pub(super) fn temperature(request: &Request) -> Option<f32> {
    request.temperature.filter(|_| request.model.compat.supports_temperature != Some(false))
}

/// Returns the tool choice; a model that does not support forced tools decides itself.
pub(super) fn tool_choice(request: &Request) -> &ToolChoice {
    match &request.tool_choice {
        ToolChoice::Required | ToolChoice::Tool(_)
            if request.model.compat.supports_forced_tool_choice == Some(false) =>
        {
            &ToolChoice::Auto
        }
        choice => choice,
    }
}

/// Returns the texts of `parts`, separated by line feeds.
pub(super) fn joined(parts: &[Part<'_>]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(*text),
        Part::Image(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the images of `parts`.
pub(super) fn images<'a>(parts: &[Part<'a>]) -> Vec<&'a ImageBlock> {
    let image = |part: &Part<'a>| match part {
        Part::Image(image) => Some(*image),
        Part::Text(_) => None,
    };
    parts.iter().filter_map(image).collect()
}

/// Returns a data URL: `data:image/png;base64,…`.
pub(super) fn data_url(image: &ImageBlock) -> String {
    format!("data:{};base64,{}", image.mime_type, image.data)
}

/// Returns the system prompt as one text; `None` without one.
pub(super) fn system(request: &Request) -> Option<String> {
    let parts: Vec<&str> =
        request.system.iter().map(|part| part.text.as_str()).filter(|text| !text.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Returns true if the requested model wrote this answer, so that its signatures are valid.
pub(super) fn is_own(request: &Request, message: &AssistantMessage) -> bool {
    message.api == request.model.api && message.provider == request.model.provider && message.model == request.model.id
}

/// Returns another model's thinking as text for a model that does not think; `None` for one that does.
pub(super) fn foreign_thought<'a>(request: &Request, thought: &'a ThinkingBlock) -> Option<&'a str> {
    (!request.model.reasoning && !thought.thinking.is_empty()).then_some(thought.thinking.as_str())
}

/// The maximum length of a tool name that every server accepts.
const NAME_LIMIT: usize = 64;

/// Returns the name of a tool in an earlier call in a form that servers accept: letters, digits, `_` and `-`, beginning
/// with neither a digit nor a `-`. Models also call unknown tools with arbitrary names; a rejected name would make
/// every later request of the session fail. Available tools keep their names.
pub(super) fn fit_name<'a>(request: &Request, name: &'a str) -> Cow<'a, str> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    let offered = || request.tools.iter().any(|tool| tool.name == name);
    if (name.starts_with(begins) && name.len() <= NAME_LIMIT && name.chars().all(fine)) || offered() {
        return Cow::Borrowed(name);
    }
    let prefix = if name.starts_with(begins) { "" } else { "_" };
    let kept = name.chars().map(|c| if fine(c) { c } else { '_' });
    Cow::Owned(prefix.chars().chain(kept).take(NAME_LIMIT).collect())
}

/// Returns an id that a server accepts: letters, digits, `_` and `-`, at most `limit` of them; for a limit of 9, which
/// is Mistral's, exactly nine letters and digits. The mapping is deterministic, and different ids stay different.
pub(super) fn fit_id(id: &str, limit: usize) -> Cow<'_, str> {
    let exact = limit < 10;
    let fine = |c: char| c.is_ascii_alphanumeric() || !exact && (c == '_' || c == '-');
    if !id.is_empty() && id.len() <= limit && (!exact || id.len() == limit) && id.chars().all(fine) {
        return Cow::Borrowed(id);
    }
    let hash = stable_hash(id);
    if exact {
        return Cow::Owned(format!("{:09x}", hash & 0xF_FFFF_FFFF));
    }
    let hash = format!("{:08x}", (hash ^ (hash >> 32)) as u32);
    let kept: String = id.chars().map(|c| if fine(c) { c } else { '_' }).take(limit - 9).collect();
    Cow::Owned(format!("{kept}_{hash}"))
}
