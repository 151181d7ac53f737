//! A model as data: its base URL, size and prices, and the peculiarities of its server.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Usage, UsageCost};

/// A model that can receive requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The id that is sent to the server.
    pub id: String,
    /// The displayed name.
    pub name: String,
    /// The provider's id in the registry.
    pub provider: String,
    /// The wire protocol: `anthropic-messages`, `openai-completions`, `openai-responses`,
    /// `google-generative-ai` or `scripted`.
    pub api: String,
    /// The base URL of the server, without a trailing slash.
    pub base_url: String,
    /// True if the model can think before it answers.
    pub reasoning: bool,
    /// The supported thinking levels; empty means all. `off` in the list means that the server accepts the word `none`.
    /// If a Google model's list does not contain `off`, it cannot stop thinking, and the minimum is requested instead.
    pub thinking_levels: Vec<ThinkingLevel>,
    /// How a level is sent to the server.
    pub thinking_mode: ThinkingMode,
    /// The supported kinds of input other than text.
    pub input: Vec<Input>,
    /// The maximum number of tokens of request and answer together.
    pub context_window: u64,
    /// The maximum number of tokens of one answer.
    pub max_tokens: u64,
    /// The prices in US dollars per million tokens.
    pub cost: Cost,
    /// Additional headers of each request, in order. In a registry's model the values are as in `models.json`;
    /// [`crate::credentials::Credentials::headers`] resolves them.
    pub headers: Vec<(String, String)>,
    /// Differences between its server and the protocol's original.
    pub compat: Compat,
    /// The larger model to use when the context overflows: an id or `provider/id`; `None` without one.
    pub context_promotion_target: Option<String>,
    /// True if only its id is known: images and requested levels are then sent anyway, and its server decides.
    pub unknown: bool,
}

impl Default for Model {
    fn default() -> Model {
        Model {
            id: String::new(),
            name: String::new(),
            provider: String::new(),
            api: String::new(),
            base_url: String::new(),
            reasoning: false,
            thinking_levels: Vec::new(),
            thinking_mode: ThinkingMode::Budget,
            input: vec![Input::Text],
            context_window: 128_000,
            max_tokens: 16_384,
            cost: Cost::default(),
            headers: Vec::new(),
            compat: Compat::default(),
            context_promotion_target: None,
            unknown: false,
        }
    }
}

impl Model {
    /// Returns `provider/id`, as in session files and `--model`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Returns true if images may be sent.
    #[must_use]
    pub fn takes_images(&self) -> bool {
        self.unknown || self.input.contains(&Input::Image)
    }

    /// Returns true if search results can add tools to a conversation without changing its cached prefix. Anthropic's
    /// models support this from version 4 on. Other models support it only if the table or the configuration says so.
    #[must_use]
    pub fn loads_tools(&self) -> bool {
        let known = self.compat.supports_tool_search;
        match &*self.api {
            "anthropic-messages" => known.unwrap_or_else(|| {
                self.provider == "anthropic" && self.id.starts_with("claude-") && !self.id.starts_with("claude-3")
            }),
            "openai-responses" => known == Some(true),
            _ => false,
        }
    }

    /// Returns true if the model supports `level`. `off` is always supported.
    #[must_use]
    pub fn knows_level(&self, level: ThinkingLevel) -> bool {
        level == ThinkingLevel::Off
            || self.reasoning && (self.thinking_levels.is_empty() || self.thinking_levels.contains(&level))
    }

    /// Prepares the model for a level that a user requested explicitly. An unknown model is assumed to think; a model
    /// without a list of levels accepts the nearest one.
    ///
    /// # Errors
    /// Returns an error if the model does not think, or supports other levels: `openai/o3 does not support the thinking
    /// level "minimal"; supported: off, low, medium, high`.
    pub fn accept_level(&mut self, level: ThinkingLevel) -> Result<(), String> {
        if level == ThinkingLevel::Off || self.knows_level(level) {
            return Ok(());
        }
        if self.unknown {
            self.reasoning = true;
            return Ok(());
        }
        let (key, word) = (self.key(), level.as_str());
        if !self.reasoning {
            return Err(format!(
                "{key} does not support thinking, so the level \"{word}\" cannot be used; use off, or set \"reasoning\": true for it in models.json"
            ));
        }
        let known = ThinkingLevel::ALL.into_iter().filter(|level| self.knows_level(*level));
        let known = known.map(ThinkingLevel::as_str).collect::<Vec<_>>().join(", ");
        Err(format!("{key} does not support the thinking level \"{word}\"; supported: {known}"))
    }

