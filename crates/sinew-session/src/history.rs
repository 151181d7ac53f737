//! The prompts of the user in all sessions: one file of JSON lines, newest last.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::whole_characters;

/// The number of prompts that are kept; the file may contain twice as many before it is cut.
const KEPT: usize = 10_000;

/// One prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// The text.
    pub prompt: String,
    /// The time in milliseconds since the epoch.
    #[serde(default)]
    pub created_at: i64,
    /// The working directory.
    #[serde(default)]
    pub cwd: String,
}

/// The file `history.jsonl` of the agent, which several processes share.
#[derive(Debug, Clone)]
pub struct History {
    path: PathBuf,
}

impl History {
    /// Uses the history in `path`; the file is created for the first prompt, readable by the user only.
    #[must_use]
    pub fn new(path: PathBuf) -> History {
        History { path }
    }

    /// Adds a prompt. A prompt that begins with a blank is private, and one that equals the last is redundant: neither
    /// is stored.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn add(&self, prompt: Prompt) -> io::Result<()> {
        if prompt.prompt.starts_with(char::is_whitespace) || prompt.prompt.is_empty() {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        // Locked until the file is closed. The file is cut in place, so that no process writes to a deleted file.
        file.lock()?;
        let mut prompts = read(&mut file)?;
        if prompts.last().is_some_and(|last| last.prompt == prompt.prompt) {
            return Ok(());
        }
        prompts.push(prompt);
        let whole = prompts.len() > 2 * KEPT;
        let from = if whole { prompts.len() - KEPT } else { prompts.len() - 1 };
        let mut text = Vec::new();
        if !whole && !ends_a_line(&mut file)? {
            text.push(b'\n');
        }
        for prompt in &prompts[from..] {
            serde_json::to_writer(&mut text, prompt)?;
            text.push(b'\n');
        }
        if whole {
            file.set_len(0)?;
        }
        file.write_all(&text)
    }

    /// Returns the prompts that contain all words of `search`, ignoring case: those of `cwd` first, newest first, each
    /// text once. Empty if the file is missing.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn search(&self, search: &str, cwd: &Path) -> io::Result<Vec<Prompt>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(cause),
        };
        let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
        let mut prompts = read(&mut file)?;
        prompts.drain(..prompts.len().saturating_sub(KEPT));
        prompts.reverse();
        prompts.retain(|prompt| {
            let text = prompt.prompt.to_lowercase();
            words.iter().all(|word| text.contains(word))
        });
        prompts.sort_by_key(|prompt| Path::new(&prompt.cwd) != cwd);
        let mut seen = HashSet::new();
        prompts.retain(|prompt| seen.insert(prompt.prompt.clone()));
        Ok(prompts)
    }
}

/// Reads the prompts of a file; skips invalid lines.
fn read(file: &mut File) -> io::Result<Vec<Prompt>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| whole_characters::from_slice(line).ok()).collect())
}

/// Returns true if the file is empty or ends with a line feed.
fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(io::SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(prompt: &str, cwd: &str) -> Prompt {
        Prompt { prompt: prompt.into(), created_at: 1, cwd: cwd.into() }
    }

    fn texts(history: &History, search: &str) -> Vec<String> {
        history.search(search, Path::new("/here")).unwrap().into_iter().map(|prompt| prompt.prompt).collect()
    }

    #[test]
    fn prompts_are_sorted_by_directory_and_newest_first() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::new(folder.path().join("history.jsonl"));
        assert_eq!(texts(&history, ""), Vec::<String>::new());
        for (text, cwd) in [
            ("fix it", "/here"),
            ("Fix that", "/there"),
            (" secret", "/here"),
            ("say", "/here"),
            ("say", "/here"),
            ("fix it", "/there"),
        ] {
            history.add(said(text, cwd)).unwrap();
        }
        assert_eq!(texts(&history, ""), ["say", "fix it", "Fix that"]);
        assert_eq!(texts(&history, "FIX th"), ["Fix that"]);
        assert_eq!(std::fs::read_to_string(folder.path().join("history.jsonl")).unwrap().lines().count(), 4);
    }

    #[test]
    fn an_incomplete_line_is_not_joined_and_a_long_file_is_shortened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        let history = History::new(path.clone());
        std::fs::write(&path, "{\"prompt\":\"a\"}\n{\"prompt\":\"to").unwrap();
        history.add(said("next", "/here")).unwrap();
        assert_eq!(texts(&history, ""), ["next", "a"]);
        let lines: String = (0..2 * KEPT).map(|at| format!("{{\"prompt\":\"p{at}\"}}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        history.add(said("last", "/here")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), KEPT);
        assert!(text.lines().last().unwrap().contains("last"));
    }
}
