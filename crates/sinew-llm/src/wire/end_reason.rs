//! The reasons that servers report for the end of an answer.
//!
//! All protocols share one table, because gateways forward the reason of the server behind them: a chat completion may
//! end with `end_turn` or `MAX_TOKENS`.

use crate::assembly::Assembly;
use crate::error::classify::{self, RequestContext};
use crate::error::{ErrorInfo, ErrorKind};
use crate::message::StopReason;

/// The meaning of a reason.
#[derive(Clone, Copy)]
enum Meaning {
    /// The answer is complete, or the output limit ended it.
    Ends(StopReason),
    /// The server continues the answer when it is sent back.
    Pauses,
    /// The conversation and the answer fill the context window.
    FillsWindow,
    /// The answer failed. What arrived is incomplete, even if it looks like a complete text.
    Fails(ErrorKind),
}

use Meaning::{Ends, Fails, FillsWindow, Pauses};

/// The known reasons, in lower case.
const REASONS: &[(&str, Meaning)] = &[
    ("stop", Ends(StopReason::Stop)),
    ("end_turn", Ends(StopReason::Stop)),
    ("stop_sequence", Ends(StopReason::Stop)),
    ("complete", Ends(StopReason::Stop)),
    ("completed", Ends(StopReason::Stop)),
    // Together and text-generation-inference name the token that ended the answer.
    ("eos", Ends(StopReason::Stop)),
    ("eos_token", Ends(StopReason::Stop)),
    ("length", Ends(StopReason::Length)),
    ("max_tokens", Ends(StopReason::Length)),
    ("max_output_tokens", Ends(StopReason::Length)),
    ("tool_calls", Ends(StopReason::ToolUse)),
    ("tool_call", Ends(StopReason::ToolUse)),
    ("tool_use", Ends(StopReason::ToolUse)),
    ("function_call", Ends(StopReason::ToolUse)),
    ("pause_turn", Pauses),
    // Mistral.
    ("model_length", FillsWindow),
    // Anthropic and Z.ai.
    ("model_context_window_exceeded", FillsWindow),
    ("content_filter", Fails(ErrorKind::Refusal)),
    ("refusal", Fails(ErrorKind::Refusal)),
    // Z.ai.
    ("sensitive", Fails(ErrorKind::Refusal)),
    // Bedrock.
    ("content_filtered", Fails(ErrorKind::Refusal)),
    ("guardrail_intervened", Fails(ErrorKind::Refusal)),
    // Google.
    ("safety", Fails(ErrorKind::Refusal)),
    ("recitation", Fails(ErrorKind::Refusal)),
    ("language", Fails(ErrorKind::Refusal)),
    ("blocklist", Fails(ErrorKind::Refusal)),
    ("prohibited_content", Fails(ErrorKind::Refusal)),
    ("spii", Fails(ErrorKind::Refusal)),
    ("image_safety", Fails(ErrorKind::Refusal)),
    ("malformed_function_call", Fails(ErrorKind::Malformed)),
    ("unexpected_tool_call", Fails(ErrorKind::Malformed)),
    ("too_many_tool_calls", Fails(ErrorKind::Malformed)),
    // Google: a reason that the server does not know either.
    ("other", Fails(ErrorKind::Server)),
    ("malformed_response", Fails(ErrorKind::Server)),
    ("missing_thought_signature", Fails(ErrorKind::InvalidRequest)),
    // DeepSeek.
    ("insufficient_system_resource", Fails(ErrorKind::Overloaded)),
    // Z.ai.
    ("network_error", Fails(ErrorKind::Server)),
    // SGLang and vLLM: the server cancelled the request.
    ("abort", Fails(ErrorKind::Server)),
    ("aborted", Fails(ErrorKind::Server)),
    ("cancelled", Fails(ErrorKind::Server)),
    ("error", Fails(ErrorKind::Server)),
    ("failed", Fails(ErrorKind::Server)),
    ("timeout", Fails(ErrorKind::Server)),
];

/// Returns how an answer ends for which the server reported `reason`, and `explanation` if it explained the reason.
/// An unknown reason keeps the answer as if it had ended with `otherwise`, and is recorded in the message.
///
/// # Errors
/// Returns an error if the reason means that the answer is incomplete for another cause than the output limit.
pub(super) fn end_of(
    reason: &str,
    explanation: Option<&str>,
    otherwise: StopReason,
    context: &RequestContext<'_>,
    assembly: &mut Assembly,
) -> Result<StopReason, ErrorInfo> {
    let known = REASONS.iter().find(|(known, _)| reason.eq_ignore_ascii_case(known));
    match known.map(|(_, meaning)| *meaning) {
        Some(Ends(stop)) => Ok(stop),
        Some(Pauses) => {
            assembly.pause();
            Ok(StopReason::Stop)
        }
        Some(FillsWindow) => Err(classify::window_filled(context)),
        Some(Fails(kind)) => {
            let what = match kind {
                ErrorKind::Refusal => "the provider stopped the answer",
                ErrorKind::Malformed => "the model wrote an invalid tool call",
                ErrorKind::InvalidRequest => "the server rejected the conversation",
                _ => "the server broke off the answer",
            };
            Err(classify::own(context, kind, &format!("{what}: {}", explanation.unwrap_or(reason))))
        }
        None => {
            assembly.end_with_unknown(reason);
            Ok(otherwise)
        }
    }
}
