//! The checkpoints of one directory.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sinew_base::{CancelToken, Error, ErrorCode, Result};
use sinew_lock::FileLock;
use sinew_pool::Pool;

use crate::answer::{Changes, Checkpoint, CollectResult, ContentVisitor, Coverage, Plan, RestoreResult, Usage};
use crate::changes;
use crate::contents::ContentReader;
use crate::directory::Directory;
use crate::gc;
use crate::git_clean::clean_files;
use crate::git_objects::GitObjects;
use crate::journal::{self, Journal};
use crate::manifest::Head;
use crate::options::{CheckpointKind, GitUser, Limits, OpenOptions, RestoreOptions, TakeOptions};
use crate::pack::PackWriter;
use crate::plan::{self, Planner, Span, Steps};
use crate::restore::Restorer;
use crate::row::{Content, Gap, Kind, Row, compare_paths};
use crate::scan::{ScanOptions, Scope, scan};
use crate::stage::RestoreStage;
use crate::state::State;
use crate::store::{Store, now_ms};
use crate::stretches::{self, Alive, Event, Stretches};

/// Records the state of a directory, compares states and restores them, regardless of who changed the directory.
///
/// The store is outside of the directory and shared by all processes; checkpoints and restores are serialized. The data
/// of repositories is never written, and no program is started.
#[derive(Debug)]
pub struct Checkpoints {
    root: PathBuf,
    directory: Directory,
    pub(crate) store: Result<Store, String>,
    limits: Limits,
    max_entries: usize,
    skip: Vec<(u64, u64)>,
    git: GitObjects,
    git_user: Option<GitUser>,
    memory: Mutex<Memory>,
}

/// If the changed files have at least this many bytes in total, the files that git has are not copied.
const FEW_BYTES: u64 = 4 << 20;

/// Cached information about the store.
#[derive(Debug, Default)]
struct Memory {
    latest: Option<LatestCheckpoint>,
    /// Checkpoints that could not be written. They can be compared, and restored as far as their contents are stored.
    unsaved: Vec<(Head, Arc<State>)>,
    /// Tells other processes that this one is running, once a session started its work.
    alive: Option<Alive>,
    written: gc::Written,
    scan_time: Option<Duration>,
}

/// The newest checkpoint, with the timestamps of the latest scan.
#[derive(Debug, Clone)]
struct LatestCheckpoint {
    head: Head,
    state: Arc<State>,
    /// The number of rows in the manifests since the last one that lists every entry.
    chained: usize,
}

impl Checkpoints {
    /// Opens the checkpoints of a directory and cleans up after a killed restore.
    ///
    /// If the store cannot be created or read, this is not an error: checkpoints are kept in memory, and their coverage
    /// reports it.
    ///
    /// # Errors
    /// Returns `NotFound` or `NotADirectory` for the directory; `InvalidArgument` if the store is inside it, but not in
    /// a skipped path.
    pub fn open(root: &Path, options: &OpenOptions) -> Result<Checkpoints> {
        let failed = |cause: &io::Error| Error::io(format!("checkpoints: failed to open {root:?}"), cause);
        let root = std::fs::canonicalize(root).map_err(|cause| failed(&cause))?;
        let directory = Directory::open(&root).map_err(|errno| failed(&errno.into()))?;
        let base = resolve(&options.store);
        let is_skipped = options.skip.iter().any(|path| base.starts_with(resolve(path)));
        if base.starts_with(&root) && !is_skipped {
            return Err(Error::invalid(format!(
                "checkpoints: the store {:?} lies inside the directory {root:?}; choose a folder outside of it",
                options.store
            )));
        }
        let mut skip = Vec::new();
        for path in &options.skip {
            if let Ok(stat) = rustix::fs::stat(path) {
                let row = Row::of(b"", &stat, 0);
                skip.push((row.device, row.inode));
            }
        }
        let store = Store::open(&base, &root).map_err(|cause| store_problem(&cause));
        let git = GitObjects::new(store.as_ref().map(|store| store.folder.join("git")).unwrap_or_default());
        let (limits, max_entries) = (options.limits, options.max_entries.unwrap_or(usize::MAX));
        let git_user = options.git_user.clone();
        let checkpoints =
            Checkpoints { root, directory, store, limits, max_entries, skip, git, git_user, memory: Mutex::default() };
        if let Ok(store) = &checkpoints.store
            && let Ok(Some(_lock)) = store.try_lock()
        {
            checkpoints.clean(store)?;
        }
        Ok(checkpoints)
    }

