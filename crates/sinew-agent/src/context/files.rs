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
/// file of a name), then of each folder from the root down to `cwd`, at most 20. A folder below a hidden one does not count, but `cwd` itself does. A file
/// counts once however many names it has; of `AGENTS.md` and `CLAUDE.md` with the same text the first one counts.
/// 64 KB of each file and 256 KB of all are taken; what is not UTF-8 becomes U+FFFD. Links out of the project count only
/// if it is `trusted`; a repository in `home` itself does not count as a project. Files of another user in a parent folder that everybody
/// may write to are named in a warning and not read.
#[must_use]
pub fn context_files(user: &[&Path], cwd: &Path, home: Option<&Path>, trusted: bool) -> ContextFiles {
    let mut found = ContextFiles::default();
    let mut known = HashSet::new();
    let mut left = ALL;
    let root = links::project_of(cwd, home);
    let own = (user.to_vec(), None);
    let of_project = |folder: &Path| if folder.starts_with(root) { root.to_path_buf() } else { folder.to_path_buf() };
    let of_folders = folders(cwd).into_iter().map(|folder| (vec![folder], Some(of_project(folder))));
    for (folders, project) in std::iter::once(own).chain(of_folders) {
        let mut texts: Vec<String> = Vec::new();
        for name in NAMES {
            let mut paths = folders.iter().map(|folder| folder.join(name));
            let Some(path) = paths.find(|path| path.is_file()) else { continue };
            if !trusted && project.as_ref().is_some_and(|project| links::out_of(project, &path).is_some()) {
                continue;
            }
            if project.is_some() && links::is_planted(cwd, &path) {
                let why = "it belongs to another user, in a folder that everybody may write to";
                found.warnings.push(format!("{} is not read: {why}", path.display()));
                continue;
            }
            let Ok(real) = fs::canonicalize(&path) else { continue };
            if !known.insert(real) {
                continue;
            }
            let (mut text, mut cut) = match start_of(&path, FILE) {
                Ok(read) => read,
                Err(error) => {
                    found.warnings.push(format!("Cannot read {}: {error}", path.display()));
                    continue;
                }
            };
            if texts.contains(&text) {
                continue;
            }
            if left == 0 {
                found.warnings.push(format!("{} is left out: the context files have 256 KB", path.display()));
                continue;
            }
            texts.push(text.clone());
            if text.len() > left {
                text.truncate(text.floor_char_boundary(left));
                cut = true;
            }
            if cut {
                let size = text.len();
                found.warnings.push(format!("{} is cut to its first {size} bytes", path.display()));
            }
            left -= text.len().min(left);
            found.files.push(ContextFile { path, text });
        }
    }
    found
}

/// The folders whose instructions count, the root first.
fn folders(cwd: &Path) -> Vec<&Path> {
    let hidden = |folder: &Path| {
        folder
            .components()
            .any(|part| matches!(part, Component::Normal(name) if name.as_encoded_bytes().starts_with(b".")))
    };
    let mut folders: Vec<&Path> =
        cwd.ancestors().take(LEVELS).filter(|folder| *folder == cwd || !hidden(folder)).collect();
    folders.reverse();
    folders
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