    /// Returns the highest supported level that is not above `level`.
    #[must_use]
    pub fn clamp_level(&self, level: ThinkingLevel) -> ThinkingLevel {
        let below = ThinkingLevel::ALL.into_iter().rev().filter(|l| *l <= level);
        below.into_iter().find(|l| self.knows_level(*l)).unwrap_or(ThinkingLevel::Off)
    }

    /// Returns the value of OpenAI's effort parameter for `level`; `None` omits the field. Few servers support `none`
    /// and `xhigh`, so they are only sent to a model that lists the level.
    #[must_use]
    pub fn effort(&self, level: ThinkingLevel) -> Option<&'static str> {
        match level {
            ThinkingLevel::Off => self.thinking_levels.contains(&level).then_some("none"),
            ThinkingLevel::XHigh if !self.thinking_levels.contains(&level) => Some("high"),
            ThinkingLevel::XHigh => Some(self.compat.highest_effort.unwrap_or(HighestEffort::XHigh).as_str()),
            level => Some(level.as_str()),
        }
    }

    /// Sets the sum of tokens and the cost at this model's prices in `usage`.
    pub fn price(&self, usage: &mut Usage) {
        let dollars = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1e6;
        usage.total_tokens =
            usage.input.saturating_add(usage.output).saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let input = dollars(usage.input, self.cost.input);
        let output = dollars(usage.output, self.cost.output);
        let cache_read = dollars(usage.cache_read, self.cost.cache_read);
        let cache_write = dollars(usage.cache_write, self.cost.cache_write);
        usage.cost =
            UsageCost { input, output, cache_read, cache_write, total: input + output + cache_read + cache_write };
    }
}

/// How much a model should think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// Not at all.
    #[default]
    Off,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
    /// As much as possible.
    #[serde(rename = "xhigh")]
    XHigh,
}

impl ThinkingLevel {
    /// All levels in ascending order.
    pub const ALL: [ThinkingLevel; 6] = [
        ThinkingLevel::Off,
        ThinkingLevel::Minimal,
        ThinkingLevel::Low,
        ThinkingLevel::Medium,
        ThinkingLevel::High,
        ThinkingLevel::XHigh,
    ];

    /// Returns the level's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ThinkingLevel::Off => "off",
            ThinkingLevel::Minimal => "minimal",
            ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
            ThinkingLevel::XHigh => "xhigh",
        }
    }

    /// Returns the level with this name; `None` if there is none.
    #[must_use]
    pub fn parse(word: &str) -> Option<ThinkingLevel> {
        ThinkingLevel::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

/// How a level is sent to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingMode {
    /// As a number of tokens.
    #[default]
    Budget,
    /// As the name of an effort.
    Adaptive,
}

/// A kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// Text.
    Text,
    /// Images.
    Image,
}

/// Prices in US dollars per million tokens; 0 if they are unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// Tokens read.
    pub input: f64,
    /// Tokens written.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
}

/// Differences between a server or a model and its protocol. If a value is `None`, the base URL decides;
/// otherwise the default is the behavior of the protocol's original.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compat {
    /// The field name of the output limit.
    pub max_tokens_field: Option<MaxTokensField>,
    /// Whether the server supports `store`.
    pub supports_store: Option<bool>,
    /// Whether the server supports the role `developer`.
    pub supports_developer_role: Option<bool>,
    /// Whether the server supports `reasoning_effort`.
    pub supports_reasoning_effort: Option<bool>,
    /// Whether the server supports `stream_options.include_usage`.
    pub supports_usage_in_streaming: Option<bool>,
    /// Whether the server has a cache per `prompt_cache_key`.
    pub supports_prompt_cache_key: Option<bool>,
    /// `anthropic`: the server passes `cache_control` to models of Anthropic.
    pub cache_control_format: Option<CacheControlFormat>,
    /// Whether a tool result must contain the name of its tool.
    pub requires_tool_result_name: Option<bool>,
    /// Whether a user message may not directly follow a tool result.
    pub requires_assistant_after_tool_result: Option<bool>,
    /// Whether user and assistant messages must alternate; `None` means the value of the previous field.
    pub requires_alternating_roles: Option<bool>,
    /// Whether a thinking model needs the field `reasoning_content` in each assistant message, even if it is empty.
    pub requires_reasoning_content_on_assistant_messages: Option<bool>,
    /// Whether ids of tool calls must have exactly nine letters and digits.
    pub requires_mistral_tool_ids: Option<bool>,
    /// How thinking is enabled.
    pub thinking_format: Option<ThinkingFormat>,
    /// The name of the highest effort; `None` means `xhigh`.
    pub highest_effort: Option<HighestEffort>,
    /// Whether the model always thinks.
    pub always_thinks: Option<bool>,
    /// Whether the model accepts `temperature`; `None` means true.
    pub supports_temperature: Option<bool>,
    /// Whether a request may force a tool; `None` means true.
    pub supports_forced_tool_choice: Option<bool>,
    /// Whether a conversation may end with the beginning of the model's answer; `None` means true.
    pub supports_assistant_prefill: Option<bool>,
    /// Whether the model's server searches deferred tools.
    pub supports_tool_search: Option<bool>,
    /// Whether the model accepts system messages inside a conversation.
    pub supports_mid_conversation_system: Option<bool>,
    /// Whether the server of a Claude with a thinking budget accepts the beta header for thinking between tool calls.
    /// `None` decides by the model's id.
    pub interleaved_thinking: Option<bool>,
    /// OpenRouter's `provider` object, passed unchanged.
    pub open_router_routing: Option<Value>,
    /// Vercel's `providerOptions.gateway` object, passed unchanged.
    pub vercel_gateway_routing: Option<Value>,
}

