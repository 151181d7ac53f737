//! What the user says while the agent works: steering, after the tools of a turn, and follow-ups, when the agent
//! would stop.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sinew_llm::message::AgentMessage;
use tokio::sync::Notify;

/// How many messages a queue holds.
pub const QUEUE_LIMIT: usize = 100;

/// How many messages are taken at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The oldest.
    #[default]
    OneAtATime,
    /// Everything.
    All,
}

/// The queue holds [`QUEUE_LIMIT`] messages already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

#[derive(Debug, Default)]
struct State {
    steering: VecDeque<AgentMessage>,
    follow_up: VecDeque<AgentMessage>,
    steering_mode: Mode,
    follow_up_mode: Mode,
}

/// Both queues of a session. A message is in a queue until it is taken, and taken once.
#[derive(Debug, Default)]
pub struct Queues {
    state: Mutex<State>,
    steered: Notify,
}

impl Queues {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how many messages are taken at once.
    pub fn set_modes(&self, steering: Mode, follow_up: Mode) {
        let mut state = self.lock();
        state.steering_mode = steering;
        state.follow_up_mode = follow_up;
    }

    /// Says something to the model after the tools of this turn.
    ///
    /// # Errors
    /// [`Full`].
    pub fn steer(&self, message: AgentMessage) -> Result<(), Full> {
        push(&mut self.lock().steering, message)?;
        self.steered.notify_waiters();
        Ok(())
    }

    /// Says something to the model when it would stop.
    ///
    /// # Errors
    /// [`Full`].
    pub fn follow_up(&self, message: AgentMessage) -> Result<(), Full> {
        push(&mut self.lock().follow_up, message)
    }

    /// Whether steering waits.
    #[must_use]
    pub fn is_steered(&self) -> bool {
        !self.lock().steering.is_empty()
    }

    /// Resolves as soon as steering waits.
    pub async fn steered(&self) {
        loop {
            let notified = self.steered.notified();
            tokio::pin!(notified);
            // Registered before the look, so that a message between look and wait is not missed.
            notified.as_mut().enable();
            if self.is_steered() {
                return;
            }
            notified.await;
        }
    }

    /// Takes what is to be said now.
    #[must_use]
    pub fn take_steering(&self) -> Vec<AgentMessage> {
        let mut state = self.lock();
        let mode = state.steering_mode;
        take(&mut state.steering, mode)
    }

    /// Takes what is to be said at the end.
    #[must_use]
    pub fn take_follow_up(&self) -> Vec<AgentMessage> {
        let mut state = self.lock();
        let mode = state.follow_up_mode;
        take(&mut state.follow_up, mode)
    }

    /// Takes what is to be said once the agent has nothing more to do: steering first.
    #[must_use]
    pub fn take_next(&self) -> Vec<AgentMessage> {
        let steering = self.take_steering();
        if steering.is_empty() { self.take_follow_up() } else { steering }
    }

    /// Empties both and gives what was in them, steering first.
    #[must_use]
    pub fn clear(&self) -> Vec<AgentMessage> {
        let mut state = self.lock();
        let mut all: Vec<AgentMessage> = state.steering.drain(..).collect();
        all.extend(state.follow_up.drain(..));
        all
    }

    /// The texts in both, steering first, for people.
    #[must_use]
    pub fn texts(&self) -> (Vec<String>, Vec<String>) {
        let state = self.lock();
        let texts = |queue: &VecDeque<AgentMessage>| queue.iter().map(text).collect();
        (texts(&state.steering), texts(&state.follow_up))
    }
}

fn text(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(user) => user.content.text(),
        AgentMessage::Custom(custom) => custom.content.text(),
        _ => String::new(),
    }
}

fn push(queue: &mut VecDeque<AgentMessage>, message: AgentMessage) -> Result<(), Full> {
    if queue.len() >= QUEUE_LIMIT {
        return Err(Full);
    }
    queue.push_back(message);
    Ok(())
}

fn take(queue: &mut VecDeque<AgentMessage>, mode: Mode) -> Vec<AgentMessage> {
    match mode {
        Mode::OneAtATime => queue.pop_front().into_iter().collect(),
        Mode::All => queue.drain(..).collect(),
    }
}
