//! Converts Sinew errors to JavaScript `Error`s with `name`, `code` and `message`.

use napi::bindgen_prelude::{JsObjectValue, JsValue, Object};
use napi::{Env, Error as NapiError, Status};
use sinew::base::{Error, ErrorCode};

/// Returns the error for JavaScript. If it cannot be created (the environment is ending), only the message is kept.
pub(crate) fn to_js(env: &Env, error: &Error) -> NapiError {
    let plain = || NapiError::new(Status::GenericFailure, error.message().to_string());
    let made = || -> napi::Result<Object<'_>> {
        let mut object = env.create_error(plain())?;
        object.set_named_property("name", name(error.code()))?;
        object.set_named_property("code", error.code().as_str())?;
        Ok(object)
    };
    match made() {
        Ok(object) => NapiError::from(object.to_unknown()),
        Err(_) => plain(),
    }
}

/// Returns the name that programs test, which follows the web platform if it has such an error.
fn name(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Aborted => "AbortError",
        ErrorCode::TimedOut => "TimeoutError",
        ErrorCode::InvalidType => "TypeError",
        _ => "Error",
    }
}
