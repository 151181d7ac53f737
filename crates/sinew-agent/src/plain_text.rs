//! Tells text from binary files and decodes UTF-16, by the rules of the tool `read`.

use sinew::base::utf16_text;

/// A NUL byte in this many bytes shows that a file is binary.
const HEAD: usize = 8 * 1024;

/// Decodes UTF-16, which begins with a byte order mark; the mark is removed. Returns `None` for other bytes.
pub(crate) fn utf16(bytes: &[u8]) -> Option<String> {
    let unit = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units: Vec<u16> = bytes[2..].as_chunks().0.iter().map(|pair| unit(*pair)).collect();
    Some(utf16_text(&units))
}

/// Returns true if bytes that are not UTF-16 are not text either.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(HEAD).any(|byte| *byte == 0)
}
