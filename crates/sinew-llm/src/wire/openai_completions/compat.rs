//! Differences between servers, by host name; a model's own `compat` overrides them.

use crate::model::{CacheControlFormat, MaxTokensField, Model, ThinkingFormat};

/// All resolved differences.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quirks {
    pub(super) max_tokens_field: MaxTokensField,
    pub(super) store: bool,
    pub(super) developer_role: bool,
    pub(super) reasoning_effort: bool,
    pub(super) usage_in_streaming: bool,
    pub(super) tool_result_name: bool,
    pub(super) assistant_after_tool_result: bool,
    /// User and assistant messages must alternate.
    pub(super) alternation: bool,
    /// A thinking model needs the field `reasoning_content` in each assistant message.
    pub(super) thought_wanted: bool,
    pub(super) thinking_format: ThinkingFormat,
    /// The server has a cache per key.
    pub(super) cache_key: bool,
    /// The server passes cache markers to models of Anthropic.
    pub(super) cache_control: bool,
    /// The maximum length of a tool call id.
    pub(super) id_limit: usize,
}

/// The exact length of Mistral's ids.
const MISTRAL_ID: usize = 9;

/// The settings that an unknown server most likely supports.
const USUAL: Quirks = Quirks {
    max_tokens_field: MaxTokensField::MaxTokens,
    store: false,
    developer_role: false,
    reasoning_effort: true,
    usage_in_streaming: true,
    tool_result_name: false,
    assistant_after_tool_result: false,
    alternation: false,
    thought_wanted: false,
    thinking_format: ThinkingFormat::Openai,
    cache_key: false,
    cache_control: false,
    id_limit: 40,
};

/// Known servers, by a part of their host name.
const KNOWN: &[(&str, Quirks)] = &[
    (
        "api.openai.com",
        Quirks {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            store: true,
            developer_role: true,
            cache_key: true,
            ..USUAL
        },
    ),
    (
        "openai.azure.com",
        Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, developer_role: true, ..USUAL },
    ),
    ("openrouter.ai", Quirks { cache_control: true, ..USUAL }),
    ("api.groq.com", Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..USUAL }),
    ("api.cerebras.ai", Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..USUAL }),
    ("api.x.ai", Quirks { max_tokens_field: MaxTokensField::MaxCompletionTokens, reasoning_effort: false, ..USUAL }),
    // Ids of nine letters and digits; an assistant message must precede the next user message.
    (
        "api.mistral.ai",
        Quirks {
            reasoning_effort: false,
            tool_result_name: true,
            assistant_after_tool_result: true,
            alternation: true,
            id_limit: MISTRAL_ID,
            ..USUAL
        },
    ),
    ("api.deepseek.com", Quirks { reasoning_effort: false, thought_wanted: true, ..USUAL }),
    ("api.z.ai", Quirks { reasoning_effort: false, thinking_format: ThinkingFormat::Zai, ..USUAL }),
    ("bigmodel.cn", Quirks { reasoning_effort: false, thinking_format: ThinkingFormat::Zai, ..USUAL }),
    ("dashscope", Quirks { reasoning_effort: false, thinking_format: ThinkingFormat::Qwen, ..USUAL }),
];

/// Returns the differences of the model's server.
pub(super) fn resolve(model: &Model) -> Quirks {
    let host = model.base_url.split("://").last().unwrap_or_default().split('/').next().unwrap_or_default();
    let known = KNOWN.iter().find(|(part, _)| host.contains(part)).map_or(USUAL, |(_, quirks)| quirks.clone());
    let own = &model.compat;
    let alternation = own.requires_assistant_after_tool_result.unwrap_or(known.alternation);
    let cache_control = own.cache_control_format.map(|format| format == CacheControlFormat::Anthropic);
    let mistral_ids = own.requires_mistral_tool_ids.map(|wanted| if wanted { MISTRAL_ID } else { USUAL.id_limit });
    // A model with known levels supports effort.
    let effort = known.reasoning_effort || !model.thinking_levels.is_empty();
    Quirks {
        max_tokens_field: own.max_tokens_field.unwrap_or(known.max_tokens_field),
        store: own.supports_store.unwrap_or(known.store),
        developer_role: own.supports_developer_role.unwrap_or(known.developer_role),
        reasoning_effort: own.supports_reasoning_effort.unwrap_or(effort),
        usage_in_streaming: own.supports_usage_in_streaming.unwrap_or(known.usage_in_streaming),
        tool_result_name: own.requires_tool_result_name.unwrap_or(known.tool_result_name),
        assistant_after_tool_result: own
            .requires_assistant_after_tool_result
            .unwrap_or(known.assistant_after_tool_result),
        // A server that requires an assistant message after a result does not accept two consecutive user messages
        // either.
        alternation: own.requires_alternating_roles.unwrap_or(alternation),
        thought_wanted: own.requires_reasoning_content_on_assistant_messages.unwrap_or(known.thought_wanted),
        thinking_format: own.thinking_format.unwrap_or(known.thinking_format),
        cache_key: own.supports_prompt_cache_key.unwrap_or(known.cache_key),
        cache_control: cache_control.unwrap_or(known.cache_control),
        id_limit: mistral_ids.unwrap_or(known.id_limit),
    }
}
