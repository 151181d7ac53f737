//! Content that is too large for a line: images are stored next to the sessions, named by the hash of their content,
//! and long strings are cut.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::depth;

/// The maximum number of characters of a string in a session file; longer ones are cut.
pub const LARGEST_STRING: usize = 500_000;
const CUT: &str = "[Session persistence truncated large content]";
/// The minimum number of base64 characters for which an image gets a separate file.
const SMALLEST_BLOB: usize = 1_024;
const PREFIX: &str = "blob:sha256:";

/// The directory of images that all sessions share.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    /// Uses the directory `blobs` of the agent, which is created for the first image.
    #[must_use]
    pub fn new(folder: PathBuf) -> Blobs {
        Blobs { folder }
    }

    /// Returns the path of a digest.
    fn file(&self, hex: &str) -> PathBuf {
        self.folder.join(hex)
    }

    /// Stores `bytes` and returns their digest. An existing file is not written again.
    fn keep(&self, bytes: &[u8]) -> std::io::Result<String> {
        let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = self.file(&hex);
        if path.exists() {
            return Ok(hex);
        }
        make_private(&self.folder)?;
        let mut part = tempfile::NamedTempFile::new_in(&self.folder)?;
        part.write_all(bytes)?;
        part.as_file().sync_all()?;
        part.persist(&path).map_err(|lost| lost.error)?;
        Ok(hex)
    }

    /// Returns the base64 of an image reference in a session; `None` if the file is missing.
    pub(super) fn base64(&self, reference: &str) -> Option<String> {
        let hex = reference.strip_prefix(PREFIX)?;
        // The digest is a file name, so only hexadecimal digits may be used.
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        fs::read(self.file(hex)).ok().map(|bytes| STANDARD.encode(bytes))
    }

    /// Returns every digest in the directory.
    pub(super) fn all(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.len() == 64)
            .collect()
    }

    /// Deletes the image of a digest.
    pub(super) fn remove(&self, hex: &str) -> std::io::Result<()> {
        fs::remove_file(self.file(hex))
    }
}

/// Creates a directory and its parents, with access for the user only.
pub(super) fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Keys whose strings are removed instead of cut, because a partial signature is invalid.
const SIGNATURES: [&str; 3] = ["signature", "thinkingSignature", "thoughtSignature"];

/// Makes an entry fit into a line: cuts long strings and deep values, and removes data that only streams need. Returns
/// true if anything changed; the live conversation then continues with the stored form, so that a resume finds the
/// same.
pub(super) fn fit(entry: &mut Value) -> bool {
    let mut changed = false;
    for block in blocks(entry).filter(|block| block.get("type").and_then(Value::as_str) == Some("toolCall")) {
        changed |= block.as_object_mut().is_some_and(|call| call.remove("partialJson").is_some());
    }
    cut_in(entry, 1) || changed
}

/// Returns the content blocks of an entry.
fn blocks(entry: &mut Value) -> impl Iterator<Item = &mut Value> {
    let holder = if entry.get("message").is_some() { entry.get_mut("message") } else { Some(entry) };
    holder.and_then(|holder| holder.get_mut("content")?.as_array_mut()).into_iter().flatten()
}

/// Cuts everything that is too long or too deep in a value at `level`.
fn cut_in(value: &mut Value, level: usize) -> bool {
    if depth::cut(value, level) {
        return true;
    }
    match value {
        Value::String(text) => cut(text),
        // Processes all of them, not only those up to the first that is too long.
        Value::Array(items) => items.iter_mut().filter_map(|item| cut_in(item, level + 1).then_some(())).count() > 0,
        Value::Object(object) => {
            // A partial image is invalid.
            let picture = object.contains_key("mimeType");
            let mut changed = false;
            for (key, item) in object.iter_mut() {
                let whole = (picture && key == "data") || SIGNATURES.contains(&key.as_str());
                changed |= !(whole && item.is_string()) && cut_in(item, level + 1);
            }
            // A mentioned file whose content was cut has fewer lines than recorded.
            if changed && object.contains_key("lineCount") {
                let content = object.get("content").and_then(Value::as_str).unwrap_or_default();
                let lines = content.lines().count();
                object.insert("lineCount".into(), lines.into());
            }
            changed
        }
        _ => false,
    }
}

fn cut(text: &mut String) -> bool {
    // A string has at least as many bytes as characters, so most need no counting.
    if text.len() > LARGEST_STRING
        && let Some((at, _)) = text.char_indices().nth(LARGEST_STRING)
        && &text[at..] != CUT
    {
        text.truncate(at);
        text.push_str(CUT);
        return true;
    }
    false
}

/// Moves the large images of an entry to `blobs`. An image that cannot be stored there stays in the line.
pub(super) fn put_away(entry: &mut Value, blobs: &Blobs) {
    each_picture(entry, |picture| away(picture, blobs));
}

/// Replaces the image references of an entry by the images; a reference to a missing one is kept.
pub(super) fn bring_back(entry: &mut Value, blobs: &Blobs) {
    each_picture(entry, |picture| {
        if let Some(Value::String(data)) = picture.get_mut("data")
            && data.starts_with(PREFIX)
            && let Some(found) = blobs.base64(data)
        {
            *data = found;
        }
    });
}

fn each_picture(entry: &mut Value, change: impl Fn(&mut Value)) {
    for block in blocks(entry).filter(|block| block.get("type").and_then(Value::as_str) == Some("image")) {
        change(block);
    }
    let files = entry.get_mut("message").and_then(|message| message.get_mut("files")?.as_array_mut());
    for file in files.into_iter().flatten() {
        if let Some(picture) = file.get_mut("image") {
            change(picture);
        }
    }
}

fn away(picture: &mut Value, blobs: &Blobs) {
    if let Some(Value::String(data)) = picture.get_mut("data")
        && data.len() >= SMALLEST_BLOB
        && let Ok(bytes) = STANDARD.decode(data.as_bytes())
        && let Ok(hex) = blobs.keep(&bytes)
    {
        *data = format!("{PREFIX}{hex}");
    }
}

/// Returns the digests that the text of a session file refers to.
pub(super) fn named(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(PREFIX).filter_map(|(at, _)| text.get(at + PREFIX.len()..at + PREFIX.len() + 64))
}
