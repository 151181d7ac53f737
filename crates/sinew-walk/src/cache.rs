//! A short-lived cache of directory scans.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dashmap::{DashMap, Entry};
use parking_lot::{Condvar, Mutex};
use sinew_base::{Aborted, CancelToken, ErrorCode, Result};
use sinew_pool::Pool;

use crate::walk::scan_so_far;
use crate::{Scan, ScanOptions, scan};

/// The lifetime and the number of cached scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePolicy {
    /// The lifetime of a scan (default: 1 s). Zero disables the cache.
    pub ttl: Duration,
    /// The minimum age at which a scan without a match is repeated once (default: 200 ms).
    pub empty_recheck: Duration,
    /// The maximum number of scans (default: 16); the oldest is evicted first.
    pub max_entries: usize,
}

impl Default for CachePolicy {
    fn default() -> CachePolicy {
        CachePolicy { ttl: Duration::from_secs(1), empty_recheck: Duration::from_millis(200), max_entries: 16 }
    }
}

/// A cache of scans, keyed by their options. Shared by reference; concurrent calls for one uncached key run one scan.
#[derive(Debug, Default)]
pub struct ScanCache {
    policy: CachePolicy,
    slots: DashMap<ScanOptions, Slot>,
    /// The number of scans ever cached, which orders them by age.
    stored: AtomicU64,
}

#[derive(Debug)]
enum Slot {
    Running(Arc<InFlight>),
    Cached(CachedScan),
}

#[derive(Debug)]
struct CachedScan {
    scan: Arc<Scan>,
    /// The time when the scan started.
    started: Instant,
    order: u64,
}

/// A running scan that other threads wait for.
#[derive(Debug, Default)]
struct InFlight {
    state: Mutex<InFlightState>,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct InFlightState {
    over: bool,
    /// `None` if the scan failed: a waiting thread then scans again.
    scan: Option<Arc<Scan>>,
}

impl ScanCache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new(policy: CachePolicy) -> ScanCache {
        ScanCache { policy, ..ScanCache::default() }
    }

    /// Calls `look` with the scan, a cached one if `cached` is true. If `found` reports no match in a scan older than
    /// [`CachePolicy::empty_recheck`], scans again and calls `look` once more.
    ///
    /// Without `cached` the scan is fresh and is not stored.
    ///
    /// # Errors
    /// Returns the errors of [`scan`] and of `look`.
    pub fn query<T>(
        &self,
        options: &ScanOptions,
        cached: bool,
        pool: &Pool,
        cancel: &CancelToken,
        look: impl FnMut(&Arc<Scan>) -> Result<T>,
        found: impl Fn(&T) -> bool,
    ) -> Result<T> {
        self.query_with(options, cached, cancel, look, found, |options| scan(options, pool, cancel))
    }

    /// Does the same as [`ScanCache::query`], but a passed deadline of `cancel` is not an error: `look` gets the
    /// entries read so far, which are not cached, and the returned flag is true.
    ///
    /// # Errors
    /// Returns the errors of [`scan`] except the deadline, and those of `look`.
    pub fn query_so_far<T>(
        &self,
        options: &ScanOptions,
        cached: bool,
        pool: &Pool,
        cancel: &CancelToken,
        mut look: impl FnMut(&Arc<Scan>) -> Result<T>,
        found: impl Fn(&T) -> bool,
    ) -> Result<(T, bool)> {
        let part = Cell::new(None);
        let whole = |options: &ScanOptions| match scan_so_far(options, pool, cancel)? {
            (scan, false) => Ok(scan),
            (scan, true) => {
                part.set(Some(scan));
                Err(Aborted::Timeout.into())
            }
        };
        match self.query_with(options, cached, cancel, &mut look, found, whole) {
            // Nothing was read if this call only waited for the scan of another call.
            Err(error) if error.code() == ErrorCode::TimedOut => {
                Ok((look(&Arc::new(part.take().unwrap_or_default()))?, true))
            }
            result => result.map(|result| (result, false)),
        }
    }

    fn query_with<T>(
        &self,
        options: &ScanOptions,
        cached: bool,
        cancel: &CancelToken,
        mut look: impl FnMut(&Arc<Scan>) -> Result<T>,
        found: impl Fn(&T) -> bool,
        scan: impl Fn(&ScanOptions) -> Result<Scan>,
    ) -> Result<T> {
        if !cached || self.policy.ttl.is_zero() || self.policy.max_entries == 0 {
            return look(&Arc::new(scan(options)?));
        }
        let options = options.clone().canonical()?;
        let (current, started) = self.live_scan(&options, cancel, &scan)?;
        let result = look(&current)?;
        if found(&result) || started.elapsed() < self.policy.empty_recheck {
            return Ok(result);
        }
        drop((current, result));
        self.drop_older(&options, started);
        look(&self.live_scan(&options, cancel, &scan)?.0)
    }

    /// Removes every scan.
    pub fn clear(&self) {
        self.drop_where(|_| true);
    }

    /// Removes every scan whose root is `path` (absolute), one of its parent directories, or below it. A path that no
    /// longer exists is resolved through its existing parents.
    pub fn invalidate(&self, path: &Path) {
        let path = resolve(path);
        self.drop_where(|options| path.starts_with(&options.root) || options.root.starts_with(&path));
    }