    /// Returns the directory, with all links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns how long the latest scan of the whole directory took, without reading the contents of files that changed.
    /// `None` before the first one.
    #[must_use]
    pub fn scan_time(&self) -> Option<Duration> {
        self.memory.lock().scan_time
    }

    /// Scans the whole directory without recording anything, to update [`Checkpoints::scan_time`]. The lock of the store
    /// is not acquired, so that other calls do not wait for a slow scan.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read, has too many entries, or if the call is cancelled.
    pub fn measure_scan(&self, cancel: &CancelToken) -> Result<Duration> {
        let latest = self.latest();
        let empty = State::default();
        let before = latest.as_ref().map_or(&empty, |latest| &*latest.state);
        let options = ScanOptions { scope: Scope::All, skip: &self.skip, max_entries: self.max_entries };
        let begun = Instant::now();
        scan(&self.directory, before, options, cancel)?;
        let time = begun.elapsed();
        self.memory.lock().scan_time = Some(time);
        Ok(time)
    }

    /// Cleans up after a killed process. The caller must have the lock.
    fn clean(&self, store: &Store) -> Result<()> {
        journal::recover(store, &self.directory)
            .map_err(|cause| Error::io("checkpoints: failed to clean up after a restore", &cause))?;
        // Remaining files are harmless, and the next call tries again.
        let _ = store.remove_temporary();
        let _ = stretches::remove_dead(store);
        Ok(())
    }

    /// Acquires the lock of the store, and cleans up after its last owner.
    fn lock(&self, cancel: &CancelToken) -> Result<Option<FileLock>> {
        let Ok(store) = &self.store else { return Ok(None) };
        if !store.folder.join("temporary").is_dir() {
            // The store was deleted.
            store.create(&self.root).map_err(|cause| Error::io("checkpoints: failed to create the store", &cause))?;
        }
        let lock = store.lock(cancel)?;
        self.clean(store)?;
        store.contents.refresh().map_err(|cause| Error::io("checkpoints: failed to read the store", &cause))?;
        Ok(Some(lock))
    }

    /// Returns the newest checkpoint. An unreadable one is treated as missing, so that the next one lists every entry.
    fn latest(&self) -> Option<LatestCheckpoint> {
        let mut memory = self.memory.lock();
        let newest = self.store.as_ref().ok().and_then(|store| store.names().ok()?.pop());
        let Some(newest) = newest else {
            // The store was deleted with its checkpoints; a checkpoint that was never saved is still in memory.
            let is_unsaved =
                |latest: &LatestCheckpoint| memory.unsaved.iter().any(|(head, _)| head.id == latest.head.id);
            return memory.latest.clone().filter(|latest| is_unsaved(latest));
        };
        let is_known = |latest: &LatestCheckpoint| latest.head.id >= newest;
        if !memory.latest.as_ref().is_some_and(is_known) {
            let store = self.store.as_ref().ok()?;
            let head = store.head(&newest).ok();
            let loaded = head.and_then(|head| Some((head, store.state(&newest).ok()?)));
            memory.latest =
                loaded.map(|(head, (state, chained))| LatestCheckpoint { head, state: Arc::new(state), chained });
        }
        memory.latest.clone()
    }

    /// Returns the state of a checkpoint.
    pub(crate) fn state(&self, id: &str) -> Result<Arc<State>> {
        {
            let memory = self.memory.lock();
            let unsaved = memory.unsaved.iter().find(|(head, _)| head.id == id);
            let latest = memory.latest.as_ref().filter(|latest| latest.head.id == id).map(|latest| &latest.state);
            if let Some(state) = unsaved.map(|(_, state)| state).or(latest) {
                return Ok(Arc::clone(state));
            }
        }
        match &self.store {
            Ok(store) => Ok(Arc::new(store.state(id)?.0)),
            Err(problem) => Err(Error::new(ErrorCode::NotFound, format!("checkpoint {id} is not there: {problem}"))),
        }
    }

