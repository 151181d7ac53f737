//! Writes changes as a unified diff with git's headers.

use sinew_base::{CancelToken, Result};
use sinew_checkpoint::EntryKind;
use sinew_diff::{UnifiedOptions, unified_diff};

use crate::merge::{as_bytes, as_text};

/// One side of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    /// The content of a file or the target of a link.
    pub(crate) content: &'a [u8],
}

impl Side<'_> {
    /// Returns the mode as git records it.
    fn git_mode(self) -> &'static str {
        match self.kind {
            EntryKind::Link => "120000",
            _ if self.mode & 0o100 != 0 => "100755",
            _ => "100644",
        }
    }
}

/// Returns a name in quotes, with git's escapes.
pub(crate) fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in name {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend(b"\\n"),
            b'\t' => out.extend(b"\\t"),
            byte if byte.is_ascii_control() || !byte.is_ascii() => out.extend(format!("\\{byte:03o}").into_bytes()),
            byte => out.push(*byte),
        }
    }
    out.push(b'"');
    out
}

/// Returns a name as git writes it in a header, with a prefix.
fn header_name(prefix: &str, path: &[u8]) -> Vec<u8> {
    let name = [prefix.as_bytes(), path].concat();
    let is_plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_control() && !matches!(byte, b'"' | b'\\');
    if name.iter().all(is_plain) { name } else { quoted(&name) }
}

/// Returns the patch of one entry. A change between file and link is a deletion and a creation. With `is_binary`, the
/// patch has a header and no content, which `git apply` refuses.
///
/// # Errors
/// Returns an error if a text has too many lines or if the call is cancelled.
pub(crate) fn entry_patch(
    path: &[u8],
    old: Option<Side<'_>>,
    new: Option<Side<'_>>,
    is_binary: bool,
    cancel: &CancelToken,
) -> Result<Vec<u8>> {
    if let (Some(one), Some(two)) = (old, new)
        && one.kind != two.kind
    {
        let mut out = entry_patch(path, old, None, is_binary, cancel)?;
        out.extend(entry_patch(path, None, new, is_binary, cancel)?);
        return Ok(out);
    }
    let (old_name, new_name) = (header_name("a/", path), header_name("b/", path));
    let mut out = [b"diff --git ", &*old_name, b" ", &new_name, b"\n"].concat();
    let mut line = |text: String| out.extend(text.into_bytes());
    match (old, new) {
        (None, Some(new)) => line(format!("new file mode {}\n", new.git_mode())),
        (Some(old), None) => line(format!("deleted file mode {}\n", old.git_mode())),
        (Some(old), Some(new)) if old.git_mode() != new.git_mode() => {
            line(format!("old mode {}\nnew mode {}\n", old.git_mode(), new.git_mode()));
        }
        (Some(old), Some(new)) if old.content == new.content && !is_binary => return Ok(Vec::new()),
        _ => {}
    }
    let (before, after) = (old.map_or(&[][..], |side| side.content), new.map_or(&[][..], |side| side.content));
    if is_binary {
        let name =
            |name: &[u8], side: Option<Side<'_>>| if side.is_some() { name.to_vec() } else { b"/dev/null".to_vec() };
        out.extend([b"Binary files ", &*name(&old_name, old), b" and ", &name(&new_name, new), b" differ\n"].concat());
        return Ok(out);
    }
    let hunks = unified_diff(&as_text(before), &as_text(after), &UnifiedOptions::default(), cancel)?;
    // The names are written here, because they may not be UTF-8.
    if let Some((_, hunks)) = hunks.split_once("\n+++ b\n") {
        let name = |name: &[u8], side: Option<Side<'_>>| match side {
            None => b"/dev/null".to_vec(),
            // git ends a name with blanks by a tab.
            Some(_) if name.contains(&b' ') && name[0] != b'"' => [name, b"\t"].concat(),
            Some(_) => name.to_vec(),
        };
        out.extend([b"--- ", &*name(&old_name, old), b"\n+++ ", &name(&new_name, new), b"\n"].concat());
        out.extend(as_bytes(hunks));
    }
    Ok(out)
}
