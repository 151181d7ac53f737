//! The built-in providers, as data. Their models are in [`super::table`].

/// A built-in provider.
pub(super) struct ProviderRow {
    pub(super) id: &'static str,
    pub(super) alias: Option<&'static str>,
    pub(super) api: &'static str,
    pub(super) base_url: &'static str,
    /// Environment variables that may contain the key, in order. A name that ends in `OAUTH_TOKEN` contains a bearer
    /// token.
    pub(super) env: &'static [&'static str],
    /// The variable with an alternative base URL, as the provider's own programs use it; `None` without one.
    pub(super) base_env: Option<&'static str>,
    /// True for a local server, whose key is optional.
    pub(super) local: bool,
}

const fn compatible(id: &'static str, base_url: &'static str, env: &'static [&'static str]) -> ProviderRow {
    ProviderRow { id, alias: None, api: "openai-completions", base_url, env, base_env: None, local: false }
}

const fn local(id: &'static str, base_url: &'static str, env: &'static [&'static str]) -> ProviderRow {
    ProviderRow { id, alias: None, api: "openai-completions", base_url, env, base_env: None, local: true }
}

/// In the order in which they are tried if no model is specified.
pub(super) const PROVIDERS: &[ProviderRow] = &[
    ProviderRow {
        id: "anthropic",
        alias: None,
        api: "anthropic-messages",
        base_url: "https://api.anthropic.com",
        env: &["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"],
        base_env: Some("ANTHROPIC_BASE_URL"),
        local: false,
    },
    ProviderRow {
        id: "openai",
        alias: None,
        api: "openai-responses",
        base_url: "https://api.openai.com/v1",
        env: &["OPENAI_API_KEY"],
        base_env: Some("OPENAI_BASE_URL"),
        local: false,
    },
    ProviderRow {
        id: "google",
        alias: None,
        api: "google-generative-ai",
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        base_env: Some("GOOGLE_GEMINI_BASE_URL"),
        local: false,
    },
    ProviderRow {
        base_env: Some("OPENROUTER_BASE_URL"),
        ..compatible("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"])
    },
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

/// Returns the base URL in an environment variable. OpenAI's and OpenRouter's include the version, Google's does not,
/// as in their own programs; Anthropic's may.
pub(super) fn base_url(row: &ProviderRow, value: &str) -> String {
    let base = value.trim().trim_end_matches('/');
    let base = if base.contains("://") { base.to_string() } else { format!("https://{base}") };
    let path = base.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    match row.api {
        "google-generative-ai" if !path.split('/').any(|part| part.starts_with("v1")) => format!("{base}/v1beta"),
        _ => base,
    }
}

/// Parses Ollama's own variable: a host, a port, both, or a URL. The wildcard address is replaced by the address
/// of this machine.
pub(super) fn ollama_url(value: &str) -> String {
    const PORT: &str = "11434";
    let value = value.trim().trim_end_matches('/');
    let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    let usual = match (value.contains("://"), scheme) {
        (false, _) => PORT,
        (true, "https") => "443",
        (true, _) => "80",
    };
    let bare = host.starts_with('[') && host.ends_with(']') || !host.contains(':');
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !bare => (name, port),
        _ => (host, usual),
    };
    let name = match name {
        "" | "0.0.0.0" | "[::]" => "127.0.0.1",
        name => name,
    };
    let path = path.trim_end_matches('/');
    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
    let version = if path.ends_with("/v1") { "" } else { "/v1" };
    format!("{scheme}://{name}:{port}{path}{version}")
}
