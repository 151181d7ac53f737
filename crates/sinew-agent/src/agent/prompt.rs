//! Prompts: each one starts a run or is queued.

use sinew::base::{Error, ErrorCode, Result};
use sinew_llm::message::AgentMessage;
use tokio_util::sync::CancellationToken;

use super::conversation::ContextPermit;
use super::lifecycle::{Activity, State};
use super::recorded_turn::RecordedTurn;
use super::run_loop::{self, Outcome, Stop};
use super::session::AgentSession;
use crate::core::ClearedQueues;

/// The queue for a prompt that arrives during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Sent after the tools of the current turn.
    Steer,
    /// Sent when the agent would otherwise stop.
    FollowUp,
}

/// A run that owns the context and has not been polled yet.
struct PendingRun<'a> {
    context: ContextPermit<'a>,
    prompts: Vec<AgentMessage>,
    /// Shared by the run and those that follow it, so that an abort between two runs cancels the second.
    cancel: CancellationToken,
}

/// An accepted prompt: it runs or is queued. No other activity can start before its run.
#[must_use = "nothing runs until this is awaited"]
pub struct AcceptedPrompt<'a> {
    agent: &'a AgentSession,
    run: Option<PendingRun<'a>>,
}

impl AcceptedPrompt<'_> {
    /// Returns whether it starts a run; otherwise it is queued for the active one.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.run.is_some()
    }

    /// Resolves when the run and everything that follows from it has ended; at once if the prompt is queued.
    pub async fn run(self) -> Outcome {
        match self.run {
            Some(run) => self.agent.work(run).await,
            None => Outcome::queued(),
        }
    }
}

impl AgentSession {
    /// Sends a prompt to the model and resolves when the agent is done, including all retries, compactions and queued
    /// messages. If a run is active, `delivery` selects the queue.
    ///
    /// # Errors
    /// Returns an error if a run is active and `delivery` is `None`, if the queue is full, or if the session is closed.
    pub async fn prompt(&self, messages: Vec<AgentMessage>, delivery: Option<Delivery>) -> Result<Outcome> {
        Ok(self.accept(messages, delivery).await?.run().await)
    }

    /// Accepts a prompt as [`AgentSession::prompt`] does and lets the caller start its run. If no run is active, this
    /// does not wait, and from then on [`AgentSession::abort`] cancels the accepted run.
    ///
    /// # Errors
    /// Returns the errors of [`AgentSession::prompt`].
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
        // If the run ended between the check and the queueing, nothing else would process the message.
        let queued = self.begin_queued();
        let run = queued.map(|(context, prompts)| PendingRun { context, prompts, cancel: self.new_token() });
        Ok(AcceptedPrompt { agent: self, run })
    }

    /// Returns the permit for a run and its queued messages, if no activity is running and something is queued.
    fn begin_queued(&self) -> Option<(ContextPermit<'_>, Vec<AgentMessage>)> {
        self.conversation.context.begin_with(Activity::Run, || {
            let queued = self.queues.take_next();
            (!queued.is_empty()).then_some(queued)
        })
    }

    /// Runs until nothing else follows, and emits `agent_settled`.
    async fn work(&self, pending: PendingRun<'_>) -> Outcome {
        let PendingRun { mut context, mut prompts, cancel } = pending;
        let mut messages = Vec::new();
        if let Some(missing) = self.conversation.take_warning() {
            self.warn(missing).await;
        }
        self.start().await;
        let outcome = loop {
            self.conversation.flush_pending(&mut context);
            // The hooks before the first request belong to the turn.
            let turn = RecordedTurn::begin(self).await;
            self.before_start(&mut prompts).await;
            let outcome = run_loop::follow(self, &mut context, prompts, &cancel, turn).await;
            messages.extend(outcome.messages.iter().cloned());
            if let Some(error) = self.conversation.take_failure() {
                self.warn(format!("The session is no longer saved: {error}")).await;
            }
            self.conversation.flush_pending(&mut context);
            drop(context);
            self.conversation.flush_pending_if_idle();
            // Processes messages queued after the last check, before others can see that the run is over.
            let done = matches!(outcome.stop, Stop::Done | Stop::OutputLimit) && !cancel.is_cancelled();
            let Some(next) = done.then(|| self.begin_queued()).flatten() else { break outcome };
            (context, prompts) = next;
            self.queue_changed().await;
        };
        self.settle().await;
        self.keep_hook_work().await;
        self.prove_turn().await;
        if self.settings().titles && matches!(outcome.stop, Stop::Done | Stop::OutputLimit) {
            // A prompt may arrive meanwhile. A missing title does no harm, and the next answer tries again.
            let _ = self.give_title().await;
        }
        Outcome { messages, ..outcome }
    }

    /// Queues a message as `delivery` says, whether a run is active or not.
    ///
    /// # Errors
    /// Returns an error if the queue is full.
    pub async fn queue(&self, message: AgentMessage, delivery: Delivery) -> Result<()> {
        self.queue_prompt(vec![message], delivery).await
    }

    /// Queues all messages of a prompt, or none of them.
    async fn queue_prompt(&self, messages: Vec<AgentMessage>, delivery: Delivery) -> Result<()> {
        let taken = match delivery {
            Delivery::Steer => self.queues.steer(messages),
            Delivery::FollowUp => self.queues.follow_up(messages),
        };
        taken.map_err(|_| {
            let limit = crate::core::QUEUE_LIMIT;
            let text = format!("the queue is full ({limit} messages): wait until the agent has read some");
            Error::new(ErrorCode::LimitExceeded, text)
        })?;
        self.queue_changed().await;
        Ok(())
    }

    /// Empties the queues and returns their messages.
    pub async fn clear_queues(&self) -> ClearedQueues {
        let cleared = self.queues.clear();
        self.queue_changed().await;
        cleared
    }

    /// Removes the newest queued prompt and returns its text; `None` if nothing is queued.
    pub async fn take_newest_queued(&self) -> Option<String> {
        let newest = self.queues.take_newest();
        if newest.is_some() {
            self.queue_changed().await;
        }
        newest
    }

    /// Runs the queued messages, as the end of a run would have done. Returns at once if a run is active, if nothing is
    /// queued, or after [`AgentSession::abort`]. Call it after an activity that replaced a run. Returns the outcome of the
    /// run; `None` if there was none.
    pub async fn take_up(&self) -> Option<Outcome> {
        if self.token().is_cancelled() {
            return None;
        }
        let (context, prompts) = self.begin_queued()?;
        let cancel = self.new_token();
        self.queue_changed().await;
        Some(self.work(PendingRun { context, prompts, cancel }).await)
    }

    /// Adds a message to the conversation without sending a request: at once if no run is active, otherwise after the
    /// run. No event is emitted. Used for commands that the user ran; the model sees them in the next request.
    pub fn record(&self, message: AgentMessage) {
        self.conversation.record(message);
    }
}
