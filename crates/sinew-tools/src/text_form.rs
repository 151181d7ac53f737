//! The encoding, byte order mark and line ends of a text file, which tools keep when they change the text.

use std::borrow::Cow;

/// The encoding and line ends of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextForm {
    encoding: Encoding,
    /// True if it begins with a byte order mark.
    has_mark: bool,
    /// True if every line ends with CRLF.
    is_crlf: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl TextForm {
    /// Detects the form of `content`. Without a byte order mark it is UTF-8.
    pub(super) fn of(content: &[u8]) -> TextForm {
        let (encoding, has_mark) = match content {
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, true),
            [0xff, 0xfe, ..] => (Encoding::Utf16Le, true),
            [0xfe, 0xff, ..] => (Encoding::Utf16Be, true),
            _ => (Encoding::Utf8, false),
        };
        let form = TextForm { encoding, has_mark, is_crlf: false };
        let text = form.decode(content);
        let lines = memchr::memchr_iter(b'\n', &text).count();
        let is_crlf = lines > 0 && memchr::memmem::find_iter(&text, b"\r\n").count() == lines;
        TextForm { is_crlf, ..form }
    }

    /// Returns true if the file is UTF-16.
    pub(super) fn is_utf16(self) -> bool {
        self.encoding != Encoding::Utf8
    }

    /// Converts to UTF-8, keeping the byte order mark of a UTF-8 file and removing that of UTF-16.
    pub(super) fn decode(self, content: &[u8]) -> Cow<'_, [u8]> {
        let unit = match self.encoding {
            Encoding::Utf8 => return Cow::Borrowed(content),
            Encoding::Utf16Le => u16::from_le_bytes,
            Encoding::Utf16Be => u16::from_be_bytes,
        };
        let units: Vec<u16> = content[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units).into_bytes())
    }

    /// Returns true if [`TextForm::decode`] loses nothing: an odd trailing byte or an unpaired surrogate would be lost.
    pub(super) fn is_whole(self, content: &[u8]) -> bool {
        !self.is_utf16() || self.encode(&self.decode(content)) == content
    }

    /// Encodes `text`, in the form that [`TextForm::decode`] returns, as the bytes of the file.
    pub(super) fn encode(self, text: &[u8]) -> Vec<u8> {
        let bytes = match self.encoding {
            Encoding::Utf8 => return text.to_vec(),
            Encoding::Utf16Le => u16::to_le_bytes,
            Encoding::Utf16Be => u16::to_be_bytes,
        };
        let text = String::from_utf8_lossy(text);
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    /// Encodes `text` of a model as the bytes of the file. Models write no byte order mark and `\n`, unless the text
    /// has others.
    pub(super) fn adopt(self, text: &str) -> Vec<u8> {
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = match self.is_crlf && !bare.contains('\r') {
            true => Cow::Owned(bare.replace('\n', "\r\n")),
            false => Cow::Borrowed(bare),
        };
        match self.encoding {
            Encoding::Utf8 if self.has_mark || bare.len() < text.len() => format!("\u{feff}{lines}").into_bytes(),
            _ => self.encode(lines.as_bytes()),
        }
    }

    /// Describes which parts of the form a new text keeps, if they differ from what a model writes by default; `None`
    /// otherwise.
    pub(super) fn note(self) -> Option<String> {
        let encoding = match (self.encoding, self.has_mark) {
            (Encoding::Utf8, true) => Some("byte order mark"),
            (Encoding::Utf8, false) => None,
            (Encoding::Utf16Le, _) => Some("encoding UTF-16 LE"),
            (Encoding::Utf16Be, _) => Some("encoding UTF-16 BE"),
        };
        let kept: Vec<&str> = encoding.into_iter().chain(self.is_crlf.then_some("CRLF line ends")).collect();
        (!kept.is_empty()).then(|| format!("[The file keeps its {}.]", kept.join(" and ")))
    }
}

/// Returns `new`, the replacement of `file[from..to]`, with the line ends of the file. A line that the old text
/// contains keeps its line end; any other line gets that of the previous line.
pub(super) fn with_line_ends(new: &str, file: &[u8], (from, to): (usize, usize)) -> String {
    if memchr::memmem::find(file, b"\r\n").is_none() {
        return new.to_string();
    }
    let old: Vec<&[u8]> = file[from..to].split_inclusive(|byte| *byte == b'\n').collect();
    let lines: Vec<&str> = new.split_inclusive('\n').collect();
    let same = |old: &[u8], new: &str| old.ends_with(b"\n") && new.ends_with('\n') && bare(old) == bare(new.as_bytes());
    let first = old.iter().zip(&lines).take_while(|(old, new)| same(old, new)).count();
    let most = old.len().min(lines.len()) - first;
    let last = old.iter().rev().zip(lines.iter().rev()).take(most).take_while(|(old, new)| same(old, new)).count();
    let mut end = end_before(file, from).unwrap_or_else(|| end_after(file, from));
    let mut out = String::with_capacity(new.len());
    for (at, line) in lines.iter().enumerate() {
        let Some(text) = line.strip_suffix('\n') else {
            out.push_str(line);
            continue;
        };
        if at < first {
            end = line_end(old[at]);
        } else if at >= lines.len() - last {
            end = line_end(old[at + old.len() - lines.len()]);
        } else if at == 0
            && from < to
            && let Some(first) = old.first().filter(|first| first.ends_with(b"\n"))
        {
            // The replaced line is closer than the previous one.
            end = line_end(first);
        }
        out.push_str(text);
        out.push_str(end);
    }
    out
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn line_end(line: &[u8]) -> &'static str {
    if line.ends_with(b"\r\n") { "\r\n" } else { "\n" }
}

