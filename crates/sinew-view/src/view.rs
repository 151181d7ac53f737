//! A view, from its opening to its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_checkpoint::{Directory, EntryKind};
use sinew_lock::FileLock;

use crate::answer::{ApplyResult, Changes, FileResult, Leftover, Outcome};
use crate::base::{Base, BaseEntry, Contents, MAX_COPY, Source, reliable};
use crate::changes::{self, ViewFiles};
use crate::compare;
use crate::copy;
use crate::execute::{self, Failure};
use crate::layout::{Description, Layout, now_ms};
use crate::open::{self, open_directory};
use crate::options::{ApplyOptions, ChangesOptions, OnConflict, OpenOptions, ViewMode};
use crate::plan::{Plan, plan};
use crate::scan::{as_name, entry_at};

/// The time after which a view that no process uses should be removed: seven days.
pub const VIEW_LIFETIME: Duration = Duration::from_hours(7 * 24);

/// How often a hand-back is planned again if other programs change the directory at the same time.
const MAX_PLANS: u32 = 3;

/// A copy of a directory, whose changes can be applied to the directory or discarded.
///
/// The copy is a folder in the program's own folder. It stays until [`IsolatedView::discard`]: a view that is only
/// dropped is one of the [`leftovers`], and [`IsolatedView::reopen`] opens it again. No program is started.
#[derive(Debug)]
pub struct IsolatedView {
    layout: Layout,
    description: Description,
    base: Base,
    tree: PathBuf,
    /// Tells other processes that the view is in use.
    _lock: FileLock,
}

impl IsolatedView {
    /// Creates a view of a directory as it is now, with uncommitted and untracked files. `cancel` is checked before
    /// each file and every 128 entries; a failed call leaves nothing behind.
    ///
    /// # Errors
    /// Returns `NotFound` or `NotADirectory` for the directory; `Unsupported` for the mode `overlay`; for the mode
    /// `worktree`, `NotFound` if the directory is not a git checkout, `InvalidArgument` if it is a part of one, and
    /// `InvalidData` if its `.git` is broken; `InvalidArgument` for a bare repository and for the folder of the views;
    /// `LimitExceeded` if there are too many entries; and an error if the call is cancelled.
    pub fn open(root: &Path, options: &OpenOptions, cancel: &CancelToken) -> Result<IsolatedView> {
        cancel.check()?;
        let request = open::check(root, options)?;
        let (layout, lock) = Layout::create(&options.home)?;
        match open::create(request, &layout, options, cancel) {
            Ok((description, base)) => {
                let tree = layout.tree();
                Ok(IsolatedView { layout, description, base, tree, _lock: lock })
            }
            Err(error) => {
                // What cannot be removed is removed with the leftovers.
                let _ = layout.remove();
                Err(error)
            }
        }
    }

    /// Opens a view that [`leftovers`] lists. If the process was killed while it applied changes, that is completed
    /// first.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such view, `InvalidState` if a process uses it, and `InvalidData` if it is
    /// damaged.
    pub fn reopen(home: &Path, id: &str, cancel: &CancelToken) -> Result<IsolatedView> {
        let layout = Layout::of(home, id)?;
        if !layout.manifest().is_file() {
            let text = format!("view: there is no view {id:?} in {:?}; leftovers lists them", Layout::views(home));
            return Err(Error::new(ErrorCode::NotFound, text));
        }
        let Some(lock) = layout.try_lock()? else {
            let text = format!("view: {id:?} is in use by a process; end it first");
            return Err(Error::new(ErrorCode::InvalidState, text));
        };
        let description = layout.read_description()?;
        recover(&layout, &description, cancel)?;
        let base = Base::load(&layout.manifest())?;
        let tree = layout.tree();
        Ok(IsolatedView { layout, description, base, tree, _lock: lock })
    }

    /// Returns the id, for [`IsolatedView::reopen`].
    #[must_use]
    pub fn id(&self) -> &str {
        &self.layout.id
    }

