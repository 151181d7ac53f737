//! Checkpoints of a directory: remember it, compare two moments, restore it.
//!
//! [`Checkpoints::take`] records names, sizes, times and permissions of everything below a directory and keeps the contents
//! of files in a store outside of it. [`Checkpoints::changes`] compares two checkpoints. [`Checkpoints::plan`] says what a
//! restore would do, and [`Checkpoints::restore`] does it: it never touches what somebody else changed meanwhile, unless
//! forced, and never the data of a repository.
//!
//! Checkpoints need a Unix system; elsewhere the crate is empty.
#![cfg(unix)]

mod answer;
mod attributes;
mod changes;
mod checkpoints;
mod codec;
mod contents;
mod directory;
mod fault;
mod gc;
mod git_index;
mod git_objects;
mod journal;
mod manifest;
mod options;
mod pack;
mod plan;
mod repository;
mod restore;
mod row;
mod scan;
mod stage;
mod state;
mod store;

#[cfg(test)]
mod tests;

pub use answer::{
    Action, Change, ChangeKind, Changes, Checkpoint, Collected, Coverage, EntryKind, Plan, PlanEntry, RepositoryMove,
    Restored, Usage,
};
pub use checkpoints::Checkpoints;
pub use manifest::CheckpointKind;
pub use options::{Force, Limits, OpenOptions, RestoreOptions, TakeOptions};
