//! Tells text from binary files, by the rule of the tool `read`.

/// A NUL byte in this many bytes shows that a file is binary.
const HEAD: usize = 8 * 1024;

/// Returns true if bytes that are not UTF-16 are not text either.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(HEAD).any(|byte| *byte == 0)
}
