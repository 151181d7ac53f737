//! Background work outside of the runs of an agent: finished jobs, cleared todo lists, states of MCP servers.

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

/// The effect of a finished job on an idle agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdlePolicy {
    /// The model is informed at once, in a run of its own.
    Wake,
    /// The model is informed after the next prompt.
    Wait,
}

/// Returns the next change of a server's state; never resolves if there are no servers.
async fn next(statuses: &mut Option<broadcast::Receiver<Status>>) -> Status {
    while let Some(receiver) = statuses {
        match receiver.recv().await {
            Ok(status) => return status,
            // The missed states are older than the next one.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => *statuses = None,
        }
    }
    std::future::pending().await
}

impl AgentSession {
    /// Reports the states of these servers to subscribers from now on, while [`AgentSession::forward_notices`] is
    /// polled.
    pub fn follow_servers(&mut self, manager: &Manager) {
        *self.statuses.get_mut() = Some(manager.subscribe());
    }

    /// Reports the states of servers that were not reported yet. For the end of a run, when
    /// [`AgentSession::forward_notices`] is not polled any more.
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
        let Status { server, state, era, tools, error, warning } = status;
        self.emit(Event::McpStatus { server, state: state.into(), era, tools, error }).await;
        if let Some(message) = warning {
            self.emit(Event::Warning { message }).await;
        }
    }

    /// Forwards the notices of `host` to subscribers and the model. Poll it while prompts run; it never completes. The
    /// end of a job becomes a hidden message, which the model receives when it would otherwise stop.
    pub async fn forward_notices(&self, host: &Host, idle: IdlePolicy) -> Infallible {
        let mut runs = FuturesUnordered::new();
        // Locked while this is polled; a later call continues where this one stopped.
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
                        // A closed session has no receiver for the message.
                        if let Err(error) = told
                            && self.conversation.context.state() != State::Closed
                        {
                            self.warn(format!("The model was not informed of the end of a job: {error}")).await;
                        }
                    });
                }
            }
        }
    }
}
