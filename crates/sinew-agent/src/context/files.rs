//! Reads `AGENTS.md` and `CLAUDE.md` from the user's folder and from every folder above the session's.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use sinew_session::files::open_plain;
use sinew_session::links;

/// The maximum number of bytes of one file.
const FILE: usize = 64 * 1024;
/// The maximum number of bytes of all files.
const ALL: usize = 256 * 1024;
/// The maximum number of folders, counted from the session's upwards.
const LEVELS: usize = 20;
/// The maximum depth of nested imports.
const IMPORTS: usize = 5;
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Instructions of the user or of a project. They are data for the model and do not control the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The text, within the limits.
    pub text: String,
}

/// The context files of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextFiles {
    /// The files, the outermost first.
    pub files: Vec<ContextFile>,
    /// Warnings about files that were truncated, skipped or unreadable, one sentence each.
    pub warnings: Vec<String>,
    /// The files outside of the project that it imports and that were not read, because it is not trusted.
    pub outside: Vec<PathBuf>,
}

/// Returns the instructions for a session in `cwd` (an absolute path). The order is:
///
/// - the user's instructions, from the first of the folders `user` that has a file of that name;
/// - those of each folder from the root down to `cwd`, at most 20 folders.
///
/// Each file is followed by the files that it imports with `@path`.
///
/// A folder below a hidden one is skipped, unless the project itself is in the hidden one; `cwd` is never skipped. A
/// file with several names is used once, and so are identical texts. At most 64 KB of each file and 256 KB in total are
/// used; invalid UTF-8 becomes U+FFFD. Links and imports that point outside of the project are used only if it is
/// `trusted`; a repository in `home` itself is not treated as a project. A file of another user in a world-writable
/// parent folder is skipped with a warning.
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

/// Returns the instructions of the folders between `cwd` and a file below it, which were not part of the session's
/// start. The rules are those of [`context_files`].
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

/// Reads context files, each one once.
struct Reader<'a> {
    cwd: &'a Path,
    home: Option<&'a Path>,
    trusted: bool,
    found: ContextFiles,
    /// The canonical paths of the files that were read.
    known: HashSet<PathBuf>,
    /// The number of bytes that may still be used.
    left: usize,
}

impl<'a> Reader<'a> {
    fn new(cwd: &'a Path, home: Option<&'a Path>, trusted: bool) -> Reader<'a> {
        Reader { cwd, home, trusted, found: ContextFiles::default(), known: HashSet::new(), left: ALL }
    }

    /// Adds a file and its imports. `project` is the project that the file belongs to; `None` for a file of the user.
    fn add(&mut self, path: &Path, project: Option<&Path>, depth: usize) {
        if !path.is_file() {
            return;
        }
        let outside = project.filter(|_| !self.trusted).and_then(|project| links::out_of(project, path));
        if let Some(real) = outside {
            // A link out of the project is reported by the caller.
            self.found.outside.extend((depth > 0).then_some(real));
            return;
        }
        if project.is_some() && links::is_planted(self.cwd, path) {
            let why = "it belongs to another user, in a folder that everyone can write to";
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
            return self.found.warnings.push(format!("{} is skipped: the context files exceed 256 KB", path.display()));
        }
        let imported = imports(&text);
        if text.len() > self.left {
            text.truncate(text.floor_char_boundary(self.left));
            cut = true;
        }
        if cut {
            let size = text.len();
            self.found.warnings.push(format!("{} is truncated to its first {size} bytes", path.display()));
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

/// Returns the paths that a text imports: words that begin with `@`, outside of code.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            // Every second part is inline code between two backticks.
            let plain = line.split('`').step_by(2);
            let words = plain.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix('@'));
            let names = words.map(|word| word.trim_end_matches(['.', ',', ';', ':', ')']));
            found.extend(names.filter(|name| !name.is_empty()).map(str::to_string));
        }
    }
    found
}

/// Returns the folders whose instructions apply, the outermost first.
fn folders<'a>(cwd: &'a Path, root: &Path) -> Vec<&'a Path> {
    let counts = |folder: &Path| {
        // A project may itself be inside a hidden folder, for example a worktree or the user's configuration.
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
        // An incomplete character at the cut is not an error in the file.
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    // An invalid byte becomes three bytes (U+FFFD), so the text may have grown.
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        cut = true;
    }
    Ok((text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text), cut))
}
