//! Prompts, steering, follow-ups, and the end of a run.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sinew::base::CancelToken;
use sinew_agent::agent::{AcceptedPrompt, Delivery, Outcome};
use sinew_agent::resource::{Attacher, Prompt, Reading};
use sinew_llm::message::{AgentMessage, Block, Content, ImageBlock};

use super::{Control, ControlError};
use crate::app::OpenSession;
use crate::args::Mode;

/// A message of the user: a text, which may be a command or mention files, and pictures.
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) images: Vec<ImageBlock>,
    /// The delivery of the message while a run is active; None: that is an error.
    pub(crate) delivery: Option<Delivery>,
}

/// A prompt that was accepted: nothing can refuse it any more, and its run has not begun.
#[must_use = "nothing runs until somebody waits for it"]
pub(crate) struct Submission<'a> {
    open: &'a OpenSession,
    accepted: Option<AcceptedPrompt<'a>>,
    prompt: Prompt,
}

/// The end of a submission.
pub(crate) struct Ended {
    /// None: a command of an extension did everything.
    pub(crate) outcome: Option<Outcome>,
    /// The title that the session got meanwhile.
    pub(crate) new_title: Option<String>,
}

/// Texts that wait in the queues.
pub(crate) struct QueuedTexts {
    pub(crate) steering: Vec<String>,
    pub(crate) follow_up: Vec<String>,
}

impl Control {
    /// Reads a message and hands it to the session. Commands of extensions are done when this resolves.
    ///
    /// # Errors
    /// A picture cannot be used; a run is active and the message names no delivery; the queue is full.
    pub(crate) async fn submit<'a>(
        &self,
        open: &'a OpenSession,
        message: Message,
    ) -> Result<Submission<'a>, ControlError> {
        let delivery = message.delivery;
        let prompt = self.read(open, message).await?;
        submit(open, prompt, delivery).await
    }

    /// Ends the run and waits until it has ended.
    pub(crate) async fn abort(&self) {
        let open = self.session();
        open.agent.abort();
        open.agent.idled().await;
    }

    /// Takes back the messages that wait.
    pub(crate) async fn clear_queues(&self) -> QueuedTexts {
        let (steering, follow_up) = self.session().agent.clear_queues().await.texts();
        QueuedTexts { steering, follow_up }
    }

    /// Takes back the message that came last of those that wait.
    #[cfg(unix)]
    pub(crate) async fn take_newest_queued(&self) -> Option<String> {
        self.session().agent.take_newest_queued().await
    }

    /// Finds commands, templates and mentions in a text, and adds the pictures.
    ///
    /// # Errors
    /// A picture cannot be used, or what a server of tools writes for the text.
    pub(crate) async fn read(&self, open: &OpenSession, message: Message) -> Result<Prompt, ControlError> {
        let Message { text, images, .. } = message;
        // Programs send texts of their own, in which every slash is meant.
        if self.app.startup.args.mode() != Mode::Rpc {
            self.check_spelling(&text)?;
        }
        let loaded = self.app.resources();
        // A name that two extensions have was reported when they were loaded.
        let (commands, _) = self.app.commands();
        let attacher = Attacher {
            folders: &loaded.options.folders,
            images: loaded.images,
            cancel: CancelToken::never(),
            host: Some(&open.host),
        };
        let context = self.app.context(&open.agent);
        let mut pictures = Vec::with_capacity(images.len());
        for (at, image) in images.iter().enumerate() {
            let bytes =
                STANDARD.decode(&image.data).map_err(|error| format!("images/{at}: data is no base64: {error}"))?;
            pictures.push(attacher.image(&bytes).map_err(|reason| format!("images/{at}: {reason}"))?);
        }
        let reading = Reading {
            commands: &commands,
            resources: &loaded.resources,
            attacher: &attacher,
            context: &context,
            now: self.app.clock.now(),
        };
        let mut prompt = match self.app.mcp.prompt_text(&text).await {
            // Nothing of what a server writes is a command or a mention of a file.
            Some(written) => reading.data(&written?),
            None => reading.read(&text, "").await,
        };
        if let (Some(AgentMessage::User(user)), false) = (prompt.messages.last_mut(), pictures.is_empty()) {
            let text = user.content.text();
            let text = (!text.is_empty()).then(|| Block::text(text));
            Arc::make_mut(user).content = Content::Blocks(text.into_iter().chain(pictures).collect());
        }
        Ok(prompt)
    }
}

/// Hands a prompt that was read to the session.
///
/// # Errors
/// A run is active and `delivery` is None; the queue is full.
pub(crate) async fn submit(
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
    /// Returns whether it begins a run; else it waits in a queue, or a command has done everything.
    #[cfg(unix)]
    pub(crate) fn runs(&self) -> bool {
        self.accepted.as_ref().is_some_and(AcceptedPrompt::runs)
    }

    /// A notice of a command.
    pub(crate) fn info(&self) -> Option<&str> {
        self.prompt.info.as_deref()
    }

    /// A command asked to leave the program.
    pub(crate) fn quits(&self) -> bool {
        self.prompt.quit
    }

    /// Emits the warnings of reading the prompt as events.
    pub(crate) async fn warn(&self) {
        for warning in &self.prompt.warnings {
            self.open.agent.warn(warning.clone()).await;
        }
    }

    /// Runs the prompt with the model and level that its template names, and resolves when nothing else will happen; at
    /// once where it waits in a queue.
    pub(crate) async fn run(self) -> Ended {
        let Submission { open, accepted, prompt } = self;
        let Some(accepted) = accepted else { return Ended { outcome: None, new_title: None } };
        if !accepted.runs() {
            return Ended { outcome: Some(accepted.run().await), new_title: None };
        }
        let title = open.agent.session().title();
        let before = open.agent.override_model(prompt.model.as_deref(), prompt.thinking.as_deref()).await;
        let outcome = accepted.run().await;
        open.agent.restore_model(before);
        let new_title = open.agent.session().title().filter(|now| title.as_ref() != Some(now));
        Ended { outcome: Some(outcome), new_title }
    }
}
