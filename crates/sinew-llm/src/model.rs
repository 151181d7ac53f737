//! A model as data: where it answers, how large it is, what it costs, how its server differs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Usage, UsageCost};

/// A model that can be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The id that goes to the server.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// The provider's id in the registry.
    pub provider: String,
    /// The wire protocol: `anthropic-messages`, `openai-completions`, `openai-responses`,
    /// `google-generative-ai` or `scripted`.
    pub api: String,
    /// The server's address, without a slash at the end.
    pub base_url: String,
    /// The model can think before it answers.
    pub reasoning: bool,
    /// The levels it knows; empty means all. `off` in the list: the server knows the word `none`. A list
    /// without `off`: a Google model cannot stop thinking, and thinks as little as it can.
    pub thinking_levels: Vec<ThinkingLevel>,
    /// The form in which a level is sent to the server.
    pub thinking_mode: ThinkingMode,
    /// Input that it reads besides text.
    pub input: Vec<Input>,
    /// Tokens of request and answer together.
    pub context_window: u64,
    /// Tokens of one answer at most.
    pub max_tokens: u64,
    /// US dollars per million tokens.
    pub cost: Cost,
    /// More headers of each request, in order. Values of a registry's model are as `models.json` writes
    /// them: [`crate::credentials::Credentials::headers`] turns them into what is sent.
    pub headers: Vec<(String, String)>,
    /// Differences between its server and the protocol's inventor.
    pub compat: Compat,
    /// The larger model to turn to when the context overflows: an id or `provider/id`.
    pub context_promotion_target: Option<String>,
    /// Nothing is known of it but its id: pictures and levels that a user names are sent, and its server judges.
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
    /// `provider/id`, as a session file and `--model` write it.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Returns whether pictures may be sent.
    #[must_use]
    pub fn takes_images(&self) -> bool {
        self.unknown || self.input.contains(&Input::Image)
    }

    /// Returns whether tools can come into a conversation by the result of a search, past what stands in front of it.
    /// Anthropic's models from 4 on do; of others it has to be known.
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

    /// Returns whether the model knows `level`. `off` is always known.
    #[must_use]
    pub fn knows_level(&self, level: ThinkingLevel) -> bool {
        level == ThinkingLevel::Off
            || self.reasoning && (self.thinking_levels.is_empty() || self.thinking_levels.contains(&level))
    }

    /// Makes the model ready for a level that a user asked for by name. One of which nothing is known is taken to
    /// think; one without a list of levels takes what is nearest.
    ///
    /// # Errors
    /// The model does not think, or knows other levels:
    /// `openai/o3 does not support the thinking level "minimal"; supported: off, low, medium, high`.
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
                "{key} does not think, so \"{word}\" cannot be asked of it; use off, or set \"reasoning\": true for it in models.json"
            ));
        }
        let known = ThinkingLevel::ALL.into_iter().filter(|level| self.knows_level(*level));
        let known = known.map(ThinkingLevel::as_str).collect::<Vec<_>>().join(", ");
        Err(format!("{key} does not support the thinking level \"{word}\"; supported: {known}"))
    }

    /// The highest level that the model knows and that is not above `level`.
    #[must_use]
    pub fn clamp_level(&self, level: ThinkingLevel) -> ThinkingLevel {
        let below = ThinkingLevel::ALL.into_iter().rev().filter(|l| *l <= level);
        below.into_iter().find(|l| self.knows_level(*l)).unwrap_or(ThinkingLevel::Off)
    }

    /// The word of effort for `level`, in the words of OpenAI. None: the request has no such field. `none` and `xhigh` are
    /// words of few servers: only a model that lists the level is told so.
    #[must_use]
    pub fn effort(&self, level: ThinkingLevel) -> Option<&'static str> {
        match level {
            ThinkingLevel::Off => self.thinking_levels.contains(&level).then_some("none"),
            ThinkingLevel::XHigh if !self.thinking_levels.contains(&level) => Some("high"),
            ThinkingLevel::XHigh => Some(self.compat.highest_effort.unwrap_or(HighestEffort::XHigh).as_str()),
            level => Some(level.as_str()),
        }
    }

    /// Puts the sum of tokens and the cost at this model's prices into `usage`.
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

/// The amount of thinking that a model is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// Not at all.
    #[default]
    Off,
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    #[serde(rename = "xhigh")]
    XHigh,
}

impl ThinkingLevel {
    /// All levels from none to most.
    pub const ALL: [ThinkingLevel; 6] = [
        ThinkingLevel::Off,
        ThinkingLevel::Minimal,
        ThinkingLevel::Low,
        ThinkingLevel::Medium,
        ThinkingLevel::High,
        ThinkingLevel::XHigh,
    ];

