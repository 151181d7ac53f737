//! Reads the end of a session's path from the end of its file.

use std::io;
use std::path::Path;

use sinew_llm::message::AgentMessage;

use super::entry::{Entry, Kind};
use super::read_at;
use super::scan::Head;
use crate::files::open_plain;

/// The newest messages of a path.
#[derive(Debug, Default, PartialEq)]
pub struct Tail {
    /// Oldest first; empty if the bytes read contain none.
    pub messages: Vec<AgentMessage>,
    /// True if they are all messages.
    pub is_whole: bool,
}

/// Reads the messages in the last `most` bytes of a file that are on the path of its leaf, as stored: images are
/// references. Reads nothing before a compaction.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn tail(path: &Path, most: u64) -> io::Result<Tail> {
    let file = open_plain(path)?;
    let size = file.metadata()?.len();
    let mut bytes = vec![0; usize::try_from(size.min(most)).map_err(|_| io::ErrorKind::OutOfMemory)?];
    let count = read_at::read(&file, &mut bytes, size.saturating_sub(most))?;
    let mut tail = Tail::default();
    // The next entry on the path; `None` until the leaf is found.
    let mut next: Option<String> = None;
    for line in bytes[..count].rsplit(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        // The first line may be incomplete.
        let Ok(head) = Head::parse(line) else { continue };
        let kind = Kind::of(&head.kind);
        let is_next = next.as_ref().map_or(kind != Kind::Aside, |next| **next == *head.id);
        if !is_next || head.kind == "session" {
            continue;
        }
        let parent = head.parent_id.as_deref().map(str::to_string);
        if kind == Kind::Compaction {
            break;
        }
        if kind.is_message() {
            let Ok(entry) = Entry::parse(line) else { break };
            tail.messages.extend(entry.into_message());
        }
        match parent {
            Some(parent) => next = Some(parent),
            None => {
                tail.is_whole = true;
                break;
            }
        }
    }
    tail.messages.reverse();
    Ok(tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::FixedClock;
    use crate::store::{Session, SessionOptions};
    use crate::{Body, Defaults, Sync};
    use sinew_llm::message::{AssistantMessage, Block, UserMessage};
    use std::sync::Arc;

    fn options(folder: &Path) -> SessionOptions {
        SessionOptions {
            cwd: folder.to_path_buf(),
            blobs: None,
            sync: Sync::Never,
            clock: Arc::new(FixedClock::at(1_700_000_000_000)),
            mask: None,
        }
    }

    fn say(session: &mut Session, text: &str) -> String {
        let user = UserMessage { content: text.into(), ..UserMessage::default() };
        session.append(Body::Message { message: user.into() }).unwrap();
        let answer = AssistantMessage { content: vec![Block::text(text)], ..AssistantMessage::default() };
        session.append(Body::Message { message: answer.into() }).unwrap()
    }

    /// Compares the tail with the end of the session's messages.
    #[track_caller]
    fn check(session: &Session, most: u64) -> Tail {
        let tail = tail(session.path().unwrap(), most).unwrap();
        let all = session.context(&Defaults::default()).unwrap().messages;
        assert_eq!(tail.messages, all[all.len() - tail.messages.len()..]);
        assert!(!tail.is_whole || tail.messages.len() == all.len());
        tail
    }

    #[test]
    fn the_tail_equals_the_end_of_the_whole_session() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut session = Session::open(&path, options(folder.path())).unwrap().session;
        assert!(tail(&path, 100).is_err(), "no file was made yet");
        let first = say(&mut session, "one");
        assert!(check(&session, 1 << 20).is_whole);
        for number in 0..200 {
            say(&mut session, &format!("number {number}"));
        }
        assert!(check(&session, 1 << 20).is_whole);
        for most in [0, 1, 100, 500, 3_000, 20_000] {
            assert!(!check(&session, most).is_whole, "{most}");
        }
        assert_eq!(check(&session, 1 << 20).messages.len(), 402);
        // Another branch, whose beginning is far away.
        session.set_leaf(Some(&first)).unwrap();
        say(&mut session, "a branch");
        assert_eq!(check(&session, 1 << 20).messages.len(), 4);
        assert_eq!(check(&session, 2_000).messages.len(), 2);
        // Messages before a compaction are not included.
        let kept = say(&mut session, "kept");
        let compaction = Body::Compaction {
            summary: "sum".into(),
            first_kept_entry_id: kept,
            tokens_before: 1,
            short_summary: None,
            details: None,
            preserve_data: None,
            from_extension: None,
        };
        session.append(compaction).unwrap();
        say(&mut session, "after it");
        let tail = check(&session, 1 << 20);
        assert_eq!((tail.messages.len(), tail.is_whole), (2, false));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn reads_no_more_than_the_tail() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut session = Session::open(&path, options(folder.path())).unwrap().session;
        say(&mut session, &"a long prompt ".repeat(400_000));
        say(&mut session, "the end");
        let read = || -> u64 {
            let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
            text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
        };
        let (before, empty) = (read(), read());
        let (tail, after) = (tail(&path, 10_000).unwrap(), read());
        assert_eq!(tail.messages.len(), 2);
        let overhead = empty - before;
        assert!(after - empty <= 10_000 + 2 * overhead, "{} bytes were read", after - empty);
    }
}
