//! Background work beside the runs of an agent: jobs that end, lists that are put away.

use std::convert::Infallible;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sinew_tools::{Host, Notice};

use super::lifecycle::State;
use super::prompt::Delivery;
use super::run_loop::hidden;
use super::session::AgentSession;
use crate::event::Event;

/// The effect of the end of a job on an idle agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdlePolicy {
    /// The model is told at once, by a run of its own.
    Wake,
    /// It is told after the next prompt.
    Wait,
}

impl AgentSession {
    /// Forwards the notices of `host` to listeners and the model, for as long as it is polled: beside the prompts. The end
    /// of a job is a hidden message that the model gets when it would stop.
    pub async fn forward_notices(&self, host: &Host, idle: IdlePolicy) -> Infallible {
        let mut runs = FuturesUnordered::new();
        loop {
            let notice = tokio::select! {
                notice = host.notice() => notice,
                Some(()) = runs.next() => continue,
            };
            match notice {
                Notice::TodoCleared => self.emit(Event::TodoAutoClear {}).await,
                Notice::Job { id, state, follow_up } => {
                    self.emit(Event::JobUpdate { job_id: id, state: state.into() }).await;
                    let Some(text) = follow_up else { continue };
                    let message = hidden(&text, "job", self.clock.now());
                    runs.push(async move {
                        let told = match idle {
                            IdlePolicy::Wake => self.prompt(vec![message], Some(Delivery::FollowUp)).await.map(drop),
                            IdlePolicy::Wait => self.queue(message, Delivery::FollowUp).await,
                        };
                        // A session that is closed has nobody to tell.
                        if let Err(error) = told
                            && self.conversation.context.state() != State::Closed
                        {
                            self.warn(format!("The model was not told of the end of a job: {error}")).await;
                        }
                    });
                }
            }
        }
    }
}
