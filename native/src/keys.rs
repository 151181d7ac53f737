//! The mouth of `keys` and of the input buffer.

use std::mem::MaybeUninit;

use napi::bindgen_prelude::{Either, FromNapiValue, Uint8Array};
use napi::{Result, Status, sys};
use napi_derive::napi;
use sinew::term::{self, Input};

/// Longer strings are no key.
const LONGEST: usize = 256;

/// A sequence or key id; what is too long for either is empty.
pub(crate) struct Short {
    bytes: [MaybeUninit<u8>; LONGEST],
    length: usize,
}

impl Short {
    fn text(&self) -> &str {
        // SAFETY: N-API wrote the first `length` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.length) };
        std::str::from_utf8(bytes).unwrap_or("")
    }
}

impl FromNapiValue for Short {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut short = Short { bytes: [const { MaybeUninit::uninit() }; LONGEST], length: 0 };
        let bytes = short.bytes.as_mut_ptr().cast();
        // SAFETY: `bytes` has room for LONGEST bytes; N-API writes at most that many, a zero at the end included.
        let status = unsafe { sys::napi_get_value_string_utf8(env, value, bytes, LONGEST, &mut short.length) };
        if status != sys::Status::napi_ok {
            return Err(napi::Error::new(Status::from(status), "the sequence must be a string".to_string()));
        }
        // N-API cuts between characters: what came near the end may be a part.
        if short.length > LONGEST - 5 {
            short.length = 0;
        }
        Ok(short)
    }
}

/// The names of keys that are no characters; `parseKey` gives their place plus 0x110000.
#[napi]
pub fn key_names() -> Vec<&'static str> {
    term::key_names().to_vec()
}

/// The key as one number: modifiers from bit 24 on (shift 1, alt 2, ctrl 4, super 8), then character or name; 0: none.
#[napi]
pub fn parse_key(#[napi(ts_arg_type = "string")] data: Short, kitty_active: bool) -> u32 {
    term::parse_key(data.text(), kitty_active).map_or(0, term::Key::packed)
}

/// Whether `data` may match other ids than that of `parseKey`.
#[napi]
pub fn is_ambiguous_key(#[napi(ts_arg_type = "string")] data: Short, kitty_active: bool) -> bool {
    term::is_ambiguous(data.text(), kitty_active)
}

#[napi]
pub fn matches_key(
    #[napi(ts_arg_type = "string")] data: Short,
    #[napi(ts_arg_type = "string")] key_id: Short,
    kitty_active: bool,
) -> bool {
    term::matches_key(data.text(), key_id.text(), kitty_active)
}

/// The fields of a Kitty sequence.
#[napi(object)]
pub struct KittyFields {
    pub codepoint: i32,
    pub shifted_key: Option<u32>,
    pub base_layout_key: Option<u32>,
    pub modifier: u32,
    pub event_type: Option<u32>,
}

#[napi]
pub fn parse_kitty_sequence(#[napi(ts_arg_type = "string")] data: Short) -> Option<KittyFields> {
    let term::KittySequence { codepoint, shifted_key, base_layout_key, modifier, event } =
        term::parse_kitty_sequence(data.text())?;
    let event_type = event.map(|event| event as u32);
    Some(KittyFields { codepoint, shifted_key, base_layout_key, modifier, event_type })
}

#[napi]
pub fn matches_kitty_sequence(#[napi(ts_arg_type = "string")] data: Short, codepoint: i32, modifier: u32) -> bool {
    term::matches_kitty_sequence(data.text(), codepoint, modifier)
}

#[napi]
pub fn matches_legacy_sequence(
    #[napi(ts_arg_type = "string")] data: Short,
    #[napi(ts_arg_type = "string")] key_name: Short,
) -> bool {
    term::matches_legacy_sequence(data.text(), key_name.text())
}

/// Cuts input into sequences; pastes are marked by a leading `p`, sequences by `s`.
#[napi]
#[derive(Default)]
pub struct InputBuffer(term::StdinBuffer);

#[napi]
impl InputBuffer {
    /// An empty buffer.
    #[napi(constructor)]
    pub fn new() -> InputBuffer {
        InputBuffer::default()
    }

    #[napi]
    pub fn feed(&mut self, data: Either<String, Uint8Array>) -> Vec<String> {
        marked(match &data {
            Either::A(text) => self.0.feed(text.as_bytes()),
            Either::B(bytes) => self.0.feed(bytes),
        })
    }

    #[napi]
    pub fn flush(&mut self) -> Vec<String> {
        marked(self.0.flush())
    }

    #[napi]
    pub fn is_waiting(&self) -> bool {
        self.0.is_waiting()
    }

    #[napi]
    pub fn pending(&self) -> String {
        self.0.pending()
    }

    #[napi]
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

fn marked(inputs: Vec<Input>) -> Vec<String> {
    let mark = |input| match input {
        Input::Sequence(text) => format!("s{text}"),
        Input::Paste(text) => format!("p{text}"),
    };
    inputs.into_iter().map(mark).collect()
}
