//! The kind of a file, determined from its content and name as the engine does.

use crate::documents::{DOCUMENT, documents};
use crate::gram::Grams;
use crate::segment::FileKind;

/// The maximum size of an indexed file, in bytes.
pub(crate) const MAX_TEXT: u64 = 128 << 20;
/// The size of the engine's first read: a NUL byte within it makes a file binary.
const FIRST: usize = 64 << 10;
/// The length of the longest byte order mark. If a line ends within these bytes, the engine searches them before it
/// looks for NUL bytes.
const MARK: usize = 3;
/// The minimum size of a noise file, in bytes.
const NOISE_FROM: usize = 256 << 10;
/// The number of grams per 16 KiB beyond which a file is noise; code and prose have 700 to 3,000.
const NOISE: usize = 6_000;
/// The number of documents that are sampled to detect noise.
const SAMPLE: usize = 8;

/// Returns how the engine treats a file with this content.
pub(crate) fn kind_of(content: &[u8]) -> FileKind {
    if content.starts_with(b"\xFE\xFF") || content.starts_with(b"\xFF\xFE") {
        return FileKind::Odd;
    }
    let marked = content.starts_with(b"\xEF\xBB\xBF");
    match memchr::memchr(0, content) {
        Some(at) if marked || at >= FIRST => FileKind::Odd,
        Some(at) if at >= MARK && content[..MARK].contains(&b'\n') => FileKind::Odd,
        Some(_) => FileKind::Binary,
        None if marked && std::str::from_utf8(content).is_err() => FileKind::Odd,
        None if is_noise(content) => FileKind::Odd,
        None => FileKind::Text,
    }
}

fn is_noise(content: &[u8]) -> bool {
    if content.len() < NOISE_FROM {
        return false;
    }
    let mut grams = Grams::new();
    let counts = documents(content).take(SAMPLE).map(|document| {
        // A line of a megabyte is one document.
        [grams.of(document.text).grams().len(), document.text.len()]
    });
    let [count, bytes] = counts.fold([0, 0], |sum, [count, bytes]| [sum[0] + count, sum[1] + bytes]);
    count * DOCUMENT > NOISE * bytes
}

/// Returns true if the name of a file suggests that it contains secrets: it is searched but never indexed.
pub(crate) fn is_secret(name: &[u8]) -> bool {
    const NAMES: [&[u8]; 3] = [b".netrc", b".npmrc", b".pypirc"];
    const BEGINNINGS: [&[u8]; 3] = [b".env", b"id_", b"credentials"];
    const ENDINGS: [&[u8]; 3] = [b".pem", b".key", b".kdbx"];
    NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &[u8], expect: FileKind) {
        assert_eq!(kind_of(content), expect);
    }

    #[test]
    fn kinds_match_those_of_the_engine() {
        check(b"", FileKind::Text);
        check(b"text\n", FileKind::Text);
        check(b"\xFF text that is not UTF-8", FileKind::Text);
        check(b"\xEF\xBB\xBFtext", FileKind::Text);
        check(b"\xEF\xBB\xBF\xFF", FileKind::Odd);
        check(b"\xEF\xBB\xBF\0", FileKind::Odd);
        check(b"\xFF\xFEt\0", FileKind::Odd);
        check(b"\0", FileKind::Binary);
        check(b"a\n\0", FileKind::Binary);
        check(b"a\nb\0", FileKind::Odd);
        check(&[&vec![b'a'; FIRST - 1], &b"\0"[..]].concat(), FileKind::Binary);
        check(&[&vec![b'a'; FIRST], &b"\0"[..]].concat(), FileKind::Odd);
    }

    #[test]
    fn classifies_noise_as_odd_and_long_lines_as_text() {
        let mut seed = 1u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8 | 1
        })
        .take(NOISE_FROM)
        .collect();
        check(&noise, FileKind::Odd);
        check(&b"int main(void) { return 0; }\n".repeat(10_000), FileKind::Text);
        // Long lines are long documents: each has many grams, but few for its length.
        let numbers: Vec<u8> = (0..100_000).flat_map(|number| format!("{number},").into_bytes()).collect();
        check(&[&noise[..20_000], &numbers, b"\n"].concat().repeat(3), FileKind::Text);
    }

    #[test]
    fn recognises_names_of_secret_files() {
        for name in [".env", ".env.local", "a.pem", "b.key", "id_rsa", ".npmrc", "credentials.json", "x.kdbx"] {
            assert!(is_secret(name.as_bytes()), "{name}");
        }
        for name in ["env", "main.rs", "keys", "netrc", "kid_a"] {
            assert!(!is_secret(name.as_bytes()), "{name}");
        }
    }
}
