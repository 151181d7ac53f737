//! The editor that a session runs in: its unsaved texts count, and it hears of what tools write.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// A larger file is read and written on the disk.
const LARGEST: u64 = 1 << 20;

/// The editor that a session runs in. It is asked on threads that may wait.
pub trait Editor: Send + Sync {
    /// The text that the editor has for a file, with changes that are not saved. None: the disk counts.
    fn read(&self, path: &Path) -> Option<String>;

    /// Takes the new text of a file in place of the disk. False: the disk is to be written.
    fn write(&self, path: &Path, text: &str) -> bool;

    /// A tool has replaced `old` by `new`; without `old` the file is new.
    fn changed(&self, path: &Path, old: Option<&[u8]>, new: &[u8]);
}

/// The content that a file has in the editor, where it differs from the one on the disk.
pub(crate) fn unsaved(editor: Option<&dyn Editor>, path: &Path, disk: &[u8]) -> Option<Vec<u8>> {
    let editor = editor.filter(|_| disk.len() as u64 <= LARGEST)?;
    // What is no text an editor shows in its own way.
    let on_disk = std::str::from_utf8(disk).ok().filter(|text| !text.contains('\0'))?;
    let text = editor.read(path)?;
    let plain = |text: &str| text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let (before, now) = (plain(on_disk), plain(&text));
    if before == now {
        return None;
    }
    // Editors keep line ends and marks of their own: the file keeps those that it has.
    let (all, windows) = (on_disk.matches('\n').count(), on_disk.matches("\r\n").count());
    let now = if windows * 2 > all { now.replace('\n', "\r\n") } else { now };
    let mark = if on_disk.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    Some(format!("{mark}{now}").into_bytes())
}

/// The file that is to be read in the place of `file`: one with the text of the editor, or the same.
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

/// Hands a new content to the editor; false where the disk is to be written.
pub(crate) fn takes(editor: Option<&dyn Editor>, path: &Path, content: &[u8]) -> bool {
    let Some(editor) = editor.filter(|_| content.len() as u64 <= LARGEST) else { return false };
    // An editor that says yes and writes nothing must not lose the text.
    std::str::from_utf8(content).is_ok_and(|text| editor.write(path, text)) && path.is_file()
}
