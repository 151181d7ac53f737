//! Splits a text into documents: complete lines, at most 16 KiB together.

/// The maximum length of a document in bytes, unless a single line is longer.
pub(crate) const DOCUMENT: usize = 16 << 10;
/// The length at which a line is cut.
const LONG_LINE: usize = 1 << 20;

/// One document of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// The bytes, including the last line's terminator.
    pub text: &'a [u8],
    /// The following bytes of the whole text.
    pub next: &'a [u8],
    /// True if the document ends inside a line: the bytes of a match may then be in two documents.
    pub cuts_line: bool,
}

/// Splits `text` repeatedly at the last line end before 16 KiB. A longer line is a separate document; a line over 1 MiB
/// is cut. The documents together are `text`; an empty text has none.
pub fn documents(text: &[u8]) -> Documents<'_> {
    Documents { rest: text }
}

/// The iterator of [`documents`].
#[derive(Debug, Clone)]
pub struct Documents<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Documents<'a> {
    type Item = Document<'a>;

    fn next(&mut self) -> Option<Document<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let length = length_of_first(self.rest);
        let (text, next) = self.rest.split_at(length);
        self.rest = next;
        Some(Document { text, next, cuts_line: !next.is_empty() && !text.ends_with(b"\n") })
    }
}

/// Returns the length in bytes of the first document of a non-empty text.
fn length_of_first(text: &[u8]) -> usize {
    if text.len() <= DOCUMENT {
        return text.len();
    }
    if let Some(end) = memchr::memrchr(b'\n', &text[..DOCUMENT]) {
        return end + 1;
    }
    let line = &text[..text.len().min(LONG_LINE)];
    memchr::memchr(b'\n', &line[DOCUMENT..]).map_or(line.len(), |end| DOCUMENT + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &[u8], lengths: &[usize], cuts: &[bool]) {
        let cut: Vec<Document<'_>> = documents(text).collect();
        assert_eq!(cut.iter().map(|document| document.text.len()).collect::<Vec<_>>(), lengths);
        assert_eq!(cut.iter().map(|document| document.cuts_line).collect::<Vec<_>>(), cuts);
    }

    #[test]
    fn documents_end_at_line_ends() {
        check(b"", &[], &[]);
        check(b"one line", &[8], &[false]);
        let line = [b'a'; 1000].as_slice();
        let lines = [line, b"\n"].concat().repeat(20);
        check(&lines, &[16_016, 4_004], &[false, false]);
        let long = [&vec![b'b'; 20_000], b"\nshort\n".as_slice()].concat();
        check(&long, &[20_001, 6], &[false, false]);
        check(&vec![b'c'; LONG_LINE + 5], &[LONG_LINE, 5], &[true, false]);
    }

    proptest! {
        #[test]
        fn documents_concatenate_to_the_text(lines in prop::collection::vec((0usize..40_000, any::<bool>()), 0..8)) {
            let text: Vec<u8> = lines
                .iter()
                .flat_map(|&(length, ends)| std::iter::repeat_n(b'x', length).chain(ends.then_some(b'\n')))
                .collect();
            let mut whole = Vec::new();
            for document in documents(&text) {
                prop_assert!(!document.text.is_empty());
                whole.extend_from_slice(document.text);
                prop_assert_eq!(document.next, &text[whole.len()..]);
                let lines = memchr::memchr_iter(b'\n', document.text).count();
                prop_assert!(document.text.len() <= DOCUMENT || lines <= 1);
            }
            prop_assert_eq!(whole, text);
        }
    }
}