    /// Scans the directory and reads the files that changed since `latest`. With a pack, their contents are stored.
    fn read_tree(
        &self,
        latest: &State,
        scope: Scope<'_>,
        pack: Option<&mut PackWriter<'_>>,
        cancel: &CancelToken,
    ) -> Result<(State, Option<io::Error>)> {
        let options = ScanOptions { scope, skip: &self.skip, max_entries: self.max_entries };
        let begun = Instant::now();
        let mut rows = scan(&self.directory, latest, options, cancel)?.into_rows();
        if matches!(scope, Scope::All) {
            self.memory.lock().scan_time = Some(begun.elapsed());
        }
        let pending: u64 = rows.iter().filter(|row| row.content == Content::Pending).map(|row| row.size).sum();
        // For a few files, copying is cheaper than reading git's indexes.
        let mut state = State::new(rows);
        let mut git = (pack.is_some() && pending > FEW_BYTES).then(|| self.git.source(&self.root, &state));
        let user = self.git_user.as_ref().filter(|_| git.is_some());
        let clean = user.map(|user| clean_files(&self.directory, &state, user)).unwrap_or_default();
        rows = state.into_rows();
        let mut reader = ContentReader::new(&self.directory, self.limits, pack, git.as_mut());
        reader.clean = clean;
        let ignored = if pending > self.limits.checkpoint { self.ignored(cancel)? } else { HashSet::new() };
        reader.read_all(&mut rows, &ignored, cancel)?;
        let mut failure = reader.failure.take();
        if let Some(git) = git {
            failure = failure.or(git.finish().err());
        }
        state = State::new(rows);
        Ok((state, failure))
    }

    /// Returns the files that match ignore rules. They are skipped first if the limit does not allow all.
    fn ignored(&self, cancel: &CancelToken) -> Result<HashSet<Box<[u8]>>> {
        let options = sinew_walk::ScanOptions {
            gitignore: false,
            skip_node_modules: false,
            ..sinew_walk::ScanOptions::new(&self.root)
        };
        // The calling thread does the work.
        let scan = sinew_walk::scan(&options, &Pool::new("sinew-checkpoint", 1), cancel)?;
        Ok(scan.iter().filter(|entry| entry.ignored()).map(|entry| entry.bytes().into()).collect())
    }

    /// Records the current state of the directory. If nothing changed since the latest checkpoint, nothing is written
    /// and the result has its id. `cancel` is checked before each file and every 128 entries.
    ///
    /// # Errors
    /// Returns an error if the call is cancelled, if the lock of the store cannot be acquired, or `LimitExceeded` if
    /// the directory has too many entries. A store that cannot be written is not an error but reported in the coverage.
    pub fn take(&self, options: &TakeOptions, cancel: &CancelToken) -> Result<Checkpoint> {
        let _lock = self.lock(cancel)?;
        let head = Head {
            kind: options.kind,
            label: options.label.clone(),
            session: options.session.clone(),
            ..Head::default()
        };
        let changed = options.changed.as_ref().map(|paths| paths.iter().cloned().collect());
        let event = match (options.kind, options.session.as_deref()) {
            (CheckpointKind::Start, Some(session)) => Event::Start(session),
            (CheckpointKind::End, session) => Event::End(session),
            _ => Event::None,
        };
        let (latest, problem) = self.take_with(head, changed.as_ref(), event, cancel)?;
        Ok(self.checkpoint(&latest.head, Some((&latest.state, problem)), options))
    }

    fn checkpoint(&self, head: &Head, state: Option<(&State, Option<String>)>, options: &TakeOptions) -> Checkpoint {
        let mut coverage = Coverage::default();
        if let Some((state, problem)) = state {
            coverage = changes::coverage(state, self.limits.file);
            coverage.gaps.extend(problem);
        }
        Checkpoint {
            id: head.id.clone(),
            time: head.time,
            kind: options.kind,
            label: options.label.clone(),
            session: options.session.clone(),
            coverage,
        }
    }

    /// Creates a checkpoint under the lock, and records the event of a session. Returns it, and why something could not
    /// be written.
    fn take_with(
        &self,
        head: Head,
        changed: Option<&HashSet<Vec<u8>>>,
        event: Event<'_>,
        cancel: &CancelToken,
    ) -> Result<(LatestCheckpoint, Option<String>)> {
        let Ok(store) = &self.store else { return self.take_locked(head, changed, false, cancel) };
        let mut stretches = Stretches::read(store);
        let owner = match event {
            Event::Start(_) | Event::Claim(..) => self.owner(store),
            _ => Ok(self.memory.lock().alive.as_ref().map_or_else(String::new, |alive| alive.owner.clone())),
        };
        let name = owner.as_deref().unwrap_or_default();
        let newest = store.names().ok().and_then(|mut names| names.pop()).unwrap_or_default();
        let always = stretches.needs_own_id(event, name, &newest);
        let (latest, problem) = self.take_locked(head, changed, always, cancel)?;
        stretches.record(event, name, &latest.head.id, |owner| stretches::is_alive(store, owner));
        let written = stretches.write(store).map_err(|cause| store_problem(&cause));
        // A session that others cannot see is reported, because they may undo its changes.
        let unseen = owner.err().map(|error| error.message().to_string());
        Ok((latest, problem.or(written.err()).or(unseen)))
    }