    /// The level's word.
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

    /// The level that `word` names.
    #[must_use]
    pub fn parse(word: &str) -> Option<ThinkingLevel> {
        ThinkingLevel::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

/// The form in which a level is sent to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingMode {
    /// As a number of tokens.
    #[default]
    Budget,
    /// As a word of effort.
    Adaptive,
}

/// A kind of input that a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Input {
    /// Text.
    Text,
    /// Pictures.
    Image,
}

/// US dollars per million tokens; 0 where the price is not known.
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

/// Differences between a server or a model and its protocol. `None` means: decide by the server's address, else as the
/// protocol's inventor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compat {
    /// The name of the output limit's field.
    pub max_tokens_field: Option<MaxTokensField>,
    /// The server knows `store`.
    pub supports_store: Option<bool>,
    /// The server knows the role `developer`.
    pub supports_developer_role: Option<bool>,
    /// The server knows `reasoning_effort`.
    pub supports_reasoning_effort: Option<bool>,
    /// The server knows `stream_options.include_usage`.
    pub supports_usage_in_streaming: Option<bool>,
    /// The server keeps a cache per `prompt_cache_key`.
    pub supports_prompt_cache_key: Option<bool>,
    /// `anthropic`: models of Anthropic behind the server cache what `cache_control` marks.
    pub cache_control_format: Option<CacheControlFormat>,
    /// A tool result must name its tool.
    pub requires_tool_result_name: Option<bool>,
    /// A user message may not follow a tool result directly.
    pub requires_assistant_after_tool_result: Option<bool>,
    /// User and assistant must take turns; decided as the field before where it is not set.
    pub requires_alternating_roles: Option<bool>,
    /// A model that thinks wants the field `reasoning_content` in each of the assistant's messages, empty where it
    /// did not think.
    pub requires_reasoning_content_on_assistant_messages: Option<bool>,
    /// Ids of tool calls have exactly nine letters and digits.
    pub requires_mistral_tool_ids: Option<bool>,
    /// The form in which thinking is switched on.
    pub thinking_format: Option<ThinkingFormat>,
    /// The word for the most effort; `xhigh` where it is not set.
    pub highest_effort: Option<HighestEffort>,
    /// The model thinks whatever it is told.
    pub always_thinks: Option<bool>,
    /// The model takes `temperature`; true where it is not set.
    pub supports_temperature: Option<bool>,
    /// A request may force a tool; true where it is not set.
    pub supports_forced_tool_choice: Option<bool>,
    /// A conversation may end with the begin of the model's answer; true where it is not set.
    pub supports_assistant_prefill: Option<bool>,
    /// The model's server searches the tools that a request defers.
    pub supports_tool_search: Option<bool>,
    /// The model takes system messages inside a conversation.
    pub supports_mid_conversation_system: Option<bool>,
    /// The server of a Claude with a thinking budget takes the beta header that makes it think between tool calls too.
    /// `None` means: decide by the model's id.
    pub interleaved_thinking: Option<bool>,
    /// OpenRouter's `provider` object, as it is.
    pub open_router_routing: Option<Value>,
    /// Vercel's `providerOptions.gateway` object, as it is.
    pub vercel_gateway_routing: Option<Value>,
}

/// The way of marking what is cached that a server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheControlFormat {
    /// `cache_control: {"type": "ephemeral"}`.
    Anthropic,
    /// The server caches by itself, or not at all.
    None,
}

/// The word for the most effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HighestEffort {
    /// `xhigh`.
    XHigh,
    /// `max`.
    Max,
}

impl HighestEffort {
    /// The word itself.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            HighestEffort::XHigh => "xhigh",
            HighestEffort::Max => "max",
        }
    }
}

/// The name of the output limit's field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// OpenAI's present name.
    MaxCompletionTokens,
    /// The older name, which most compatible servers know.
    MaxTokens,
}

/// The form in which a compatible server is told to think.
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
    fn a_level_is_clamped_down_to_what_the_model_knows() {
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
    fn a_level_that_is_asked_for_is_sent_or_refused() {
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
                    "p/m does not think, so \"high\" cannot be asked of it; use off, or set \"reasoning\": true for it in models.json",
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
    fn a_price_is_per_million_tokens() {
        let cost = Cost { input: 3.0, output: 15.0, cache_read: 0.5, cache_write: 4.0 };
        let model = Model { cost, ..Model::default() };
        let mut usage =
            Usage { input: 1_000_000, output: 2_000_000, cache_read: 2_000_000, cache_write: 0, ..Usage::default() };
        model.price(&mut usage);
        assert_eq!((usage.total_tokens, usage.cost.total), (5_000_000, 34.0));
    }
}
