//! Lists the sessions of a directory, and resolves a name to one of them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use memchr::{memchr, memmem, memrchr};
use serde::Deserialize;
use serde_json::Value;
use sinew_base::{Error, ErrorCode, Result};

use super::entry::Header;
use super::paths::folder_name;
use super::whole_characters;
use crate::files::open_plain;

const HEAD: u64 = 4 * 1024;
const TAIL: u64 = 32 * 1024;
/// The number of files below which more threads do not pay off.
const FEW: usize = 64;
const READERS: usize = 4;
/// The maximum width of a title that is taken from a message.
const TITLE: usize = 40;

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// The file.
    pub path: PathBuf,
    /// The header's id.
    pub id: String,
    /// The working directory.
    pub cwd: String,
    /// The newest title, otherwise that of the header, otherwise the first words of the user, otherwise the id.
    pub title: String,
    /// The modification time.
    pub modified: SystemTime,
    /// True if it contains a message.
    pub has_messages: bool,
}

/// Selects the sessions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Those of one working directory.
    Cwd(&'a Path),
    /// All below the sessions' directory.
    All,
}

/// Lists sessions, newest first: those in the directories of working directories below `sessions`, and those in
/// `sessions` itself, where `--session-dir` stores them. Reads at most 4 KB and 32 KB of each file; skips other files.
#[must_use]
pub fn list(sessions: &Path, scope: Scope<'_>) -> Vec<SessionSummary> {
    KnownSessions::default().list(sessions, scope)
}

/// A cache of listed session files: unchanged files are not read again.
#[derive(Debug, Default)]
pub struct KnownSessions(HashMap<PathBuf, ListedFile>);

/// A file as it was read; `listed` is `None` if it is not a session.
#[derive(Debug, Clone)]
struct ListedFile {
    size: u64,
    modified: SystemTime,
    /// The time of reading.
    read: SystemTime,
    listed: Option<SessionSummary>,
}

/// The maximum step of a file system's clock: a file written shortly before it was read may have been written again
/// with the same time.
const CLOCK_STEP: Duration = Duration::from_secs(2);

impl ListedFile {
    fn is_current(&self, facts: &fs::Metadata) -> bool {
        let settled = self.read.duration_since(self.modified).is_ok_and(|age| age > CLOCK_STEP);
        settled && facts.is_file() && facts.len() == self.size && facts.modified().ok() == Some(self.modified)
    }
}

impl KnownSessions {
    /// Lists sessions as [`list`] does. Checks the metadata of each file, and reads the files that changed.
    pub fn list(&mut self, sessions: &Path, scope: Scope<'_>) -> Vec<SessionSummary> {
        let mut folders = vec![sessions.to_path_buf()];
        match scope {
            Scope::Cwd(cwd) => folders.push(sessions.join(folder_name(cwd))),
            Scope::All => folders.extend(subfolders(sessions)),
        }
        let paths: Vec<PathBuf> = folders.iter().flat_map(|folder| files(folder)).collect();
        let read = read_all(&paths, &self.0);
        let mut found: Vec<SessionSummary> = read.iter().filter_map(|(_, known)| known.listed.clone()).collect();
        self.0.extend(read);
        if let Scope::Cwd(cwd) = scope {
            // Several working directories may share a directory, so the header decides.
            found.retain(|session| Path::new(&session.cwd) == cwd);
        }
        found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
        found
    }
}

/// Returns the newest session of a working directory that contains a message; `None` if there is none.
#[must_use]
pub fn latest(sessions: &Path, cwd: &Path) -> Option<SessionSummary> {
    list(sessions, Scope::Cwd(cwd)).into_iter().find(|session| session.has_messages)
}

/// The result of [`resolve`].
#[derive(Debug, Clone, PartialEq)]
pub enum ResolvedSession {
    /// A session of this working directory, or one identified by its path.
    Here(PathBuf),
    /// A session of another working directory.
    Elsewhere(SessionSummary),
}

/// Resolves `word` to a session: a path (with a separator or ending in `.jsonl`), otherwise the start of an id or of a
/// file name, or the end of an id, ignoring case; this working directory first.
///
/// # Errors
/// Returns `Session "ab" not found.` or `Session "ab" is ambiguous: <ids>` unless exactly one matches.
pub fn resolve(sessions: &Path, cwd: &Path, word: &str) -> Result<ResolvedSession> {
    let not_found = || Error::new(ErrorCode::NotFound, format!("Session \"{word}\" not found."));
    if word.contains(['/', '\\']) || word.ends_with(".jsonl") {
        let path = cwd.join(word);
        return if path.exists() { Ok(ResolvedSession::Here(path)) } else { Err(not_found()) };
    }
    if word.trim().is_empty() {
        return Err(Error::invalid("The id of a session is empty; `sinew sessions list` shows them."));
    }
    let wanted = word.to_lowercase();
    let fits = |session: &SessionSummary| {
        let id = session.id.to_lowercase();
        let name = session.path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        id.starts_with(&wanted) || id.ends_with(&wanted) || name.starts_with(&wanted)
    };
    for scope in [Scope::Cwd(cwd), Scope::All] {
        let mut matches: Vec<SessionSummary> = list(sessions, scope).into_iter().filter(fits).collect();
        if matches.len() > 1 {
            let ids: Vec<&str> = matches.iter().map(|session| session.id.as_str()).collect();
            return Err(Error::invalid(format!("Session \"{word}\" is ambiguous: {}", ids.join(", "))));
        }
        if let Some(session) = matches.pop() {
            let here = scope == Scope::Cwd(cwd) || Path::new(&session.cwd) == cwd;
            return Ok(if here { ResolvedSession::Here(session.path) } else { ResolvedSession::Elsewhere(session) });
        }
    }
    Err(not_found())
}

