//! The checkpoints of the directory in which sessions work.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sinew::Sinew;
use sinew::base::{CancelToken, Error, ErrorCode, Result};
use sinew::checkpoint::{CheckpointKind, Checkpoints, GitUser, Limits, OpenOptions, TakeOptions};
use tokio::sync::watch;

use super::watcher::ChangeWatcher;

/// The reason if undo is off or unsupported.
pub const OFF: &str = match cfg!(unix) {
    true => "undo is off: the setting checkpoint.enabled is false",
    false => "undo is not available on this system",
};

/// Larger directories have no checkpoints.
const MOST_ENTRIES: usize = 500_000;
/// A slow scan is repeated to measure it only after this many times its duration, so that measuring costs little.
const REST: u32 = 20;

/// Reported while some directories have no watch, so that every checkpoint reads everything.
pub(super) const WATCH_LIMIT: &str = "watch limit reached: scanned";

/// The options of a [`CheckpointStore`].
#[derive(Clone)]
pub struct StoreOptions {
    /// The working directory of the sessions.
    pub root: PathBuf,
    /// The folder of the store; it must be outside of the directory or in a skipped path.
    pub store: PathBuf,
    /// Paths that no checkpoint contains, such as the program's own folder.
    pub skip: Vec<PathBuf>,
    /// The user's home directory, which never has checkpoints. Default: none.
    pub home: Option<PathBuf>,
    /// The value of `XDG_CONFIG_HOME`, for the user's settings of git. Default: `.config` in the home directory.
    pub config: Option<PathBuf>,
    /// The maximum size of a file whose old content is stored, in bytes.
    pub max_file_bytes: u64,
    /// How long the first program waits for the first checkpoint.
    pub wait: Duration,
    /// The maximum number of entries; a larger directory has no checkpoints. Default: 500,000.
    pub max_entries: usize,
    /// Watches the directory, so that a checkpoint reads only changed directories. Default: none, so that each one
    /// reads everything.
    pub sinew: Option<Arc<Sinew>>,
    /// The maximum number of watched directories. Default: the limit of `sinew::watch::WatchOptions`.
    pub max_watches: Option<usize>,
    /// If a scan of the directory takes longer, it is not scanned around each call. Default: 300 ms.
    pub longest_scan: Duration,
}

impl StoreOptions {
    /// Returns the options of a directory with the default limits.
    #[must_use]
    pub fn new(root: &Path, store: &Path) -> StoreOptions {
        StoreOptions {
            root: root.to_path_buf(),
            store: store.to_path_buf(),
            skip: Vec::new(),
            home: None,
            config: None,
            max_file_bytes: Limits::default().file,
            wait: Duration::from_millis(300),
            max_entries: MOST_ENTRIES,
            sinew: None,
            max_watches: None,
            longest_scan: Duration::from_millis(300),
        }
    }
}

/// The state of the first checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Baseline {
    NotStarted,
    Running,
    Complete,
    /// The directory has no checkpoints, with the reason.
    Off(String),
}

/// The checkpoint at one end of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Border {
    /// The checkpoint.
    pub(super) id: String,
    /// The contents that could not be stored.
    pub(super) gaps: Vec<String>,
}

/// The result of a scan for changes without a notification.
pub(super) struct Proof {
    /// The previous checkpoint; `None` if it did not read everything.
    pub(super) before: Option<Border>,
    /// The checkpoint of the scan.
    pub(super) after: Border,
    /// Whether notifications arrived since the previous checkpoint, so that the changes may have several authors.
    pub(super) has_several_authors: bool,
}

/// The checkpoints of one directory, shared by all of its sessions. The first one is created in the background.
pub struct CheckpointStore {
    options: StoreOptions,
    checkpoints: Mutex<Option<Arc<Checkpoints>>>,
    baseline: watch::Sender<Baseline>,
    /// Whether the reason why undo is off was reported.
    is_told: Mutex<bool>,
    /// When the last scan began that only measured its duration.
    measured: Mutex<Option<Instant>>,
    latest: Mutex<LatestBorder>,
}

/// The latest checkpoint of this program, and the changes since then.
#[derive(Default)]
struct LatestBorder {
    border: Option<Border>,
    watcher: Option<ChangeWatcher>,
}

impl LatestBorder {
    /// Returns what a checkpoint reports if some directories cannot be watched.
    fn watch_limit(&self) -> Option<String> {
        let is_limited = self.watcher.as_ref().is_some_and(|watcher| !watcher.is_complete());
        is_limited.then(|| WATCH_LIMIT.to_string())
    }
}