    /// Returns the number of cached scans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.iter().filter(|slot| matches!(slot.value(), Slot::Cached(_))).count()
    }

    /// Returns true if no scan is cached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn drop_where(&self, gone: impl Fn(&ScanOptions) -> bool) {
        // A running scan may have passed the path already: threads that wait for it still get it, no others do.
        self.slots.retain(|options, _| !gone(options));
    }

    fn drop_older(&self, options: &ScanOptions, started: Instant) {
        self.slots.remove_if(options, |_, slot| matches!(slot, Slot::Cached(cached) if cached.started <= started));
    }

    /// Returns a current scan and its start time: cached, awaited or done here.
    fn live_scan(
        &self,
        options: &ScanOptions,
        cancel: &CancelToken,
        scan: impl Fn(&ScanOptions) -> Result<Scan>,
    ) -> Result<(Arc<Scan>, Instant)> {
        let ttl = self.policy.ttl;
        loop {
            cancel.check()?;
            let mut running = None;
            if let Some(slot) = self.slots.get(options) {
                match slot.value() {
                    Slot::Cached(cached) if cached.started.elapsed() < ttl => {
                        return Ok((Arc::clone(&cached.scan), cached.started));
                    }
                    Slot::Cached(_) => {}
                    Slot::Running(in_flight) => running = Some(Arc::clone(in_flight)),
                }
            }
            let Some(in_flight) = running else {
                // Frees expired scans before a new scan allocates memory.
                self.slots.retain(|_, slot| !matches!(slot, Slot::Cached(cached) if cached.started.elapsed() >= ttl));
                // If another thread started a scan in the meantime, the next iteration finds its slot.
                if let Entry::Vacant(free) = self.slots.entry(options.clone()) {
                    let in_flight = Arc::new(InFlight::default());
                    drop(free.insert(Slot::Running(Arc::clone(&in_flight))));
                    return self.run_scan(options, &in_flight, scan);
                }
                continue;
            };
            let started = Instant::now();
            if let Some(scan) = in_flight.wait(cancel)? {
                return Ok((scan, started));
            }
        }
    }

    fn run_scan(
        &self,
        options: &ScanOptions,
        in_flight: &Arc<InFlight>,
        scan: impl Fn(&ScanOptions) -> Result<Scan>,
    ) -> Result<(Arc<Scan>, Instant)> {
        // Wakes the waiting threads even if the scan panics.
        struct Completion<'a> {
            cache: &'a ScanCache,
            options: &'a ScanOptions,
            in_flight: &'a Arc<InFlight>,
            scan: Option<Arc<Scan>>,
            started: Instant,
        }
        impl Drop for Completion<'_> {
            fn drop(&mut self) {
                self.cache.complete(self.options, self.in_flight, self.scan.take(), self.started);
            }
        }
        let started = Instant::now();
        let mut completion = Completion { cache: self, options, in_flight, scan: None, started };
        let scan = Arc::new(scan(options)?);
        completion.scan = Some(Arc::clone(&scan));
        Ok((scan, started))
    }

    fn complete(&self, options: &ScanOptions, in_flight: &Arc<InFlight>, scan: Option<Arc<Scan>>, started: Instant) {
        if let Entry::Occupied(mut slot) = self.slots.entry(options.clone())
            && matches!(slot.get(), Slot::Running(running) if Arc::ptr_eq(running, in_flight))
        {
            match &scan {
                Some(scan) => {
                    let order = self.stored.fetch_add(1, Ordering::Relaxed);
                    slot.insert(Slot::Cached(CachedScan { scan: Arc::clone(scan), started, order }));
                }
                None => drop(slot.remove()),
            }
        }
        self.evict();
        let mut state = in_flight.state.lock();
        state.over = true;
        state.scan = scan;
        drop(state);
        in_flight.finished.notify_all();
    }

    /// Removes the oldest scans beyond [`CachePolicy::max_entries`].
    fn evict(&self) {
        let mut by_age: Vec<(u64, ScanOptions)> = Vec::new();
        for slot in &self.slots {
            if let Slot::Cached(scan) = slot.value() {
                by_age.push((scan.order, slot.key().clone()));
            }
        }
        by_age.sort_unstable_by_key(|(order, _)| *order);
        let beyond = by_age.len().saturating_sub(self.policy.max_entries);
        for (order, options) in by_age.into_iter().take(beyond) {
            self.slots.remove_if(&options, |_, slot| matches!(slot, Slot::Cached(cached) if cached.order == order));
        }
    }
}

impl InFlight {
    fn wait(self: &Arc<InFlight>, cancel: &CancelToken) -> Result<Option<Arc<Scan>>> {
        let waker = Arc::clone(self);
        let _hook = cancel.on_cancel(move || {
            // Locks first: a notification between another thread's check and its wait would be lost.
            drop(waker.state.lock());
            waker.finished.notify_all();
        });
        let mut state = self.state.lock();
        while !state.over {
            cancel.check()?;
            match cancel.deadline() {
                Some(at) => {
                    self.finished.wait_until(&mut state, at);
                }
                None => self.finished.wait(&mut state),
            }
        }
        Ok(state.scan.clone())
    }
}

/// Resolves a path that may not exist: the links of its longest existing prefix, followed by the rest.
fn resolve(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(found) = std::fs::canonicalize(existing) {
            return rest.into_iter().rev().fold(found, |path, name| path.join(name));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                existing = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            }
            _ => return path.to_path_buf(),
        }
    }
}