    /// Returns the name by which other processes see that this one is running.
    fn owner(&self, store: &Store) -> Result<String> {
        let mut memory = self.memory.lock();
        match memory.alive.as_ref().filter(|alive| alive.is_in(store)) {
            Some(alive) => Ok(alive.owner.clone()),
            None => Ok(memory.alive.insert(Alive::new(store)?).owner.clone()),
        }
    }

    /// Creates a checkpoint under the lock; returns it, and why it could not be written.
    fn take_locked(
        &self,
        head: Head,
        changed: Option<&HashSet<Vec<u8>>>,
        always: bool,
        cancel: &CancelToken,
    ) -> Result<(LatestCheckpoint, Option<String>)> {
        let latest = self.latest();
        let empty = State::default();
        let before = latest.as_ref().map_or(&empty, |latest| &*latest.state);
        if let Some(latest) = latest.as_ref().filter(|_| !always && changed.is_some_and(HashSet::is_empty)) {
            // The caller watches the directory and knows that nothing changed.
            return Ok((latest.clone(), self.store.as_ref().err().cloned()));
        }
        let scope = match changed {
            Some(changed) if latest.is_some() => Scope::Directories(changed),
            _ => Scope::All,
        };
        let id = self.new_name()?;
        let mut pack = self.store.as_ref().ok().map(|store| store.contents.writer(&id));
        let (mut state, mut failure) = self.read_tree(before, scope, pack.as_mut(), cancel)?;
        let delta = before.delta(&state);
        if let Some(latest) = latest.as_ref().filter(|_| delta.is_empty() && !always) {
            let latest = LatestCheckpoint { state: Arc::new(state), ..latest.clone() };
            self.memory.lock().latest = Some(latest.clone());
            return Ok((latest, self.store.as_ref().err().cloned()));
        }
        if let Some(pack) = pack.filter(|_| failure.is_none()) {
            failure = pack.finish().err();
        }
        if failure.is_some() || self.store.is_err() {
            state = self.without_lost(state);
        }
        let written = self.write(Head { id, time: now_ms(), ..head }, state, latest.as_ref(), failure)?;
        if let Ok(store) = &self.store {
            let bytes = store.size_of(&written.0.head.id);
            self.collect(store, bytes, written.0.head.session.as_deref(), None, cancel);
        }
        Ok(written)
    }

    /// Collects if `bytes` were added and a limit is exceeded now. `kept` and later checkpoints stay.
    fn collect(&self, store: &Store, bytes: u64, session: Option<&str>, kept: Option<&str>, cancel: &CancelToken) {
        let is_due = self.memory.lock().written.add(bytes, &self.limits);
        if is_due && gc::exceeds(store, &self.limits, session) {
            // The work of the call is done. A collection that failed is tried again by a later call.
            let _ = gc::collect(store, &self.git, &self.limits, kept, cancel);
        }
    }

    /// Marks the files whose content was not written to the store.
    fn without_lost(&self, state: State) -> State {
        let mut rows = state.into_rows();
        for row in &mut rows {
            if let Content::Stored(hash, _) = &row.content
                && !self.store.as_ref().is_ok_and(|store| store.contents.has(hash))
            {
                row.content = Content::Missing(Gap::StoreFailed);
                row.racy = true;
            }
        }
        State::new(rows)
    }

    fn new_name(&self) -> Result<String> {
        match &self.store {
            Ok(store) => store.new_name().map_err(|cause| Error::io("checkpoints: failed to read the store", &cause)),
            Err(_) => Ok(format!("{:010}-memory", self.memory.lock().unsaved.len() + 1)),
        }
    }

