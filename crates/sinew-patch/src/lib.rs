//! Patches: parses them, applies them to texts in memory, and applies them to a directory such that either all files
//! change or none.
//!
//! Two forms are supported, which [`Patch::parse`] detects:
//!
//! - **Unified diffs**, with git's extended headers for created, deleted, renamed and copied files and for modes. The
//!   rules are those of `git apply`: a hunk may have moved, but every line of it must match. Binary patches are
//!   rejected.
//! - **The Begin Patch form**, which language models write: `*** Begin Patch`, then `*** Add File: …`, `*** Update
//!   File: …` or `*** Delete File: …`. Its chunks have no line numbers. They may differ from the file in white space
//!   around a line and in typographic quotes and dashes.
//!
//! Except for [`apply_to_directory`], all functions only depend on their arguments.
//!
//! ```
//! use sinew_base::CancelToken;
//! use sinew_patch::{Patch, apply_to_text};
//!
//! let patch = Patch::parse(b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")?;
//! let applied = apply_to_text(&patch.files[0], b"one\ntwo\n", 0, &CancelToken::never())?;
//! assert_eq!(applied.text, b"one\n2\n");
//! # Ok::<(), sinew_base::Error>(())
//! ```

mod chunks;
#[cfg(unix)]
mod commit;
mod directory;
mod envelope;
mod file_name;
mod git_header;
mod hunk;
mod image;
mod limits;
mod lines;
mod nearest;
mod parse;
mod patch;
#[cfg(unix)]
mod plan;
mod quoted;
mod report;
#[cfg(unix)]
mod root;
mod sequence;
mod text;
mod unified;

pub use chunks::{Chunk, ChunkLine};
pub use directory::{ApplyOptions, apply_to_directory};
pub use file_name::FileName;
pub use hunk::{Hunk, HunkLine, LineKind};
pub use limits::{MAX_FILE_BYTES, MAX_PATCH_BYTES};
pub use patch::{Edit, FileMode, FilePatch, Form, Operation, Patch};
pub use report::{Action, AppliedText, FileReport, HunkPlace, PatchReport};
pub use text::apply_to_text;
