//! The binding of the changes and the uses of paths in a workspace.

use std::time::{Duration, SystemTime};

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use sinew::search::{PathUse, WorkspaceChanges};

use crate::abort::{self, Abort};
use crate::handle;
use crate::task;
use crate::workspace::WorkspaceHandle;

/// The paths that changed since a token.
#[napi(object)]
pub(crate) struct ChangesAnswer {
    pub token: String,
    pub all: bool,
    pub paths: Vec<String>,
}

/// The kinds of use of a path.
#[napi(string_enum = "camelCase")]
pub enum UseKind {
    Read,
    Pick,
    Edit,
}

impl From<UseKind> for PathUse {
    fn from(kind: UseKind) -> PathUse {
        match kind {
            UseKind::Read => PathUse::Read,
            UseKind::Pick => PathUse::Pick,
            UseKind::Edit => PathUse::Edit,
        }
    }
}

#[napi]
impl WorkspaceHandle {
    /// Records a use of a path; the time in milliseconds since the epoch.
    #[napi]
    pub fn note(&self, env: &Env, path: String, kind: UseKind, at: f64) -> napi::Result<()> {
        task::now(env, "workspace", || {
            let age = Duration::try_from_secs_f64(at / 1000.0).unwrap_or_default();
            self.workspace()?.note(path, kind.into(), SystemTime::UNIX_EPOCH + age);
            Ok(())
        })
    }

    /// Returns the paths that changed since a token.
    #[napi(ts_return_type = "Promise<ChangesAnswer>")]
    pub fn changes<'env>(
        &self,
        env: &'env Env,
        since: Option<String>,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let (workspace, cancel) = (self.workspace(), abort::cancel(abort, timeout_ms));
        let work = move || workspace?.changes(since.as_deref(), &handle().pool, &cancel);
        task::blocking(env, "workspace", work, |WorkspaceChanges { token, all, paths }| ChangesAnswer {
            token,
            all,
            paths,
        })
    }
}
