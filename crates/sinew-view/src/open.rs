//! Creates the directory of a view.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;
use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_checkpoint::{Directory, EntryKind, GitId, blob_id};
use sinew_pool::Pool;

use crate::base::{Base, BaseEntry, Contents, MAX_COPY, Source, reliable};
use crate::commits;
use crate::compare;
use crate::copy;
use crate::fault;
use crate::git_dir::{self, Repository};
use crate::layout::{Description, Layout, now_ms};
use crate::options::{OpenOptions, ViewMode};
use crate::scan::{self, Entry, Stamp, as_name, is_below, mode_of, parent_of, shown};

/// Creates the directory of a view in the folder of `layout`, and returns its description.
///
/// # Errors
/// Returns the errors of [`crate::IsolatedView::open`].
pub(crate) fn create(
    mut request: Request,
    layout: &Layout,
    options: &OpenOptions,
    cancel: &CancelToken,
) -> Result<(Description, Base)> {
    // The home directory exists by now. If the directory contains it, the view does not.
    if let Ok(stat) = rustix::fs::stat(&options.home) {
        let stamp = Stamp::of(&stat);
        request.skip.push((stamp.device, stamp.inode));
    }
    let entries = scan::scan(&request.real, &request.skip, options.max_entries, cancel)?;
    let made = fs::create_dir(layout.tree());
    made.map_err(|cause| Error::io(format!("view: failed to create {:?}", layout.tree()), &cause))?;
    let view = open_directory(&layout.tree())?;
    let dot_git = request.repository.is_some().then(|| request.root.join(".git"));
    let mut builder = Builder {
        request: &request,
        view,
        contents: Contents::open(layout.contents(), dot_git.as_deref())?,
        base: Base { git: dot_git, ..Base::default() },
        tracked: HashMap::new(),
        missing: Vec::new(),
        notes: Vec::new(),
        shares: false,
    };
    builder.shares = builder.can_share(&entries);
    let included = builder.choose(&entries, options, cancel)?;
    builder.copy_all(&included, cancel)?;
    builder.copy_repositories(&included, layout, cancel)?;
    builder.finish_directories(&included)?;
    let Builder { base, missing, notes, .. } = builder;
    request.notes.extend(notes);
    let description = Description {
        root: request.root,
        mode: request.mode,
        time: now_ms(),
        label: options.label.clone(),
        global_excludes: options.global_excludes.clone(),
        max_entries: options.max_entries,
        skip: request.skip,
        missing,
        notes: request.notes,
    };
    fault::point();
    layout.write_description(&description)?;
    fault::point();
    base.save(&layout.manifest())?;
    Ok((description, base))
}

/// Opens a directory by its path.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn open_directory(path: &Path) -> Result<Directory> {
    Directory::open(path).map_err(|errno| Error::io(format!("view: failed to open {path:?}"), &errno.into()))
}

/// The checked arguments of an open.
#[derive(Debug)]
pub(crate) struct Request {
    root: PathBuf,
    real: Directory,
    mode: ViewMode,
    repository: Option<Repository>,
    skip: Vec<(u64, u64)>,
    notes: Vec<String>,
}

/// Checks the arguments, before anything is created.
///
/// # Errors
/// Returns the errors of [`crate::IsolatedView::open`].
pub(crate) fn check(root: &Path, options: &OpenOptions) -> Result<Request> {
    if options.mode == ViewMode::Overlay {
        let text = "view: the mode \"overlay\" is not available; use worktree or copy";
        return Err(Error::new(ErrorCode::Unsupported, text));
    }
    let resolved = fs::canonicalize(root);
    let root = resolved.map_err(|cause| Error::io(format!("view: failed to open {root:?}"), &cause))?;
    let real = open_directory(&root)?;
    let names = real.names().map_err(|errno| Error::io(format!("view: failed to list {root:?}"), &errno.into()))?;
    if scan::is_bare_repository(&names) && !names.iter().any(|name| **name == *b".git") {
        let text =
            format!("view: {root:?} is a bare git repository, which has no files; open a view of a checkout of it");
        return Err(Error::invalid(text));
    }
    let home = fs::canonicalize(&options.home).unwrap_or_else(|_| options.home.clone());
    if home == root || root == Layout::views(&home) {
        let text = format!("view: {root:?} is the folder in which views are stored; open a view of another directory");
        return Err(Error::invalid(text));
    }
    let mut notes = Vec::new();
    let repository = match (options.mode, find_repository(&root)) {
        (ViewMode::Copy, _) => None,
        (_, Ok(repository)) => Some(repository),
        (ViewMode::Worktree, Err(error)) => return Err(error),
        (_, Err(error)) => {
            if error.code() != ErrorCode::NotFound {
                notes.push(format!("the view is a copy: {}", error.message()));
            }
            None
        }
    };
    let mode = if repository.is_some() { ViewMode::Worktree } else { ViewMode::Copy };
    Ok(Request { root, real, mode, repository, skip: Vec::new(), notes })
}

