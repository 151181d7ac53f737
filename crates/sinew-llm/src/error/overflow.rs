//! Phrases of servers for a conversation that exceeds the context window.

use super::ErrorKind;

/// The kind of a 400 without a body. Cerebras reports an overflow like this; all known servers report other errors with
/// a text.
pub(super) const WITHOUT_A_BODY: ErrorKind = ErrorKind::ContextOverflow;

/// The servers and their phrases in lower case, with `…` for any text in between. Servers with the same phrases are in
/// the row of their original.
pub(super) const WORDS: &[(&str, &[&str])] = &[
    ("anthropic", &["prompt is too long", "exceed context limit", "request_too_large"]),
    (
        "openai",
        &[
            "exceeds the context window",
            "context_length_exceeded",
            "context length exceeded",
            "input tokens exceed the configured limit of",
        ],
    ),
    // OpenRouter, DeepSeek and most OpenAI-compatible servers use these phrases too.
    (
        "vllm",
        &[
            "maximum context length",
            "exceeds the model's context",
            "prompt …is longer than the maximum model length of",
        ],
    ),
    ("google", &["input token count", "exceeds the maximum number of tokens"]),
    ("bedrock", &["input is too long", "too many input tokens. max input tokens"]),
    ("xai", &["maximum prompt length"]),
    ("groq", &["reduce the length of the messages"]),
    ("together", &["is longer than the model's context length", "`inputs` tokens + `max_new_tokens` must be"]),
    ("tgi", &["`inputs` must have less than …tokens"]),
    ("zai", &["prompt exceeds max length", "model_context_window_exceeded"]),
    ("ollama", &["prompt too long", "exceeds the context length"]),
    ("poolside", &["exceeds the maximum allowed input length"]),
    ("dashscope", &["range of input length should be"]),
    // From a gateway that forwards an empty answer.
    ("cerebras", &["400 status code (no body)", "413 status code (no body)"]),
    (
        "lmstudio",
        &[
            "greater than the context length",
            "when context the overflows",
            "does not fit in context length",
            "context size has been exceeded",
        ],
    ),
    ("llamacpp", &["exceeds the available context size", "exceeds context size"]),
    ("llama-cpp-python", &["requested tokens …exceed context window of"]),
    ("cloudflare", &["exceeded this model context window limit"]),
    ("watsonx", &["number of input tokens …cannot exceed the total tokens limit"]),
    // The class of the error, which the proxy writes before the text of the server.
    ("litellm", &["contextwindowexceedederror"]),
    ("mistral", &["too large for model with"]),
    ("copilot", &["prompt token count of"]),
    ("minimax", &["context window exceeds"]),
    ("moonshot", &["exceeded model token limit"]),
    ("siliconflow", &["exceeded max_prompt_tokens", "length of prompt_tokens …must be less than max_seq_len"]),
    ("volcengine", &["input length …exceeds the maximum length"]),
    ("sglang", &["exceeds the maximum allowed length"]),
    ("cohere", &["total number of tokens in the prompt cannot exceed"]),
];

/// Returns true if `lower`, a text in lower case, reports an overflow.
pub(super) fn is_worded(lower: &str) -> bool {
    let says = |words: &str| words.split('…').try_fold(lower, |rest, part| Some(rest.split_once(part)?.1)).is_some();
    WORDS.iter().flat_map(|(_, words)| *words).any(|words| says(words))
}
