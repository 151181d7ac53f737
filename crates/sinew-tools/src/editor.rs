//! The editor that hosts a session: tools use its unsaved texts and report their writes to it.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Larger files are read and written on disk.
const LARGEST: u64 = 1 << 20;

/// The editor that hosts a session. Its methods are called on threads that may block.
pub trait Editor: Send + Sync {
    /// Returns the editor's text of a file, including unsaved changes. `None` means that the file on disk is current.
    fn read(&self, path: &Path) -> Option<String>;

    /// Writes the new text of a file through the editor. Returns false if the file has to be written on disk.
    fn write(&self, path: &Path, text: &str) -> bool;

    /// Called after a tool replaced `old` by `new`; `old` is `None` for a new file.
    fn changed(&self, path: &Path, old: Option<&[u8]>, new: &[u8]);

    /// Called after an undo changed or deleted files on disk.
    fn restored(&self, paths: &[PathBuf]);
}

/// Returns the editor's content of a file if it differs from the content on disk.
pub(crate) fn unsaved(editor: Option<&dyn Editor>, path: &Path, disk: &[u8]) -> Option<Vec<u8>> {
    let editor = editor.filter(|_| disk.len() as u64 <= LARGEST)?;
    // Editors have their own views for content that is not text.
    let on_disk = std::str::from_utf8(disk).ok().filter(|text| !text.contains('\0'))?;
    let text = editor.read(path)?;
    let plain = |text: &str| text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let (before, now) = (plain(on_disk), plain(&text));
    if before == now {
        return None;
    }
    // Editors use their own line ends and byte order marks; the ones of the file are kept.
    let (all, windows) = (on_disk.matches('\n').count(), on_disk.matches("\r\n").count());
    let now = if windows * 2 > all { now.replace('\n', "\r\n") } else { now };
    let mark = if on_disk.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    Some(format!("{mark}{now}").into_bytes())
}

/// Returns the file to read instead of `file`: one with the editor's text, or the same file.
pub(crate) fn opened(editor: Option<&dyn Editor>, path: &Path, mut file: File) -> io::Result<File> {
    if editor.is_none() || file.metadata()?.len() > LARGEST {
        return Ok(file);
    }
    let mut disk = Vec::new();
    (&file).take(LARGEST + 1).read_to_end(&mut disk)?;
    file.rewind()?;
    let Some(content) = unsaved(editor, path, &disk) else { return Ok(file) };
    let mut edited = tempfile::tempfile()?;
    edited.write_all(&content)?;
    edited.rewind()?;
    Ok(edited)
}

/// Passes new content to the editor; returns false if the file has to be written on disk.
pub(crate) fn takes(editor: Option<&dyn Editor>, path: &Path, content: &[u8]) -> bool {
    let Some(editor) = editor.filter(|_| content.len() as u64 <= LARGEST) else { return false };
    // If an editor accepts the text but writes nothing, the text must not be lost.
    std::str::from_utf8(content).is_ok_and(|text| editor.write(path, text)) && path.is_file()
}
