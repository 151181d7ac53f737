//! The recorded answers of servers to a conversation that exceeds the model's context window.

use super::Reply;

/// A recorded answer.
#[derive(Debug, Clone, Copy)]
pub struct Overflow {
    /// The server or service that answered.
    pub provider: &'static str,
    /// The status.
    pub status: u16,
    /// The body; one that begins with `event:` is a stream.
    pub body: &'static str,
}

impl Overflow {
    /// Returns the answer as the server sends it.
    #[must_use]
    pub fn reply(&self) -> Reply {
        let kind = if self.body.starts_with("event:") { "text/event-stream" } else { "application/json" };
        Reply::text(self.status, kind, self.body)
    }
}

const fn row(provider: &'static str, status: u16, body: &'static str) -> Overflow {
    Overflow { provider, status, body }
}

/// At least one row for each provider.
pub const RECORDED: &[Overflow] = &[
    row(
        "anthropic",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
    ),
    row(
        "anthropic",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000, decrease input length or `max_tokens` and try again"},"request_id":"req_011CUWu7a8bGeMSvA9d7DRLa"}"#,
    ),
    row(
        "anthropic",
        413,
        r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
    ),
    row(
        "openai",
        400,
        r#"{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
    ),
    row(
        "vllm",
        400,
        r#"{"error":{"message":"This model's maximum context length is 196608 tokens. However, your request has 264175 input tokens. Please reduce the length of the input messages. (parameter=input_tokens, value=264175)","type":"BadRequestError","param":"input_tokens","code":400}}"#,
    ),
    row(
        "openrouter",
        400,
        r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 141607 tokens (10535 of text input, 131072 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400,"metadata":{"provider_name":"Chutes"}}}"#,
    ),
    row(
        "openrouter",
        502,
        r#"{"error":{"message":"Upstream error from Chutes: The input (49146 tokens) is longer than the model's context length (40960 tokens).","code":502,"metadata":{"raw":{"object":"error","message":"The input (49146 tokens) is longer than the model's context length (40960 tokens).","type":"BadRequestError","param":null,"code":400},"provider_name":"Chutes"}}}"#,
    ),
    row(
        "poolside",
        400,
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.\"}}","provider_name":"Poolside"}}}"#,
    ),
    row(
        "google",
        400,
        r#"{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}"#,
    ),
    row("bedrock", 400, r#"{"message":"Input is too long for requested model."}"#),
    row(
        "xai",
        400,
        r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#,
    ),
    row(
        "groq",
        400,
        r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages"}}"#,
    ),
    row(
        "together",
        400,
        r#"{"error":{"message":"The input (516368 tokens) is longer than the model's context length (262144 tokens).","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    row(
        "together",
        400,
        r#"{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 `inputs` tokens and 4096 `max_new_tokens`","type":"invalid_request_error","param":"max_tokens","code":null}}"#,
    ),
    row("zai", 400, r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#),
    row("zai", 400, r#"{"error":{"code":1261,"message":"Prompt 超长"}}"#),
    row(
        "ollama",
        400,
        r#"{"StatusCode":400,"Status":"400 Bad Request","error":"prompt too long; exceeded max context length by 4 tokens"}"#,
    ),
    row(
        "ollama",
        400,
        r#"{"error":{"message":"prompt too long; exceeded max context length by 100918 tokens","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    row("ollama", 500, r#"{"error":"the input length exceeds the context length"}"#),
    row(
        "dashscope",
        400,
        r#"{"error":{"code":"invalid_parameter_error","param":null,"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 3072]","type":"invalid_request_error"},"id":"chatcmpl-4c7a91c5"}"#,
    ),
    row("cerebras", 400, ""),
    row("cerebras", 413, ""),
    row("cerebras", 400, r#"{"error":"Error from inference backend: 400 status code (no body)"}"#),
    row("cerebras", 400, r#"{"error":"Error from inference backend: 413 status code (no body)"}"#),
    row(
        "lmstudio",
        400,
        r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}"#,
    ),
    row(
        "lmstudio",
        400,
        r#"{"error":"Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input. Error Data: n/a, Additional Data: n/a"}"#,
    ),
    row(
        "lmstudio",
        200,
        "event: error\ndata: {\"error\":{\"message\":\"Input does not fit in context length. The input has 31430 tokens, but the context length only supports 30000 tokens.\"},\"message\":\"Input does not fit in context length. The input has 31430 tokens, but the context length only supports 30000 tokens.\"}\n\n",
    ),
    row("lmstudio", 500, r#"{"error":"Context size has been exceeded."}"#),
    row(
        "llamacpp",
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#,
    ),
    row("llamacpp", 400, r#"{"error":{"message":"request (53192 tokens) exceeds context size (50176 tokens)"}}"#),
    row(
        "mistral",
        400,
        r#"{"object":"error","message":"Prompt contains 300000 tokens and 0 draft tokens, too large for model with 262144 maximum context length","type":"invalid_request_prompt","code":"3051"}"#,
    ),
    row("copilot", 400, r#"{"error":{"message":"prompt token count of 240000 exceeds the limit of 200000"}}"#),
    row("minimax", 400, r#"{"error":{"message":"invalid params, context window exceeds limit"}}"#),
    row(
        "moonshot",
        400,
        r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)","type":"invalid_request_error"}}"#,
    ),
    row(
        "siliconflow",
        400,
        r#"{"code":20015,"message":"number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.","data":null}"#,
    ),
    row(
        "volcengine",
        400,
        r#"{"error":{"code":"InvalidParameter","message":"Input length 203743 exceeds the maximum length 202752","type":"BadRequest"}}"#,
    ),
    row(
        "sglang",
        400,
        r#"{"object":"error","message":"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).","type":"BadRequestError","code":400}"#,
    ),
    row(
        "cohere",
        400,
        r#"{"message":"too many tokens: total number of tokens in the prompt cannot exceed 8192 - received 9000."}"#,
    ),
    row(
        "openai",
        400,
        r#"{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 289650 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":null}}"#,
    ),
    row(
        "vllm",
        400,
        r#"{"object":"error","message":"The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that `max_model_len` is no smaller than the number of text tokens.","type":"BadRequestError","param":null,"code":400}"#,
    ),
    row(
        "vllm",
        400,
        r#"{"object":"error","message":"Prompt length of 5016 is longer than the maximum model length of 4096.","type":"BadRequestError","param":null,"code":400}"#,
    ),
    row(
        "bedrock",
        400,
        r#"{"message":"Too many input tokens. Max input tokens: 8192, request input token count: 10023"}"#,
    ),
    row(
        "tgi",
        422,
        r#"{"error":"Input validation error: `inputs` must have less than 4095 tokens. Given: 5120","error_type":"validation"}"#,
    ),
    row(
        "llama-cpp-python",
        400,
        r#"{"error":{"message":"Requested tokens (4153) exceed context window of 4096","type":"invalid_request_error","param":null,"code":400}}"#,
    ),
    row(
        "llama-cpp-python",
        500,
        r#"{"error":{"message":"Requested tokens (4153) exceed context window of 4096","type":"internal_server_error","param":null,"code":null}}"#,
    ),
    row(
        "cloudflare",
        413,
        r#"{"errors":[{"message":"AiError: The estimated number of input and maximum output tokens (26404) exceeded this model context window limit (24000).","code":5021}],"success":false,"result":{},"messages":[]}"#,
    ),
    row(
        "cloudflare",
        400,
        r#"{"errors":[{"message":"AiError: The estimated number of input and maximum output tokens (26404) exceeded this model context window limit (24000).","code":5021}],"success":false,"result":{},"messages":[]}"#,
    ),
    row(
        "watsonx",
        400,
        r#"{"errors":[{"code":"invalid_input_argument","message":"Invalid input argument for Model: the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model","more_info":"https://cloud.example/apis"}],"trace":"t1","status_code":400}"#,
    ),
    row(
        "litellm",
        400,
        r#"{"error":{"message":"litellm.BadRequestError: litellm.ContextWindowExceededError: OpenAIException - the prompt does not fit. Received Model Group=large","type":null,"param":null,"code":"400"}}"#,
    ),
];
