//! The binding of `IsolatedView`.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use parking_lot::Mutex;
use sinew::base::{Error, ErrorCode, Result};
use sinew::view::{ApplyOptions, ChangesOptions, IsolatedView, OnConflict};

use crate::abort::{self, Abort};
use crate::task;
use crate::view_answer::{AppliedAnswer, ViewChangesAnswer, ViewFacts};

/// An isolated view of a directory.
#[napi]
pub(crate) struct ViewHandle {
    /// `None` after it was discarded.
    view: Arc<Mutex<Option<IsolatedView>>>,
    facts: ViewFacts,
}

impl ViewHandle {
    pub(crate) fn new(view: IsolatedView) -> ViewHandle {
        let facts = ViewFacts::of(&view);
        ViewHandle { view: Arc::new(Mutex::new(Some(view))), facts }
    }

    /// Runs a call on its own thread: it may wait for another process that applies its changes.
    fn run<'env, T, J>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&mut Option<IsolatedView>) -> Result<T> + Send + 'static,
        translate: impl FnOnce(T) -> J + Send + 'static,
    ) -> napi::Result<Object<'env>>
    where
        T: Send + 'static,
        J: napi::bindgen_prelude::ToNapiValue + 'static,
    {
        let view = Arc::clone(&self.view);
        task::alone(env, "IsolatedView", move || work(&mut view.lock()), translate)
    }
}

fn open(view: &mut Option<IsolatedView>) -> Result<&mut IsolatedView> {
    view.as_mut().ok_or_else(|| Error::new(ErrorCode::InvalidState, "IsolatedView: the view was discarded"))
}

#[napi]
impl ViewHandle {
    /// Returns the constant properties.
    #[napi]
    pub fn facts(&self) -> ViewFacts {
        self.facts.clone()
    }

    /// Compares the view with the original state of the directory.
    #[napi(ts_return_type = "Promise<ViewChangesAnswer>")]
    pub fn changes<'env>(
        &self,
        env: &'env Env,
        ignored: bool,
        max_patch_bytes: Option<u32>,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let cancel = abort::cancel(abort, timeout_ms);
        let mut options = ChangesOptions { ignored, ..ChangesOptions::default() };
        if let Some(most) = max_patch_bytes {
            options.max_patch_bytes = most as usize;
        }
        self.run(env, move |view| open(view)?.changes(&options, &cancel), ViewChangesAnswer::from)
    }

    /// Applies the changes to the directory.
    #[napi(ts_return_type = "Promise<AppliedAnswer>")]
    pub fn apply<'env>(
        &self,
        env: &'env Env,
        on_conflict: String,
        ignored: bool,
        timeout_ms: Option<u32>,
        abort: Option<&Abort>,
    ) -> napi::Result<Object<'env>> {
        let cancel = abort::cancel(abort, timeout_ms);
        let on_conflict = OnConflict::from_name(&on_conflict).unwrap_or_default();
        let options = ApplyOptions { on_conflict, ignored };
        self.run(env, move |view| open(view)?.apply(&options, &cancel), AppliedAnswer::from)
    }

    /// Removes the view. Does nothing if it was removed already.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn discard<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        self.run(env, |view| view.take().map_or(Ok(()), IsolatedView::discard), |()| ())
    }
}
