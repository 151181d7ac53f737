//! Parses `models.json`: JSON with comments and trailing commas.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::{Compat, Cost, Input, Model, ThinkingLevel, ThinkingMode};

/// An error in a file: `models.json:3:7: expected a string`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file as the caller named it.
    pub path: String,
    /// The line, from 1; 0 if the position is unknown.
    pub line: usize,
    /// The column, from 1; 0 if the position is unknown.
    pub column: usize,
    /// The reason.
    pub reason: String,
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.reason),
            line => write!(f, "{}:{line}:{}: {}", self.path, self.column, self.reason),
        }
    }
}

impl std::error::Error for FileError {}

/// Providers as raw text, so that errors inside one have a position.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelsFile<'a> {
    #[serde(borrow)]
    providers: HashMap<String, &'a RawValue>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ProviderConfig {
    pub(super) base_url: Option<String>,
    pub(super) api: Option<String>,
    pub(super) api_key: Option<String>,
    pub(super) auth: Option<AuthKind>,
    pub(super) auth_header: Option<bool>,
    pub(super) headers: Map<String, Value>,
    pub(super) discovery: Option<DiscoveryConfig>,
    pub(super) oauth: Option<Value>,
    pub(super) compat: Option<Compat>,
    pub(super) model_overrides: Map<String, Value>,
    pub(super) models: Vec<ModelConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum AuthKind {
    ApiKey,
    None,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct DiscoveryConfig {
    #[serde(rename = "type")]
    pub(super) kind: super::discovery::DiscoveryKind,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ModelConfig {
    pub(super) id: String,
    name: Option<String>,
    api: Option<String>,
    base_url: Option<String>,
    reasoning: Option<bool>,
    thinking_levels: Option<Vec<ThinkingLevel>>,
    thinking_mode: Option<ThinkingMode>,
    input: Option<Vec<Input>>,
    context_window: Option<u64>,
    max_tokens: Option<u64>,
    cost: Option<Cost>,
    headers: Map<String, Value>,
    compat: Option<Compat>,
    context_promotion_target: Option<String>,
}

impl ModelConfig {
    /// Copies the given values to `model`.
    pub(super) fn apply(&self, model: &mut Model) {
        fn set<T: Clone>(place: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                place.clone_from(value);
            }
        }
        set(&mut model.name, &self.name);
        set(&mut model.api, &self.api);
        set(&mut model.base_url, &self.base_url);
        set(&mut model.reasoning, &self.reasoning);
        set(&mut model.thinking_levels, &self.thinking_levels);
        set(&mut model.thinking_mode, &self.thinking_mode);
        set(&mut model.input, &self.input);
        set(&mut model.context_window, &self.context_window);
        set(&mut model.max_tokens, &self.max_tokens);
        set(&mut model.cost, &self.cost);
        if self.context_promotion_target.is_some() {
            model.context_promotion_target.clone_from(&self.context_promotion_target);
        }
        put_headers(&mut model.headers, &self.headers);
        if let Some(own) = &self.compat {
            merge_compat(&mut model.compat, own);
        }
        model.base_url.truncate(model.base_url.trim_end_matches('/').len());
    }
}

/// Adds headers; one with the same name is replaced.
pub(super) fn put_headers(headers: &mut Vec<(String, String)>, more: &Map<String, Value>) {
    for (name, value) in more {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        headers.push((name.clone(), value));
    }
}

pub(super) fn merge_compat(compat: &mut Compat, own: &Compat) {
    fn set<T: Clone>(place: &mut Option<T>, value: &Option<T>) {
        if value.is_some() {
            place.clone_from(value);
        }
    }
    fn deep(place: &mut Option<Value>, value: &Option<Value>) {
        match (place.as_mut(), value) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => old.extend(new.clone()),
            (_, Some(new)) => *place = Some(new.clone()),
            (_, None) => {}
        }
    }
    set(&mut compat.max_tokens_field, &own.max_tokens_field);
    set(&mut compat.supports_store, &own.supports_store);
    set(&mut compat.supports_developer_role, &own.supports_developer_role);
    set(&mut compat.supports_reasoning_effort, &own.supports_reasoning_effort);
    set(&mut compat.supports_usage_in_streaming, &own.supports_usage_in_streaming);
    set(&mut compat.supports_prompt_cache_key, &own.supports_prompt_cache_key);
    set(&mut compat.cache_control_format, &own.cache_control_format);
    set(&mut compat.requires_tool_result_name, &own.requires_tool_result_name);
    set(&mut compat.requires_assistant_after_tool_result, &own.requires_assistant_after_tool_result);
    set(&mut compat.requires_alternating_roles, &own.requires_alternating_roles);
    set(
        &mut compat.requires_reasoning_content_on_assistant_messages,
        &own.requires_reasoning_content_on_assistant_messages,
    );
    set(&mut compat.requires_mistral_tool_ids, &own.requires_mistral_tool_ids);
    set(&mut compat.thinking_format, &own.thinking_format);
    set(&mut compat.highest_effort, &own.highest_effort);
    set(&mut compat.always_thinks, &own.always_thinks);
    set(&mut compat.supports_temperature, &own.supports_temperature);
    set(&mut compat.supports_forced_tool_choice, &own.supports_forced_tool_choice);
    set(&mut compat.supports_assistant_prefill, &own.supports_assistant_prefill);
    set(&mut compat.supports_tool_search, &own.supports_tool_search);
    set(&mut compat.supports_mid_conversation_system, &own.supports_mid_conversation_system);
    deep(&mut compat.open_router_routing, &own.open_router_routing);
    deep(&mut compat.vercel_gateway_routing, &own.vercel_gateway_routing);
}

