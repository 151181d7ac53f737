//! The passages of a session for a view: entries of the session file, which are read when they are shown or searched.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use sinew_control::actions::subagents::ChildConversation;
use sinew_control::app::OpenSession;
use sinew_session::{EntryPlace, Session, may_have_word};
use sinew_tui::{Passage, Passages, SearchTarget};

use super::conversation_text::{ConversationText, Neighbours};

/// The number of messages at the end among which the newest call is searched.
const NEWEST: usize = 200;

/// The messages of a session's path, followed by running calls.
pub(super) struct SessionPassages {
    source: Source,
    places: Vec<EntryPlace>,
    running: Vec<Passage>,
    is_source: bool,
}

/// A session that is read.
enum Source {
    Open(Arc<OpenSession>),
    Saved(Box<Mutex<Session>>),
}

impl Source {
    fn session(&self) -> MutexGuard<'_, Session> {
        match self {
            Source::Open(open) => open.agent.session(),
            Source::Saved(session) => session.lock(),
        }
    }
}

impl SessionPassages {
    /// Collects the current messages, and the headers and output of running calls. Linear in the number of messages;
    /// reads no message.
    pub(super) fn new(open: Arc<OpenSession>, running: &[(String, String)]) -> SessionPassages {
        SessionPassages::read(Source::Open(open), running)
    }

    /// Collects the messages of a subagent, and what it does now.
    pub(super) fn of_subagent(conversation: ChildConversation, running: &[(String, String)]) -> SessionPassages {
        let source = match conversation {
            ChildConversation::Open(open) => Source::Open(open),
            ChildConversation::Saved(session) => Source::Saved(Box::new(Mutex::new(*session))),
        };
        SessionPassages::read(source, running)
    }

    fn read(source: Source, running: &[(String, String)]) -> SessionPassages {
        let running = running.iter().map(|(header, output)| ConversationText::running(header, output).into_passage());
        let (places, running) = (source.session().message_places(), running.collect());
        SessionPassages { source, places, running, is_source: false }
    }

    /// Collects only the source of prompts and answers.
    pub(super) fn source(open: Arc<OpenSession>) -> SessionPassages {
        SessionPassages { is_source: true, ..SessionPassages::new(open, &[]) }
    }

    /// Returns the index of the newest passage with a call, if it is among the last few hundred; otherwise the number
    /// of passages, which is the end.
    pub(super) fn newest_call(&self) -> usize {
        if !self.running.is_empty() {
            return self.count() - 1;
        }
        let last = self.places.len().saturating_sub(NEWEST)..self.places.len();
        last.rev().find(|at| self.laid(*at).has_call).unwrap_or(self.count())
    }

    /// Returns the index of the newest passage with a prompt.
    pub(super) fn newest_prompt(&self) -> usize {
        let mut range = 0..self.count();
        while let Some(at) = self.candidate(range.clone(), &SearchTarget::Prompt, false) {
            if self.read(at).is_prompt {
                return at;
            }
            range.end = at;
        }
        0
    }

    fn laid(&self, at: usize) -> ConversationText {
        let session = self.source.session();
        let message = match session.message_at(self.places[at]) {
            Ok(Some(message)) => message,
            Ok(None) => return ConversationText::default(),
            Err(error) => return ConversationText::unreadable(error.message()),
        };
        if self.is_source {
            return ConversationText::source_of_one(&message, at == 0);
        }
        // A neighbour that cannot be read shows its error in its own passage.
        let read = |place: &EntryPlace| session.message_at(*place).ok().flatten();
        let (before, after) = (&self.places[..at], &self.places[at + 1..]);
        let neighbours = Neighbours::find(&message, before.iter().rev().map_while(read), after.iter().map_while(read));
        ConversationText::one(&message, &neighbours, at == 0)
    }
}

impl Passages for SessionPassages {
    fn count(&self) -> usize {
        self.places.len() + self.running.len()
    }

    fn read(&self, at: usize) -> Passage {
        match at.checked_sub(self.places.len()) {
            None => self.laid(at).into_passage(),
            Some(at) => self.running.get(at).cloned().unwrap_or_default(),
        }
    }

    fn candidate(&self, range: Range<usize>, wanted: &SearchTarget, forward: bool) -> Option<usize> {
        let words = match wanted {
            // Prompts have this role, and the quoted word rarely occurs in other messages.
            SearchTarget::Prompt => vec!["\"user\""],
            // The characters between the words may be escaped in the file.
            SearchTarget::Text(text) => text.split(|letter: char| !letter.is_ascii_alphanumeric()).collect(),
        };
        let fits = |line: &[u8]| words.iter().all(|word| may_have_word(line, word));
        let known = range.start.min(self.places.len())..range.end.min(self.places.len());
        // If the file cannot be read any more, the passages show the error.
        let found = self.source.session().fitting_lines(&self.places[known.clone()], fits);
        let found = found
            .map_or_else(|_| known.clone().collect(), |found| found.into_iter().map(|at| known.start + at).collect());
        let mut all = Vec::<usize>::into_iter(found).chain(range.start.max(known.end)..range.end);
        if forward { all.next() } else { all.next_back() }
    }
}
