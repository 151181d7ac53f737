//! What is too large for a line: pictures lie beside the sessions under the name of their content, long strings
//! are cut.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Characters of a string in a session file; a longer one is cut.
pub const LARGEST_STRING: usize = 500_000;
const CUT: &str = "[Session persistence truncated large content]";
/// Base64 characters from which on a picture gets a file of its own.
const SMALLEST_BLOB: usize = 1_024;
const PREFIX: &str = "blob:sha256:";

/// The folder of pictures that all sessions share.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    /// The folder `blobs` of the agent; it is made when the first picture is kept.
    #[must_use]
    pub fn new(folder: PathBuf) -> Blobs {
        Blobs { folder }
    }

    /// The file of a digest.
    fn file(&self, hex: &str) -> PathBuf {
        self.folder.join(hex)
    }

    /// Keeps `bytes` and gives their digest. A file that is there already is not written again.
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

    /// The base64 of a picture that a session names; `None` where the file is missing.
    pub(super) fn base64(&self, reference: &str) -> Option<String> {
        let hex = reference.strip_prefix(PREFIX)?;
        // The digest is a file name: nothing but hex digits may reach the disk.
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        fs::read(self.file(hex)).ok().map(|bytes| STANDARD.encode(bytes))
    }

    /// Every digest in the folder.
    pub(super) fn all(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.len() == 64)
            .collect()
    }

    /// Removes the picture of a digest.
    pub(super) fn remove(&self, hex: &str) -> std::io::Result<()> {
        fs::remove_file(self.file(hex))
    }
}

/// Makes a folder and its parents, for the user alone.
pub(super) fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Makes an entry fit for a line: pictures go to `blobs`, long strings are cut, what only streams need is left out.
/// A picture that cannot be kept stays in the line.
pub(super) fn shrink(value: &mut Value, blobs: Option<&Blobs>) {
    match value {
        Value::String(text) => cut(text),
        Value::Array(items) => items.iter_mut().for_each(|item| shrink(item, blobs)),
        Value::Object(object) => {
            object.remove("partialJson");
            // The picture of a mentioned file says nothing of its type.
            let mentioned = object.contains_key("lineCount");
            if object.get("type").and_then(Value::as_str) == Some("image") && keep_picture(object, blobs) {
                return;
            }
            for (key, item) in object.iter_mut() {
                let picture = item.as_object_mut().filter(|_| mentioned && key == "image");
                if !picture.is_some_and(|picture| keep_picture(picture, blobs)) {
                    shrink(item, blobs);
                }
            }
            // A mentioned file whose content was cut has fewer lines than it says.
            if let (Some(content), true) =
                (object.get("content").and_then(Value::as_str), object.contains_key("lineCount"))
                && content.ends_with(CUT)
            {
                let lines = content.lines().count();
                object.insert("lineCount".into(), lines.into());
            }
        }
        _ => {}
    }
}

/// Puts a reference in place of a picture's data, where there is a folder for it. Half a picture is no picture: its
/// data is never cut. False: it is no picture, or there is no such folder.
fn keep_picture(picture: &mut serde_json::Map<String, Value>, blobs: Option<&Blobs>) -> bool {
    let (Some(blobs), Some(Value::String(data))) = (blobs, picture.get_mut("data")) else { return false };
    if data.len() >= SMALLEST_BLOB
        && let Ok(bytes) = STANDARD.decode(data.as_bytes())
        && let Ok(hex) = blobs.keep(&bytes)
    {
        *data = format!("{PREFIX}{hex}");
    }
    true
}

fn cut(text: &mut String) {
    // A string has at least as many bytes as characters: most are settled without counting.
    if text.len() > LARGEST_STRING
        && let Some((at, _)) = text.char_indices().nth(LARGEST_STRING)
    {
        text.truncate(at);
        text.push_str(CUT);
    }
}

/// The digests that a text of a session file names.
pub(super) fn named(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(PREFIX).filter_map(|(at, _)| text.get(at + PREFIX.len()..at + PREFIX.len() + 64))
}
