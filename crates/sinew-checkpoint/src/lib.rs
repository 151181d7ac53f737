//! Checkpoints of a directory: record its state, compare two states, restore one.
//!
//! [`Checkpoints::take`] records names, sizes, times and permissions of everything below a directory, and stores the
//! contents of files outside of it. [`Checkpoints::changes`] compares two checkpoints. [`Checkpoints::plan`] returns
//! what a restore would do, and [`Checkpoints::restore`] does it. A restore never changes entries that others changed
//! meanwhile, unless forced, and never the data of a repository.
//!
//! [`Directory`], [`BlobReader`] and [`index_entries`] are the parts that isolated views need too: directories as
//! descriptors, and git's objects and index without git.
//!
//! Checkpoints need a Unix system; elsewhere [`Checkpoints::open`] fails with `Unsupported`.

mod answer;
#[cfg(unix)]
mod attributes;
#[cfg(unix)]
mod changes;
#[cfg(unix)]
mod checkpoints;
#[cfg(unix)]
mod codec;
#[cfg(unix)]
mod contents;
#[cfg(unix)]
mod directory;
#[cfg(unix)]
mod fault;
#[cfg(unix)]
mod gc;
#[cfg(unix)]
mod git_clean;
#[cfg(unix)]
mod git_index;
#[cfg(unix)]
mod git_objects;
#[cfg(unix)]
mod git_pack;
#[cfg(unix)]
mod journal;
#[cfg(unix)]
mod manifest;
mod options;
#[cfg(unix)]
mod pack;
#[cfg(unix)]
mod plan;
#[cfg(unix)]
mod plan_repository;
#[cfg(unix)]
mod repository;
#[cfg(unix)]
mod restore;
#[cfg(unix)]
mod restore_repository;
#[cfg(unix)]
mod row;
#[cfg(unix)]
mod scan;
#[cfg(unix)]
mod spans;
#[cfg(unix)]
mod stage;
#[cfg(unix)]
mod state;
#[cfg(unix)]
mod store;
#[cfg(unix)]
mod stretches;
#[cfg(not(unix))]
mod unsupported;

#[cfg(unix)]
#[cfg(test)]
mod tests;

pub use answer::{
    Action, Change, ChangeKind, Changes, Checkpoint, CollectResult, ContentVisitor, Coverage, EntryKind, Plan,
    PlanEntry, RepositoryMove, RestoreResult, Usage,
};
#[cfg(unix)]
pub use checkpoints::Checkpoints;
#[cfg(unix)]
pub use directory::Directory;
#[cfg(unix)]
pub use git_index::{IndexEntry, blob_id, entries as index_entries};
#[cfg(unix)]
pub use git_objects::BlobReader;
pub use options::{CheckpointKind, Force, GitUser, Limits, OpenOptions, RestoreOptions, TakeOptions};
#[cfg(unix)]
pub use row::GitId;
#[cfg(not(unix))]
pub use unsupported::Checkpoints;
