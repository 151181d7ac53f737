//! Prompts: a run of their own, or a place in a queue.

use sinew::base::{Error, ErrorCode, Result};
use sinew_llm::message::AgentMessage;
use tokio_util::sync::CancellationToken;

use super::conversation::ContextPermit;
use super::lifecycle::{Activity, State};
use super::run_loop::{self, Outcome, Stop};
use super::session::AgentSession;
use crate::core::ClearedQueues;
use crate::event::Event;

/// The place of a prompt that comes while a run is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// After the tools of this turn.
    Steer,
    /// The prompt waits until the agent would stop.
    FollowUp,
}

/// A run that has the context and waits to be polled.
struct PendingRun<'a> {
    context: ContextPermit<'a>,
    prompts: Vec<AgentMessage>,
    /// One for all that follows: an abort between two runs ends the second.
    cancel: CancellationToken,
}

/// A prompt that was taken: it runs, or waits in a queue, and nobody else may run before it has.
#[must_use = "nothing runs until somebody waits for it"]
pub struct AcceptedPrompt<'a> {
    agent: &'a AgentSession,
    run: Option<PendingRun<'a>>,
}

impl AcceptedPrompt<'_> {
    /// Returns whether it begins a run; else it waits for the one that is active.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.run.is_some()
    }

    /// Resolves when nothing else will happen; at once where the prompt waits in a queue.
    pub async fn run(self) -> Outcome {
        match self.run {
            Some(run) => self.agent.work(run).await,
            None => Outcome::queued(),
        }
    }
}

impl AgentSession {
    /// Says something to the model and resolves when nothing else will happen: after all retries, compactions and
    /// queued messages. While a run is active, `delivery` says where the prompt waits.
    ///
    /// # Errors
    /// A run is active and `delivery` is none, the queue is full, or the session is closed.
    pub async fn prompt(&self, messages: Vec<AgentMessage>, delivery: Option<Delivery>) -> Result<Outcome> {
        Ok(self.accept(messages, delivery).await?.run().await)
    }

    /// Takes a prompt as [`AgentSession::prompt`] does, and leaves it to the caller when its run begins. Where no run
    /// is active it waits for nothing, and from then on [`AgentSession::abort`] ends the run that is to come.
    ///
    /// # Errors
    /// As for [`AgentSession::prompt`].
    pub async fn accept(&self, messages: Vec<AgentMessage>, delivery: Option<Delivery>) -> Result<AcceptedPrompt<'_>> {
        let refused = match self.conversation.context.begin(Activity::Run) {
            Ok(context) => {
                let run = Some(PendingRun { context, prompts: messages, cancel: self.new_token() });
                return Ok(AcceptedPrompt { agent: self, run });
            }
            Err(refused) => refused,
        };
        if refused.state == State::Closed {
            return Err(refused.into());
        }
        let Some(delivery) = delivery else {
            let text = "Agent is already processing. Use streamingBehavior \"steer\" or \"followUp\".";
            return Err(Error::new(ErrorCode::InvalidState, text));
        };
        self.queue_prompt(messages, delivery).await?;
        // The run may have ended between the look and the queue: then nobody else would take the message up.
        let queued = self.begin_queued();
        let run = queued.map(|(context, prompts)| PendingRun { context, prompts, cancel: self.new_token() });
        Ok(AcceptedPrompt { agent: self, run })
    }

    /// The right to run, and the queued messages for it, where nothing runs and something is queued.
    fn begin_queued(&self) -> Option<(ContextPermit<'_>, Vec<AgentMessage>)> {
        self.conversation.context.begin_with(Activity::Run, || {
            let queued = self.queues.take_next();
            (!queued.is_empty()).then_some(queued)
        })
    }

    /// Works until nothing else will happen, and says so.
    async fn work(&self, pending: PendingRun<'_>) -> Outcome {
        let PendingRun { mut context, mut prompts, cancel } = pending;
        let mut messages = Vec::new();
        if let Some(missing) = self.conversation.take_warning() {
            self.warn(missing).await;
        }
        self.start().await;
        let outcome = loop {
            self.conversation.flush_pending(&mut context);
            self.before_start(&mut prompts).await;
            let outcome = run_loop::follow(self, &mut context, prompts, &cancel).await;
            messages.extend(outcome.messages.iter().cloned());
            if let Some(error) = self.conversation.take_failure() {
                self.warn(format!("The session is no longer saved: {error}")).await;
            }
            self.conversation.flush_pending(&mut context);
            drop(context);
            self.conversation.flush_pending_if_idle();
            // What was queued after the last look, before others could see that the run is over.
            let done = matches!(outcome.stop, Stop::Done | Stop::OutputLimit) && !cancel.is_cancelled();
            let Some(next) = done.then(|| self.begin_queued()).flatten() else { break outcome };
            (context, prompts) = next;
            self.queue_changed().await;
        };
        self.emit(Event::AgentSettled {}).await;
        self.prove_turn().await;
        if self.settings().titles && matches!(outcome.stop, Stop::Done | Stop::OutputLimit) {
            // The next prompt may come meanwhile. A session without title is none the worse, and the next answer
            // asks again.
            let _ = self.give_title().await;
        }
        Outcome { messages, ..outcome }
    }

    /// Puts a message where `delivery` says, whether a run is active or not.
    ///
    /// # Errors
    /// The queue holds as many prompts as it may.
    pub async fn queue(&self, message: AgentMessage, delivery: Delivery) -> Result<()> {
        self.queue_prompt(vec![message], delivery).await
    }

    /// All of a prompt, or nothing of it.
    async fn queue_prompt(&self, messages: Vec<AgentMessage>, delivery: Delivery) -> Result<()> {
        let taken = match delivery {
            Delivery::Steer => self.queues.steer(messages),
            Delivery::FollowUp => self.queues.follow_up(messages),
        };
        taken.map_err(|_| {
            let limit = crate::core::QUEUE_LIMIT;
            let text = format!("the queue holds {limit} messages: wait until the agent has taken some");
            Error::new(ErrorCode::LimitExceeded, text)
        })?;
        self.queue_changed().await;
        Ok(())
    }

    /// Takes back what is queued.
    pub async fn clear_queues(&self) -> ClearedQueues {
        let cleared = self.queues.clear();
        self.queue_changed().await;
        cleared
    }

    /// Takes the queued prompt back that came last, and gives its text; none where nothing is queued.
    pub async fn take_newest_queued(&self) -> Option<String> {
        let newest = self.queues.take_newest();
        if newest.is_some() {
            self.queue_changed().await;
        }
        newest
    }

    /// Runs what waits in the queues, as the end of a run would have done; at once where a run is active, nothing waits
    /// or [`AgentSession::abort`] has ended what was in the way. For the end of what stands in the place of a run.
    pub async fn take_up(&self) {
        if self.token().is_cancelled() {
            return;
        }
        if let Some((context, prompts)) = self.begin_queued() {
            let cancel = self.new_token();
            self.queue_changed().await;
            self.work(PendingRun { context, prompts, cancel }).await;
        }
    }

    /// Adds a message to the conversation without asking the model: at once where no run is active, else behind the
    /// run. No event tells it. For commands that the user ran: the model reads of them with the next request.
    pub fn record(&self, message: AgentMessage) {
        self.conversation.record(message);
    }
}
