//! Texts that were sent and not accepted by the agent yet. A text is in one place at a time: in the editor, here, in a
//! queue of the agent or in the conversation.

use sinew_agent::agent::Delivery;
use sinew_tui::{Line, Row};
use tokio_util::sync::CancellationToken;

use super::blocks::DIM;

/// Whether texts may be sent to the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendState {
    Ready,
    /// A command is running that may change the current session.
    Changing,
    /// The session is being loaded.
    Reading,
}

/// The state of a text.
#[derive(Debug)]
enum MessageState {
    /// Waits to be sent.
    Waits,
    /// Is being processed for the agent; the token cancels that.
    Given(CancellationToken),
    /// Is part of a run that has begun, but whose first event has not arrived.
    Runs,
}

#[derive(Debug)]
struct OutgoingMessage {
    number: u64,
    text: String,
    delivery: Delivery,
    state: MessageState,
}

/// A prompt that is being sent to the agent.
pub(super) struct PendingPrompt {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) delivery: Delivery,
    /// Cancels the prompt, unless the agent has accepted it already.
    pub(super) back: CancellationToken,
}

/// All outgoing texts, oldest first. Only one prompt is sent at a time, so that they arrive in order.
#[derive(Debug)]
pub(super) struct OutgoingQueue {
    send_state: SendState,
    next: u64,
    texts: Vec<OutgoingMessage>,
    /// True if the user interrupted while a prompt was being sent: a run that it has begun is aborted too.
    is_interrupted: bool,
}

impl OutgoingQueue {
    pub(super) fn new(send_state: SendState) -> OutgoingQueue {
        OutgoingQueue { send_state, next: 0, texts: Vec::new(), is_interrupted: false }
    }

    pub(super) fn send_state(&self) -> SendState {
        self.send_state
    }

    pub(super) fn set_send_state(&mut self, send_state: SendState) {
        self.send_state = send_state;
    }

