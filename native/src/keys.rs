//! The binding of `keys` and of the input buffer.

use napi::Result;
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;
use sinew::term::{self, Input};

use crate::text::Text;

/// Longer strings are not keys.
const LONGEST: usize = 256;

/// Runs `work` on a sequence or key id; a string that is too long is treated as empty, which is not a key either.
fn read<T>(text: &Text, work: impl FnOnce(&str) -> T) -> Result<T> {
    text.read(|units| {
        let mut ascii = [0; LONGEST];
        let units = if units.len() > LONGEST { &[] } else { units };
        for (byte, unit) in ascii.iter_mut().zip(units) {
            match u8::try_from(*unit) {
                Ok(small) if small.is_ascii() => *byte = small,
                _ => return work(&String::from_utf16_lossy(units)),
            }
        }
        work(std::str::from_utf8(&ascii[..units.len()]).unwrap_or(""))
    })
}

/// Returns the names of keys that are not characters; `parseKey` returns their index plus 0x110000.
#[napi(catch_unwind)]
pub fn key_names() -> Vec<&'static str> {
    term::key_names().to_vec()
}

/// Returns the key as a number: modifiers from bit 24 on (shift 1, alt 2, ctrl 4, super 8), below them character or
/// name; 0 if there is no key. Bit 31: the sequence may match further ids.
#[napi(catch_unwind)]
pub fn parse_key(#[napi(ts_arg_type = "string")] data: Text, kitty_active: bool) -> Result<u32> {
    let (key, ambiguous) = read(&data, |data| term::resolve_key(data, kitty_active))?;
    Ok(key.map_or(0, term::Key::packed) | u32::from(ambiguous) << 31)
}

#[napi(catch_unwind)]
pub fn matches_key(
    #[napi(ts_arg_type = "string")] data: Text,
    #[napi(ts_arg_type = "string")] key_id: Text,
    kitty_active: bool,
) -> Result<bool> {
    read(&data, |data| read(&key_id, |id| term::matches_key(data, id, kitty_active)))?
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

impl From<term::KittySequence> for KittyFields {
    fn from(sequence: term::KittySequence) -> KittyFields {
        let term::KittySequence { codepoint, shifted_key, base_layout_key, modifier, event } = sequence;
        KittyFields { codepoint, shifted_key, base_layout_key, modifier, event_type: event.map(|event| event as u32) }
    }
}

#[napi(catch_unwind)]
pub fn parse_kitty_sequence(#[napi(ts_arg_type = "string")] data: Text) -> Result<Option<KittyFields>> {
    read(&data, |data| term::parse_kitty_sequence(data).map(KittyFields::from))
}

#[napi(catch_unwind)]
pub fn matches_kitty_sequence(
    #[napi(ts_arg_type = "string")] data: Text,
    codepoint: i32,
    modifier: u32,
) -> Result<bool> {
    read(&data, |data| term::matches_kitty_sequence(data, codepoint, modifier))
}

#[napi(catch_unwind)]
pub fn matches_legacy_sequence(
    #[napi(ts_arg_type = "string")] data: Text,
    #[napi(ts_arg_type = "string")] key_name: Text,
) -> Result<bool> {
    read(&data, |data| read(&key_name, |name| term::matches_legacy_sequence(data, name)))?
}

/// Splits input into sequences, prefixed with `s`, pastes with `p`, and cursor reports (`row;column`) with `c`.
#[napi]
#[derive(Default)]
pub struct InputBuffer(term::StdinBuffer);

#[napi]
impl InputBuffer {
    /// Creates an empty buffer.
    #[napi(constructor)]
    pub fn new() -> InputBuffer {
        InputBuffer::default()
    }

    #[napi(catch_unwind)]
    pub fn feed(&mut self, data: Either<String, Uint8Array>) -> Vec<String> {
        marked(match &data {
            Either::A(text) => self.0.feed(text.as_bytes()),
            Either::B(bytes) => self.0.feed(bytes),
        })
    }

    #[napi]
    pub fn await_cursor_report(&mut self) {
        self.0.await_cursor_report();
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
        Input::CursorReport { row, column } => format!("c{row};{column}"),
    };
    inputs.into_iter().map(mark).collect()
}
