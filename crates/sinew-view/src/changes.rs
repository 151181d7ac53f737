//! Compares a view with the directory as it was when the view was opened.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_checkpoint::{Directory, EntryKind};

use crate::answer::{Change, ChangeKind, Changes, Remainder};
use crate::base::{Base, BaseEntry, Contents, MAX_CONTENT};
use crate::commits;
use crate::copy::open_own;
use crate::layout::Description;
use crate::merge::is_binary;
use crate::open::ignored_paths;
use crate::options::ChangesOptions;
use crate::patch::{Side, entry_patch};
use crate::scan::{self, Entry, as_name, parent_of, shown};

/// The maximum number of ignored entries that are listed.
const MAX_IGNORED: usize = 1_000;

/// An entry that differs.
#[derive(Debug, Clone)]
pub(crate) struct Difference {
    pub(crate) path: Vec<u8>,
    pub(crate) base: Option<BaseEntry>,
    pub(crate) view: Option<Entry>,
    /// Whether the content of a file differs, not only its permissions.
    pub(crate) is_content: bool,
}

/// The differences of a view, and what a hand-back leaves in it.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) differences: Vec<Difference>,
    pub(crate) remainder: Remainder,
}

/// The parts of a view that comparisons read.
pub(crate) struct ViewFiles<'a> {
    pub(crate) description: &'a Description,
    pub(crate) base: &'a Base,
    pub(crate) contents: &'a Contents,
    pub(crate) tree: &'a Path,
    pub(crate) view: &'a Directory,
    /// The original directory; `None` if it no longer exists.
    pub(crate) real: Option<&'a Directory>,
}

impl ViewFiles<'_> {
    /// Returns the content of a file of the view; `None` if it is too large or cannot be read.
    pub(crate) fn view_content(&self, path: &[u8]) -> Option<Vec<u8>> {
        sinew_base::read_limited(open_own(self.view, path).ok()?, MAX_CONTENT).ok()?
    }

    /// Returns true if a path was the data of a repository or a part of it when the view was opened. Without its file
    /// HEAD, a bare repository looks like any other directory.
    fn is_in_repository(&self, path: &[u8]) -> bool {
        let is_end = |at: &usize| *at == path.len() || path[*at] == b'/';
        (1..=path.len())
            .filter(is_end)
            .any(|end| self.base.entries.get(&path[..end]).is_some_and(|base| base.kind == EntryKind::Repository))
    }

    /// Checks that a directory that cannot be listed has no entries that would count as deleted.
    fn check_unreadable(&self, entry: &Entry) -> Result<()> {
        let start = [&*entry.path, b"/"].concat();
        let has_base =
            self.base.entries.range(start.clone()..).next().is_some_and(|(path, _)| path.starts_with(&start));
        if !entry.is_unreadable || self.base.entries.contains_key(&entry.path) && !has_base {
            return Ok(());
        }
        let text = format!(
            "view: the directory {} of the view cannot be listed; make it readable with `chmod u+rx`",
            shown(&entry.path)
        );
        Err(Error::new(ErrorCode::PermissionDenied, text))
    }
}

/// Compares the view with its base. `cancel` is checked before each changed file and every 128 entries.
///
/// # Errors
/// Returns an error if the view cannot be listed, if it has too many entries, or if the call is cancelled.
pub(crate) fn compare(files: &ViewFiles<'_>, with_ignored: bool, cancel: &CancelToken) -> Result<Comparison> {
    let skip = [];
    // A program may create files, but not without limit.
    let max_entries = files.description.max_entries.saturating_mul(2);
    let entries = scan::scan(files.view, &skip, max_entries, cancel)?;
    let mut comparison = Comparison::default();
    let mut now: BTreeMap<&[u8], &Entry> = BTreeMap::new();
    let mut special = HashSet::new();
    for entry in &entries {
        files.check_unreadable(entry)?;
        match entry.kind {
            EntryKind::Special => {
                comparison.remainder.special += 1;
                special.insert(&*entry.path);
            }
            EntryKind::Repository => {
                if files.base.entries.get(&entry.path).is_none_or(|base| base.kind != EntryKind::Repository) {
                    comparison.remainder.repositories.push(entry.path.clone());
                }
            }
            _ => drop(now.insert(&entry.path, entry)),
        }
    }
    for (path, base) in files.base.entries.iter().filter(|(_, base)| base.kind != EntryKind::Repository) {
        let view = now.remove(&**path);
        if view.is_none() && special.contains(&**path) {
            continue;
        }
        if let Some(difference) = differ(files, path, base, view, cancel)? {
            comparison.differences.push(difference);
        }
    }
    let mut added: Vec<Entry> =
        now.into_values().filter(|entry| !files.is_in_repository(&entry.path)).cloned().collect();
    if !with_ignored && !added.is_empty() {
        added = without_ignored(files, added, &mut comparison.remainder, cancel)?;
    }
    let added = added.into_iter().map(|entry| Difference {
        path: entry.path.clone(),
        base: None,
        view: Some(entry),
        is_content: true,
    });
    comparison.differences.extend(added);
    comparison.differences.sort_by(|one, two| one.path.cmp(&two.path));
    for (path, before) in &files.base.references {
        let found = commits::new_commits(&files.tree.join(as_name(path)), before);
        comparison.remainder.commits.extend(found);
    }
    Ok(comparison)
}

