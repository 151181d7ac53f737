//! Background work beside the runs of an agent: jobs that end, lists that are put away, servers that come and go.

use std::convert::Infallible;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sinew_tools::{Host, Notice};
use tokio::sync::broadcast;

use super::lifecycle::State;
use super::prompt::Delivery;
use super::run_loop::hidden;
use super::session::AgentSession;
use crate::event::Event;
use crate::mcp::{Manager, Status};

/// The effect of the end of a job on an idle agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdlePolicy {
    /// The model is told at once, by a run of its own.
    Wake,
    /// It is told after the next prompt.
    Wait,
}

/// The next change of a server's state; never, where there are no servers.
async fn next(statuses: &mut Option<broadcast::Receiver<Status>>) -> Status {
    while let Some(receiver) = statuses {
        match receiver.recv().await {
            Ok(status) => return status,
            // What was missed is older than what comes.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => *statuses = None,
        }
    }
    std::future::pending().await
}

impl AgentSession {
    /// Tells listeners of the states of these servers from now on, while somebody
    /// [forwards notices](AgentSession::forward_notices).
    pub fn follow_servers(&mut self, manager: &Manager) {
        *self.statuses.get_mut() = Some(manager.subscribe());
    }

    /// Tells listeners of the states of servers that nobody has told them of yet. For the end of a run, once nobody
    /// [forwards notices](AgentSession::forward_notices) any more.
    pub async fn forward_statuses(&self) {
        let mut statuses = self.statuses.lock().await;
        let Some(receiver) = &mut *statuses else { return };
        loop {
            match receiver.try_recv() {
                Ok(status) => self.emit_status(status).await,
                Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                Err(_) => return,
            }
        }
    }

    async fn emit_status(&self, status: Status) {
        let Status { server, state, era, tools, error } = status;
        self.emit(Event::McpStatus { server, state: state.into(), era, tools, error }).await;
    }

    /// Forwards the notices of `host` to listeners and the model, for as long as it is polled: beside the prompts. The end
    /// of a job is a hidden message that the model gets when it would stop.
    pub async fn forward_notices(&self, host: &Host, idle: IdlePolicy) -> Infallible {
        let mut runs = FuturesUnordered::new();
        // Held for as long as this is polled; who attends next goes on where it stopped.
        let mut statuses = self.statuses.lock().await;
        loop {
            let notice = tokio::select! {
                notice = host.notice() => notice,
                status = next(&mut statuses) => {
                    self.emit_status(status).await;
                    continue;
                }
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
