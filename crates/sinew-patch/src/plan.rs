//! Computes the new content of the files below a root before anything is written.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use sinew_base::{CancelToken, Error, ErrorCode, Result, lossy};

use crate::patch::{FileMode, FilePatch, Form, Operation, Patch};
use crate::report::{Action, FileReport};
use crate::root::{Entry, Node, NodeKind, Root, Stamp, split};
use crate::text::apply_to_text;

/// The files that a patch writes and removes.
pub(crate) struct Plan<'a> {
    root: &'a Root,
    form: Form,
    fuzz: usize,
    /// The files on disk that were read.
    known: BTreeMap<Vec<u8>, Entry>,
    /// The new content of files.
    written: BTreeMap<Vec<u8>, WrittenFile>,
    /// Removed files, unless they are written too.
    removed: BTreeSet<Vec<u8>>,
    /// Files that the patch removes or renames anywhere. A git diff may write to such a name before it is removed.
    freed: HashSet<&'a [u8]>,
}

struct WrittenFile {
    node: Node,
    /// True if the patch created the file instead of changing it.
    created: bool,
    /// True if the content is that of a file on disk, possibly with another name.
    same_content: bool,
}

/// A change on disk.
pub(crate) struct Step {
    pub(crate) path: Vec<u8>,
    /// The new content; `None` removes the file.
    pub(crate) node: Option<Node>,
    /// The current file; `None` if there is none.
    pub(crate) before: Option<Stamp>,
    /// True if there is a directory now whose files are all removed.
    pub(crate) over_folder: bool,
}

fn state(path: &[u8], reason: &str) -> Error {
    Error::new(ErrorCode::InvalidState, format!("{}: {reason}", lossy(path)))
}

fn missing(path: &[u8]) -> Error {
    Error::new(ErrorCode::NotFound, format!("{}: no such file", lossy(path)))
}

