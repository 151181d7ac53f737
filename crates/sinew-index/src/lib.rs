//! Finds out which files could contain a match of a pattern, so that a search only opens those.
//!
//! Text is split into [documents] of complete lines, at most 16 KiB each. The index stores the *grams* of each
//! document: every three consecutive bytes, with A–Z in lower case. A pattern is converted to a [`Plan`], a formula
//! over grams that every matching text satisfies. The engine searches every file that the plan cannot rule out, so the
//! index never changes the result.
//!
//! ```
//! use sinew_index::{Grams, Plan};
//!
//! let pattern = regex_syntax::parse(r"fn \w+_test\(").unwrap();
//! let plan = Plan::of(&pattern);
//!
//! let mut grams = Grams::new();
//! assert!(plan.admits(grams.of(b"pub fn first_test() {}\n")));
//! assert!(!plan.admits(grams.of(b"pub fn first() {}\n")));
//! ```
//!
//! An [`Index`] watches a directory: it has its tree, the events of the system, and segments with the grams of its
//! files. Each [`Index::listing`] begins with a barrier, which makes the result current, and reports for each file
//! whether a plan rules it out. A file is only ruled out if it has not changed since its grams were read.
//!
//! The crate depends on no engine and no globs. It has no statics, and only starts a thread to build in the background.

mod documents;
mod gram;
mod list;
mod lookup;
mod page;
mod plan;
mod postings;
mod progress;
mod rice;
mod segment;
mod status;
mod storage;
mod varint;

#[cfg(target_os = "linux")]
mod build;
#[cfg(target_os = "linux")]
mod changed_paths;
#[cfg(target_os = "linux")]
mod changes;
#[cfg(target_os = "linux")]
mod evict;
#[cfg(target_os = "linux")]
mod index;
#[cfg(target_os = "linux")]
mod indexed_root;
#[cfg(target_os = "linux")]
mod kind;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod part;
#[cfg(target_os = "linux")]
mod stamp_reader;
#[cfg(target_os = "linux")]
mod store;
#[cfg(target_os = "linux")]
mod unreported_changes;

#[cfg(target_os = "linux")]
pub use changes::Changes;
pub use documents::{Document, Documents, documents};
pub use gram::{Gram, GramSet, Grams};
#[cfg(target_os = "linux")]
pub use index::{Index, Listing};
pub use list::IdSet;
pub use lookup::{Candidates, Reach};
pub use page::ReadAt;
#[cfg(target_os = "linux")]
pub use part::RowState;
pub use plan::Plan;
pub use postings::{Postings, PostingsBuilder};
pub use progress::{BuildPhase, BuildProgress};
pub use segment::{FileKind, FilePath, FileRecord, Segment, SegmentFiles, SegmentId};
#[cfg(target_os = "linux")]
pub use sinew_watch::WatchQueue;
pub use status::{BuildPolicy, Freshness, IndexCounts, IndexOptions, IndexState, IndexStatus, StoredIndex};