/// Parses the text of a file and returns its providers in order.
pub(super) fn read(text: &str, path: &str) -> Result<Vec<(String, ProviderConfig)>, FileError> {
    let plain = plain_json(text);
    let fail =
        |(line, column): (usize, usize), reason: String| FileError { path: path.to_string(), line, column, reason };
    let file: ModelsFile<'_> =
        serde_json::from_str(&plain).map_err(|error| fail((error.line(), error.column()), without_place(&error)))?;
    let offset = |raw: &RawValue| raw.get().as_ptr() as usize - plain.as_ptr() as usize;
    let mut found: Vec<(String, &RawValue)> = file.providers.into_iter().collect();
    found.sort_by_key(|(_, raw)| offset(raw));
    let mut providers = Vec::with_capacity(found.len());
    for (id, raw) in found {
        let (line, column) = place(&plain[..offset(raw)]);
        let config: ProviderConfig = serde_json::from_str(raw.get()).map_err(|error| {
            let column = if error.line() == 1 { column + error.column() } else { error.column() };
            fail((line + error.line() - 1, column), format!("provider \"{id}\": {}", without_place(&error)))
        })?;
        check(&config).map_err(|reason| fail((line, 1), format!("provider \"{id}\": {reason}")))?;
        providers.push((id, config));
    }
    Ok(providers)
}

/// Returns the line and column of the position after `before`.
fn place(before: &str) -> (usize, usize) {
    let line = before.rfind('\n').map_or(before, |at| &before[at + 1..]);
    (before.matches('\n').count() + 1, line.chars().count())
}

/// Returns serde's message without the position inside the parsed part.
fn without_place(error: &serde_json::Error) -> String {
    error.to_string().split(" at line ").next().unwrap_or_default().to_string()
}

fn check(config: &ProviderConfig) -> Result<(), String> {
    if !config.models.is_empty() {
        if config.base_url.is_none() && config.models.iter().any(|model| model.base_url.is_none()) {
            return Err("\"models\" needs a \"baseUrl\"".to_string());
        }
        if config.models.iter().any(|model| model.id.is_empty()) {
            return Err("a model has no \"id\"".to_string());
        }
    } else if config.base_url.is_none()
        && config.model_overrides.is_empty()
        && config.discovery.is_none()
        && config.api_key.is_none()
        && config.headers.is_empty()
        && config.compat.is_none()
    {
        return Err("needs one of \"models\", \"baseUrl\", \"modelOverrides\", \"discovery\"".to_string());
    }
    for (id, value) in &config.model_overrides {
        serde_json::from_value::<ModelConfig>(value.clone())
            .map_err(|error| format!("override of \"{id}\": {error}"))?;
    }
    let apis: Vec<&str> = crate::wire::apis().chain(["scripted"]).collect();
    let named = config.models.iter().filter_map(|model| model.api.as_deref()).chain(config.api.as_deref());
    match named.into_iter().find(|api| !apis.contains(api)) {
        Some(api) => Err(format!("unknown api \"{api}\"; expected one of {}", apis.join(", "))),
        None => Ok(()),
    }
}

/// Replaces comments and trailing commas of `text` by spaces, so that every position is unchanged. Runs in linear time.
#[must_use]
pub fn plain_json(text: &str) -> String {
    let mut out: Vec<u8> = text.trim_start_matches('\u{FEFF}').bytes().collect();
    let mut at = 0;
    // A comma that is only followed by white space so far.
    let mut comma = None;
    while at < out.len() {
        match out[at] {
            b'"' => {
                comma = None;
                at += 1;
                while at < out.len() && out[at] != b'"' {
                    at += if out[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'/' if matches!(out.get(at + 1), Some(b'/' | b'*')) => {
                let line = out[at + 1] == b'/';
                let end = if line {
                    memchr::memchr(b'\n', &out[at..]).map_or(out.len(), |n| at + n)
                } else {
                    memchr::memmem::find(&out[at + 2..], b"*/").map_or(out.len(), |n| at + n + 4)
                };
                out[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
                at = end;
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    out[comma] = b' ';
                }
            }
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Only complete characters were replaced by spaces.
    String::from_utf8(out).unwrap_or_else(|_| text.to_string())
}
