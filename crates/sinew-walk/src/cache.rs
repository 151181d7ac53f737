//! Scans kept for a short while.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sinew_base::{Aborted, Cancel, ErrorCode, Result};
use sinew_pool::Pool;

use crate::walk::scan_so_far;
use crate::{Scan, ScanOptions, scan};

/// How long a cache keeps how many scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePolicy {
    /// How long a scan lives (default: 1 s). Zero: nothing is kept.
    pub ttl: Duration,
    /// From which age on a scan in which nothing was found is repeated once (default: 200 ms).
    pub empty_recheck: Duration,
    /// How many scans there are at most (default: 16); the oldest goes first.
    pub max_entries: usize,
}

impl Default for CachePolicy {
    fn default() -> CachePolicy {
        CachePolicy { ttl: Duration::from_secs(1), empty_recheck: Duration::from_millis(200), max_entries: 16 }
    }
}

/// Scans by their options. Shared by reference; calls for one cold key at the same time do one scan.
#[derive(Debug, Default)]
pub struct ScanCache {
    policy: CachePolicy,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    kept: HashMap<ScanOptions, Kept>,
    running: HashMap<ScanOptions, Arc<Flight>>,
    order: u64,
}

#[derive(Debug)]
struct Kept {
    scan: Arc<Scan>,
    born: Instant,
    order: u64,
}

/// A scan that others wait for.
#[derive(Debug, Default)]
struct Flight {
    state: Mutex<FlightState>,
    landed: Condvar,
}

#[derive(Debug, Default)]
struct FlightState {
    over: bool,
    /// None when it failed: then whoever waits scans again.
    scan: Option<Arc<Scan>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ScanCache {
    /// An empty cache.
    #[must_use]
    pub fn new(policy: CachePolicy) -> ScanCache {
        ScanCache { policy, slots: Mutex::default() }
    }

    /// Gives `look` the scan, a kept one if `cached` allows it. Where `found` says that there was nothing to find in
    /// a scan that is no longer fresh ([`CachePolicy::empty_recheck`]), scans again and looks once more.
    ///
    /// Without `cached` the scan is fresh and nothing is kept of it.
    ///
    /// # Errors
    /// Those of [`scan`] and of `look`.
    pub fn query<T>(
        &self,
        options: &ScanOptions,
        cached: bool,
        pool: &Pool,
        cancel: &Cancel,
        look: impl FnMut(&Arc<Scan>) -> Result<T>,
        found: impl Fn(&T) -> bool,
    ) -> Result<T> {
        self.ask(options, cached, cancel, look, found, |options| scan(options, pool, cancel))
    }

    /// As [`ScanCache::query`], but the deadline of `cancel` is no error: `look` gets what was read until then, which
    /// is not kept, and the answer comes with true.
    ///
    /// # Errors
    /// Those of [`scan`] but for the deadline, and of `look`.
    pub fn query_so_far<T>(
        &self,
        options: &ScanOptions,
        cached: bool,
        pool: &Pool,
        cancel: &Cancel,
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
        match self.ask(options, cached, cancel, &mut look, found, whole) {
            // Nothing was read where another call's scan was waited for.
            Err(error) if error.code() == ErrorCode::TimedOut => {
                Ok((look(&Arc::new(part.take().unwrap_or_default()))?, true))
            }
            answer => answer.map(|answer| (answer, false)),
        }
    }

    fn ask<T>(
        &self,
        options: &ScanOptions,
        cached: bool,
        cancel: &Cancel,
        mut look: impl FnMut(&Arc<Scan>) -> Result<T>,
        found: impl Fn(&T) -> bool,
        scan: impl Fn(&ScanOptions) -> Result<Scan>,
    ) -> Result<T> {
        if !cached || self.policy.ttl.is_zero() || self.policy.max_entries == 0 {
            return look(&Arc::new(scan(options)?));
        }
        let options = options.clone().canonical()?;
        let (kept, born) = self.get(&options, cancel, &scan)?;
        let answer = look(&kept)?;
        if found(&answer) || born.elapsed() < self.policy.empty_recheck {
            return Ok(answer);
        }
        drop((kept, answer));
        self.drop_older(&options, born);
        look(&self.get(&options, cancel, &scan)?.0)
    }

    /// Drops every scan.
    pub fn clear(&self) {
        self.drop_where(|_| true);
    }

    /// Drops every scan whose root is `path` (an absolute path), one of the folders above it or lies below it.
    /// A path that no longer exists is taken by the folders above it that do.
    pub fn invalidate(&self, path: &Path) {
        let path = resolve(path);
        self.drop_where(|options| path.starts_with(&options.root) || options.root.starts_with(&path));
    }

    /// How many scans are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.slots).kept.len()
    }

