//! `@path` in a message: the file goes with it.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::Path;

use sha2::{Digest, Sha256};
use sinew::base::CancelToken;
use sinew_llm::message::{AgentMessage, Block, FileMention, ImageBlock, MentionedFile};
use sinew_session::files::{open_plain, opened_path, size_text};
use sinew_tools::tool::{Call, ToolError, Updates};
use sinew_tools::{Access, Host, ImageSettings, folder_listing, picture_block};

use super::folders::ResourceFolders;

/// The attached part of a text file, as the tool `read` would show it.
const LINES: usize = 2_000;
const BYTES: usize = 50 * 1024;
/// Bytes in which lines are counted.
const COUNTED: u64 = 64 << 20;
/// A larger picture is not opened.
const PICTURE: u64 = 20 << 20;
/// Files that go with one message.
const FILES: usize = 100;
/// Names in a warning.
const NAMED: usize = 5;
/// Entries of a folder that are listed.
const ENTRIES: usize = 500;

/// Attaches files.
#[derive(Clone)]
pub struct Attacher<'a> {
    /// The folders at which paths begin.
    pub folders: &'a ResourceFolders,
    /// The treatment of pictures.
    pub images: ImageSettings,
    /// Asked before each file, while lines are counted and while pictures are made smaller.
    pub cancel: CancelToken,
    /// The tools of the session: what is attached counts for them as read. `None`: nobody writes files.
    pub host: Option<&'a Host>,
}

/// The result of mentions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attached {
    /// The files in the order in which they were named, each once.
    pub files: Vec<MentionedFile>,
    /// Warnings of files that were not attached; at most one sentence.
    pub warnings: Vec<String>,
}

impl Attached {
    /// The message, if there is anything to say.
    #[must_use]
    pub fn message(self, timestamp: i64) -> Option<AgentMessage> {
        let files = self.files;
        (!files.is_empty()).then_some(AgentMessage::FileMention(FileMention { files, timestamp }))
    }
}

impl Attacher<'_> {
    /// Attaches what a text mentions. The text itself stays as it is.
    #[must_use]
    pub fn mentions(&self, text: &str) -> Attached {
        self.attach(&names(text).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Attaches files and folders by name. A sign that ends a sentence counts only where a file has it in its name.
    #[must_use]
    pub fn attach(&self, names: &[&str]) -> Attached {
        let mut attached = Attached::default();
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
                fail(format!("@{name}: only {FILES} files go with a message"));
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

    /// Makes a picture fit what providers take, as those that are attached.
    ///
    /// # Errors
    /// It is no picture that can be shown, or pictures are switched off.
    pub fn image(&self, bytes: &[u8]) -> Result<Block, String> {
        if self.images.block_images {
            return Err("pictures are switched off (images.blockImages)".into());
        }
        if bytes.len() as u64 > PICTURE {
            return Err(format!("{} is above 20 MB", size_text(bytes.len() as u64)));
        }
        match picture_block(bytes, self.images.auto_resize, &self.cancel) {
            Ok((_, Some(block))) => Ok(block),
            Ok((reason, None)) => Err(reason),
            Err(ToolError::Failed(reason)) => Err(reason),
            Err(ToolError::Aborted) => Err("it was ended".into()),
        }
    }

    /// Attaches one file or folder.
    ///
    /// # Errors
    /// It cannot be read, or is neither a text nor a picture: the reason.
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
        // Enough for every text that is shown, and for telling what a file is.
        file.by_ref().take(BYTES as u64 + 8).read_to_end(&mut head).map_err(failed)?;
        if sinew::image::SourceFormat::of(&head).is_some() {
            file.rewind().map_err(failed)?;
            return self.picture(file, name, facts.len());
        }
        let wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
        if wide && facts.len() <= PICTURE {
            file.read_to_end(&mut head).map_err(failed)?;
            let text = utf16(&head);
            let (attached, whole) = text_file(name, &text, text.lines().count() as u64, false);
            if let Some(host) = self.host {
                // The lines on disk are other bytes: only the digest of them all speaks for them.
                host.mentioned(&real, Some(Sha256::digest(&head).into()), whole, &[]);
            }
            return Ok(attached);
        }
        if head.iter().take(8_192).any(|byte| *byte == 0) {
            return Err("it is neither a text nor a picture".into());
        }
        let Counted { lines, whole, hash } = count_lines(&head, file, &self.cancel).map_err(failed)?;
        let text = String::from_utf8_lossy(&head[..head.len() - half_character(&head)]).into_owned();
        let (attached, all) = text_file(name, &text, lines, !whole);
        if let Some(host) = self.host {
            host.mentioned(&real, hash, all, attached_lines(&head, &attached, all));
        }
        Ok(attached)
    }

    /// The text about the files that are attached.
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
            return Err("pictures are switched off (images.blockImages)".into());
        }
        if size > PICTURE {
            return Err(format!("the picture has {}, more than 20 MB", size_text(size)));
        }
        let mut bytes = Vec::new();
        file.take(PICTURE).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        let (words, block) = match picture_block(&bytes, self.images.auto_resize, &self.cancel) {
            Ok(made) => made,
            Err(ToolError::Failed(reason)) => return Err(reason),
            Err(ToolError::Aborted) => return Err("aborted".into()),
        };
        let Some(Block::Image(ImageBlock { data, mime_type })) = block else {
            return Err(format!("a picture {words}"));
        };
        let image = Some(ImageBlock { data, mime_type });
        Ok(MentionedFile { path: name.into(), content: words, line_count: 0, image })
    }
}

