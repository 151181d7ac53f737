//! Attaches files that a message mentions with `@path`.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::Path;

use sha2::{Digest, Sha256};
use sinew::base::{CancelToken, utf16_file_text};
use sinew_llm::message::{AgentMessage, Block, FileMention, ImageBlock, MentionedFile};
use sinew_session::files::{open_plain, opened_path, size_text};
use sinew_tools::tool::{Call, ToolError, Updates};
use sinew_tools::{Access, Host, ImageSettings, folder_listing, picture_block};

use super::folders::ResourceFolders;
use crate::plain_text::is_binary;

/// The limits of an attached text, equal to those of the tool `read`.
const LINES: usize = 2_000;
const BYTES: usize = 50 * 1024;
/// The maximum number of bytes in which lines are counted.
const COUNTED: u64 = 64 << 20;
/// Larger images are not opened.
const PICTURE: u64 = 20 << 20;
/// The maximum number of files attached to one message.
const FILES: usize = 100;
/// The maximum number of file names in a warning.
const NAMED: usize = 5;
/// The maximum number of folder entries that are listed.
const ENTRIES: usize = 500;

/// Attaches files to messages.
#[derive(Clone)]
pub struct Attacher<'a> {
    /// The folders that relative paths start from.
    pub folders: &'a ResourceFolders,
    /// The image settings.
    pub images: ImageSettings,
    /// Checked before each file, while lines are counted and while images are resized.
    pub cancel: CancelToken,
    /// The tools of the session, which treat attached files as read. `None` if no tool writes files.
    pub host: Option<&'a Host>,
}

/// The attached files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttachedFiles {
    /// The files in the order in which they were mentioned, each one once.
    pub files: Vec<MentionedFile>,
    /// Warnings about files that were not attached; at most one sentence.
    pub warnings: Vec<String>,
}

impl AttachedFiles {
    /// Returns the message with the files; `None` if there are none.
    #[must_use]
    pub fn message(self, timestamp: i64) -> Option<AgentMessage> {
        let files = self.files;
        (!files.is_empty()).then_some(AgentMessage::FileMention(FileMention { files, timestamp }))
    }
}