    /// Whether no scan is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn drop_where(&self, gone: impl Fn(&ScanOptions) -> bool) {
        let mut slots = lock(&self.slots);
        slots.kept.retain(|options, _| !gone(options));
        // A scan that runs may have passed the place already: who waits for it gets it, nobody else does.
        slots.running.retain(|options, _| !gone(options));
    }

    fn drop_older(&self, options: &ScanOptions, born: Instant) {
        let mut slots = lock(&self.slots);
        if slots.kept.get(options).is_some_and(|kept| kept.born <= born) {
            slots.kept.remove(options);
        }
    }

    /// A live scan and when it began: kept, awaited or done here.
    fn get(
        &self,
        options: &ScanOptions,
        cancel: &Cancel,
        scan: impl Fn(&ScanOptions) -> Result<Scan>,
    ) -> Result<(Arc<Scan>, Instant)> {
        loop {
            cancel.check()?;
            let flight = {
                let mut slots = lock(&self.slots);
                let ttl = self.policy.ttl;
                slots.kept.retain(|_, kept| kept.born.elapsed() < ttl);
                if let Some(kept) = slots.kept.get(options) {
                    return Ok((Arc::clone(&kept.scan), kept.born));
                }
                match slots.running.get(options) {
                    Some(flight) => Arc::clone(flight),
                    None => {
                        let flight = Arc::new(Flight::default());
                        slots.running.insert(options.clone(), Arc::clone(&flight));
                        drop(slots);
                        return self.fly(options, &flight, scan);
                    }
                }
            };
            let born = Instant::now();
            if let Some(scan) = flight.wait(cancel)? {
                return Ok((scan, born));
            }
        }
    }

    fn fly(
        &self,
        options: &ScanOptions,
        flight: &Arc<Flight>,
        scan: impl Fn(&ScanOptions) -> Result<Scan>,
    ) -> Result<(Arc<Scan>, Instant)> {
        // Also a panic of the scan lets those who wait go on.
        struct Land<'a>(&'a ScanCache, &'a ScanOptions, &'a Arc<Flight>, Option<Arc<Scan>>, Instant);
        impl Drop for Land<'_> {
            fn drop(&mut self) {
                self.0.land(self.1, self.2, self.3.take(), self.4);
            }
        }
        let mut landing = Land(self, options, flight, None, Instant::now());
        let scan = Arc::new(scan(options)?);
        landing.3 = Some(Arc::clone(&scan));
        Ok((scan, landing.4))
    }

    fn land(&self, options: &ScanOptions, flight: &Arc<Flight>, scan: Option<Arc<Scan>>, born: Instant) {
        let mut slots = lock(&self.slots);
        let current = slots.running.get(options).is_some_and(|running| Arc::ptr_eq(running, flight));
        if current {
            slots.running.remove(options);
            if let Some(scan) = &scan {
                slots.keep(options, Arc::clone(scan), born, self.policy.max_entries);
            }
        }
        drop(slots);
        let mut state = lock(&flight.state);
        state.over = true;
        state.scan = scan;
        drop(state);
        flight.landed.notify_all();
    }
}

impl Slots {
    fn keep(&mut self, options: &ScanOptions, scan: Arc<Scan>, born: Instant, most: usize) {
        self.order += 1;
        self.kept.insert(options.clone(), Kept { scan, born, order: self.order });
        while self.kept.len() > most {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.order).map(|(options, _)| options.clone());
            match oldest {
                Some(oldest) => drop(self.kept.remove(&oldest)),
                None => break,
            }
        }
    }
}

impl Flight {
    fn wait(self: &Arc<Flight>, cancel: &Cancel) -> Result<Option<Arc<Scan>>> {
        let waker = Arc::clone(self);
        let _hook = cancel.on_cancel(move || {
            // Under the lock: a notice between a waiter's look and its wait would be lost.
            drop(lock(&waker.state));
            waker.landed.notify_all();
        });
        let mut state = lock(&self.state);
        while !state.over {
            cancel.check()?;
            state = match cancel.deadline() {
                Some(at) => {
                    let left = at.saturating_duration_since(Instant::now());
                    self.landed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.landed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        Ok(state.scan.clone())
    }
}

/// Where a path that may not exist lies: the longest part of it that exists, links resolved, and the rest.
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
