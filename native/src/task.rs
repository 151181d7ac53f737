//! Schedules calls off the JavaScript thread and settles their promises; catches panics, and samples for the profile.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use napi::Env;
use napi::bindgen_prelude::{Object, ToNapiValue};
use parking_lot::Mutex;
use sinew::base::{Error, ErrorCode, Result};

use crate::{error, handle};

mod threads;

/// Runs `work` on the pool and settles the returned promise with its result; `tag` is its name in the work profile.
/// A panic rejects with `ERR_INTERNAL`.
pub(crate) fn blocking<'env, T, J>(
    env: &'env Env,
    tag: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
    translate: impl FnOnce(T) -> J + Send + 'static,
) -> napi::Result<Object<'env>>
where
    T: Send + 'static,
    J: ToNapiValue + 'static,
{
    let (deferred, promise) = env.create_deferred()?;
    let begun = Instant::now();
    handle().pool.spawn(move || {
        let result = guarded(tag, work);
        handle().profile.record(tag, begun, begun.elapsed());
        deferred.resolve(move |env| result.map(translate).map_err(|error| error::to_js(&env, &error)));
    });
    Ok(promise)
}

/// Runs `work` on its own thread, for calls that wait for other processes: they must not block the pool.
pub(crate) fn alone<'env, T, J>(
    env: &'env Env,
    tag: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
    translate: impl FnOnce(T) -> J + Send + 'static,
) -> napi::Result<Object<'env>>
where
    T: Send + 'static,
    J: ToNapiValue + 'static,
{
    settled(env, tag, translate, move |settle| {
        let started = threads::run(Box::new(move || settle(guarded(tag, work))));
        started.map_err(|cause| Error::io(format!("{tag}: failed to start a thread"), &cause))
    })
}

/// Lets `begin` start work that ends on any thread: it calls its argument with the result. If `begin` fails, its error
/// rejects the promise.
pub(crate) fn settled<'env, T, J>(
    env: &'env Env,
    tag: &'static str,
    translate: impl FnOnce(T) -> J + Send + 'static,
    begin: impl FnOnce(Box<dyn FnOnce(Result<T>) + Send>) -> Result<()>,
) -> napi::Result<Object<'env>>
where
    T: Send + 'static,
    J: ToNapiValue + 'static,
{
    let (deferred, promise) = env.create_deferred()?;
    let begun = Instant::now();
    let settle = move |result: Result<T>| {
        handle().profile.record(tag, begun, begun.elapsed());
        deferred.resolve(move |env| result.map(translate).map_err(|error| error::to_js(&env, &error)));
    };
    // An unsettled promise would keep the event loop alive, so a failed start settles it here.
    let slot = Arc::new(Mutex::new(Some(settle)));
    let shared = Arc::clone(&slot);
    let take = move |slot: &Mutex<Option<_>>| slot.lock().take();
    let end = Box::new(move |result| {
        if let Some(settle) = take(&shared) {
            settle(result);
        }
    });
    if let Err(error) = guarded(tag, || begin(end))
        && let Some(settle) = take(&slot)
    {
        settle(Err(error));
    }
    Ok(promise)
}

/// Runs `work` synchronously, for short pure calls; a panic throws.
pub(crate) fn now<T>(env: &Env, tag: &'static str, work: impl FnOnce() -> Result<T>) -> napi::Result<T> {
    guarded(tag, work).map_err(|error| error::to_js(env, &error))
}

fn guarded<T>(tag: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(tag, panic.as_ref())))
}

fn panicked(tag: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::new(ErrorCode::Internal, format!("{tag}: internal error, please report it: {text}"))
}