impl Attacher<'_> {
    /// Attaches the files that a text mentions. The text itself is not changed.
    #[must_use]
    pub fn mentions(&self, text: &str) -> AttachedFiles {
        self.attach(&names(text).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Attaches files and folders by name. Punctuation at the end of a name is ignored, unless a file has that name.
    #[must_use]
    pub fn attach(&self, names: &[&str]) -> AttachedFiles {
        let mut attached = AttachedFiles::default();
        let mut failed: Vec<String> = Vec::new();
        let mut fail = |what: String| {
            if failed.len() <= NAMED {
                failed.push(what);
            }
        };
        for name in names {
            let bare = name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '>']);
            let exists = |name: &str| self.folders.resolve(name).symlink_metadata().is_ok();
            let name = if !exists(name) && !bare.is_empty() && exists(bare) { bare } else { name };
            if attached.files.iter().any(|file| file.path == name) {
                continue;
            }
            if attached.files.len() == FILES {
                fail(format!("@{name}: at most {FILES} files can be attached to a message"));
                break;
            }
            match self.one(name) {
                Ok(file) => attached.files.push(file),
                Err(reason) => fail(format!("@{name}: {reason}")),
            }
        }
        if failed.len() > NAMED {
            failed[NAMED] = "…".into();
        }
        if !failed.is_empty() {
            attached.warnings.push(format!("not attached: {}", failed.join("; ")));
        }
        attached
    }

    /// Resizes an image to the limits of providers, as attached images are.
    ///
    /// # Errors
    /// Returns an error if the image cannot be decoded or images are disabled.
    pub fn image(&self, bytes: &[u8]) -> Result<Block, String> {
        if self.images.block_images {
            return Err("images are disabled (images.blockImages)".into());
        }
        if bytes.len() as u64 > PICTURE {
            return Err(format!("{} is more than 20 MB", size_text(bytes.len() as u64)));
        }
        match picture_block(bytes, self.images.auto_resize, &self.cancel) {
            Ok((_, Some(block))) => Ok(block),
            Ok((reason, None)) => Err(reason),
            Err(ToolError::Failed(reason)) => Err(reason),
            Err(ToolError::Aborted) => Err("it was cancelled".into()),
        }
    }

    /// Attaches one file or folder.
    ///
    /// # Errors
    /// Returns the reason if it cannot be read, or is neither text nor an image.
    pub fn one(&self, name: &str) -> Result<MentionedFile, String> {
        if self.cancel.is_cancelled() {
            return Err("aborted".into());
        }
        let path = self.folders.resolve(name);
        let failed = |error: std::io::Error| error.to_string();
        let facts = fs::metadata(&path).map_err(failed)?;
        if facts.is_dir() {
            return self.folder(&path, name);
        }
        if !facts.is_file() {
            return Err("it is a pipe, a socket or a device".into());
        }
        let mut head = Vec::new();
        let mut file = open_plain(&path).map_err(failed)?;
        self.access().check_opened(&file, &path)?;
        let real = opened_path(&file, &path).map_err(failed)?;
        // Enough for every text that is shown, and for detecting the file type.
        file.by_ref().take(BYTES as u64 + 8).read_to_end(&mut head).map_err(failed)?;
        if sinew::image::SourceFormat::of(&head).is_some() {
            file.rewind().map_err(failed)?;
            return self.picture(file, name, facts.len());
        }
        let wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
        if wide && facts.len() <= PICTURE {
            file.read_to_end(&mut head).map_err(failed)?;
            let text = utf16_file_text(&head).unwrap_or_default();
            let (attached, whole) = text_file(name, &text, text.lines().count() as u64, false);
            if let Some(host) = self.host {
                // The attached lines are decoded and differ from the bytes on disk, so only the hash of the whole file
                // is recorded.
                host.mentioned(&real, Some(Sha256::digest(&head).into()), whole, &[]);
            }
            return Ok(attached);
        }
        if is_binary(&head) {
            return Err("it is neither text nor an image".into());
        }
        let ReadFacts { lines, whole, hash } = count_lines(&head, file, &self.cancel).map_err(failed)?;
        let text = String::from_utf8_lossy(&head[..head.len() - half_character(&head)]).into_owned();
        let (attached, all) = text_file(name, &text, lines, !whole);
        if let Some(host) = self.host {
            host.mentioned(&real, hash, all, attached_lines(&head, &attached, all));
        }
        Ok(attached)
    }

    /// Returns the access checks for attached files.
    fn access(&self) -> Access {
        self.host.map(|host| host.attachment_access(&self.folders.cwd)).unwrap_or_default()
    }

    fn folder(&self, path: &Path, name: &str) -> Result<MentionedFile, String> {
        let call = Call {
            id: String::new(),
            arguments: serde_json::Value::Null,
            cwd: self.folders.cwd.clone(),
            session: String::new(),
            cancel: self.cancel.clone(),
            updates: Updates::none(),
        };
        match folder_listing(path, name, ENTRIES, &call, &self.access()) {
            Ok(output) => {
                let content = sinew_llm::message::text_of(&output.content);
                let line_count = content.lines().count() as u64;
                Ok(MentionedFile { path: name.into(), content, line_count, image: None })
            }
            Err(ToolError::Failed(reason)) => Err(reason),
            Err(ToolError::Aborted) => Err("aborted".into()),
        }
    }

    fn picture(&self, file: File, name: &str, size: u64) -> Result<MentionedFile, String> {
        if self.images.block_images {
            return Err("images are disabled (images.blockImages)".into());
        }
        if size > PICTURE {
            return Err(format!("the image is larger than 20 MB ({})", size_text(size)));
        }
        let mut bytes = Vec::new();
        file.take(PICTURE).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        let (words, block) = match picture_block(&bytes, self.images.auto_resize, &self.cancel) {
            Ok(made) => made,
            Err(ToolError::Failed(reason)) => return Err(reason),
            Err(ToolError::Aborted) => return Err("aborted".into()),
        };
        let Some(Block::Image(ImageBlock { data, mime_type })) = block else {
            return Err(format!("an image {words}"));
        };
        let image = Some(ImageBlock { data, mime_type });
        Ok(MentionedFile { path: name.into(), content: words, line_count: 0, image })
    }
}

/// Formats a path so that it is recognized as a mention when it follows a space.
#[must_use]
pub fn mention(path: &str) -> String {
    // Two `@` signs are not a mention.
    let path = &if path.starts_with('@') { format!("./{path}") } else { path.to_string() };
    let is_plain = !path.contains(char::is_whitespace) && !path.starts_with(['"', '\'']);
    match ['"', '\''].into_iter().find(|quote| !path.contains(*quote)) {
        Some(quote) if !is_plain => format!("@{quote}{path}{quote}"),
        _ => format!("@{path}"),
    }
}

/// Returns the paths that a text mentions: after an `@` at the start or after whitespace, up to the next whitespace or
/// in quotes.
fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut after_blank = true;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == '@' && after_blank {
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
            let name = match quote {
                Some(quote) => {
                    rest[1..].split(['\n', quote]).next().filter(|name| rest[1 + name.len()..].starts_with(quote))
                }
                None => rest.split(char::is_whitespace).next(),
            };
            // A single `@` and `@@` are not mentions.
            if let Some(name) = name.filter(|name| !name.is_empty() && !name.starts_with('@')) {
                names.push(name.to_string());
                rest = &rest[name.len() + 2 * usize::from(quote.is_some())..];
                after_blank = false;
                continue;
            }
        }
        after_blank = c.is_whitespace();
    }
    names
}

