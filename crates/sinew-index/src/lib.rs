//! Tells which files could hold a match of a pattern, so that a search opens those alone.
//!
//! Text is cut into [documents] of whole lines, at most 16 KiB each. A document is known by its *grams*: every three
//! bytes that follow each other in it, A–Z made small. A pattern becomes a [`Plan`], a formula over grams that the grams of
//! every matching text satisfy. Whatever the plan cannot rule out is searched by the engine; the index only leaves files out.
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
//! An [`Index`] keeps a folder in view: its tree, what the system announces of it, and parts that know the grams of its files. Each
//! [`Index::listing`] begins with a barrier, the moment from which on the answer is current, and says of each file whether a
//! plan leaves it out. A file is left out only if it is as it was when its grams were read.
//!
//! The crate knows no engine and no globs; it has no statics, and starts a thread only to read in the background.

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
mod changes;
#[cfg(target_os = "linux")]
mod evict;
#[cfg(target_os = "linux")]
mod held;
#[cfg(target_os = "linux")]
mod index;
#[cfg(target_os = "linux")]
mod kind;
#[cfg(target_os = "linux")]
mod listed;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod part;
#[cfg(target_os = "linux")]
mod store;
#[cfg(target_os = "linux")]
mod surprises;
#[cfg(target_os = "linux")]
mod touched;

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
