//! The binding of `text`.
//!
//! Strings are passed as UTF-16, as JavaScript stores them: the engine reads that, and nothing is transcoded. Results
//! that equal the text are passed as `null`, and the TypeScript side returns its own string.

use std::mem::MaybeUninit;

use napi::bindgen_prelude::{FromNapiValue, Utf16String};
use napi::{Result, Status, sys};
use napi_derive::napi;
use sinew::term::{self, Ellipsis, utf16};

/// Strings shorter than this are read without an allocation.
const SHORT: usize = 512;

/// A string argument, read in place: moving a buffer costs as much as passing the string.
pub(crate) struct Text {
    env: sys::napi_env,
    value: sys::napi_value,
}

impl FromNapiValue for Text {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        Ok(Text { env, value })
    }
}

impl Text {
    /// Runs `work` on the string's code units. Fails if the argument is not a string.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&[u16]) -> T) -> Result<T> {
        self.read_start(|_| None, work)
    }

    /// Like [`Text::read`], but for a long string, `start` sees the beginning first and may return the result.
    fn read_start<T>(&self, start: impl FnOnce(&[u16]) -> Option<T>, work: impl FnOnce(&[u16]) -> T) -> Result<T> {
        let mut short = [const { MaybeUninit::<u16>::uninit() }; SHORT];
        let mut length = 0;
        // SAFETY: the value lives as long as the call. N-API writes at most SHORT units, including a trailing zero.
        let status = unsafe {
            sys::napi_get_value_string_utf16(self.env, self.value, short.as_mut_ptr().cast(), SHORT, &mut length)
        };
        if status != sys::Status::napi_ok {
            return Err(napi::Error::new(Status::from(status), "the text must be a string".to_string()));
        }
        // SAFETY: N-API wrote `length` units.
        let units = unsafe { std::slice::from_raw_parts(short.as_ptr().cast(), length) };
        if length < SHORT - 1 {
            return Ok(work(units));
        }
        let half = units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit));
        if let Some(result) = start(&units[..length - usize::from(half)]) {
            return Ok(result);
        }
        // SAFETY: environment and value are those of this call.
        let units = unsafe { Utf16String::from_napi_value(self.env, self.value) }?;
        Ok(work(&units))
    }
}

#[napi(catch_unwind)]
pub fn visible_width(#[napi(ts_arg_type = "string")] text: Text, tab_width: u32) -> Result<f64> {
    text.read(|text| utf16::visible_width(text, tab_width as usize) as f64)
}

#[napi(catch_unwind)]
pub fn count_ambiguous(text: String) -> f64 {
    term::count_ambiguous(&text) as f64
}

/// Returns the lines, joined by line feeds: one string is passed faster than many.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn wrap_text_with_ansi(
    #[napi(ts_arg_type = "string")] text: Text,
    width: u32,
    tab_width: u32,
    cjk_rules: bool,
) -> Result<Utf16String> {
    text.read(|text| utf16::wrap(text, width as usize, tab_width as usize, cjk_rules).into())
}

#[napi(catch_unwind, ts_return_type = "string | null")]
pub fn truncate_to_width(
    #[napi(ts_arg_type = "string")] text: Text,
    max_width: u32,
    ellipsis: u32,
    pad: bool,
    tab_width: u32,
) -> Result<Option<Utf16String>> {
    let ellipsis = [Ellipsis::Unicode, Ellipsis::Ascii].get(ellipsis as usize).copied().unwrap_or(Ellipsis::Omit);
    let (max, tab) = (max_width as usize, tab_width as usize);
    let start = |start: &[u16]| utf16::truncate_start(start, max, ellipsis, pad, tab).map(|cut| Some(cut.into()));
    text.read_start(start, |text| utf16::truncate(text, max, ellipsis, pad, tab).map(Utf16String::from))
}

/// Packs texts and their widths into one string, which is passed faster than an array: for each text four characters
/// with the bytes of its width and four with those of its length, then the texts.
fn packed<const N: usize>(parts: [(Vec<u16>, usize); N]) -> Utf16String {
    let mut units = Vec::with_capacity(12 + parts.iter().map(|(text, _)| text.len()).sum::<usize>());
    for (text, width) in &parts {
        for number in [*width, text.len()] {
            let clamped = u32::try_from(number).unwrap_or(u32::MAX);
            units.extend(clamped.to_le_bytes().map(u16::from));
        }
    }
    parts.iter().for_each(|(text, _)| units.extend_from_slice(text));
    units.into()
}

fn columns<const N: usize>(line: &Text, windows: [(usize, usize, bool); N], tab: u32) -> Result<Utf16String> {
    let tab = tab as usize;
    let start = |start: &[u16]| {
        let (parts, sure) = utf16::columns(start, windows, tab);
        sure.then(|| packed(parts))
    };
    line.read_start(start, |line| packed(utf16::columns(line, windows, tab).0))
}

#[napi(catch_unwind, ts_return_type = "string")]
pub fn slice_with_width(
    #[napi(ts_arg_type = "string")] line: Text,
    start: u32,
    length: u32,
    strict: bool,
    tab_width: u32,
) -> Result<Utf16String> {
    columns(&line, [(start as usize, length as usize, strict)], tab_width)
}

#[napi(catch_unwind, ts_return_type = "string")]
pub fn extract_segments(
    #[napi(ts_arg_type = "string")] line: Text,
    before_end: u32,
    after_start: u32,
    after_length: u32,
    strict_after: bool,
    tab_width: u32,
) -> Result<Utf16String> {
    // A wide cluster half under the overlay cannot be shown: the part before the overlay is always strict.
    let after = (after_start as usize, after_length as usize, strict_after);
    columns(&line, [(0, before_end as usize, true), after], tab_width)
}

#[napi(catch_unwind, ts_return_type = "string | null")]
pub fn sanitize_text(#[napi(ts_arg_type = "string")] text: Text) -> Result<Option<Utf16String>> {
    text.read(|text| utf16::sanitize(text).map(Utf16String::from))
}
