//! Ends a call that cannot succeed while its arguments still stream, so that the rest of them costs nothing.

use serde_json::Value;
use sinew_llm::event::PartialAnswer;
use sinew_llm::message::{AssistantMessage, Block, StopReason, ToolCall};
use sinew_tools::tool::finished;

use super::run::Run;

/// The state of a streaming call at the last check.
#[derive(Debug, Default)]
pub(super) struct Guard {
    looked: Option<(usize, Value)>,
}

impl Guard {
    /// Returns why the streaming call cannot succeed, or `None`. A tool is asked again only after another argument is
    /// complete.
    pub(super) fn look(&mut self, run: &Run<'_>, partial: &PartialAnswer) -> Option<String> {
        let content = &partial.message().content;
        let at = content.len().checked_sub(1)?;
        let Block::ToolCall(ToolCall { name, .. }) = &content[at] else { return None };
        let tool = (run.tools)().find(name).filter(|tool| tool.can_reject_early()).cloned()?;
        let whole = finished(&partial.arguments(at)?);
        let looked = Some((at, whole));
        if self.looked == looked {
            return None;
        }
        self.looked = looked;
        let (_, whole) = self.looked.as_ref()?;
        tool.reject_early(whole)
    }
}

/// Ends the answer with its last call, reduced to the arguments that are complete.
pub(super) fn ended(mut message: AssistantMessage) -> AssistantMessage {
    let last = message.content.len().saturating_sub(1);
    if let Some(Block::ToolCall(call)) = message.content.get_mut(last) {
        call.arguments = finished(&call.arguments);
        call.partial_json = None;
    }
    message.content.retain(|block| block.as_tool_call().is_none_or(|call| call.partial_json.is_none()));
    message.stop_reason = StopReason::ToolUse;
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &Value) {
        assert_eq!(finished(&sinew_llm::partial_json::parse(text)), *expect, "{text}");
    }

    #[test]
    fn the_last_argument_may_still_change() {
        check("", &json!({}));
        check(r#"{"path": "a"#, &json!({}));
        check(r#"{"path": "a", "old"#, &json!({}));
        check(r#"{"path": "a", "oldText": "#, &json!({}));
        check(r#"{"path": "a", "oldText": "b"#, &json!({"path": "a"}));
        check(
            r#"{"path": "a", "edits": [{"oldText": "b", "newText": "c"}, {"oldText": "d", "newText": ""#,
            &json!({"path": "a", "edits": [{"oldText": "b", "newText": "c"}, {"oldText": "d"}]}),
        );
    }
}
