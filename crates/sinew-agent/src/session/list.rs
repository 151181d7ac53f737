//! The sessions of a folder, and which one a user means.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;
use sinew::base::{Error, ErrorCode, Result};

use super::entry::Header;
use super::place::folder_name;

const HEAD: u64 = 4 * 1024;
const TAIL: u64 = 32 * 1024;
/// Cells of a title that is taken from a message.
const TITLE: usize = 40;

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The file.
    pub path: PathBuf,
    /// The header's id.
    pub id: String,
    /// The folder in which it works.
    pub cwd: String,
    /// The last title given, else the header's, else the first words of the user, else the id.
    pub title: String,
    /// When it was last written.
    pub modified: SystemTime,
    /// Whether it holds a message.
    pub has_messages: bool,
}

/// Which sessions a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Those of one working directory.
    Cwd(&'a Path),
    /// All below the sessions' folder.
    All,
}

/// Lists sessions, newest first. Reads at most 4 KB and 32 KB of each file; what is no session is left out.
#[must_use]
pub fn list(sessions: &Path, scope: Scope<'_>) -> Vec<Listed> {
    let folders: Vec<PathBuf> = match scope {
        Scope::Cwd(cwd) => vec![sessions.join(folder_name(cwd))],
        Scope::All => subfolders(sessions),
    };
    let mut found: Vec<Listed> =
        folders.iter().flat_map(|folder| files(folder)).filter_map(|path| read(&path)).collect();
    if let Scope::Cwd(cwd) = scope {
        // Two directories may share a folder: the header decides.
        found.retain(|session| Path::new(&session.cwd) == cwd);
    }
    found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
    found
}

/// The newest session of a working directory that holds a message.
#[must_use]
pub fn latest(sessions: &Path, cwd: &Path) -> Option<Listed> {
    list(sessions, Scope::Cwd(cwd)).into_iter().find(|session| session.has_messages)
}

/// What [`resolve`] found.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A session of this working directory, or one that was named by its path.
    Here(PathBuf),
    /// A session of another directory.
    Elsewhere(Listed),
}

/// The session that `word` means: a path (it has a separator or ends in `.jsonl`), else the start of an id or of a file
/// name, or the end of an id, in any case; this working directory first.
///
/// # Errors
/// None or several fit: `Session "ab" not found.`, `Session "ab" is ambiguous: <ids>`.
pub fn resolve(sessions: &Path, cwd: &Path, word: &str) -> Result<Found> {
    let not_found = || Error::new(ErrorCode::NotFound, format!("Session \"{word}\" not found."));
    if word.contains(['/', '\\']) || word.ends_with(".jsonl") {
        let path = cwd.join(word);
        return if path.exists() { Ok(Found::Here(path)) } else { Err(not_found()) };
    }
    let wanted = word.to_lowercase();
    let fits = |session: &Listed| {
        let id = session.id.to_lowercase();
        let name = session.path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        id.starts_with(&wanted) || id.ends_with(&wanted) || name.starts_with(&wanted)
    };
    for scope in [Scope::Cwd(cwd), Scope::All] {
        let mut matches: Vec<Listed> = list(sessions, scope).into_iter().filter(fits).collect();
        if matches.len() > 1 {
            let ids: Vec<&str> = matches.iter().map(|session| session.id.as_str()).collect();
            return Err(Error::invalid(format!("Session \"{word}\" is ambiguous: {}", ids.join(", "))));
        }
        if let Some(session) = matches.pop() {
            let here = scope == Scope::Cwd(cwd) || Path::new(&session.cwd) == cwd;
            return Ok(if here { Found::Here(session.path) } else { Found::Elsewhere(session) });
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

fn read(path: &Path) -> Option<Listed> {
    let mut file = File::open(path).ok()?;
    let facts = file.metadata().ok()?;
    let mut head = Vec::new();
    (&file).take(HEAD).read_to_end(&mut head).ok()?;
    let mut tail = Vec::new();
    if facts.len() > HEAD {
        file.seek(SeekFrom::Start(facts.len().saturating_sub(TAIL).max(HEAD))).ok()?;
        file.read_to_end(&mut tail).ok()?;
    }
    let mut lines = head.split(|byte| *byte == b'\n');
    let header: Header = serde_json::from_slice(lines.next()?).ok()?;
    if header.kind != "session" {
        return None;
    }
    let parsed: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let ends: Vec<Value> =
        tail.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let is = |value: &Value, kind: &str| value.get("type").and_then(Value::as_str) == Some(kind);
    let named = ends.iter().rev().chain(parsed.iter().rev()).find(|value| is(value, "session_info"));
    let said = parsed.iter().chain(&ends).find_map(user_text);
    let title = named
        .and_then(|value| value.get("title").and_then(Value::as_str).map(str::to_string))
        .or_else(|| header.title.clone())
        .or(said)
        .unwrap_or_else(|| header.id.clone());
    // A first message longer than the head is a line that does not parse here.
    let has_messages = parsed.iter().chain(&ends).any(|value| is(value, "message")) || facts.len() > HEAD;
    Some(Listed {
        path: path.to_path_buf(),
        id: header.id,
        cwd: header.cwd,
        title: one_line(&title),
        modified: facts.modified().ok()?,
        has_messages,
    })
}

/// The words of a message of the user.
fn user_text(entry: &Value) -> Option<String> {
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
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    sinew::term::truncate(&line, TITLE, sinew::term::Ellipsis::Unicode, false, sinew::term::TAB_WIDTH).into_owned()
}