    /// Writes a checkpoint; if this fails, the checkpoint stays in memory.
    fn write(
        &self,
        mut head: Head,
        state: State,
        latest: Option<&LatestCheckpoint>,
        failure: Option<io::Error>,
    ) -> Result<(LatestCheckpoint, Option<String>)> {
        let mut chained = 0;
        let mut problem = self.store.as_ref().err().cloned().or(failure.as_ref().map(store_problem));
        if let Ok(store) = &self.store {
            let empty = State::default();
            // A manifest that lists everything is written when reading the chain would cost as much.
            let is_saved = |latest: &&LatestCheckpoint| store.head(&latest.head.id).is_ok();
            let base = latest.filter(|latest| latest.chained < state.rows().len().max(100)).filter(is_saved);
            head.base = base.map(|latest| latest.head.id.clone());
            let delta = base.map_or(&empty, |latest| &*latest.state).delta(&state);
            chained = base.map_or(0, |latest| latest.chained + delta.len());
            if let Err(cause) = store.write(&head, &delta) {
                problem = Some(store_problem(&cause));
            } else if problem.is_none() {
                let latest = LatestCheckpoint { head, state: Arc::new(state), chained };
                self.memory.lock().latest = Some(latest.clone());
                return Ok((latest, None));
            }
        }
        let latest = LatestCheckpoint { head, state: Arc::new(state), chained };
        let mut memory = self.memory.lock();
        memory.unsaved.push((latest.head.clone(), Arc::clone(&latest.state)));
        memory.latest = Some(latest.clone());
        Ok((latest, problem))
    }

    /// Records the state of some paths right before the caller writes to them. Only their directories are read.
    ///
    /// # Errors
    /// Returns the errors of [`Checkpoints::take`].
    pub fn note(&self, paths: &[Vec<u8>], session: Option<&str>, cancel: &CancelToken) -> Result<Checkpoint> {
        let _lock = self.lock(cancel)?;
        let changed = paths.iter().map(|path| crate::row::parent_of(path).to_vec()).collect();
        let session = session.map(str::to_string);
        let head = Head { kind: CheckpointKind::Note, session: session.clone(), ..Head::default() };
        let event = session.as_deref().map_or(Event::None, |session| Event::Claim(session, paths));
        let (latest, problem) = self.take_with(head, Some(&changed), event, cancel)?;
        let options = TakeOptions { kind: CheckpointKind::Note, session, ..TakeOptions::default() };
        Ok(self.checkpoint(&latest.head, Some((&latest.state, problem)), &options))
    }

    /// Returns all checkpoints of the directory, oldest first. Unreadable ones are skipped. Their coverage is not
    /// computed and empty.
    ///
    /// # Errors
    /// Returns an error if the store cannot be listed.
    pub fn list(&self) -> Result<Vec<Checkpoint>> {
        let mut heads = Vec::new();
        if let Ok(store) = &self.store {
            let names = store.names().map_err(|cause| Error::io("checkpoints: failed to read the store", &cause))?;
            heads.extend(names.iter().filter_map(|name| store.head(name).ok()));
        }
        heads.extend(self.memory.lock().unsaved.iter().map(|(head, _)| head.clone()));
        let checkpoint = |head: Head| Checkpoint {
            id: head.id,
            time: head.time,
            kind: head.kind,
            label: head.label,
            session: head.session,
            coverage: Coverage::default(),
        };
        Ok(heads.into_iter().map(checkpoint).collect())
    }

