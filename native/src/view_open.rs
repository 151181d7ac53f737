//! Opens and lists isolated views.

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use sinew::base::{Error, Result};
use sinew::view::{IsolatedView, Leftover, OpenOptions, ViewMode, leftovers};

use crate::abort::{self, Abort};
use crate::handle;
use crate::task;
use crate::view::ViewHandle;

/// The options of opening a view.
#[napi(object)]
pub struct ViewRequest {
    pub root: String,
    pub home: Option<String>,
    #[napi(ts_type = "'auto' | 'overlay' | 'worktree' | 'copy'")]
    pub mode: Option<String>,
    pub label: Option<String>,
    pub max_entries: Option<u32>,
    pub timeout_ms: Option<u32>,
}

/// A view that a process has left behind.
#[napi(object)]
pub struct LeftoverAnswer {
    pub id: String,
    pub root: String,
    pub mode: String,
    pub time: f64,
    pub label: Option<String>,
    pub recovered: bool,
    pub new: bool,
}

impl From<Leftover> for LeftoverAnswer {
    fn from(Leftover { id, root, mode, time, label, is_recovered, is_new }: Leftover) -> LeftoverAnswer {
        let root = root.to_string_lossy().into_owned();
        let mode = mode.as_str().into();
        LeftoverAnswer { id, root, mode, time: time as f64, label, recovered: is_recovered, new: is_new }
    }
}

/// Returns the folder whose `isolated` contains the views.
///
/// # Errors
/// Returns an error if none is given and the user has no home directory.
fn home_of(given: Option<String>) -> Result<std::path::PathBuf> {
    let home = given.map(Into::into).or_else(|| handle().own_folder());
    home.ok_or_else(|| Error::invalid("IsolatedView: there is no home directory; set the option home"))
}

/// Creates a view of a directory.
#[napi(ts_return_type = "Promise<ViewHandle>")]
pub(crate) fn open_view<'env>(
    env: &'env Env,
    request: ViewRequest,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, request.timeout_ms);
    let ViewRequest { root, home, mode, label, max_entries, timeout_ms: _ } = request;
    let work = move || {
        cancel.check()?;
        let mut options = OpenOptions { home: home_of(home)?, ..handle().view_options() };
        options.mode = mode.as_deref().and_then(ViewMode::from_name).unwrap_or_default();
        options.label = label;
        if let Some(most) = max_entries {
            options.max_entries = most as usize;
        }
        IsolatedView::open(root.as_ref(), &options, &cancel)
    };
    task::alone(env, "IsolatedView", work, ViewHandle::new)
}

/// Opens a view that a process has left behind.
#[napi(ts_return_type = "Promise<ViewHandle>")]
pub(crate) fn reopen_view<'env>(
    env: &'env Env,
    home: Option<String>,
    id: String,
    timeout_ms: Option<u32>,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, timeout_ms);
    let work = move || IsolatedView::reopen(&home_of(home)?, &id, &cancel);
    task::alone(env, "IsolatedView", work, ViewHandle::new)
}

/// Lists the views that processes have left behind.
#[napi(ts_return_type = "Promise<LeftoverAnswer[]>")]
pub(crate) fn leftover_views<'env>(
    env: &'env Env,
    home: Option<String>,
    timeout_ms: Option<u32>,
    abort: Option<&Abort>,
) -> napi::Result<Object<'env>> {
    let cancel = abort::cancel(abort, timeout_ms);
    let work = move || leftovers(&home_of(home)?, &cancel);
    let translate = |list: Vec<_>| list.into_iter().map(LeftoverAnswer::from).collect::<Vec<_>>();
    task::alone(env, "IsolatedView", work, translate)
}
