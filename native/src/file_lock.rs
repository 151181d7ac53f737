//! The binding of `FileLock`.

use std::path::Path;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use parking_lot::Mutex;
use sinew::lock::{FileLock, Mode};

use crate::abort::{self, Abort};
use crate::task;

/// A lock. It is held until it is released or garbage-collected, or its thread ends.
#[napi]
pub(crate) struct FileLockHandle {
    lock: Mutex<Option<FileLock>>,
}

impl From<FileLock> for FileLockHandle {
    fn from(lock: FileLock) -> FileLockHandle {
        FileLockHandle { lock: Mutex::new(Some(lock)) }
    }
}

#[napi]
impl FileLockHandle {
    /// Releases the lock; later calls do nothing.
    #[napi]
    pub fn release(&self) {
        *self.lock.lock() = None;
    }
}

fn mode(shared: bool) -> Mode {
    if shared { Mode::Shared } else { Mode::Exclusive }
}

/// Locks a file, and waits until no other lock conflicts.
#[napi(ts_return_type = "Promise<FileLockHandle>")]
pub(crate) fn acquire_file_lock<'env>(
    env: &'env Env,
    path: String,
    shared: bool,
    timeout_ms: Option<u32>,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, timeout_ms);
    let work = move || FileLock::acquire(Path::new(&path), mode(shared), &cancel);
    task::alone(env, "fileLock", work, FileLockHandle::from)
}

/// Locks a file; resolves to null if another lock conflicts.
#[napi(ts_return_type = "Promise<FileLockHandle | null>")]
pub(crate) fn try_file_lock<'env>(env: &'env Env, path: String, shared: bool) -> napi::Result<Object<'env>> {
    let work = move || FileLock::try_acquire(Path::new(&path), mode(shared));
    task::blocking(env, "fileLock", work, |lock| lock.map(FileLockHandle::from))
}

/// Locks a file synchronously; returns null if another lock conflicts.
#[napi]
pub(crate) fn try_file_lock_sync(env: &Env, path: String, shared: bool) -> napi::Result<Option<FileLockHandle>> {
    let lock = || FileLock::try_acquire(Path::new(&path), mode(shared));
    Ok(task::now(env, "fileLock", lock)?.map(FileLockHandle::from))
}
