//! Reads `AGENTS.md` and `CLAUDE.md` from the user's folder and from every folder above the session's.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use sinew::base::utf16_file_text;
use sinew_session::files::open_plain;
use sinew_session::links;

use super::imports::imports;
use crate::plain_text::is_binary;

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
/// file with several names is used once, and so are texts that differ only in white space at the end of
/// their lines. At most 64 KB of each file and 256 KB in total are used; UTF-16 with a byte order mark is decoded, and
/// invalid UTF-8 becomes U+FFFD. Links and imports that point outside of the project are used only if it is `trusted`; a repository in `home` itself is not
/// treated as a project.
///
/// A file that exists and is not used has a warning: a binary file, a directory, a broken link, an import below the
/// fifth level, a file that cannot be read, and a file of another user in a world-writable parent folder. An import of a
/// missing path or of a directory is a word of the text, without a warning.
#[must_use]
pub fn context_files(user: &[&Path], cwd: &Path, home: Option<&Path>, trusted: bool) -> ContextFiles {
    let mut reader = Reader::new(cwd, home, trusted);
    for name in NAMES {
        for path in user.iter().map(|folder| folder.join(name)) {
            // A path that is not a file gets a warning and does not hide the next one.
            reader.add(&path, None, 0);
            if path.is_file() {
                break;
            }
        }
    }
    let root = links::project_of(cwd, home);
    for folder in folders(cwd, root) {
        let project = if folder.starts_with(root) { root } else { folder };
        for path in NAMES.map(|name| folder.join(name)) {
            reader.add(&path, Some(project), 0);
        }
    }
    reader.finish()
}

/// Returns the instructions of the folders between `cwd` and a file below it, which were not part of the session's
/// start. The rules are those of [`context_files`]. A copy of one of the session's files `loaded` is left out.
#[must_use]
pub fn nested_context_files(
    cwd: &Path,
    file: &Path,
    home: Option<&Path>,
    trusted: bool,
    loaded: &[ContextFile],
) -> ContextFiles {
    let mut reader = Reader { loaded, ..Reader::new(cwd, home, trusted) };
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
    reader.finish()
}

/// Reads context files, each one once.
struct Reader<'a> {
    cwd: &'a Path,
    home: Option<&'a Path>,
    trusted: bool,
    /// Files that the model has already seen.
    loaded: &'a [ContextFile],
    found: ContextFiles,
    /// The canonical paths of the files that were read, with the smallest depth of their imports.
    known: HashMap<PathBuf, usize>,
    /// Imports below the depth limit, with their canonical paths.
    too_deep: Vec<(PathBuf, PathBuf)>,
    /// The number of bytes that may still be used.
    left: usize,
}