impl std::fmt::Debug for CheckpointStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckpointStore").field("root", &self.options.root).finish_non_exhaustive()
    }
}

impl CheckpointStore {
    /// Creates the store without opening anything.
    #[must_use]
    pub fn new(options: StoreOptions) -> CheckpointStore {
        let is_home = options.home.as_ref().is_some_and(|home| is_same(home, &options.root));
        let baseline = if options.root.parent().is_none() {
            Baseline::Off("undo is off in the root of the file system".into())
        } else if is_home {
            Baseline::Off("undo is off in the home directory; start Sinew in a directory below it".into())
        } else {
            Baseline::NotStarted
        };
        CheckpointStore {
            options,
            checkpoints: Mutex::default(),
            baseline: watch::Sender::new(baseline),
            is_told: Mutex::default(),
            measured: Mutex::default(),
            latest: Mutex::default(),
        }
    }

    /// Returns the directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.options.root
    }

    /// Returns the maximum size of a file whose old content is stored, in bytes.
    #[must_use]
    pub fn max_file_bytes(&self) -> u64 {
        self.options.max_file_bytes
    }

    /// Returns why the directory has no checkpoints; `None` if it has.
    #[must_use]
    pub fn off_reason(&self) -> Option<String> {
        match &*self.baseline.borrow() {
            Baseline::Off(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    /// Returns the same on the first call, and `None` afterwards.
    pub(super) fn take_off_reason(&self) -> Option<String> {
        let reason = self.off_reason()?;
        let mut is_told = self.is_told.lock();
        (!std::mem::replace(&mut *is_told, true)).then_some(reason)
    }

    /// Returns the open checkpoints. Blocks while they are opened.
    ///
    /// # Errors
    /// Returns an error if the directory has no checkpoints or cannot be opened.
    pub fn checkpoints(&self) -> Result<Arc<Checkpoints>> {
        if let Some(reason) = self.off_reason() {
            return Err(Error::new(ErrorCode::Unsupported, reason));
        }
        let mut open = self.checkpoints.lock();
        if let Some(checkpoints) = &*open {
            return Ok(Arc::clone(checkpoints));
        }
        let options = OpenOptions {
            store: self.options.store.clone(),
            skip: self.options.skip.clone(),
            limits: Limits { file: self.options.max_file_bytes, ..Limits::default() },
            max_entries: Some(self.options.max_entries),
            git_user: self.options.home.clone().map(|home| GitUser { home, config: self.options.config.clone() }),
        };
        let checkpoints = Arc::new(Checkpoints::open(&self.options.root, &options)?);
        *open = Some(Arc::clone(&checkpoints));
        Ok(checkpoints)
    }

    /// Starts the first checkpoint in the background, at most once.
    pub(super) fn begin(self: &Arc<CheckpointStore>) {
        let begins = self.baseline.send_if_modified(|state| {
            let begins = *state == Baseline::NotStarted;
            if begins {
                *state = Baseline::Running;
            }
            begins
        });
        if begins {
            let store = Arc::clone(self);
            tokio::task::spawn_blocking(move || {
                store.watch();
                let done = match store.take(CheckpointKind::Start, None, None) {
                    Ok(_) => Baseline::Complete,
                    Err(error) if error.code() == ErrorCode::LimitExceeded => {
                        let most = store.options.max_entries;
                        Baseline::Off(format!("undo is off: the directory has more than {most} entries"))
                    }
                    Err(error) => Baseline::Off(format!("undo is off: {}", error.message())),
                };
                // The first scan also waits for the disk, so its duration says little about later ones.
                store.measure_if_slow();
                store.baseline.send_replace(done);
            });
        } else if *self.baseline.borrow() == Baseline::Complete && self.is_advisory() {
            let store = Arc::clone(self);
            tokio::task::spawn_blocking(move || store.measure_if_slow());
        }
    }

    /// Scans the directory again if the latest scan was too slow, unless another such scan just ended. Blocks.
    fn measure_if_slow(&self) {
        if !self.is_advisory() {
            return;
        }
        {
            let pause = self.scan_time().unwrap_or_default() * REST;
            let mut measured = self.measured.lock();
            if measured.is_some_and(|begun| begun.elapsed() < pause) {
                return;
            }
            *measured = Some(Instant::now());
        }
        if let Ok(checkpoints) = self.checkpoints() {
            // After an error, the next scan measures again.
            let _ = checkpoints.measure_scan(&CancelToken::never());
        }
    }

    fn scan_time(&self) -> Option<Duration> {
        self.checkpoints.lock().as_ref().and_then(|checkpoints| checkpoints.scan_time())
    }

    /// Waits for the first checkpoint, limited by the time in the options. Returns false if it is not complete by then,
    /// or if undo is off.
    pub(super) async fn ready(self: &Arc<CheckpointStore>) -> bool {
        self.begin();
        let mut states = self.baseline.subscribe();
        let ended = states.wait_for(|state| *state != Baseline::Running);
        // The sender lives as long as `self`.
        matches!(tokio::time::timeout(self.options.wait, ended).await, Ok(Ok(state)) if *state == Baseline::Complete)
    }

    /// Starts to watch the directory. If that fails, every checkpoint reads everything.
    fn watch(&self) {
        let most = self.options.max_watches;
        let watcher =
            self.options.sinew.as_ref().and_then(|sinew| ChangeWatcher::open(sinew, &self.options.root, most).ok());
        self.latest.lock().watcher = watcher;
    }

    /// Returns true if a checkpoint reads only directories with change notifications.
    pub(super) fn is_watched(&self) -> bool {
        self.latest.lock().watcher.as_ref().is_some_and(ChangeWatcher::is_complete)
    }

    /// Returns true if a scan of the directory is so slow that only the directories of edited files are scanned.
    pub(super) fn is_advisory(&self) -> bool {
        self.scan_time().is_some_and(|time| time > self.options.longest_scan) && !self.is_watched()
    }

    /// Returns why calls are not covered while the store is advisory.
    pub(super) fn advisory_reason(&self) -> String {
        let limit = self.latest.lock().watch_limit().map(|reason| format!(" ({reason})")).unwrap_or_default();
        format!("scanning {} takes too long{limit}", self.options.root.display())
    }

    /// Creates a checkpoint. `folders` names the directories to read; `None` reads those that changed. Blocks.
    ///
    /// # Errors
    /// Returns the errors of [`Checkpoints::take`].
    pub(super) fn take(
        &self,
        kind: CheckpointKind,
        session: Option<&str>,
        folders: Option<&HashSet<Vec<u8>>>,
    ) -> Result<Border> {
        let mut latest = self.latest.lock();
        let limit = latest.watch_limit();
        let LatestBorder { border, watcher } = &mut *latest;
        // The next result of the watcher contains all later changes.
        let changed = watcher.as_mut().and_then(ChangeWatcher::changed);
        let before = border.take();
        let scope = match (folders, changed, before) {
            (Some(folders), ..) => Some(folders.clone()),
            (None, Some(changed), Some(_)) => Some(changed),
            _ => None,
        };
        let mut taken = self.read(kind, session, scope)?;
        taken.gaps.extend(limit);
        // After an error, and after a scan of some directories only, the next checkpoint reads everything.
        *border = folders.is_none().then(|| taken.clone());
        Ok(taken)
    }

    /// Reads everything, regardless of notifications, to find changes that no watch reports. Blocks.
    ///
    /// # Errors
    /// Returns the errors of [`Checkpoints::take`].
    pub(super) fn prove(&self, session: &str) -> Result<Proof> {
        let mut latest = self.latest.lock();
        let LatestBorder { border, watcher } = &mut *latest;
        let before = border.take();
        let taken = self.read(CheckpointKind::End, Some(session), None)?;
        let changed = watcher.as_mut().and_then(ChangeWatcher::changed);
        let is_quiet = before.is_some() && changed.is_some_and(|changed| changed.is_empty());
        // The checkpoint may miss changes that were reported meanwhile, so the next one checks them.
        *border = is_quiet.then(|| taken.clone());
        Ok(Proof { before, after: taken, has_several_authors: !is_quiet })
    }

    fn read(&self, kind: CheckpointKind, session: Option<&str>, folders: Option<HashSet<Vec<u8>>>) -> Result<Border> {
        let checkpoints = self.checkpoints()?;
        let changed = folders.map(|folders| folders.into_iter().collect());
        let options = TakeOptions { kind, session: session.map(str::to_string), changed, ..TakeOptions::default() };
        let taken = checkpoints.take(&options, &CancelToken::never())?;
        Ok(Border { id: taken.id, gaps: taken.coverage.gaps })
    }

    /// Records which files an edit tool is about to write. Blocks.
    ///
    /// # Errors
    /// Returns the errors of [`Checkpoints::note`].
    pub(super) fn note(&self, paths: &[Vec<u8>], session: &str) -> Result<Border> {
        let noted = self.checkpoints()?.note(paths, Some(session), &CancelToken::never())?;
        Ok(Border { id: noted.id, gaps: noted.coverage.gaps })
    }
}

fn is_same(one: &Path, two: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    real(one) == real(two)
}
