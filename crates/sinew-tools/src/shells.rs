//! Limits the number and the idle time of a process's shells.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// The maximum number of open shells.
const MOST: usize = 8;
/// The time after which an idle shell is closed.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The open shells of all sessions of a process. A shell is closed after 30 idle minutes, and if more than 8 are open,
/// the least recently used one is closed. Its session restores the state in a new shell when it needs one. Shells that
/// run a command or have background jobs stay open.
pub struct Shells {
    shared: Arc<Shared>,
}

struct Shared {
    most: usize,
    idle: Duration,
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Default)]
struct List {
    open: Vec<OpenShell>,
    /// True if a thread waits for shells to become idle.
    watched: bool,
    over: bool,
}

struct OpenShell {
    owner: Weak<dyn ShellOwner>,
    used: Instant,
}

/// The owner of a shell.
pub(crate) trait ShellOwner: Send + Sync {
    /// Closes the shell if it is not in use. Returns true if there is no open shell any more.
    fn rest(&self) -> bool;
}

impl Default for Shells {
    fn default() -> Shells {
        Shells::limited(MOST, IDLE)
    }
}

impl Drop for Shells {
    fn drop(&mut self) {
        self.shared.list().over = true;
        self.shared.changed.notify_all();
    }
}

impl Shells {
    /// Limits the number of shells to `most`, and their idle time to `idle`.
    #[must_use]
    pub fn limited(most: usize, idle: Duration) -> Shells {
        let shared = Shared { most, idle, list: Mutex::default(), changed: Condvar::new() };
        Shells { shared: Arc::new(shared) }
    }

    /// Records that the shell of `owner` is in use.
    pub(crate) fn used(&self, owner: &Arc<dyn ShellOwner>) {
        let shared = &self.shared;
        let mut list = shared.list();
        let now = Instant::now();
        let owner = Arc::downgrade(owner);
        list.open.retain(|open| open.owner.strong_count() > 0);
        match list.open.iter_mut().find(|open| open.owner.ptr_eq(&owner)) {
            Some(open) => open.used = now,
            None => list.open.push(OpenShell { owner: Weak::clone(&owner), used: now }),
        }
        if !list.watched {
            let watcher = Arc::clone(shared);
            let thread = std::thread::Builder::new().name("sinew-shells".into());
            // Without the thread, shells stay open until their session ends.
            list.watched = thread.spawn(move || watcher.watch()).is_ok();
        }
        let mut others: Vec<(Instant, Weak<dyn ShellOwner>)> = list
            .open
            .iter()
            .filter(|open| !open.owner.ptr_eq(&owner))
            .map(|open| (open.used, Weak::clone(&open.owner)))
            .collect();
        let surplus = list.open.len().saturating_sub(shared.most);
        drop(list);
        if surplus > 0 {
            others.sort_by_key(|(used, _)| *used);
            let mut closed = 0;
            for (_, other) in others {
                closed += usize::from(shared.rest(&other));
                if closed == surplus {
                    break;
                }
            }
        }
    }
}

impl Shared {
    /// Closes idle shells, until no shell is open.
    fn watch(&self) {
        loop {
            let mut list = self.list();
            let Some(first) = list.open.iter().map(|open| open.used).min().filter(|_| !list.over) else {
                list.watched = false;
                return;
            };
            let wait = (first + self.idle).saturating_duration_since(Instant::now());
            if !wait.is_zero() {
                self.changed.wait_for(&mut list, wait);
                continue;
            }
            let due: Vec<Weak<dyn ShellOwner>> =
                list.open.iter().filter(|open| open.used == first).map(|open| Weak::clone(&open.owner)).collect();
            drop(list);
            for owner in due {
                if !self.rest(&owner) {
                    let mut list = self.list();
                    let open = list.open.iter_mut().find(|open| open.owner.ptr_eq(&owner));
                    open.into_iter().for_each(|open| open.used = Instant::now());
                }
            }
        }
    }

    fn rest(&self, owner: &Weak<dyn ShellOwner>) -> bool {
        let rests = owner.upgrade().is_none_or(|owner| owner.rest());
        if rests {
            self.list().open.retain(|open| !open.owner.ptr_eq(owner));
        }
        rests
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock()
    }
}