/// Writes a path so that a text which has it behind a blank mentions it.
#[must_use]
pub fn mention(path: &str) -> String {
    // Two signs mention nothing.
    let path = &if path.starts_with('@') { format!("./{path}") } else { path.to_string() };
    let is_plain = !path.contains(char::is_whitespace) && !path.starts_with(['"', '\'']);
    match ['"', '\''].into_iter().find(|quote| !path.contains(*quote)) {
        Some(quote) if !is_plain => format!("@{quote}{path}{quote}"),
        _ => format!("@{path}"),
    }
}

/// The paths that a text mentions: behind an `@` that stands at the start or after a blank, up to the next blank, or
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
            // A lone sign, and two of them, mention nothing.
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

/// The facts of a file that was read as a whole.
struct Counted {
    lines: u64,
    /// `head` is all of it.
    whole: bool,
    /// Of its content; `None` where it is too large to be looked at whole.
    hash: Option<[u8; 32]>,
}

fn count_lines(head: &[u8], file: File, cancel: &CancelToken) -> std::io::Result<Counted> {
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
    Ok(Counted { lines, whole, hash: (left > 0).then(|| digest.finalize().into()) })
}

/// The lines of the file that are attached, byte for byte; none where the first one is too long.
fn attached_lines<'a>(head: &'a [u8], attached: &MentionedFile, all: bool) -> &'a [u8] {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    // Behind a part stands a line that says so.
    let lines = attached.content.lines().count() - usize::from(!all);
    let mut ends = memchr::memchr_iter(b'\n', head).map(|at| at + 1);
    match lines.checked_sub(1).map(|last| ends.nth(last)) {
        None => &[],
        Some(Some(end)) => &head[..end],
        // The last line of a file may have no end; one that was cut has none either.
        Some(None) if all => head,
        Some(None) => &[],
    }
}

/// The number of bytes at the end of `bytes` that begin a character which goes on behind them.
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

fn utf16(bytes: &[u8]) -> String {
    let order = if bytes[0] == 0xff { u16::from_le_bytes } else { u16::from_be_bytes };
    let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| order([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// The first lines of a text, whole ones; of a first line that is too long its start. `more` stands behind `text`.
/// Whether that is all of the file comes with it.
fn text_file(name: &str, text: &str, line_count: u64, more: bool) -> (MentionedFile, bool) {
    let mut end = 0;
    for line in text.split_inclusive('\n').take(LINES) {
        if end + line.len() > BYTES {
            break;
        }
        end += line.len();
    }
    // A line that is cut by the end of what was read is not whole.
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
    fn what_is_written_as_a_mention_mentions_its_path() {
        for path in ["a.rs", "/a b/ä.rs", "a\tb", "it's", "it's so", "\"a\"", "'a", "a \"b\""] {
            check(&mention(path), &[path]);
            check(&format!("see {}\nthere", mention(path)), &[path]);
        }
        check(&mention("@scope/a"), &["./@scope/a"]);
    }

    #[test]
    fn a_mention_stands_at_the_start_or_after_a_blank() {
        check("@a.rs", &["a.rs"]);
        check("look at @src/a.rs, and\n@b.rs", &["src/a.rs,", "b.rs"]);
        check("me@example.org (@x) a@b", &[]);
        check("@ @@x @", &[]);
        check("@é@b", &["é@b"]);
    }

    #[test]
    fn quotes_hold_a_path_together() {
        check("@\"a b.rs\" and @'c d'.", &["a b.rs", "c d"]);
        check("@\"never closed\n\"", &[]);
        check("@\"\" @''", &[]);
    }

    #[test]
    fn the_end_of_what_was_read_cuts_no_character() {
        let whole = "añ漢😀".as_bytes();
        for end in 0..=whole.len() {
            let part = &whole[..end - half_character(&whole[..end])];
            assert!(std::str::from_utf8(part).is_ok(), "{end}");
            assert!(end - part.len() < 4);
        }
    }
}