    /// Returns the directory that programs in the view use as their working directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.tree
    }

    /// Returns the directory that the view was opened on, with all links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.description.root
    }

    /// Returns the mode, never [`ViewMode::Auto`].
    #[must_use]
    pub fn mode(&self) -> ViewMode {
        self.description.mode
    }

    /// Returns the label of the caller.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.description.label.as_deref()
    }

    /// Returns the entries that the view lacks, as bytes of the system: ignored files whose data cannot be shared, and
    /// files that cannot be read. A directory stands for everything below it.
    #[must_use]
    pub fn missing(&self) -> &[Vec<u8>] {
        &self.description.missing
    }

    /// Returns remarks about the view, one sentence each: links to the original directory, and why it is a copy.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.description.notes
    }

    /// Returns the environment variables for programs in the view. They keep git from using a repository that contains
    /// the folder of the views.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, PathBuf)> {
        vec![("GIT_CEILING_DIRECTORIES".into(), self.layout.folder.clone())]
    }

    /// Compares the view with the directory as it was when the view was opened, or after the last hand-back. `cancel`
    /// is checked before each changed file and every 128 entries.
    ///
    /// # Errors
    /// Returns an error if the view cannot be read, `LimitExceeded` if a program created too many entries, and an error
    /// if the call is cancelled.
    pub fn changes(&self, options: &ChangesOptions, cancel: &CancelToken) -> Result<Changes> {
        let (view, contents) = self.open_files()?;
        let real = Directory::open(&self.description.root).ok();
        changes::changes(&self.files(&view, &contents, real.as_ref()), options, cancel)
    }

    /// Applies the changes of the view to the directory. Each file is merged by its content; a change that overlaps
    /// with one of the directory is a conflict and not applied. All other changes are applied, or none if a step fails.
    /// Applied changes are no longer changes of the view.
    ///
    /// `cancel` is checked before each file, until the first one is written.
    ///
    /// # Errors
    /// Returns `NotFound` if the directory no longer exists; `InvalidState` if programs change the view or the directory
    /// at the same time; the system's errors; and an error if the call is cancelled. The directory is then unchanged.
    pub fn apply(&mut self, options: &ApplyOptions, cancel: &CancelToken) -> Result<ApplyResult> {
        let real = Directory::open(&self.description.root).map_err(|errno| {
            let text = format!("view: failed to apply the changes to {:?}", self.description.root);
            Error::io(text, &errno.into())
        })?;
        let _lock = self.layout.lock_apply(cancel)?;
        // Interrupted hand-backs come first, because their steps expect the directory as it was.
        for layout in self.layout.siblings()?.into_iter().filter(|layout| layout.journal().exists()) {
            if let Ok(description) = layout.read_description() {
                execute::recover(&layout, &description.root)?;
            }
        }
        let (view, contents) = self.open_files()?;
        let files = self.files(&view, &contents, Some(&real));
        let comparison = changes::compare(&files, options.ignored, cancel)?;
        for _ in 0..MAX_PLANS {
            let plan = plan(&files, &real, &comparison.differences, cancel)?;
            let has_conflict = plan.outcomes.values().any(Outcome::is_conflict);
            let is_applied = !(has_conflict && options.on_conflict == OnConflict::Stop);
            let files = self.results(&plan)?;
            if is_applied {
                match execute::execute(&self.layout, &real, &view, &plan, cancel) {
                    Ok(()) => {}
                    Err(Failure::Changed) => continue,
                    Err(Failure::Error(error)) => return Err(error),
                }
            }
            if is_applied {
                self.update_base(&plan, &real, &view);
            }
            return Ok(ApplyResult { files, is_applied, remainder: comparison.remainder });
        }
        let text = format!(
            "view: other programs keep changing {:?}; nothing was applied, try again when they are done",
            self.description.root
        );
        Err(Error::new(ErrorCode::InvalidState, text))
    }

    /// Removes the view with all its changes. The directory is not changed.
    ///
    /// # Errors
    /// Returns the system's error; what is left of the view is then removed by the next call of [`leftovers`].
    pub fn discard(self) -> Result<()> {
        self.layout.remove()
    }

    fn open_files(&self) -> Result<(Directory, Contents)> {
        let view = open_directory(&self.layout.folder)?.open_below(b"tree").map_err(|errno| {
            let text = format!("view: the directory {:?} of the view was removed or replaced", self.tree);
            Error::io(text, &errno.into())
        })?;
        Ok((view, Contents::open(self.layout.contents(), self.base.git.as_deref())?))
    }

    fn files<'a>(&'a self, view: &'a Directory, contents: &'a Contents, real: Option<&'a Directory>) -> ViewFiles<'a> {
        ViewFiles { description: &self.description, base: &self.base, contents, tree: &self.tree, view, real }
    }

    /// Writes the texts with conflict markers, and returns the results with their paths.
    fn results(&self, plan: &Plan) -> Result<Vec<FileResult>> {
        let folder = self.layout.conflicts();
        let failed = |cause: &std::io::Error| Error::io(format!("view: failed to write in {folder:?}"), cause);
        match fs::remove_dir_all(&folder) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => return Err(failed(&cause)),
            _ => {}
        }
        for (path, content) in &plan.conflicts {
            let file = folder.join(as_name(path));
            let written = fs::create_dir_all(file.parent().unwrap_or(&folder)).and_then(|()| fs::write(&file, content));
            written.map_err(|cause| failed(&cause))?;
        }
        let mut results = Vec::with_capacity(plan.outcomes.len());
        for (path, outcome) in &plan.outcomes {
            let mut outcome = outcome.clone();
            if let Outcome::Conflict { merged, .. } = &mut outcome {
                *merged = plan.conflicts.iter().find(|(other, _)| other == path).map(|_| folder.join(as_name(path)));
            }
            results.push(FileResult { path: path.clone(), outcome });
        }
        Ok(results)
    }

    /// Makes the applied entries the base of later changes. What cannot be written is compared by content next time.
    fn update_base(&mut self, plan: &Plan, real: &Directory, view: &Directory) {
        let Ok(mut contents) = Contents::open(self.layout.contents(), None) else { return };
        for (path, outcome) in &plan.outcomes {
            if matches!(outcome, Outcome::Conflict { .. } | Outcome::Kept(_)) {
                continue;
            }
            let look = |directory: &Directory| {
                directory.open_parent(path).and_then(|(parent, name)| entry_at(&parent, name, path)).ok().flatten()
            };
            let Some(entry) = look(view) else {
                self.base.entries.remove(path);
                continue;
            };
            let mut base = BaseEntry::plain(&entry);
            let found = look(real);
            base.mode = found.as_ref().map_or(entry.mode, |found| found.mode);
            if entry.kind == EntryKind::File {
                base.view_stamp = reliable(entry.stamp);
                // A merged file has another content than the view.
                let is_equal = matches!(outcome, Outcome::Created | Outcome::Replaced);
                base.real_stamp = found.filter(|_| is_equal).and_then(|entry| reliable(entry.stamp));
                base.source = stored(&mut contents, self.base.next, view, path);
                self.base.next += u64::from(matches!(base.source, Source::Copy(_)));
            }
            self.base.entries.insert(path.clone(), base);
        }
        let _ = self.base.save(&self.layout.manifest());
    }
}

