//! A title that a small model writes for a session after its first answer.

use sinew::base::{Error, ErrorCode, Result};
use sinew_llm::message::{AgentMessage, LlmMessage, StopReason};
use sinew_llm::model::ThinkingLevel;
use sinew_llm::provider::{PromptPart, Request};
use sinew_session::Body;

use super::session::AgentSession;

const SYSTEM: &str = "You give a conversation between a user and a coding agent a title. Answer with the title alone: \
three to six words, in the language of the user, no quotes, no full stop.";
/// The maximum number of output tokens of a title.
const TOKENS: u64 = 50;
/// The number of characters of each message that the model sees.
const SHOWN: usize = 2_000;
/// The maximum number of characters of a title.
const LONGEST: usize = 80;

impl AgentSession {
    /// Requests a title after the first answer, once, from the role `fast` or otherwise the session's model. Returns
    /// `None` if there is a title or no message yet.
    ///
    /// # Errors
    /// Returns an error if the request failed or the answer is not a title. The session stays without title.
    pub async fn give_title(&self) -> Result<Option<String>> {
        if self.session().title().is_some() {
            return Ok(None);
        }
        let said = self.conversation.context.peek(|seen| {
            let user = seen.iter().find_map(|message| match message {
                AgentMessage::User(user) => Some(user.content.text()),
                _ => None,
            });
            let answer = seen.iter().find_map(|message| match message {
                AgentMessage::Assistant(answer) if !answer.text().is_empty() => Some(answer.text()),
                _ => None,
            });
            user.zip(answer)
        });
        let Some((user, answer)) = said.flatten() else { return Ok(None) };
        let head = |text: &str| text.chars().take(SHOWN).collect::<String>();
        let prompt = format!("<user>\n{}\n</user>\n\n<agent>\n{}\n</agent>", head(&user), head(&answer));
        let resolved = self.models.resolve("role:fast").unwrap_or_else(|_| self.model());
        let request = Request {
            model: resolved.model.clone(),
            auth: resolved.auth.clone(),
            system: vec![PromptPart::from(SYSTEM)],
            messages: vec![LlmMessage::user(prompt).into()],
            thinking: ThinkingLevel::Off,
            max_tokens: Some(TOKENS),
            lane: Some("title".into()),
            timestamp: self.clock.now(),
            ..Request::default()
        };
        let answer = resolved.provider.stream(request, self.token().child_token()).result().await;
        if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
            let cause = answer.error_message.unwrap_or_else(|| "the request failed".into());
            return Err(Error::new(ErrorCode::Io, format!("failed to generate a title: {cause}")));
        }
        let title = cleaned(&answer.text())
            .ok_or_else(|| Error::new(ErrorCode::InvalidData, "failed to generate a title: it was empty"))?;
        // The user may have set one meanwhile.
        if self.session().title().is_some() {
            return Ok(None);
        }
        self.conversation.append(Body::SessionInfo {
            title: title.clone(),
            name: None,
            title_source: Some("auto".into()),
        });
        Ok(Some(title))
    }
}

/// Returns the first line with text, without the markup that models put around it.
fn cleaned(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_start_matches('#').trim_matches(|c: char| c.is_whitespace() || "\"'`*.".contains(c));
    let title: String = line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST).collect();
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_without_decoration() {
        let check = |text: &str, expect: Option<&str>| assert_eq!(cleaned(text).as_deref(), expect);
        check("\n \"Fix the  build\".\nBecause", Some("Fix the build"));
        check("# **Fix**", Some("Fix"));
        check("\"\"", None);
    }
}
