//! The entries of a path one by one, for views that show some of them and for searches through all.

use sinew_base::Result;
use sinew_llm::message::{AgentMessage, CompactionSummary};

use super::clock;
use super::entry::{Body, Entry, Kind};
use super::store::{Session, pieces};
use super::tree::EntryLocation;

/// Returns true if a line may contain a word of ASCII letters, ignoring case: it contains the word, or characters that
/// JSON escapes and that may be invisible between its letters.
#[must_use]
pub fn may_have_word(line: &[u8], word: &str) -> bool {
    let word = word.as_bytes();
    // The rarest letter is searched first.
    let rank = |byte: &u8| COMMON.iter().position(|common| byte.eq_ignore_ascii_case(common)).unwrap_or(COMMON.len());
    let Some((at, rare)) = word.iter().enumerate().max_by_key(|(_, byte)| rank(byte)) else { return true };
    let places = memchr::memchr2_iter(rare.to_ascii_lowercase(), rare.to_ascii_uppercase(), line);
    let fits = |place: usize| {
        let from = place.checked_sub(at)?;
        line.get(from..from + word.len()).filter(|found| found.eq_ignore_ascii_case(word))
    };
    places.into_iter().any(|place| fits(place).is_some()) || memchr::memmem::find(line, br"\u00").is_some()
}

/// Letters of texts and code, the most frequent first.
const COMMON: &[u8] = b"etaoinsrldcumhpfg\"0b1ywv2345k6789xjqz";

/// The position of an entry in its session, valid as long as the session exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryPlace(usize);

impl Session {
    /// Returns the positions of messages and summaries from the root to the leaf, including those that a summary
    /// replaces. Runs in time linear in the path; reads nothing.
    #[must_use]
    pub fn message_places(&self) -> Vec<EntryPlace> {
        let is_shown = |at: &usize| {
            let kind = self.tree.nodes[*at].kind;
            kind.is_message() || kind == Kind::Compaction
        };
        self.tree.path(self.tree.leaf()).into_iter().filter(is_shown).map(EntryPlace).collect()
    }

    /// Reads a message as its entry stores it: images are references. `None` if the entry is not a message.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn message_at(&self, EntryPlace(at): EntryPlace) -> Result<Option<AgentMessage>> {
        let entry = self.read(at)?;
        if let Entry { timestamp, body: Body::Compaction { summary, tokens_before, .. }, .. } = entry {
            let timestamp = clock::from_iso(&timestamp).unwrap_or_default();
            return Ok(Some(AgentMessage::CompactionSummary(CompactionSummary { summary, tokens_before, timestamp })));
        }
        Ok(entry.into_message())
    }

    /// Returns the bodies of all entries of the file, of every branch, whose line contains one of `words`; oldest first.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn entries_with(&self, words: &[&str]) -> Result<Vec<Body>> {
        let finders: Vec<_> = words.iter().map(memchr::memmem::Finder::new).collect();
        let all: Vec<EntryPlace> = (0..self.tree.nodes.len()).map(EntryPlace).collect();
        let found = self.fitting_lines(&all, |line| finders.iter().any(|finder| finder.find(line).is_some()))?;
        found.into_iter().map(|at| Ok(self.read(at)?.body)).collect()
    }

    /// Returns the indices of the `places` for whose line, as JSON from the file, `fits` returns true. Adjacent lines
    /// are read together.
    ///
    /// # Errors
    /// Returns an error if the file can no longer be read.
    pub fn fitting_lines(&self, places: &[EntryPlace], fits: impl Fn(&[u8]) -> bool) -> Result<Vec<usize>> {
        let nodes: Vec<usize> = places.iter().map(|place| place.0).collect();
        let mut buffer = Vec::new();
        let mut found = Vec::new();
        for piece in pieces(&self.tree, &nodes) {
            let bytes = self.fill_piece(&piece, &mut buffer)?;
            for number in piece.nodes.clone() {
                let has = match &self.tree.nodes[nodes[number]].place {
                    EntryLocation::Memory(entry) => fits(entry.to_value().to_string().as_bytes()),
                    EntryLocation::Disk { offset, length } => fits(piece.line(bytes, *offset, *length)),
                };
                found.extend(has.then_some(number));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sinew_llm::message::UserMessage;

    use super::*;
    use crate::clock::FixedClock;
    use crate::{SessionOptions, Sync};

    fn say(session: &mut Session, text: &str) -> String {
        let user = UserMessage { content: text.into(), ..UserMessage::default() };
        session.append(Body::Message { message: user.into() }).unwrap()
    }

    fn texts(session: &Session) -> Vec<String> {
        let read = |place| match session.message_at(place).unwrap() {
            Some(AgentMessage::User(user)) => user.content.text(),
            Some(AgentMessage::CompactionSummary(summary)) => format!("({})", summary.summary),
            other => panic!("{other:?}"),
        };
        session.message_places().into_iter().map(read).collect()
    }

    #[test]
    fn a_path_can_be_read_past_its_compaction() {
        let folder = tempfile::tempdir().unwrap();
        let options = SessionOptions {
            cwd: folder.path().to_path_buf(),
            blobs: None,
            sync: Sync::Never,
            clock: Arc::new(FixedClock::at(1_700_000_000_000)),
            mask: None,
        };
        let on_disk = Session::open(&folder.path().join("a.jsonl"), options.clone()).unwrap().session;
        for mut session in [on_disk, Session::in_memory(options)] {
            let first = say(&mut session, "one");
            say(&mut session, "another branch");
            session.set_leaf(Some(&first)).unwrap();
            say(&mut session, "two");
            let kept = say(&mut session, "three");
            let body = Body::Compaction {
                summary: "sum".into(),
                short_summary: None,
                first_kept_entry_id: kept,
                tokens_before: 1,
                details: None,
                from_extension: None,
                preserve_data: None,
            };
            session.append(body).unwrap();
            for number in 0..300 {
                say(&mut session, &format!("later {number}"));
            }
            let all = texts(&session);
            assert_eq!(all[..5], ["one", "two", "three", "(sum)", "later 0"]);
            assert_eq!(all.len(), 304);
            let places = session.message_places();
            let has = |word: &'static str| move |line: &[u8]| memchr::memmem::find(line, word.as_bytes()).is_some();
            assert_eq!(
                session.fitting_lines(&places, has("later 29")).unwrap(),
                [33, 294, 295, 296, 297, 298, 299, 300, 301, 302, 303]
            );
            assert_eq!(session.fitting_lines(&places[10..20], has("later 12")).unwrap(), [6]);
            assert_eq!(session.fitting_lines(&places, has("branch")).unwrap(), [0usize; 0]);
        }
    }
}
