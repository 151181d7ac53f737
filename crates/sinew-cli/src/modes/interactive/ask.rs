//! Questions of the model and of permission rules, on their way to the person at the screen.

use sinew_tools::tool::Boxed;
use sinew_tools::{Ask, Question};
use tokio::sync::oneshot;

use super::mailbox::{Mailbox, Message};

/// Asks the person at the screen. A question that nobody waits for any more closes its panel by itself.
pub(super) struct Asker(pub(super) Mailbox);

impl Ask for Asker {
    fn ask<'a>(&'a self, questions: &'a [Question]) -> Boxed<'a, Option<Vec<String>>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(questions.len());
            for question in questions {
                let (send, answer) = oneshot::channel();
                self.0.send(Message::Question(question.clone(), send));
                answers.push(answer.await.ok().flatten()?);
            }
            Some(answers)
        })
    }

    fn confirm<'a>(&'a self, title: &'a str, message: &'a str) -> Boxed<'a, bool> {
        Box::pin(async move {
            let (send, answer) = oneshot::channel();
            self.0.send(Message::Permission(title.to_string(), message.to_string(), send));
            // A screen that is gone permits nothing.
            answer.await.unwrap_or(false)
        })
    }
}