/// How a server expects cached parts to be marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheControlFormat {
    /// `cache_control: {"type": "ephemeral"}`.
    Anthropic,
    /// Not at all: the server caches automatically, or never.
    None,
}

/// The name of the highest effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HighestEffort {
    /// `xhigh`.
    XHigh,
    /// `max`.
    Max,
}

impl HighestEffort {
    /// Returns the name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            HighestEffort::XHigh => "xhigh",
            HighestEffort::Max => "max",
        }
    }
}

/// The field name of the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// OpenAI's current name.
    MaxCompletionTokens,
    /// The older name, which most compatible servers support.
    MaxTokens,
}

/// How thinking is enabled on a compatible server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingFormat {
    /// `reasoning_effort: "high"`.
    Openai,
    /// `thinking: {"type": "enabled"}`.
    Zai,
    /// `enable_thinking: true`.
    Qwen,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamps_a_level_to_a_supported_one() {
        let model = Model {
            reasoning: true,
            thinking_levels: vec![ThinkingLevel::Low, ThinkingLevel::High],
            ..Model::default()
        };
        let clamped = ThinkingLevel::ALL.map(|level| model.clamp_level(level));
        use ThinkingLevel::{High, Low, Off};
        assert_eq!(clamped, [Off, Off, Low, Low, High, High]);
        assert_eq!(Model::default().clamp_level(High), Off);
    }

    #[test]
    fn a_requested_level_is_sent_or_rejected() {
        use ThinkingLevel::{High, Low, Off};
        let model = |unknown, reasoning, levels: &[ThinkingLevel]| Model {
            id: "m".into(),
            provider: "p".into(),
            unknown,
            reasoning,
            thinking_levels: levels.to_vec(),
            ..Model::default()
        };
        let table = [
            (model(false, true, &[]), High, Ok(true)),
            (
                model(false, true, &[Low]),
                High,
                Err("p/m does not support the thinking level \"high\"; supported: off, low"),
            ),
            (model(false, false, &[]), Off, Ok(false)),
            (
                model(false, false, &[]),
                High,
                Err(
                    "p/m does not support thinking, so the level \"high\" cannot be used; use off, or set \"reasoning\": true for it in models.json",
                ),
            ),
            (model(true, false, &[]), Off, Ok(false)),
            (model(true, false, &[]), High, Ok(true)),
        ];
        for (mut model, level, expect) in table {
            let accepted = model.accept_level(level).map(|()| model.reasoning);
            assert_eq!(accepted, expect.map_err(str::to_string), "{level:?} of {model:?}");
        }
    }

    #[test]
    fn prices_are_per_million_tokens() {
        let cost = Cost { input: 3.0, output: 15.0, cache_read: 0.5, cache_write: 4.0 };
        let model = Model { cost, ..Model::default() };
        let mut usage =
            Usage { input: 1_000_000, output: 2_000_000, cache_read: 2_000_000, cache_write: 0, ..Usage::default() };
        model.price(&mut usage);
        assert_eq!((usage.total_tokens, usage.cost.total), (5_000_000, 34.0));
    }
}
