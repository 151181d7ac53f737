//! The binding of `Checkpoints`.

use std::path::PathBuf;
use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{Buffer, Object};
use napi_derive::napi;
use sinew::base::{CancelToken, Error, Result};
use sinew::checkpoint::{Checkpoints, GitUser, OpenOptions};

use crate::abort::{self, Abort};
use crate::checkpoints_answer::{CheckpointAnswer, CheckpointChangesAnswer, PlanAnswer, RestoredAnswer};
use crate::checkpoints_request::{CheckpointsRequest, RestoreRequest, TakeRequest, bytes_of};
use crate::handle;
use crate::task;

/// The checkpoints of a directory.
#[napi]
pub(crate) struct CheckpointsHandle {
    checkpoints: Arc<Checkpoints>,
}

/// Opens the checkpoints of a directory.
#[napi(ts_return_type = "Promise<CheckpointsHandle>")]
pub(crate) fn open_checkpoints<'env>(
    env: &'env Env,
    request: CheckpointsRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, request.timeout_ms);
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let git_user = folder("HOME").map(|home| GitUser { home, config: folder("XDG_CONFIG_HOME") });
    let (root, options) = request.into_core(OpenOptions { git_user, ..handle().checkpoint_options() });
    let work = move || {
        cancel.check()?;
        if options.store.as_os_str().is_empty() {
            return Err(Error::invalid("Checkpoints.open: there is no home directory; set the option store"));
        }
        Checkpoints::open(&root, &options)
    };
    task::alone(env, "Checkpoints", work, |open| CheckpointsHandle { checkpoints: Arc::new(open) })
}

impl CheckpointsHandle {
    /// Runs a call on its own thread: it may wait for another process that has locked the store.
    pub(crate) fn run<'env, T, J>(
        &self,
        env: &'env Env,
        cancel: CancelToken,
        work: impl FnOnce(&Checkpoints, &CancelToken) -> Result<T> + Send + 'static,
        translate: impl FnOnce(T) -> J + Send + 'static,
    ) -> napi::Result<Object<'env>>
    where
        T: Send + 'static,
        J: napi::bindgen_prelude::ToNapiValue + 'static,
    {
        let checkpoints = Arc::clone(&self.checkpoints);
        task::alone(env, "Checkpoints", move || work(&checkpoints, &cancel), translate)
    }
}

#[napi]
impl CheckpointsHandle {
    /// Returns the directory, with all links resolved.
    #[napi]
    pub fn root(&self) -> String {
        self.checkpoints.root().to_string_lossy().into_owned()
    }

    /// Takes a checkpoint of the directory.
    #[napi(ts_return_type = "Promise<CheckpointAnswer>")]
    pub fn take<'env>(
        &self,
        env: &'env Env,
        request: TakeRequest,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let cancel = abort::cancel(abort, request.timeout_ms);
        let options = request.into_core();
        self.run(env, cancel, move |open, cancel| open.take(&options, cancel), CheckpointAnswer::from)
    }

    /// Adds some paths to a checkpoint before they are written.
    #[napi(ts_return_type = "Promise<CheckpointAnswer>")]
    pub fn note<'env>(
        &self,
        env: &'env Env,
        paths: Vec<Buffer>,
        session: Option<String>,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let (paths, cancel) = (bytes_of(&paths), abort::cancel(abort, timeout_ms));
        let work = move |open: &Checkpoints, cancel: &CancelToken| open.note(&paths, session.as_deref(), cancel);
        self.run(env, cancel, work, CheckpointAnswer::from)
    }

    /// Lists all checkpoints.
    #[napi(ts_return_type = "Promise<CheckpointAnswer[]>")]
    pub fn list<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let translate = |list: Vec<_>| list.into_iter().map(CheckpointAnswer::from).collect::<Vec<_>>();
        self.run(env, CancelToken::never(), |open, _| open.list(), translate)
    }

    /// Compares two checkpoints.
    #[napi(ts_return_type = "Promise<CheckpointChangesAnswer>")]
    pub fn changes<'env>(
        &self,
        env: &'env Env,
        from: String,
        to: String,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let cancel = abort::cancel(abort, timeout_ms);
        self.run(env, cancel, move |open, cancel| open.changes(&from, &to, cancel), CheckpointChangesAnswer::from)
    }

    /// Returns the changes that a restore would make.
    #[napi(ts_return_type = "Promise<PlanAnswer>")]
    pub fn plan<'env>(
        &self,
        env: &'env Env,
        id: String,
        request: RestoreRequest,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let cancel = abort::cancel(abort, request.timeout_ms);
        let options = request.into_core();
        self.run(env, cancel, move |open, cancel| open.plan(&id, &options, cancel), PlanAnswer::from)
    }

    /// Undoes the changes since a checkpoint.
    #[napi(ts_return_type = "Promise<RestoredAnswer>")]
    pub fn restore<'env>(
        &self,
        env: &'env Env,
        id: String,
        request: RestoreRequest,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let cancel = abort::cancel(abort, request.timeout_ms);
        let options = request.into_core();
        self.run(env, cancel, move |open, cancel| open.restore(&id, &options, cancel), RestoredAnswer::from)
    }
}
