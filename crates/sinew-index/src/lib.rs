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
//! The crate knows no engine, no rows and no globs; it reads no files, has no statics and starts no threads.

mod documents;
mod gram;
mod list;
mod lookup;
mod page;
mod plan;
mod postings;
mod rice;
mod segment;
mod varint;

pub use documents::{Document, Documents, documents};
pub use gram::{Gram, GramSet, Grams};
pub use list::IdSet;
pub use lookup::Reach;
pub use page::ReadAt;
pub use plan::Plan;
pub use postings::{Postings, PostingsBuilder};
pub use segment::{FileKind, FileRecord, Segment, SegmentId};