impl<'a> Plan<'a> {
    pub(crate) fn new(root: &'a Root, patch: &'a Patch<'_>, fuzz: usize) -> Plan<'a> {
        let old = |file: &'a FilePatch<'_>| match file.operation {
            Operation::Delete => Some(&file.path),
            Operation::Rename => file.from.as_ref(),
            _ => None,
        };
        let freed = patch.files.iter().filter_map(old).map(|name| &name.path[..]).collect();
        let (known, written, removed) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Plan { root, form: patch.form, fuzz, known, written, removed, freed }
    }

    fn entry(&mut self, path: &[u8]) -> Result<Entry> {
        if let Some(entry) = self.known.get(path) {
            return Ok(entry.clone());
        }
        let entry = self.root.entry(path)?;
        self.known.insert(path.to_vec(), entry.clone());
        Ok(entry)
    }

    /// Returns the current state of the file in the plan; `None` if it does not exist.
    fn current(&mut self, path: &[u8]) -> Result<Option<Node>> {
        if let Some(written) = self.written.get(path) {
            return Ok(Some(written.node.clone()));
        }
        if self.removed.contains(path) {
            return Ok(None);
        }
        match self.entry(path)? {
            Entry::File(node, _) if node.kind == NodeKind::Link && self.form == Form::BeginPatch => {
                Err(Error::new(ErrorCode::PermissionDenied, format!("{}: is a symbolic link", lossy(path))))
            }
            Entry::File(node, _) => Ok(Some(node)),
            Entry::Folder => Err(state(path, "is a directory")),
            Entry::Special => Err(state(path, "is not a regular file")),
            Entry::Missing => {
                self.check_folders(path)?;
                Ok(None)
            }
        }
    }

    /// Returns the file that a change is based on.
    fn source(&mut self, path: &[u8]) -> Result<Node> {
        match self.current(path)? {
            Some(node) => Ok(node),
            None if self.removed.contains(path) => Err(state(path, "the patch renamed or deleted this file before")),
            None => Err(missing(path)),
        }
    }

    /// Returns the file that a rename or a copy is based on. In a git diff it is the one on disk, even if the patch has
    /// replaced it.
    fn moved_source(&mut self, path: &[u8]) -> Result<Node> {
        let created = self.written.get(path).is_some_and(|written| written.created);
        if self.form == Form::Unified && (created || self.removed.contains(path)) {
            return match self.entry(path)? {
                Entry::File(node, _) => Ok(node),
                _ => Err(missing(path)),
            };
        }
        self.source(path)
    }

    /// Fails if a file must not be created at `path`.
    fn check_free(&mut self, path: &[u8]) -> Result<()> {
        if self.written.get(path).is_some_and(|written| written.created) {
            return Err(state(path, "the patch creates this file twice"));
        }
        if self.form == Form::BeginPatch {
            return self.current(path).map(drop);
        }
        let exists = match self.entry(path)? {
            Entry::File(..) | Entry::Special => !self.removed.contains(path) && !self.freed.contains(path),
            Entry::Missing | Entry::Folder => false,
        };
        if exists { Err(state(path, "the file exists already")) } else { Ok(()) }
    }

    /// Fails if a parent directory of `path` is a file or a link that the patch does not remove.
    fn check_folders(&mut self, path: &[u8]) -> Result<()> {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (slash, _) in slashes {
            let folder = &path[..slash];
            let is_link = |node: &Node| node.kind == NodeKind::Link;
            let on_disk = self.entry(folder)?;
            let found = match (self.written.get(folder), on_disk) {
                (Some(written), _) => Some(is_link(&written.node)),
                (None, Entry::File(node, _)) if !self.removed.contains(folder) => Some(is_link(&node)),
                (None, Entry::Special) => Some(false),
                (None, Entry::Missing) => return Ok(()),
                _ => None,
            };
            match found {
                Some(true) => {
                    let message =
                        format!("{}: the path leads through the symbolic link {}", lossy(path), lossy(folder));
                    return Err(Error::new(ErrorCode::PermissionDenied, message));
                }
                Some(false) => {
                    let message = format!("{}: {} is a file, not a directory", lossy(path), lossy(folder));
                    return Err(Error::new(ErrorCode::NotADirectory, message));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Adds the change of one file.
    pub(crate) fn add(&mut self, file: &'a FilePatch<'_>, cancel: &CancelToken) -> Result<FileReport> {
        let path = self.path_of(file)?;
        let operation = match file.operation {
            Operation::UpdateOrCreate if self.current(&path)?.is_none() && !self.removed.contains(&path) => {
                Operation::Create
            }
            Operation::UpdateOrCreate => Operation::Update,
            operation => operation,
        };
        let from = file.from.as_ref().map(|name| name.path.clone());
        let old = match operation {
            Operation::Create => {
                if from.as_ref() != Some(&path) {
                    self.check_free(&path)?;
                }
                None
            }
            Operation::Rename | Operation::Copy => {
                let from = from.as_ref().unwrap_or(&path);
                let node = self.moved_source(from)?;
                if *from != path {
                    self.check_free(&path)?;
                }
                Some(node)
            }
            Operation::Update | Operation::UpdateOrCreate | Operation::Delete => Some(self.source(&path)?),
        };
        let empty = Vec::new();
        check_kind(file, old.as_ref())?;
        let applied = apply_to_text(file, old.as_ref().map_or(&empty, |node| &node.content), self.fuzz, cancel)?;
        let mut report = FileReport {
            action: action_of(operation),
            path: path.clone(),
            from: from.clone().filter(|from| *from != path),
            added: applied.added,
            removed: applied.removed,
            places: applied.places,
        };
        if operation == Operation::Delete {
            if self.form == Form::Unified && !applied.text.is_empty() {
                return Err(state(&path, "the file has lines that its deletion does not show"));
            }
            self.remove(path);
            return Ok(report);
        }
        let replaced = (self.form == Form::BeginPatch && operation == Operation::Create)
            .then(|| self.current(&path))
            .transpose()?;
        let replaced = replaced.flatten();
        if replaced.is_some() {
            report.action = Action::Modified;
        }
        let kind = kind_after(file.new_mode, old.as_ref().or(replaced.as_ref()), operation);
        let node = Node { content: applied.text, kind };
        let same_content = old.as_ref().is_some_and(|old| old.content == node.content);
        if let (Operation::Rename, Some(from)) = (operation, from.filter(|from| *from != path)) {
            self.remove_source(from);
        }
        let created = !matches!(operation, Operation::Update) && replaced.is_none();
        let created = created || self.written.get(&path).is_some_and(|written| written.created);
        self.written.insert(path, WrittenFile { node, created, same_content });
        Ok(report)
    }

    /// Returns the path to use: including its first component if the file only exists there.
    fn path_of(&mut self, file: &FilePatch<'_>) -> Result<Vec<u8>> {
        let stripped = file.path.path.clone();
        let Some(whole) = &file.path.unstripped else { return Ok(stripped) };
        if file.operation == Operation::Create {
            let first = whole.split(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
            let is_prefix = first.len() == 1 || !matches!(self.entry(&first)?, Entry::Folder);
            return Ok(if is_prefix { stripped } else { whole.clone() });
        }
        let is_file = |entry: &Entry| matches!(entry, Entry::File(..));
        let only_whole = !self.written.contains_key(&stripped)
            && !is_file(&self.entry(&stripped)?)
            && (self.written.contains_key(whole) || is_file(&self.entry(whole)?));
        Ok(if only_whole { whole.clone() } else { stripped })
    }

    fn remove(&mut self, path: Vec<u8>) {
        self.written.remove(&path);
        self.removed.insert(path);
    }

    /// Removes the source of a rename, unless the patch has put another file in its place.
    fn remove_source(&mut self, path: Vec<u8>) {
        if self.form == Form::BeginPatch || self.written.get(&path).is_none_or(|written| !written.created) {
            self.written.remove(&path);
        }
        self.removed.insert(path);
    }

    /// Returns the changes on disk: removals first, then files by path.
    pub(crate) fn steps(mut self) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for path in &self.removed {
            if let Some(Entry::File(_, stamp)) = self.known.get(path)
                && !self.written.contains_key(path)
            {
                let before = Some(*stamp);
                steps.push(Step { path: path.clone(), node: None, before, over_folder: false });
            }
        }
        let paths: Vec<Vec<u8>> = self.written.keys().cloned().collect();
        for path in &paths {
            self.check_folders(path)?;
        }
        for (path, written) in &self.written {
            if written.node.kind == NodeKind::Link && !written.same_content {
                check_link(path, &written.node.content)?;
            }
        }
        for path in paths {
            let Some(node) = self.written.get(&path).map(|written| written.node.clone()) else { continue };
            let (before, over_folder) = match self.entry(&path)? {
                Entry::File(old, _) if old == node => continue,
                Entry::File(_, stamp) => (Some(stamp), false),
                Entry::Folder => {
                    let gone = |below: &[u8]| self.removed.contains(below) && !self.written.contains_key(below);
                    let only = self.root.holds_only(&path, &gone).unwrap_or(false);
                    if !only {
                        return Err(state(&path, "is a directory"));
                    }
                    (None, true)
                }
                Entry::Missing => (None, false),
                Entry::Special => return Err(state(&path, "is not a regular file")),
            };
            steps.push(Step { path, node: Some(node), before, over_folder });
        }
        self.check_access(&steps)?;
        Ok(steps)
    }

    /// Fails before anything is written if the caller has no write access.
    fn check_access(&self, steps: &[Step]) -> Result<()> {
        let denied = |path: &[u8], reason: &str| {
            Err(Error::new(ErrorCode::PermissionDenied, format!("{}: {reason}", lossy(path))))
        };
        if !steps.is_empty() && !self.root.may_write(b"") {
            return denied(b".", "the root is read-only");
        }
        for step in steps {
            let replaces_file =
                step.node.as_ref().is_some_and(|node| node.kind != NodeKind::Link) && step.before.is_some();
            let is_link =
                matches!(self.known.get(&step.path), Some(Entry::File(node, _)) if node.kind == NodeKind::Link);
            if replaces_file && !is_link && !self.root.may_write(&step.path) {
                return denied(&step.path, "the file is read-only");
            }
            let (folder, _) = split(&step.path);
            if step.before.is_some() && !self.root.may_write(folder) {
                return denied(folder, "the directory is read-only");
            }
        }
        Ok(())
    }
}

fn action_of(operation: Operation) -> Action {
    match operation {
        Operation::Create => Action::Created,
        Operation::Update | Operation::UpdateOrCreate => Action::Modified,
        Operation::Delete => Action::Deleted,
        Operation::Rename => Action::Renamed,
        Operation::Copy => Action::Copied,
    }
}

/// Checks that a patch of a link is applied to a link, and a patch of a file to a file.
fn check_kind(file: &FilePatch<'_>, old: Option<&Node>) -> Result<()> {
    let (Some(mode), Some(node)) = (file.old_mode, old) else { return Ok(()) };
    let name = &file.from.as_ref().unwrap_or(&file.path).path;
    match (mode == FileMode::Link, node.kind == NodeKind::Link) {
        (true, false) => return Err(state(name, "is a file, and the patch expects a symbolic link")),
        (false, true) => return Err(state(name, "is a symbolic link, and the patch expects a file")),
        _ => {}
    }
    let becomes_other = file.new_mode.is_some_and(|new| (new == FileMode::Link) != (mode == FileMode::Link));
    if becomes_other { Err(state(name, "a patch cannot turn a file into a symbolic link or back")) } else { Ok(()) }
}

fn kind_after(mode: Option<FileMode>, old: Option<&Node>, operation: Operation) -> NodeKind {
    let kept = match (old.map(|node| node.kind), operation) {
        // A copy is a new file.
        (Some(NodeKind::File(bits)), Operation::Copy) => NodeKind::NewFile(bits & 0o100 != 0),
        (Some(kind), _) => kind,
        (None, _) => NodeKind::NewFile(false),
    };
    match (mode, kept) {
        (None, kept) => kept,
        (Some(FileMode::Link), _) => NodeKind::Link,
        (Some(mode), NodeKind::File(bits)) => {
            // Execute permission follows read permission.
            let execute = (bits & 0o444) >> 2;
            NodeKind::File(if mode == FileMode::Executable { bits | execute } else { bits & !0o111 })
        }
        (Some(mode), _) => NodeKind::NewFile(mode == FileMode::Executable),
    }
}

/// Checks that a link that a patch creates or changes does not lead out of the root. `..` is only allowed at the start
/// of the target: after another link its meaning would change.
fn check_link(path: &[u8], target: &[u8]) -> Result<()> {
    let depth = path.iter().filter(|byte| **byte == b'/').count();
    let parts = || target.split(|byte| *byte == b'/');
    let up = parts().take_while(|part| *part == b"..").count();
    let reason = match () {
        () if target.is_empty() || target.contains(&0) => "has no target that could be a path",
        () if target.starts_with(b"/") || up > depth => "leads out of the root",
        () if parts().skip(up).any(|part| part == b"..") => "has `..` in the middle of its target",
        () => return Ok(()),
    };
    Err(Error::new(ErrorCode::PermissionDenied, format!("{}: the symbolic link {reason}", lossy(path))))
}
