//! Calls that can only fail, ended while their arguments still come: the rest of them would be paid for in vain.

use serde_json::Value;
use sinew_llm::event::Partial;
use sinew_llm::message::{AssistantMessage, Block, StopReason, ToolCall};
use sinew_tools::tool::finished;

use super::run::Run;

/// The part of a streaming call that a guard has seen.
#[derive(Debug, Default)]
pub(super) struct Guard {
    looked: Option<(usize, Value)>,
}

impl Guard {
    /// The reason for which the call that streams can only fail. A tool is asked again only when another of its arguments is whole.
    pub(super) fn look(&mut self, run: &Run<'_>, partial: &Partial) -> Option<String> {
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

/// The answer, ended with its last call as far as that is whole.
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
    fn what_is_last_may_still_change() {
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