/// The facts of a file that was read completely.
struct ReadFacts {
    lines: u64,
    /// Whether `head` is the whole file.
    whole: bool,
    /// The hash of the content; `None` if the file is too large to be read completely.
    hash: Option<[u8; 32]>,
}

fn count_lines(head: &[u8], file: File, cancel: &CancelToken) -> std::io::Result<ReadFacts> {
    let mut count = memchr::memchr_iter(b'\n', head).count() as u64;
    let mut last = head.last().copied();
    let mut digest = Sha256::new_with_prefix(head);
    let (mut whole, mut left) = (true, COUNTED);
    let mut rest = file.take(COUNTED + 1);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if cancel.is_cancelled() {
            return Err(std::io::Error::new(std::io::ErrorKind::Interrupted, "aborted"));
        }
        let read = rest.read(&mut buffer)?;
        let Some(end) = read.checked_sub(1) else { break };
        whole = false;
        count += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
        digest.update(&buffer[..read]);
        left = left.saturating_sub(read as u64);
        last = Some(buffer[end]);
    }
    let lines = count + u64::from(last.is_some_and(|last| last != b'\n'));
    Ok(ReadFacts { lines, whole, hash: (left > 0).then(|| digest.finalize().into()) })
}

/// Returns the attached lines of the file, byte for byte; empty if the first one is too long.
fn attached_lines<'a>(head: &'a [u8], attached: &MentionedFile, all: bool) -> &'a [u8] {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    // A truncated text ends with a line that says so.
    let lines = attached.content.lines().count() - usize::from(!all);
    let mut ends = memchr::memchr_iter(b'\n', head).map(|at| at + 1);
    match lines.checked_sub(1).map(|last| ends.nth(last)) {
        None => &[],
        Some(Some(end)) => &head[..end],
        // The last line of a file may have no line break; a truncated line has none either.
        Some(None) if all => head,
        Some(None) => &[],
    }
}

/// Returns the number of bytes at the end of `bytes` that are an incomplete character.
fn half_character(bytes: &[u8]) -> usize {
    let back = bytes.iter().rev().take(3).position(|byte| *byte & 0xc0 != 0x80);
    let Some(back) = back.map(|at| at + 1) else { return 0 };
    let long = match bytes[bytes.len() - back] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
        _ => 1,
    };
    if long > back { back } else { 0 }
}

/// Returns the first lines of a text, or the start of the first line if it is too long. `more` says that the file
/// continues after `text`. The flag is true if all of the file is attached.
fn text_file(name: &str, text: &str, line_count: u64, more: bool) -> (MentionedFile, bool) {
    let mut end = 0;
    for line in text.split_inclusive('\n').take(LINES) {
        if end + line.len() > BYTES {
            break;
        }
        end += line.len();
    }
    // A line that ends where reading stopped may be incomplete.
    if more && end == text.len() && !text.ends_with('\n') {
        end = text.rfind('\n').map_or(0, |at| at + 1);
    }
    if end == 0 {
        end = text.floor_char_boundary(BYTES.min(text.len()));
    }
    let mut content = text[..end].to_string();
    let all = !more && end == text.len();
    if !all {
        let shown = content.lines().count();
        if !content.ends_with('\n') {
            content.push('\n');
        }
        content.push_str(&format!("[{shown} of {line_count} lines are attached; read the file for the rest]\n"));
    }
    (MentionedFile { path: name.into(), content, line_count, image: None }, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        assert_eq!(names(text), expect);
    }

    #[test]
    fn formatted_mentions_are_recognized() {
        for path in ["a.rs", "/a b/ä.rs", "a\tb", "it's", "it's so", "\"a\"", "'a", "a \"b\""] {
            check(&mention(path), &[path]);
            check(&format!("see {}\nthere", mention(path)), &[path]);
        }
        check(&mention("@scope/a"), &["./@scope/a"]);
    }

    #[test]
    fn mentions_are_at_the_start_or_after_a_space() {
        check("@a.rs", &["a.rs"]);
        check("look at @src/a.rs, and\n@b.rs", &["src/a.rs,", "b.rs"]);
        check("me@example.org (@x) a@b", &[]);
        check("@ @@x @", &[]);
        check("@é@b", &["é@b"]);
    }

    #[test]
    fn quoted_mentions_can_contain_spaces() {
        check("@\"a b.rs\" and @'c d'.", &["a b.rs", "c d"]);
        check("@\"never closed\n\"", &[]);
        check("@\"\" @''", &[]);
    }

    #[test]
    fn truncation_splits_no_character() {
        let whole = "añ漢😀".as_bytes();
        for end in 0..=whole.len() {
            let part = &whole[..end - half_character(&whole[..end])];
            assert!(std::str::from_utf8(part).is_ok(), "{end}");
            assert!(end - part.len() < 4);
        }
    }
}