    /// Records that a command that may change the session has ended. If it did, the new session is being loaded.
    pub(super) fn end_change(&mut self) {
        if self.send_state == SendState::Changing {
            self.send_state = SendState::Ready;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns true if a prompt is being sent.
    pub(super) fn is_on_the_way(&self) -> bool {
        self.texts.iter().any(|sent| matches!(sent.state, MessageState::Given(_)))
    }

    /// Returns the texts with their delivery.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, Delivery)> {
        self.texts.iter().map(|sent| (sent.text.as_str(), sent.delivery))
    }

    /// Appends a text.
    pub(super) fn push(&mut self, text: String, delivery: Delivery) {
        self.texts.push(OutgoingMessage { number: self.next, text, delivery, state: MessageState::Waits });
        self.next += 1;
    }

    /// Returns the first waiting text, if it may be sent. A prompt is kept until the agent has accepted it: see
    /// [`OutgoingQueue::give`].
    pub(super) fn first(&self) -> Option<&str> {
        let is_free = self.send_state == SendState::Ready && !self.is_on_the_way();
        let mut waiting = self.texts.iter().filter(|sent| matches!(sent.state, MessageState::Waits));
        is_free.then(|| waiting.next().map(|sent| sent.text.as_str())).flatten()
    }

    /// Removes the first waiting text.
    pub(super) fn take_first(&mut self) -> Option<(String, Delivery)> {
        let at = self.texts.iter().position(|sent| matches!(sent.state, MessageState::Waits))?;
        let sent = self.texts.remove(at);
        Some((sent.text, sent.delivery))
    }

    /// Starts to send the first waiting text.
    pub(super) fn give(&mut self) -> Option<PendingPrompt> {
        let sent = self.texts.iter_mut().find(|sent| matches!(sent.state, MessageState::Waits))?;
        let back = CancellationToken::new();
        sent.state = MessageState::Given(back.clone());
        Some(PendingPrompt { number: sent.number, text: sent.text.trim().to_string(), delivery: sent.delivery, back })
    }

    /// Records that the agent accepted a prompt: into a queue, which shows it, or for a run that has begun. Returns
    /// true if the user has interrupted it.
    pub(super) fn accepted(&mut self, number: u64, runs: bool) -> bool {
        match self.texts.iter_mut().find(|sent| sent.number == number) {
            Some(sent) if runs => sent.state = MessageState::Runs,
            _ => drop(self.remove(number)),
        }
        std::mem::take(&mut self.is_interrupted)
    }

    /// Removes a prompt that was not accepted. Returns its text, and true if the user has interrupted it.
    pub(super) fn returned(&mut self, number: u64) -> (Option<String>, bool) {
        (self.remove(number), std::mem::take(&mut self.is_interrupted))
    }

    /// Removes the prompt of the run that has begun, because it is now in the conversation.
    pub(super) fn began(&mut self) {
        self.texts.retain(|sent| !matches!(sent.state, MessageState::Runs));
    }

    /// Removes a text, if it is present.
    fn remove(&mut self, number: u64) -> Option<String> {
        let at = self.texts.iter().position(|sent| sent.number == number)?;
        Some(self.texts.remove(at).text)
    }

    /// Removes all waiting texts and returns them, oldest first. A prompt that is being sent is cancelled, and returned
    /// later unless the agent has accepted it; returns true if there is one, and the caller then finishes the interrupt
    /// when it ends.
    pub(super) fn take_back(&mut self) -> (Vec<String>, bool) {
        let waiting = self.texts.extract_if(.., |sent| matches!(sent.state, MessageState::Waits)).map(|sent| sent.text);
        let waiting = waiting.collect();
        for sent in &self.texts {
            if let MessageState::Given(back) = &sent.state {
                back.cancel();
                self.is_interrupted = true;
            }
        }
        (waiting, self.is_interrupted)
    }

    /// Removes the newest text and returns it, if it is waiting.
    pub(super) fn take_newest(&mut self) -> Option<String> {
        self.texts.pop_if(|sent| matches!(sent.state, MessageState::Waits)).map(|sent| sent.text)
    }

    /// Lays out the texts that wait for the model, in a queue of the agent or here: their delivery and their first
    /// line.
    pub(super) fn rows(&self, queued: &(Vec<String>, Vec<String>), width: usize) -> Vec<Row> {
        let (steering, follow_up) = queued;
        let kinds = steering.iter().map(|text| ("steer", text.as_str()));
        let kinds = kinds.chain(follow_up.iter().map(|text| ("then", text.as_str())));
        // The event about a queued text may arrive before the message that it was accepted.
        let is_told = |text: &str| steering.iter().chain(follow_up).any(|queued| queued == text.trim());
        let sent = self.texts().filter(|(text, _)| !is_told(text)).map(|(text, delivery)| match delivery {
            Delivery::Steer => ("send", text),
            Delivery::FollowUp => ("then", text),
        });
        kinds
            .chain(sent)
            .take(4)
            .map(|(kind, text)| {
                let first = text.lines().next().unwrap_or_default();
                Line::styled(&format!("{kind:5} {first}"), DIM).into_row(width)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(outgoing: &OutgoingQueue) -> Vec<&str> {
        outgoing.texts().map(|(text, _)| text).collect()
    }

    #[test]
    fn a_text_stays_queued_until_the_conversation_has_it() {
        let mut outgoing = OutgoingQueue::new(SendState::Reading);
        for text in ["one", "two", "three"] {
            outgoing.push(text.into(), Delivery::Steer);
        }
        assert_eq!(outgoing.first(), None, "the session is being read");
        outgoing.set_send_state(SendState::Ready);
        assert_eq!(outgoing.first(), Some("one"));
        let one = outgoing.give().unwrap();
        assert_eq!((one.text.as_str(), outgoing.first()), ("one", None), "one at a time");
        assert_eq!(texts(&outgoing), ["one", "two", "three"]);
        assert!(!outgoing.accepted(one.number, true));
        assert_eq!(texts(&outgoing), ["one", "two", "three"], "the conversation does not have it yet");
        outgoing.began();
        let two = outgoing.give().unwrap();
        // It waits in a queue of the agent.
        assert!(!outgoing.accepted(two.number, false));
        assert_eq!(texts(&outgoing), ["three"]);
        let three = outgoing.give().unwrap();
        outgoing.push("four".into(), Delivery::FollowUp);
        assert_eq!(outgoing.take_back(), (vec!["four".to_string()], true));
        assert!(three.back.is_cancelled());
        assert_eq!(outgoing.returned(three.number), (Some("three".to_string()), true));
        assert!(outgoing.is_empty() && outgoing.take_back() == (Vec::new(), false));
    }

    #[test]
    fn an_interrupt_too_late_for_a_prompt_ends_its_run() {
        let mut outgoing = OutgoingQueue::new(SendState::Ready);
        outgoing.push("late".into(), Delivery::Steer);
        let late = outgoing.give().unwrap();
        assert_eq!(outgoing.take_back(), (Vec::new(), true));
        assert!(outgoing.accepted(late.number, true), "the run is to be ended");
        assert_eq!(texts(&outgoing), ["late"]);
        outgoing.began();
        assert!(outgoing.is_empty());
        outgoing.push("later".into(), Delivery::Steer);
        let later = outgoing.give().unwrap();
        assert!(!outgoing.accepted(later.number, true), "an interrupt ends nothing that comes after it");
    }
}
