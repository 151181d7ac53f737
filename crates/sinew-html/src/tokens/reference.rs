//! Character references: `&amp;`, `&#8212;`, `&#x2014;`.

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

/// One or two characters.
pub(super) struct Characters {
    bytes: [u8; 8],
    length: usize,
}

impl Characters {
    fn new(characters: [Option<char>; 2]) -> Characters {
        let mut made = Characters { bytes: [0; 8], length: 0 };
        for c in characters.into_iter().flatten() {
            made.length += c.encode_utf8(&mut made.bytes[made.length..]).len();
        }
        made
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("characters were written here")
    }
}

/// The longest name, its semicolon included, has 32 bytes.
const LONGEST: usize = 32;

/// Decodes the reference after an ampersand, and returns its length in bytes. `None` if no valid reference follows. In
/// an attribute, a name without a semicolon is only a reference if no letter, digit or equals sign follows.
pub(super) fn decode(rest: &str, in_attribute: bool) -> Option<(Characters, usize)> {
    let bytes = rest.as_bytes();
    match bytes.first()? {
        b'#' => numeric(bytes),
        first if first.is_ascii_alphabetic() => named(rest, in_attribute),
        _ => None,
    }
}

fn named(rest: &str, in_attribute: bool) -> Option<(Characters, usize)> {
    let bytes = rest.as_bytes();
    let name = bytes.iter().take(LONGEST).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let with_semicolon = bytes.get(name) == Some(&b';');
    // The longest valid name; names without a semicolon may be followed by anything.
    let longest = if with_semicolon { name + 1 } else { name };
    let (length, found) = (2..=longest).rev().find_map(|length| {
        let found = NAMED_ENTITIES.get(&rest[..length])?;
        (found.0 != 0).then_some((length, *found))
    })?;
    if in_attribute && bytes[length - 1] != b';' {
        let next = bytes.get(length);
        if next.is_some_and(|next| *next == b'=' || next.is_ascii_alphanumeric()) {
            return None;
        }
    }
    let second = if found.1 == 0 { None } else { char::from_u32(found.1) };
    Some((Characters::new([char::from_u32(found.0), second]), length))
}

fn numeric(bytes: &[u8]) -> Option<(Characters, usize)> {
    let (radix, start) = if matches!(bytes.get(1), Some(b'x' | b'X')) { (16, 2) } else { (10, 1) };
    let mut value: u32 = 0;
    let mut at = start;
    while let Some(digit) = bytes.get(at).and_then(|byte| char::from(*byte).to_digit(radix)) {
        value = value.saturating_mul(radix).saturating_add(digit);
        at += 1;
    }
    if at == start {
        return None;
    }
    if bytes.get(at) == Some(&b';') {
        at += 1;
    }
    let c = match value {
        0 => None,
        0x80..=0x9f => C1_REPLACEMENTS[value as usize - 0x80].or(char::from_u32(value)),
        _ => char::from_u32(value),
    };
    Some((Characters::new([c.or(Some(char::REPLACEMENT_CHARACTER)), None]), at))
}