fn subfolders(sessions: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(sessions) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
}

/// Reads files concurrently, because most of the time is spent waiting for the disk.
fn read_all(paths: &[PathBuf], known: &HashMap<PathBuf, ListedFile>) -> Vec<(PathBuf, ListedFile)> {
    let read_part = |part: &[PathBuf]| part.iter().filter_map(|path| current(path, known)).collect::<Vec<_>>();
    if paths.len() <= FEW {
        return read_part(paths);
    }
    std::thread::scope(|scope| {
        let parts = paths.chunks(paths.len().div_ceil(READERS));
        let readers: Vec<_> = parts.map(|part| scope.spawn(move || read_part(part))).collect();
        // A thread that panicked would have panicked here too.
        readers.into_iter().flat_map(|reader| reader.join().unwrap_or_default()).collect()
    })
}

/// Returns the current entry of the file, from the cache if it has not changed; `None` if it cannot be read.
fn current(path: &Path, known: &HashMap<PathBuf, ListedFile>) -> Option<(PathBuf, ListedFile)> {
    if let Some(known) = known.get(path)
        && known.is_current(&fs::metadata(path).ok()?)
    {
        return Some((path.to_path_buf(), known.clone()));
    }
    let read = SystemTime::now();
    let file = open_plain(path).ok()?;
    let facts = file.metadata().ok()?;
    let (size, modified) = (facts.len(), facts.modified().ok()?);
    Some((path.to_path_buf(), ListedFile { size, modified, read, listed: read_session(file, path, size, modified) }))
}

fn read_session(mut file: File, path: &Path, size: u64, modified: SystemTime) -> Option<SessionSummary> {
    let mut head = Vec::with_capacity(usize::try_from(size.min(HEAD)).unwrap_or_default() + 1);
    (&file).take(HEAD).read_to_end(&mut head).ok()?;
    let mut lines = head.split(|byte| *byte == b'\n');
    let header: Header = whole_characters::from_slice(lines.next()?).ok()?;
    if header.kind != "session" {
        return None;
    }
    let mut tail = Vec::new();
    if size > HEAD {
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL).max(HEAD))).ok()?;
        file.read_to_end(&mut tail).ok()?;
    }
    let title = last_title(&tail)
        .or_else(|| last_title(&head))
        .or(header.title)
        // An empty title removes it.
        .filter(|title| !title.is_empty())
        .or_else(|| lines.find_map(user_text))
        .unwrap_or_else(|| header.id.clone());
    Some(SessionSummary {
        path: path.to_path_buf(),
        title: one_line(&title),
        id: header.id,
        cwd: header.cwd,
        modified,
        // A line longer than the read part is a message.
        has_messages: size > HEAD || memmem::find(&head, b"\"message\"").is_some(),
    })
}

/// Returns the title of the last `session_info` in some lines; `None` if there is none. Only parses lines that may be
/// one.
fn last_title(lines: &[u8]) -> Option<String> {
    let mut end = lines.len();
    while let Some(at) = memmem::rfind(&lines[..end], b"session_info") {
        let start = memrchr(b'\n', &lines[..at]).map_or(0, |line| line + 1);
        let stop = memchr(b'\n', &lines[at..]).map_or(lines.len(), |line| at + line);
        if let Ok(SessionInfo { kind, title, name }) = whole_characters::from_slice(&lines[start..stop])
            && kind == "session_info"
        {
            return Some(title.or(name).unwrap_or_default());
        }
        end = start;
    }
    None
}

#[derive(Deserialize)]
struct SessionInfo {
    #[serde(rename = "type")]
    kind: String,
    title: Option<String>,
    /// The title as other programs write it.
    name: Option<String>,
}

/// Returns the user's text in a line, which may be cut at its end.
fn user_text(line: &[u8]) -> Option<String> {
    memmem::find(line, b"\"user\"")?;
    if let Ok(entry) = whole_characters::from_slice(line) {
        return words_of_user(&entry);
    }
    words_of_user(&sinew_llm::partial_json::parse(&String::from_utf8_lossy(line)))
}

/// Returns the text of a user message.
fn words_of_user(entry: &Value) -> Option<String> {
    let message = entry.get("message")?;
    if message.get("role")?.as_str()? != "user" {
        return None;
    }
    match message.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => blocks.iter().find_map(|block| block.get("text")?.as_str().map(str::to_string)),
        _ => None,
    }
}

fn one_line(text: &str) -> String {
    // A title is untrusted text and is shown in terminals.
    let line = sinew_term::sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ");
    sinew_term::truncate(&line, TITLE, sinew_term::Ellipsis::Unicode, false, sinew_term::TAB_WIDTH).into_owned()
}
