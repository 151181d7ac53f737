//! Sessions: each is a conversation, stored as a tree in one append-only file of JSON lines.
//!
//! | module | contents |
//! |---|---|
//! | `entry` | the lines: header and entries, parsing and formatting |
//! | `index` | the entries of a file and their offsets; only parses their heads |
//! | `scan` | the head of a line without a parser |
//! | `parallel_map` | work shared by a few threads |
//! | `read_at` | reading a file at an offset |
//! | `tree` | parents, children, leaf, path; no file access |
//! | `migrate` | converts older versions and other formats to version 3 |
//! | `writer` | appending: lock, torn lines, fsync |
//! | `depth` | values that are nested too deeply to be parsed |
//! | `whole_characters` | JSON of programs that cut characters into halves |
//! | `blob` | content that is too large for a line: images in separate files, long strings cut |
//! | `context` | the messages that the model sees at a leaf |
//! | `rule_history` | the rules that a branch has shown to the model, and how long ago |
//! | `store` | a session: all of the above |
//! | `places` | the entries of a path one by one, for views of any session |
//! | `tail` | the end of a path, from the end of its file |
//! | `open` | opening files: locked, older, foreign, read-only |
//! | `copy` | branch, fork, move: creates sessions from sessions |
//! | `paths` | names of folders and files |
//! | `gc` | images that no session refers to |
//! | `list` | the sessions of a directory, and resolving a name to one of them |
//! | `artifacts` | files of a session with long output |
//! | `history` | the prompts of the user in all sessions |
//! | `secrets` | values that are hidden from providers and session files |
//! | `files` | regular files that are read without blocking and replaced atomically |
//! | `links` | texts of a project that are links to files outside it |
//! | `clock` | times and random ids, fixed in tests |
//!
//! The entries stay on disk: the tree stores a few words for each and reads an entry by its offset on demand, so that a
//! session of a gigabyte needs only the memory of its live context.

pub mod artifacts;
mod blob;
pub mod clock;
mod context;
mod copy;
mod custom;
mod depth;
mod entry;
pub mod files;
mod gc;
pub mod history;
mod index;
pub mod links;
mod list;
mod migrate;
mod open;
mod parallel_map;
mod paths;
mod places;
mod read_at;
mod remove;
mod rule_history;
mod scan;
pub mod secrets;
mod store;
mod tail;
mod tree;
mod view;
mod whole_characters;
mod writer;

#[cfg(test)]
mod pi_tests;
#[cfg(test)]
mod tests;

pub use blob::{Blobs, LARGEST_STRING};
pub use context::{Context, Defaults};
pub use copy::{PathEnd, Target};
pub use custom::MENTION;
pub use entry::{Body, Entry, Header};
pub use gc::collect;
pub use list::{KnownSessions, ResolvedSession, Scope, SessionSummary, latest, list, resolve};
pub use open::OpenedSession;
pub use paths::{breadcrumb_file, children_of, file_name, folder_name};
pub use places::{EntryPlace, may_have_word};
pub use remove::remove;
pub use store::{Mask, Session, SessionOptions, USER_TODO};
pub use tail::{Tail, tail};
pub use writer::Sync;
