//! Sessions: one conversation, one append-only file of JSON lines that holds a tree.
//!
//! | module | knows |
//! |---|---|
//! | `entry` | the lines: header and entries, as read and as written |
//! | `index` | which entries a file has and where; reads no more of them than their heads |
//! | `scan` | the head of a line without a parser |
//! | `parallel_map` | work that a few threads share |
//! | `read_at` | reading a file at an offset |
//! | `tree` | parents, children, leaf, path; no file |
//! | `migrate` | older versions and foreign shapes, to version 3 |
//! | `writer` | appending: lock, torn lines, fsync |
//! | `depth` | values that nest too deep to be read |
//! | `blob` | content too large for a line: pictures beside the sessions, long strings cut |
//! | `context` | the messages that the model sees from a leaf |
//! | `rule_history` | the rules that a branch has shown to the model, and how long ago |
//! | `store` | a session: all of the above |
//! | `places` | the entries of a path one by one, for a view of any session |
//! | `tail` | the end of a path, from the end of its file |
//! | `open` | files as they are found: locked, older, foreign, read-only |
//! | `copy` | branch, fork, move: sessions made from sessions |
//! | `paths` | names of folders and files |
//! | `gc` | pictures that no session names |
//! | `list` | the sessions of a folder, and which one a user means |
//! | `artifacts` | files beside a session that hold long output |
//! | `history` | the prompts of the user, of all sessions |
//! | `secrets` | values that neither a provider nor a session file gets to see |
//! | `files` | plain files that are read without waiting and replaced whole |
//! | `links` | texts of a project that are links out of it |
//! | `clock` | times and random ids, fixed in tests |
//!
//! The entries stay on disk: the tree holds a few words for each and reads an entry by its offset when it is
//! asked for, so that a session of a gigabyte opens in the memory of its live context.

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
pub use list::{Found, KnownSessions, Listed, Scope, latest, list, resolve};
pub use open::Opened;
pub use paths::{breadcrumb_file, file_name, folder_name};
pub use places::{EntryPlace, may_have_word};
pub use remove::remove;
pub use store::{Mask, Session, SessionOptions, USER_TODO};
pub use tail::{Tail, tail};
pub use writer::Sync;