/// Finds the repository whose checkout the root is.
fn find_repository(root: &Path) -> Result<Repository> {
    let dot_git = root.join(".git");
    if fs::symlink_metadata(&dot_git).is_ok() {
        return Repository::find(&dot_git);
    }
    let top = root.ancestors().skip(1).find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok());
    let text = match top {
        Some(top) => {
            format!("view: {root:?} is a part of the checkout {top:?}; open a view of {top:?}, or use the mode copy")
        }
        None => format!("view: {root:?} is not a git checkout; use the mode copy"),
    };
    Err(Error::new(if top.is_some() { ErrorCode::InvalidArgument } else { ErrorCode::NotFound }, text))
}

struct Builder<'a> {
    request: &'a Request,
    view: Directory,
    contents: Contents,
    base: Base,
    /// The blobs of tracked files.
    tracked: HashMap<Vec<u8>, GitId>,
    missing: Vec<Vec<u8>>,
    notes: Vec<String>,
    /// Whether files of the view can share the data of the originals.
    shares: bool,
}

impl Builder<'_> {
    /// Returns true if the file system can share data between the directory and the view's folder.
    fn can_share(&self, entries: &[Entry]) -> bool {
        let probe = || -> io::Result<bool> {
            let is_file = |entry: &&Entry| entry.kind == EntryKind::File && entry.stamp.size > 0;
            let Some(entry) = entries.iter().find(is_file) else { return Ok(false) };
            let (parent, name) = self.request.real.open_parent(&entry.path)?;
            self.contents.share(0, &parent.open_file(name)?)
        };
        probe().unwrap_or(false)
    }

    /// Chooses the entries of the view. In the mode `worktree`, ignored files are only included if they can share data.
    fn choose<'e>(
        &mut self,
        entries: &'e [Entry],
        options: &OpenOptions,
        cancel: &CancelToken,
    ) -> Result<Vec<&'e Entry>> {
        let mut ignored = HashSet::new();
        if let Some(repository) = &self.request.repository {
            // An index that cannot be read does not say which of the ignored files are tracked: all are included.
            if let Some(tracked) = repository.tracked() {
                self.tracked = tracked.into_iter().collect();
                if !self.shares {
                    ignored = ignored_paths(&self.request.root, options.global_excludes.as_deref(), cancel)?;
                }
            }
            if git_dir::is_sha256(repository.data()) {
                self.tracked.clear();
            }
        }
        // A nested repository is included whole, unless it is ignored itself.
        let is_nested_root = |entry: &&Entry| {
            entry.kind == EntryKind::Repository
                && entry.path.ends_with(b"/.git")
                && !ignored.contains(parent_of(&entry.path))
        };
        let nested: Vec<&[u8]> = entries.iter().filter(is_nested_root).map(|entry| parent_of(&entry.path)).collect();
        let is_wanted = |entry: &&Entry| {
            let is_ignored = ignored.contains(&entry.path)
                || entry.kind == EntryKind::Repository && ignored.contains(parent_of(&entry.path));
            !is_ignored
                || self.tracked.contains_key(&entry.path)
                || nested.iter().any(|folder| is_below(&entry.path, folder))
        };
        let mut folders: HashSet<&[u8]> = HashSet::new();
        for entry in entries.iter().filter(is_wanted) {
            let mut folder = parent_of(&entry.path);
            while !folder.is_empty() && folders.insert(folder) {
                folder = parent_of(folder);
            }
        }
        let mut included = Vec::new();
        let mut left_out: HashSet<&[u8]> = HashSet::new();
        for entry in entries {
            if is_wanted(&entry) || folders.contains(&*entry.path) {
                included.push(entry);
                continue;
            }
            if !left_out.contains(parent_of(&entry.path)) {
                self.missing.push(entry.path.clone());
            }
            left_out.insert(&*entry.path);
        }
        Ok(included)
    }

    fn copy_all(&mut self, entries: &[&Entry], cancel: &CancelToken) -> Result<()> {
        let mut parent: Option<(Vec<u8>, Directory, Directory)> = None;
        let failed = |path: &[u8], cause: &io::Error| Error::io(format!("view: failed to copy {}", shown(path)), cause);
        for entry in entries {
            fault::point();
            cancel.check()?;
            let folder = parent_of(&entry.path);
            if parent.as_ref().is_none_or(|(path, ..)| path != folder) {
                let opened =
                    self.request.real.open_below(folder).and_then(|real| Ok((real, self.view.open_below(folder)?)));
                match opened {
                    Ok((real, view)) => parent = Some((folder.to_vec(), real, view)),
                    // The directory was removed or replaced meanwhile, or was not copied.
                    Err(_) => {
                        self.missing.push(entry.path.clone());
                        continue;
                    }
                }
            }
            let Some((_, real, view)) = &parent else { continue };
            let name = &entry.path[if folder.is_empty() { 0 } else { folder.len() + 1 }..];
            match entry.kind {
                EntryKind::Directory => {
                    rustix::fs::mkdirat(view, as_name(name), Mode::RWXU)
                        .map_err(|errno| failed(&entry.path, &errno.into()))?;
                    if entry.is_unreadable {
                        self.missing.push(entry.path.clone());
                    }
                    self.base.entries.insert(entry.path.clone(), BaseEntry::plain(entry));
                }
                EntryKind::Link => {
                    if is_inside(&entry.target, &self.request.root) {
                        self.notes.push(format!("the link {} leads to the original directory", shown(&entry.path)));
                    }
                    rustix::fs::symlinkat(as_name(&entry.target), view, as_name(name))
                        .map_err(|errno| failed(&entry.path, &errno.into()))?;
                    self.base.entries.insert(entry.path.clone(), BaseEntry::plain(entry));
                }
                EntryKind::File => {
                    let mut copier = FileCopier {
                        contents: &mut self.contents,
                        next: &mut self.base.next,
                        tracked: self.tracked.get(&entry.path),
                        shares: self.shares,
                        cancel,
                    };
                    match copier.copy(real, view, name, entry) {
                        Ok(Some(copied)) => drop(self.base.entries.insert(entry.path.clone(), copied)),
                        // The file cannot be read, or was replaced meanwhile.
                        Ok(None) => self.missing.push(entry.path.clone()),
                        Err(cause) => {
                            cancel.check()?;
                            return Err(failed(&entry.path, &cause));
                        }
                    }
                }
                EntryKind::Special | EntryKind::Repository => {}
            }
        }
        Ok(())
    }

    fn copy_repositories(&mut self, entries: &[&Entry], layout: &Layout, cancel: &CancelToken) -> Result<()> {
        let tree = layout.tree();
        for entry in entries.iter().filter(|entry| entry.kind == EntryKind::Repository) {
            // The parent directory is ignored, and named as missing.
            if self.view.open_parent(&entry.path).is_err() {
                continue;
            }
            let (real, view) = ((&*self.request.root, &self.request.real), (&*tree, &self.view));
            if let Some(note) = git_dir::copy_repository(real, view, &entry.path, cancel)? {
                self.notes.push(note);
                self.missing.push(entry.path.clone());
                continue;
            }
            self.base.entries.insert(entry.path.clone(), BaseEntry::plain(entry));
            if entry.path.ends_with(b".git") {
                let references = commits::references(&tree.join(as_name(&entry.path)));
                self.base.references.insert(entry.path.clone(), references);
            }
        }
        Ok(())
    }

    /// Sets the permissions of directories, the deepest first.
    fn finish_directories(&mut self, entries: &[&Entry]) -> Result<()> {
        for entry in entries.iter().rev().filter(|entry| entry.kind == EntryKind::Directory) {
            let Ok((parent, name)) = self.view.open_parent(&entry.path) else { continue };
            let failed = |errno: Errno| {
                Error::io(format!("view: failed to set the permissions of {}", shown(&entry.path)), &errno.into())
            };
            parent.set_mode(name, entry.mode).map_err(failed)?;
            if let Some(base) = self.base.entries.get_mut(&entry.path)
                && let Some(stat) = parent.stat(name).map_err(failed)?
            {
                base.view_mode = mode_of(&stat);
            }
        }
        Ok(())
    }
}

