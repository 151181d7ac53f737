//! Submits prompts, steering and follow-up messages, and waits for the end of a run.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sinew::base::CancelToken;
use sinew_agent::agent::{AcceptedPrompt, Delivery, Outcome};
use sinew_agent::resource::{Attacher, Prompt, PromptInputs};
use sinew_llm::message::{AgentMessage, Block, Content, ImageBlock};

use super::{Control, ControlError};
use crate::app::OpenSession;
use crate::args::Mode;

/// A message of the user: a text, which may be a command or mention files, and images.
pub struct Message {
    /// The text as the user wrote it.
    pub text: String,
    /// The images, as [`Control::image`] returns them.
    pub images: Vec<Block>,
    /// How to deliver the message during a run; with `None`, a message during a run is an error.
    pub delivery: Option<Delivery>,
}

/// A prompt that was accepted, and whose run has not begun.
#[must_use = "nothing runs until this is awaited"]
pub struct Submission<'a> {
    open: &'a OpenSession,
    accepted: Option<AcceptedPrompt<'a>>,
    prompt: Prompt,
}

/// The result of a submission.
pub struct SubmissionResult {
    /// `None` if a command of an extension handled the prompt.
    pub outcome: Option<Outcome>,
    /// The title that the session received during the run.
    pub new_title: Option<String>,
}

/// The texts in the queues.
pub struct QueuedTexts {
    /// Steering messages, the oldest first.
    pub steering: Vec<String>,
    /// Follow-up messages, the oldest first.
    pub follow_up: Vec<String>,
}

impl Control {
    /// Reads a message and submits it to the session. Commands of extensions are finished when this resolves.
    ///
    /// # Errors
    /// Returns an error if a run is active and the message has no delivery, or if the queue is full.
    pub async fn submit<'a>(&self, open: &'a OpenSession, message: Message) -> Result<Submission<'a>, ControlError> {
        let delivery = message.delivery;
        let prompt = self.read(open, message).await?;
        submit(open, prompt, delivery).await
    }

    /// Aborts the run and the children in the background, and waits for the end of the run.
    pub async fn abort(&self) {
        let open = self.session();
        self.stop_children();
        open.agent.abort();
        open.agent.idled().await;
    }

    /// Removes the queued messages and returns them.
    pub async fn clear_queues(&self) -> QueuedTexts {
        let (steering, follow_up) = self.session().agent.clear_queues().await.texts();
        QueuedTexts { steering, follow_up }
    }

    /// Removes the newest queued message and returns it.
    #[cfg(unix)]
    pub async fn take_newest_queued(&self) -> Option<String> {
        self.session().agent.take_newest_queued().await
    }

    /// Decodes an image and reduces it to the size that models accept.
    ///
    /// # Errors
    /// Returns the reason if the image cannot be used.
    pub fn image(&self, image: &ImageBlock) -> Result<Block, String> {
        let bytes = STANDARD.decode(&image.data).map_err(|error| format!("data is not valid base64: {error}"))?;
        let loaded = self.app.resources();
        let folders = &loaded.options.folders;
        Attacher { folders, images: loaded.images, cancel: CancelToken::never(), host: None }.image(&bytes)
    }

    /// Resolves commands, templates and mentions in a text, and adds the images.
    ///
    /// # Errors
    /// Returns an error if the prompt of an MCP server that the text names cannot be used.
    pub async fn read(&self, open: &OpenSession, message: Message) -> Result<Prompt, ControlError> {
        let Message { text, images, .. } = message;
        // Programs send their own texts, in which a slash is intended.
        if self.app.startup.args.mode() != Mode::Rpc {
            self.check_spelling(&text)?;
        }
        let loaded = self.app.resources();
        // Names that two extensions share were reported when the extensions were loaded.
        let (commands, _) = self.app.commands();
        let attacher = Attacher {
            folders: &loaded.options.folders,
            images: loaded.images,
            cancel: CancelToken::never(),
            host: Some(&open.host),
        };
        let context = self.app.context(&open.agent);
        let reading = PromptInputs {
            commands: &commands,
            resources: &loaded.resources,
            attacher: &attacher,
            context: &context,
            now: self.app.clock.now(),
        };
        let mut prompt = match self.app.mcp.prompt_text(&text).await {
            // Text from a server is not searched for commands or mentions of files.
            Some(written) => reading.data(&written?),
            None => reading.read(&text, "").await,
        };
        if let (Some(AgentMessage::User(user)), false) = (prompt.messages.last_mut(), images.is_empty()) {
            let text = user.content.text();
            let text = (!text.is_empty()).then(|| Block::text(text));
            Arc::make_mut(user).content = Content::Blocks(text.into_iter().chain(images).collect());
        }
        Ok(prompt)
    }
}

/// Submits a prompt to the session.
///
/// # Errors
/// Returns an error if a run is active and `delivery` is `None`, or if the queue is full.
pub async fn submit(
    open: &OpenSession,
    mut prompt: Prompt,
    delivery: Option<Delivery>,
) -> Result<Submission<'_>, ControlError> {
    let messages = std::mem::take(&mut prompt.messages);
    let accepted = match messages.is_empty() {
        true => None,
        false => Some(open.agent.accept(messages, delivery).await?),
    };
    Ok(Submission { open, accepted, prompt })
}

impl Submission<'_> {
    /// Returns true if the prompt begins a run. Otherwise it waits in a queue, or a command has handled it.
    #[cfg(unix)]
    pub fn runs(&self) -> bool {
        self.accepted.as_ref().is_some_and(AcceptedPrompt::runs)
    }

    /// Returns the notice of a command.
    pub fn info(&self) -> Option<&str> {
        self.prompt.info.as_deref()
    }

    /// Returns true if a command asked to exit the program.
    pub fn quits(&self) -> bool {
        self.prompt.quit
    }

    /// Emits the warnings about the prompt as events.
    pub async fn warn(&self) {
        for warning in &self.prompt.warnings {
            self.open.agent.warn(warning.clone()).await;
        }
    }

    /// Runs the prompt with the model and level of its template, and resolves when the run has ended; immediately if
    /// the prompt waits in a queue.
    pub async fn run(self) -> SubmissionResult {
        let Submission { open, accepted, prompt } = self;
        let Some(accepted) = accepted else { return SubmissionResult { outcome: None, new_title: None } };
        if !accepted.runs() {
            return SubmissionResult { outcome: Some(accepted.run().await), new_title: None };
        }
        let title = open.agent.session().title();
        let before = open.agent.override_model(prompt.model.as_deref(), prompt.thinking.as_deref()).await;
        let outcome = accepted.run().await;
        open.agent.restore_model(before);
        let new_title = open.agent.session().title().filter(|now| title.as_ref() != Some(now));
        SubmissionResult { outcome: Some(outcome), new_title }
    }
}
