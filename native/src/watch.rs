//! The binding of `watch`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use parking_lot::Mutex;
use sinew::base::lossy;
use sinew::watch::{Change, TreeWatcher, WatchCloser, WatchOptions};

use crate::abort::{self, Abort};
use crate::{handle, task};

/// The options of `watch`.
#[napi(object)]
pub(crate) struct WatchRequest {
    /// Globs of ignored paths.
    pub ignore: Option<Vec<String>>,
    /// Whether ignore files apply.
    pub gitignore: Option<bool>,
    /// Whether subdirectories are watched too.
    pub recursive: Option<bool>,
    /// The time in which changes are collected, in milliseconds.
    pub debounce_ms: Option<u32>,
    /// The maximum number of watches.
    pub max_watches: Option<u32>,
}

/// A change of a path.
#[napi(object)]
pub(crate) struct WatchedChange {
    pub kind: String,
    pub path: String,
    pub to: Option<String>,
}

/// Changes, and how they were detected.
#[napi(object)]
pub(crate) struct WatchBatch {
    pub mode: String,
    pub events: Vec<WatchedChange>,
}

fn change(Change { kind, path, to }: Change) -> WatchedChange {
    let text = |path: Vec<u8>| lossy(&path).into_owned();
    WatchedChange { kind: kind.as_str().to_owned(), path: text(path), to: to.map(text) }
}

/// A watched directory. It is watched until it is closed or garbage-collected, or its thread ends.
#[napi]
pub(crate) struct WatchHandle {
    watcher: Arc<Mutex<TreeWatcher>>,
    closer: WatchCloser,
    mode: &'static str,
}

impl From<TreeWatcher> for WatchHandle {
    fn from(watcher: TreeWatcher) -> WatchHandle {
        let (closer, mode) = (watcher.closer(), watcher.mode().as_str());
        WatchHandle { watcher: Arc::new(Mutex::new(watcher)), closer, mode }
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        self.closer.close();
    }
}

#[napi]
impl WatchHandle {
    /// Returns how changes were detected when the directory was opened.
    #[napi(getter)]
    pub fn mode(&self) -> &'static str {
        self.mode
    }

    /// Waits for the next batch; resolves to null when the watcher is closed.
    #[napi(ts_return_type = "Promise<WatchBatch | null>")]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let watcher = Arc::clone(&self.watcher);
        let work = move || {
            let mut watcher = watcher.lock();
            let changes = watcher.wait()?;
            Ok(changes.map(|changes| (watcher.mode().as_str(), changes)))
        };
        task::alone(env, "watch", work, |batch| {
            batch.map(|(mode, changes)| WatchBatch {
                mode: mode.to_owned(),
                events: changes.into_iter().map(change).collect(),
            })
        })
    }

    /// Ends the wait; later waits end immediately.
    #[napi]
    pub fn close(&self) {
        self.closer.close();
    }
}

/// Reads a directory and begins to watch it.
#[napi(ts_return_type = "Promise<WatchHandle>")]
pub(crate) fn open_watch<'env>(
    env: &'env Env,
    path: String,
    options: WatchRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let WatchRequest { ignore, gitignore, recursive, debounce_ms, max_watches } = options;
    let cancel = abort::cancel(abort, None);
    let default = WatchOptions::default();
    let options = WatchOptions {
        ignore: ignore.unwrap_or(default.ignore),
        gitignore: gitignore.unwrap_or(default.gitignore),
        recursive: recursive.unwrap_or(default.recursive),
        debounce: debounce_ms.map_or(default.debounce, |time| Duration::from_millis(time.into())),
        max_watches: max_watches.map(|most| most as usize),
        global_excludes: default.global_excludes,
    };
    let work = move || handle().watch(&PathBuf::from(path), options, &cancel);
    task::blocking(env, "watch", work, WatchHandle::from)
}
