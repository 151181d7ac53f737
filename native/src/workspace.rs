//! The binding of `Workspace`.

use std::path::PathBuf;
use std::sync::Arc;

use napi::bindgen_prelude::{Function, Object};
use napi::{Env, Unknown};
use napi_derive::napi;
use parking_lot::Mutex;
use sinew::base::{Error, ErrorCode, Result};
use sinew::search::{Boost, Workspace, Workspaces};

use crate::abort::{self, Abort};
use crate::find::{FindAnswer, FindRequest};
use crate::glob::{GlobAnswer, GlobRequest};
use crate::grep::{Columns, streamed_grep};
use crate::grep_request::GrepRequest;
use crate::handle;
use crate::task;
use crate::workspace_request::{BoostRequest, WorkspaceRequest};

/// A watched directory.
#[napi]
pub(crate) struct WorkspaceHandle {
    open: Arc<Mutex<Option<Workspace>>>,
}

/// Opens a directory.
#[napi(ts_return_type = "Promise<WorkspaceHandle>")]
pub(crate) fn open_workspace<'env>(
    env: &'env Env,
    request: WorkspaceRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, request.timeout_ms);
    let (root, options) = request.into_core();
    let work = move || {
        cancel.check()?;
        handle().workspaces.open(root, &options)
    };
    task::blocking(env, "openWorkspace", work, |open| WorkspaceHandle { open: Arc::new(Mutex::new(Some(open))) })
}

/// Deletes the index of a directory from disk; resolves to false if there is none.
#[napi(ts_return_type = "Promise<boolean>")]
pub(crate) fn remove_workspace<'env>(
    env: &'env Env,
    root: String,
    cache_dir: Option<String>,
) -> napi::Result<Object<'env>> {
    let cache = cache_dir.map(PathBuf::from).or_else(|| handle().index_cache.clone());
    let work = move || cache.map_or(Ok(false), |cache| Workspaces::remove(&cache, root.as_ref()));
    task::blocking(env, "removeWorkspace", work, |removed| removed)
}

#[napi]
impl WorkspaceHandle {
    /// Returns the absolute path of the directory.
    #[napi]
    pub fn root(&self, env: &Env) -> napi::Result<String> {
        task::now(env, "workspace", || Ok(self.workspace()?.root().to_string_lossy().into_owned()))
    }

    /// Searches files as `grep` does.
    #[napi(ts_return_type = "Promise<GrepAnswer>")]
    pub fn grep<'env>(
        &self,
        env: &'env Env,
        options: GrepRequest,
        on_match: Option<Function<'env, Columns, Unknown<'static>>>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let workspace = self.workspace();
        streamed_grep(env, options, on_match, abort, move |options, cancel, on_match| {
            workspace?.grep(options, &handle().pool, cancel, on_match)
        })
    }

    /// Finds entries as `glob` does.
    #[napi(ts_return_type = "Promise<GlobAnswer>")]
    pub fn glob<'env>(
        &self,
        env: &'env Env,
        options: GlobRequest,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let (workspace, cancel) = (self.workspace(), abort::cancel(abort, options.timeout_ms));
        let options = options.into_core();
        let work = move || {
            let result = workspace?.glob(&options, &handle().pool, &cancel)?;
            Ok((result.columns(), result))
        };
        task::blocking(env, "glob", work, GlobAnswer::from)
    }

    /// Finds entries as `fuzzyFind` does; a boost changes the order.
    #[napi(ts_return_type = "Promise<FindAnswer>")]
    pub fn fuzzy_find<'env>(
        &self,
        env: &'env Env,
        options: FindRequest,
        boost: Option<BoostRequest>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let (workspace, cancel) = (self.workspace(), abort::cancel(abort, options.timeout_ms));
        let (options, boost) = (options.into_core(), boost.map(Boost::from));
        let work = move || {
            let (workspace, pool) = (workspace?, &handle().pool);
            let result = match boost {
                Some(boost) => workspace.fuzzy_find_boosted(&options, &boost, pool, &cancel)?,
                None => workspace.fuzzy_find(&options, pool, &cancel)?,
            };
            Ok((result.columns(), result))
        };
        task::blocking(env, "fuzzyFind", work, FindAnswer::from)
    }

    /// Closes the workspace and releases its resources.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let open = self.open.lock().take();
        let work = move || {
            open.into_iter().for_each(Workspace::close);
            Ok(())
        };
        task::blocking(env, "workspace", work, |()| ())
    }

    /// Returns the workspace; `None` if it was closed.
    pub(crate) fn opened(&self) -> Option<Workspace> {
        self.open.lock().clone()
    }

    pub(crate) fn workspace(&self) -> Result<Workspace> {
        let closed = || Error::new(ErrorCode::InvalidState, "Workspace is closed: open it again");
        self.opened().ok_or_else(closed)
    }
}