fn end_before(file: &[u8], at: usize) -> Option<&'static str> {
    let line = memchr::memrchr(b'\n', &file[..at])?;
    Some(line_end(&file[..=line]))
}

fn end_after(file: &[u8], at: usize) -> &'static str {
    memchr::memchr(b'\n', &file[at..]).map_or("\n", |line| line_end(&file[..=at + line]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_adopted(old: &[u8], new: &str, expect: &[u8], note: Option<&str>) {
        let form = TextForm::of(old);
        assert_eq!(form.adopt(new), expect);
        assert_eq!(form.note().as_deref(), note);
    }

    #[test]
    fn a_new_text_adopts_the_encoding_and_line_endings_of_the_old() {
        check_adopted(b"a\nb\n", "c\n", b"c\n", None);
        check_adopted(b"a\r\nb\r\n", "c\nd", b"c\r\nd", Some("[The file keeps its CRLF line ends.]"));
        check_adopted(b"a\r\nb\r\n", "c\r\nd\n", b"c\r\nd\n", Some("[The file keeps its CRLF line ends.]"));
        check_adopted(b"a\r\nb\n", "c\n", b"c\n", None);
        check_adopted(b"\xef\xbb\xbfa", "c\n", b"\xef\xbb\xbfc\n", Some("[The file keeps its byte order mark.]"));
        check_adopted(b"\xef\xbb\xbfa", "\u{feff}c", b"\xef\xbb\xbfc", Some("[The file keeps its byte order mark.]"));
        check_adopted(b"a", "\u{feff}c", b"\xef\xbb\xbfc", None);
        let wide = b"\xff\xfea\0\r\0\n\0";
        let note = Some("[The file keeps its encoding UTF-16 LE and CRLF line ends.]");
        check_adopted(wide, "\u{e4}\n", b"\xff\xfe\xe4\0\r\0\n\0", note);
        check_adopted(b"\xfe\xff\0a", "b", b"\xfe\xff\0b", Some("[The file keeps its encoding UTF-16 BE.]"));
        check_adopted(b"", "c\n", b"c\n", None);
    }

    #[track_caller]
    fn check_ends(file: &str, old: &str, new: &str, expect: &str) {
        let from = file.find(old).unwrap();
        let replaced = with_line_ends(new, file.as_bytes(), (from, from + old.len()));
        assert_eq!(file.replacen(old, &replaced, 1), expect, "{file:?}");
    }

    #[test]
    fn an_edit_uses_the_line_endings_of_its_neighbors() {
        check_ends("a\nb\n", "a\n", "x\ny\n", "x\ny\nb\n");
        check_ends("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n");
        // A file with both kinds of line ends.
        check_ends("a\r\nb\nc\r\nd\n", "b", "x\ny", "a\r\nx\r\ny\nc\r\nd\n");
        check_ends("a\r\nb\nc\r\nd\n", "b\nc\r\n", "b\nx\nc\n", "a\r\nb\nx\nc\r\nd\n");
        check_ends("a\r\nb\nc\r\nd\n", "c\r\nd\n", "c\ny\n", "a\r\nb\nc\r\ny\r\n");
        check_ends("a\nb\r\n", "a\nb", "a\nx\nb", "a\nx\nb\r\n");
    }

    proptest! {
        #[test]
        fn unchanged_lines_keep_their_endings(lines in prop::collection::vec(("[ab]", any::<bool>()), 1..8), at in 0..8usize) {
            let text = |lines: &[(String, bool)]| -> String {
                lines.iter().map(|(line, crlf)| format!("{line}{}", if *crlf { "\r\n" } else { "\n" })).collect()
            };
            let file = text(&lines);
            let at = at % lines.len();
            // The line is replaced by itself, with all surrounding lines in the old and the new text.
            let new: String = lines.iter().enumerate().map(|(n, (line, _))| if n == at { "x\n".into() } else { format!("{line}\n") }).collect();
            let mut expect = lines.clone();
            expect[at].0 = "x".into();
            let replaced = with_line_ends(&new, file.as_bytes(), (0, file.len()));
            let same = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
            prop_assert_eq!(same(&replaced), same(&text(&expect)));
            for (n, (got, wanted)) in replaced.split_inclusive('\n').zip(text(&expect).split_inclusive('\n')).enumerate() {
                prop_assert!(n == at || got == wanted, "{:?} {:?}", got, wanted);
            }
        }

        #[test]
        fn any_bytes_decode_and_encode(content in prop::collection::vec(any::<u8>(), 0..40), mark in 0..4usize) {
            let mark: &[u8] = [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf", b""][mark];
            let content = [mark, &content].concat();
            let form = TextForm::of(&content);
            let again = form.encode(&form.decode(&content));
            prop_assert_eq!(form.is_whole(&content), again == content);
        }
    }
}