fn is_inside(target: &[u8], root: &Path) -> bool {
    Path::new(as_name(target)).starts_with(root)
}

/// Returns the paths that ignore rules exclude.
///
/// # Errors
/// Returns the errors of the walk.
pub(crate) fn ignored_paths(
    root: &Path,
    global_excludes: Option<&Path>,
    cancel: &CancelToken,
) -> Result<HashSet<Vec<u8>>> {
    let options = sinew_walk::ScanOptions {
        gitignore: false,
        skip_node_modules: false,
        global_excludes: global_excludes.map(|file| file.to_path_buf().into()),
        ..sinew_walk::ScanOptions::new(root)
    };
    // The calling thread does the work.
    let scan = sinew_walk::scan(&options, &Pool::new("sinew-view", 1), cancel)?;
    Ok(scan.iter().filter(|entry| entry.ignored()).map(|entry| entry.bytes().to_vec()).collect())
}

/// Copies one file and stores its content for merges.
struct FileCopier<'a> {
    contents: &'a mut Contents,
    next: &'a mut u64,
    /// The blob of a tracked file.
    tracked: Option<&'a GitId>,
    shares: bool,
    cancel: &'a CancelToken,
}

impl FileCopier<'_> {
    /// Copies a file; `None` if it cannot be read.
    fn copy(
        &mut self,
        real: &Directory,
        view: &Directory,
        name: &[u8],
        entry: &Entry,
    ) -> io::Result<Option<BaseEntry>> {
        let Ok(mut source) = real.open_file(as_name(name)) else { return Ok(None) };
        let before = Stamp::of(&rustix::fs::fstat(&source)?);
        let mut target = copy::create(view, name)?;
        let mut stored = Source::None;
        let number = *self.next;
        if self.shares && copy::share_data(&source, &target) {
            if self.contents.share(number, &target)? {
                stored = Source::Copy(number);
            }
        } else if let Some(content) = small_content(&source, before.size)? {
            io::Write::write_all(&mut target, &content)?;
            let blob = self.tracked.filter(|id| **id == blob_id(&content) && self.contents.has_blob(id));
            if let Some(id) = blob {
                stored = Source::Git(*id);
            } else if self.contents.store(number, &content)? {
                stored = Source::Copy(number);
            }
        } else {
            copy::copy_data(&mut source, &mut target)?;
        }
        if stored == Source::Copy(number) {
            *self.next += 1;
        }
        let after = Stamp::of(&rustix::fs::fstat(&source)?);
        let finished = copy::finish(&target, entry.mode, Some(before.mtime))?;
        let view_stamp = reliable(Stamp::of(&finished));
        // A file that was written meanwhile counts as changed.
        let real_stamp = reliable(after).filter(|_| before == after);
        if stored == Source::None && (view_stamp.is_none() || real_stamp.is_none()) {
            stored = Source::Digest(compare::digest(&target, self.cancel)?);
        }
        Ok(Some(BaseEntry {
            kind: EntryKind::File,
            mode: entry.mode,
            view_mode: mode_of(&finished),
            view_stamp,
            real_stamp,
            target: Vec::new(),
            source: stored,
        }))
    }
}

fn small_content(source: &fs::File, size: u64) -> io::Result<Option<Vec<u8>>> {
    if size > MAX_COPY {
        return Ok(None);
    }
    let content = sinew_base::read_limited(source, MAX_COPY)?;
    if content.is_none() {
        // The file grew meanwhile.
        io::Seek::rewind(&mut &*source)?;
    }
    Ok(content)
}