fn differ(
    files: &ViewFiles<'_>,
    path: &[u8],
    base: &BaseEntry,
    view: Option<&Entry>,
    cancel: &CancelToken,
) -> Result<Option<Difference>> {
    let difference = |is_content| {
        let mut view = view.cloned();
        if let Some(view) = view.as_mut().filter(|view| view.mode == base.view_mode) {
            view.mode = base.mode;
        }
        Some(Difference { path: path.to_vec(), base: Some(base.clone()), view, is_content })
    };
    let Some(entry) = view else { return Ok(difference(true)) };
    if entry.kind != base.kind || entry.target != base.target {
        return Ok(difference(true));
    }
    let is_content = entry.kind == EntryKind::File && base.view_stamp != Some(entry.stamp) && {
        cancel.check()?;
        match open_own(files.view, path) {
            Ok(file) => !files.contents.matches(path, base, files.real, &file, cancel)?,
            Err(_) => true,
        }
    };
    Ok(if is_content || entry.mode != base.view_mode { difference(is_content) } else { None })
}

/// Removes the new entries that ignore rules exclude, and lists them. New directories that only contain such entries
/// are removed too.
fn without_ignored(
    files: &ViewFiles<'_>,
    added: Vec<Entry>,
    remainder: &mut Remainder,
    cancel: &CancelToken,
) -> Result<Vec<Entry>> {
    let ignored = ignored_paths(files.tree, files.description.global_excludes.as_deref(), cancel)?;
    let (left, mut kept): (Vec<Entry>, Vec<Entry>) = added.into_iter().partition(|entry| ignored.contains(&entry.path));
    let listed = left.iter().filter(|entry| !ignored.contains(parent_of(&entry.path)));
    remainder.ignored = listed.map(|entry| entry.path.clone()).take(MAX_IGNORED).collect();
    let with_ignored = ancestors(&left);
    let files_kept: Vec<Entry> = kept.iter().filter(|entry| entry.kind != EntryKind::Directory).cloned().collect();
    let with_files = ancestors(&files_kept);
    kept.retain(|entry| {
        entry.kind != EntryKind::Directory || !with_ignored.contains(&*entry.path) || with_files.contains(&*entry.path)
    });
    Ok(kept)
}

/// Returns the directories that contain the entries, directly or not.
fn ancestors(entries: &[Entry]) -> HashSet<&[u8]> {
    let mut folders = HashSet::new();
    for entry in entries {
        let mut folder = parent_of(&entry.path);
        while !folder.is_empty() && folders.insert(folder) {
            folder = parent_of(folder);
        }
    }
    folders
}

/// Returns the differences with their patch.
///
/// # Errors
/// Returns the errors of [`compare`].
pub(crate) fn changes(files: &ViewFiles<'_>, options: &ChangesOptions, cancel: &CancelToken) -> Result<Changes> {
    let comparison = compare(files, options.ignored, cancel)?;
    let mut changes = Changes { remainder: comparison.remainder, ..Changes::default() };
    for difference in &comparison.differences {
        cancel.check()?;
        let (change, patch) = describe(files, difference, cancel)?;
        changes.entries.push(change);
        if changes.patch.len() + patch.len() > options.max_patch_bytes {
            changes.is_truncated = true;
        } else {
            changes.patch.extend(patch);
        }
    }
    Ok(changes)
}

/// One side of a difference with its content; `None` for a missing entry.
struct LoadedSide {
    kind: EntryKind,
    mode: u32,
    /// `None` if the content is binary, too large or unknown.
    text: Option<Vec<u8>>,
}

impl LoadedSide {
    fn new(kind: EntryKind, mode: u32, content: Option<Vec<u8>>) -> LoadedSide {
        LoadedSide { kind, mode, text: content.filter(|content| kind != EntryKind::File || !is_binary(content)) }
    }

    fn as_side(&self) -> Option<Side<'_>> {
        let content = self.text.as_deref().unwrap_or_default();
        (self.kind != EntryKind::Directory).then_some(Side { kind: self.kind, mode: self.mode, content })
    }
}

fn describe(files: &ViewFiles<'_>, difference: &Difference, cancel: &CancelToken) -> Result<(Change, Vec<u8>)> {
    let path = &difference.path;
    let (base, view) = (difference.base.as_ref(), difference.view.as_ref());
    let change = match (base, view) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        (Some(base), Some(view)) if base.kind == view.kind && !difference.is_content => ChangeKind::Mode,
        _ => ChangeKind::Changed,
    };
    let load = |kind, target: &[u8], read: &dyn Fn() -> Option<Vec<u8>>| match kind {
        // A change of permissions needs no content.
        EntryKind::File if change == ChangeKind::Mode => Some(Vec::new()),
        EntryKind::File => read(),
        _ => Some(target.to_vec()),
    };
    let old = base.map(|base| {
        let content = load(base.kind, &base.target, &|| files.contents.read(path, base, files.real));
        LoadedSide::new(base.kind, base.mode, content)
    });
    let new = view.map(|view| {
        let content = load(view.kind, &view.target, &|| files.view_content(path));
        LoadedSide::new(view.kind, view.mode, content)
    });
    let is_binary = [&old, &new].into_iter().flatten().any(|side| side.text.is_none());
    let sides = [&old, &new].map(|side| side.as_ref().and_then(LoadedSide::as_side));
    let patch = match sides {
        [None, None] => Vec::new(),
        [old, new] => entry_patch(path, old, new, is_binary, cancel)?,
    };
    let kind = view.map(|view| view.kind).or(base.map(|base| base.kind)).unwrap_or(EntryKind::File);
    let (old_mode, new_mode) = (base.map(|base| base.mode), view.map(|view| view.mode));
    Ok((Change { path: path.clone(), change, kind, old_mode, new_mode, is_binary }, patch))
}
