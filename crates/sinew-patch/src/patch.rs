//! A parsed patch.

use crate::chunks::Chunk;
use crate::file_name::FileName;
use crate::hunk::Hunk;

/// A parsed patch, which borrows from its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch<'t> {
    /// The changes, in the order of the text; never empty.
    pub files: Vec<FilePatch<'t>>,
    /// The form of the text.
    pub form: Form,
}

/// The form of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A unified diff.
    Unified,
    /// `*** Begin Patch` … `*** End Patch`.
    BeginPatch,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch<'t> {
    /// The operation on the file.
    pub operation: Operation,
    /// The file after the change; the file before it for a deletion.
    pub path: FileName,
    /// The file that is renamed or copied; `None` for every other operation.
    pub from: Option<FileName>,
    /// The file mode that the patch expects; `None` if it does not specify one.
    pub old_mode: Option<FileMode>,
    /// The file mode after the change; `None` keeps the mode.
    pub new_mode: Option<FileMode>,
    /// The change of the content.
    pub edit: Edit<'t>,
    /// The line of the patch where this file begins, from 1.
    pub line: usize,
}

/// The operation of a patch on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Creates the file. In a unified diff it must not exist; the Begin Patch form replaces an existing file.
    Create,
    /// Changes the content or the mode of a file.
    Update,
    /// Changes the content of a file, or creates it if it is missing: a diff without `/dev/null` and without old lines.
    UpdateOrCreate,
    /// Deletes the file.
    Delete,
    /// Changes and renames a file. In a unified diff the new name must not exist; the Begin Patch form replaces an
    /// existing file.
    Rename,
    /// Copies a file and changes the copy.
    Copy,
}

/// The file modes that git supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// `100644`.
    Regular,
    /// `100755`.
    Executable,
    /// `120000`: a symbolic link, whose content is its target.
    Link,
}

/// The change of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit<'t> {
    /// The hunks of a unified diff.
    Hunks(Vec<Hunk<'t>>),
    /// The chunks of an `*** Update File`.
    Chunks(Vec<Chunk<'t>>),
    /// The complete content, from an `*** Add File`.
    Content(Vec<u8>),
}
