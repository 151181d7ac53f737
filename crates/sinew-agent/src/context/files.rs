//! `AGENTS.md` and `CLAUDE.md`, from the user's folder and from every folder above the session's.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use sinew_session::files::open_plain;
use sinew_session::links;

/// Bytes of one file at most.
const FILE: usize = 64 * 1024;
/// Bytes of all files at most.
const ALL: usize = 256 * 1024;
/// Folders that are looked into, from the session's upwards.
const LEVELS: usize = 20;
/// Imports that lead to each other.
const IMPORTS: usize = 5;
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Instructions of the user or of a project: data for the model, nothing that the agent obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text, within the limits.
    pub text: String,
}

/// The context files of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextFiles {
    /// The outermost first.
    pub files: Vec<ContextFile>,
    /// Warnings of files that were cut, left out or unreadable, one sentence each.
    pub warnings: Vec<String>,
}

/// The instructions for a session in `cwd` (an absolute path): of the user (the first of the folders `user` that has a
/// file of a name), then of each folder from the root down to `cwd`, at most 20, each followed by the files that its lines
/// `@path` import. A folder below a hidden one does not count, unless the project itself lies there; `cwd` always does. A file
/// counts once however many names it has, and so does a text. 64 KB of each file and 256 KB of all are used; what is not UTF-8
/// becomes U+FFFD. Links and imports that lead out of the project count only if it is `trusted`; a repository in `home` itself does
/// not count as a project. Files of another user in a parent folder that everybody may write to are named in a warning and not
/// read.
#[must_use]
pub fn context_files(user: &[&Path], cwd: &Path, home: Option<&Path>, trusted: bool) -> ContextFiles {
    let mut reader = Reader::new(cwd, home, trusted);
    for name in NAMES {
        if let Some(path) = user.iter().map(|folder| folder.join(name)).find(|path| path.is_file()) {
            reader.add(&path, None, 0);
        }
    }
    let root = links::project_of(cwd, home);
    for folder in folders(cwd, root) {
        let project = if folder.starts_with(root) { root } else { folder };
        for path in NAMES.map(|name| folder.join(name)) {
            reader.add(&path, Some(project), 0);
        }
    }
    reader.found
}

/// The instructions of the folders between `cwd` and a file below it, which the session did not begin with. The rules are those of
/// [`context_files`].
#[must_use]
pub fn nested_context_files(cwd: &Path, file: &Path, home: Option<&Path>, trusted: bool) -> ContextFiles {
    let mut reader = Reader::new(cwd, home, trusted);
    let mut below: Vec<&Path> = file.ancestors().skip(1).take_while(|folder| *folder != cwd).collect();
    if !file.starts_with(cwd) || below.len() > LEVELS || below.iter().any(|folder| is_hidden(folder, cwd)) {
        return reader.found;
    }
    let root = links::project_of(cwd, home);
    below.reverse();
    for folder in below {
        for path in NAMES.map(|name| folder.join(name)) {
            reader.add(&path, Some(root), 0);
        }
    }
    reader.found
}

/// Reads context files, each once.
struct Reader<'a> {
    cwd: &'a Path,
    home: Option<&'a Path>,
    trusted: bool,
    found: ContextFiles,
    /// The files that were read, without links.
    known: HashSet<PathBuf>,
    /// Bytes that may still be used.
    left: usize,
}

impl<'a> Reader<'a> {
    fn new(cwd: &'a Path, home: Option<&'a Path>, trusted: bool) -> Reader<'a> {
        Reader { cwd, home, trusted, found: ContextFiles::default(), known: HashSet::new(), left: ALL }
    }

    /// Adds a file and what it imports. `project` is the one that it belongs to; absent for a file of the user.
    fn add(&mut self, path: &Path, project: Option<&Path>, depth: usize) {
        if !path.is_file() {
            return;
        }
        if !self.trusted && project.is_some_and(|project| links::out_of(project, path).is_some()) {
            return;
        }
        if project.is_some() && links::is_planted(self.cwd, path) {
            let why = "it belongs to another user, in a folder that everybody may write to";
            return self.found.warnings.push(format!("{} is not read: {why}", path.display()));
        }
        let Ok(real) = fs::canonicalize(path) else { return };
        if !self.known.insert(real) {
            return;
        }
        let (mut text, mut cut) = match start_of(path, FILE) {
            Ok(read) => read,
            Err(error) => return self.found.warnings.push(format!("Cannot read {}: {error}", path.display())),
        };
        if self.found.files.iter().any(|file| file.text == text) {
            return;
        }
        if self.left == 0 {
            return self.found.warnings.push(format!("{} is left out: the context files have 256 KB", path.display()));
        }
        let imported = imports(&text);
        if text.len() > self.left {
            text.truncate(text.floor_char_boundary(self.left));
            cut = true;
        }
        if cut {
            let size = text.len();
            self.found.warnings.push(format!("{} is cut to its first {size} bytes", path.display()));
        }
        self.left -= text.len().min(self.left);
        self.found.files.push(ContextFile { path: path.to_path_buf(), text });
        if depth == IMPORTS {
            return;
        }
        for name in imported {
            let folder = path.parent().unwrap_or(path);
            let target = match (name.strip_prefix("~/"), self.home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => folder.join(&name),
            };
            self.add(&target, project, depth + 1);
        }
    }
}

/// The paths that a text imports: words that begin with `@`, outside of code.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            // Every second part is between two backticks.
            let plain = line.split('`').step_by(2);
            let words = plain.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix('@'));
            let names = words.map(|word| word.trim_end_matches(['.', ',', ';', ':', ')']));
            found.extend(names.filter(|name| !name.is_empty()).map(str::to_string));
        }
    }
    found
}

/// The folders whose instructions count, the outermost first.
fn folders<'a>(cwd: &'a Path, root: &Path) -> Vec<&'a Path> {
    let counts = |folder: &Path| {
        // A project may itself lie in a hidden folder: a worktree, or the user's configuration.
        let hidden = if folder.starts_with(root) { is_hidden(folder, root) } else { is_hidden(folder, Path::new("/")) };
        folder == cwd || !hidden
    };
    let mut folders: Vec<&Path> = cwd.ancestors().take(LEVELS).filter(|folder| counts(folder)).collect();
    folders.reverse();
    folders
}

/// Returns true if a name between `above` and `folder` begins with a dot.
fn is_hidden(folder: &Path, above: &Path) -> bool {
    let below = folder.strip_prefix(above).unwrap_or(folder);
    below.components().any(|part| matches!(part, Component::Normal(name) if name.as_encoded_bytes().starts_with(b".")))
}

fn start_of(path: &Path, most: usize) -> std::io::Result<(String, bool)> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    let mut cut = bytes.len() > most;
    bytes.truncate(most);
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // Half a character at the cut is no damage of the file.
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    // A byte that is none of UTF-8 becomes three.
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        cut = true;
    }
    Ok((text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text), cut))
}
