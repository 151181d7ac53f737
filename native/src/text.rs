//! The mouth of `text`.
//!
//! Strings cross as UTF-16, as JavaScript holds them: the engine reads that, and nothing is transcoded. Answers that
//! are the text itself cross as `null`, and the TypeScript side gives its own string back.

use std::mem::MaybeUninit;
use std::ptr;

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue};
use napi::{Result, Status, sys};
use napi_derive::napi;
use sinew::term::{Ellipsis, utf16};

/// Strings up to this length are read without an allocation.
const SHORT: usize = 512;

/// A string argument.
pub(crate) struct Text {
    short: [MaybeUninit<u16>; SHORT],
    length: usize,
    long: Vec<u16>,
}

impl Text {
    fn units(&self) -> &[u16] {
        if !self.long.is_empty() {
            return &self.long;
        }
        // SAFETY: N-API wrote the first `length` units, and `length` is less than SHORT.
        unsafe { std::slice::from_raw_parts(self.short.as_ptr().cast(), self.length) }
    }
}

fn check(status: sys::napi_status, what: &str) -> Result<()> {
    if status == sys::Status::napi_ok { Ok(()) } else { Err(napi::Error::new(Status::from(status), what.to_string())) }
}

impl FromNapiValue for Text {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut text = Text { short: [const { MaybeUninit::uninit() }; SHORT], length: 0, long: Vec::new() };
        let short = text.short.as_mut_ptr().cast();
        // SAFETY: `short` has room for SHORT units; N-API writes at most that many, a zero at the end included.
        let status = unsafe { sys::napi_get_value_string_utf16(env, value, short, SHORT, &mut text.length) };
        check(status, "the text must be a string")?;
        if text.length < SHORT - 1 {
            return Ok(text);
        }
        let mut length = 0;
        // SAFETY: without a buffer N-API only tells the length.
        let status = unsafe { sys::napi_get_value_string_utf16(env, value, ptr::null_mut(), 0, &mut length) };
        check(status, "the text has no length")?;
        let mut units = Vec::<u16>::with_capacity(length + 1);
        // SAFETY: the buffer has room for `length` units and the zero, and N-API tells how many it wrote.
        unsafe {
            let status = sys::napi_get_value_string_utf16(env, value, units.as_mut_ptr(), length + 1, &mut length);
            check(status, "the text cannot be read")?;
            units.set_len(length);
        }
        text.long = units;
        Ok(text)
    }
}

/// A string result.
pub(crate) struct Units(Vec<u16>);

impl ToNapiValue for Units {
    unsafe fn to_napi_value(env: sys::napi_env, Units(units): Self) -> Result<sys::napi_value> {
        let mut value = ptr::null_mut();
        // SAFETY: pointer and length are those of a living vector, which N-API copies.
        let status = unsafe { sys::napi_create_string_utf16(env, units.as_ptr(), units.len() as isize, &mut value) };
        check(status, "the result is longer than a JavaScript string may be")?;
        Ok(value)
    }
}

#[napi]
pub fn visible_width(#[napi(ts_arg_type = "string")] text: Text, tab_width: u32) -> f64 {
    utf16::visible_width(text.units(), tab_width as usize) as f64
}

/// The lines, joined by line feeds: one string crosses faster than many.
#[napi(ts_return_type = "string")]
pub fn wrap_text_with_ansi(#[napi(ts_arg_type = "string")] text: Text, width: u32, tab_width: u32) -> Units {
    Units(utf16::wrap(text.units(), width as usize, tab_width as usize))
}

#[napi(ts_return_type = "string | null")]
pub fn truncate_to_width(
    #[napi(ts_arg_type = "string")] text: Text,
    max_width: u32,
    ellipsis: u32,
    pad: bool,
    tab_width: u32,
) -> Option<Units> {
    let ellipsis = [Ellipsis::Unicode, Ellipsis::Ascii].get(ellipsis as usize).copied().unwrap_or(Ellipsis::Omit);
    utf16::truncate(text.units(), max_width as usize, ellipsis, pad, tab_width as usize).map(Units)
}

#[napi(ts_return_type = "[string, number]")]
pub fn slice_with_width(
    #[napi(ts_arg_type = "string")] line: Text,
    start: u32,
    length: u32,
    strict: bool,
    tab_width: u32,
) -> (Units, f64) {
    let (text, width) = utf16::slice(line.units(), start as usize, length as usize, strict, tab_width as usize);
    (Units(text), width as f64)
}

#[napi(ts_return_type = "[string, number, string, number]")]
pub fn extract_segments(
    #[napi(ts_arg_type = "string")] line: Text,
    before_end: u32,
    after_start: u32,
    after_length: u32,
    strict_after: bool,
    tab_width: u32,
) -> (Units, f64, Units, f64) {
    let [(before, before_width), (after, after_width)] = utf16::segments(
        line.units(),
        before_end as usize,
        after_start as usize,
        after_length as usize,
        strict_after,
        tab_width as usize,
    );
    (Units(before), before_width as f64, Units(after), after_width as f64)
}

#[napi(ts_return_type = "string | null")]
pub fn sanitize_text(#[napi(ts_arg_type = "string")] text: Text) -> Option<Units> {
    utf16::sanitize(text.units()).map(Units)
}
