//! The folders of resource files, their precedence, and limits on reading.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use sinew::base::utf16_file_text;
use sinew_session::files::read_plain;
use sinew_session::links;

use super::frontmatter::{self, Frontmatter};
use super::options::ResourceOptions;
use crate::plain_text::is_binary;

/// Larger files are skipped.
const FILE: u64 = 256 * 1024;
/// The maximum number of bytes of all files.
const ALL: usize = 16 * 1024 * 1024;
/// The maximum number of entries that are visited in one folder tree.
const ENTRIES: usize = 50_000;
/// The maximum depth of a folder tree.
const DEPTH: usize = 8;
/// The maximum number of warnings that are kept.
const WARNINGS: usize = 100;

/// The owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag,
    /// The project.
    Project,
    /// The user.
    User,
    /// A folder that a setting names.
    Setting,
}

impl Origin {
    /// Returns one word for lists.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Flag => "flag",
            Origin::Project => "project",
            Origin::User => "user",
            Origin::Setting => "setting",
        }
    }
}

/// Reads files within limits and collects warnings.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) warnings: Vec<String>,
    read: usize,
    known: HashSet<PathBuf>,
    dropped: usize,
    /// The folder of an untrusted project; `None` if all files may be used.
    fenced: Option<PathBuf>,
    /// Paths that the user named or owns, which may be links to anywhere.
    free: Vec<PathBuf>,
    /// The working directory of the session.
    cwd: PathBuf,
}

/// The strictness of parsing frontmatter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Yaml {
    /// Invalid YAML is an error.
    Strict,
    /// Invalid YAML causes a warning, and lines of `key: value` are used.
    Lenient,
}

impl Reader {
    pub(super) fn new(options: &ResourceOptions) -> Reader {
        let root = links::project_of(&options.folders.cwd, options.folders.home.as_deref()).to_path_buf();
        let named = [&options.named_skills, &options.named_templates, &options.named_rules, &options.skill_directories];
        let free = named.into_iter().flatten().chain([&options.folders.agent]).cloned().collect();
        Reader {
            fenced: (!options.trusted).then_some(root),
            free,
            cwd: options.folders.cwd.clone(),
            ..Reader::default()
        }
    }

    /// Returns whether a file of an untrusted project is a link to a file outside of it.
    fn is_out(&self, path: &Path) -> bool {
        let Some(project) = self.fenced.as_ref().filter(|project| path.starts_with(project)) else { return false };
        !self.free.iter().any(|free| path.starts_with(free)) && links::out_of(project, path).is_some()
    }

    pub(super) fn warn(&mut self, path: &Path, what: &str) {
        if self.warnings.len() < WARNINGS {
            self.warnings.push(format!("{}: {what}", path.display()));
        } else {
            self.dropped += 1;
            self.warnings.truncate(WARNINGS);
            self.warnings.push(format!("and {} more problems with skills, templates and rules", self.dropped));
        }
    }

    /// Reads a file and its frontmatter. Returns `None` if it cannot be used, which adds a warning, or if it was read
    /// before under another name.
    pub(super) fn front(&mut self, path: &Path, yaml: Yaml) -> Option<Frontmatter> {
        // Not a warning here: the code that starts the session asks or informs the user about trust.
        if self.is_out(path) {
            return None;
        }
        if !self.free.iter().any(|free| path.starts_with(free)) && links::is_planted(&self.cwd, path) {
            self.warn(path, "not read: it belongs to another user, in a folder that everyone can write to");
            return None;
        }
        // A file is used once, even if several links point to it.
        if let Ok(real) = fs::canonicalize(path)
            && !self.known.insert(real)
        {
            return None;
        }
        let read = self.text(path).and_then(|text| match yaml {
            Yaml::Strict => frontmatter::strict(&text),
            Yaml::Lenient => {
                let (front, fault) = frontmatter::lenient(&text);
                if let Some(fault) = fault {
                    self.warn(path, &format!("{fault}; using its lines of `key: value`"));
                }
                Ok(front)
            }
        });
        read.map_err(|reason| self.warn(path, &reason)).ok()
    }

    fn text(&mut self, path: &Path) -> Result<String, String> {
        let text = text(path)?;
        if self.read + text.len() > ALL {
            return Err("skipped: skills, templates and rules exceed 16 MB".into());
        }
        self.read += text.len();
        Ok(text)
    }

    /// Returns the entries of a folder whose names do not begin with a dot, sorted by name. A missing folder has none.
    pub(super) fn entries(&mut self, folder: &Path) -> Vec<PathBuf> {
        let read = match fs::read_dir(folder) {
            Ok(read) => read,
            Err(error) => {
                use std::io::ErrorKind::{NotADirectory, NotFound};
                if !matches!(error.kind(), NotFound | NotADirectory) {
                    self.warn(folder, &error.to_string());
                }
                return Vec::new();
            }
        };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in read.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if paths.len() == ENTRIES {
                self.warn(folder, "only its first 50000 entries are read");
                break;
            }
            paths.push(entry.path());
        }
        paths.sort();
        paths
    }

    /// Returns the files below a folder for which `wanted` is true, folder by folder, sorted by name. A folder is
    /// visited once, even if several links point to it.
    pub(super) fn tree(&mut self, root: &Path, wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut left = ENTRIES;
        let mut folders = vec![(root.to_path_buf(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let Ok(real) = fs::canonicalize(&folder) else { continue };
            if !seen.insert(real) {
                continue;
            }
            let mut below = Vec::new();
            for path in self.entries(&folder) {
                if left == 0 {
                    self.warn(root, "it contains more than 50000 entries; the rest is skipped");
                    return found;
                }
                left -= 1;
                if wanted(&path) {
                    found.push(path);
                } else if depth < DEPTH && path.is_dir() {
                    below.push((path, depth + 1));
                }
            }
            folders.extend(below.into_iter().rev());
        }
        found
    }
}

/// Reads a regular text file of at most 256 KB. UTF-16 with a byte order mark is decoded; invalid UTF-8 becomes U+FFFD.
pub(super) fn text(path: &Path) -> Result<String, String> {
    let bytes = read_plain(path, FILE).map_err(|error| error.to_string())?;
    match utf16_file_text(&bytes) {
        Some(text) => Ok(text),
        None if is_binary(&bytes) => Err("not used: it is a binary file".into()),
        None => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Returns whether a path has one of these extensions.
pub(super) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extensions.iter().any(|known| known.eq_ignore_ascii_case(extension)))
}