    /// Returns the size of the store.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub fn usage(&self) -> Result<Usage> {
        let Ok(store) = &self.store else { return Ok(Usage::default()) };
        gc::usage(store).map_err(|cause| Error::io("checkpoints: failed to read the store", &cause))
    }

    /// Reduces the store to its limits: removes the oldest checkpoints, and contents that no other checkpoint needs.
    /// The newest checkpoint is kept. [`Checkpoints::take`] and [`Checkpoints::restore`] do the same when a limit is
    /// exceeded.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written or the call is cancelled; checkpoints removed before that stay
    /// removed.
    pub fn gc(&self, cancel: &CancelToken) -> Result<CollectResult> {
        let _lock = self.lock(cancel)?;
        let Ok(store) = &self.store else { return Ok(CollectResult::default()) };
        gc::collect(store, &self.git, &self.limits, None, cancel)
    }

    /// Returns the changes between two checkpoints.
    ///
    /// # Errors
    /// Returns `NotFound` or `InvalidData` if one of them is no longer in the store.
    pub fn changes(&self, from: &str, to: &str, cancel: &CancelToken) -> Result<Changes> {
        let (from, to) = (self.state(from)?, self.state(to)?);
        cancel.check()?;
        let (entries, is_truncated) = changes::changes(&from, &to);
        let mut coverage = changes::coverage(&from, self.limits.file);
        for gap in changes::coverage(&to, self.limits.file).gaps {
            if !coverage.gaps.contains(&gap) {
                coverage.gaps.push(gap);
            }
        }
        Ok(Changes { entries, is_truncated, coverage })
    }

    fn steps(&self, id: &str, spans: &[Span], now: &State, options: &RestoreOptions) -> (Steps, Plan) {
        let has_content = |row: &Row| match &row.content {
            Content::Stored(hash, id) => {
                self.store.as_ref().is_ok_and(|store| store.contents.has(hash)) || self.git.has(id)
            }
            Content::Git(id) => self.git.has(id),
            // The file may be at another path in the tree, or an undo may have moved it into the store.
            _ => {
                now.rows().iter().any(|other| other.path != row.path && other.is_same_version(row))
                    || self.store.as_ref().is_ok_and(|store| store.moved_path(row).exists())
            }
        };
        let is_moved = |path: &[u8]| self.store.as_ref().is_ok_and(|store| store.repository_path(id, path).exists());
        let (has_content, is_moved) = (&has_content, &is_moved);
        let planner = Planner { spans, now, options, has_content, is_moved };
        if spans.is_empty() {
            return (Steps::new(), Plan::default());
        }
        let steps = planner.steps();
        let plan = plan::plan(&planner, &steps, &self.root, self.limits.file);
        (steps, plan)
    }

    /// Returns what [`Checkpoints::restore`] would do. Nothing is written to the directory or to the store.
    ///
    /// # Errors
    /// Returns `NotFound` or `InvalidData` if a checkpoint is no longer in the store, and an error if the call is
    /// cancelled.
    pub fn plan(&self, id: &str, options: &RestoreOptions, cancel: &CancelToken) -> Result<Plan> {
        self.plan_with_contents(id, options, 0, cancel, &mut |_, _, _| ())
    }

    /// Does the same as [`Checkpoints::plan`], and passes the earlier and the current content of each changed file to
    /// `see`; a missing file is empty. `most` limits the bytes of all contents together: the files after that are not
    /// passed, and neither are those whose content is not available.
    ///
    /// # Errors
    /// Returns the errors of [`Checkpoints::plan`].
    pub fn plan_with_contents(
        &self,
        id: &str,
        options: &RestoreOptions,
        most: u64,
        cancel: &CancelToken,
        see: ContentVisitor<'_>,
    ) -> Result<Plan> {
        let _lock = self.lock(cancel)?;
        let latest = self.latest();
        let empty = State::default();
        let before = latest.as_ref().map_or(&empty, |latest| &*latest.state);
        let now = Arc::new(self.read_tree(before, Scope::All, None, cancel)?.0);
        let spans = self.spans(id, options, &now)?;
        let (steps, plan) = self.steps(id, &spans, &now, options);
        let mut left = most;
        for (step, entry) in steps.values().zip(&plan.entries) {
            let size = |row: &Option<Row>| row.as_ref().map_or(0, |row| row.size);
            let both = size(&step.then).saturating_add(size(&step.now));
            if both > left {
                continue;
            }
            cancel.check()?;
            if let (Some(then), Some(now)) = (self.content(step.then.as_ref()), self.current(step.now.as_ref())) {
                left -= both;
                see(entry, &then, &now);
            }
        }
        Ok(plan)
    }

    /// Returns the content of a recorded file, empty if it was missing; `None` if it is not available or not a file.
    fn content(&self, row: Option<&Row>) -> Option<Vec<u8>> {
        let Some(row) = row else { return Some(Vec::new()) };
        match (row.kind, &row.content) {
            (Kind::File, Content::Stored(hash, id)) => {
                let stored = self.store.as_ref().ok().and_then(|store| store.contents.read(hash).ok());
                stored.or_else(|| self.git.read(id))
            }
            (Kind::File, Content::Git(id)) => self.git.read(id),
            _ => None,
        }
    }

    /// Returns the content of a file in the directory, empty if it is missing; `None` if it cannot be read or is not a
    /// file.
    fn current(&self, row: Option<&Row>) -> Option<Vec<u8>> {
        let Some(row) = row else { return Some(Vec::new()) };
        if row.kind != Kind::File {
            return None;
        }
        let (folder, name) = self.directory.open_parent(&row.path).ok()?;
        let file = folder.open_file(name).ok()?;
        let mut bytes = Vec::new();
        // A file that grows meanwhile is cut off.
        file.take(row.size).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Undoes the changes since a checkpoint: all of them, or those inside the spans. For the `redo` of an earlier
    /// restore, it undoes the changes of that restore. After `cancel`, no further entry is started; the result names
    /// the remaining ones.
    ///
    /// # Errors
    /// Returns `NotFound` or `InvalidData` if a checkpoint is no longer in the store; an error if the store cannot be
    /// written, because the restore could then not be undone, or if the call is cancelled before the first change.
    pub fn restore(&self, id: &str, options: &RestoreOptions, cancel: &CancelToken) -> Result<RestoreResult> {
        let _lock = self.lock(cancel)?;
        let store = self.store.as_ref().map_err(|problem| {
            Error::new(ErrorCode::Io, format!("restore: {problem}, so that nothing could be redone"))
        })?;
        let latest = self.latest();
        let empty = State::default();
        let before = latest.as_ref().map_or(&empty, |latest| &*latest.state);
        let redo_id = self.new_name()?;
        let mut pack = store.contents.writer(&redo_id);
        let (state, failure) = self.read_tree(before, Scope::All, Some(&mut pack), cancel)?;
        let now = Arc::new(state);
        let spans = self.spans(id, options, &now)?;
        let (steps, plan) = self.steps(id, &spans, &now, options);
        let planned = plan.count();
        if planned == 0 {
            return Ok(RestoreResult { plan, ..RestoreResult::default() });
        }
        let unwritable = |cause: &io::Error| Error::io("restore: failed to write the checkpoint for redo", cause);
        match failure {
            Some(cause) => return Err(unwritable(&cause)),
            None => pack.finish().map_err(|cause| unwritable(&cause))?,
        }
        let head = Head { id: redo_id.clone(), time: now_ms(), kind: CheckpointKind::Redo, ..Head::default() };
        let (latest, problem) = self.write(head, (*now).clone(), latest.as_ref(), None)?;
        if let Some(problem) = problem {
            return Err(Error::new(ErrorCode::Io, format!("restore: {problem}, so that nothing could be redone")));
        }
        cancel.check()?;
        let steps = self.carry_out(store, (id, &redo_id), steps, &now, &latest, cancel)?;
        let plan = Plan { entries: plan::entries(&steps), ..plan };
        let done = plan.count();
        // Files that were moved into the store count too, and their sizes are not known here.
        self.collect(store, u64::MAX, None, Some(&redo_id), cancel);
        Ok(RestoreResult { plan, redo: Some(redo_id), done, planned })
    }

    /// Executes the steps and writes the checkpoint of their result. `undone` is restored, and `redo` undoes this.
    fn carry_out(
        &self,
        store: &Store,
        (undone, redo): (&str, &str),
        steps: Steps,
        now: &State,
        latest: &LatestCheckpoint,
        cancel: &CancelToken,
    ) -> Result<Steps> {
        let failed = |cause: &io::Error| Error::io("restore: failed to prepare", cause);
        let mut journal = Journal::begin(store, redo).map_err(|cause| failed(&cause))?;
        journal.open_directory(&self.directory, b"").map_err(|cause| failed(&cause))?;
        let stage = RestoreStage::create(store, &self.git, &self.directory, &journal.temporary)
            .map_err(|errno| failed(&errno.into()))?;
        let restorer = Restorer { root: &self.directory, stage, journal, steps, now, undone, redo };
        let (steps, mut delta) =
            restorer.run(cancel).map_err(|cause| Error::io("restore: failed to clean up", &cause))?;
        delta.sort_by(|one, two| compare_paths(&one.0, &two.0));
        let state = now.clone().apply(&delta);
        let head = Head {
            id: self.new_name()?,
            time: now_ms(),
            kind: CheckpointKind::Restored,
            redo: Some(redo.to_string()),
            ..Head::default()
        };
        self.write(head, state, Some(latest), None)?;
        Ok(steps)
    }
}

/// Returns a path with all links resolved, even if its last names do not exist yet.
fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    for folder in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (std::fs::canonicalize(folder), absolute.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    absolute
}

fn store_problem(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => "store is read-only".into(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "store is full".into(),
        _ => format!("store cannot be written: {}", crate::stage::io_words(cause)),
    }
}
