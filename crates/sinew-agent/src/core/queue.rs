//! Queues of messages that the user sends while the agent works: steering, taken after the tools of a turn, and
//! follow-ups, taken when the agent would stop.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use sinew_llm::message::AgentMessage;
use tokio::sync::Notify;

/// The most prompts that a queue holds.
pub const QUEUE_LIMIT: usize = 100;

/// The number of prompts that are taken at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// The oldest.
    #[default]
    OneAtATime,
    /// Everything.
    All,
}

/// The queue holds [`QUEUE_LIMIT`] prompts already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// A message of the user with the files that it names.
type Prompt = Vec<AgentMessage>;

#[derive(Debug, Default)]
struct State {
    steering: VecDeque<Prompt>,
    follow_up: VecDeque<Prompt>,
    steering_mode: QueueMode,
    follow_up_mode: QueueMode,
}

/// Prompts that were taken out of both queues, oldest first.
#[derive(Debug, Default)]
pub struct ClearedQueues {
    steering: Vec<Prompt>,
    follow_up: Vec<Prompt>,
}

impl ClearedQueues {
    /// The texts of the prompts, for people: steering, then follow-ups.
    #[must_use]
    pub fn texts(&self) -> (Vec<String>, Vec<String>) {
        (texts(&self.steering), texts(&self.follow_up))
    }

    /// The messages, steering first.
    pub fn into_messages(self) -> impl Iterator<Item = AgentMessage> {
        self.steering.into_iter().chain(self.follow_up).flatten()
    }
}

/// Both queues of a session. A prompt is in a queue until it is taken, and taken once, whole.
#[derive(Debug, Default)]
pub struct Queues {
    state: Mutex<State>,
    steered: Notify,
}

impl Queues {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Sets how many messages are taken at once.
    pub fn set_modes(&self, steering: QueueMode, follow_up: QueueMode) {
        let mut state = self.lock();
        state.steering_mode = steering;
        state.follow_up_mode = follow_up;
    }

    /// Says something to the model after the tools of this turn.
    ///
    /// # Errors
    /// [`Full`].
    pub fn steer(&self, prompt: Vec<AgentMessage>) -> Result<(), Full> {
        push(&mut self.lock().steering, prompt)?;
        self.steered.notify_waiters();
        Ok(())
    }

    /// Says something to the model when it would stop.
    ///
    /// # Errors
    /// [`Full`].
    pub fn follow_up(&self, prompt: Vec<AgentMessage>) -> Result<(), Full> {
        push(&mut self.lock().follow_up, prompt)
    }

    /// Returns whether steering waits.
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

    /// Empties both and gives what was in them.
    #[must_use]
    pub fn clear(&self) -> ClearedQueues {
        let mut state = self.lock();
        ClearedQueues { steering: state.steering.drain(..).collect(), follow_up: state.follow_up.drain(..).collect() }
    }

    /// Takes the prompt back that came last, and gives its text.
    #[must_use]
    pub fn take_newest(&self) -> Option<String> {
        let mut state = self.lock();
        let newest = |queue: &VecDeque<Prompt>| queue.back().map(|prompt| written(prompt));
        let queue = match newest(&state.follow_up) >= newest(&state.steering) {
            true => &mut state.follow_up,
            false => &mut state.steering,
        };
        queue.pop_back().map(|prompt| text(&prompt))
    }

    /// The texts of the prompts in both, steering first, for people.
    #[must_use]
    pub fn texts(&self) -> (Vec<String>, Vec<String>) {
        let state = self.lock();
        (texts(&state.steering), texts(&state.follow_up))
    }
}

fn texts<'a>(prompts: impl IntoIterator<Item = &'a Prompt>) -> Vec<String> {
    prompts.into_iter().map(|prompt| text(prompt)).collect()
}

/// The time at which a prompt was written.
fn written(prompt: &[AgentMessage]) -> i64 {
    let times = prompt.iter().filter_map(|message| match message {
        AgentMessage::User(user) => Some(user.timestamp),
        AgentMessage::Custom(custom) => Some(custom.timestamp),
        _ => None,
    });
    times.max().unwrap_or_default()
}

fn text(prompt: &[AgentMessage]) -> String {
    let texts = prompt.iter().filter_map(|message| match message {
        AgentMessage::User(user) => Some(user.content.text()),
        AgentMessage::Custom(custom) => Some(custom.content.text()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn push(queue: &mut VecDeque<Prompt>, prompt: Prompt) -> Result<(), Full> {
    if queue.len() >= QUEUE_LIMIT {
        return Err(Full);
    }
    // An empty one would be taken as if nothing waited, and hide what stands behind it.
    if !prompt.is_empty() {
        queue.push_back(prompt);
    }
    Ok(())
}

fn take(queue: &mut VecDeque<Prompt>, mode: QueueMode) -> Vec<AgentMessage> {
    match mode {
        QueueMode::OneAtATime => queue.pop_front().unwrap_or_default(),
        QueueMode::All => queue.drain(..).flatten().collect(),
    }
}