/// Stores the content of a file of the view.
fn stored(contents: &mut Contents, number: u64, view: &Directory, path: &[u8]) -> Source {
    let Ok(file) = copy::open_own(view, path) else { return Source::None };
    if let Ok(Some(content)) = sinew_base::read_limited(&file, MAX_COPY)
        && contents.store(number, &content).is_ok_and(|is_stored| is_stored)
    {
        return Source::Copy(number);
    }
    // The directory is already changed, so that this is no longer cancelled.
    compare::digest(&file, &CancelToken::never()).map_or(Source::None, Source::Digest)
}

/// Completes an interrupted hand-back.
fn recover(layout: &Layout, description: &Description, cancel: &CancelToken) -> Result<bool> {
    if !execute::needs_recovery(layout, &description.root) {
        return Ok(false);
    }
    let _lock = layout.lock_apply(cancel)?;
    execute::recover(layout, &description.root)
}

/// Lists the views that no process uses, oldest first. Views whose creation or removal was interrupted are removed, and
/// interrupted hand-backs are completed. A view that cannot be read is left out and not removed.
///
/// # Errors
/// Returns an error if the folder of the views cannot be read, or if the call is cancelled.
pub fn leftovers(home: &Path, cancel: &CancelToken) -> Result<Vec<Leftover>> {
    unused(home, Layout::mark_listed, cancel)
}

/// Returns the views that no process uses, oldest first; `is_new` says whether one is new.
fn unused(home: &Path, is_new: impl Fn(&Layout) -> bool, cancel: &CancelToken) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for layout in Layout::all(home)? {
        cancel.check()?;
        let Ok(Some(_lock)) = layout.try_lock() else { continue };
        if !layout.manifest().is_file() {
            let _ = layout.remove();
            continue;
        }
        let Ok(description) = layout.read_description() else { continue };
        let Ok(is_recovered) = recover(&layout, &description, cancel) else { continue };
        let is_new = is_new(&layout);
        let Description { root, mode, time, label, .. } = description;
        found.push(Leftover { id: layout.id.clone(), root, mode, time, label, is_recovered, is_new });
    }
    found.sort_by(|one, two| (one.time, &one.id).cmp(&(two.time, &two.id)));
    Ok(found)
}

/// Removes the views that no process uses and that are at least as old as `age`, usually [`VIEW_LIFETIME`]; returns their
/// ids. Interrupted hand-backs are completed first. The views that stay do not count as listed.
///
/// # Errors
/// Returns the errors of [`leftovers`].
pub fn remove_expired(home: &Path, age: Duration, cancel: &CancelToken) -> Result<Vec<String>> {
    let latest = now_ms().saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let mut removed = Vec::new();
    for leftover in unused(home, |_| false, cancel)?.into_iter().filter(|leftover| leftover.time <= latest) {
        let layout = Layout::of(home, &leftover.id)?;
        if let Ok(Some(_lock)) = layout.try_lock()
            && layout.remove().is_ok()
        {
            removed.push(leftover.id);
        }
    }
    Ok(removed)
}
