//! A Sinew error becomes a JavaScript `Error` with `name`, `code` and `message`.

use napi::bindgen_prelude::{JsObjectValue, JsValue, Object};
use napi::{Env, Error as NapiError, Status};
use sinew::base::{Error, ErrorCode};

/// The error as JavaScript sees it. Where it cannot be made (the environment is ending) the message survives.
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

/// The name that programs test: the web's names for what the web has too.
fn name(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Aborted => "AbortError",
        ErrorCode::TimedOut => "TimeoutError",
        ErrorCode::InvalidType => "TypeError",
        _ => "Error",
    }
}
