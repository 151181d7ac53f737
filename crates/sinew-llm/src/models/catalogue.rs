//! The built-in providers and models, as data. Small on purpose: an id of a known provider that is not
//! listed works with the defaults.

use crate::model::{Cost, Input, Model, ThinkingLevel, ThinkingMode};

/// A provider that everybody has.
pub(super) struct ProviderRow {
    pub(super) id: &'static str,
    pub(super) alias: Option<&'static str>,
    pub(super) api: &'static str,
    pub(super) base_url: &'static str,
    /// Variables that may hold the key, the first first. A name that ends in `OAUTH_TOKEN` holds a bearer token.
    pub(super) env: &'static [&'static str],
    /// A server of the own machine: the key is optional.
    pub(super) local: bool,
}

const fn compatible(id: &'static str, base_url: &'static str, env: &'static [&'static str]) -> ProviderRow {
    ProviderRow { id, alias: None, api: "openai-completions", base_url, env, local: false }
}

const fn local(id: &'static str, base_url: &'static str, env: &'static [&'static str]) -> ProviderRow {
    ProviderRow { id, alias: None, api: "openai-completions", base_url, env, local: true }
}

/// In the order in which they are tried when nothing is said about the model.
pub(super) const PROVIDERS: &[ProviderRow] = &[
    ProviderRow {
        id: "anthropic",
        alias: None,
        api: "anthropic-messages",
        base_url: "https://api.anthropic.com",
        env: &["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"],
        local: false,
    },
    ProviderRow {
        id: "openai",
        alias: None,
        api: "openai-responses",
        base_url: "https://api.openai.com/v1",
        env: &["OPENAI_API_KEY"],
        local: false,
    },
    ProviderRow {
        id: "google",
        alias: None,
        api: "google-generative-ai",
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        local: false,
    },
    compatible("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"]),
    compatible("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    compatible("cerebras", "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"]),
    compatible("xai", "https://api.x.ai/v1", &["XAI_API_KEY"]),
    compatible("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    compatible("deepseek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"]),
    compatible("together", "https://api.together.xyz/v1", &["TOGETHER_API_KEY"]),
    compatible("moonshot", "https://api.moonshot.ai/v1", &["MOONSHOT_API_KEY"]),
    compatible("zai", "https://api.z.ai/api/paas/v4", &["ZAI_API_KEY"]),
    compatible("nvidia", "https://integrate.api.nvidia.com/v1", &["NVIDIA_API_KEY"]),
    ProviderRow {
        alias: Some("opencode_go"),
        ..compatible("opencode", "https://opencode.ai/zen/go/v1", &["OPENCODE_API_KEY"])
    },
    compatible("huggingface", "https://router.huggingface.co/v1", &["HF_TOKEN"]),
    compatible("vercel-ai-gateway", "https://ai-gateway.vercel.sh/v1", &["AI_GATEWAY_API_KEY"]),
    local("ollama", "http://127.0.0.1:11434/v1", &["OLLAMA_API_KEY"]),
    local("vllm", "http://127.0.0.1:8000/v1", &["VLLM_API_KEY"]),
    local("lmstudio", "http://127.0.0.1:1234/v1", &["LMSTUDIO_API_KEY"]),
    local("litellm", "http://127.0.0.1:4000/v1", &["LITELLM_API_KEY"]),
];

/// Provider, id, name; thinks, sees; window and answer in thousands of tokens; dollars per million tokens
/// read, written, read from the cache, written to the cache.
type ModelRow = (&'static str, &'static str, &'static str, bool, bool, [u64; 2], [f64; 4]);

/// The first of a provider is its default.
const MODELS: &[ModelRow] = &[
    ("anthropic", "claude-sonnet-4-5", "Claude Sonnet 4.5", true, true, [200, 64], [3.0, 15.0, 0.3, 3.75]),
    ("anthropic", "claude-sonnet-4-5-20250929", "Claude Sonnet 4.5", true, true, [200, 64], [3.0, 15.0, 0.3, 3.75]),
    ("anthropic", "claude-opus-4-5", "Claude Opus 4.5", true, true, [200, 64], [5.0, 25.0, 0.5, 6.25]),
    ("anthropic", "claude-opus-4-1", "Claude Opus 4.1", true, true, [200, 32], [15.0, 75.0, 1.5, 18.75]),
    ("anthropic", "claude-sonnet-4-0", "Claude Sonnet 4", true, true, [200, 64], [3.0, 15.0, 0.3, 3.75]),
    ("anthropic", "claude-haiku-4-5", "Claude Haiku 4.5", true, true, [200, 64], [1.0, 5.0, 0.1, 1.25]),
    ("openai", "gpt-5", "GPT-5", true, true, [400, 128], [1.25, 10.0, 0.125, 0.0]),
    ("openai", "gpt-5-mini", "GPT-5 mini", true, true, [400, 128], [0.25, 2.0, 0.025, 0.0]),
    ("openai", "gpt-5-nano", "GPT-5 nano", true, true, [400, 128], [0.05, 0.4, 0.005, 0.0]),
    ("openai", "gpt-5.1", "GPT-5.1", true, true, [400, 128], [1.25, 10.0, 0.125, 0.0]),
    ("openai", "gpt-5.1-codex", "GPT-5.1 Codex", true, true, [400, 128], [1.25, 10.0, 0.125, 0.0]),
    ("openai", "gpt-4.1", "GPT-4.1", false, true, [1048, 32], [2.0, 8.0, 0.5, 0.0]),
    ("openai", "o3", "o3", true, true, [200, 100], [2.0, 8.0, 0.5, 0.0]),
    ("google", "gemini-2.5-pro", "Gemini 2.5 Pro", true, true, [1048, 65], [1.25, 10.0, 0.31, 0.0]),
    ("google", "gemini-2.5-flash", "Gemini 2.5 Flash", true, true, [1048, 65], [0.3, 2.5, 0.075, 0.0]),
    ("google", "gemini-2.5-flash-lite", "Gemini 2.5 Flash-Lite", true, true, [1048, 65], [0.1, 0.4, 0.025, 0.0]),
    ("openrouter", "anthropic/claude-sonnet-4.5", "Claude Sonnet 4.5", true, true, [200, 64], [3.0, 15.0, 0.3, 3.75]),
    ("openrouter", "qwen/qwen3-coder", "Qwen3 Coder", false, false, [262, 65], [0.0; 4]),
    ("groq", "openai/gpt-oss-120b", "GPT-OSS 120B", true, false, [131, 65], [0.15, 0.75, 0.0, 0.0]),
    ("cerebras", "gpt-oss-120b", "GPT-OSS 120B", true, false, [131, 40], [0.35, 0.75, 0.0, 0.0]),
    ("xai", "grok-4", "Grok 4", true, true, [256, 64], [3.0, 15.0, 0.75, 0.0]),
    ("xai", "grok-code-fast-1", "Grok Code Fast 1", true, false, [256, 10], [0.2, 1.5, 0.02, 0.0]),
    ("mistral", "devstral-medium-latest", "Devstral Medium", false, false, [128, 128], [0.4, 2.0, 0.0, 0.0]),
    ("mistral", "mistral-large-latest", "Mistral Large", false, true, [128, 16], [2.0, 6.0, 0.0, 0.0]),
    ("deepseek", "deepseek-chat", "DeepSeek Chat", false, false, [128, 8], [0.28, 0.42, 0.028, 0.0]),
    ("deepseek", "deepseek-reasoner", "DeepSeek Reasoner", true, false, [128, 64], [0.28, 0.42, 0.028, 0.0]),
    ("moonshot", "kimi-k2-turbo-preview", "Kimi K2 Turbo", false, false, [262, 32], [0.0; 4]),
    ("zai", "glm-4.6", "GLM 4.6", true, false, [200, 128], [0.6, 2.2, 0.11, 0.0]),
];

/// Beginnings of ids whose models know only some levels; the first that fits holds. `off` in a list: the
/// server can be told not to think.
const LEVELS: &[(&str, &[ThinkingLevel])] = {
    use ThinkingLevel::{High, Low, Medium, Minimal, Off, XHigh};
    &[
        ("openai/gpt-5.1-codex", &[Low, Medium, High]),
        ("openai/gpt-5.1", &[Off, Low, Medium, High]),
        ("openai/gpt-5", &[Minimal, Low, Medium, High]),
        ("openai/o", &[Low, Medium, High]),
        ("google/gemini-2.5-pro", &[Minimal, Low, Medium, High, XHigh]),
        ("groq/openai/gpt-oss", &[Low, Medium, High]),
        ("cerebras/gpt-oss", &[Low, Medium, High]),
    ]
};

pub(super) fn models() -> Vec<Model> {
    let model = |(provider, id, name, reasoning, images, [window, answer], cost): &ModelRow| {
        let [input, output, cache_read, cache_write] = *cost;
        let mut model = Model {
            id: (*id).to_string(),
            name: (*name).to_string(),
            provider: (*provider).to_string(),
            reasoning: *reasoning,
            thinking_mode: ThinkingMode::Budget,
            input: if *images { vec![Input::Text, Input::Image] } else { vec![Input::Text] },
            context_window: window * 1000,
            max_tokens: answer * 1000,
            cost: Cost { input, output, cache_read, cache_write },
            ..Model::default()
        };
        if let Some(row) = PROVIDERS.iter().find(|row| row.id == *provider) {
            model.api = row.api.to_string();
            model.base_url = row.base_url.to_string();
        }
        let key = model.key();
        if let Some((_, levels)) = LEVELS.iter().find(|(start, _)| key.starts_with(start)) {
            model.thinking_levels = levels.to_vec();
        }
        model
    };
    MODELS.iter().map(model).collect()
}
