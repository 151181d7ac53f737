//! Queues of messages that the user sends while the agent works: steering is sent after the tools of a turn, follow-ups
//! when the agent would otherwise stop. Notes about work outside of the conversation are sent at the next of both moments.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use sinew_llm::message::AgentMessage;
use tokio::sync::Notify;

/// The maximum number of prompts in a queue.
pub const QUEUE_LIMIT: usize = 100;

/// The number of prompts that are taken from a queue at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// Only the oldest prompt.
    #[default]
    OneAtATime,
    /// All prompts.
    All,
}

/// The error for a queue that already has [`QUEUE_LIMIT`] prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFull;

/// A message of the user and the files that it mentions.
type Prompt = Vec<AgentMessage>;

#[derive(Debug, Default)]
struct State {
    steering: VecDeque<Prompt>,
    follow_up: VecDeque<Prompt>,
    /// Their number is limited by the work that they are about.
    notes: Vec<AgentMessage>,
    steering_mode: QueueMode,
    follow_up_mode: QueueMode,
}

/// The prompts removed from both queues, oldest first.
#[derive(Debug, Default)]
pub struct ClearedQueues {
    steering: Vec<Prompt>,
    follow_up: Vec<Prompt>,
}

impl ClearedQueues {
    /// Returns the texts of the prompts for display: steering and follow-ups.
    #[must_use]
    pub fn texts(&self) -> (Vec<String>, Vec<String>) {
        (texts(&self.steering), texts(&self.follow_up))
    }

    /// Returns the messages, steering first.
    pub fn into_messages(self) -> impl Iterator<Item = AgentMessage> {
        self.steering.into_iter().chain(self.follow_up).flatten()
    }
}

/// The two queues of a session. A prompt is always taken as a whole, and only once.
#[derive(Debug, Default)]
pub struct Queues {
    state: Mutex<State>,
    steered: Notify,
}

impl Queues {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Sets how many prompts are taken at once.
    pub fn set_modes(&self, steering: QueueMode, follow_up: QueueMode) {
        let mut state = self.lock();
        state.steering_mode = steering;
        state.follow_up_mode = follow_up;
    }

    /// Queues a prompt for the model after the tools of the current turn.
    ///
    /// # Errors
    /// Returns [`QueueFull`] if the queue is full.
    pub fn steer(&self, prompt: Vec<AgentMessage>) -> Result<(), QueueFull> {
        push(&mut self.lock().steering, prompt)?;
        self.steered.notify_waiters();
        Ok(())
    }

    /// Queues a prompt for the moment when the agent would otherwise stop.
    ///
    /// # Errors
    /// Returns [`QueueFull`] if the queue is full.
    pub fn follow_up(&self, prompt: Vec<AgentMessage>) -> Result<(), QueueFull> {
        push(&mut self.lock().follow_up, prompt)
    }

    /// Queues a note, which the model reads after the tools of the current turn. Unlike steering, it skips no calls.
    pub fn note(&self, note: AgentMessage) {
        self.lock().notes.push(note);
    }

    /// Removes and returns all notes.
    #[must_use]
    pub fn take_notes(&self) -> Vec<AgentMessage> {
        std::mem::take(&mut self.lock().notes)
    }

    /// Returns whether steering is queued.
    #[must_use]
    pub fn is_steered(&self) -> bool {
        !self.lock().steering.is_empty()
    }

    /// Resolves as soon as steering is queued.
    pub async fn steered(&self) {
        loop {
            let notified = self.steered.notified();
            tokio::pin!(notified);
            // Registered before the check, so that a message between check and wait is not missed.
            notified.as_mut().enable();
            if self.is_steered() {
                return;
            }
            notified.await;
        }
    }

    /// Removes and returns the steering that is due.
    #[must_use]
    pub fn take_steering(&self) -> Vec<AgentMessage> {
        let mut state = self.lock();
        let mode = state.steering_mode;
        take(&mut state.steering, mode)
    }

    /// Removes and returns the follow-ups that are due.
    #[must_use]
    pub fn take_follow_up(&self) -> Vec<AgentMessage> {
        let mut state = self.lock();
        let mode = state.follow_up_mode;
        take(&mut state.follow_up, mode)
    }

    /// Removes and returns the next prompts when the agent is idle: all notes, then steering or, without any, follow-ups.
    #[must_use]
    pub fn take_next(&self) -> Vec<AgentMessage> {
        let mut next = self.take_notes();
        let steering = self.take_steering();
        next.extend(if steering.is_empty() { self.take_follow_up() } else { steering });
        next
    }

    /// Empties both queues and returns their prompts.
    #[must_use]
    pub fn clear(&self) -> ClearedQueues {
        let mut state = self.lock();
        ClearedQueues { steering: state.steering.drain(..).collect(), follow_up: state.follow_up.drain(..).collect() }
    }

    /// Removes the newest prompt and returns its text.
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

    /// Returns the texts of both queues for display, steering first.
    #[must_use]
    pub fn texts(&self) -> (Vec<String>, Vec<String>) {
        let state = self.lock();
        (texts(&state.steering), texts(&state.follow_up))
    }
}

fn texts<'a>(prompts: impl IntoIterator<Item = &'a Prompt>) -> Vec<String> {
    prompts.into_iter().map(|prompt| text(prompt)).collect()
}

/// Returns the time at which a prompt was written.
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

fn push(queue: &mut VecDeque<Prompt>, prompt: Prompt) -> Result<(), QueueFull> {
    if queue.len() >= QUEUE_LIMIT {
        return Err(QueueFull);
    }
    // An empty prompt would look like an empty queue and hide the prompts after it.
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
