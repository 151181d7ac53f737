//! Texts that were sent and that the agent does not have yet. A text is in one place at a time: in the editor, here, in a
//! queue of the agent or in the conversation.

use sinew_agent::agent::Delivery;
use sinew_tui::{Line, Row};
use tokio_util::sync::CancellationToken;

use super::blocks::DIM;

/// Whether texts go on to the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Open,
    /// A command is at work after which another session may be current.
    Changing,
    /// The session is being read.
    Reading,
}

/// The place of a text on its way.
#[derive(Debug)]
enum Place {
    /// It waits here.
    Waits,
    /// It is being read for the agent, which the token ends.
    Given(CancellationToken),
    /// The agent has begun a run with it, and has not told so yet.
    Runs,
}

#[derive(Debug)]
struct Sent {
    number: u64,
    text: String,
    delivery: Delivery,
    place: Place,
}

/// A prompt on its way to the agent.
pub(super) struct Given {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) delivery: Delivery,
    /// Cancelled: it is to come back, unless the agent has it already.
    pub(super) back: CancellationToken,
}

/// All of them, oldest first. One prompt at a time is on its way, so that they arrive in order.
#[derive(Debug)]
pub(super) struct Outgoing {
    door: Door,
    next: u64,
    texts: Vec<Sent>,
    /// The user has interrupted what goes on while a prompt was on its way: the run that it may have begun ends too.
    is_interrupted: bool,
}

impl Outgoing {
    pub(super) fn new(door: Door) -> Outgoing {
        Outgoing { door, next: 0, texts: Vec::new(), is_interrupted: false }
    }

    pub(super) fn door(&self) -> Door {
        self.door
    }

    pub(super) fn set_door(&mut self, door: Door) {
        self.door = door;
    }

    /// The command that may have changed the session is over; where it has, that one is being read.
    pub(super) fn end_change(&mut self) {
        if self.door == Door::Changing {
            self.door = Door::Open;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Tells whether a prompt is being read for the agent.
    pub(super) fn is_on_the_way(&self) -> bool {
        self.texts.iter().any(|sent| matches!(sent.place, Place::Given(_)))
    }

    /// The texts and how each is delivered.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, Delivery)> {
        self.texts.iter().map(|sent| (sent.text.as_str(), sent.delivery))
    }

    /// Adds a text behind all others.
    pub(super) fn push(&mut self, text: String, delivery: Delivery) {
        self.texts.push(Sent { number: self.next, text, delivery, place: Place::Waits });
        self.next += 1;
    }

    /// The first text that waits, where it may go on. A prompt is kept until the agent has it: see [`Outgoing::give`].
    pub(super) fn first(&self) -> Option<&str> {
        let is_free = self.door == Door::Open && !self.is_on_the_way();
        let mut waiting = self.texts.iter().filter(|sent| matches!(sent.place, Place::Waits));
        is_free.then(|| waiting.next().map(|sent| sent.text.as_str())).flatten()
    }

    /// Takes the first text that waits out.
    pub(super) fn take_first(&mut self) -> Option<(String, Delivery)> {
        let at = self.texts.iter().position(|sent| matches!(sent.place, Place::Waits))?;
        let sent = self.texts.remove(at);
        Some((sent.text, sent.delivery))
    }

    /// Sends the first text that waits on its way.
    pub(super) fn give(&mut self) -> Option<Given> {
        let sent = self.texts.iter_mut().find(|sent| matches!(sent.place, Place::Waits))?;
        let back = CancellationToken::new();
        sent.place = Place::Given(back.clone());
        Some(Given { number: sent.number, text: sent.text.trim().to_string(), delivery: sent.delivery, back })
    }

    /// The agent has a prompt: in a queue, which shows it, or in a run that has begun. True: the user has interrupted it.
    pub(super) fn accepted(&mut self, number: u64, runs: bool) -> bool {
        match self.texts.iter_mut().find(|sent| sent.number == number) {
            Some(sent) if runs => sent.place = Place::Runs,
            _ => drop(self.remove(number)),
        }
        std::mem::take(&mut self.is_interrupted)
    }

    /// A prompt comes back, with its text. True: the user has interrupted it.
    pub(super) fn returned(&mut self, number: u64) -> (Option<String>, bool) {
        (self.remove(number), std::mem::take(&mut self.is_interrupted))
    }

    /// The conversation has the prompt of the run that has begun.
    pub(super) fn began(&mut self) {
        self.texts.retain(|sent| !matches!(sent.place, Place::Runs));
    }

    /// Takes a text out, if it is here.
    fn remove(&mut self, number: u64) -> Option<String> {
        let at = self.texts.iter().position(|sent| sent.number == number)?;
        Some(self.texts.remove(at).text)
    }

    /// Takes everything back that waits, oldest first. The prompt that is on its way comes back by itself, unless the agent
    /// has it already; true: there is one, and with its end comes what is left to do.
    pub(super) fn take_back(&mut self) -> (Vec<String>, bool) {
        let waiting = self.texts.extract_if(.., |sent| matches!(sent.place, Place::Waits)).map(|sent| sent.text);
        let waiting = waiting.collect();
        for sent in &self.texts {
            if let Place::Given(back) = &sent.place {
                back.cancel();
                self.is_interrupted = true;
            }
        }
        (waiting, self.is_interrupted)
    }

    /// Takes the newest text back, if it waits.
    pub(super) fn take_newest(&mut self) -> Option<String> {
        self.texts.pop_if(|sent| matches!(sent.place, Place::Waits)).map(|sent| sent.text)
    }

    /// Lays out what waits for the model, in a queue of the agent or here: how each is delivered, and its first line.
    pub(super) fn rows(&self, queued: &(Vec<String>, Vec<String>), width: usize) -> Vec<Row> {
        let (steering, follow_up) = queued;
        let kinds = steering.iter().map(|text| ("steer", text.as_str()));
        let kinds = kinds.chain(follow_up.iter().map(|text| ("then", text.as_str())));
        // The event that tells that one is queued may come before the word that it was accepted.
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

    fn texts(outgoing: &Outgoing) -> Vec<&str> {
        outgoing.texts().map(|(text, _)| text).collect()
    }

    #[test]
    fn a_text_stays_queued_until_the_conversation_has_it() {
        let mut outgoing = Outgoing::new(Door::Reading);
        for text in ["one", "two", "three"] {
            outgoing.push(text.into(), Delivery::Steer);
        }
        assert_eq!(outgoing.first(), None, "the session is being read");
        outgoing.set_door(Door::Open);
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
        let mut outgoing = Outgoing::new(Door::Open);
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