impl<'a> Reader<'a> {
    fn new(cwd: &'a Path, home: Option<&'a Path>, trusted: bool) -> Reader<'a> {
        let (found, known) = (ContextFiles::default(), HashMap::new());
        Reader { cwd, home, trusted, loaded: &[], found, known, too_deep: Vec::new(), left: ALL }
    }

    fn finish(mut self) -> ContextFiles {
        for (path, real) in std::mem::take(&mut self.too_deep) {
            // Another path of imports may have led to the file.
            if self.known.insert(real, IMPORTS).is_none() {
                self.unread(&path, &format!("imports are followed at most {IMPORTS} levels deep"));
            }
        }
        self.found
    }

    fn unread(&mut self, path: &Path, why: &str) {
        let warning = format!("{} is not read: {why}", path.display());
        // Several files may import the same path.
        if !self.found.warnings.contains(&warning) {
            self.found.warnings.push(warning);
        }
    }

    fn is_loaded(&self, text: &str) -> bool {
        self.loaded.iter().chain(&self.found.files).any(|file| is_same_text(&file.text, text))
    }

    /// Adds a file and its imports. `project` is the project that the file belongs to; `None` for a file of the user.
    fn add(&mut self, path: &Path, project: Option<&Path>, depth: usize) {
        match unusable(path, depth > 0) {
            Ok(false) => {}
            Ok(true) => return,
            Err(why) => return self.unread(path, &why),
        }
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) => return self.unread(path, &error.to_string()),
        };
        if depth > IMPORTS {
            return self.too_deep.push((path.to_path_buf(), real));
        }
        let outside = project.filter(|_| !self.trusted).and_then(|project| links::out_of(project, path));
        if let Some(real) = outside {
            // A link out of the project is reported by the caller.
            self.found.outside.extend((depth > 0).then_some(real));
            return;
        }
        if project.is_some() && links::is_planted(self.cwd, path) {
            return self.unread(path, "it belongs to another user, in a folder that everyone can write to");
        }
        // A file that was imported at a greater depth may lead to files that were too deep then.
        let before = self.known.get(&real).copied();
        if before.is_some_and(|before| before <= depth) {
            return;
        }
        self.known.insert(real, depth);
        let (mut text, mut cut) = match start_of(path, FILE) {
            Ok(Some(read)) => read,
            Ok(None) => return self.unread(path, "it is a binary file"),
            Err(error) => return self.unread(path, &error.to_string()),
        };
        let imported = imports(&text);
        // A copy in another folder imports the files of that folder.
        if before.is_none() && !self.is_loaded(&text) {
            if self.left == 0 {
                let warning = format!("{} is skipped: the context files exceed 256 KB", path.display());
                return self.found.warnings.push(warning);
            }
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

/// Returns true if a path is skipped without a warning, because it does not exist or may be a word of the text.
///
/// # Errors
/// Returns the reason if the path exists and is not a readable kind of file.
fn unusable(path: &Path, is_import: bool) -> Result<bool, String> {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match fs::metadata(path) {
        Ok(facts) if facts.is_file() => Ok(false),
        // A word with an `@` may happen to be the name of a directory.
        Ok(facts) if facts.is_dir() && is_import => Ok(true),
        Ok(facts) if facts.is_dir() => Err("it is a directory".into()),
        Ok(_) => Err("it is a pipe, a socket or a device".into()),
        Err(error) => match (error.kind(), path.is_symlink()) {
            (NotFound, true) => Err("it is a broken symbolic link".into()),
            (NotFound | NotADirectory, false) => Ok(true),
            (PermissionDenied, _) | (_, true) => Err(error.to_string()),
            // A word may be longer than a name can be.
            (_, false) if is_import => Ok(true),
            (_, false) => Err(error.to_string()),
        },
    }
}

/// Returns true if two texts have the same lines, regardless of their line ends and of white space at the end of a line
/// or of the text.
fn is_same_text(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|text| text.trim_end().lines().map(str::trim_end));
    one.eq(other)
}

/// Returns the start of a file as at most `most` bytes of text, and whether the file is longer; `None` if it is binary.
fn start_of(path: &Path, most: usize) -> std::io::Result<Option<(String, bool)>> {
    let mut bytes = Vec::new();
    // `most` bytes of ASCII are twice as many bytes of UTF-16, after the byte order mark.
    open_plain(path)?.take(2 * most as u64 + 4).read_to_end(&mut bytes)?;
    let (mut text, mut cut) = match utf16_file_text(&bytes) {
        Some(text) => (text, bytes.len() > 2 * most + 2),
        None if is_binary(&bytes) => return Ok(None),
        None => {
            let cut = bytes.len() > most;
            bytes.truncate(most);
            (utf8_text(bytes, cut), cut)
        }
    };
    // An invalid byte becomes three bytes (U+FFFD), so the text may have grown.
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        cut = true;
    }
    Ok(Some((text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text), cut)))
}

/// Decodes UTF-8. If the text was `cut`, an incomplete character at its end is removed.
fn utf8_text(bytes: Vec<u8>, cut: bool) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        // An incomplete character at the cut is not an error in the file.
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}
